/* SPDX-License-Identifier: MIT */
/* Undo: what file tools and commands changed in a turn can be taken back.
 *
 *     $XDG_STATE_HOME/trivet/undo/<session>/0007.json    the files that turn 7 changed
 *                                           0007-0 ...   what they held before it
 *                                           note         sent to the model with the next input
 *
 * A file tool names the files that it changes; what a command changes is found by comparing the
 * workspace before and after it (undo_scan.h).  That runs beside the turn: the next call that
 * changes something, and the end of the turn, wait for it.
 *
 * For the user alone, with the limits UNDO_... of base/limits.h.  Files below .git are neither kept
 * nor restored.  For src/engine only; session_undo_await (session.h) takes a turn back. */
#ifndef TRIVET_ENGINE_UNDO_H
#define TRIVET_ENGINE_UNDO_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "loop/fiber.h"

struct call;
struct session;
struct turn;

struct undo_scan;

struct undo_state { /* of a file */
    bool exists;
    bool is_large; /* its bytes are not kept, and the sum is of what lstat says */
    unsigned mode;
    unsigned char sum[SHA256_LEN];
};

struct undo_entry {
    struct str path;               /* resolved */
    struct undo_state before, now; /* now: after the last change of the turn */
    int64_t blob;                  /* number of the file with the bytes of before */
    char git[2 * SHA256_LEN + 1];  /* or git has them under this id; "" when not */
    int64_t git_size;              /* and they should be so many */
    struct str lost;               /* or there are none, for this reason */
    struct str bytes;              /* that git gave, while the turn is taken back */
};

struct undo_turn { /* of a turn; all zero at first */
    int64_t number;
    struct undo_entry *entries;
    size_t n, capacity;
    struct str dir, text; /* of the session; the beginning of the input */
    struct buf notes;     /* what cannot be taken back, in lines */
    struct undo_scan *scan;
    bool is_blind; /* the workspace cannot be searched */
    int64_t since_ns;
    bool is_scanning;
    struct wait scanned;
};
void undo_turn_clear(struct undo_turn *u);

/* A call that changes files, seen before and after it ran. */
struct undo_watch {
    struct arena arena;
    struct undo_watched {
        struct str path;
        struct undo_state before;
        struct buf bytes;
        bool is_beyond; /* LIMIT_UNDO_BYTES in one call: its bytes are not kept */
    } * v;
    size_t n, capacity;
    struct undo_turn *turn;
    bool is_wild; /* it may change any file */
    atomic_bool stop;
};
/* False with ERR_CANCELED: the call must not run. */
bool undo_before_await(struct call *c, struct undo_watch *ret, struct error *err);
void undo_after_await(struct call *c, struct undo_watch *w);
void undo_end_through_await(struct turn *t); /* of the turn: everything is kept */

/* Appends what the next input says about a turn that was taken back, once. */
void undo_take_note_await(struct session *s, struct buf *out);
void undo_remove_soon(struct session *s); /* everything that is kept of a session */

/* undo_disk.c; all of it blocks and runs on the thread pool. */
void undo_dir(struct buf *out, struct str session_id);
void undo_remove(struct str dir);
/* Reads at most LIMIT_UNDO_FILE_BYTES; bytes, empty or NULL, gets them when the file has no more.
 */
bool undo_look(struct str path, struct buf *bytes, struct undo_state *ret);
bool undo_save(struct undo_watch *w, struct error *err);
struct undo_places;
void undo_begin_scan(struct undo_turn *u, const struct undo_places *p);
/* Keeps what a command changed, or notes why it is not kept. */
bool undo_save_changes(struct undo_turn *u, struct error *err);
bool undo_last(struct str dir, struct arena *a, struct undo_turn *ret, struct error *err);
void undo_drop_turn(struct str dir, int64_t number);
bool undo_same(const struct undo_state *a, const struct undo_state *b);
void undo_blob_path(struct buf *out, struct str dir, int64_t number, int64_t blob);

#endif
