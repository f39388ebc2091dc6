/* SPDX-License-Identifier: MIT */
/* JetStream, the log of a NATS cluster, by requests of the client (nats.h).
 *
 * Callbacks are those of nats_request; the jet_read_* functions make sense of what they get.  The
 * *_await functions are for commands.
 */
#ifndef TRIVET_CLUSTER_JET_H
#define TRIVET_CLUSTER_JET_H

#include "base/json.h"
#include "cluster/nats.h"

/* ---- appending ---- */

enum { JET_ANY = -1 };

struct jet_append {
    struct str subject;
    struct str id;  /* Nats-Msg-Id: a repetition within the stream's window is not stored again */
    int64_t expect; /* the last sequence of the subject must be this; JET_ANY: any */
    struct str headers; /* further lines "Name: value\r\n", or STR_NONE */
    struct str body;
    int64_t timeout_ms;
};
uint64_t jet_append(struct nats *n, const struct jet_append *a, nats_reply_fn *fn, void *arg);

enum jet_outcome {
    JET_STORED,   /* on the stream's replicas */
    JET_CONFLICT, /* another record is the last of the subject; nothing was stored */
    JET_REFUSED,  /* not stored, for another reason */
    JET_UNKNOWN,  /* it may be stored, now or later */
};
struct jet_ack {
    enum jet_outcome outcome;
    int64_t seq;       /* JET_STORED: of the record; JET_CONFLICT: of the last one, 0: not said */
    bool is_duplicate; /* a record with the same id was stored before */
    int code;          /* JetStream's number of an error, 0: none */
    struct error err;  /* unless JET_STORED */
};
/* m and err: those of the callback. */
void jet_read_ack(const struct nats_msg *m, const struct error *err, struct jet_ack *ret);
bool jet_append_await(struct nats *n, const struct jet_append *a, struct jet_ack *ret,
                      struct error *err);

/* ---- reading ---- */

struct jet_record { /* borrowed from the message */
    struct str subject;
    int64_t seq, time_ns;
    int64_t n_pending; /* of a batch: records behind it; -1: not said */
    struct str head, body;
};
enum jet_read {
    JET_RECORD,
    JET_END,   /* no such record, or the end of a batch */
    JET_FAULT, /* *err */
};
/* One record, or a batch, by any replica; it may not have the newest yet.  ask is a JSON object:
 * {"seq":5}, {"last_by_subj":"a.b"}, {"next_by_subj":"a.b","seq":5,"batch":100} (2.11). */
uint64_t jet_get(struct nats *n, struct str stream, struct str ask, int64_t timeout_ms,
                 nats_reply_fn *fn, void *arg);
enum jet_read jet_read_record(const struct nats_msg *m, const struct error *why,
                              struct jet_record *ret, struct error *err);

struct jet_kept { /* an owned record */
    int64_t seq;  /* 0: there is none */
    int64_t time_ms;
    struct buf head, body;
};
#define JET_KEPT_INIT ((struct jet_kept){.head = BUF_INIT, .body = BUF_INIT})
void jet_kept_clear(struct jet_kept *k);
/* The last record of a subject as the stream's leader has it.  True with seq 0: there is none. */
bool jet_last_await(struct nats *n, struct str stream, struct str subject, struct jet_kept *ret,
                    struct error *err);

/* ---- consuming ---- */

struct jet_item {
    struct str subject, head, body;
    struct str token; /* what jet_answer needs */
    int64_t seq, n_delivered;
};
enum jet_read jet_read_item(const struct nats_msg *m, struct jet_item *ret, struct error *err);

/* Takes items of a durable consumer.  Items keep the subject they were stored with, so each puller
 * has a subscription of its own. */
struct jet_puller;
/* item: one of those asked for.  Neither item nor err: the time is over, or all have come; ask
 * again. err: the consumer is gone, or the like; ask again later. */
typedef void jet_item_fn(void *arg, const struct jet_item *item, const struct error *err);
struct jet_puller *jet_puller_new(struct nats *n, struct str stream, struct str consumer,
                                  jet_item_fn *fn, void *arg);
void jet_puller_free(struct jet_puller *p); /* not in its callback; NULL is fine */
/* For at most n items, for so long.  A second call replaces the first; items that the first was
 * sent still come.  ERR_NETWORK: not connected; ask again then. */
bool jet_puller_ask(struct jet_puller *p, int n_items, int64_t expires_ms, struct error *err);

enum jet_answer { JET_ACK, JET_PROGRESS, JET_NAK, JET_TERM };
/* delay_ms: JET_NAK: before it is delivered again. */
bool jet_answer(struct nats *n, struct str token, enum jet_answer how, int64_t delay_ms,
                struct error *err);

/* ---- managing ---- */

enum { JET_NO_STREAM = 10059, JET_NO_CONSUMER = 10014, JET_NO_MESSAGE = 10037 };

/* A request to "$JS.API.<what>" with a JSON body; STR_NONE: empty.  An error of JetStream has its
 * number in err->status; ERR_NOT_FOUND for its 404. */
bool jet_api_await(struct nats *n, const char *what, struct str body, int64_t timeout_ms,
                   struct json *ret, struct error *err);
/* Makes the stream, or changes an existing one to this; config is the JSON of its configuration. */
bool jet_stream_await(struct nats *n, struct str name, struct str config, bool *ret_is_new,
                      struct error *err);
bool jet_consumer_await(struct nats *n, struct str stream, struct str name, struct str config,
                        struct error *err);

#endif
