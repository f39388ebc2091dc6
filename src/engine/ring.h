/* SPDX-License-Identifier: MIT */
/* The recent events of a turn, for replay.  Bounded by LIMIT_RING_BYTES and LIMIT_RING_NODES; the
 * oldest fall out first.  For src/engine only.
 *
 * Pieces of text that follow each other without another event between them share a node: their
 * bytes lie one behind another, and each has its end and its time.  They are replayed one by one,
 * as they came.
 */
#ifndef TRIVET_ENGINE_RING_H
#define TRIVET_ENGINE_RING_H

#include "engine/event.h"

struct event_ring {
    struct event_node *first, *last;
    size_t n, bytes;              /* of the nodes */
    size_t most;                  /* nodes; 0: LIMIT_RING_NODES */
    int64_t gone;                 /* seq of the newest event that fell out; 0: none did */
    struct event_node *open_call; /* EV_CALL_STARTED without its end; it may have fallen out */
};

void event_ring_add(struct event_ring *r, const struct event *e); /* deep copy */
void event_ring_clear(struct event_ring *r);
/* Events with seq > after, oldest first. */
void event_ring_each(const struct event_ring *r, int64_t after, event_fn *fn, void *arg);

struct event_cursor { /* valid until the ring changes */
    const struct event_node *node;
    size_t piece;
};
struct event_cursor event_ring_begin(const struct event_ring *r,
                                     int64_t after);     /* at the first of these */
int64_t event_cursor_seq(const struct event_cursor *c);  /* of the event there; node is not NULL */
struct event event_cursor_take(struct event_cursor *c);  /* the event there; moves on */
int64_t event_ring_last_seq(const struct event_ring *r); /* 0: it is empty */
/* The call that runs, if its event fell out; NULL: there is none. */
const struct event *event_ring_lost_call(const struct event_ring *r);

#endif
