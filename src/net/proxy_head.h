/* SPDX-License-Identifier: MIT */
/* The head of a request to a proxy: its target, and the head to send there.
 *
 * CONNECT HOST:PORT, and methods with an absolute address, `GET http://host/path`.  Parsed
 * strictly, so that the server cannot parse it differently: lines end in CR LF, no continued lines,
 * no control characters, one Content-Length at most, no Transfer-Encoding, no user in the address.
 */
#ifndef TRIVET_NET_PROXY_HEAD_H
#define TRIVET_NET_PROXY_HEAD_H

#include "base/buf.h"
#include "net/hosts.h"

struct proxy_head {
    bool is_connect;
    struct host host;
    uint64_t body_bytes; /* that follow the head; of CONNECT none */
    struct buf head;     /* for the server, with Connection: close and without proxy headers; empty
                          * for CONNECT */
};

/* Length of the head, its blank line included; 0 when it is incomplete. */
size_t proxy_head_end(struct str bytes);
/* Reads a whole head.  False with the HTTP status in err->status and a message for the client. */
bool proxy_head_read(struct str bytes, struct proxy_head *ret, struct error *err);
void proxy_head_clear(struct proxy_head *h);

#endif
