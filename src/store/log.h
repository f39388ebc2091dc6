/* SPDX-License-Identifier: MIT */
/* The session log: an append-only file of JSON lines, one write per line, one writer by lock.
 *
 * A record counts when its newline is on disk.  A torn last line (a crash, a full disk) and a tail
 * of zero bytes (power loss) are cut at the last good line when the file is opened for writing,
 * and the cut is reported.  A failed append is undone, so that the next one starts on a fresh line.
 */
#ifndef TRIVET_STORE_LOG_H
#define TRIVET_STORE_LOG_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/fiber.h"

struct slog;

struct slog_repair {    /* what opening found */
    int64_t cut_bytes;  /* removed from the tail */
    int64_t zero_bytes; /* of these, zero bytes */
};

/* Creates exclusively with mode 0600 (its directory with 0700) and takes the lock; the first sync
 * makes the name durable too.  ERR_EXISTS when the path is taken. */
struct slog *slog_create(struct str path, struct error *err);
/* Opens for appending: takes the lock (ERR_LOCKED when another process has it), repairs.
 * ERR_CORRUPT, and nothing is touched, when the file begins like no session at all. */
struct slog *slog_open(struct str path, struct slog_repair *ret_repair, struct error *err);
/* Ends a last line that lacks nothing but its newline, so that opening does not cut it.  For files
 * that other programs wrote. */
bool slog_end_line(struct str path, struct error *err);
/* line is one JSON object without its newline.  One write(2).  ERR_DISK_FULL, ERR_IO. */
bool slog_append(struct slog *g, struct str line, struct error *err);
/* Several lines, each with its newline: all of them or none. */
bool slog_append_lines(struct slog *g, struct str lines, struct error *err);
/* Everything appended so far is on disk when this returns; on the thread pool; not cancelable.
 * Concurrent callers share one fdatasync. */
bool slog_sync_through_await(struct slog *g, struct error *err);
/* The same, blocking: for the end of the process. */
bool slog_sync(struct slog *g, struct error *err);
/* Removes the line that was appended when the size was `from`, if it is still the last one.  False
 * when it is not, or cannot be removed. */
bool slog_take_back(struct slog *g, int64_t from, size_t line_bytes);

/* ---- is it still our file? ---- */

enum { SLOG_TAIL = 64 };

struct slog_mark {                         /* a file as it was left, to know it again */
    int64_t device, inode, size, mtime_ns; /* inode 0: there was none */
    int64_t end;                           /* behind the last complete line */
    size_t n_tail;
    char tail[SLOG_TAIL]; /* the bytes before end */
    unsigned
        n_new_dirs; /* levels of directories, the file's own included, that no sync made durable */
};

/* The log as it is now. */
struct slog_mark slog_mark(const struct slog *g);
/* A file that was read up to `end` and not opened.  `before` is what slog_stat said before the
 * reading, so that a change in between is noticed. */
struct slog_mark slog_stat(struct str path);
void slog_mark_end(struct slog_mark *before, struct str path, int64_t end);

enum slog_found {
    SLOG_SAME,   /* as it was left */
    SLOG_LONGER, /* what was left is there, and more behind it */
    SLOG_OTHER,  /* anything else */
};
/* What stands at the path now, compared with what was left there.  ERR_NOT_FOUND: nothing. */
bool slog_compare(struct str path, const struct slog_mark *left, enum slog_found *ret,
                  struct error *err);
/* Opens like slog_open, but tries the lock once.  What is not what was left there is not opened
 * (SLOG_OTHER, *ret_log NULL); without `left` it is. */
bool slog_reopen(struct str path, const struct slog_mark *left, enum slog_found *ret_found,
                 struct slog **ret_log, struct slog_repair *ret_repair, struct error *err);
/* The path still leads to this log's file, everything appended is there, and no sync has failed.
 * Whole lines that another program has added are accepted. */
bool slog_is_intact(struct slog *g);
/* Blocking, for the thread pool: a new file with these lines, each with its newline, takes the
 * place of the old one.  It is complete and synced under another name before, so that a crash
 * leaves the one or the other.  `old` is the log whose file may be replaced, or NULL; whatever else
 * stands at the path is kept under another name, which *ret_aside gets.  ERR_LOCKED when another
 * process uses that. */
struct slog *slog_rewrite(struct str path, struct str lines, const struct slog *old,
                          struct buf *ret_aside, struct error *err);

/* A sync has failed since it was opened. */
bool slog_has_failed(const struct slog *g);
struct str slog_path(const struct slog *g);
int64_t slog_size(const struct slog *g);
/* Releases the lock; when a sync is under way, at its end.  NULL is fine. */
void slog_close(struct slog *g);

/* Calls fn for every complete line that looks like an object (outer white space, the newline and
 * zero bytes in front removed; offset is where its brace stands), in order; stops early when fn
 * returns false.  Lines beyond LIMIT_RECORD_BYTES and a torn tail are left out.  Needs no lock:
 * readers and the writer may work at the same time. */
typedef bool slog_line_fn(void *arg, struct str line, int64_t offset);
bool slog_read(struct str path, slog_line_fn *fn, void *arg, struct error *err);
/* The same, for whoever must know: *ret_n_foreign complete lines, not blank, were left out; the
 * last complete one ends at *ret_end. */
bool slog_read_counting(struct str path, slog_line_fn *fn, void *arg, int64_t *ret_n_foreign,
                        int64_t *ret_end, struct error *err);
/* The same from the line that begins at `from`; *ret_end is where the next reading goes on, behind
 * the last complete line.  ERR_CORRUPT when no line begins at `from`. */
bool slog_read_from(struct str path, int64_t from, slog_line_fn *fn, void *arg, int64_t *ret_end,
                    struct error *err);
/* The bytes behind `from`, which is where such a reading ended: a last line without its newline.
 * Much more than LIMIT_RECORD_BYTES is never read. */
bool slog_read_tail(struct str path, int64_t from, struct buf *ret, struct error *err);

#endif
