/* SPDX-License-Identifier: MIT */
/* The MCP servers of a workspace together: what the engine and the command line know of them.
 * Nothing is started before mcp_hub_refresh_await or a call; sessions may share a hub. */
#ifndef TRIVET_MCP_HUB_H
#define TRIVET_MCP_HUB_H

#include "mcp/config.h"
#include "mcp/place.h"
#include "toolsets/toolset.h"

struct mcp_hub;

/* Takes the servers over, and p->root, which it frees. */
struct mcp_hub *mcp_hub_new(const struct mcp_place *p, struct mcp_configs *configs);
const struct mcp_place *mcp_hub_place(const struct mcp_hub *h);
/* Ends every server (mcp/stdio.c says how), then frees the hub.  Takes at most some seconds. */
void mcp_hub_end_through_await(struct mcp_hub *h);

/* Starts what was never started, in parallel, and lists anew what has changed; waits for that, for
 * each server at most most_ms from its start on: a slow one comes later.  False only with
 * ERR_CANCELED. */
bool mcp_hub_refresh_await(struct mcp_hub *h, int64_t most_ms, struct error *err);

/* The tools that the model may be offered, by server and name.  Tools live as long as the hub. */
const struct tool **mcp_hub_tools(struct mcp_hub *h, struct arena *a, size_t *ret_n);
const struct tool *mcp_hub_find(struct mcp_hub *h, struct str name);

/* ---- prompts and resources ---- */

struct mcp_prompt {  /* strings in an arena */
    struct str name; /* mcp__SERVER__PROMPT */
    struct str server, remote, about;
    struct str *args;
    size_t n_args, n_needed; /* so many of the first must be given */
};
/* Those of the servers that run.  False only with ERR_CANCELED. */
bool mcp_hub_prompts_await(struct mcp_hub *h, struct arena *a, struct mcp_prompt **ret,
                           size_t *ret_n, struct error *err);
/* The text of one; words: its arguments, in order.  ERR_NOT_FOUND, ERR_INVALID. */
bool mcp_hub_prompt_await(struct mcp_hub *h, struct str name, struct str words, struct buf *ret,
                          struct error *err);
bool mcp_hub_resource_await(struct mcp_hub *h, struct str server, struct str uri, bool is_blind,
                            struct tool_result *ret, struct error *err);
/* Appends the resources that a text names as @SERVER:URI. */
void mcp_hub_mentions_await(struct mcp_hub *h, struct str text, struct buf *out);
/* Whether it may name one. */
bool mcp_has_mention(struct str text);

/* ---- for people ---- */

struct mcp_status {
    const struct mcp_config *config;
    const char *state;  /* "idle", "starting", "ready", "down", "failed", "off" */
    struct str trouble; /* why it is not ready, or STR_NONE */
    struct str version; /* of the protocol */
    struct str label;   /* name and version of the server, as it says */
    bool is_modern;
    size_t n_tools;
    size_t n_withheld; /* tools that differ from what was approved */
};
/* Approves what a server says of its tools now (mcp/pins.h). */
bool mcp_hub_accept_await(struct mcp_hub *h, size_t server, struct error *err);
size_t mcp_hub_count(const struct mcp_hub *h);
struct mcp_status mcp_hub_status(const struct mcp_hub *h, size_t i);
/* A tool by its place, for lists; NULL behind the last. */
struct mcp_tool_info {
    const struct tool *tool;
    struct str remote;  /* its name at the server */
    struct str dialect; /* $schema, which the tool's schema lacks, or STR_NONE */
    bool is_withheld;
};
bool mcp_hub_tool(const struct mcp_hub *h, size_t server, size_t i, struct mcp_tool_info *ret);
/* The server and the tool's own name behind a name for the model. */
bool mcp_hub_origin(struct mcp_hub *h, struct str name, struct str *ret_server,
                    struct str *ret_remote);

#endif
