/* SPDX-License-Identifier: MIT */
/* Texts that a regular expression needs, or runs of bytes of one kind: where none of them stands,
 * it cannot match.  They are found many times faster than the expression is tried.
 *
 *     quux(bar|baz)\d+     needs "quux"
 *     alpha|beta[0-9]      needs "alpha" or "beta"
 *     \w+\s+[A-Z]{5}       needs five capital letters in a row
 *     (?<=x)\w+            is not looked into: nothing is known
 */
#ifndef TRIVET_TOOLS_LITERAL_H
#define TRIVET_TOOLS_LITERAL_H

#include "base/str.h"

enum { LITERAL_MAX = 8, LITERAL_BYTES = 64, SET_BYTES = 256 / 8 };

struct literal {
    bool is_run;
    size_t n; /* bytes */
    union {
        struct {                                /* a text */
            unsigned char bytes[LITERAL_BYTES]; /* small letters, when the case does not matter */
            /* The bit that makes a letter small; 0: the byte must be the same. */
            unsigned char fold[LITERAL_BYTES];
            size_t rare, other; /* the two bytes that are looked for first */
        };
        struct {                          /* n bytes in a row, each one of the set */
            unsigned char set[SET_BYTES]; /* one bit each */
            unsigned run_bits;            /* how seldom: in one of 2^run_bits places */
        };
    };
};

struct literals {
    struct literal v[LITERAL_MAX];
    size_t n;      /* 0: nothing is known */
    bool is_whole; /* the expression is this one text, and there is nothing else to try */
};

/* From an expression in PCRE2's language, valid UTF-8.  When something is known, a match depends on
 * nothing but what it covers and the characters beside it: a line can be asked alone. */
void literals_init(struct literals *l, struct str pattern, bool any_case);
/* The first place at or behind `from` where it stands; SIZE_MAX: nowhere. */
size_t literal_find(const struct literal *l, struct str text, size_t from);

#endif
