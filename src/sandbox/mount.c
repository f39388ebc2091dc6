/* SPDX-License-Identifier: MIT */
/* Mounts by descriptor: no function here follows a link in a path. */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_TYPE /* musl before 1.2.5 */
#include <linux/stat.h>
static int statx(int dir, const char *name, int flags, unsigned mask, struct statx *ret)
{
    return (int)syscall(SYS_statx, dir, name, flags, mask, ret);
}
#endif

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum {
    CLONE_TREE = 1,      /* OPEN_TREE_CLONE */
    RECURSIVE = 0x8000,  /* AT_RECURSIVE */
    FROM_EMPTY_PATH = 4, /* MOVE_MOUNT_F_EMPTY_PATH */
    ATTR_READ_ONLY = 1,  /* MOUNT_ATTR_RDONLY */
    ATTR_NO_SUID = 2,
    ATTR_NO_DEV = 4,
    NO_SYMLINKS = 4,        /* RESOLVE_NO_SYMLINKS */
    CREATE = 6,             /* FSCONFIG_CMD_CREATE */
    IS_MOUNT_ROOT = 0x2000, /* STATX_ATTR_MOUNT_ROOT */
};

struct attributes { /* struct mount_attr */
    uint64_t set, clear, propagation, user_fd;
};

struct how { /* struct open_how */
    uint64_t flags, mode, resolve;
};

int mount_open_dir(int at, struct str path)
{
    AUTO_FREE char *z = str_dup(path.n ? path : STR("."));
    struct how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = NO_SYMLINKS};
    return (int)syscall(SYS_openat2, at, z, &how, sizeof how);
}

/* Cache: the directory of the last spot; most spots are in the same one. */
static struct {
    char path[PATH_MAX];
    int fd;
} last = {.fd = -1};

void spots_forget(void)
{
    if (last.fd >= 0)
        close(last.fd);
    last.fd = -1;
}

static struct dirs *recorded;

void spots_record(struct dirs *into)
{
    recorded = into;
}

void spots_note(struct str dir)
{
    if (recorded)
        dirs_add(recorded, dir);
}

bool spot_open(struct spot *s, const char *path)
{
    struct str dir = path_dir(str_of(path));
    s->path = path;
    s->name = strrchr(path, '/') + 1;
    if (last.fd < 0 || !str_is(dir, last.path)) {
        spots_forget();
        spots_note(dir);
        last.fd = dir.n < sizeof last.path ? mount_open_dir(AT_FDCWD, dir) : -1;
        snprintf(last.path, sizeof last.path, "%.*s", STR_FMT(dir));
    }
    s->dir = last.fd;
    return s->dir >= 0;
}

enum spot_kind spot_look(const struct spot *s)
{
    struct statx st;
    if (statx(s->dir, s->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st) != 0)
        return SPOT_MISSING;
    if (S_ISLNK(st.stx_mode))
        return SPOT_LINK;
    if (st.stx_attributes & IS_MOUNT_ROOT)
        return SPOT_MOUNT;
    return S_ISDIR(st.stx_mode) ? SPOT_DIR : SPOT_FILE;
}

static int clone_at(int dir, const char *name)
{
    return (int)syscall(SYS_open_tree, dir, name,
                        CLONE_TREE | RECURSIVE | AT_SYMLINK_NOFOLLOW | O_CLOEXEC);
}

int mount_clone(const char *path)
{
    return clone_at(AT_FDCWD, path);
}

static bool set_read_only(int dir, const char *name, int flags, bool is_read_only)
{
    struct attributes a = {0};
    *(is_read_only ? &a.set : &a.clear) = ATTR_READ_ONLY;
    return syscall(SYS_mount_setattr, dir, name, RECURSIVE | flags, &a, sizeof a) == 0;
}

bool mount_read_only(const char *path, bool is_read_only, struct error *err)
{
    return set_read_only(AT_FDCWD, path, 0, is_read_only) ||
           error_errno(err, errno, "cannot change the mount of %s", path);
}

bool mount_put(int tree, const char *path, struct error *err)
{
    return syscall(SYS_move_mount, tree, "", AT_FDCWD, path, FROM_EMPTY_PATH) == 0 ||
           error_errno(err, errno, "cannot mount over %s", path);
}

static bool put_at(int tree, const struct spot *s, struct error *err)
{
    bool ok = tree >= 0 && syscall(SYS_move_mount, tree, "", s->dir, s->name, FROM_EMPTY_PATH) == 0;
    int number = errno;
    if (tree >= 0)
        close(tree);
    return ok || error_errno(err, number, "cannot mount over %s", s->path);
}

bool spot_bind(const struct spot *s, bool is_read_only, struct error *err)
{
    int tree = clone_at(s->dir, s->name);
    if (tree >= 0 && is_read_only && !set_read_only(tree, "", AT_EMPTY_PATH, true)) {
        int number = errno;
        close(tree);
        return error_errno(err, number, "cannot make %s read-only", s->path);
    }
    return put_at(tree, s, err);
}

bool spot_bind_from(const struct spot *s, const char *from, struct error *err)
{
    return put_at(clone_at(AT_FDCWD, from), s, err);
}

bool spot_mask(const struct spot *s, struct error *err)
{
    int fs = (int)syscall(SYS_fsopen, "tmpfs", 1 /* FSOPEN_CLOEXEC */), tree = -1;
    if (fs >= 0 && syscall(SYS_fsconfig, fs, CREATE, NULL, NULL, 0) == 0)
        tree = (int)syscall(SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */,
                            ATTR_READ_ONLY | ATTR_NO_SUID | ATTR_NO_DEV);
    if (fs >= 0)
        close(fs);
    return put_at(tree, s, err);
}
