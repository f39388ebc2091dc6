/* SPDX-License-Identifier: MIT */
/* The parts of `trivet mcp`. */
#ifndef TRIVET_CLI_MCP_IMPL_H
#define TRIVET_CLI_MCP_IMPL_H

#include "base/json.h"
#include "cli/runner.h"
#include "engine/engine.h"
#include "mcp/hub.h"

struct mcp_args {
    struct str workspace, cwd, scope;
    struct buf env, headers; /* members of JSON objects */
    bool as_json, asks_help, is_project, is_unconfined, is_offline, is_yes, forgets;
    int64_t timeout_ms;
};

struct mcp_command {
    struct runner *r;
    struct mcp_args args;
    int argc; /* words behind the verb */
    char **argv;
    struct str workspace; /* real path */
};

/* mcp.c */
/* The user's servers, and the project's if they are trusted; *ret_untrusted (in the arena) is a
 * project's file that is not. */
bool mcp_collect(struct mcp_command *c, struct mcp_configs *ret, struct str *ret_untrusted,
                 struct error *err);
/* y on the terminal, or --yes. */
bool mcp_confirm(struct mcp_command *c, const char *question, struct error *err);

/* Whether the policy of the machine leaves a server less network than its settings say. */
bool mcp_is_limited(const struct mcp_config *s, struct buf *ret_network);

/* mcp_edit.c */
bool mcp_add_await(void *state, struct error *err);
bool mcp_remove_await(void *state, struct error *err);
bool mcp_import_await(void *state, struct error *err);

/* mcp_toml.c: the servers of Codex' settings as the object of mcpServers. */
bool mcp_from_toml(struct str text, struct buf *ret_json, struct error *err);

/* mcp_test.c */
bool mcp_test_await(void *state, struct error *err);
bool mcp_signin_await(void *state, struct error *err);
bool mcp_signout_await(void *state, struct error *err);
bool mcp_trust_await(void *state, struct error *err);

#endif
