/* SPDX-License-Identifier: MIT */
/* Paths that no mount can protect are compared before and after a command, always by lstat:
 *
 *     a guarded link                     restored when its target has changed
 *     a file of git that did not exist   removed
 *     another file that did not exist    renamed, and the end of the command says so
 *     any other change                   no further command runs, and the reason is reported
 *
 * With mounts, only links and missing paths are compared; without mounts, all guarded paths.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ENTRIES = 20000 };

static uint64_t mix(uint64_t h, uint64_t value)
{
    return (h ^ value) * 0x100000001b3u;
}

static uint64_t mix_stat(uint64_t h, const struct stat *st)
{
    h = mix(mix(h, st->st_ino), st->st_mode);
    h = mix(mix(h, (uint64_t)st->st_mtim.tv_sec), (uint64_t)st->st_mtim.tv_nsec);
    h = mix(mix(h, (uint64_t)st->st_ctim.tv_sec), (uint64_t)st->st_ctim.tv_nsec);
    return mix(h, (uint64_t)st->st_size);
}

/* A hash of everything at and below the path. */
static uint64_t fingerprint(int at, const char *name, int *left)
{
    struct stat st;
    if (--*left < 0 || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    uint64_t sum = mix_stat(0xcbf29ce484222325u, &st);
    int fd = S_ISDIR(st.st_mode) ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                 : -1;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, "sessions") != 0)            /* trivet's own, in .scaiflux */
            sum += fingerprint(dirfd(d), e->d_name, left); /* independent of the order of entries */
    if (d)
        closedir(d);
    return sum;
}

static void mark_fill(struct mark *m, bool has_mounts)
{
    struct spot s;
    char target[PATH_MAX];
    int left = MAX_ENTRIES;
    if (!spot_open(&s, m->path)) {
        m->kind = SPOT_MISSING;
        return;
    }
    m->kind = spot_look(&s);
    ssize_t n = m->kind == SPOT_LINK ? readlinkat(s.dir, s.name, target, sizeof target) : 0;
    if (n > 0)
        m->target = str_dup(str_n(target, (size_t)n));
    if (!has_mounts && m->kind != SPOT_MISSING)
        m->print = fingerprint(s.dir, s.name, &left);
}

static struct mark *marks_put(struct marks *l, const char *path, bool is_git)
{
    l->v = xrealloc(l->v, (l->n + 1) * sizeof *l->v);
    l->v[l->n] = (struct mark){.path = xstrdup(path), .is_git = is_git};
    mark_fill(&l->v[l->n], l->has_mounts);
    return &l->v[l->n++];
}

static void mark_git_file(void *arg, const char *dir, const char *path)
{
    (void)dir;
    marks_put(arg, path, true);
}

/* Sessions and settings change with every turn; Landlock blocks commands from most of them. */
static bool is_written_by_us(const struct sandbox_policy *p, struct str path)
{
    for (size_t i = 0; i < p->masked.n; i++)
        if (path_is_inside(str_of(p->masked.v[i]), path) && !str_is(path, p->masked.v[i]))
            return true;
    return policy_is_own_dir(p, path) || !sandbox_may_read(p, path);
}

static void mark_list(struct marks *l, const struct sandbox_policy *p,
                      const struct sandbox_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        if (policy_place_of(p, str_of(paths->v[i])) && !is_written_by_us(p, str_of(paths->v[i])))
            marks_put(l, paths->v[i], false);
}

void marks_clear(struct marks *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].path);
        free(l->v[i].target);
    }
    free(l->v);
    l->v = NULL;
    l->n = 0;
}

static bool has_repository(const struct sandbox_policy *p)
{
    AUTO(buf) struct buf head = BUF_INIT;
    struct stat st;
    buf_addf(&head, "%s/.git/HEAD", p->root);
    return lstat(head.p, &st) == 0;
}

void marks_take(struct marks *l, const struct sandbox_policy *p)
{
    marks_clear(l);
    spots_forget();
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return;
    l->has_repository = has_repository(p);
    mark_list(l, p, &p->guarded);
    mark_list(l, p, &p->masked);
    for (size_t i = 0; i < p->git.n; i++) {
        struct mark *m = marks_put(l, p->git.v[i], true);
        m->print = 0; /* its contents change with every commit */
    }
    git_each(p, mark_git_file, l);
}

static const struct mark *find(const struct marks *l, const char *path)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].path, path) == 0)
            return &l->v[i];
    return NULL;
}

