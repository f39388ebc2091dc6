/* SPDX-License-Identifier: MIT */
/* Tools as they were first seen.  A server may change what it says of a tool after the user has
 * come to trust it; such a tool is withheld from the model until `trivet mcp trust NAME`.  New
 * tools of a known server are offered. */
#ifndef TRIVET_MCP_PINS_H
#define TRIVET_MCP_PINS_H

#include "mcp/server.h"

/* Marks the tools of a new list that differ from what was kept, and keeps those that are new. */
void pins_apply_await(struct mcp_server *s, struct tool_list *l);

#endif
