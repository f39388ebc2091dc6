/* SPDX-License-Identifier: MIT */
/* Finds every .git below the writable places, breadth first and at any depth.
 *
 * Only directories count towards the limit: plain files cost nothing but the time to read their
 * names.  That is needed once: a directory whose change time is the same has the same entries
 * (dirs.c), so a later search reads only those that changed and looks at the others by stat.
 *
 * A search that could not see everything fails, since a command can make that happen.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DIRS = 100 * 1000 };

struct found_dir {
    char *path;
    char **names; /* of its directories, NULL-ended; NULL: not known */
    uint64_t hash;
    struct stat st;
    bool has_git;
};

struct search {
    struct found_dir *v; /* those before `at` are done */
    size_t n, at;
    size_t *slots; /* by hash; index + 1 */
    size_t n_slots;
    const struct sandbox_policy *policy;
    bool skips_closed;
    git_found_fn *fn;
    void *arg;
};

static struct search last; /* of this process */

static void free_names(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

static void search_clear(struct search *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->v[i].path);
        free_names(s->v[i].names);
    }
    free(s->v);
    free(s->slots);
    *s = (struct search){0};
}

static uint64_t hash_of(const char *path)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 0x100000001b3u;
    return h;
}

static void make_slots(struct search *s)
{
    for (s->n_slots = 16; s->n_slots < 2 * s->n; s->n_slots *= 2)
        ;
    s->slots = xcalloc(s->n_slots, sizeof *s->slots);
    for (size_t i = 0; i < s->n; i++) {
        size_t at = s->v[i].hash & (s->n_slots - 1);
        while (s->slots[at])
            at = (at + 1) & (s->n_slots - 1);
        s->slots[at] = i + 1;
    }
}

static struct found_dir *find(struct search *s, const struct found_dir *d)
{
    size_t at = d->hash & (s->n_slots - 1);
    for (; s->n_slots && s->slots[at]; at = (at + 1) & (s->n_slots - 1))
        if (s->v[s->slots[at] - 1].hash == d->hash &&
            strcmp(s->v[s->slots[at] - 1].path, d->path) == 0)
            return &s->v[s->slots[at] - 1];
    return NULL;
}

static void push(struct search *s, char *path)
{
    if ((s->n & (s->n - 1)) == 0) /* grow to the next power of two */
        s->v = xrealloc(s->v, (s->n ? s->n * 2 : 1) * sizeof *s->v);
    s->v[s->n++] = (struct found_dir){.path = path, .hash = hash_of(path)};
}

/* ---- one directory ---- */

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

int search_open(const struct sandbox_policy *p, struct str path)
{
    int way = view_open_outside(p, path);
    int fd = way < 0 ? -1 : openat(way, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (way >= 0 && fd < 0 && errno == EACCES)
        fd = open_unreadable(way);
    int number = errno;
    if (way >= 0)
        close(way);
    errno = number;
    return fd;
}

static bool is_dir(int at, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void read_names(struct found_dir *d, DIR *dir)
{
    size_t n = 0, room = 0;
    for (struct dirent *e; n <= MAX_DIRS && (e = readdir(dir));) {
        bool is_git = strcmp(e->d_name, ".git") == 0;
        d->has_git |= is_git;
        if (is_git || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            !is_dir(dirfd(dir), e))
            continue;
        if (n + 1 >= room) {
            room = room ? room * 2 : 8;
            d->names = xrealloc(d->names, room * sizeof *d->names);
        }
        d->names[n++] = xstrdup(e->d_name);
        d->names[n] = NULL;
    }
    if (!d->names)
        d->names = xcalloc(1, sizeof *d->names);
}

/* Takes what is known of it from the last search if it has not changed. */
static bool recall(const struct search *s, struct found_dir *d)
{
    struct found_dir *old = find(&last, d);
    struct stat now;
    if (!old || !old->names || view_stat_outside(s->policy, d->path, &now) != 0 ||
        now.st_dev != old->st.st_dev || now.st_ino != old->st.st_ino ||
        now.st_ctim.tv_sec != old->st.st_ctim.tv_sec ||
        now.st_ctim.tv_nsec != old->st.st_ctim.tv_nsec)
        return false;
    d->st = old->st;
    d->has_git = old->has_git;
    d->names = take(&old->names);
    return true;
}

/* False: it may be there, and what it has is not known.  One that this user may not enter, commands
 * may not either. */
static bool read_dir(const struct search *s, struct found_dir *d)
{
    if (recall(s, d))
        return true;
    int fd = search_open(s->policy, str_of(d->path));
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES ||
               errno == EPERM;
    bool is_known = fstat(fd, &d->st) == 0 && !dirs_is_recent(&d->st);
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return false;
    }
    read_names(d, dir);
    closedir(dir);
    if (!is_known)
        d->st = (struct stat){0};
    return true;
}

/* ---- all ---- */

/* Whether a mount keeps commands from making anything there. */
static bool is_closed(const struct search *s, struct str path)
{
    const struct sandbox_policy *p = s->policy;
    return s->skips_closed && (paths_have(&p->guarded, path) || paths_have(&p->masked, path));
}

static void push_names(struct search *s, const struct found_dir *d)
{
    const char *dir = strcmp(d->path, "/") == 0 ? "" : d->path;
    char **names = d->names; /* push moves d, but neither its names nor its path */
    for (; names && *names && s->n <= MAX_DIRS; names++) {
        struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", dir, *names);
        if (is_closed(s, buf_str(&path)))
            buf_clear(&path);
        else
            push(s, buf_take(&path));
    }
}

static void report_git(struct search *s, const struct found_dir *d)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/.git", strcmp(d->path, "/") == 0 ? "" : d->path);
    if (str_eq(path_dir(buf_str(&path)), str_of(s->policy->root)))
        return; /* of the workspace itself */
    int fd = search_open(s->policy, str_of(d->path));
    if (fd < 0)
        return;
    s->fn(s->arg, fd, path.p);
    close(fd);
}

static bool search_place(struct search *s, const char *place, struct error *err)
{
    bool ok = true;
    push(s, xstrdup(place));
    for (; ok && s->at < s->n && s->n <= MAX_DIRS; s->at++) {
        ok = read_dir(s, &s->v[s->at]);
        if (ok && s->v[s->at].has_git)
            report_git(s, &s->v[s->at]);
        push_names(s, &s->v[s->at]);
    }
    return (ok && s->n <= MAX_DIRS) ||
           error_set(
               err, ERR_LIMIT,
               "the repositories in %s are not all known: it has more than %d directories, or "
               "one that cannot be opened, such as one whose path is longer than %d bytes",
               place, MAX_DIRS, PATH_MAX - 1);
}

bool search_git(const struct sandbox_policy *p, bool skips_closed, git_found_fn *fn, void *arg,
                struct error *err)
{
    struct search s = {.policy = p, .skips_closed = skips_closed, .fn = fn, .arg = arg};
    const char *place;
    bool ok = true;
    for (size_t i = 1; ok && (place = policy_writable(p, i)); i++) /* 0: scratch directory */
        ok = search_place(&s, place, err);
    search_clear(&last);
    make_slots(&s);
    last = s;
    return ok;
}
