/* SPDX-License-Identifier: MIT */
/* How many columns a terminal gives a text. */
#ifndef TRIVET_TERMINAL_WIDTH_H
#define TRIVET_TERMINAL_WIDTH_H

#include "base/str.h"

/* Columns of a character: 0, 1 or 2. */
int width_of(uint32_t c);

struct cluster { /* what a reader takes for one character */
    size_t n;    /* bytes; at least 1 of a text that is not empty */
    int width;
    int most; /* columns that some terminal takes for it, those of its characters together */
    bool is_doubtful; /* terminals disagree: the column has to be set behind it */
};
/* The first one of a text. */
struct cluster cluster_first(struct str s);
/* Bytes of the last one. */
size_t cluster_last(struct str s);
/* Columns of a text without line ends. */
int width_text(struct str s);
/* The beginning of it that fits in so many columns. */
struct str width_cut(struct str s, int columns);

#endif
