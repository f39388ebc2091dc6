/* SPDX-License-Identifier: MIT */
/* Internals of the HTTP server, for src/web only.
 *
 *     server.c  the port, accepting, stopping      client.c  a connection: requests one by one
 *     judge.c   who may do what                    answer.c  heads of answers, the page
 *     stream.c  answers without an end             socket.c  WebSockets
 *
 * States of a connection:
 *
 *     READING --> BODY --> RUNNING --> DRAINING --> READING ...
 *                             |                        \--> LEAVING --> CLOSED
 *                             +--> STREAMING --------------/
 *                             +--> WEBSOCKET -------------/
 */
#ifndef TRIVET_WEB_IMPL_H
#define TRIVET_WEB_IMPL_H

#include "loop/io.h"
#include "web/body.h"
#include "web/frames.h"
#include "web/guard.h"
#include "web/peers.h"
#include "web/port.h"

#include <netinet/in.h>
#include <sys/queue.h>

enum client_state {
    CLIENT_READING,   /* waits for a head, or has a part of it */
    CLIENT_BODY,      /* the head is accepted */
    CLIENT_RUNNING,   /* a fiber has the request */
    CLIENT_DRAINING,  /* the answer is being written */
    CLIENT_STREAMING, /* an answer without an end */
    CLIENT_WEBSOCKET,
    CLIENT_LEAVING, /* the last bytes are written; input is discarded until the client closes, since
                     * closing with unread bytes would reset the connection and lose the answer */
    CLIENT_CLOSED,
};

struct exchange { /* a request while it runs */
    struct web_request rq;
    struct client *c;
    bool is_head;
    bool is_login;
};

struct client {
    TAILQ_ENTRY(client) link;
    struct web *web; /* NULL when it is closed */
    struct loop *l;
    unsigned n_refs; /* the connection, its request, its transport, running functions */
    enum client_state state;
    int fd; /* of reader and writer */
    struct reader *reader;
    struct writer *writer;
    struct timer *timer;
    struct peer_key key;
    char peer[INET6_ADDRSTRLEN];
    struct head head;
    struct body body;
    struct buf rest; /* received behind the running request */
    struct web_identity who;
    unsigned char hash[SHA256_LEN]; /* of its last token */
    bool has_hash;
    int64_t since_us; /* when it was accepted */
    bool is_known;    /* has shown a token: in web->known, else in web->strangers */
    bool is_feeding;  /* inside client_feed */
    bool is_paused;   /* the reader, while a request runs */
    bool has_eof;
    bool closes;      /* after the next answer */
    bool is_shut;     /* LEAVING: writing has ended */
    uint64_t written; /* at the last look of the timer */
    /* STREAMING and WEBSOCKET: */
    struct transport transport;
    struct ready *telling; /* pending report of the end */
    bool is_held;          /* the transport was given out and not freed */
    bool is_told;          /* the end was reported */
    bool is_closing;       /* the end was sent */
    bool is_silenced;      /* WEBSOCKET: input is paused by the connection */
    bool is_stream;        /* counted as one */
    bool has_comments;     /* of an event stream */
    struct frames *frames; /* of a WebSocket */
    int64_t heard_us;      /* WEBSOCKET: when the last bytes came */
    int64_t moved_us;      /* when bytes were last seen to be written */
};

TAILQ_HEAD(client_list, client);

struct web {
    struct loop *l;
    struct web_settings s;
    struct web_times times; /* without zeros */
    struct guard guard;
    struct peers peers;
    struct web_counts counts;
    int fd; /* -1: closed */
    struct watch *watch;
    struct timer *rest; /* until accepting again when descriptors ran out */
    struct port port;
    struct client_list known, strangers; /* oldest first */
    loop_fn *on_stopped;                 /* set: it is stopping */
    void *stopped_arg;
    struct ready *telling; /* pending call of on_stopped */
};

/* server.c */
void web_less_strangers(struct web *w); /* one has shown a token, or has gone */
void web_check_stopped(struct web *w);  /* a connection has gone */

/* client.c */
void client_new(struct web *w, int fd, const struct sockaddr_storage *peer);
void client_know(struct client *c); /* it has shown a token */
void client_refuse(struct client *c, const struct refusal *why, int64_t retry_ms);
void client_run(struct client *c);      /* starts the fiber of the request that is complete */
void client_answered(struct client *c); /* the answer is queued: the next request */
void client_leave(struct client *c);
void client_drop(struct client *c); /* closes at once */
void client_stop(struct client *c); /* the server stops */
void client_ref(struct client *c);
void client_unref(struct client *c);
/* Whether bytes were written since the last call, or none are queued. */
bool client_makes_progress(struct client *c);

/* judge.c: the head is complete.  Refuses it, answers it, or goes on to its body. */
void judge(struct client *c);
bool judge_is_login(const struct client *c);
void judge_login_fiber(struct exchange *x);
/* The token of an open connection is still valid. */
bool judge_again(struct client *c);

/* stream.c */
struct transport *stream_begin(struct exchange *x, const char *type, bool has_comments);
void stream_tick(struct client *c);
/* Gives out the transport of a connection. */
struct transport *transport_give(struct client *c, const struct transport_ops *ops);
/* The client or the server has ended: reports it, soon, to the connection on the transport. */
void transport_end(struct client *c);
void transport_release(struct client *c); /* for `free` of the transport */
/* No bytes were taken by the client for too long. */
bool transport_is_stalled(struct client *c);

/* socket.c */
struct transport *socket_begin(struct exchange *x);
void socket_accept(struct client *c); /* completes the handshake */
void socket_take(struct client *c, struct str bytes);
void socket_tick(struct client *c);
void socket_close(struct client *c, int code, const char *reason);

#endif
