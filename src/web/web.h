/* SPDX-License-Identifier: MIT */
/* The HTTP/1.1 and WebSocket server of the daemon.  This header is all that its user includes.
 *
 * The server is the module trivet-web.so; requests and their answers (request.c) and tokens
 * (token.c) are in the core.  How the daemon uses it:
 *
 *     const struct web_api *api = web_open_module(&err);              // NULL: not installed
 *     struct web_settings s = {.listen = "127.0.0.1:8080", .open_paths = paths, .has_page = true,
 *                              .on_request = handle_fiber, .identify = identify,
 *                              .login_await = login_await, .arg = daemon};
 *     struct web *w = api->open(loop, &s, &err);                      // api->address(w): for links
 *     ...
 *     api->recheck(w);                 // tokens were revoked or rotated
 *     api->stop(w, on_stopped, arg);   // the last step of a shutdown: WebSockets close with 1012
 *     api->free(w);
 *
 * What the server does before on_request is called: reads the head strictly; checks limits, Host
 * (421), Origin and Sec-Fetch-Site (403), the method (405), the type of the body (415), the token
 * (401, after 10 failures of an address in a minute 429); reads the body.  It serves the page
 * itself (GET /, /app.js, /app.css) and POST /v1/login.  Every refusal is a problem document
 * (RFC 9457) with a member `code`, and closes the connection.
 *
 * on_request runs as a fiber per request; a connection has one at a time.  It answers with exactly
 * one of web_reply, web_problem, web_stream, web_events, web_upgrade.  A fiber that returns without
 * an answer gives a 500.  The fiber is not canceled when the client goes away; the answer is then
 * dropped.
 *
 *     static void handle_fiber(void *arg, struct web_request *rq)
 *     {
 *         struct daemon *d = arg;
 *         if (rq->wants_upgrade && str_is(rq->path, "/v1/ws")) {
 *             struct transport *t = web_upgrade(rq);
 *             client->rpc = rpc_over(d->loop, t, &dialect, client);  // or conn_over
 *             return;                                                // the transport lives on
 *         }
 *         if (!web_may(&rq->who, WEB_CONTROL, session))
 *             web_problem(rq, 403, "forbidden", "this token may only watch");
 *         ...
 *     }
 *
 * A WebSocket (web_upgrade) and an event stream (web_events) are transports for conn_over, with its
 * on_full, on_room, on_broken and on_eof; what is sent on them is one text message each, or the
 * bytes that web_event_put made.  conn_close(c, WEB_CLOSE_TAKEN_OVER, "reason") ends them in order.
 * The end of the client, of the server, or of the token is on_eof or on_broken; the connection is
 * then freed by its owner.
 */
#ifndef TRIVET_WEB_WEB_H
#define TRIVET_WEB_WEB_H

#include "base/arena.h"
#include "base/buf.h"
#include "loop/loop.h"
#include "web/token.h"
#include "wire/transport.h"

/* ---- requests ---- */

struct web_header {
    struct str name, value;
};

struct web_request;

struct web_request_ops { /* of the server; tests of handlers have their own */
    /* Takes the body over. */
    void (*reply)(struct web_request *rq, int status, const char *type, struct buf *body);
    struct transport *(*stream)(struct web_request *rq, const char *type, bool has_comments);
    struct transport *(*upgrade)(struct web_request *rq);
};

struct web_request { /* everything is valid until on_request returns */
    const struct web_request_ops *ops;
    struct str method, path; /* path begins with "/"; no empty, "." or ".." segments */
    struct str query;        /* without "?"; empty: none */
    const struct web_header *headers;
    size_t n_headers;
    struct str body;         /* application/json; empty: none */
    struct web_identity who; /* of a path in open_paths without a token: WEB_WATCH, id "" */
    bool is_known;           /* a token was given, or `greet` knows the peer */
    bool wants_upgrade;      /* a valid WebSocket handshake */
    const char *peer;        /* its address, for logs */
    struct arena arena;      /* for the handler */
    struct buf extra;        /* headers of the answer, by web_say */
    bool is_answered;
};

/* The value of a header (its first, if it is repeated); STR_NONE when there is none. */
struct str web_header(const struct web_request *rq, const char *name);
/* A decoded parameter of the query, in the arena: "+" is a space.  STR_NONE when there is none. */
struct str web_query(struct web_request *rq, const char *name);
/* Appends text with %XX decoded; false when that is incomplete or gives a NUL. */
bool web_decode(struct buf *out, struct str text);

/* ---- answers ---- */

/* Adds a header to the answer; before answering.  Characters that would end the line are left
 * out. */
