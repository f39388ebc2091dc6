/* SPDX-License-Identifier: MIT */
/* A minimal HTTP/1.1 server for the redirect of a browser after a sign-in.
 *
 * It listens on 127.0.0.1 only.  One request per connection, head only (at most 16 KiB), GET and
 * HEAD; each answer has `Connection: close`.  A slow or idle connection is closed after ten
 * seconds.
 */
#ifndef TRIVET_NET_LISTEN_H
#define TRIVET_NET_LISTEN_H

#include "base/buf.h"
#include "loop/loop.h"

struct listen_answer {
    int status;               /* 404 unless the callback sets it */
    const char *content_type; /* "text/plain; charset=utf-8" unless the callback sets it */
    struct buf body;
    struct buf location; /* of a redirect; empty: none */
};

/* path begins with "/" and is as it was sent; query is without "?", empty if there is none.  Both
 * are valid during the call only.  The listener may be freed inside; then no answer is sent. */
typedef void listen_fn(void *arg, struct str path, struct str query, struct listen_answer *ret);

struct http_listener;
/* port 0: any free one.  ERR_BUSY when the port is taken. */
struct http_listener *listener_new(struct loop *l, int port, listen_fn *fn, void *arg,
                                   struct error *err);
/* From now on another owner answers. */
void listener_hand_over(struct http_listener *s, listen_fn *fn, void *arg);
int listener_port(const struct http_listener *s);
/* Closes the port and every connection; bytes already written are still delivered by the kernel. */
void listener_free(struct http_listener *s);

#endif
