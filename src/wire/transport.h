/* SPDX-License-Identifier: MIT */
/* A transport of whole messages (WebSocket, server-sent events) on which a connection can sit
 * instead of on descriptors with a framing.
 *
 * The transport owns its socket and a writer.  The connection queues messages through `send`, holds
 * the writer until the round ends, and compares the writer's unsent bytes with its limits; so
 * back-pressure is the same as on descriptors.  The transport reports with conn_take,
 * conn_take_end and conn_take_written (wire/conn.h), always from the loop or from inside
 * `pause(t, false)`.
 */
#ifndef TRIVET_WIRE_TRANSPORT_H
#define TRIVET_WIRE_TRANSPORT_H

#include "loop/io.h"

struct conn;
struct transport;

struct transport_ops {
    /* Puts one message into the writer, with its shared parts inserted.  It may take the bytes of
     * body over.  After the transport was closed messages are dropped. */
    void (*send)(struct transport *t, struct buf *body, const struct splices *splices);
    /* While paused, no message is delivered and nothing is read.  Resuming delivers the messages
     * already received before it returns, unless it is paused again meanwhile. */
    void (*pause)(struct transport *t, bool is_paused);
    /* Ends it in order: what is queued is sent, then the code and the reason (at most 123 bytes)
     * where the transport has a place for them.  The end is reported with conn_take_end. */
    void (*close)(struct transport *t, int code, const char *reason);
    /* The connection has gone: nothing more is reported.  Closes it as above with code 1000 unless
     * that was done; the socket goes when the bytes are written or after a short time. */
    void (*free)(struct transport *t);
};

struct transport { /* paused until a connection sits on it */
    const struct transport_ops *ops;
    struct writer *writer; /* valid until `free`; it may be broken */
    struct conn *conn;     /* set by conn_over */
    size_t limit;          /* bytes of one received message, set by conn_over */
};

/* For `send`: puts the bytes of a message, with its shared parts inserted; those of a long one are
 * taken over, not copied. */
void transport_put(struct writer *w, struct buf *body, const struct splices *splices);

#endif
