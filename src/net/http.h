/* SPDX-License-Identifier: MIT */
/* HTTP requests with streamed answers.  The work is done by libcurl in the module `net`
 * (src/net/curl.c, built into trivet-net.so); this header is what the core sees.
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
    bool is_public;             /* refuses to connect to a private address (address.h); a proxy
                                 * from the environment connects for us and is trusted in this */
    void (*on_status)(void *arg, int status, struct str content_type); /* before the first byte */
    void (*on_header)(void *arg, struct str name, struct str value);   /* may be NULL */
    void (*on_body)(void *arg, struct str bytes);
    /* Once, last: err is NULL when the transfer was complete.  The request is gone afterwards. */
    void (*on_end)(void *arg, const struct error *err);
    void *arg;
};

struct http;
/* Starts; the module is opened if it is not yet.  No callback runs before this returns. */
struct http *http_start(struct loop *l, const struct http_request *rq, struct error *err);
void http_pause(struct http *h, bool paused); /* stops reading from the peer: back-pressure */
/* Closes the connection so that the server notices; no callback follows. */
void http_cancel(struct http *h);
/* Nothing more is wanted of the answer: no callback follows.  The connection is kept for the next
 * request if the peer ends the answer within moments, and closed otherwise.  For a stream whose own
 * end marker was seen. */
void http_leave(struct http *h);
/* Closes idle connections and what http_leave left open; before loop_free. */
void http_close(struct loop *l);
/* Opens the module in the background, so that the first request need not wait for it. */
void http_warm_up(struct loop *l);
/* Answers come from recordings (TRIVET_REPLAY): nobody is asked, and no key is needed. */
bool http_is_replay(void);

/* What trivet-net.so gives. */
struct net_api {
    struct http *(*start)(struct loop *l, const struct http_request *rq, struct error *err);
    void (*pause)(struct http *h, bool paused);
    void (*cancel)(struct http *h);
    void (*leave)(struct http *h);
    void (*close)(struct loop *l);
};

#endif
