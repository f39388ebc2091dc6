/* SPDX-License-Identifier: MIT */
/* The head of a request to a proxy: who is asked for, and what is sent there.
 *
 * CONNECT HOST:PORT, and methods with an absolute address, `GET http://host/path`.  Read strictly,
 * so that nobody behind us reads another request: lines end in CR LF, no continued lines, no
 * control characters, one Content-Length at most, no Transfer-Encoding, no user in the address.
 */
#ifndef TRIVET_NET_PROXY_HEAD_H
#define TRIVET_NET_PROXY_HEAD_H

#include "base/buf.h"
#include "net/hosts.h"

struct proxy_head {
    bool is_connect;
    struct host host;
    uint64_t body_bytes; /* that follow the head; of CONNECT none */
    struct buf head;     /* for the server, with Connection: close and without what was meant for
                          * the proxy; of CONNECT empty */
};

/* How many bytes the head has, its blank line included; 0 when the end is not there. */
size_t proxy_head_end(struct str bytes);
/* Reads a whole head.  False with the HTTP status in err->status and words for the client. */
bool proxy_head_read(struct str bytes, struct proxy_head *ret, struct error *err);
void proxy_head_clear(struct proxy_head *h);

#endif
