/* SPDX-License-Identifier: MIT */
/* Repositories below the workspace.  A user who calls git there, or an editor
 * that searches for repositories, runs programs named in their settings and hooks.
 *
 *     exist at the start   guarded like the one of the workspace
 *     made by a command    checked after each command: harmless ones stay; one with settings or
 *                          hooks that run programs is renamed, so that git does not find it
 *
 * The search is breadth-first and bounded: MAX_NAMES names, and a depth of MAX_DEPTH, in each
 * writable place.  Beyond it, git comes to a repository by itself if the index of a guarded one
 * names it as a submodule; so those are checked too, wherever they lie.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/gitlinks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_NAMES = 5000, MAX_DEPTH = 5, MAX_GUARDED = 64, CONFIG_BYTES = 64 << 10 };

/* ---- finding ---- */

/* Called for each .git below a writable place; dir is its directory, path its name. */
typedef void nested_fn(void *arg, int dir, const char *path);

struct search {
    const struct sandbox_policy *policy;
    char **dirs; /* found so far; those before `at` are done */
    size_t n_dirs, at, n_names, n_place;
    bool skips_closed;
    bool is_cut; /* something was not searched */
    nested_fn *fn;
    void *arg;
};

static void search_clear(struct search *s)
{
    for (size_t i = 0; i < s->n_dirs; i++)
        free(s->dirs[i]);
    free(s->dirs);
}

static void push(struct search *s, char *path)
{
    if ((s->n_dirs & (s->n_dirs - 1)) == 0) /* grow to the next power of two */
        s->dirs = xrealloc(s->dirs, (s->n_dirs ? s->n_dirs * 2 : 1) * sizeof *s->dirs);
    s->dirs[s->n_dirs++] = path;
}

static bool is_dir(int at, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int depth_of(struct str path)
{
    int n = 0;
    for (size_t i = 0; i < path.n; i++)
        n += path.p[i] == '/';
    return n;
}

/* Whether a mount keeps commands from making anything there. */
static bool is_closed(const struct search *s, struct str path)
{
    const struct sandbox_policy *p = s->policy;
    return s->skips_closed && (paths_have(&p->guarded, path) || paths_have(&p->masked, path));
}

static void take_entry(struct search *s, int fd, const char *dir, const struct dirent *e)
{
    struct buf path = BUF_INIT;
    bool is_git = strcmp(e->d_name, ".git") == 0;
    bool is_deep = depth_of(str_from(str_of(dir), s->n_place)) >= MAX_DEPTH;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || (is_git && s->at == 0) ||
        (!is_git && !is_dir(fd, e)))
        return;
    if (!is_git && is_deep) {
        s->is_cut = true;
        return;
    }
    buf_addf(&path, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, e->d_name);
    if (is_git)
        s->fn(s->arg, fd, path.p);
    else if (!is_closed(s, buf_str(&path)))
        push(s, buf_take(&path));
    buf_clear(&path);
}

