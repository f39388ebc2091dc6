/* SPDX-License-Identifier: MIT */
/* Removes without recursion: in each top directory the files are removed and the subdirectories are
 * moved to the top under a new name, until nothing is left.
 */
#include "sandbox/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct flat {
    int top;
    unsigned long n_moved;
};

static DIR *open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
        fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    fchmod(fd, 0700);
    return fdopendir(fd);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removes an entry or moves it to the top; false when it stays. */
static bool lift(struct flat *f, int at, const char *name)
{
    char fresh[40];
    if (unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0)
        return true;
    for (int i = 0; i < 100; i++) {
        snprintf(fresh, sizeof fresh, "_%lx", f->n_moved++);
        /* a directory must be writable to be moved */
        if (fchmodat(at, name, 0700, 0) != 0 && errno == ENOENT)
            return true;
        if (renameat(at, name, f->top, fresh) == 0)
            return true;
        if (errno != ENOTEMPTY && errno != EEXIST)
            return false;
    }
    return false;
}

/* Empties and removes one top directory; false when it stays. */
static bool flatten(struct flat *f, const char *name)
{
    DIR *d = open_dir(f->top, name);
    if (!d)
        return unlinkat(f->top, name, 0) == 0;
    for (struct dirent *e; (e = readdir(d));)
        if (!is_dots(e->d_name))
            lift(f, dirfd(d), e->d_name);
    closedir(d);
    return unlinkat(f->top, name, AT_REMOVEDIR) == 0;
}

/* One pass over the top; true when something was removed, so that another pass may help. */
static bool pass_over(struct flat *f, DIR *d)
{
    bool has_gone = false;
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (is_dots(e->d_name))
            continue;
        if (unlinkat(f->top, e->d_name, 0) == 0 || flatten(f, e->d_name))
            has_gone = true;
    }
    return has_gone;
}

void remove_tree(const char *path)
{
    remove_tree_at(AT_FDCWD, path);
}

void remove_tree_at(int at, const char *name)
{
    DIR *d = open_dir(at, name);
    if (!d)
        return;
    struct flat f = {.top = dirfd(d)};
    while (pass_over(&f, d))
        ;
    closedir(d);
    unlinkat(at, name, AT_REMOVEDIR);
}

bool put_aside(int dir, const char *name, char *ret_name, size_t size)
{
    for (int i = 1; i < 100; i++) {
        snprintf(ret_name, size, i > 1 ? "%s.untrusted-%d" : "%s.untrusted", name, i);
        if (renameat2(dir, name, dir, ret_name, RENAME_NOREPLACE) == 0)
            return true;
        /* a command may have removed write permission from the directory */
        if (errno == EACCES && fchmodat(dir, ".", 0755, 0) == 0 &&
            renameat2(dir, name, dir, ret_name, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    return false;
}
