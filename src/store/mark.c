/* SPDX-License-Identifier: MIT */
/* Detects whether the file at a path has changed since its mark was made.
 *
 *     mark      line \n line \n line \n
 *     SAME      line \n line \n line \n                 same inode, size and time
 *     LONGER    line \n line \n line \n line \n         another process appended: read it again
 *     OTHER     line \n li                              truncated, replaced, or no session at all
 *
 * A session file only grows, so comparing the bytes before the old end is enough; the inode may
 * differ when the file was restored from a copy.
 */
#include "store/log_internal.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void take_stat(struct slog_mark *m, const struct stat *st)
{
    m->device = (int64_t)st->st_dev;
    m->inode = (int64_t)st->st_ino;
    m->size = st->st_size;
    m->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void take_tail(struct slog_mark *m, int fd, int64_t end)
{
    m->end = end;
    m->n_tail = (size_t)MIN(end, (int64_t)SLOG_TAIL);
    if (pread(fd, m->tail, m->n_tail, end - (int64_t)m->n_tail) != (ssize_t)m->n_tail)
        m->n_tail = 0, m->end = INT64_MAX; /* so that no file counts as a continuation */
}

struct slog_mark slog_mark(const struct slog *g)
{
    struct slog_mark m = {.n_new_dirs = g->n_new_dirs};
    struct stat st;
    if (fstat(g->fd, &st) != 0)
        return m;
    take_stat(&m, &st);
    take_tail(&m, g->fd, g->size);
    return m;
}

struct slog_mark slog_stat(struct str path)
{
    AUTO_FREE char *z = str_dup(path);
    struct slog_mark m = {0};
    struct stat st;
    if (stat(z, &st) == 0)
        take_stat(&m, &st);
    return m;
}

void slog_mark_end(struct slog_mark *before, struct str path, int64_t end)
{
    AUTO_FREE char *z = str_dup(path);
    struct error ignored;
    int fd = slog_open_file(z, O_RDONLY, &ignored);
    before->end = INT64_MAX;
    if (fd >= 0) {
        take_tail(before, fd, end);
        close(fd);
    }
}

bool slog_has_bytes(int fd, int64_t end, const char *wanted, size_t n)
{
    char bytes[SLOG_TAIL];
    return pread(fd, bytes, n, end - (int64_t)n) == (ssize_t)n && memcmp(bytes, wanted, n) == 0;
}

static enum slog_found compare(int fd, const struct stat *st, const struct slog_mark *left)
{
    struct slog_mark now = {0};
    take_stat(&now, st);
    if (left->inode && now.device == left->device && now.inode == left->inode &&
        now.size == left->size && now.mtime_ns == left->mtime_ns)
        return SLOG_SAME;
    return left->inode && S_ISREG(st->st_mode) && now.size >= left->end &&
                   slog_has_bytes(fd, left->end, left->tail, left->n_tail)
               ? SLOG_LONGER
               : SLOG_OTHER;
}

static int open_at(const char *path, int flags, struct stat *ret, struct error *err)
{
    int fd = slog_open_file(path, flags, err);
    if (fd < 0 || fstat(fd, ret) == 0)
        return fd;
    error_errno(err, errno, "cannot open %s", path);
    close(fd);
    return -1;
}

bool slog_compare(struct str path, const struct slog_mark *left, enum slog_found *ret,
                  struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    int fd = open_at(z, O_RDONLY, &st, err);
    if (fd < 0)
        return false;
    *ret = compare(fd, &st, left);
    close(fd);
    return true;
}

bool slog_try_lock(int fd, const char *path, struct error *err)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno == EWOULDBLOCK)
        return error_set(err, ERR_LOCKED, "%s is open in another process", path);
    return error_errno(err, errno, "cannot lock %s", path);
}

bool slog_reopen(struct str path, const struct slog_mark *left, enum slog_found *ret_found,
                 struct slog **ret_log, struct slog_repair *ret_repair, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    *ret_log = NULL;
    *ret_found = SLOG_OTHER;
    int fd = open_at(z, O_RDWR | O_APPEND, &st, err);
    if (fd < 0) /* a directory, a pipe or a link */
        return left && (err->status == EISDIR || err->status == ENXIO || err->status == ELOOP);
    /* Another process may have appended before it released the lock: compare again. */
    if (!slog_try_lock(fd, z, err)) {
        close(fd);
        return false;
    }
    if (fstat(fd, &st) != 0)
        st = (struct stat){0};
    *ret_found = left ? compare(fd, &st, left) : SLOG_OTHER;
    if (left && *ret_found == SLOG_OTHER) {
        close(fd);
        return true;
    }
    struct slog *g = slog_new(fd, z);
    if (left)
        g->n_new_dirs = left->n_new_dirs;
    if (!slog_cut_tail(g, ret_repair, err)) {
        slog_close(g);
        return false;
    }
    *ret_log = g;
    return true;
}

