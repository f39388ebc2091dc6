/* SPDX-License-Identifier: MIT */
/* A connection: a byte stream in, a byte stream out, a framing, and somebody who understands the
 * messages.  Nothing about it is global: several may live in one process, in different dialects.
 *
 * Back-pressure: conn_is_full is true while more than ops->queue bytes are unsent; the
 * dialect then tells its sessions to pause (on_full).  Requests are read all the same, so that
 * interrupt works; only beyond LIMIT_OUT_STOP_BYTES they wait in the pipe.
 */
#ifndef TRIVET_WIRE_CONN_H
#define TRIVET_WIRE_CONN_H

#include "loop/io.h"
#include "wire/frame.h"

struct conn;

struct conn_ops {
    enum frame_kind framing;
    size_t limit; /* bytes of one message */
    size_t queue; /* unsent bytes beyond which it is full; 0: LIMIT_OUT_QUEUE_BYTES */
    void (*on_message)(void *arg, struct str body);
    void (*on_fault)(void *arg, enum frame_fault fault, struct str detail);
    void (*on_eof)(void *arg);             /* after the last message */
    void (*on_full)(void *arg, bool full); /* the out queue crossed its limit */
    void (*on_room)(void *arg);            /* it is not choked any more; not to be freed here */
    /* The client closed our output; after the end of input this is told at once, before with the
     * next message that is sent. */
    void (*on_broken)(void *arg);
};

struct conn *conn_new(struct loop *l, int in_fd, int out_fd, const struct conn_ops *ops, void *arg);
/* Queues one message; whole or not at all, never interleaved.  The bytes leave before the loop
 * sleeps again; messages of one round share a system call. */
void conn_send(struct conn *c, struct str body);
/* The same for a message that the caller has made: when it is long its bytes are taken over, not
 * copied, and body is empty afterwards.  splices: shared parts of it, or NULL. */
void conn_give(struct conn *c, struct buf *body, const struct splices *splices);
bool conn_is_full(const struct conn *c);
/* More than LIMIT_OUT_STOP_BYTES are unsent: what could make more has to wait. */
bool conn_is_choked(const struct conn *c);
/* While it is held no message is handed out and none is read: they wait in the pipe.  Letting go
 * hands out what came meanwhile before it returns. */
void conn_hold(struct conn *c, bool is_held);
void conn_stop_reading(struct conn *c); /* for good; messages already read are dropped */
/* Gives up what was sent and not taken: nothing leaves any more. */
void conn_abandon(struct conn *c);
/* Bytes that have left so far. */
uint64_t conn_written(const struct conn *c);
/* Everything that was sent has left, or never will. */
bool conn_is_flushed(const struct conn *c);
/* Waits for that; not cancelable. */
void conn_flush_through_await(struct conn *c);
void conn_free(struct conn *c);

#endif
