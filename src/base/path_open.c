/* SPDX-License-Identifier: MIT */
/* Opening files by untrusted names.  Between the permission check of a path and its use, a link can
 * replace a directory.  So the kernel gets flags for which links to follow: none for a path that
 * was resolved before, none that leads out of the given root directory otherwise.
 *
 * Where the kernel has no openat2 (before 5.6, or a filter refuses it) the path is walked directory
 * by directory, and no link at all is followed.
 */
#include "base/path.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

enum resolve { NO_MAGIC_LINKS = 2, NO_LINKS = 4, BENEATH = 8 }; /* the kernel's RESOLVE_ flags */

/* ---- without following links ---- */

/* Copies the first component; returns the rest. */
static const char *first_part(const char *path, char part[NAME_MAX + 1])
{
    size_t n = strcspn(path, "/");
    if (n > NAME_MAX)
        return NULL;
    memcpy(part, path, n);
    part[n] = '\0';
    path += n;
    return path + strspn(path, "/");
}

/* Like openat, but every link on the way is ELOOP (or ENOTDIR), and ".." EXDEV. */
static int open_walking(int dir, const char *path, int flags, unsigned mode)
{
    char part[NAME_MAX + 1] = "";
    int at = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
                          : fcntl(dir, F_DUPFD_CLOEXEC, 0);
    path += strspn(path, "/");
    while (at >= 0) {
        const char *rest = first_part(path, part);
        if (rest && strcmp(part, "..") == 0)
            rest = NULL;
        if (!rest)
            errno = strcmp(part, "..") == 0 ? EXDEV : ENAMETOOLONG;
        bool is_last = rest && !*rest;
        int next = !rest     ? -1
                   : is_last ? openat(at, *part ? part : ".", flags | O_NOFOLLOW, mode)
                             : openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int number = errno;
        close(at);
        errno = number;
        if (is_last || next < 0)
            return next;
        at = next;
        path = rest;
    }
    return -1;
}

static int open_how(int dir, const char *path, int flags, unsigned mode, unsigned resolve)
{
    struct { /* struct open_how */
        uint64_t flags, mode, resolve;
    } how = {(uint64_t)flags, flags & O_CREAT ? mode : 0, resolve};
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* an old kernel, or a seccomp filter */
        fd = open_walking(dir, path, flags, mode);
    return fd;
}

int path_open_straight(const char *path, int flags, unsigned mode)
{
    return open_how(AT_FDCWD, path, flags, mode, NO_LINKS);
}

static int open_parent(const char *path)
{
    AUTO_FREE char *dir = str_dup(path_dir(str_of(path)));
    return path_open_straight(dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

/* Closes the descriptors that are open and returns rc; errno is kept. */
static int close_two(int a, int b, int rc)
{
    int number = errno;
    if (a >= 0)
        close(a);
    if (b >= 0)
        close(b);
    errno = number;
    return rc;
}

int path_link_straight(const char *from, const char *to)
{
    int a = open_parent(from), b = a < 0 ? -1 : open_parent(to);
    int rc = b < 0 ? -1 : linkat(a, path_base(str_of(from)).p, b, path_base(str_of(to)).p, 0);
    return close_two(a, b, rc);
}

int path_rename_straight(const char *from, const char *to)
{
    int a = open_parent(from), b = a < 0 ? -1 : open_parent(to);
    int rc = b < 0 ? -1 : renameat(a, path_base(str_of(from)).p, b, path_base(str_of(to)).p);
    return close_two(a, b, rc);
}

int path_unlink_straight(const char *path)
{
    int dir = open_parent(path);
    int rc = dir < 0 ? -1 : unlinkat(dir, path_base(str_of(path)).p, 0);
    return close_two(dir, -1, rc);
}

int path_stat_straight(const char *path, struct stat *ret)
{
    int dir = open_parent(path);
    int rc = dir < 0 ? -1 : fstatat(dir, path_base(str_of(path)).p, ret, AT_SYMLINK_NOFOLLOW);
    return close_two(dir, -1, rc);
}

int path_access_straight(const char *path, int how)
{
    int dir = open_parent(path);
    int rc = dir < 0 ? -1 : faccessat(dir, path_base(str_of(path)).p, how, 0);
    return close_two(dir, -1, rc);
}

/* Opens a subdirectory, created if missing. */
static int enter_made(int dir, const char *name, unsigned mode)
{
    int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int next = openat(dir, name, flags);
    if (next < 0 && errno == ENOENT && (mkdirat(dir, name, mode) == 0 || errno == EEXIST))
        next = openat(dir, name, flags);
    return close_two(dir, -1, next);
}

bool path_make_dirs_straight(struct str path, unsigned mode, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    char part[NAME_MAX + 1];
    int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const char *rest = z + strspn(z, "/"); at >= 0 && *rest;) {
        rest = first_part(rest, part);
        if (!rest) {
            errno = ENAMETOOLONG;
            at = close_two(at, -1, -1);
            break;
        }
        at = enter_made(at, part, mode);
    }
    if (at < 0)
        return error_errno(err, errno, "cannot create the directory %s", z);
    close(at);
    return true;
}

/* ---- directories to write in ---- */

static bool is_one_of(int fd, const struct str *roots, size_t n)
{
    struct stat st, root;
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
        AUTO_FREE char *z = str_dup(roots[i]);
        found = fstat(fd, &st) == 0 && stat(z, &root) == 0 && st.st_dev == root.st_dev &&
                st.st_ino == root.st_ino;
    }
    return found;
}

