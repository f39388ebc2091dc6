/* SPDX-License-Identifier: MIT */
/* `trivet mcp`: the MCP servers of the user and of the project. */
#ifndef TRIVET_CLI_MCP_H
#define TRIVET_CLI_MCP_H

#include "cli/commands.h"

int mcp_run(const struct command_row *row, int argc, char **argv);
extern const struct option mcp_options[];
extern const struct verb mcp_verbs[];
extern const char mcp_more[];

#endif
