/* SPDX-License-Identifier: MIT */
/* Markdown to styled text while it arrives.
 *
 * What is printed is never changed, so only what cannot be decided yet is held back: the beginning
 * of a line until its kind is known, a link until its end, a table until its last row, a line of
 * code until its end.  Line ends of the text stay line ends.  A parser of whole documents such as
 * md4c could say nothing of a paragraph that is still open, which is why this one is our own.
 */
#ifndef TRIVET_TERMINAL_MARKDOWN_H
#define TRIVET_TERMINAL_MARKDOWN_H

#include "terminal/screen.h"

struct markdown {
    struct screen *screen;
    struct buf held;  /* not printed yet */
    bool is_inside;   /* of a line whose kind is known */
    bool owes_return; /* a \r at the end of a piece */
    unsigned base;    /* style of the line */
    int hang;         /* columns of its blanks and marks, below which it goes on */
    unsigned on;      /* emphasis that is open */
    size_t n_ticks;   /* length of the marks of the open code span, 0: none */
    bool is_linked;   /* the text of a link is being printed */
    char before;      /* last byte that was printed in this line */
    char fence;       /* of the open code block, 0: none */
    size_t n_fence;
    int language;     /* of the code block, for highlight.c */
    int in_comment;   /* the code line begins inside a comment */
    struct buf table; /* rows that were held */
    bool is_verbatim; /* the line is code by its indentation */
    bool is_in_list;  /* an indented line belongs to an item */
    bool was_text;    /* the line before is text, which an indented line continues */
};

/* One line of text without the marks of blocks, whole. */
void markdown_inline(struct screen *s, unsigned style, struct str text);
void markdown_add(struct markdown *m, struct str text); /* any bytes; filtered here */
void markdown_end(struct markdown *m);                  /* the text is over; ready for the next */
void markdown_clear(struct markdown *m);

#endif
