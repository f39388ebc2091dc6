/* SPDX-License-Identifier: MIT */
/* A mount namespace: the part of the sandbox that is a bonus, for many a system does not let an
 * ordinary user have one.  It does three things that Landlock cannot:
 *
 *     guards    .git/hooks lies below a writable directory, and Landlock cannot except it
 *     metadata  chmod, chown, touch and extended attributes outside are no affair of Landlock
 *     /dev/shm  becomes private, so that it can be writable
 *
 * First the writable places are cloned as they are, then everything becomes read-only, then the
 * clones are put over their originals.  A guarded path is bound over itself, read-only; so is each
 * directory between it and the writable place, but writable: a mount point cannot be renamed or
 * removed, so nobody can move .git aside and put another one in its place.
 *
 * Root uses its own right to mount; others make a user namespace in which they are themselves.
 */
#include "sandbox/internal.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum {
    CLONE_TREE = 1,            /* OPEN_TREE_CLONE */
    RECURSIVE = 0x8000,        /* AT_RECURSIVE */
    FROM_EMPTY_PATH = 4,       /* MOVE_MOUNT_F_EMPTY_PATH */
    ATTR_READ_ONLY = 1,        /* MOUNT_ATTR_RDONLY */
    MAX_WRITABLE = 64,
};

struct attributes { /* struct mount_attr */
    uint64_t set, clear, propagation, user_fd;
};

const char *policy_writable(const struct sandbox_policy *p, size_t i)
{
    if (i == 0)
        return p->tmp;
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return NULL;
    if (i == 1)
        return p->root;
    return i - 2 < p->writable.n ? p->writable.v[i - 2] : NULL;
}

const char *policy_place_of(const struct sandbox_policy *p, struct str path)
{
    const char *place, *found = NULL;
    for (size_t i = 0; (place = policy_writable(p, i)); i++)
        if (path_is_inside(str_of(place), path) && (!found || strlen(place) > strlen(found)))
            found = place;
    return found;
}

/* ---- the namespace ---- */

static bool write_file(const char *path, const char *text, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, errno, "cannot open %s", path);
    ssize_t n = write(fd, text, strlen(text));
    int number = errno;
    close(fd);
    return n >= 0 || error_errno(err, number, "cannot write %s", path);
}

static bool map_self(unsigned uid, unsigned gid, struct error *err)
{
    char uids[40], gids[40];
    snprintf(uids, sizeof uids, "%u %u 1", uid, uid);
    snprintf(gids, sizeof gids, "%u %u 1", gid, gid);
    return write_file("/proc/self/uid_map", uids, err) &&
           write_file("/proc/self/setgroups", "deny", err) &&
           write_file("/proc/self/gid_map", gids, err);
}

static bool enter(struct error *err)
{
    unsigned uid = geteuid(), gid = getegid();
    if (uid != 0 || unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return error_errno(err, errno, "no mount namespace");
        if (!map_self(uid, gid, err))
            return false;
    }
    /* What is mounted here stays here. */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return error_errno(err, errno, "no mounts in the namespace");
    return true;
}

bool mounts_probe(void)
{
    struct error ignored;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(enter(&ignored) ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && status == 0;
}

static int read_setting(const char *path, int otherwise)
{
    char text[16] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 ? atoi(text) : otherwise;
}

bool mounts_look_possible(void)
{
    if (read_setting("/proc/sys/user/max_mnt_namespaces", 1) == 0)
        return false;
    return geteuid() == 0 ||
           (read_setting("/proc/sys/user/max_user_namespaces", 1) != 0 &&
            read_setting("/proc/sys/kernel/unprivileged_userns_clone", 1) != 0 &&
            read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 0);
}

/* ---- read-only, with clones on top ---- */

bool mount_read_only(const char *path, struct error *err)
{
    struct attributes a = {.set = ATTR_READ_ONLY};
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, RECURSIVE, &a, sizeof a) != 0)
        return error_errno(err, errno, "cannot make %s read-only", path);
    return true;
}

int mount_clone(const char *path)
{
    return (int)syscall(SYS_open_tree, AT_FDCWD, path, CLONE_TREE | RECURSIVE | O_CLOEXEC);
}

bool mount_put(int fd, const char *path, struct error *err)
{
    if (syscall(SYS_move_mount, fd, "", AT_FDCWD, path, FROM_EMPTY_PATH) != 0)
        return error_errno(err, errno, "cannot mount over %s", path);
    return true;
}

static bool has_root_writable(const struct sandbox_policy *p)
{
    for (size_t i = 0; policy_writable(p, i); i++)
        if (strcmp(policy_writable(p, i), "/") == 0)
            return true;
    return false;
}

