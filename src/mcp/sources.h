/* SPDX-License-Identifier: MIT */
/* Where the servers of a session are named, and what the user has approved.
 *
 *     $XDG_CONFIG_HOME/trivet/mcp.json   the user's own, {"mcpServers": {...}}
 *     <repository>/.mcp.json             the project's: counts after the user has trusted exactly
 *                                        this content at this place (`trivet mcp trust`)
 *     $XDG_STATE_HOME/trivet/mcp-trust.json   what was trusted: digests of such files, and of the
 *                                        tools as their servers first described them
 *
 * The project's servers win over the user's of the same name.
 */
#ifndef TRIVET_MCP_SOURCES_H
#define TRIVET_MCP_SOURCES_H

#include "mcp/config.h"

/* The user's own file. */
void mcp_user_path(struct buf *out);
/* The project's file of a workspace; false when there is none: in the workspace, or above it up to
 * the root of the repository. */
bool mcp_project_path(struct buf *out, struct str workspace);

/* Adds the servers of a file: the object is in its member `mcpServers`.  No file is fine.
 * ERR_CORRUPT when it is not such a file. */
bool mcp_read_file(struct mcp_configs *c, struct str path, enum mcp_origin origin,
                   struct error *err);
/* The same for the project's; *ret_is_trusted says whether the user has trusted it, and only then
 * its servers are added. */
bool mcp_read_project(struct mcp_configs *c, struct str path, bool *ret_is_trusted,
                      struct error *err);

/* ---- trust ---- */

/* The file of what was trusted, and an object in it, which is made if it is not there. */
void trust_path(struct buf *out);
yyjson_mut_val *trust_object(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name);
bool mcp_project_is_trusted(struct str path, struct str content);
/* Trusts this content of the file, or forgets the file. */
bool mcp_trust_content_await(struct str path, struct str content, struct error *err);
bool mcp_forget_project_await(struct str path, struct error *err);

#endif
