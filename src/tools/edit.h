/* SPDX-License-Identifier: MIT */
/* Replacing pieces of a text: pure, all or nothing. */
#ifndef TRIVET_TOOLS_EDIT_H
#define TRIVET_TOOLS_EDIT_H

#include "base/buf.h"

struct edit {
    struct str old_text, new_text;
};

enum edit_fault {
    EDIT_FINE,
    EDIT_NONE,      /* no edits were given */
    EDIT_EMPTY,     /* old_text of edit i is empty */
    EDIT_NOT_FOUND, /* old_text of edit i */
    EDIT_MANY,      /* old_text of edit i stands there `count` times */
    EDIT_OVERLAP,   /* edits i and j (i < j) */
    EDIT_NO_CHANGE, /* the text would stay what it is */
};

struct edit_report {
    enum edit_fault fault;
    size_t i, j;
    size_t count; /* EDIT_MANY: places; EDIT_FINE: replacements made */
};

/* Every old_text must stand in the text exactly once (with `everywhere`: at least once, and every
 * place is replaced); edits are held against the original text and may come in any order.  The
 * new text is appended to out when the fault is EDIT_FINE. */
struct edit_report edit_apply(struct str text, const struct edit *edits, size_t n, bool everywhere,
                              struct buf *out);

#endif