/* A command can take away the right to read a directory; git finds a repository in it without. */
static int open_unreadable(int way)
{
    char name[40];
    struct stat st;
    snprintf(name, sizeof name, "/proc/self/fd/%d", way);
    if (fstat(way, &st) != 0 || chmod(name, st.st_mode | 0500) != 0)
        return -1;
    int fd = openat(way, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    chmod(name, st.st_mode);
    return fd;
}

/* Opens it for reading, as seen outside of the sandbox, without following links; -1. */
static int open_dir(const struct sandbox_policy *p, struct str path)
{
    int way = view_open_outside(p, path);
    int fd = way < 0 ? -1 : openat(way, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (way >= 0 && fd < 0 && errno == EACCES)
        fd = open_unreadable(way);
    if (way >= 0)
        close(way);
    return fd;
}

/* True: all of it. */
static bool search(const struct search *wanted, const char *place)
{
    AUTO(search) struct search s = *wanted;
    s.n_place = strlen(place);
    push(&s, xstrdup(place));
    for (; s.at < s.n_dirs && s.n_names < MAX_NAMES; s.at++) {
        int fd = open_dir(s.policy, str_of(s.dirs[s.at]));
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        for (struct dirent *e; d && s.n_names++ < MAX_NAMES && (e = readdir(d));)
            take_entry(&s, fd, s.dirs[s.at], e);
        if (d)
            closedir(d);
    }
    return !s.is_cut && s.n_names < MAX_NAMES;
}

static bool search_all(const struct search *wanted)
{
    const char *place;
    bool is_complete = true;
    for (size_t i = 1; (place = policy_writable(wanted->policy, i)); i++) /* 0: scratch directory */
        is_complete &= search(wanted, place);
    return is_complete;
}

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
    int fd = open_dir(p, buf_str(&target));
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

/* A command may have removed write permission from the directory. */
static bool put_aside(int dir, char *ret_name, size_t size)
{
    for (int i = 1; i < 100; i++) {
        snprintf(ret_name, size, i > 1 ? ".git.untrusted-%d" : ".git.untrusted", i);
        if (renameat2(dir, ".git", dir, ret_name, RENAME_NOREPLACE) == 0)
            return true;
        if (errno == EACCES && fchmod(dir, 0755) == 0 &&
            renameat2(dir, ".git", dir, ret_name, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    return false;
}

struct finding {
    const struct sandbox_policy *policy;
    struct error *err;
    bool ok;
};

static void judge(void *arg, int dir, const char *path)
{
    struct finding *f = arg;
    char name[30];
    if (is_known(f->policy, path) || is_harmless(f->policy, dir, path))
        return;
    bool is_aside = put_aside(dir, name, sizeof name);
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

/* ---- named by an index ---- */

static struct index { /* of each repository in p->git */
    struct stat st;
    struct sandbox_paths links; /* directories below the work tree */
    bool is_unread;             /* it needs other files, or is damaged */
} * indexes;

static void add_link(void *arg, struct str name)
{
    paths_put(arg, name);
}

/* Reads it again if it has changed. */
static void index_refresh(struct index *x, const char *git)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct stat now = {0};
    struct error ignored;
    buf_addf(&path, "%s/index", git);
    if (lstat(path.p, &now) == 0 && now.st_ino == x->st.st_ino &&
        now.st_ctim.tv_sec == x->st.st_ctim.tv_sec && now.st_ctim.tv_nsec == x->st.st_ctim.tv_nsec)
        return;
    x->st = now;
    sandbox_paths_clear(&x->links);
    x->is_unread = !git_dir_links(str_of(git), add_link, &x->links, &ignored);
}

static void judge_links(struct finding *f, const struct index *x, struct str tree)
{
    for (size_t i = 0; i < x->links.n; i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        struct stat st;
        buf_addf(&path, "%.*s/%s/.git", STR_FMT(tree), x->links.v[i]);
        int dir = open_dir(f->policy, path_dir(buf_str(&path)));
        if (dir >= 0 && fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0)
            judge(f, dir, path.p);
        if (dir >= 0)
            close(dir);
    }
}

/* An index that was unreadable from the start is not checked. */
static void judge_index(struct finding *f, size_t i, bool is_complete)
{
    const char *git = f->policy->git.v[i];
    struct index *x = &indexes[i];
    bool is_old = x->is_unread;
    index_refresh(x, git);
    bool is_own = str_is(path_base(str_of(git)), ".git");
    judge_links(f, x, is_own ? path_dir(str_of(git)) : str_of(f->policy->root));
    if (x->is_unread && !is_old && !is_complete && f->ok)
        f->ok = error_set(f->err, ERR_DENIED,
                          "a command changed %s/index so that the submodules it names are not "
                          "known: check it, then start a new session",
                          git);
}

void nested_guard(struct sandbox_policy *p)
{
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return;
    search_all(&(struct search){.policy = p, .fn = guard, .arg = p});
    indexes = xcalloc(p->git.n, sizeof *indexes);
    for (size_t i = 0; i < p->git.n; i++)
        index_refresh(&indexes[i], p->git.v[i]);
}

bool nested_check(const struct sandbox_policy *p, struct error *err)
{
    struct finding f = {.policy = p, .err = err, .ok = true};
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return true;
    bool is_complete = search_all(
        &(struct search){.policy = p, .skips_closed = p->has_mounts, .fn = judge, .arg = &f});
    for (size_t i = 0; i < p->git.n; i++)
        judge_index(&f, i, is_complete);
    return f.ok;
}
