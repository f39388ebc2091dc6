/* SPDX-License-Identifier: MIT */
/* Undo: what file tools changed in a turn can be taken back.
 *
 *     $XDG_STATE_HOME/trivet/undo/<session>/0007.json    the files that turn 7 changed
 *                                           0007-0 ...   what they held before it
 *                                           note         told to the model with the next input
 *
 * Kept are files up to 2 MB, 100 turns and 64 MB per session, for 30 days; for the user alone.
 * Files below .git are neither kept nor restored.  What commands change is not kept; their number
 * is.  For src/engine only; session_undo_await (session.h) takes a turn back. */
#ifndef TRIVET_ENGINE_UNDO_H
#define TRIVET_ENGINE_UNDO_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

struct call;
struct session;
struct turn;

enum {
    UNDO_FILE_BYTES = 2 << 20,
    UNDO_TURNS = 100,
    UNDO_BYTES = 64 << 20,
    UNDO_DAYS = 30,
};

struct undo_state { /* of a file */
    bool exists;
    bool is_large; /* its bytes are not kept */
    unsigned mode;
    unsigned char sum[SHA256_LEN];
};

struct undo_entry {
    struct str path;               /* resolved */
    struct undo_state before, now; /* now: after the last change of the turn */
    int64_t blob;                  /* number of the file with the bytes of before */
};

struct undo_turn { /* of a turn; all zero at first */
    int64_t number;
    struct undo_entry *entries;
    size_t n, room;
    int64_t n_commands;
};
void undo_turn_clear(struct undo_turn *u);

/* A call that changes files, seen before and after it ran. */
struct undo_watch {
    struct arena arena;
    struct undo_watched {
        struct str path;
        struct undo_state before;
        struct buf bytes;
    } * v;
    size_t n, room;
    struct turn *turn;
    struct str dir, text;
};
void undo_before_await(struct call *c, struct undo_watch *ret);
void undo_after_await(struct call *c, struct undo_watch *w);

/* Appends what the next input says about a turn that was taken back, once. */
void undo_take_note_await(struct session *s, struct buf *out);
void undo_remove_soon(struct session *s); /* everything that is kept of a session */

/* undo_disk.c; all of it blocks and runs on the thread pool. */
void undo_dir(struct buf *out, struct str session_id);
void undo_remove(struct str dir);
bool undo_look(struct str path, struct buf *bytes, struct undo_state *ret); /* bytes may be NULL */
bool undo_save(struct undo_watch *w, struct undo_turn *u, struct error *err);
bool undo_last(struct str dir, struct arena *a, struct undo_turn *ret, struct str *ret_text,
               struct error *err);
void undo_drop_turn(struct str dir, int64_t number);
bool undo_same(const struct undo_state *a, const struct undo_state *b);
void undo_blob_path(struct buf *out, struct str dir, int64_t number, int64_t blob);

#endif