static bool all_read_only(const struct sandbox_policy *p, struct error *err)
{
    int clones[MAX_WRITABLE];
    size_t n = 0;
    bool ok = true;
    if (has_root_writable(p))
        return true;
    for (; n < MAX_WRITABLE && policy_writable(p, n); n++) {
        clones[n] = mount_clone(policy_writable(p, n));
        if (clones[n] < 0 && errno != ENOENT)
            ok = error_errno(err, errno, "cannot clone %s", policy_writable(p, n));
    }
    ok = ok && mount_read_only("/", err);
    for (size_t i = n; i-- > 0;) { /* the temporary directory last: it may lie in another one */
        if (clones[i] >= 0) {
            ok = ok && mount_put(clones[i], policy_writable(p, i), err);
            close(clones[i]);
        }
    }
    return ok;
}

/* ---- guards ---- */

static bool bind_self(const char *path, struct error *err)
{
    if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) != 0)
        return error_errno(err, errno, "cannot mount %s over itself", path);
    return true;
}

/* Makes the directories between the writable place and path mount points, outermost first; done
 * keeps those that are. */
static bool pin_parents(struct str place, struct str path, struct sandbox_paths *done,
                        struct error *err)
{
    struct str dir = path_dir(path);
    if (dir.n <= place.n || !path_is_inside(place, dir) || paths_have(done, dir))
        return true;
    if (!pin_parents(place, dir, done, err))
        return false;
    AUTO_FREE char *z = str_dup(dir);
    sandbox_paths_add(done, dir);
    return bind_self(z, err);
}

/* git makes hooks by itself; a repository without them must not get some through the back door. */
static void make_hooks(const struct sandbox_policy *p)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/.git/HEAD", p->root);
    if (!path_exists(buf_str(&path)))
        return;
    buf_reset(&path);
    buf_addf(&path, "%s/.git/hooks", p->root);
    mkdir(path.p, 0755);
}

static bool guard_all(const struct sandbox_policy *p, struct sandbox_paths *done,
                      struct error *err)
{
    for (size_t i = 0; i < p->guarded.n; i++) {
        const char *path = p->guarded.v[i], *place = policy_place_of(p, str_of(path));
        if (!place || !path_exists(str_of(path)))
            continue;
        if (!pin_parents(str_of(place), str_of(path), done, err) || !bind_self(path, err) ||
            !mount_read_only(path, err))
            return false;
    }
    return true;
}

/* A file of a program's own directory goes with all files there. */
static bool hide(const struct sandbox_policy *p, struct sandbox_paths *done, const char *path,
                 struct error *err)
{
    struct str dir = path_dir(str_of(path));
    struct stat st;
    if (policy_is_own_dir(p, dir)) {
        AUTO_FREE char *z = str_dup(dir);
        if (paths_have(done, dir) || !path_is_dir(dir))
            return true;
        sandbox_paths_add(done, dir);
        return cover_dir(z, err);
    }
    if (lstat(path, &st) != 0)
        return true;
    int rc = S_ISDIR(st.st_mode) ? mount("none", path, "tmpfs", MS_RDONLY, NULL)
                                 : mount("/dev/null", path, NULL, MS_BIND, NULL);
    return rc == 0 || error_errno(err, errno, "cannot hide %s", path);
}

static bool hide_all(const struct sandbox_policy *p, struct sandbox_paths *done, struct error *err)
{
    for (size_t i = 0; i < p->hidden.n; i++) {
        const char *path = p->hidden.v[i], *place = policy_place_of(p, str_of(path));
        struct str dir = path_dir(str_of(path));
        if (!place || !path_is_dir(dir))
            continue;
        /* The parents of what is mounted over: of the directory, or of the file. */
        struct str covered = policy_is_own_dir(p, dir) ? dir : str_of(path);
        if (!pin_parents(str_of(place), covered, done, err) || !hide(p, done, path, err))
            return false;
    }
    return true;
}

static void list_clear(struct sandbox_paths *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
}

static bool guard_and_hide(const struct sandbox_policy *p, struct error *err)
{
    struct sandbox_paths done = {0};
    bool ok = hide_all(p, &done, err) && guard_all(p, &done, err);
    list_clear(&done);
    return ok;
}

bool mounts_confine(const struct sandbox_policy *p, struct error *err)
{
    AUTO_FREE char *here = getcwd(NULL, 0);
    if (p->kind == SANDBOX_WORKSPACE_WRITE)
        make_hooks(p);
    if (!enter(err) || !all_read_only(p, err) || !guard_and_hide(p, err))
        return false;
    if (path_is_dir(STR("/dev/shm")) &&
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
        return error_errno(err, errno, "cannot make /dev/shm private");
    if (here && chdir(here) != 0) /* the directory was that of the mount below */
        return error_errno(err, errno, "cannot go back to %s", here);
    return true;
}
