/* SPDX-License-Identifier: MIT */
/* The session log: opening, repair, appending.  Reading is in read.c, syncing in sync.c, detecting
 * changes by other programs in mark.c.
 *
 *     good line \n good line \n {"type":"mess        incomplete: no newline, not acknowledged
 *     good line \n good line \n \0\0\0\0\0\0\0\0     the size is on disk, the bytes are not
 *                               ^ truncated here
 *
 * A line is written by one writev(2).  After a short write the file is truncated at once; when that
 * fails too, it is truncated before the next append (owes_cut).
 */
#include "store/log_internal.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LOCK_TRIES = 20, LOCK_WAIT_US = 10000, SMALL_BYTES = 64 << 10 };

struct slog *slog_new(int fd, const char *path)
{
    struct slog *g = xnew(struct slog);
    g->fd = fd;
    g->path = xstrdup(path);
    g->synced = -1;
    return g;
}

/* When a process is killed while it starts a command, the child keeps the lock until its exec; so a
 * failed lock is retried for a moment before it is reported. */
static bool take_lock(int fd, const char *path, struct error *err)
{
    int tries = LOCK_TRIES;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK && tries-- > 0)
            usleep(LOCK_WAIT_US);
        else if (errno == EWOULDBLOCK)
            return error_set(err, ERR_LOCKED, "%s is open in another process", path);
        else if (errno != EINTR)
            return error_errno(err, errno, "cannot lock %s", path);
    }
    return true;
}

bool slog_make_dirs(struct str path, unsigned *ret_n_new, struct error *err)
{
    struct str dir = path_dir(path);
    unsigned n = 1;
    for (struct str at = dir; !path_is_dir(at) && at.n > 1; at = path_dir(at))
        n++;
    if (!path_make_dirs(dir, 0700, err))
        return false;
    *ret_n_new = n;
    return true;
}

struct slog *slog_create(struct str path, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    unsigned n_new_dirs;
    if (!slog_make_dirs(path, &n_new_dirs, err))
        return NULL;
    int fd = open(z, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        if (errno == EEXIST)
            error_set(err, ERR_EXISTS, "%s exists already", z);
        else
            error_errno(err, errno, "cannot create %s", z);
        return NULL;
    }
    if (!take_lock(fd, z, err)) {
        unlink(z);
        close(fd);
        return NULL;
    }
    struct slog *g = slog_new(fd, z);
    g->n_new_dirs = n_new_dirs;
    return g;
}

/* Asking for holes is left out for most files. */
static int64_t find_data_end(int fd, int64_t size)
{
    int64_t end = 0;
    if (size <= SMALL_BYTES)
        return size;
    while (end < size && end <= LIMIT_SESSION_FILE_BYTES) {
        off_t data = lseek(fd, end, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return end;
        off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        if (hole <= data)
            return size; /* the file system does not know */
        end = hole;
    }
    return MIN(end, size);
}

bool slog_data_end(int fd, const char *path, int64_t size, int64_t *ret, struct error *err)
{
    int64_t end = find_data_end(fd, size);
    if (end > LIMIT_SESSION_FILE_BYTES)
        return error_set(err, ERR_LIMIT, "%s holds more than %d MB, the limit of a session file",
                         path, LIMIT_SESSION_FILE_BYTES >> 20);
    *ret = end;
    return true;
}

bool slog_check_size(struct str path, int64_t size, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    int64_t ignored;
    if (size <= LIMIT_SESSION_FILE_BYTES)
        return true;
    int fd = slog_open_file(z, O_RDONLY, err);
    if (fd < 0)
        return false;
    bool ok = slog_data_end(fd, z, size, &ignored, err);
    close(fd);
    return ok;
}

/* Offset of the bytes after the last newline, and how many of them are zero. */
static bool find_tail(int fd, int64_t size, int64_t *ret_begin, int64_t *ret_zeros)
{
    char chunk[8192];
    int64_t at = size, zeros = 0;
    while (at > 0) {
        size_t want = at < (int64_t)sizeof chunk ? (size_t)at : sizeof chunk;
        if (pread(fd, chunk, want, at - (int64_t)want) != (ssize_t)want)
            return false;
        for (size_t i = want; i-- > 0; at--) {
            if (chunk[i] == '\n')
                goto out;
            zeros += chunk[i] == '\0';
        }
    }
out:
    *ret_begin = at;
    *ret_zeros = zeros;
    return true;
}

bool slog_cut_tail(struct slog *g, struct slog_repair *ret, struct error *err)
{
    struct stat st;
    char first = '{';
    int64_t begin, zeros, end;
    if (fstat(g->fd, &st) != 0)
        return error_errno(err, errno, "cannot examine %s", g->path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERR_INVALID, "%s is not a file", g->path);
    if (st.st_nlink == 0)
        return error_set(err, ERR_NOT_FOUND, "%s has been deleted", g->path);
    if (!slog_data_end(g->fd, g->path, st.st_size, &end, err))
        return false;
    if (pread(g->fd, &first, 1, 0) < 0 || !find_tail(g->fd, end, &begin, &zeros))
        return error_errno(err, errno ? errno : EIO, "cannot read %s", g->path);
    /* Change session logs only: a wrong path must not damage an unrelated file. */
    if (first != '{' && first != '\0' && first != '\n')
        return error_set(err, ERR_CORRUPT, "%s is not a session file", g->path);
    if (st.st_mode & 077)
        fchmod(g->fd, st.st_mode & 0700); /* conversations are private; best effort */
    if (begin < st.st_size && ftruncate(g->fd, begin) != 0)
        return error_errno(err, errno, "cannot truncate the incomplete last line of %s", g->path);
    g->size = begin;
    *ret = (struct slog_repair){.cut_bytes = st.st_size - begin,
                                .zero_bytes = zeros + st.st_size - end};
    return true;
}

int slog_open_file(const char *path, int flags, struct error *err)
{
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 && errno == ELOOP) {
        error_set(err, ERR_INVALID, "%s is a symbolic link, not a session file", path);
        err->status = ELOOP;
    } else if (fd < 0) {
        error_errno(err, errno, "cannot open %s", path);
    }
    return fd;
}

