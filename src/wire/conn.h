/* SPDX-License-Identifier: MIT */
/* A connection: an input stream, an output stream, a framing, and callbacks for messages; or a
 * transport of whole messages in their place.  It has no global state: several may exist in one
 * process, in different dialects.
 *
 * Back-pressure: conn_is_full is true while more than ops->queue bytes are unsent; the dialect then
 * pauses its sessions (on_full).  Requests are still read, so that interrupt works; beyond
 * LIMIT_OUT_STOP_BYTES they stay in the pipe.
 */
#ifndef TRIVET_WIRE_CONN_H
#define TRIVET_WIRE_CONN_H

#include "loop/io.h"
#include "wire/frame.h"
#include "wire/transport.h"

struct conn;

struct conn_ops {
    enum frame_kind framing; /* not used on a transport */
    size_t limit;            /* bytes of one message */
    size_t queue;            /* unsent bytes beyond which it is full; 0: LIMIT_OUT_QUEUE_BYTES */
    void (*on_message)(void *arg, struct str body);
    void (*on_fault)(void *arg, enum frame_fault fault, struct str detail);
    void (*on_eof)(void *arg);             /* after the last message */
    void (*on_full)(void *arg, bool full); /* the out queue crossed its limit */
    void (*on_unchoked)(void *arg);        /* no longer choked; must not free the connection */
    /* The client closed its end of the output.  Reported at once after the end of input, before
     * that with the next message sent. */
    void (*on_broken)(void *arg);
};

/* A socket may be both descriptors: in_fd and out_fd are then the same number. */
struct conn *conn_new(struct loop *l, int in_fd, int out_fd, const struct conn_ops *ops, void *arg);
/* The same on a transport, which belongs to the connection from now on.  There are no faults: the
 * transport answers them itself and ends. */
struct conn *conn_over(struct loop *l, struct transport *t, const struct conn_ops *ops, void *arg);
/* Queues one message; messages are never interleaved or sent in part.  The bytes are written before
 * the loop polls again; messages of one round share a system call. */
void conn_send(struct conn *c, struct str body);
/* The same for a message in a buffer: the bytes of a long one are taken over, not copied, and body
 * is empty afterwards. splices: shared parts of it, or NULL. */
void conn_give(struct conn *c, struct buf *body, const struct splices *splices);
bool conn_is_full(const struct conn *c);
/* More than LIMIT_OUT_STOP_BYTES are unsent: do not start anything that produces more. */
bool conn_is_choked(const struct conn *c);
/* While held, messages are neither delivered nor read: they stay in the pipe.  Releasing delivers
 * those already received before it returns. */
void conn_hold(struct conn *c, bool is_held);
void conn_stop_reading(struct conn *c); /* permanently; messages already read are dropped */
/* Drops all unsent bytes and all later messages. */
void conn_abandon(struct conn *c);
/* Ends a connection on a transport in order, with a code of that transport (transport.h); on_eof
 * follows.  On descriptors it does nothing. */
void conn_close(struct conn *c, int code, const char *reason);
/* Bytes written so far. */
uint64_t conn_written(const struct conn *c);
/* Everything sent has been written, or never will be. */
bool conn_is_flushed(const struct conn *c);
/* Waits for that; not cancelable. */
void conn_flush_through_await(struct conn *c);
void conn_free(struct conn *c);

/* What a transport reports: a message, the end of input, and that its writer became empty or broke
 * (what its writer_fn is told).  The connection may be freed inside. */
void conn_take(struct conn *c, struct str message);
void conn_take_end(struct conn *c);
void conn_take_written(struct conn *c, bool is_broken);

#endif
