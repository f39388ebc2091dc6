/* SPDX-License-Identifier: MIT */
/* Dispatches requests and sends their answers.
 *
 *     on_message: parse, check the envelope, find the method
 *         '--> lane: [call][call]...   one runs, the others wait; LANE_FREE has no queue
 *                  '--> line: [call][call]...   empty unless a fiber is about to start or the
 *                           |                   client does not read its answers
 *                           '--> begin: decode params, run (now, or in a fiber), answer, free
 *
 * A call is one request until its answer is sent; it owns the document, the arena and the answer
 * that is being written.  Params are decoded when the call starts, so that their faults are
 * answered in the order of the lane too.
 *
 * Calls whose lanes are free start in the order of their messages: a RUN_NOW call waits until the
 * fibers before it have started.  So calls that do not suspend are answered in order.  While the
 * connection is choked no call starts, and while too many are unanswered no request is read.
 *
 * A method with `hurries` runs at once when there is something to stop, regardless of its lane;
 * otherwise it stays in its lane behind the call that may start what it stops.
 *
 * When a fiber ends, its lane continues from the loop, not from the fiber: a RUN_NOW method must
 * not run on the stack of another call's fiber, with that fiber's cancel flag.
 *
 * Long because lanes, queues, fibers and answers share one state: which call may start and end
 * when.
 */
#include "wire/rpc.h"

#include "base/limits.h"
#include "base/mem.h"

struct rpc_call {
    struct request rq; /* first: what the method sees */
    struct json doc;
    struct buf out; /* the answer */
    struct fiber *fiber;
    size_t size;                          /* of its message */
    bool holds_lane;                      /* other calls of its lane wait until it ends */
    struct rpc_call *next;                /* in the queue that it is in */
    struct rpc_call *prev_run, *next_run; /* in the list of calls with a fiber */
};

struct calls { /* a queue */
    struct rpc_call *first, **last;
};

struct lane {
    bool is_busy;
    struct calls waiting;
};

struct rpc {
    struct loop *l;
    const struct rpc_dialect *d;
    void *dialect;
    struct conn_ops ops;
    struct conn *conn;
    struct json empty; /* {} for absent params */
    struct lane lanes[N_LANES];
    struct calls line;       /* calls whose lanes are free */
    struct ready *go_on;     /* pending start of waiting calls; NULL: none */
    struct rpc_call *fibers; /* running in fibers */
    unsigned n_beginning;    /* fibers that have not started yet */
    bool is_held;            /* too much is pending: reading is paused */
    unsigned n_pending;
    size_t pending_bytes;
    struct drain *drains; /* fibers that wait for the last answer */
    struct asks asks;     /* requests to the client */
    bool is_stopped;
};

struct drain { /* on the stack of its fiber */
    struct drain *next;
    struct wait wait;
};

/* ---- queues ---- */

static void calls_add(struct calls *q, struct rpc_call *c)
{
    *q->last = c;
    q->last = &c->next;
}

static struct rpc_call *calls_take(struct calls *q)
{
    struct rpc_call *c = q->first;
    q->first = c->next;
    c->next = NULL;
    if (!q->first)
        q->last = &q->first;
    return c;
}

static void on_go_on(void *arg);

static void go_on_soon(struct rpc *r)
{
    if (!r->go_on)
        r->go_on = loop_soon(r->l, on_go_on, r);
}

/* ---- output ---- */

struct sending { /* a message body on its way through the filter */
    struct rpc *rpc;
    struct buf *body, changed;
    bool is_raw, is_changed;
};

static void filter_body(void *arg) /* on any thread */
{
    struct sending *m = arg;
    const struct rpc *r = m->rpc;
    m->is_changed = r->d->filter && !m->is_raw &&
                    r->d->filter(r->dialect, buf_str(m->body), &m->changed);
}

static void give_body(struct sending *m, const struct splices *splices)
{
    conn_give(m->rpc->conn, m->is_changed ? &m->changed : m->body, splices);
    buf_clear(&m->changed);
}

/* {"jsonrpc":"2.0","id":ID, and the next member's name; id NULL is written as null. */
static struct jw begin_answer(struct buf *out, yyjson_val *id, const char *member)
{
    struct jw w = JW(out);
    buf_reset(out);
    jw_obj(&w);
    jw_kstr(&w, "jsonrpc", STR("2.0"));
    jw_kval(&w, "id", id);
    jw_key(&w, member);
    return w;
}

