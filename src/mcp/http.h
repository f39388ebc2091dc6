/* SPDX-License-Identifier: MIT */
/* The transport of servers with an address: Streamable HTTP. */
#ifndef TRIVET_MCP_HTTP_H
#define TRIVET_MCP_HTTP_H

#include "mcp/link.h"
#include "mcp/place.h"

/* Attaches the address to the link; nothing is sent yet. */
bool http_open(struct link *k, const struct mcp_place *p, const struct mcp_config *c,
               struct error *err);

#endif
