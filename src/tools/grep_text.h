/* SPDX-License-Identifier: MIT */
/* Searching one text: which of its lines match, and the lines that are shown of it.  One struct per
 * thread; the expression and its literals are shared.
 */
#ifndef TRIVET_TOOLS_GREP_TEXT_H
#define TRIVET_TOOLS_GREP_TEXT_H

#include "base/buf.h"
#include "tools/grep.h"
#include "tools/literal.h"

#include <stdatomic.h>

/* A line shown, with its text, NUL-ended, in grep_text.shown. */
struct shown_line {
    int64_t number;
    size_t at, n;
    bool is_match;
};

struct grep_text {
    const struct grep_options *o;
    const struct search_api *api;
    struct regex *regex; /* this thread's own */
    const struct literals *literals;
    const atomic_bool *stop;

    struct buf repaired; /* the text, or one line of it, as valid UTF-8 */
    struct str text;
    bool is_checked;                /* the text is known to be valid UTF-8 */
    size_t literal_at[LITERAL_MAX]; /* where each stands next */
    int64_t n_gave_up;              /* lines on which the expression took too long */

    struct buf shown; /* texts of the lines */
    struct shown_line *lines;
    size_t n_lines, lines_capacity;
};

/* The number of matching lines of the bytes of a file; stops at the first if no more are wanted,
 * and one line beyond max_lines.  The lines are there until the next call. */
int64_t grep_text_search(struct grep_text *g, struct str bytes);
/* Frees what was allocated here; the regex too. */
void grep_text_clear(struct grep_text *g);

#endif
