/* SPDX-License-Identifier: MIT */
/* Reads a session log line by line, without a lock.  Zero bytes, foreign lines, lines that are too
 * long and an incomplete end are skipped, so that valid lines around them are found.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "store/log_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 << 10 };

struct reader {
    int fd;
    struct buf held;   /* bytes read and not yet delivered */
    int64_t offset;    /* file offset of the first of them */
    int64_t at, size;  /* read up to here; what was there when the reading began */
    size_t searched;   /* bytes of `held` known to have no newline */
    bool is_skipping;  /* the current line is too long and is discarded */
    int64_t n_foreign; /* skipped lines, without blank ones */
    slog_line_fn *fn;
    void *arg;
};

static void reader_clear(struct reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    buf_clear(&r->held);
}

/* Delivers one line; false when fn stops the reading. */
static bool give_line(struct reader *r, struct str line, int64_t offset)
{
    size_t zeros = 0;
    if (r->is_skipping || line.n > LIMIT_RECORD_BYTES) {
        r->is_skipping = false;
        r->n_foreign++;
        return true;
    }
    while (zeros < line.n && line.p[zeros] == '\0')
        zeros++;
    struct str text = str_trim(str_from(line, zeros));
    if (text.n < 2 || text.p[0] != '{' || text.p[text.n - 1] != '}') {
        r->n_foreign += text.n > 0;
        return true;
    }
    return r->fn(r->arg, text, offset + (text.p - line.p));
}

/* Delivers every complete line in `held`. */
static bool give_lines(struct reader *r)
{
    size_t begin = 0;
    bool go_on = true;
    while (go_on) {
        struct str rest = str_from(buf_str(&r->held), r->searched);
        size_t at = str_chr(rest, '\n');
        if (at == SIZE_MAX) {
            r->searched = r->held.n;
            break;
        }
        size_t end = r->searched + at;
        go_on = give_line(r, str_n(r->held.p + begin, end - begin), r->offset + (int64_t)begin);
        begin = r->searched = end + 1;
    }
    buf_drop(&r->held, begin);
    r->offset += (int64_t)begin;
    r->searched -= begin;
    return go_on;
}

/* Discards a line that is too long.  The dropped bytes are counted, so that the offset stays at its
 * begin until its newline is found. */
static void drop_long_line(struct reader *r, int64_t *dropped)
{
    if (!r->is_skipping && r->held.n <= LIMIT_RECORD_BYTES)
        return;
    *dropped += (int64_t)r->held.n;
    r->offset += (int64_t)r->held.n;
    r->is_skipping = true;
    r->searched = 0;
    buf_shrink(&r->held, CHUNK_BYTES);
}

static bool read_lines(struct reader *r, const char *path, int64_t *ret_end, struct error *err)
{
    int64_t dropped = 0; /* bytes of an unfinished long line, which count as not read */
    for (;;) {
        size_t most = (size_t)MIN(MAX(r->size - r->at, 0), CHUNK_BYTES);
        ssize_t n = read(r->fd, buf_space(&r->held, CHUNK_BYTES), most);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "cannot read %s", path);
        if (n == 0)
            break;
        buf_added(&r->held, (size_t)n);
        r->at += n;
        if (!give_lines(r))
            break;
        if (!r->is_skipping)
            dropped = 0;
        drop_long_line(r, &dropped);
    }
    *ret_end = r->offset - dropped;
    return true;
}

static bool begins_line(int fd, int64_t at)
{
    char before;
    return at == 0 || (at > 0 && pread(fd, &before, 1, at - 1) == 1 && before == '\n');
}

static bool read_from(struct reader *r, struct str path, int64_t *ret_end, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    r->fd = slog_open_file(z, O_RDONLY, err);
    if (r->fd < 0)
        return false;
    if (fstat(r->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return error_set(err, ERR_INVALID, "%s is not a file", z);
    if (!slog_data_end(r->fd, z, st.st_size, &r->size, err))
        return false;
    r->at = r->offset;
    if (!begins_line(r->fd, r->offset) || lseek(r->fd, r->offset, SEEK_SET) < 0)
        return error_set(err, ERR_CORRUPT, "no line of %s begins at byte %lld", z,
                         (long long)r->offset);
    return read_lines(r, z, ret_end, err);
}

bool slog_read_from(struct str path, int64_t from, slog_line_fn *fn, void *arg, int64_t *ret_end,
                    struct error *err)
{
    AUTO(reader) struct reader r = {.fd = -1, .offset = from, .fn = fn, .arg = arg};
    return read_from(&r, path, ret_end, err);
}

bool slog_read(struct str path, slog_line_fn *fn, void *arg, struct error *err)
{
    int64_t end;
    return slog_read_from(path, 0, fn, arg, &end, err);
}

bool slog_read_counting(struct str path, slog_line_fn *fn, void *arg, int64_t *ret_n_foreign,
                        int64_t *ret_end, struct error *err)
{
    AUTO(reader) struct reader r = {.fd = -1, .fn = fn, .arg = arg};
    if (!read_from(&r, path, ret_end, err))
        return false;
    *ret_n_foreign = r.n_foreign;
    return true;
}

bool slog_read_tail(struct str path, int64_t from, struct buf *ret, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    int64_t end;
    ssize_t n;
    int fd = slog_open_file(z, O_RDONLY, err);
    if (fd < 0)
        return false;
    bool ok = fstat(fd, &st) == 0 || error_errno(err, errno, "cannot read %s", z);
    ok = ok && slog_data_end(fd, z, st.st_size, &end, err);
    while (ok && ret->n <= LIMIT_RECORD_BYTES && from + (int64_t)ret->n < end &&
           (n = pread(fd, buf_space(ret, CHUNK_BYTES), CHUNK_BYTES, from + (off_t)ret->n)) > 0)
        buf_added(ret, (size_t)n);
    close(fd);
    return ok;
}
