/* SPDX-License-Identifier: MIT */
/* What commands change: a list of the workspace's files from before the first command of a turn,
 * with what lstat said of each, compared after every command.
 *
 *     content before the turn      where it is
 *     as git has it                in git, under the id that the index names
 *     else                         copied into an unnamed file, within limits
 *
 * Not listed: links, directories, what .gitignore names (unless git tracks it), .git and where
 * trivet keeps sessions.  For src/engine only; all of it blocks and runs on the thread pool. */
#ifndef TRIVET_ENGINE_UNDO_SCAN_H
#define TRIVET_ENGINE_UNDO_SCAN_H

#include "base/arena.h"
#include "base/buf.h"

struct undo_scan;

struct undo_places {
    struct str root;   /* the workspace, absolute and resolved */
    struct str own;    /* a directory whose files trivet itself writes, or STR_NONE */
    struct str copies; /* directory for the unnamed file; it is made if needed */
};

/* A file that was changed, made or removed. */
struct undo_change {
    struct str path; /* absolute */
    bool existed;    /* this and the rest: before */
    unsigned mode;
    int64_t size;
    struct str id;    /* of the object in git, in bytes, or STR_NONE */
    int64_t copy;     /* where the copy begins, or -1 */
    const char *lost; /* why there is neither; NULL: there is one, or the file did not exist */
};

struct undo_changes {
    struct undo_change *v; /* valid as long as the scan */
    size_t n, capacity;
    bool has_git_moved; /* a commit, checkout or reset was made since the last search */
};
void undo_changes_clear(struct undo_changes *c);

/* NULL with the reason when the workspace is not one to be searched. */
struct undo_scan *undo_scan_new(const struct undo_places *p, struct buf *ret_why);
void undo_scan_free(struct undo_scan *s);
/* Now, in the clock of file times: the start of a command. */
int64_t undo_scan_now_ns(void);
/* What was changed since then, compared with the last search.  False with the reason; the scan is
 * of no use after that. */
bool undo_scan_again(struct undo_scan *s, int64_t since_ns, struct undo_changes *ret,
                     struct buf *ret_why);
/* A file tool has changed this file, and what it held before the turn is kept: from now on it
 * counts as it is. */
void undo_scan_update(struct undo_scan *s, struct str path);
bool undo_scan_copy(const struct undo_scan *s, const struct undo_change *c, struct buf *out);

#endif
