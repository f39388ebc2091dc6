/* SPDX-License-Identifier: MIT */
/* One MCP server: started when it is needed, listed, called, ended.
 *
 *     IDLE --> STARTING --> READY --> DOWN --> STARTING (once, after a pause) --> ...
 *                  \------------------------------> FAILED
 *
 * For src/mcp only; the interface for others is mcp/hub.h.
 */
#ifndef TRIVET_MCP_SERVER_H
#define TRIVET_MCP_SERVER_H

#include "base/table.h"
#include "mcp/config.h"
#include "mcp/link.h"
#include "mcp/place.h"
#include "toolsets/toolset.h"

enum server_state { SERVER_IDLE, SERVER_STARTING, SERVER_READY, SERVER_DOWN, SERVER_FAILED };

struct mcp_server;

struct mcp_tool {
    struct tool tool; /* as the model sees it; its self is this struct */
    struct mcp_server *server;
    struct str remote;  /* its name at the server */
    struct str dialect; /* $schema of its schema, which models are not given, or STR_NONE */
    struct str headers; /* members of the arguments that HTTP headers repeat: {"member":"Header"} */
    char digest[65];    /* of name, description and schema */
    bool is_withheld;   /* it differs from what was approved: the model does not get it */
};

/* A list as the server gave it.  Calls may hold tools of an older one. */
struct tool_list {
    struct tool_list *older;
    struct arena arena;
    struct mcp_tool *v;
    size_t n;
    char digest[65];
};

struct mcp_hub;

struct mcp_server {
    struct mcp_hub *hub;
    const struct mcp_config *config;
    char *prefix; /* of the names of its tools: mcp__NAME__ */
    enum server_state state;
    struct error why; /* of DOWN and FAILED */
    struct link *link;
    enum mcp_era known_era; /* what it spoke before, or what it does not survive */
    bool has_tools, has_resources, has_prompts;
    struct tool_list *tools; /* the newest */
    unsigned n_lists;
    unsigned n_restarts;
    int64_t busy_us;   /* when its start or its listing began */
    int64_t ready_us;  /* since when */
    int64_t listed_us; /* when its tools were listed last */
    bool is_stale;     /* its list has changed */
    bool is_listing;
    bool is_ending;
    struct fiber *fiber; /* that starts it or lists its tools */
    struct buf label;    /* "name version" as the server says */
};

/* server.c */
void server_start(struct mcp_server *s); /* unless it runs or cannot */
void server_relist(struct mcp_server *s);
void server_set(struct mcp_server *s, enum server_state state);
int64_t server_start_ms(const struct mcp_server *s);
/* Waits until it is ready; one that has ended is started again, once.  ERR_IO and others say why it
 * cannot be used. */
bool server_ready_await(struct mcp_server *s, struct error *err);
void server_free(struct mcp_server *s); /* no fiber of it may run */

/* open.c: connects and agrees on the version. */
bool server_open_await(struct mcp_server *s, struct error *err);

/* A request; once more with a new session when the server has forgotten the old one. */
bool server_request_await(struct mcp_server *s, const struct mcp_request *rq, struct json *ret,
                          struct error *err);

/* list.c */
bool server_list_await(struct mcp_server *s, struct error *err);
void tool_list_free(struct tool_list *l);
/* Calls a paged list method and gives each page; stops at the limit of pages. */
typedef void page_fn(void *arg, yyjson_val *result);
bool server_pages_await(struct mcp_server *s, const char *method, page_fn *fn, void *arg,
                        struct error *err);

/* call.c */
bool tool_run_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                    struct error *err);
/* A request that a modern server may answer with questions: they are declined. */
bool server_ask_await(struct mcp_server *s, const struct mcp_request *rq, struct json *ret,
                      struct error *err);

/* result.c: the result of a call as text and picture for the model. */
void result_put(yyjson_val *result, bool is_blind, struct tool_result *ret);
/* One item of content, or of resources/read, as text. */
void result_put_item(yyjson_val *item, bool is_blind, struct tool_result *ret);

/* names.c */
char *name_prefix(struct str server, struct mcp_server *const *others, size_t n);
struct str name_tool(struct arena *a, const char *prefix, struct str tool,
                     const struct table *taken);
void hex_digest(struct str bytes, char out[65]);

#endif
