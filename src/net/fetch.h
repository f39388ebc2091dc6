/* SPDX-License-Identifier: MIT */
/* A complete HTTP exchange for fibers: sends a request, returns status and body. */
#ifndef TRIVET_NET_FETCH_H
#define TRIVET_NET_FETCH_H

#include "base/arena.h"
#include "base/buf.h"
#include "loop/fiber.h"
#include "net/http.h"

struct fetch {
    const char *method; /* "GET", "POST" */
    struct str url;
    const struct http_header *headers;
    size_t n_headers;
    struct str body;
    size_t max_bytes;   /* of the answer; 0: 1 MiB */
    int64_t timeout_ms; /* of the whole exchange; 0: 30 s */
    /* How long to wait for the end of a canceled exchange, which then counts as completed: for
     * requests whose answer must not be lost, such as a refresh of single-use tokens. 0: none.
     */
    int64_t grace_ms;
    bool is_public; /* as in struct http_request */
};

struct fetched {
    int status;
    struct buf body;
    struct buf content_type;
    struct buf location; /* target of a redirect */
};
#define FETCHED_INIT ((struct fetched){0})
void fetched_clear(struct fetched *f);

/* True for any status.  ERR_NETWORK, ERR_CUT, ERR_TIMEOUT, ERR_LIMIT, ERR_CANCELED, ERR_MODULE. */
bool fetch_await(struct loop *l, const struct fetch *what, struct fetched *ret, struct error *err);

#endif
