/* SPDX-License-Identifier: MIT */
/* A tape: the output of a running command, read piece by piece.
 *
 *     forgotten | kept: the newest so many characters | written next
 *               ^ oldest      ^ cursor                ^ end
 *
 * Characters are counted as JavaScript counts, from the beginning of the output, so that a position
 * keeps its meaning when old text is forgotten.  Bytes that are no UTF-8 become U+FFFD.
 */
#ifndef TRIVET_TOOLS_TAPE_H
#define TRIVET_TOOLS_TAPE_H

#include "base/buf.h"

struct tape {
    int64_t keep; /* characters */
    struct buf text;
    int64_t start;  /* position of the first character in text, which may lie before the oldest */
    int64_t end;    /* position behind the last one */
    int64_t cursor; /* where the next read begins */
    char unfinished[4]; /* the beginning of a character whose rest has not come */
    size_t n_unfinished;
};

struct tape_part {
    int64_t cursor;   /* behind what was read */
    bool has_more;    /* something follows it already */
    bool was_dropped; /* something before it was forgotten unread */
};

void tape_init(struct tape *t, int64_t keep);
void tape_clear(struct tape *t);
void tape_add(struct tape *t, struct str bytes);
/* Nothing follows: an unfinished character will not be finished. */
void tape_finish(struct tape *t);
/* Appends what follows the cursor, at most max characters (but at least one), as plain text.  A cut
 * does not go through an escape sequence.  The cursor moves on unless it is a peek. */
struct tape_part tape_read(struct tape *t, int64_t max, bool is_peek, struct buf *out);
/* What a read would say without reading. */
struct tape_part tape_look(const struct tape *t);
int64_t tape_unread(const struct tape *t); /* characters kept behind the cursor */

/* Appends text without escape sequences and control characters; CRLF becomes LF, tabs stay. */
void tape_plain(struct str text, struct buf *out);
/* The length of the beginning of s that tape_plain leaves as it is. */
size_t tape_plain_run(struct str s);

#endif
