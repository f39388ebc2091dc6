/* SPDX-License-Identifier: MIT */
/* Small files: atomic replacement, and lock files for those shared by several processes. */
#ifndef TRIVET_STORE_FILE_H
#define TRIVET_STORE_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/fiber.h"

/* Writes to a temporary file beside path, syncs, renames, syncs the directory. */
bool file_replace(struct str path, struct str bytes, unsigned mode, struct error *err);
/* Creates a new file; ERR_EXISTS when the path exists, even as a link. */
bool file_create(struct str path, struct str bytes, unsigned mode, struct error *err);
/* The last part of path, as a new file in the directory `dir` (path_open_dir_of): where the name is
 * a link, that is replaced and never followed. */
bool file_replace_at(int dir, struct str path, struct str bytes, unsigned mode, struct error *err);
bool file_create_at(int dir, struct str path, struct str bytes, unsigned mode, struct error *err);
/* The same without blocking the loop. */
bool file_replace_await(struct str path, struct str bytes, unsigned mode, struct error *err);
bool file_create_await(struct str path, struct str bytes, unsigned mode, struct error *err);
/* Makes names created, renamed or deleted in the directory durable. */
bool file_sync_dir(struct str dir, struct error *err);
/* Deletes the file; succeeds when it does not exist. */
bool file_remove(struct str path, struct error *err);
/* The same without blocking: the directory is synced in the background. */
bool file_remove_soon(struct loop *l, struct str path, struct error *err);

struct file_lock {
    int fd;
};
#define FILE_LOCK_INIT ((struct file_lock){-1})
/* Locks path.lock exclusively; retries for up to wait_ms. file_lock blocks: it is for threads, and
 * for the time before the loop runs. */
bool file_lock(struct file_lock *k, struct str path, int wait_ms, struct error *err);
bool file_lock_await(struct file_lock *k, struct str path, int wait_ms, struct error *err);
void file_lock_clear(struct file_lock *k);

#endif
