/* SPDX-License-Identifier: MIT */
/* Repositories below the writable places.  A user who calls git there, or an editor that searches
 * for repositories, runs programs named in their settings and hooks.
 *
 *     exist at the start   guarded like the one of the workspace
 *     made by a command    checked after each command: harmless ones stay; one with settings or
 *                          hooks that run programs is renamed, so that git does not find it
 *
 * Where they cannot all be found (search.c), no command runs.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/gitlinks.h"
#include "sandbox/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_GUARDED = 64, CONFIG_BYTES = 64 << 10 };

/* ---- existing at the start ---- */

static bool is_known(const struct sandbox_policy *p, const char *path)
{
    return paths_have(&p->git, str_of(path)) || paths_have(&p->guarded, str_of(path));
}

static void guard(void *arg, int dir, const char *path)
{
    struct sandbox_policy *p = arg;
    struct stat st;
    if (is_known(p, path) || p->git.n > MAX_GUARDED ||
        fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    paths_put(S_ISDIR(st.st_mode) ? &p->git : &p->guarded, str_of(path));
}

/* ---- made by a command ---- */

static bool is_missing(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

static bool read_small(int dir, const char *name, struct buf *ret)
{
    struct stat st;
    struct error ignored;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              path_read_fd(ret, fd, STR("config"), CONFIG_BYTES, &ignored);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool has_only_samples(int git)
{
    int fd = openat(git, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    bool ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d));)
        ok = e->d_name[0] == '.' || str_ends(str_of(e->d_name), STR(".sample"));
    if (d)
        closedir(d);
    return ok;
}

static bool is_harmless_dir(int git)
{
    AUTO(buf) struct buf config = BUF_INIT;
    if (git < 0 || !is_missing(git, "config.worktree") || !is_missing(git, "commondir") ||
        (!is_missing(git, "hooks") && !has_only_samples(git)))
        return false;
    return is_missing(git, "config") ||
           (read_small(git, "config", &config) && git_config_is_harmless(buf_str(&config)));
}

/* A .git file points to a repository; one in the same writable place is checked there. */
static bool is_harmless_file(const struct sandbox_policy *p, int dir, const char *path)
{
    AUTO(buf) struct buf text = BUF_INIT, target = BUF_INIT;
    if (!read_small(dir, ".git", &text) || !str_starts(buf_str(&text), STR("gitdir:")))
        return false;
    path_absolute(&target, path_dir(str_of(path)), str_trim(str_from(buf_str(&text), 7)));
    const char *place = policy_place_of(p, buf_str(&target));
    if (!place || place != policy_place_of(p, str_of(path)))
        return false;
    int fd = search_open(p, buf_str(&target));
    bool ok = is_harmless_dir(fd);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool is_harmless(const struct sandbox_policy *p, int dir, const char *path)
{
    int git = openat(dir, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = git >= 0 ? is_harmless_dir(git) : is_harmless_file(p, dir, path);
    if (git >= 0)
        close(git);
    return ok;
}

struct finding {
    const struct sandbox_policy *policy;
    struct error *err;
    bool ok;
};

static void judge(void *arg, int dir, const char *path)
{
    struct finding *f = arg;
    char name[40];
    if (is_known(f->policy, path) || is_harmless(f->policy, dir, path))
        return;
    bool is_aside = put_aside(dir, ".git", name, sizeof name);
    if (!f->ok && f->err->code != ERR_EXISTS)
        return; /* report the most serious one */
    f->ok = false;
    if (is_aside)
        error_set(
            f->err, ERR_EXISTS,
            "the sandbox has renamed %s, which a command made, to %s: its settings or hooks can "
            "make git run programs",
            path, name);
    else
        error_set(f->err, ERR_DENIED,
                  "a command made %s with settings or hooks that git would run: remove it, then "
                  "start a new session",
                  path);
}

/* ---- both ---- */

bool nested_guard(struct sandbox_policy *p, struct error *err)
{
    return p->kind != SANDBOX_WORKSPACE_WRITE || search_git(p, false, guard, p, err);
}

bool nested_check(const struct sandbox_policy *p, struct error *err)
{
    struct finding f = {.policy = p, .err = err, .ok = true};
    struct error why;
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return true;
    if (!search_git(p, p->has_mounts, judge, &f, &why) && (f.ok || err->code == ERR_EXISTS)) {
        *err = why; /* the most serious one */
        return false;
    }
    return f.ok;
}
