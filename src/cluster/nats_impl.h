/* SPDX-License-Identifier: MIT */
/* Inside of the NATS client, for this folder only: the servers (servers.c), the connection
 * (nats.c), subscriptions and requests (calls.c). */
#ifndef TRIVET_CLUSTER_NATS_IMPL_H
#define TRIVET_CLUSTER_NATS_IMPL_H

#include "base/json.h"
#include "cluster/creds.h"
#include "cluster/link.h"
#include "cluster/nats.h"

/* ---- servers.c ---- */

struct known_server {
    char *host;
    int port;
    bool wants_tls;
    char *user, *password; /* user alone: a token; NULL: none */
    bool is_learnt;        /* learnt from another server */
};

struct known_servers {
    struct known_server *list;
    size_t n;
    size_t at; /* the one that is connected or was tried last */
};
void servers_clear(struct known_servers *s);
/* Appends the servers of a comma-separated list.  ERR_INVALID names the part without secrets. */
bool servers_read(struct known_servers *s, struct str urls, struct error *err);
void servers_shuffle(struct known_servers *s);
/* "host:port" that a server told; known ones are left out. */
void servers_learn(struct known_servers *s, struct str address, bool wants_tls);
struct known_server *servers_next(struct known_servers *s);

/* ---- the client ---- */

enum nats_phase {
    PHASE_WAIT,    /* until the next try */
    PHASE_CONNECT, /* until the first line of the server */
    PHASE_SECURE,  /* TLS handshake */
    PHASE_LOGIN,   /* until the answer to CONNECT and PING */
    PHASE_READY,
};

struct nats_call {
    nats_reply_fn *fn; /* NULL: free */
    void *arg;
    uint32_t round; /* how often the slot was used: late answers of an earlier use do not fit */
    int64_t deadline_us;
    size_t next_free;
};

struct nats_sub {
    struct nats *nats;
    struct nats_sub *next, **link; /* of its bucket */
    uint64_t sid;
    char *subject, *queue;
    nats_msg_fn *fn;
    void *arg;
};

struct ready_wait { /* a fiber in nats_ready_await */
    struct wait wait;
    struct ready_wait *next;
};

enum { INBOX_SID = 1, SUB_BUCKETS = 256 };

struct nats {
    struct loop *loop;
    nats_state_fn *on_state;
    void *arg;
    struct tls_files tls; /* owned texts */
    char *name, *min_version;
    struct creds creds;
    struct known_servers servers;
    enum nats_phase phase;
    struct nats_link *link;
    struct nats_parser parser;
    struct json info;    /* of the connection */
    struct timer *timer; /* of the phase: next try, log in, next ping */
    unsigned n_failures; /* tries in a row */
    unsigned n_pings;    /* sent without an answer */
    struct error why;    /* of the last failure */
    bool is_refused;     /* it was a refusal that a further try will not change */
    struct ready_wait *waits;
    unsigned depth; /* callbacks that run */
    bool is_dead;   /* nats_free was called in one of them; freed when the last returns */
    /* calls.c */
    struct nats_sub *subs[SUB_BUCKETS]; /* by sid */
    uint64_t last_sid;
    char inbox[40]; /* "_INBOX.<random>." */
    struct nats_call *calls;
    size_t n_calls; /* slots */
    size_t first_free;
    size_t n_waiting;
    struct timer *calls_timer;
    int64_t calls_timer_us; /* when it fires; 0: it does not run */
};

/* Around callbacks.  The second is false when the client was freed: it must not be used then. */
void nats_enter(struct nats *n);
bool nats_leave(struct nats *n);

/* calls.c */
void calls_init(struct nats *n);
void calls_clear(struct nats *n);
/* Sends all subscriptions; the connection is new. */
void calls_resubscribe(struct nats *n);
/* The connection was lost: requests that were sent end with ERR_CUT. */
void calls_cut(struct nats *n, const struct error *why);
/* The client may be freed inside. */
void calls_deliver(struct nats *n, const struct nats_op *op);

#endif
