/* SPDX-License-Identifier: MIT */
/* A search tool in place of many tools: when the descriptions of all tools would take too much of
 * the model's window, the model is given this one; what it finds is offered from then on. */
#ifndef TRIVET_MCP_SEARCH_H
#define TRIVET_MCP_SEARCH_H

#include "mcp/hub.h"

#define MCP_SEARCH_NAME "mcp_search"

struct mcp_search;
struct mcp_search *mcp_search_new(struct mcp_hub *h);
void mcp_search_free(struct mcp_search *s);
/* The tools for the model: all of the hub, or, when these are more than max_tokens, the search tool
 * and what was found with it. */
const struct tool **mcp_search_tools(struct mcp_search *s, int64_t max_tokens, struct arena *a,
                                     size_t *ret_n);
const struct tool *mcp_search_find(struct mcp_search *s, struct str name);

#endif
