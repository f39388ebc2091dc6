/* SPDX-License-Identifier: MIT */
/* A tiny HTTP/1.1 server for one visitor: the browser that comes back from a sign-in page.
 *
 * It listens on 127.0.0.1 and on no other interface, ever.  One request per connection, head only
 * (at most 16 KiB), GET and HEAD; each answer says `Connection: close`.  A visitor that is slow or
 * silent is sent away after ten seconds.
 */
#ifndef TRIVET_NET_LISTEN_H
#define TRIVET_NET_LISTEN_H

#include "base/buf.h"
#include "loop/loop.h"

struct listen_answer {
    int status;               /* 404 unless the callback says otherwise */
    const char *content_type; /* "text/plain; charset=utf-8" unless it says otherwise */
    struct buf body;
    struct buf location; /* of a redirect; empty: none */
};

/* path begins with "/" and is as it was sent; query is without "?", empty if there is none.  Both
 * are gone after the call.  The listener may be freed inside; then nothing is answered. */
typedef void listen_fn(void *arg, struct str path, struct str query, struct listen_answer *ret);

struct listener;
/* port 0: any free one.  ERR_BUSY when the port is taken. */
struct listener *listener_new(struct loop *l, int port, listen_fn *fn, void *arg,
                              struct error *err);
int listener_port(const struct listener *s);
/* Closes the port and every connection; what the kernel has taken is still delivered. */
void listener_free(struct listener *s);

#endif
