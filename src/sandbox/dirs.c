/* SPDX-License-Identifier: MIT */
/* Directories whose entries the sandbox depends on.  As long as their change times are the same,
 * nothing in them was made, removed or renamed: mounts, rules and marks are up to date.  A process
 * cannot set a change time, only cause a later one.
 */
#include "sandbox/parts.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"

enum {
    /* A change within a clock tick of an earlier one has the same time. */
    TICK_US = 20 * 1000,
    COARSE_TICK_US = 2000 * 1000, /* of file systems that have seconds */
};

static struct stat look(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st : (struct stat){0};
}

bool dirs_is_recent(const struct stat *st)
{
    int64_t us = (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000;
    return time_real_ms() * 1000 - us < (st->st_ctim.tv_nsec ? TICK_US : COARSE_TICK_US);
}

void dirs_clear(struct dirs *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
    *l = (struct dirs){0};
}

static bool has_dir(const struct dirs *l, struct str path)
{
    for (size_t i = l->n; i-- > 0;)
        if (str_is(path, l->v[i].path))
            return true;
    return false;
}

void dirs_add(struct dirs *l, struct str path)
{
    while (path.n > 1 && !path_exists(path))
        path = path_dir(path);
    if (has_dir(l, path))
        return;
    l->v = xrealloc(l->v, (l->n + 1) * sizeof *l->v);
    struct dir *d = &l->v[l->n++];
    d->path = str_dup(path);
    d->st = look(d->path);
    l->is_recent |= dirs_is_recent(&d->st);
}

bool dirs_are_same(const struct dirs *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct stat now = look(l->v[i].path);
        const struct stat *was = &l->v[i].st;
        if (now.st_ino != was->st_ino || now.st_ctim.tv_sec != was->st_ctim.tv_sec ||
            now.st_ctim.tv_nsec != was->st_ctim.tv_nsec)
            return false;
    }
    return l->n > 0 && !l->is_recent;
}
