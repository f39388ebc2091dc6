/* SPDX-License-Identifier: MIT */
/* The session log: an append-only file of JSON lines, one write per line, one writer by lock.
 *
 * A record is complete when its newline is on disk.  An incomplete last line (a crash, a full disk)
 * and zero bytes at the end (power loss) are truncated when the file is opened for writing, and the
 * truncation is reported.  A failed append is undone, so that the next one starts on a new line.
 */
#ifndef TRIVET_STORE_LOG_H
#define TRIVET_STORE_LOG_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/fiber.h"

struct slog;

struct slog_repair {    /* what slog_open repaired */
    int64_t cut_bytes;  /* truncated bytes */
    int64_t zero_bytes; /* of these, zero bytes */
};

/* Whether a file of this size is small enough to be read; else ERR_LIMIT.  A hole at its end does
 * not count. */
bool slog_check_size(struct str path, int64_t size, struct error *err);
/* Creates exclusively with mode 0600 (its directory with 0700) and takes the lock; the first sync
 * makes the name durable too.  ERR_EXISTS when the path exists. */
struct slog *slog_create(struct str path, struct error *err);
/* Opens for appending: takes the lock (ERR_LOCKED when another process has it), repairs.
 * ERR_CORRUPT, without a change, when the file is no session log. */
struct slog *slog_open(struct str path, struct slog_repair *ret_repair, struct error *err);
/* Adds the missing newline to a last line that is otherwise complete, so that opening does not
 * truncate it.  For files written by other programs. */
bool slog_end_line(struct str path, struct error *err);
/* line is one JSON object without its newline.  One write(2).  ERR_DISK_FULL, ERR_IO. */
bool slog_append(struct slog *g, struct str line, struct error *err);
/* Several lines, each with its newline: all of them or none. */
bool slog_append_lines(struct slog *g, struct str lines, struct error *err);
/* Everything appended so far is on disk when this returns; runs on a disk thread; not cancelable.
 * Concurrent callers share one fdatasync. */
bool slog_sync_through_await(struct slog *g, struct error *err);
/* The same, blocking: for the exit of the process. */
bool slog_sync(struct slog *g, struct error *err);
/* Removes the line that was appended when the size was `from`, if it is still the last one.  False
 * when it is not, or cannot be removed. */
bool slog_take_back(struct slog *g, int64_t from, size_t line_bytes);

/* ---- detecting changes by other programs ---- */

enum { SLOG_TAIL = 64 };

struct slog_mark {                         /* identity and end of a file, to detect changes */
    int64_t device, inode, size, mtime_ns; /* inode 0: there was no file */
    int64_t end;                           /* behind the last complete line */
    size_t n_tail;
    char tail[SLOG_TAIL]; /* the bytes before end */
    unsigned
        n_new_dirs; /* levels of directories, the file's own included, that no sync made durable */
};

/* The current state of the log. */
struct slog_mark slog_mark(const struct slog *g);
/* The mark of a file that was read up to `end` without opening it as a log. `before` is the result
 * of slog_stat before the reading, so that a change in between is detected. */
struct slog_mark slog_stat(struct str path);
void slog_mark_end(struct slog_mark *before, struct str path, int64_t end);

enum slog_found {
    SLOG_SAME,   /* unchanged */
    SLOG_LONGER, /* unchanged content with more behind it */
    SLOG_OTHER,  /* anything else */
};
/* Compares the file at the path with its mark.  ERR_NOT_FOUND: there is none. */
bool slog_compare(struct str path, const struct slog_mark *left, enum slog_found *ret,
                  struct error *err);
/* Opens like slog_open, but tries the lock once.  A file that does not match `left` is not opened
 * (SLOG_OTHER, *ret_log NULL); without `left` any is. */
bool slog_reopen(struct str path, const struct slog_mark *left, enum slog_found *ret_found,
                 struct slog **ret_log, struct slog_repair *ret_repair, struct error *err);
/* Whether the path still refers to this log's file, everything appended is in it, and no sync has
 * failed.  Complete lines added by another program are accepted. */
bool slog_is_intact(struct slog *g);
/* Blocking, for the thread pool: replaces the file atomically by a new one with these lines, each
 * with its newline. `old` is the log whose file may be replaced, or NULL; any other file at the
 * path is renamed to *ret_aside.  ERR_LOCKED when another process uses that file. */
struct slog *slog_rewrite(struct str path, struct str lines, const struct slog *old,
                          struct buf *ret_aside, struct error *err);

/* Whether a sync has failed since it was opened. */
bool slog_has_failed(const struct slog *g);
struct str slog_path(const struct slog *g);
int64_t slog_size(const struct slog *g);
/* Releases the lock; if a sync is running, after it.  NULL is fine. */
void slog_close(struct slog *g);

/* Calls fn for every complete line that looks like an object (outer white space, the newline and
 * zero bytes in front removed; offset is where its brace stands), in order; stops early when fn
 * returns false.  Lines beyond LIMIT_RECORD_BYTES and an incomplete last line are skipped.  Needs
 * no lock: readers and the writer may work at the same time; what is appended meanwhile may be left
 * out.  ERR_LIMIT, without reading, when the file exceeds LIMIT_SESSION_FILE_BYTES. */
typedef bool slog_line_fn(void *arg, struct str line, int64_t offset);
bool slog_read(struct str path, slog_line_fn *fn, void *arg, struct error *err);
/* The same with counts: *ret_n_foreign complete lines, not blank, were skipped; the last complete
 * line ends at *ret_end. */
bool slog_read_counting(struct str path, slog_line_fn *fn, void *arg, int64_t *ret_n_foreign,
                        int64_t *ret_end, struct error *err);
/* The same from the line that begins at `from`; *ret_end is the offset for the next reading, after
 * the last complete line.  ERR_CORRUPT when no line begins at `from`. */
bool slog_read_from(struct str path, int64_t from, slog_line_fn *fn, void *arg, int64_t *ret_end,
                    struct error *err);
/* The bytes after `from`, the *ret_end of slog_read_from: a last line without its newline.  Much
 * more than LIMIT_RECORD_BYTES is never read. */
bool slog_read_tail(struct str path, int64_t from, struct buf *ret, struct error *err);

#endif
