/* SPDX-License-Identifier: MIT */
/* JSON-RPC 2.0 on a connection: envelope, ids echoed as sent, an answer to every request, lanes.
 * Differences between dialects are data in struct rpc_dialect.
 */
#ifndef TRIVET_WIRE_RPC_H
#define TRIVET_WIRE_RPC_H

#include "wire/asks.h"
#include "wire/conn.h"
#include "wire/method.h"

enum {
    RPC_PARSE = -32700,
    RPC_INVALID = -32600,
    RPC_NO_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603
};

struct rpc;

/* One request until its answer is sent. */
struct request {
    struct rpc *rpc;
    void *dialect; /* as given to rpc_new */
    const struct method *method;
    yyjson_val *params; /* an object, or NULL when absent */
    yyjson_val *id;     /* as it was sent; NULL: a notification */
    void *args;         /* the decoded struct */
    struct arena arena; /* until it is answered */
    bool is_raw;        /* set by a method: the result is not filtered */
    /* For errors that need more than a code: set before returning false. */
    int rpc_code;          /* 0: chosen from err->code by the dialect */
    struct str error_data; /* finished JSON for error.data, in the arena; STR_NONE: dialect */
};

enum rpc_fault {               /* faults of the envelope */
                 RPC_NOT_JSON, /* detail: the parser's message */
                 RPC_BATCH,
                 RPC_NOT_OBJECT,
                 RPC_BAD_VERSION,
                 RPC_BAD_METHOD,
                 RPC_BAD_ID,
};

struct rpc_dialect {
    enum frame_kind framing;
    size_t limit;
    const struct method *const *methods; /* sorted by name */
    size_t n_methods;
    bool null_id_is_request;      /* loaf: id null is answered; Kward: it is a notification */
    bool runs_notifications;      /* Kward executes them; loaf ignores them */
    bool echoes_id_on_invalid;    /* Kward echoes the id of an invalid request; loaf answers with
                                   * null */
    bool array_params_are_absent; /* Kward; in loaf they are a fault */
    bool method_may_be_blank;     /* Kward: only an empty name is invalid, a blank one is unknown */
    bool takes_answers;           /* the program sends requests (rpc_begin_ask) */
    unsigned parse_flags;         /* JSON_FIX_* */
    /* Each writes the error object {"code":..,"message":..,...}; returns false to send no
     * answer. */
    bool (*put_fault)(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w);
    bool (*put_frame_fault)(enum frame_fault fault, struct str detail, struct jw *w);
    void (*put_no_method)(struct str method, struct jw *w);
    void (*put_params_fault)(const struct method *m, const struct fault *f, struct jw *w);
    void (*put_error)(const struct request *rq, const struct error *err, struct jw *w);
    /* Changes a finished message body before it is sent (redaction); may be NULL.  Returns true
     * when `out` holds the body to send instead.  Long answers of fibers are filtered on the thread
     * pool, so it may use nothing of the dialect that changes. */
    bool (*filter)(void *dialect, struct str body, struct buf *out);
    void (*on_eof)(void *dialect);
    void (*on_full)(void *dialect, bool full);
    void (*on_broken)(void *dialect);
};

struct rpc *rpc_new(struct loop *l, int in_fd, int out_fd, const struct rpc_dialect *d,
                    void *dialect);
/* The same on a transport (conn_over). */
struct rpc *rpc_over(struct loop *l, struct transport *t, const struct rpc_dialect *d,
                     void *dialect);
struct conn *rpc_conn(struct rpc *r);
/* {"jsonrpc":"2.0","method":METHOD,"params":PARAMS}; params is finished JSON. */
void rpc_notify(struct rpc *r, const char *method, struct str params);
/* The same in two steps, for params that may be long: begins the message in `out`, which is
 * emptied; the caller writes the params and ends it.  Afterwards the content of out is undefined.
 * Shared parts (splices of w) are not filtered. */
struct jw rpc_begin_notice(const char *method, struct buf *out);
void rpc_end_notice(struct rpc *r, struct jw *w);
/* A request to the client, in the same two steps; `fn` is called once with the answer, unless the
 * request is forgotten before.  Returns its id. */
int64_t rpc_begin_ask(struct rpc *r, const char *method, struct buf *out, struct jw *ret_w,
                      rpc_answer_fn *fn, void *arg);
void rpc_end_ask(struct rpc *r, struct jw *w);
void rpc_forget_ask(struct rpc *r, int64_t id);
/* Cancels the fiber of the running request with this id; false when there is none. */
bool rpc_cancel_one(struct rpc *r, yyjson_val *id);
/* No further message is handled, and requests that wait in a lane are dropped; answers of running
 * requests are still sent, and the end of input is still reported. */
void rpc_stop(struct rpc *r);
/* Cancels the fiber of every running request, except the one that calls this.  They still answer.
 */
void rpc_cancel(struct rpc *r);
/* Requests that are not answered yet, running notifications included. */
unsigned rpc_pending(const struct rpc *r);
/* Waits until nothing is pending; call rpc_stop before. */
bool rpc_drain_await(struct rpc *r, struct error *err);
/* Only when nothing is pending: call rpc_stop and rpc_cancel, then run the loop until then. */
void rpc_free(struct rpc *r);

#endif
