/* SPDX-License-Identifier: MIT */
/* Where servers run: the workspace, the environment, the sandbox of each.
 *
 * A server on this machine runs in a room of its own (loop/room.h), confined like commands that may
 * write in the workspace, or like those of the mode read-only.  Its network is on, unless its
 * settings or TRIVET_SANDBOX=require say otherwise: most servers exist to reach a service.
 */
#ifndef TRIVET_MCP_PLACE_H
#define TRIVET_MCP_PLACE_H

#include "loop/room.h"
#include "mcp/config.h"
#include "net/proxy.h"
#include "sandbox/sandbox.h"

struct mcp_place {
    struct loop *loop;
    char *root;                          /* workspace, real path */
    const char *const *env;              /* of children, already cleaned */
    bool is_open;                        /* the user has switched the sandbox off */
    bool is_required;                    /* and here it must be complete */
    bool is_read_only;                   /* servers cannot write in the workspace */
    const struct sandbox_report *report; /* what the kernel can do; NULL with is_open */
    /* By the policy of the machine: what is left of "on", "off" or hosts; NULL: there is none. */
    void (*limit_net)(struct str wanted, struct buf *out);
};

/* The network of a server: "on", "off" or hosts.  True: it is less than its settings say. */
bool mcp_network(const struct mcp_place *p, const struct mcp_config *c, struct buf *ret);

/* The room of one server. */
struct mcp_room {
    struct room *room;
    struct proxy *proxy;
    struct host_list *hosts;
    struct loop *loop;
};
/* ERR_DENIED where the sandbox is required and the settings want none. */
bool mcp_room_init(struct mcp_room *r, const struct mcp_place *p, const struct mcp_config *c,
                   struct error *err);
void mcp_room_clear(struct mcp_room *r); /* kills all processes in it */

/* $XDG_STATE_HOME/trivet/mcp/NAME.log, where a server's stderr goes. */
void mcp_log_path(struct buf *out, struct str name);

#endif