void web_say(struct web_request *rq, const char *name, struct str value);
/* A whole answer.  Takes the body over; NULL: none.  type NULL: application/json. */
void web_reply(struct web_request *rq, int status, const char *type, struct buf *body);
/* {"type":"about:blank","title":...,"status":...,"code":CODE,"detail":...} */
void web_problem(struct web_request *rq, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void web_problem_put(struct buf *out, int status, const char *code, struct str detail);
/* The usual words of a status: "Not Found". */
const char *web_status_words(int status);

/* A 200 answer of unknown length: each message of the transport is sent as it is.  NULL when the
 * request is a HEAD: it was answered.  The connection is closed at the end. */
struct transport *web_stream(struct web_request *rq, const char *type);
/* The same for server-sent events, with a comment every 15 seconds. */
struct transport *web_events(struct web_request *rq);
/* Appends an event; id and event may be NULL.  Lines of data become lines `data:`. */
void web_event_put(struct buf *out, const char *id, const char *event, struct str data);
/* Completes the handshake (wants_upgrade), with the protocol trivet.v1. */
struct transport *web_upgrade(struct web_request *rq);

enum { /* codes for conn_close */
       WEB_CLOSE_DONE = 1000,
       WEB_CLOSE_TOO_BIG = 1009,
       WEB_CLOSE_RESTART = 1012,
       WEB_CLOSE_OVERLOADED = 1013,
       WEB_CLOSE_TOKEN = 4001,
       WEB_CLOSE_SESSION = 4004,
       WEB_CLOSE_TAKEN_OVER = 4009,
};

/* ---- the server ---- */

enum web_reason { /* why a request was refused */
                  WEB_BAD_SYNTAX,
                  WEB_BAD_HOST,
                  WEB_BAD_ORIGIN,
                  WEB_BAD_TOKEN,
                  WEB_TOO_OFTEN, /* 429 */
                  WEB_TOO_MUCH,  /* a size */
                  WEB_TOO_SLOW,
                  WEB_OVERLOADED,
                  WEB_UNWANTED, /* method, type of the body, unknown Expect */
                  WEB_N_REASONS,
};
extern const char *const web_reason_names[]; /* "syntax", "host", ... */

struct web_counts {
    unsigned connections, websockets, streams, strangers; /* now */
    uint64_t accepted, requests, refused[WEB_N_REASONS];  /* since the start */
};

struct web_times { /* milliseconds; 0: the usual ones (base/limits.h) */
    int64_t head, body, idle, stall, ping, silence, comment, leave;
};

struct web_settings {   /* open_paths and arg must outlive the server, the other strings need not */
    const char *listen; /* "127.0.0.1:8080", "[::1]:0" (0: any free port), "localhost:80" */
    int fd;             /* a listening socket instead of `listen`, taken over; 0: none */
    const char *public_host; /* name (and port, if not 443) under which a proxy with TLS serves
                              * it; NULL: none.  Needed for any address that is not loopback. */
    bool has_tokens;         /* at least one token exists; the same */
    bool has_page;           /* GET /, /app.js and /app.css are served */
    const char *const *open_paths; /* need no token, for GET and HEAD; NULL-ended; NULL: none */
    size_t body_bytes;             /* 0: LIMIT_WEB_BODY_BYTES */
    unsigned max_connections;      /* 0: LIMIT_WEB_CONNECTIONS */
    struct web_times times;
    void *arg;
    void (*on_request)(void *arg, struct web_request *rq); /* a fiber */
    /* Whose token has this SHA-256; also asked every few seconds while a WebSocket or a stream is
     * open, which is closed (4001) when it returns false. */
    bool (*identify)(void *arg, const unsigned char hash[SHA256_LEN], struct web_identity *ret);
    /* Exchanges a login code for a new token.  ERR_AUTH when there is no such code.  NULL: POST
     * /v1/login is not served. */
    bool (*login_await)(void *arg, struct str code, char ret_token[TOKEN_LEN + 1],
                        struct web_identity *ret, struct error *err);
    /* For a Unix socket: who the peer of this connection is; false closes it.  Requests then need
     * no token, any Host is fine and an Origin is refused.  NULL: tokens are needed. */
    bool (*greet)(void *arg, int fd, struct web_identity *ret);
};

struct web;

struct web_api { /* the table of the module */
    /* Starts to listen.  ERR_DENIED for an address that other machines reach, without public_host
     * and a token; ERR_BUSY when the port is taken. */
    struct web *(*open)(struct loop *l, const struct web_settings *s, struct error *err);
    const char *(*address)(const struct web *w); /* "127.0.0.1:8080", with the real port */
    void (*recheck)(struct web *w);              /* asks `identify` for all open connections now */
    void (*counts)(const struct web *w, struct web_counts *ret);
    /* Closes the port and idle connections, lets running requests end, ends streams, closes
     * WebSockets with 1012; calls done once when the last connection has gone, at the latest after
     * a few seconds.  Requests that a handler does not answer are waited for. */
    void (*stop)(struct web *w, loop_fn *done, void *arg);
    /* Closes everything at once.  No request may be running; transports that are still held are
     * broken. */
    void (*free)(struct web *w);
};

/* Opens the module.  NULL with ERR_MODULE when it is not installed. */
const struct web_api *web_open_module(struct error *err);

#endif
