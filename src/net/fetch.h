/* SPDX-License-Identifier: MIT */
/* A whole HTTP exchange for stories: request out, status and body back. */
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
    int64_t timeout_ms; /* of the whole; 0: 30 s */
    /* How long a canceled exchange may still take to end, and then counts as completed: for
     * requests whose answer must not be lost, such as a token that is used up by asking.  0: none.
     */
    int64_t grace_ms;
    bool is_public; /* as in struct http_request */
};

struct fetched {
    int status;
    struct buf body;
    struct buf content_type;
    struct buf location; /* where a redirect points to */
};
#define FETCHED_INIT ((struct fetched){0})
void fetched_clear(struct fetched *f);

/* True for any status.  ERR_NETWORK, ERR_CUT, ERR_TIMEOUT, ERR_LIMIT, ERR_CANCELED, ERR_MODULE. */
bool fetch_await(struct loop *l, const struct fetch *what, struct fetched *ret, struct error *err);

#endif
