/* SPDX-License-Identifier: MIT */
/* Patches in the Codex format: several files added, updated, moved, deleted; all of them or none.
 *
 *     text -> patch_parse -> struct patch -> patch_plan -> struct plan -> plan_commit -> disk
 *
 * Parsing and placing are pure.  The plan holds the new texts of all files in memory; the disk is
 * read for it and not touched.  The commit changes every file or puts every file back.  What goes
 * wrong is a struct patch_fault, worded by the tool.  A function that takes one fills it when it
 * returns false and leaves it alone otherwise.
 */
#ifndef TRIVET_TOOLS_PATCH_H
#define TRIVET_TOOLS_PATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

#include <stdatomic.h>
#include <sys/stat.h>

enum {
    PATCH_BYTES = 4 << 20, /* of the patch */
    PATCH_HUNKS = 1000,
    PATCH_FILE_LINES = 1 << 20, /* of one file that is updated */
    PATCH_TEXTS = 64 << 20,     /* of all files it touches, old and new; one file: CHANGE_BYTES */
};

enum patch_fault_kind {
    PATCH_FINE,
    PATCH_TOO_LARGE,    /* more than PATCH_BYTES or PATCH_HUNKS */
    PATCH_NO_BEGIN,     /* the first line is not *** Begin Patch */
    PATCH_NO_END,       /* the last line is not *** End Patch */
    PATCH_NO_HUNKS,     /* nothing between them */
    PATCH_BAD_HEADER,   /* text: the line that should begin a hunk */
    PATCH_EMPTY_HUNK,   /* text: path of an update without chunks */
    PATCH_NO_MARKER,    /* text: a chunk behind the first that does not begin with @@ */
    PATCH_BAD_LINE,     /* text: the first line of a chunk has no sign */
    PATCH_NO_LINES,     /* a chunk has none */
    PATCH_UNREADABLE,   /* path, why: file to update */
    PATCH_NO_LOCATOR,   /* path, chunk */
    PATCH_NOT_FOUND,    /* path, chunk: its old lines are not there */
    PATCH_TOO_SLOW,     /* path: searching was given up */
    PATCH_UNWRITABLE,   /* path, why */
    PATCH_UNDELETABLE,  /* path, why */
    PATCH_NOT_RESTORED, /* path, why: and this file could not be put back; text: where its old
                   contents are */
};

struct patch_line {
    char sign; /* ' ', '-' or '+' */
    struct str text;
};

struct patch_chunk {
    struct str locator;   /* line to find first; p == NULL: none */
    size_t near;          /* line of the text where it should be, from 1; 0: not given */
    size_t line, n_lines; /* into patch.lines */
    bool is_at_end;       /* *** End of File */
};

enum patch_kind { PATCH_ADD, PATCH_UPDATE, PATCH_DELETE };

struct patch_hunk {
    enum patch_kind kind;
    struct str path, move_to; /* as written; move_to.p == NULL: stays */
    size_t line, n_lines;     /* PATCH_ADD: into patch.lines */
    size_t chunk, n_chunks;   /* PATCH_UPDATE: into patch.chunks */
};

/* Texts are borrowed from what was parsed. */
struct patch {
    struct patch_hunk *hunks;
    struct patch_chunk *chunks;
    struct patch_line *lines;
    size_t n_hunks, n_chunks, n_lines;
    size_t hunk_capacity, chunk_capacity, line_capacity;
};
#define PATCH_INIT ((struct patch){0})
void patch_clear(struct patch *p);

struct patch_fault {
    enum patch_fault_kind kind;
    size_t line;      /* of the patch, from 1 */
    struct str text;  /* borrowed from the patch; PATCH_NOT_RESTORED: from the plan */
    struct buf path;  /* absolute */
    struct error why; /* what the system said */
    const struct patch_chunk *chunk;
};
#define PATCH_FAULT_INIT ((struct patch_fault){0})
void patch_fault_clear(struct patch_fault *f);

bool patch_parse(struct str text, struct patch *ret, struct patch_fault *fault);

/* The same for patches in other forms as well (patch_mend.c): their text is rewritten into mended,
 * which must live as long as the patch.  Then *fault says what was wrong with the original; on
 * failure too. */
bool patch_read(struct str text, struct buf *mended, struct patch *ret, struct patch_fault *fault);
/* Rewrites a text as a patch; false when it is none in any form that is known. */
bool patch_mend(struct str text, struct buf *out);

/* Appends the text as the update leaves it.  Lines that the chunks only name as context keep the
 * bytes they have in the text; all lines end with \n afterwards.  stop (may be NULL) ends a long
 * search with PATCH_TOO_SLOW.  fault->path is left alone. */
bool patch_place(const struct patch *p, const struct patch_hunk *h, struct str text,
                 const atomic_bool *stop, struct buf *out, struct patch_fault *fault);

/* A file as it is and as it shall be. */
struct plan_file {
    char *name;           /* as the patch names it */
    char *shown;          /* the same, absolute */
    char *path;           /* resolved; for a link that is removed the link itself */
    bool existed, exists; /* before and after */
    bool is_loaded;       /* before is known */
    bool has_text;        /* after is known */
    bool is_moved;        /* its text went elsewhere */
    bool has_rights;      /* rights are those of the file, or of the one that moves here */
    struct stat rights;
    struct buf before, after;
    const struct plan_file *came_from; /* whose text it is, when it was moved here */
    /* For the commit: */
    char *fresh;      /* new text, under another name beside it */
    char *kept;       /* old file, the same */
    bool is_switched; /* path is no longer the old file */
};
/* Whether there is nothing to do for it. */
bool plan_file_is_same(const struct plan_file *f);

struct plan {
    struct plan_file **files; /* in the order in which the patch names them */
    size_t n, capacity;
    char **made_dirs; /* the upper ones first */
    size_t n_made, made_capacity;
    size_t n_bytes; /* of all texts */
};
#define PLAN_INIT ((struct plan){0})
void plan_clear(struct plan *p);

struct patch_options {
    struct str base; /* relative paths mean this directory */
    /* Asked for the resolved path of every file before it is read or planned; may be NULL. */
    bool (*may_change)(const void *arg, struct str path, struct error *err);
    const void *arg;
    const atomic_bool *stop; /* may be NULL */
};

/* Reads the files and applies the hunks in order, each to what the ones before it left. */
bool patch_plan(const struct patch *p, const struct patch_options *o, struct plan *ret,
                struct patch_fault *fault);
/* Brings the disk to the planned state.  On failure every file is as it was (same inode, same
 * times), unless the fault is PATCH_NOT_RESTORED. */
bool plan_commit(struct plan *p, struct patch_fault *fault);
/* Appends the unified diffs of all files; false when the limit of out cut them. */
bool plan_diff(const struct plan *p, struct buf *out);

/* All of it on the thread pool.  True with a fault: nothing was changed (but see
 * PATCH_NOT_RESTORED). False only for ERR_CANCELED.  The diff goes to diff and stops at its limit.
 */
struct patch_run {
    struct str text;
    struct patch_options options; /* stop is set by patch_apply_await */
    struct patch patch;
    struct buf mended; /* its text, when that was rewritten */
    struct plan plan;
    struct patch_fault fault;
    struct buf diff;
    bool is_diff_cut;
};
bool patch_apply_await(struct loop *l, struct patch_run *r, struct error *err);
void patch_run_clear(struct patch_run *r);

#endif
