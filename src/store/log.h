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

struct slog_repair { /* what opening found */
    int64_t cut_bytes;  /* removed from the tail */
    int64_t zero_bytes; /* of these, zero bytes */
};

/* Creates exclusively with mode 0600 (its directory with 0700), takes the lock, syncs the
 * directory.  ERR_EXISTS when the path is taken. */
struct slog *slog_create(struct str path, struct error *err);
/* Opens for appending: takes the lock (ERR_LOCKED when another process has it), repairs.
 * ERR_CORRUPT, and nothing is touched, when the file begins like no session at all. */
struct slog *slog_open(struct str path, struct slog_repair *ret_repair, struct error *err);
/* Ends a last line that lacks nothing but its newline, so that opening does not cut it.  For files
 * that other programs wrote. */
bool slog_end_line(struct str path, struct error *err);
/* line is one JSON object without its newline.  One write(2).  ERR_DISK_FULL, ERR_IO. */
bool slog_append(struct slog *g, struct str line, struct error *err);
/* Everything appended so far is on disk when this returns; on the thread pool; not cancelable.
 * Concurrent callers share one fdatasync. */
bool slog_sync_through_await(struct slog *g, struct error *err);
/* The same, blocking: for the end of the process. */
bool slog_sync(struct slog *g, struct error *err);
/* The whole file becomes these lines, each with its newline, and behind them what is appended while
 * this waits.  They are on disk under another name before they take the place of the file, so that a
 * crash leaves the old lines or the new ones; the lock goes over with them.  Everything is synced
 * when this returns.  On failure the log goes on as it was. */
bool slog_replace_through_await(struct slog *g, struct str lines, struct error *err);
/* False when another file stands in its place, or none. */
bool slog_is_in_place(const struct slog *g);
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
/* The same, for whoever must know: *ret_n_foreign complete lines, not blank, were left out; the last
 * complete one ends at *ret_end. */
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