static void end_answer(struct rpc *r, struct jw *w)
{
    jw_obj_end(w);
    struct sending m = {.rpc = r, .body = w->out, .changed = BUF_INIT};
    filter_body(&m);
    give_body(&m, w->splices);
}

static struct jw begin_notice(const char *method, struct buf *out)
{
    struct jw w = JW(out);
    buf_reset(out);
    jw_obj(&w);
    jw_kstr(&w, "jsonrpc", STR("2.0"));
    jw_kz(&w, "method", method);
    return w;
}

struct jw rpc_begin_notice(const char *method, struct buf *out)
{
    struct jw w = begin_notice(method, out);
    jw_key(&w, "params");
    return w;
}

void rpc_end_notice(struct rpc *r, struct jw *w)
{
    end_answer(r, w);
}

void rpc_notify(struct rpc *r, const char *method, struct str params)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = begin_notice(method, &out);
    if (params.p)
        jw_kraw(&w, "params", params);
    end_answer(r, &w);
}

int64_t rpc_begin_ask(struct rpc *r, const char *method, struct buf *out, struct jw *ret_w,
                      rpc_answer_fn *fn, void *arg)
{
    int64_t id = asks_add(&r->asks, fn, arg);
    struct jw w = begin_notice(method, out);
    jw_kint(&w, "id", id);
    jw_key(&w, "params");
    *ret_w = w;
    return id;
}

void rpc_end_ask(struct rpc *r, struct jw *w)
{
    end_answer(r, w);
}

void rpc_forget_ask(struct rpc *r, int64_t id)
{
    asks_forget(&r->asks, id);
}

/* ---- one call ---- */

/* Whether 1/share of the limits for pending requests is reached. */
static bool has_much(const struct rpc *r, unsigned share)
{
    return r->n_pending >= LIMIT_WAITING_CALLS / share ||
           r->pending_bytes >= LIMIT_WAITING_BYTES / share;
}

/* Pauses or resumes reading of requests. */
static void hold(struct rpc *r, bool is_held)
{
    r->is_held = is_held;
    conn_hold(r->conn, is_held);
}

static struct rpc_call *call_new(struct rpc *r, const struct method *m, struct json *doc,
                                 yyjson_val *id, size_t size)
{
    struct rpc_call *c = xnew(struct rpc_call);
    c->rq.rpc = r;
    c->rq.dialect = r->dialect;
    c->rq.method = m;
    c->rq.arena = ARENA_INIT;
    c->doc = take(doc);
    c->rq.id = id;
    c->size = size;
    r->n_pending++;
    r->pending_bytes += size;
    return c;
}

/* A large request, such as a list of all sessions, frees many small allocations. */
enum { MUCH_BYTES = 1 << 20 };

static void wake_drains(struct rpc *r)
{
    struct drain *d = r->n_pending ? NULL : take(&r->drains);
    while (d) {
        struct drain *next = d->next; /* read before the wake: d is on the fiber's stack */
        wait_wake(&d->wait);
        d = next;
    }
}

static void call_free(struct rpc_call *c)
{
    bool was_large = c->rq.arena.used > MUCH_BYTES;
    struct rpc *r = c->rq.rpc;
    r->n_pending--;
    r->pending_bytes -= c->size;
    if (r->is_held)
        go_on_soon(r);
    wake_drains(r);
    json_clear(&c->doc);
    was_large &= loop_clear_arena(r->l, &c->rq.arena);
    buf_clear(&c->out);
    free(c);
    if (was_large)
        mem_trim();
}

/* Fills rq.params and rq.args from the message. */
static bool decode_params(struct rpc_call *c, struct fault *ret)
{
    struct rpc *r = c->rq.rpc;
    const struct method *m = c->rq.method;
    yyjson_val *given = json_get(c->doc.root, "params");
    *ret = (struct fault){.kind = FAULT_NOT_OBJECT};
    if (yyjson_is_null(given) || (r->d->array_params_are_absent && yyjson_is_arr(given)))
        given = NULL;
    c->rq.params = yyjson_is_obj(given) ? given : NULL;
    if (!m->params)
        return true;
    c->rq.args = arena_alloc(&c->rq.arena, m->params_size);
    return (given || !m->params_needed) &&
           rows_decode(m->params, 0, given ? given : r->empty.root, c->rq.args, ret);
}

/* False when the fault has been answered. */
static bool take_params(struct rpc_call *c)
{
    struct fault fault;
    if (decode_params(c, &fault))
        return true;
    if (c->rq.id) {
        struct jw w = begin_answer(&c->out, c->rq.id, "error");
        c->rq.rpc->d->put_params_fault(c->rq.method, &fault, &w);
        end_answer(c->rq.rpc, &w);
    }
    return false;
}

