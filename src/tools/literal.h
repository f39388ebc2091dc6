/* SPDX-License-Identifier: MIT */
/* Texts that a regular expression needs: where none of them stands, it cannot match.  They are
 * found many times faster than the expression is tried.
 *
 *     quux(bar|baz)\d+     needs "quux"
 *     alpha|beta[0-9]      needs "alpha" or "beta"
 *     (?<=x)\w+            is not looked into: nothing is known
 */
#ifndef TRIVET_TOOLS_LITERAL_H
#define TRIVET_TOOLS_LITERAL_H

#include "base/str.h"

enum { LITERAL_MAX = 8, LITERAL_BYTES = 64 };

struct literal {
    unsigned char bytes[LITERAL_BYTES]; /* small letters, when the case does not matter */
    unsigned char
        fold[LITERAL_BYTES]; /* bit that makes a letter small; 0: the byte must be the same */
    size_t n;
    size_t rare, other; /* the two bytes that are looked for first */
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
