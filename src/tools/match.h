/* SPDX-License-Identifier: MIT */
/* Patterns for paths, the way people write them:
 *
 *     *        any characters inside one component       ?      one character, not the slash
 *     [a-z]    one of them, [!a-z] one of the others     \x     x itself
 *     **       as a whole component: any number of components, also none
 *     {a,b}    either (struct pattern only)
 *
 * Matching needs no memory and its time is bounded by the lengths: only the last * and the last **
 * are ever tried again.
 */
#ifndef TRIVET_TOOLS_MATCH_H
#define TRIVET_TOOLS_MATCH_H

#include "base/err.h"

/* Whether the whole path matches; no braces. */
bool match_path(struct str pattern, struct str path);
/* Whether the text has none of the characters that mean something. */
bool match_is_literal(struct str pattern);

struct alt { /* a pattern without braces */
    char *text;
    size_t n;
    size_t head, tail; /* bytes at its ends that stand for themselves: most paths fail there */
};

struct pattern {
    struct alt *alts; /* braces written out */
    size_t n;
};
#define PATTERN_INIT ((struct pattern){0})

/* ERR_LIMIT when the braces stand for too many patterns. */
bool pattern_init(struct pattern *p, struct str text, struct error *err);
bool pattern_match(const struct pattern *p, struct str path);
/* Whether a path below the directory, given with its slash, could match; by the plain beginning of
 * the pattern alone. */
bool pattern_may_be_below(const struct pattern *p, struct str dir);
/* As ignore files and search filters read it: a pattern without a slash is held against the last
 * component, one with a slash against the whole path; a leading slash only anchors. */
bool pattern_match_filter(const struct pattern *p, struct str path);
void pattern_clear(struct pattern *p);

#endif
