/* SPDX-License-Identifier: MIT */
/* The body of an HTTP/1.1 request: a strict push parser for a known length and for chunks.
 *
 * Chunk sizes are one to eight hex digits; chunk extensions and trailers are refused, since no
 * client needs them and servers in a row disagree about them.
 */
#ifndef TRIVET_WEB_BODY_H
#define TRIVET_WEB_BODY_H

#include "web/head.h"

struct body {
    struct buf bytes; /* received so far */
    enum body_kind kind;
    enum body_state {
        BODY_SIZE,    /* hex digits of a chunk size */
        BODY_SIZE_LF, /* the line end behind them */
        BODY_DATA,
        BODY_DATA_CR, /* the line end behind a chunk */
        BODY_DATA_LF,
        BODY_LAST_CR, /* the line end behind the last chunk, which has size 0 */
        BODY_LAST_LF,
        BODY_DONE,
    } state;
    uint64_t left;     /* bytes of the chunk, or of the body */
    unsigned n_digits; /* of the chunk size */
};

/* Begins the body that the head announces.  A fault when it is larger than the limit. */
const struct refusal *body_begin(struct body *b, const struct head *h, size_t limit);
/* Returns how many bytes were taken: all, or up to the end of the body (state BODY_DONE), or up to
 * a fault, which *ret_fault then is. */
size_t body_feed(struct body *b, struct str bytes, const struct refusal **ret_fault);
void body_clear(struct body *b);

#endif