/* ---- while it is open ---- */

/* Keeps lines that another program appended; an incomplete one gets its newline, so that the
 * next record starts on a new line. */
static bool accept_more(struct slog *g, int64_t size)
{
    char last;
    if (pread(g->fd, &last, 1, g->size - 1) != 1 || last != '\n' ||
        pread(g->fd, &last, 1, size - 1) != 1)
        return false;
    if (last != '\n' && write(g->fd, "\n", 1) != 1)
        return false;
    g->size = size + (last != '\n');
    g->n_tail = 0;
    return true;
}

bool slog_is_intact(struct slog *g)
{
    struct stat opened, there;
    if (g->has_failed || g->owes_cut || g->is_spoiled)
        return false;
    if (fstat(g->fd, &opened) != 0 || stat(g->path, &there) != 0 || opened.st_dev != there.st_dev ||
        opened.st_ino != there.st_ino)
        return false;
    if (g->n_tail && !slog_has_bytes(g->fd, g->size, g->tail, g->n_tail))
        return false;
    return opened.st_size == g->size ||
           (opened.st_size > g->size && accept_more(g, opened.st_size));
}

/* ---- rewriting ---- */

static bool write_lines(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = slog_write_both(fd, bytes, STR(""));
        if (n < 0)
            return false;
        bytes = str_from(bytes, (size_t)n);
    }
    return fdatasync(fd) == 0;
}

static int make_new(const char *temporary, struct str lines, struct error *err)
{
    unlink(temporary); /* left by a process that was killed */
    int fd = open(temporary, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        error_errno(err, errno, "cannot create %s", temporary);
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && write_lines(fd, lines))
        return fd;
    error_errno(err, errno, "cannot write %s", temporary);
    unlink(temporary);
    close(fd);
    return -1;
}

/* Whether another process has the file open for writing. */
static bool is_in_use(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is_locked;
}

/* Renames a file at the path that is not the one of `old`. */
static bool move_aside(const char *path, const struct slog *old, struct buf *ret_aside,
                       struct error *err)
{
    struct stat there, st;
    if (lstat(path, &there) != 0 || (S_ISREG(there.st_mode) && there.st_size == 0))
        return true;
    if (old && fstat(old->fd, &st) == 0 && st.st_dev == there.st_dev && st.st_ino == there.st_ino)
        return true;
    if (is_in_use(path))
        return error_set(err, ERR_LOCKED, "%s is open in another process", path);
    for (int i = 1; i < 1000; i++) {
        buf_reset(ret_aside);
        buf_addf(ret_aside, "%s.replaced-%d", path, i);
        if (lstat(ret_aside->p, &st) == 0)
            continue;
        if (rename(path, ret_aside->p) == 0)
            return true;
        break;
    }
    error_errno(err, errno, "cannot rename %s", path);
    buf_reset(ret_aside);
    return false;
}

struct slog *slog_rewrite(struct str path, struct str lines, const struct slog *old,
                          struct buf *ret_aside, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    AUTO(buf) struct buf temporary = BUF_INIT;
    unsigned n_new_dirs;
    if (!slog_make_dirs(path, &n_new_dirs, err))
        return NULL;
    buf_addf(&temporary, "%s.tmp", z);
    int fd = make_new(temporary.p, lines, err);
    if (fd < 0)
        return NULL;
    bool ok = move_aside(z, old, ret_aside, err);
    if (ok && rename(temporary.p, z) != 0)
        ok = error_errno(err, errno, "cannot replace %s", z);
    int failed = ok ? slog_sync_dirs(z, n_new_dirs) : 0;
    if (failed)
        ok = error_errno(err, failed, "cannot sync the directory of %s", z);
    if (!ok) {
        unlink(temporary.p);
        close(fd);
        return NULL;
    }
    struct slog *g = slog_new(fd, z);
    g->size = g->synced = (int64_t)lines.n;
    return g;
}
