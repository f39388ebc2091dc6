/* SPDX-License-Identifier: MIT */
/* Small files.  New content is written to a temporary file and renamed, so a reader sees either the
 * old or the new content.  Lock files are never deleted: otherwise one process could hold a deleted
 * lock file while another creates and locks a new one.
 */
#include "store/file.h"

#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"

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
    /* Some file systems do not support syncing a directory; that is not an error. */
    int64_t began_us = time_mono_us();
    bool ok = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    if (!ok)
        error_errno(err, errno, "cannot sync the directory %s", z);
    log_took("sync", began_us, "%s", z);
    close(fd);
    return ok;
}

static bool write_new(int dir, const char *path, struct str bytes, unsigned mode, struct error *err)
{
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return error_errno(err, errno, "cannot create %s", path);
    int64_t began_us = time_mono_us();
    bool ok = fchmod(fd, mode) == 0 && path_write_all(fd, bytes) && fsync(fd) == 0;
    if (!ok)
        error_errno(err, errno, "cannot write %s", path);
    log_took("sync", began_us, "%s", path);
    if (close(fd) != 0 && ok)
        ok = error_errno(err, errno, "cannot write %s", path);
    return ok;
}

bool file_create(struct str path, struct str bytes, unsigned mode, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    if (write_new(AT_FDCWD, z, bytes, mode, err))
        return file_sync_dir(path_dir(path), err);
    if (err->code != ERR_EXISTS)
        unlink(z);
    return false;
}

