/* SPDX-License-Identifier: MIT */
/* Checks of a request head before any handler: pure functions.
 *
 * Host must name this server, or a page of another name that resolves to this address could use it
 * (DNS rebinding).  Origin and Sec-Fetch-Site, which browsers send and pages cannot set, must say
 * that the page came from here.  There is no CORS header ever.  Cookies and tokens in the query are
 * not looked at.
 */
#ifndef TRIVET_WEB_GUARD_H
#define TRIVET_WEB_GUARD_H

#include "web/head.h"

enum { GUARD_HOSTS = 4 };

struct guard {
    char *hosts[GUARD_HOSTS]; /* the loopback names with the port, public_host; NULL-ended unless
                               * full */
    char *public_host;        /* one of them, whose pages come by https; NULL: none */
    bool is_local;            /* a Unix socket: any Host, no Origin */
};

/* The Host headers of a server on this port. */
void guard_init(struct guard *g, int port, const char *public_host, bool is_local);
void guard_clear(struct guard *g);
/* Host, Origin, Sec-Fetch-Site, method, type of the body, Expect, WebSocket handshake.  NULL: the
 * request may go on. */
const struct refusal *guard_check(const struct guard *g, const struct head *h);

/* The token of a request: `Authorization: Bearer`, or the WebSocket protocol `trivet.token.`.
 * STR_NONE: none is given. */
struct str guard_token(const struct head *h);
/* Whether it asks for a WebSocket (guard_check has accepted it). */
bool guard_wants_upgrade(const struct head *h);
/* Appends the Sec-WebSocket-Accept value for the key. */
void guard_accept_key(struct buf *out, struct str key);

#define GUARD_PROTOCOL "trivet.v1"
#define GUARD_TOKEN_PROTOCOL "trivet.token."

#endif
