/* SPDX-License-Identifier: MIT */
/* Small files.  The new bytes are complete under a temporary name before they take the place of
 * the old ones, so a reader sees the one or the other.  Lock files are never deleted: a deleted one
 * could be held by one process while the next creates and holds its successor.
 */
#include "store/file.h"

#include "base/id.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool file_sync_dir(struct str dir, struct error *err)
{
    AUTO_FREE char *z = str_dup(dir);
    int fd = open(z, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, errno, "cannot open the directory %s", z);
    /* Some file systems cannot sync a directory and need not. */
    bool ok = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    if (!ok)
        error_errno(err, errno, "cannot sync the directory %s", z);
    close(fd);
    return ok;
}

static bool write_new(const char *path, struct str bytes, unsigned mode, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return error_errno(err, errno, "cannot create %s", path);
    bool ok = fchmod(fd, mode) == 0 && path_write_all(fd, bytes) && fsync(fd) == 0;
    if (!ok)
        error_errno(err, errno, "cannot write %s", path);
    if (close(fd) != 0 && ok)
        ok = error_errno(err, errno, "cannot write %s", path);
    return ok;
}

bool file_create(struct str path, struct str bytes, unsigned mode, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    if (write_new(z, bytes, mode, err))
        return file_sync_dir(path_dir(path), err);
    if (err->code != ERR_EXISTS)
        unlink(z);
    return false;
}

bool file_replace(struct str path, struct str bytes, unsigned mode, struct error *err)
{
    char real[PATH_MAX], hex[9];
    AUTO_FREE char *asked = str_dup(path);
    /* A link stays one: what it points to is replaced. */
    const char *target = realpath(asked, real) ? real : asked;
    AUTO(buf) struct buf temporary = BUF_INIT;
    id_hex(hex, 8);
    buf_addf(&temporary, "%s.tmp-%s", target, hex);
    if (!write_new(temporary.p, bytes, mode, err)) {
        unlink(temporary.p);
        return false;
    }
    if (rename(temporary.p, target) != 0) {
        error_errno(err, errno, "cannot replace %s", target);
        unlink(temporary.p);
        return false;
    }
    return file_sync_dir(path_dir(str_of(target)), err);
}

bool file_remove(struct str path, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    if (unlink(z) == 0)
        return file_sync_dir(path_dir(path), err);
    return errno == ENOENT || error_errno(err, errno, "cannot delete %s", z);
}

bool file_lock(struct file_lock *k, struct str path, int wait_ms, struct error *err)
{
    enum { STEP_MS = 5 };
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    AUTO(buf) struct buf name = BUF_INIT;
    buf_addf(&name, "%.*s.lock", STR_FMT(path));
    int fd = open(name.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, errno, "cannot open %s", name.p);
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += STEP_MS) {
        if ((errno == EWOULDBLOCK || errno == EINTR) && waited < wait_ms) {
            nanosleep(&step, NULL);
            continue;
        }
        if (errno == EWOULDBLOCK)
            error_set(err, ERR_LOCKED, "%.*s is in use by another process", STR_FMT(path));
        else
            error_errno(err, errno, "cannot lock %s", name.p);
        close(fd);
        return false;
    }
    k->fd = fd;
    return true;
}

void file_lock_clear(struct file_lock *k)
{
    if (k->fd >= 0)
        close(k->fd);
    *k = FILE_LOCK_INIT;
}
