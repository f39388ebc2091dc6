/* SPDX-License-Identifier: MIT */
/* HTTP requests with streamed answers.  The work is done by libcurl in the module `net`
 * (src/net/curl.c, built into trivet-net.so); this header is the core's interface to it.
 */
#ifndef TRIVET_NET_HTTP_H
#define TRIVET_NET_HTTP_H

#include "loop/loop.h"

struct http_header {
    struct str name, value;
};

struct http_request {
    const char *method; /* "GET", "POST" */
    struct str url;
    const struct http_header *headers;
    size_t n_headers;
    struct str body;            /* must live until the end of the request */
    int64_t connect_timeout_ms; /* 0: 30 s */
    bool is_public;             /* refuses to connect to a private address (address.h); a proxy from
                                 * the environment is trusted to do so */
    void (*on_status)(void *arg, int status, struct str content_type); /* before the first byte */
    void (*on_header)(void *arg, struct str name, struct str value);   /* may be NULL */
    void (*on_body)(void *arg, struct str bytes);
    /* Once, last: err is NULL when the transfer was complete.  The request is freed afterwards. */
    void (*on_end)(void *arg, const struct error *err);
    void *arg;
};

struct http;
/* Starts a request; opens the module if needed.  No callback runs before this returns. */
struct http *http_start(struct loop *l, const struct http_request *rq, struct error *err);
void http_pause(struct http *h, bool paused); /* stops reading from the peer: back-pressure */
/* Closes the connection so that the server notices; no callback follows. */
void http_cancel(struct http *h);
/* Drops the rest of the answer: no callback follows.  The connection is kept for the next request
 * if the answer ends within a second, and closed otherwise.  For a stream whose end marker was
 * received. */
void http_leave(struct http *h);
/* Closes idle connections and those left open by http_leave; call it before loop_free. */
void http_close(struct loop *l);
/* Opens the module in the background, so that the first request need not wait for it. */
void http_warm_up(struct loop *l);
/* Answers come from recordings (TRIVET_REPLAY): no server is contacted, and no key is needed. */
bool http_is_replay(void);

/* Function table of trivet-net.so. */
struct net_api {
    struct http *(*start)(struct loop *l, const struct http_request *rq, struct error *err);
    void (*pause)(struct http *h, bool paused);
    void (*cancel)(struct http *h);
    void (*leave)(struct http *h);
    void (*close)(struct loop *l);
};

#endif
