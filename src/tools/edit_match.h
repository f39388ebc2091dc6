/* SPDX-License-Identifier: MIT */
/* The parts of the matcher know each other through this. */
#ifndef TRIVET_TOOLS_EDIT_MATCH_H
#define TRIVET_TOOLS_EDIT_MATCH_H

#include "tools/edit.h"

/* A text cut into lines, without their \n. */
struct text_lines {
    struct str *v;
    size_t n;
};
void text_lines_clear(struct text_lines *l);
/* "a\nb\n" has three lines, the last one empty. */
struct text_lines text_lines_of(struct str text);

/* One way of looking: where the old text was found, and the new text for there. */
struct edit_search {
    struct str text;
    struct text_lines lines; /* of the text; filled when needed */
    const struct edit *edit; /* as it is looked for, after rewriting */
    enum edit_step step;     /* what a place is recorded with */
    size_t number;
    struct edit_places *out;
};
void edit_add_place(struct edit_search *s, size_t at, size_t n, struct str new_text);
/* The text belongs to the places from now on. */
struct str edit_keep(struct edit_places *p, struct buf *text);

/* The new text where the lines `found` of the file stand for the lines of the old text: lines that
 * the edit leaves alone are those of the file, the others go through `shape`. */
typedef void edit_shape_fn(const void *arg, struct str line, struct buf *out);
void edit_merge(const struct edit *e, struct str found, edit_shape_fn *shape, const void *arg,
                struct buf *out);

/* edit_lines.c: steps SHIFT and UNIT.  Each returns how many places it found and added. */
size_t edit_find_shifted(struct edit_search *s);
size_t edit_find_by_unit(struct edit_search *s);

/* edit_rewrite.c: steps ESCAPES, NUMBERS and OUTER.  False when there is nothing to rewrite. */
bool edit_unescape(const struct edit *e, struct buf *ret_old, struct buf *ret_new);
bool edit_drop_numbers(const struct edit *e, struct buf *ret_old, struct buf *ret_new);
bool edit_drop_outer(const struct edit *e, struct buf *ret_old, struct buf *ret_new);

/* Typographic dashes, quotes and spaces as ASCII writes them. */
uint32_t edit_plain_char(uint32_t c);

#endif
