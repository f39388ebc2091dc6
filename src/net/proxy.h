/* SPDX-License-Identifier: MIT */
/* An HTTP proxy that reaches the hosts of a list and no others, for commands without network access
 * (TRIVET_SANDBOX_NET=HOST,...).
 *
 * The listening socket may belong to another network namespace; connections to servers are made in
 * trivet's own.  It supports CONNECT and plain requests with an absolute address, one per
 * connection.  For a host that is not listed it answers 403 with a reason.  Names are resolved on
 * the thread pool, each address is checked (hosts.h), and exactly the checked address is connected
 * to.
 *
 * Memory is bounded: a connection has its head (16 KiB) and a buffer (32 KiB) per direction, and is
 * read only when the buffer was written to the other side.  There are at most 64 connections; more
 * wait in the backlog of the socket.  An idle one is closed after five minutes.
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
/* Closes the socket and every connection.  A running lookup ends on the pool; loop_free waits for
 * it. */
void proxy_free(struct proxy *p);
unsigned proxy_count(const struct proxy *p); /* of open connections */
/* Timeouts for receiving a head, connecting, and idle connections; for tests. */
void proxy_patience(struct proxy *p, int64_t head_ms, int64_t connect_ms, int64_t idle_ms);

#endif
