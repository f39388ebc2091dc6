/* SPDX-License-Identifier: MIT */
/* The transport of servers on this machine: a child process, one JSON message per line. */
#ifndef TRIVET_MCP_STDIO_H
#define TRIVET_MCP_STDIO_H

#include "mcp/link.h"
#include "mcp/place.h"

/* Starts the server and attaches it to the link, which owns it then. */
bool stdio_open(struct link *k, const struct mcp_place *p, const struct mcp_config *c,
                struct error *err);
/* Appends ": " and the last lines of its stderr, if there are any. */
void stdio_put_last(const struct link *k, struct buf *out);

#endif
