/* SPDX-License-Identifier: MIT */
/* `trivet mcp serve`: trivet as an MCP server on stdin and stdout, for other agents. */
#ifndef TRIVET_DIALECTS_MCP_MCP_H
#define TRIVET_DIALECTS_MCP_MCP_H

#include "base/options.h"
#include "dialects/dialect.h"

extern const struct dialect dialect_mcp;
extern const struct option mcp_serve_options[];

#endif