bool file_replace(struct str path, struct str bytes, unsigned mode, struct error *err)
{
    char real[PATH_MAX], hex[9];
    AUTO_FREE char *asked = str_dup(path);
    /* A symbolic link is kept; its target is replaced. */
    const char *target = realpath(asked, real) ? real : asked;
    AUTO(buf) struct buf temporary = BUF_INIT;
    id_hex(hex, 8);
    buf_addf(&temporary, "%s.tmp-%s", target, hex);
    if (!write_new(AT_FDCWD, temporary.p, bytes, mode, err)) {
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

/* ---- in a directory that is open ---- */

/* A directory that may not be read cannot be synced; the file in it was. */
static void sync_at(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

bool file_create_at(int dir, struct str path, struct str bytes, unsigned mode, struct error *err)
{
    struct error why;
    AUTO_FREE char *name = str_dup(path_base(path));
    if (write_new(dir, name, bytes, mode, &why)) {
        sync_at(dir);
        return true;
    }
    if (why.code != ERR_EXISTS)
        unlinkat(dir, name, 0);
    return error_errno(err, why.status, "cannot create %.*s", STR_FMT(path));
}

bool file_replace_at(int dir, struct str path, struct str bytes, unsigned mode, struct error *err)
{
    char hex[13], temporary[32];
    struct stat st;
    struct error why;
    AUTO_FREE char *name = str_dup(path_base(path));
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
        !S_ISLNK(st.st_mode))
        return error_set(err, ERR_INVALID, "%.*s is %s", STR_FMT(path),
                         S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
    id_hex(hex, 12);
    snprintf(temporary, sizeof temporary, ".trivet-%s.tmp", hex);
    bool ok = write_new(dir, temporary, bytes, mode, &why);
    int number = ok ? 0 : why.status;
    if (ok && renameat(dir, temporary, dir, name) != 0) {
        number = errno;
        ok = false;
    }
    if (ok)
        sync_at(dir);
    else
        unlinkat(dir, temporary, 0);
    return ok || error_errno(err, number, "cannot write %.*s", STR_FMT(path));
}

struct writing { /* runs on a disk thread */
    bool (*write)(struct str path, struct str bytes, unsigned mode, struct error *err);
    struct str path, bytes;
    unsigned mode;
    bool ok;
    struct error err;
};

static void writing_run(void *arg)
{
    struct writing *w = arg;
    w->ok = w->write(w->path, w->bytes, w->mode, &w->err);
}

static bool write_await(struct writing *w, struct error *err)
{
    disk_through_await(fiber_loop(), writing_run, w);
    if (!w->ok)
        *err = w->err;
    return w->ok;
}

bool file_replace_await(struct str path, struct str bytes, unsigned mode, struct error *err)
{
    return write_await(&(struct writing){file_replace, path, bytes, mode, false, ERROR_INIT}, err);
}

bool file_create_await(struct str path, struct str bytes, unsigned mode, struct error *err)
{
    return write_await(&(struct writing){file_create, path, bytes, mode, false, ERROR_INIT}, err);
}

bool file_remove(struct str path, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    if (unlink(z) == 0)
        return file_sync_dir(path_dir(path), err);
    return errno == ENOENT || error_errno(err, errno, "cannot delete %s", z);
}

struct removal { /* runs on a disk thread */
    char *dir;
};

static void removal_run(void *arg)
{
    struct removal *r = arg;
    struct error ignored;
    file_sync_dir(str_of(r->dir), &ignored);
}

static void removal_done(void *arg)
{
    struct removal *r = arg;
    free(r->dir);
    free(r);
}

bool file_remove_soon(struct loop *l, struct str path, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    if (unlink(z) != 0)
        return errno == ENOENT || error_errno(err, errno, "cannot delete %s", z);
    struct removal *r = xnew(struct removal);
    r->dir = str_dup(path_dir(path));
    disk_start(l, removal_run, removal_done, r);
    return true;
}

/* ---- locks ---- */

enum { STEP_MS = 5, LONGEST_STEP_MS = 40 };

static bool try_lock(int fd, struct str path, struct error *err)
{
    int rc;
    do
        rc = flock(fd, LOCK_EX | LOCK_NB);
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return true;
    if (errno == EWOULDBLOCK)
        return error_set(err, ERR_LOCKED, "%.*s is in use by another process", STR_FMT(path));
    return error_errno(err, errno, "cannot lock %.*s.lock", STR_FMT(path));
}

static bool open_lock(struct file_lock *k, struct str path, struct error *err)
{
    AUTO(buf) struct buf name = BUF_INIT;
    buf_addf(&name, "%.*s.lock", STR_FMT(path));
    k->fd = open(name.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return k->fd >= 0 || error_errno(err, errno, "cannot open %s", name.p);
}

bool file_lock(struct file_lock *k, struct str path, int wait_ms, struct error *err)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    int64_t began_us = time_mono_us();
    struct file_lock mine = FILE_LOCK_INIT;
    struct error why;
    if (!open_lock(&mine, path, err))
        return false;
    for (int waited = 0; !try_lock(mine.fd, path, &why); waited += STEP_MS) {
        if (why.code != ERR_LOCKED || waited >= wait_ms) {
            file_lock_clear(&mine);
            log_took("lock", began_us, "%s", why.text);
            *err = why;
            return false;
        }
        nanosleep(&step, NULL);
    }
    log_took("lock", began_us, "%.*s", STR_FMT(path));
    *k = mine;
    return true;
}

bool file_lock_await(struct file_lock *k, struct str path, int wait_ms, struct error *err)
{
    struct file_lock mine = FILE_LOCK_INIT;
    struct error why;
    int64_t began_us = time_mono_us(), end_us = began_us + wait_ms * 1000LL, step_ms = STEP_MS;
    if (!open_lock(&mine, path, err))
        return false;
    while (!try_lock(mine.fd, path, &why)) {
        if (why.code != ERR_LOCKED || time_mono_us() >= end_us ||
            !sleep_await(fiber_loop(), step_ms, &why)) {
            file_lock_clear(&mine);
            log_took("lock", began_us, "%s", why.text);
            *err = why;
            return false;
        }
        step_ms = MIN(step_ms * 2, LONGEST_STEP_MS);
    }
    log_took("lock", began_us, "%.*s", STR_FMT(path));
    *k = mine;
    return true;
}

void file_lock_clear(struct file_lock *k)
{
    if (k->fd >= 0)
        close(k->fd);
    *k = FILE_LOCK_INIT;
}
