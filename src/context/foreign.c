/* SPDX-License-Identifier: MIT */
#include "context/foreign.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/policy.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_open(int fd, struct str path, size_t max, struct buf *ret, struct error *err)
{
    struct stat st;
    if (sandbox_is_credential(fd))
        return error_set(err, ERR_DENIED, "%.*s is a credential file", STR_FMT(path));
    if (fstat(fd, &st) == 0 && st.st_size > (int64_t)max)
        return error_set(err, ERR_LIMIT, "%.*s is larger than %zu bytes", STR_FMT(path), max);
    return path_read_fd(ret, fd, path, max, err);
}

bool foreign_read(struct str root, struct str path, size_t max, struct buf *ret, struct error *err)
{
    int fd = path_open_file(root, path, err);
    if (fd < 0)
        return false;
    bool ok = read_open(fd, path, max, ret, err);
    close(fd);
    return ok;
}

bool foreign_read_head(struct str root, struct str path, size_t max, struct buf *ret,
                       int64_t *ret_size, struct error *err)
{
    struct stat st;
    int fd = path_open_file(root, path, err);
    if (fd < 0)
        return false;
    bool ok = !sandbox_is_credential(fd) ||
              error_set(err, ERR_DENIED, "%.*s is a credential file", STR_FMT(path));
    while (ok && ret->n < max) {
        char piece[4096];
        ssize_t n = read(fd, piece, MIN(sizeof piece, max - ret->n));
        if (n < 0)
            ok = error_errno(err, errno, "cannot read %.*s", STR_FMT(path));
        if (n <= 0)
            break;
        buf_add(ret, str_n(piece, (size_t)n));
    }
    *ret_size = fstat(fd, &st) == 0 ? MAX((int64_t)st.st_size, (int64_t)ret->n) : (int64_t)ret->n;
    close(fd);
    return ok;
}

struct str foreign_root(struct str tree, struct str path)
{
    return tree.n && path_is_inside(tree, path) ? tree : STR_NONE;
}
