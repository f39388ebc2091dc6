/* SPDX-License-Identifier: MIT */
/* JSON-RPC with one MCP server, over any transport: requests that fibers wait for, notifications,
 * answers to what the server asks.
 *
 *     fiber -- link_request_await --> transport --> server
 *     fiber <-- its answer, by id --- link_take <-- server
 *
 * Requests may overlap; answers are matched by id.  An answer that nothing waits for (canceled,
 * timed out, invented) is ignored.
 */
#ifndef TRIVET_MCP_LINK_H
#define TRIVET_MCP_LINK_H

#include "base/json.h"
#include "loop/fiber.h"

/* How the protocol is spoken: with an `initialize` handshake (up to 2025-11-25), or without one and
 * with the version in every request (2026-07-28). */
enum mcp_era { ERA_UNKNOWN, ERA_LEGACY, ERA_MODERN };

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LEGACY_VERSION "2025-11-25"

/* A message on its way out. */
struct mcp_outgoing {
    struct str text; /* the JSON object */
    struct str method;
    struct str name;    /* params.name or params.uri, or STR_NONE */
    struct str headers; /* HTTP: {"Header": "value"} of arguments that headers repeat, or empty */
    int64_t id;         /* 0: nothing waits for it */
    bool is_notice;
};

struct link_transport {
    bool (*send)(void *transport, const struct mcp_outgoing *m, struct error *err);
    /* The answer to this request is not wanted any more.  True: the server knows by that alone. */
    bool (*drop)(void *transport, int64_t id);
    /* Begins to end the connection; link_over follows, perhaps at once. */
    void (*close)(void *transport);
    void (*free)(void *transport);
};

struct link;
struct link_hooks {
    /* A notification that is not about a request. */
    void (*on_notice)(void *arg, struct str method, yyjson_val *params);
    void (*on_over)(void *arg); /* the connection has ended; once */
    void *arg;
    struct str root; /* workspace, for roots/list; STR_NONE: no roots */
    struct str name; /* of the server, for the log */
};

struct link *link_new(struct loop *l, const struct link_hooks *hooks);
void link_attach(struct link *k, const struct link_transport *t, void *transport);
void *link_transport(const struct link *k);
void link_set_era(struct link *k, enum mcp_era era, struct str version);
enum mcp_era link_era(const struct link *k);
struct str link_version(const struct link *k);
/* Ends it at once; requests that wait fail. */
void link_free(struct link *k);
void link_close(struct link *k);
bool link_is_over(const struct link *k);
/* Why it has ended. */
const struct error *link_reason(const struct link *k);

struct mcp_request {
    const char *method;
    struct str members; /* of params, without braces; may be empty */
    struct str name;    /* params.name or params.uri, for HTTP headers */
    struct str headers; /* see struct mcp_outgoing */
    int64_t idle_ms;    /* without answer and progress */
    int64_t most_ms;    /* in all; 0: idle_ms */
    bool is_final;      /* not to be canceled (initialize) */
    bool is_notice;     /* a notification by HTTP: waits until the server has it, ret stays empty */
    void (*on_progress)(void *arg, double progress, double total, struct str message);
    void *arg;
};
/* True: ret->root is the result.  False with ERR_PROVIDER for an error of the server: err->status
 * is its code and ret->root the error object; otherwise ret is untouched.  A request that timed out
 * or was canceled is canceled at the server. */
bool link_request_await(struct link *k, const struct mcp_request *rq, struct json *ret,
                        struct error *err);
bool link_notify(struct link *k, const char *method, struct str members, struct error *err);

/* ---- for transports ---- */

/* A message, or an array of them.  False: it is none; the link has logged that once. */
bool link_take(struct link *k, struct str text);
/* One request failed. */
void link_fail(struct link *k, int64_t id, const struct error *err);
/* The server has this notification. */
void link_done(struct link *k, int64_t id);
/* Whether an answer to it is waited for. */
bool link_waits(const struct link *k, int64_t id);
/* The server sent something for this request that is no message: it is alive. */
void link_touch(struct link *k, int64_t id);
/* The connection has ended: every request fails with this. */
void link_over(struct link *k, const struct error *why);

#endif