static bool is_same(const struct mark *a, const struct mark *b)
{
    bool is_missing = !a || a->kind == SPOT_MISSING;
    if (a && a->kind == SPOT_MOUNT && b->kind == SPOT_MISSING)
        return true; /* removed from outside: commands cannot remove what is mounted */
    if (is_missing || b->kind == SPOT_MISSING)
        return is_missing && b->kind == SPOT_MISSING;
    if ((a->kind == SPOT_LINK) != (b->kind == SPOT_LINK))
        return false;
    return a->print == b->print && (!a->target || strcmp(a->target, b->target) == 0);
}

/* A command may have removed write permission from the directory; trivet owns it and can restore
 * it. */
static bool remove_at(const struct spot *s)
{
    if (unlinkat(s->dir, s->name, 0) == 0 || errno == ENOENT)
        return true;
    if (errno == EACCES && fchmodat(s->dir, ".", 0755, 0) != 0)
        return false;
    if (unlinkat(s->dir, s->name, 0) == 0 || unlinkat(s->dir, s->name, AT_REMOVEDIR) == 0)
        return true;
    remove_tree_at(s->dir, s->name);
    return spot_look(s) == SPOT_MISSING;
}

/* A new directory stays: it may be the user's, and a mount or the end of the session guards it. */
static bool put_new_aside(const struct spot *s, char *ret_name, size_t size)
{
    enum spot_kind kind = spot_look(s);
    return (kind == SPOT_FILE || kind == SPOT_LINK) && put_aside(s->dir, s->name, ret_name, size);
}

/* ret_name: the new name of a file that was renamed; unchanged if none was. */
static bool repair(const struct sandbox_policy *p, const struct mark *was, const struct mark *is,
                   char *ret_name, size_t size)
{
    struct spot s = {.path = is->path, .name = strrchr(is->path, '/') + 1};
    bool ok = false;
    s.dir = view_open_outside(p, path_dir(str_of(is->path)));
    if (s.dir < 0)
        return false;
    if (is->kind == SPOT_MOUNT) /* protected by a mount by now, with the wrong content */
        umount2(is->path, MNT_DETACH | UMOUNT_NOFOLLOW);
    if (was && was->kind == SPOT_LINK)
        ok = remove_at(&s) && symlinkat(was->target, s.dir, s.name) == 0;
    else if (is->is_git && (!was || was->kind == SPOT_MISSING))
        ok = remove_at(&s);
    else if (was && was->kind == SPOT_MISSING)
        ok = put_new_aside(&s, ret_name, size);
    close(s.dir);
    return ok;
}

static bool is_of_root(const struct sandbox_policy *p, const char *path)
{
    size_t n = strlen(p->root);
    return strncmp(path, p->root, n) == 0 && strncmp(path + n, "/.git", 5) == 0;
}

/* ERR_EXISTS with the first of them and the number of the others. */
static void report_aside(const struct mark *m, const char *name, int n_before, struct error *err)
{
    static const char text[] = "the sandbox has renamed %s, which a command made, to %s: programs "
                               "outside of the sandbox run it or read it as settings";
    if (n_before == 0)
        error_set(err, ERR_EXISTS, text, m->path, name);
    else if (n_before == 1)
        error_set(err, ERR_EXISTS, "%.400s; others were renamed too, %s among them", err->text,
                  name);
}

bool marks_check(const struct marks *was, const struct sandbox_policy *p, struct error *err)
{
    AUTO(marks) struct marks is = {.has_mounts = was->has_mounts};
    struct error aside = ERROR_INIT;
    int n_aside = 0;
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return true;
    marks_take(&is, p);
    for (size_t i = 0; i < is.n; i++) {
        const struct mark *before = find(was, is.v[i].path);
        char name[NAME_MAX + 20] = "";
        bool is_new_repository = is.v[i].is_git && !was->has_repository &&
                                 is_of_root(p, is.v[i].path);
        bool is_unknown = !before && !is.v[i].is_git; /* its link was found since */
        if (is_new_repository || is_unknown || is_same(before, &is.v[i]))
            continue;
        if (!repair(p, before, &is.v[i], name, sizeof name))
            return error_set(err, ERR_DENIED,
                             "a command changed %s, which programs outside of the sandbox run or "
                             "read as settings: check it, then start a new session",
                             is.v[i].path);
        if (name[0])
            report_aside(&is.v[i], name, n_aside++, &aside);
    }
    if (n_aside)
        *err = aside;
    return n_aside == 0;
}
