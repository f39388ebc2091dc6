/* SPDX-License-Identifier: MIT */
/* Internals of a session log, shared by log.c, sync.c and mark.c. */
#ifndef TRIVET_STORE_LOG_INTERNAL_H
#define TRIVET_STORE_LOG_INTERNAL_H

#include "store/log.h"

#include <sys/types.h>

struct sync_call;

struct slog {
    int fd;
    char *path;
    int64_t size;   /* offset after the last complete line */
    int64_t synced; /* known to be on disk; -1: nothing known */
    size_t n_tail;
    char tail[SLOG_TAIL]; /* the last bytes that were appended */
    unsigned n_new_dirs;  /* directories whose entries the next sync makes durable */
    bool owes_cut;        /* bytes after `size` could not be truncated yet */
    bool is_spoiled;      /* appended bytes were overwritten or removed */
    bool has_failed;      /* a sync failed: its data may be lost although later syncs succeed */
    bool is_syncing;
    bool is_closed;            /* slog_close was called; freed when the last sync ends */
    struct sync_call *waiting; /* in order of arrival */
};

struct slog *slog_new(int fd, const char *path);
void slog_free(struct slog *g);
/* Opens a session file; flags: O_RDONLY, or O_RDWR | O_APPEND.  A link in its place is refused: it
 * may have come with a repository and lead to any file of the user.  -1 with err. */
int slog_open_file(const char *path, int flags, struct error *err);
/* Where the data of an open regular file ends: a hole behind it, which a lost write or truncate(1)
 * leaves, is not read.  ERR_LIMIT beyond LIMIT_SESSION_FILE_BYTES. */
bool slog_data_end(int fd, const char *path, int64_t size, int64_t *ret, struct error *err);
/* Makes the directories of the file; *ret_n_new counts those whose entries need a sync: the file's
 * own, and the parents of new ones. */
bool slog_make_dirs(struct str path, unsigned *ret_n_new, struct error *err);
/* Truncates the bytes after the last newline. */
bool slog_cut_tail(struct slog *g, struct slog_repair *ret, struct error *err);
/* Whether the file has these bytes before `end`. */
bool slog_has_bytes(int fd, int64_t end, const char *wanted, size_t n);
/* Takes the lock if it is free, else ERR_LOCKED. */
bool slog_try_lock(int fd, const char *path, struct error *err);
/* One write of both, without a copy. */
ssize_t slog_write_both(int fd, struct str bytes, struct str end);
/* Makes the entry of the file, and of n - 1 directories above it, durable; errno or 0. */
int slog_sync_dirs(const char *path, unsigned n);

#endif