/* A call with faulty params waits in its lane, where the fault is answered. */
static bool hurries(struct rpc_call *c)
{
    struct fault ignored;
    return c->rq.method->hurries && decode_params(c, &ignored) && c->rq.method->hurries(&c->rq);
}

/* Runs the method and writes its answer to c->out.  Outside of fibers only for RUN_NOW methods,
 * which do not await.  False for a notification, which is never answered. */
static bool run_method(struct rpc_call *c)
{
    struct error err = ERROR_INIT;
    struct jw w = begin_answer(&c->out, c->rq.id, "result");
    size_t start = c->out.n;
    bool ok = c->rq.method->run(&c->rq, &w, &err);
    if (!c->rq.id)
        return false;
    if (!ok) {
        w = begin_answer(&c->out, c->rq.id, "error");
        c->rq.rpc->d->put_error(&c->rq, &err, &w);
        c->rq.is_raw = false;
    } else if (c->out.n == start) {
        jw_null(&w);
    }
    jw_obj_end(&w);
    return true;
}

static struct sending answer_of(struct rpc_call *c)
{
    return (struct sending){
        .rpc = c->rq.rpc, .body = &c->out, .changed = BUF_INIT, .is_raw = c->rq.is_raw};
}

static void run_and_answer(struct rpc_call *c)
{
    if (!run_method(c))
        return;
    struct sending m = answer_of(c);
    filter_body(&m);
    give_body(&m, NULL);
}

/* A long answer, such as a transcript or a list of all sessions, is filtered on the thread pool. */
static void run_and_answer_await(struct rpc_call *c)
{
    enum { LONG_BYTES = 128 << 10 };
    if (!run_method(c))
        return;
    struct sending m = answer_of(c);
    if (c->out.n < LONG_BYTES)
        filter_body(&m);
    else
        work_through_await(c->rq.rpc->l, filter_body, &m);
    give_body(&m, NULL);
}

static struct lane *lane_of(struct rpc_call *c)
{
    enum method_lane lane = c->rq.method->lane;
    return lane == LANE_FREE ? NULL : &c->rq.rpc->lanes[lane];
}

static void finish(struct rpc_call *c)
{
    if (c->holds_lane)
        lane_of(c)->is_busy = false;
    call_free(c);
}

/* ---- fibers ---- */

static void link_fiber(struct rpc_call *c)
{
    struct rpc *r = c->rq.rpc;
    c->next_run = r->fibers;
    if (r->fibers)
        r->fibers->prev_run = c;
    r->fibers = c;
}

static void unlink_fiber(struct rpc_call *c)
{
    struct rpc *r = c->rq.rpc;
    if (c->prev_run)
        c->prev_run->next_run = c->next_run;
    else
        r->fibers = c->next_run;
    if (c->next_run)
        c->next_run->prev_run = c->prev_run;
    c->fiber = NULL;
}

static void leave(struct rpc_call *c)
{
    struct rpc *r = c->rq.rpc;
    struct lane *lane = lane_of(c);
    finish(c);
    if (lane && lane->waiting.first)
        go_on_soon(r);
}

static void call_fiber(void *arg)
{
    struct rpc_call *c = arg;
    struct rpc *r = c->rq.rpc;
    r->n_beginning--;
    if (!r->is_stopped) /* after rpc_stop it is dropped like waiting calls */
        run_and_answer_await(c);
    unlink_fiber(c);
    leave(c);
}

void rpc_cancel(struct rpc *r)
{
    for (struct rpc_call *c = r->fibers; c; c = c->next_run)
        if (c->fiber != fiber_self())
            fiber_cancel(c->fiber);
}

bool rpc_cancel_one(struct rpc *r, yyjson_val *id)
{
    for (struct rpc_call *c = r->fibers; c; c = c->next_run)
        if (c->rq.id && c->fiber != fiber_self() && yyjson_equals(c->rq.id, id)) {
            fiber_cancel(c->fiber);
            return true;
        }
    return false;
}

/* ---- lanes ---- */

/* A call without a fiber is freed afterwards. */
static void begin(struct rpc_call *c)
{
    struct rpc *r = c->rq.rpc;
    if (!take_params(c)) {
        leave(c);
    } else if (c->rq.method->how == RUN_FIBER) {
        r->n_beginning++;
        link_fiber(c);
        c->fiber = fiber_start(r->l, c->rq.method->name, call_fiber, c);
    } else {
        run_and_answer(c);
        leave(c);
    }
}

