/* SPDX-License-Identifier: MIT */
/* Names that could be meant by what is typed: commands, their values, files behind an @. */
#ifndef TRIVET_TERMINAL_COMPLETE_H
#define TRIVET_TERMINAL_COMPLETE_H

#include "terminal/internal.h"

struct completion {
    struct arena arena;
    struct pick_item *items; /* value: what is put in */
    size_t n, capacity, at;
    size_t from;       /* byte of the text where the name begins */
    struct str prefix; /* that is typed */
};

void complete_update(struct chat *c); /* after each change of the text */
void complete_clear(struct chat *c);
bool complete_accept(struct chat *c); /* the chosen one; false: nothing is offered */
bool complete_move(struct chat *c, int by);
void complete_draw(struct chat *c);

#endif
