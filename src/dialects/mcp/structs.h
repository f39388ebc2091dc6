/* SPDX-License-Identifier: MIT */
/* The parts of the MCP server.
 *
 *     serve.c   start and end, envelope, initialize, server/discover, ping, cancel
 *     tools.c   tools/list, tools/call, results
 *     run.c     the tool run_prompt: a session, a turn, its answer
 *     saved.c   the tools list_sessions and read_session
 */
#ifndef TRIVET_DIALECTS_MCP_STRUCTS_H
#define TRIVET_DIALECTS_MCP_STRUCTS_H

#include "dialects/mcp/mcp.h"
#include "dialects/profile.h"
#include "engine/session.h"
#include "wire/rpc.h"

struct mcp_options {
    struct str model;
    const struct run_mode *mode;
    bool network, asks_help;
};

/* Settings of the sessions of a workspace, which must outlive them: kept until the process ends. */
struct served_place {
    struct served_place *next;
    char *workspace;
    struct rules rules;
    struct session_settings running, reading;
};

struct mcp_peer {
    struct server *sv;
    struct served_place *places;
    struct rpc *rpc;
    struct mcp_options options;
    struct str workspace; /* real path of the start directory, in the arena */
    struct arena arena;
    bool is_ending;
    int exit_code;
};

/* A call of a tool. */
struct served {
    struct mcp_peer *peer;
    struct request *rq;
    const void *args;      /* decoded */
    yyjson_val *progress;  /* its token, or NULL */
    struct buf text;       /* the result */
    struct buf structured; /* a JSON object, or empty */
    bool is_error;
};

struct served_tool {
    const char *name, *about;
    const struct row *rows;
    size_t args_size;
    bool (*run_await)(struct served *c, struct error *err);
    bool only_looks;
};
extern const struct served_tool served_run_prompt, served_list_sessions, served_read_session;

/* run.c: the settings of a workspace. */
struct served_place *served_place(struct mcp_peer *p, struct str workspace, struct error *err);
void served_places_free(struct mcp_peer *p);

extern const struct method served_tools_list, served_tools_call;
/* Whether the request is of the newest protocol; false with -32022 when of one not known. */
bool served_check(struct request *rq, bool *ret_is_modern, struct error *err);
/* The real path of a directory at or below the start directory, in the arena of the request. */
bool served_workspace(struct served *c, struct str path, struct str *ret, struct error *err);

#endif