/* Whether the first in line can start; few fibers start together, as each may make a long
 * answer. */
static bool can_begin(const struct rpc *r, const struct rpc_call *c)
{
    enum { TOGETHER = 16 };
    unsigned n = c->rq.method->how == RUN_FIBER ? TOGETHER : 1;
    return r->n_beginning < n && !conn_is_choked(r->conn);
}

/* Starts the calls that can start; the others when the fibers have started, or when the connection
 * is no longer choked. */
static void advance(struct rpc *r)
{
    while (r->line.first && can_begin(r, r->line.first))
        begin(calls_take(&r->line));
    if (r->line.first && !conn_is_choked(r->conn))
        go_on_soon(r);
}

/* The call's lane is free. */
static void start(struct rpc_call *c)
{
    struct rpc *r = c->rq.rpc;
    struct lane *lane = lane_of(c);
    if (lane && c->rq.method->how == RUN_FIBER && !c->rq.method->lets_pass)
        c->holds_lane = lane->is_busy = true;
    calls_add(&r->line, c);
    if (r->line.first == c)
        advance(r);
}

static void run_lane(struct lane *lane)
{
    while (lane->waiting.first && !lane->is_busy)
        start(calls_take(&lane->waiting));
}

static void on_go_on(void *arg)
{
    struct rpc *r = arg;
    r->go_on = NULL;
    advance(r);
    for (size_t i = 0; i < N_LANES; i++)
        run_lane(&r->lanes[i]);
    if (r->is_held && !has_much(r, 2))
        hold(r, false);
}

static void take_call(struct rpc_call *c)
{
    struct rpc *r = c->rq.rpc;
    struct lane *lane = lane_of(c);
    if (hurries(c)) {
        begin(c); /* even when other calls wait or the connection is choked */
        return;
    }
    if (!lane) {
        start(c);
    } else {
        calls_add(&lane->waiting, c);
        run_lane(lane);
    }
    if (!r->is_held && has_much(r, 1))
        hold(r, true);
}

static void drop_calls(struct calls *q)
{
    while (q->first)
        finish(calls_take(q));
}

/* ---- input ---- */

/* A valid id: a string, or a number of any size. */
static bool is_plain_id(yyjson_val *id)
{
    return yyjson_is_str(id) || yyjson_is_num(id) || yyjson_is_raw(id);
}

static void answer_fault(struct rpc *r, enum rpc_fault fault, yyjson_val *id, struct str detail)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool has_id = id && (!yyjson_is_null(id) || r->d->null_id_is_request);
    bool echoes = r->d->echoes_id_on_invalid && is_plain_id(id);
    struct jw w = begin_answer(&out, echoes ? id : NULL, "error");
    if (r->d->put_fault(fault, has_id, detail, &w))
        end_answer(r, &w);
}

/* Checks the envelope in the order of the protocol documents; false when it is invalid. */
static bool check_envelope(const struct rpc *r, yyjson_val *root, enum rpc_fault *ret_fault)
{
    struct str method = json_get_str(root, "method");
    yyjson_val *id = json_get(root, "id");
    bool has_name = method.n && (r->d->method_may_be_blank || !str_is_blank(method));
    if (yyjson_is_arr(root))
        *ret_fault = RPC_BATCH;
    else if (!yyjson_is_obj(root))
        *ret_fault = RPC_NOT_OBJECT;
    else if (!str_is(json_get_str(root, "jsonrpc"), "2.0"))
        *ret_fault = RPC_BAD_VERSION;
    else if (!has_name)
        *ret_fault = RPC_BAD_METHOD;
    else if (id && !yyjson_is_null(id) && !is_plain_id(id))
        *ret_fault = RPC_BAD_ID;
    else
        return true;
    return false;
}

static void answer_no_method(struct rpc *r, yyjson_val *id, struct str method)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = begin_answer(&out, id, "error");
    r->d->put_no_method(method, &w);
    end_answer(r, &w);
}

