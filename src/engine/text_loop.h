/* SPDX-License-Identifier: MIT */
/* Loops in text: a model that writes the same passage again and again.
 *
 * A passage has 50 to 2,000 bytes, with words in it.  Ten times in a row is a loop, in a code
 * block forty times, because tables of data repeat themselves. */
#ifndef TRIVET_ENGINE_TEXT_LOOP_H
#define TRIVET_ENGINE_TEXT_LOOP_H

#include "base/buf.h"

struct text_loop {    /* of one stream of text; all zero at first */
    struct buf tail;  /* the newest bytes */
    size_t unchecked; /* bytes since the last check */
    unsigned ticks;   /* backquotes in a row */
    bool is_code;
    size_t surplus; /* bytes at the end that repeat what stands before them; set at a loop */
};
void text_loop_clear(struct text_loop *l);
/* Takes a piece; true when the text is a loop now. */
bool text_loop_add(struct text_loop *l, struct str piece);

#endif
