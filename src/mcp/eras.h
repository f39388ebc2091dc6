/* SPDX-License-Identifier: MIT */
/* Which era a server spoke, by its mark (config.h): $XDG_CACHE_HOME/trivet/mcp-eras.json.  A cache:
 * without it the server is asked again. */
#ifndef TRIVET_MCP_ERAS_H
#define TRIVET_MCP_ERAS_H

#include "mcp/link.h"

enum mcp_era era_find(const char *mark);
void era_keep_await(const char *mark, enum mcp_era era);

#endif
