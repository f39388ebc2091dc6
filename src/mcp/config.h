/* SPDX-License-Identifier: MIT */
/* Which MCP servers there are.  The form that most clients share:
 *
 *     {"mcpServers": {
 *        "files": {"command": "npx", "args": ["-y", "some-server"], "env": {"TOKEN": "${TOKEN}"}},
 *        "docs": {"url": "https://docs.example.com/mcp", "headers": {"Authorization": "..."}}}}
 *
 * and the list that a client may give with a session:
 *
 *     [{"name": "files", "command": "/bin/x", "args": [], "env": [{"name": "A", "value": "b"}]}]
 *
 * An entry that cannot be used is kept with the reason (trouble): it starts nothing and does not
 * stop the others.
 */
#ifndef TRIVET_MCP_CONFIG_H
#define TRIVET_MCP_CONFIG_H

#include "base/json.h"

enum mcp_transport { MCP_STDIO, MCP_HTTP };
enum mcp_origin { MCP_OF_USER, MCP_OF_PROJECT, MCP_OF_CLIENT };
enum mcp_network { MCP_NET_USUAL, MCP_NET_ON, MCP_NET_OFF, MCP_NET_HOSTS };

struct mcp_pair {
    struct str name, value;
};

struct mcp_config {
    struct str name;
    enum mcp_transport transport;
    const char *const *argv; /* NULL-ended; argv[0] is the command */
    struct mcp_pair *env, *headers;
    size_t n_env, n_headers;
    struct str dir; /* of its own, where ${TRIVET_SERVER_DIR} stands in its settings, or STR_NONE */
    struct str cwd; /* below the workspace unless absolute; STR_NONE: the workspace */
    struct str url;
    struct str client_id, client_secret, scope; /* `oauth`: for the sign-in, or STR_NONE */
    int64_t call_ms, start_ms;                  /* time limits; 0: the usual ones */
    bool is_off;                                /* `disabled`, or `enabled` is false */
    bool is_unconfined;                         /* `sandbox` is false: it runs outside */
    enum mcp_network network;
    struct str hosts;        /* with MCP_NET_HOSTS: separated by commas */
    const struct str *tools; /* the only ones that are offered; n_tools 0: all */
    size_t n_tools;
    enum mcp_origin origin;
    struct str file;    /* that names it, or STR_NONE */
    struct str trouble; /* why it cannot be used, or STR_NONE */
    char mark[65]; /* hex digest of what it starts or reaches: the same server, the same mark */
};

struct mcp_configs {
    struct arena arena;
    struct mcp_config *v;
    size_t n, capacity;
};
#define MCP_CONFIGS_INIT ((struct mcp_configs){0})
void mcp_configs_clear(struct mcp_configs *c);

/* Adds the servers of an object or a list, as above; one of the same name is replaced.  `servers`
 * is the value of mcpServers. */
void mcp_configs_add(struct mcp_configs *c, yyjson_val *servers, enum mcp_origin origin,
                     struct str file);
const struct mcp_config *mcp_configs_find(const struct mcp_configs *c, struct str name);
#define MCP_NAME_RULE                                                                              \
    "the name of a server has 1 to 64 of a-z A-Z 0-9 _ . -, with a letter, digit or - before and " \
    "after each _ and ."
bool mcp_name_is_fine(struct str name);

#endif
