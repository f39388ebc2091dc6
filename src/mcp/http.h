/* SPDX-License-Identifier: MIT */
/* The transport of servers with an address: Streamable HTTP.  Each message is a POST of its own;
 * its answer is one JSON message or a stream of events. */
#ifndef TRIVET_MCP_HTTP_H
#define TRIVET_MCP_HTTP_H

#include "mcp/link.h"
#include "mcp/place.h"

/* Attaches the address to the link; nothing is sent yet.  token: of a sign-in, or STR_NONE.
 * ERR_DENIED when secrets would go over a connection that is not encrypted. */
bool http_open(struct link *k, const struct mcp_place *p, const struct mcp_config *c,
               struct str token, struct error *err);
/* The token in use, STR_NONE: none; and another one from now on. */
struct str http_token(const struct link *k);
void http_set_token(struct link *k, struct str token);
/* Opens the stream on which a server of the older protocol asks and reports by itself, in place of
 * the one that is open.  It is opened again when it ends; a server may have none. */
void http_hear(struct link *k);
/* The rights that the last request lacked which failed with ERR_DENIED. */
struct str http_wanted(const struct link *k);
/* Whether the server has forgotten the session of a request that failed so. */
bool http_is_expired(const struct error *err);

#endif