static void on_message(void *arg, struct str body)
{
    struct rpc *r = arg;
    struct error err;
    enum rpc_fault fault;
    AUTO(json) struct json doc = JSON_INIT;
    if (r->is_stopped)
        return;
    if (!json_parse(body, r->d->parse_flags, LIMIT_JSON_DEPTH, &doc, &err)) {
        answer_fault(r, RPC_NOT_JSON, NULL, error_str(&err));
        return;
    }
    if (r->d->takes_answers && asks_is_answer(doc.root)) {
        asks_take(&r->asks, doc.root);
        return;
    }
    yyjson_val *id = json_get(doc.root, "id");
    if (!check_envelope(r, doc.root, &fault)) {
        answer_fault(r, fault, id, STR(""));
        return;
    }
    if (yyjson_is_null(id) && !r->d->null_id_is_request)
        id = NULL;
    struct str name = json_get_str(doc.root, "method");
    const struct method *m = method_find(r->d->methods, r->d->n_methods, name);
    if (!id && !r->d->runs_notifications && !(m && m->is_notice))
        return;
    if (m)
        take_call(call_new(r, m, &doc, id, body.n));
    else if (id)
        answer_no_method(r, id, name);
}

static void on_fault(void *arg, enum frame_fault fault, struct str detail)
{
    struct rpc *r = arg;
    AUTO(buf) struct buf out = BUF_INIT;
    if (r->is_stopped)
        return;
    struct jw w = begin_answer(&out, NULL, "error");
    if (r->d->put_frame_fault(fault, detail, &w))
        end_answer(r, &w);
}

/* These are called last by their caller: afterwards r may be freed. */
static void on_eof(void *arg)
{
    struct rpc *r = arg;
    if (r->d->on_eof)
        r->d->on_eof(r->dialect);
}

static void on_full(void *arg, bool full)
{
    struct rpc *r = arg;
    if (r->d->on_full)
        r->d->on_full(r->dialect, full);
}

static void on_unchoked(void *arg)
{
    struct rpc *r = arg;
    if (r->line.first)
        go_on_soon(r);
}

static void on_broken(void *arg)
{
    struct rpc *r = arg;
    if (r->d->on_broken)
        r->d->on_broken(r->dialect);
}

/* ---- lifetime ---- */

static struct rpc *make(struct loop *l, const struct rpc_dialect *d, void *dialect)
{
    struct rpc *r = xnew(struct rpc);
    struct error err;
    method_check_table(d->methods, d->n_methods);
    if (!json_parse(STR("{}"), 0, 1, &r->empty, &err))
        BUG("%s", err.text);
    r->l = l;
    r->d = d;
    r->dialect = dialect;
    for (size_t i = 0; i < N_LANES; i++)
        r->lanes[i].waiting.last = &r->lanes[i].waiting.first;
    r->line.last = &r->line.first;
    r->ops = (struct conn_ops){
        .framing = d->framing,
        .limit = d->limit,
        .on_message = on_message,
        .on_fault = on_fault,
        .on_eof = on_eof,
        .on_full = on_full,
        .on_unchoked = on_unchoked,
        .on_broken = on_broken,
    };
    return r;
}

struct rpc *rpc_new(struct loop *l, int in_fd, int out_fd, const struct rpc_dialect *d,
                    void *dialect)
{
    struct rpc *r = make(l, d, dialect);
    r->conn = conn_new(l, in_fd, out_fd, &r->ops, r);
    return r;
}

struct rpc *rpc_over(struct loop *l, struct transport *t, const struct rpc_dialect *d,
                     void *dialect)
{
    struct rpc *r = make(l, d, dialect);
    r->conn = conn_over(l, t, &r->ops, r);
    return r;
}

struct conn *rpc_conn(struct rpc *r)
{
    return r->conn;
}

unsigned rpc_pending(const struct rpc *r)
{
    return r->n_pending;
}

void rpc_stop(struct rpc *r)
{
    r->is_stopped = true;
    drop_calls(&r->line);
    for (size_t i = 0; i < N_LANES; i++)
        drop_calls(&r->lanes[i].waiting);
}

static void forget_drain(struct rpc *r, const struct drain *d)
{
    struct drain **at = &r->drains;
    while (*at && *at != d)
        at = &(*at)->next;
    if (*at)
        *at = d->next;
}

bool rpc_drain_await(struct rpc *r, struct error *err)
{
    bool ok = true;
    while (ok && r->n_pending) {
        struct drain d = {.next = r->drains, .wait = WAIT_INIT};
        r->drains = &d;
        ok = wait_await(&d.wait, err);
        if (!ok)
            forget_drain(r, &d);
    }
    return ok;
}

void rpc_free(struct rpc *r)
{
    if (!r)
        return;
    if (r->n_pending)
        BUG("%u requests are unanswered", r->n_pending);
    loop_take_back(r->go_on);
    asks_clear(&r->asks);
    conn_free(r->conn);
    json_clear(&r->empty);
    free(r);
}
