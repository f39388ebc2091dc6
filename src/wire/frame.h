/* SPDX-License-Identifier: MIT */
/* Framing: bytes in, messages out.  Push parsers that can be fed one byte at a time or 64 MiB at
 * once, with memory bounded by the limit.
 *
 * NDJSON: a message is a line; the line end is \n, and for loaf also \r\n and a lone \r.
 * Content-Length: header lines, an empty line, that many bytes of JSON.  After a wrong length,
 * parsing continues at the next header.
 */
#ifndef TRIVET_WIRE_FRAME_H
#define TRIVET_WIRE_FRAME_H

#include "base/buf.h"

enum frame_kind { FRAME_LINES, FRAME_LINES_CR, FRAME_LENGTH };

enum frame_fault {
    FRAME_TOO_LONG,   /* line or body beyond the limit: skipped, parsing continues after it */
    FRAME_BAD_HEADER, /* header line without colon: detail is the line */
    FRAME_NO_LENGTH,  /* missing, zero, negative or unreadable Content-Length */
    FRAME_CUT_BODY,   /* end of input inside a body */
};

struct frame_sink {
    void (*on_message)(void *arg, struct str body); /* blank lines are left out */
    void (*on_fault)(void *arg, enum frame_fault fault, struct str detail);
    void *arg;
};

struct frame; /* one direction of one connection */
struct frame *frame_new(enum frame_kind kind, size_t limit, struct frame_sink sink);
/* Returns how many bytes were taken: all of them, unless frame_pause was called meanwhile. */
size_t frame_feed(struct frame *f, struct str bytes);
/* From inside a callback: the running feed returns after this message; the caller feeds the
 * remaining bytes again later. */
void frame_pause(struct frame *f);
void frame_end(struct frame *f);  /* end of input: a last line without line end counts */
void frame_free(struct frame *f); /* allowed inside its callbacks */
/* Stops delivering inside a feed (shutdown): everything fed from now on is ignored. */
void frame_stop(struct frame *f);

/* Appends the framed body. */
void frame_put(struct buf *out, enum frame_kind kind, struct str body);
/* The bytes before and after a body of n bytes. */
enum { FRAME_HEAD_MAX = 64 };
struct str frame_head(char out[FRAME_HEAD_MAX], enum frame_kind kind, size_t n);
struct str frame_tail(enum frame_kind kind);

#endif
