/* SPDX-License-Identifier: MIT */
/* A client of a NATS cluster on the loop: one connection at a time, no threads.
 *
 * It connects to one of the servers it knows (those of the URL list, and those that these name),
 * and to another one when the connection is lost; subscriptions are made again.  A request whose
 * answer was on its way then ends with ERR_CUT: whether the server did it is unknown.  A server
 * that is too old, or refuses the credentials, is not tried again at once, and the first such
 * refusal is told to those who wait for the connection.
 *
 * What a callback gets is borrowed until it returns or frees the client.
 */
#ifndef TRIVET_CLUSTER_NATS_H
#define TRIVET_CLUSTER_NATS_H

#include "cluster/proto.h"
#include "cluster/tls.h"
#include "loop/fiber.h"

struct nats;

struct nats_settings {
    struct str urls;        /* nats://host:port or tls://..., separated by commas */
    struct str creds;       /* path of a credentials file or of an nkey seed; STR_NONE: none */
    struct tls_files tls;   /* tls:// in a URL, or what the server demands, switches TLS on */
    struct str name;        /* of this client, shown by the server */
    struct str min_version; /* older servers are refused; STR_NONE: any */
};

/* Called when the connection was made (err NULL) and when it was lost or could not be made. */
typedef void nats_state_fn(void *arg, const struct error *err);

/* Begins to connect.  ERR_INVALID: a URL or a file cannot be used.  on_state may be NULL. */
struct nats *nats_new(struct loop *l, const struct nats_settings *s, nats_state_fn *on_state,
                      void *arg, struct error *err);
/* Closes; requests that wait are forgotten without a call.  NULL is fine. */
void nats_free(struct nats *n);
bool nats_is_ready(const struct nats *n);
/* Waits for the connection: ERR_TIMEOUT with the last reason, ERR_AUTH, ERR_DENIED (too old). */
bool nats_ready_await(struct nats *n, int64_t ms, struct error *err);
/* The connection is given up and made again, to another server if there is one. */
void nats_move(struct nats *n);

struct nats_server {
    struct str version, name, cluster, host; /* borrowed until the next connection */
    int64_t max_payload;
    bool has_jetstream;
};
struct nats_server nats_server(const struct nats *n); /* zeroed when not connected */

/* Whether version a ("2.10.23", "2.12.0-RC.1") is at least b. */
bool nats_version_at_least(struct str a, struct str b);

struct nats_msg {
    struct str subject, reply, head, body;
};

/* ---- sending ---- */

/* head is a block of headers or STR_NONE.  ERR_NETWORK: not connected, nothing was sent; ERR_LIMIT:
 * larger than the server takes, or too much is queued (LIMIT_NATS_QUEUE_BYTES). */
bool nats_publish(struct nats *n, struct str subject, struct str reply, struct str head,
                  struct str body, struct error *err);

/* ---- receiving ---- */

struct nats_sub;
typedef void nats_msg_fn(void *arg, const struct nats_msg *m);
/* queue: of a group of subscribers each message reaches one; STR_NONE: none. */
struct nats_sub *nats_subscribe(struct nats *n, struct str subject, struct str queue,
                                nats_msg_fn *fn, void *arg);
void nats_unsubscribe(struct nats_sub *s); /* also in its own callback; NULL is fine */

/* ---- requests ---- */

/* m and no err: an answer; true waits for a further one until the time is over.  err and no m, the
 * last call: ERR_TIMEOUT, ERR_CUT (outcome unknown), ERR_NETWORK (not sent), ERR_NOT_FOUND (there
 * is no subscriber), ERR_LIMIT. */
typedef bool nats_reply_fn(void *arg, const struct nats_msg *m, const struct error *err);
struct nats_request {
    struct str subject, head, body; /* head: a block of headers or STR_NONE */
    int64_t timeout_ms;
};
/* An id for nats_forget; 0 when it was refused: then fn was called with the reason, inside. */
uint64_t nats_request(struct nats *n, const struct nats_request *rq, nats_reply_fn *fn, void *arg);
/* fn is not called any more.  An id whose last call came is ignored. */
void nats_forget(struct nats *n, uint64_t id);

struct nats_reply { /* an owned copy of an answer */
    struct buf head, body;
};
#define NATS_REPLY_INIT ((struct nats_reply){.head = BUF_INIT, .body = BUF_INIT})
void nats_reply_clear(struct nats_reply *r);
bool nats_request_await(struct nats *n, const struct nats_request *rq, struct nats_reply *ret,
                        struct error *err);

struct loop *nats_loop(const struct nats *n);

#endif
