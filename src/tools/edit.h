/* SPDX-License-Identifier: MIT */
/* Replacing pieces of a text: pure, all or nothing.
 *
 * An old text that is not found as it stands is looked for once more in looser ways, one after the
 * other (enum edit_step).  A way counts only when it gives exactly one place; the first that gives
 * more ends the search.  Lines that an edit leaves alone keep their bytes.
 */
#ifndef TRIVET_TOOLS_EDIT_H
#define TRIVET_TOOLS_EDIT_H

#include "base/buf.h"

struct edit {
    struct str old_text, new_text;
};

enum edit_step {
    EDIT_EXACT,
    EDIT_LINE_ENDS,  /* \r\n and \n are the same */
    EDIT_TRAILING,   /* blanks at line ends do not count */
    EDIT_SHIFT,      /* all lines are indented by the same amount more or less */
    EDIT_UNIT,       /* levels of indentation are written in another unit */
    EDIT_TYPOGRAPHY, /* typographic quotes, dashes and spaces are plain ones */
    EDIT_ESCAPES,    /* one level of backslash escapes too many */
    EDIT_NUMBERS,    /* line numbers of a read result stand before every line */
    EDIT_OUTER,      /* blank lines around it do not count */
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

enum { EDIT_PLACES = 5, EDIT_NOTES = 8 };

struct edit_list {
    const struct edit *v;
    size_t n;
    bool everywhere; /* all places of an old text, not one */
};

struct edit_report {
    enum edit_fault fault;
    size_t i, j;
    size_t count;               /* EDIT_MANY: places; EDIT_FINE: replacements made */
    size_t places[EDIT_PLACES]; /* EDIT_MANY: where the first of them begin */
    struct edit_note {          /* EDIT_FINE: replacements whose place was found in a looser way */
        enum edit_step step;
        size_t at, n; /* the new text in the result */
    } notes[EDIT_NOTES];
    size_t n_notes;
};

/* Every old_text must stand in the text exactly once (with `everywhere`: at least once, and every
 * place is replaced); edits are held against the original text and may come in any order.  The
 * new text is appended to out when the fault is EDIT_FINE. */
struct edit_report edit_apply(struct str text, const struct edit *edits, size_t n, bool everywhere,
                              struct buf *out);
/* Says how the places were found, a line each; with_lines: and how the lines read now. */
void edit_say_notes(const struct edit_report *r, struct str after, bool with_lines,
                    struct buf *out);

/* edit_match.c */
struct edit_place {
    size_t at, n;        /* what is replaced */
    struct str new_text; /* by this; borrowed from the edit or from the pool */
    enum edit_step step;
    size_t edit; /* whose place it is */
};

struct edit_places {
    struct edit_place *v;
    size_t n, capacity;
    char **pool; /* texts that were made */
    size_t n_pool;
};
void edit_places_clear(struct edit_places *p);
/* Adds the places of an edit, all that one step finds; returns how many there are. */
size_t edit_find(struct str text, const struct edit *e, size_t number, struct edit_places *p);

#endif
