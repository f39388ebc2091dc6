/* SPDX-License-Identifier: MIT */
/* An HTTP proxy that reaches the hosts of a list and no others, for commands without a network of
 * their own (TRIVET_SANDBOX_NET=HOST,...).
 *
 * The listening socket may be of another network namespace; connections to servers are made in
 * ours.  It speaks CONNECT and plain requests with an absolute address, one per connection.  A host
 * that is not listed gets 403 and the reason in words.  Names are resolved on the thread pool, each
 * address is judged (hosts.h), and the address that was judged is the one connected to.
 *
 * Memory is bounded: a connection holds its head (16 KiB) and one piece (32 KiB) per direction, and
 * is read only when the other side takes what was read before.  There are at most 64 connections;
 * more wait in the queue of the socket.  A silent one is closed after five minutes.
 */
#ifndef TRIVET_NET_PROXY_H
#define TRIVET_NET_PROXY_H

#include "loop/loop.h"
#include "net/hosts.h"

enum { PROXY_CONNECTIONS = 64 };

struct proxy;
/* Takes listen_fd over, also when it fails.  The list is borrowed until proxy_free. */
struct proxy *proxy_new(struct loop *l, int listen_fd, const struct host_list *allowed,
                        struct error *err);
/* Closes the socket and every connection.  A lookup that runs ends on its own on the pool; freeing
 * the loop waits for it. */
void proxy_free(struct proxy *p);
unsigned proxy_count(const struct proxy *p); /* of open connections */
/* How long a head, a server's answer to a connect, and silence may take; for tests. */
void proxy_patience(struct proxy *p, int64_t head_ms, int64_t connect_ms, int64_t idle_ms);

#endif
