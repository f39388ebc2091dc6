/* SPDX-License-Identifier: MIT */
/* What the parts of src/mcp ask of the hub. */
#ifndef TRIVET_MCP_HUB_IMPL_H
#define TRIVET_MCP_HUB_IMPL_H

#include "mcp/hub.h"
#include "mcp/server.h"

struct hub_wait {
    struct hub_wait *next;
    struct wait wait;
};

struct mcp_hub {
    struct mcp_place place;
    struct mcp_configs configs;
    struct mcp_server **servers;
    size_t n;
    struct hub_wait *waits;
    unsigned n_held;               /* calls that run */
    struct tool resource_tools[2]; /* resources.c */
};

void hub_changed(struct mcp_hub *h); /* wakes all that wait */
/* Waits for the next change of any server. */
bool hub_wait_await(struct mcp_hub *h, int64_t ms, struct error *err);
/* Between these the hub does not go away. */
void hub_hold(struct mcp_hub *h);
void hub_release(struct mcp_hub *h);

/* resources.c */
void resources_init(struct mcp_hub *h);
bool resources_are_there(const struct mcp_hub *h);

#endif