struct slog *slog_open(struct str path, struct slog_repair *ret_repair, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    int fd = slog_open_file(z, O_RDWR | O_APPEND, err);
    if (fd < 0)
        return NULL;
    struct slog *g = slog_new(fd, z);
    if (take_lock(fd, z, err) && slog_cut_tail(g, ret_repair, err))
        return g;
    slog_close(g);
    return NULL;
}

static bool retry_cut(struct slog *g, struct error *err)
{
    if (!g->owes_cut)
        return true;
    if (ftruncate(g->fd, g->size) != 0)
        return error_errno(err, errno, "cannot remove an unfinished line from %s", g->path);
    g->owes_cut = false;
    return true;
}

bool slog_end_line(struct str path, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    char last = '\n';
    int fd = slog_open_file(z, O_RDWR | O_APPEND, err);
    if (fd < 0)
        return false;
    bool ok = slog_try_lock(fd, z, err);
    off_t size = lseek(fd, 0, SEEK_END);
    if (ok && size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' &&
        write(fd, "\n", 1) != 1)
        ok = error_errno(err, errno, "cannot write %s", z);
    close(fd);
    return ok;
}

/* Writes both with one call and without a copy: a line may be a long reply. */
ssize_t slog_write_both(int fd, struct str bytes, struct str end)
{
    struct iovec parts[] = {{(char *)(uintptr_t)bytes.p, bytes.n},
                            {(char *)(uintptr_t)end.p, end.n}};
    ssize_t n;
    do
        n = writev(fd, parts, ARRAY_LEN(parts));
    while (n < 0 && errno == EINTR);
    return n;
}

static void keep_tail(struct slog *g, struct str bytes, struct str end)
{
    size_t from_bytes = MIN(bytes.n, SLOG_TAIL - end.n);
    g->n_tail = from_bytes + end.n;
    memcpy(g->tail, bytes.p + bytes.n - from_bytes, from_bytes);
    memcpy(g->tail + from_bytes, end.p, end.n);
}

static bool append_both(struct slog *g, struct str bytes, struct str end, struct error *err)
{
    struct error ignored;
    size_t wanted = bytes.n + end.n;
    if (!retry_cut(g, err))
        return false;
    if (g->size + (int64_t)wanted > LIMIT_SESSION_FILE_BYTES)
        return error_set(err, ERR_LIMIT, "%s has reached %d MB, the limit of a session file",
                         g->path, LIMIT_SESSION_FILE_BYTES >> 20);
    /* Another program may have overwritten it: reported by the next slog_is_intact. */
    g->is_spoiled |= g->n_tail && !slog_has_bytes(g->fd, g->size, g->tail, g->n_tail);
    ssize_t n = slog_write_both(g->fd, bytes, end);
    if (n == (ssize_t)wanted) {
        g->size += n;
        keep_tail(g, bytes, end);
        return true;
    }
    if (n < 0)
        error_errno(err, errno, "cannot write %s", g->path);
    else
        error_set(err, ERR_DISK_FULL, "cannot write %s: only %zd of %zu bytes were written",
                  g->path, n, wanted);
    g->owes_cut = true;
    retry_cut(g, &ignored); /* on failure, retried before the next append */
    return false;
}

bool slog_append(struct slog *g, struct str line, struct error *err)
{
    if (line.n >= LIMIT_RECORD_BYTES)
        return error_set(err, ERR_LIMIT, "a record of %zu bytes is too long", line.n);
    if (line.n == 0 || str_chr(line, '\n') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "a record must be one line");
    return append_both(g, line, STR("\n"), err);
}

bool slog_append_lines(struct slog *g, struct str lines, struct error *err)
{
    if (lines.n == 0 || lines.p[lines.n - 1] != '\n')
        return error_set(err, ERR_INVALID, "records must be complete lines");
    return append_both(g, lines, STR(""), err);
}

bool slog_take_back(struct slog *g, int64_t from, size_t line_bytes)
{
    struct error ignored;
    if (g->size != from + (int64_t)line_bytes + 1)
        return false;
    g->size = from;
    g->n_tail = 0;
    g->owes_cut = true;
    return retry_cut(g, &ignored);
}

void slog_free(struct slog *g)
{
    struct error ignored;
    retry_cut(g, &ignored);
    close(g->fd);
    free(g->path);
    free(g);
}

bool slog_has_failed(const struct slog *g)
{
    return g->has_failed;
}

struct str slog_path(const struct slog *g)
{
    return str_of(g->path);
}

int64_t slog_size(const struct slog *g)
{
    return g->size;
}

void slog_close(struct slog *g)
{
    if (!g)
        return;
    if (g->is_syncing)
        g->is_closed = true;
    else
        slog_free(g);
}
