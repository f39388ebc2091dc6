/* SPDX-License-Identifier: MIT */
/* Unified diffs of two texts. */
#ifndef TRIVET_TOOLS_DIFF_H
#define TRIVET_TOOLS_DIFF_H

#include "base/buf.h"

struct diff_options {
    struct str name;  /* in both header lines */
    unsigned context; /* lines around a change */
    bool is_one_hunk; /* everything from the first to the last change in one hunk */
};

/* Appends the headers and hunks, nothing when the texts are equal.  False when the limit of out cut
 * it; what is there then ends with a whole line. */
bool diff_unified(const struct diff_options *o, struct str before, struct str after,
                  struct buf *out);

#endif