/* Says why dir cannot be opened; links are looked for in the part from `below` on. */
static void set_dir_error(char *dir, size_t below, struct error *err)
{
    int number = errno;
    struct stat st;
    for (size_t i = below + 1, n = strlen(dir); i <= n; i++) {
        char keep = dir[i];
        if (keep && keep != '/')
            continue;
        dir[i] = '\0';
        bool is_link = lstat(dir, &st) == 0 && S_ISLNK(st.st_mode);
        if (is_link)
            error_set(err, ERR_INVALID, "%s is a symbolic link, which is not followed", dir);
        dir[i] = keep;
        if (is_link)
            return;
    }
    if (number == ENOENT)
        error_set(err, ERR_NOT_FOUND, "the directory %s does not exist", dir);
    else
        error_errno(err, number, "cannot open the directory %s", dir);
}

int path_open_dir_of(struct str path, const struct str *roots, size_t n_roots, struct error *err)
{
    const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    AUTO_FREE char *z = str_dup(path_dir(path));
    for (size_t i = 0, n = strlen(z);; i++) {
        char keep = z[i];
        if (keep && keep != '/')
            continue;
        z[i] = '\0';
        int at = open(*z ? z : "/", flags);
        z[i] = keep;
        const char *rest = z + i + strspn(z + i, "/");
        bool is_root = at >= 0 && *rest && is_one_of(at, roots, n_roots);
        if (at >= 0 && *rest && !is_root) {
            close(at);
            continue;
        }
        if (is_root)
            at = close_two(at, -1, open_how(at, rest, flags, 0, NO_LINKS));
        if (at < 0)
            set_dir_error(z, is_root ? i : n, err);
        return at;
    }
}

/* ---- regular files ---- */

bool path_is_kernels(struct str path)
{
    static const char *const places[] = {"/proc", "/sys", "/dev"};
    if (path_is_inside(STR("/dev/shm"), path))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (path_is_inside(str_of(places[i]), path))
            return true;
    return false;
}

bool path_is_kernels_fd(int fd)
{
    static const uint32_t kinds[] = {
        0x9fa0,     0x62656572, 0x64626720, /* proc, sysfs, debugfs */
        0x74726163, 0x73636673, 0x62656570, /* tracefs, securityfs, configfs */
        0xde5e81e4, 0xcafe4a11, 0xf97cff8c, /* efivarfs, bpf, selinux */
    };
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if ((uint32_t)fs.f_type == kinds[i])
            return true;
    return false;
}

bool path_check_file(int fd, struct str name, struct stat *ret, struct error *err)
{
    if (fstat(fd, ret) != 0)
        return error_errno(err, errno, "%.*s", STR_FMT(name));
    if (!S_ISREG(ret->st_mode))
        return error_set(err, ERR_INVALID, "%.*s is %s", STR_FMT(name),
                         S_ISDIR(ret->st_mode) ? "a directory" : "not a regular file");
    if (path_is_kernels_fd(fd))
        return error_set(err, ERR_DENIED, "%.*s is a file of the kernel", STR_FMT(name));
    return true;
}

/* Without root, links are followed anywhere. */
static int open_below(struct str root, struct str path)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    AUTO_FREE char *name = str_dup(root.n ? path_relative(root, path) : path);
    if (!root.n)
        return open(name, flags);
    if (name[0] == '/') {
        errno = EXDEV;
        return -1;
    }
    AUTO_FREE char *top = str_dup(root);
    int dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = dir < 0 ? -1 : open_how(dir, name, flags, 0, BENEATH | NO_MAGIC_LINKS);
    return close_two(dir, -1, fd);
}

int path_open_file(struct str root, struct str path, struct error *err)
{
    struct stat st;
    int fd = open_below(root, path);
    if (fd < 0 && root.n && (errno == EXDEV || errno == ELOOP)) {
        error_set(err, ERR_DENIED, "%.*s leads out of %.*s", STR_FMT(path), STR_FMT(root));
        return -1;
    }
    if (fd < 0) {
        error_errno(err, errno, "cannot open %.*s", STR_FMT(path));
        return -1;
    }
    if (path_check_file(fd, path, &st, err))
        return fd;
    close(fd);
    return -1;
}

bool path_read_fd(struct buf *out, int fd, struct str name, size_t max, struct error *err)
{
    size_t total = 0;
    for (;;) {
        char part[8192]; /* out may have a limit too; a file of exactly that size is fine */
        ssize_t n = read(fd, part, sizeof part);
        if (n == 0)
            return true;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "cannot read %.*s", STR_FMT(name));
        total += (size_t)n;
        if (total > max || !buf_add(out, str_n(part, (size_t)n)))
            return error_set(err, ERR_LIMIT, "%.*s is larger than %zu bytes", STR_FMT(name), max);
    }
}
