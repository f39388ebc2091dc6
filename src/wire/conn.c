/* SPDX-License-Identifier: MIT */
/* Turns received bytes into messages and messages into bytes to send, with limits on the unsent
 * bytes.
 *
 *     reader --> [rest] --> frame --> on_message
 *     conn_send --> head, body, tail --> writer (held until the round ends)
 *     transport --> on_message; conn_send --> transport --> its writer (held likewise)
 *
 * `rest` is used only while reading is paused: it keeps the bytes that the frame did not take, so
 * that one read with many requests cannot produce answers without bound.  The writer is released
 * from the loop's ready list, which is drained before the loop polls again.
 */
#include "wire/conn.h"

#include "base/limits.h"
#include "base/mem.h"
#include "loop/fiber.h"

struct flush_wait { /* a fiber in conn_flush_through_await, on its stack */
    struct wait wait;
    struct flush_wait *next;
};

struct conn {
    const struct conn_ops *ops;
    void *arg;
    struct reader *reader;
    struct writer *writer; /* of the transport, if there is one */
    struct frame *frame;
    struct transport *transport; /* NULL: reader and frame are used */
    struct loop *l;
    size_t queue;            /* unsent bytes beyond which it is full */
    struct ready *round_end; /* pending release of the writer; NULL: it is not held */
    struct ready *begin;     /* pending first delivery of a transport */
    struct buf rest;         /* read, not yet taken by the frame */
    struct flush_wait *waiters;
    bool is_full;
    bool is_choked;    /* more than LIMIT_OUT_STOP_BYTES are unsent */
    bool is_held;      /* conn_hold */
    bool is_paused;    /* because of either: reading is paused */
    bool is_stopped;   /* conn_stop_reading */
    bool has_eof;      /* the end of input was read, perhaps not yet reported */
    unsigned n_inside; /* running functions that use it after a callback */
    bool is_dead;
};

/* ---- lifetime ---- */

static void destroy(struct conn *c)
{
    buf_clear(&c->rest);
    free(c);
}

static void enter(struct conn *c)
{
    c->n_inside++;
}

/* After this the connection may be freed. */
static void leave(struct conn *c)
{
    if (--c->n_inside == 0 && c->is_dead)
        destroy(c);
}

static void wake_waiters(struct conn *c)
{
    while (c->waiters) {
        struct flush_wait *w = c->waiters;
        c->waiters = w->next; /* read before the wake: w is on the fiber's stack */
        wait_wake(&w->wait);
    }
}

static void free_output(struct conn *c)
{
    struct writer *writer = take(&c->writer);
    struct transport *t = take(&c->transport);
    loop_take_back(take(&c->round_end));
    loop_take_back(take(&c->begin));
    if (t) {
        writer_hold(writer, false);
        t->ops->free(t);
    } else {
        writer_free(writer);
    }
}

void conn_free(struct conn *c)
{
    if (!c)
        return;
    c->is_dead = c->is_stopped = true;
    frame_free(take(&c->frame));
    reader_free(take(&c->reader));
    free_output(c);
    wake_waiters(c);
    if (c->n_inside == 0)
        destroy(c);
}

/* ---- input ---- */

static void report_eof(struct conn *c)
{
    if (c->frame)
        frame_end(c->frame);
    if (c->is_stopped)
        return;
    c->is_stopped = true;
    writer_mind_reader(c->writer);
    if (c->ops->on_eof)
        c->ops->on_eof(c->arg);
}

/* Feeds the frame and keeps the bytes it does not take. */
static void feed(struct conn *c, struct str bytes)
{
    size_t n_taken = frame_feed(c->frame, bytes);
    if (c->is_stopped)
        return;
    bytes = str_from(bytes, n_taken);
    if (bytes.n)
        buf_add(&c->rest, bytes);
}

static void pause_input(struct conn *c, bool is_paused)
{
    if (c->transport) {
        c->transport->ops->pause(c->transport, is_paused);
        return;
    }
    if (is_paused)
        frame_pause(c->frame);
    reader_pause(c->reader, is_paused);
}

/* Feeds the bytes left while reading was paused, then resumes the reader. */
static void feed_rest(struct conn *c)
{
    while (c->rest.n && !c->is_paused && !c->is_stopped) {
        AUTO(buf) struct buf rest = take(&c->rest);
        feed(c, buf_str(&rest));
    }
    if (c->is_paused || c->is_stopped)
        return;
    if (c->has_eof)
        report_eof(c);
    else
        pause_input(c, false);
}

static void on_bytes(void *arg, struct str bytes)
{
    struct conn *c = arg;
    if (c->is_stopped)
        return;
    enter(c);
    c->has_eof |= bytes.n == 0;
    if (c->is_paused || c->rest.n)
        buf_add(&c->rest, bytes);
    else if (c->has_eof)
        report_eof(c);
    else
        feed(c, bytes);
    leave(c);
}

static void on_message(void *arg, struct str body)
{
    struct conn *c = arg;
    c->ops->on_message(c->arg, body);
}

static void on_fault(void *arg, enum frame_fault fault, struct str detail)
{
    struct conn *c = arg;
    if (c->ops->on_fault)
        c->ops->on_fault(c->arg, fault, detail);
}

void conn_stop_reading(struct conn *c)
{
    c->is_stopped = true;
    if (c->frame)
        frame_stop(c->frame);
    pause_input(c, true);
    buf_clear(&c->rest);
}

void conn_take(struct conn *c, struct str message)
{
    if (c->is_stopped)
        return;
    enter(c);
    c->ops->on_message(c->arg, message);
    leave(c);
}

void conn_take_end(struct conn *c)
{
    c->has_eof = true;
    if (c->is_stopped || c->is_paused)
        return;
    enter(c);
    report_eof(c);
    leave(c);
}

/* ---- output ---- */

bool conn_is_full(const struct conn *c)
{
    return c->is_full;
}

bool conn_is_choked(const struct conn *c)
{
    return c->is_choked;
}

bool conn_is_flushed(const struct conn *c)
{
    return writer_is_broken(c->writer) || writer_queued(c->writer) == 0;
}

static void set_full(struct conn *c, bool is_full)
{
    if (c->is_full == is_full)
        return;
    c->is_full = is_full;
    if (c->ops->on_full)
        c->ops->on_full(c->arg, is_full);
}

static void settle_pause(struct conn *c)
{
    bool is_paused = c->is_choked || c->is_held;
    if (c->is_paused == is_paused || c->is_stopped)
        return;
    c->is_paused = is_paused;
    if (is_paused)
        pause_input(c, true);
    else
        feed_rest(c);
}

static void set_choked(struct conn *c, bool is_choked)
{
    bool is_unchoked = c->is_choked && !is_choked;
    c->is_choked = is_choked;
    if (is_unchoked && c->ops->on_unchoked)
        c->ops->on_unchoked(c->arg);
    settle_pause(c);
}

void conn_hold(struct conn *c, bool is_held)
{
    c->is_held = is_held;
    enter(c);
    settle_pause(c);
    leave(c);
}

/* Checks the unsent bytes against the high limits. */
static void check_high(struct conn *c)
{
    size_t n = writer_queued(c->writer);
    if (n > LIMIT_OUT_STOP_BYTES)
        set_choked(c, true);
    if (n > c->queue)
        set_full(c, true);
}

/* Checks the unsent bytes against the low limits; only from the loop, so that conn_send never calls
 * back. */
static void check_low(struct conn *c)
{
    if (conn_is_flushed(c))
        wake_waiters(c);
    if (writer_queued(c->writer) < c->queue / 4)
        set_full(c, false);
    if (!c->is_dead && writer_queued(c->writer) < LIMIT_OUT_STOP_BYTES / 2)
        set_choked(c, false);
}

/* Releases the writer: sends what was queued since it was held. */
static void release(struct conn *c)
{
    if (!c->round_end)
        return;
    loop_take_back(c->round_end);
    c->round_end = NULL;
    writer_hold(c->writer, false);
}

static void on_written(void *arg, bool is_broken)
{
    struct conn *c = arg;
    enter(c);
    check_low(c);
    if (is_broken && !c->is_dead && c->ops->on_broken)
        c->ops->on_broken(c->arg);
    leave(c);
}

void conn_take_written(struct conn *c, bool is_broken)
{
    on_written(c, is_broken);
}

static void on_round_end(void *arg)
{
    struct conn *c = arg;
    enter(c);
    c->round_end = NULL;
    writer_hold(c->writer, false);
    check_high(c);
    if (!c->is_dead)
        check_low(c);
    leave(c);
}

enum { LONG_BYTES = 64 << 10 }; /* messages from this size on are not copied */

void transport_put(struct writer *w, struct buf *body, const struct splices *splices)
{
    struct str text = buf_str(body);
    size_t at = 0;
    if (splices->n == 0 && text.n >= LONG_BYTES) {
        writer_give(w, body);
        return;
    }
    for (size_t i = 0; i < splices->n; i++) {
        writer_put(w, str_n(text.p + at, splices->items[i].at - at));
        writer_share(w, splices->items[i].blob);
        at = splices->items[i].at;
    }
    writer_put(w, str_from(text, at));
}

/* The writer is held, so that the parts are sent together. */
static void put_framed(struct conn *c, struct buf *body, const struct splices *splices)
{
    char head[FRAME_HEAD_MAX];
    if (c->transport) {
        c->transport->ops->send(c->transport, body, splices);
        return;
    }
    size_t n = splices_total(splices, buf_str(body));
    writer_put(c->writer, frame_head(head, c->ops->framing, n));
    transport_put(c->writer, body, splices);
    writer_put(c->writer, frame_tail(c->ops->framing));
}

void conn_send(struct conn *c, struct str body)
{
    struct buf borrowed = {.p = (char *)(uintptr_t)body.p, .n = body.n};
    AUTO(buf) struct buf copy = BUF_INIT;
    if (body.n >= LONG_BYTES)
        buf_add(&copy, body);
    conn_give(c, copy.n ? &copy : &borrowed, NULL);
}

void conn_give(struct conn *c, struct buf *body, const struct splices *splices)
{
    static const struct splices none;
    if (writer_is_broken(c->writer))
        return;
    if (!c->round_end) {
        writer_hold(c->writer, true);
        c->round_end = loop_soon(c->l, on_round_end, c);
    }
    put_framed(c, body, splices ? splices : &none);
    if (writer_queued(c->writer) <= c->queue)
        return;
    enter(c);
    if (!c->is_full)
        release(c); /* only bytes that the client does not read count, not those held here */
    check_high(c);
    leave(c);
}

void conn_flush_through_await(struct conn *c)
{
    release(c);
    if (conn_is_flushed(c))
        return;
    struct flush_wait w = {.wait = WAIT_INIT, .next = c->waiters};
    c->waiters = &w;
    wait_through_await(&w.wait);
}

void conn_abandon(struct conn *c)
{
    enter(c);
    writer_abandon(c->writer);
    check_low(c);
    leave(c);
}

void conn_close(struct conn *c, int code, const char *reason)
{
    release(c);
    if (c->transport)
        c->transport->ops->close(c->transport, code, reason);
}

uint64_t conn_written(const struct conn *c)
{
    return writer_written(c->writer);
}

/* ---- creating ---- */

static struct conn *make(struct loop *l, const struct conn_ops *ops, void *arg)
{
    struct conn *c = xnew(struct conn);
    c->l = l;
    c->ops = ops;
    c->queue = ops->queue ? ops->queue : LIMIT_OUT_QUEUE_BYTES;
    c->arg = arg;
    return c;
}

struct conn *conn_new(struct loop *l, int in_fd, int out_fd, const struct conn_ops *ops, void *arg)
{
    struct conn *c = make(l, ops, arg);
    struct error err;
    c->frame = frame_new(ops->framing, ops->limit, (struct frame_sink){on_message, on_fault, c});
    if (in_fd != out_fd) {
        c->writer = writer_new(l, out_fd, on_written, c);
        c->reader = reader_new(l, in_fd, on_bytes, c);
    } else if (!duplex_new(l, in_fd, &(struct duplex_calls){on_bytes, on_written, c}, &c->reader,
                           &c->writer, &err)) {
        die("%s", err.text);
    }
    return c;
}

static void on_begin(void *arg)
{
    struct conn *c = arg;
    enter(c);
    c->begin = NULL;
    settle_pause(c);
    leave(c);
}

struct conn *conn_over(struct loop *l, struct transport *t, const struct conn_ops *ops, void *arg)
{
    struct conn *c = make(l, ops, arg);
    c->transport = t;
    c->writer = t->writer;
    t->conn = c;
    t->limit = ops->limit;
    /* A message may have come with the request that opened the transport: it is delivered when the
     * caller has stored the connection. */
    c->is_paused = true;
    c->begin = loop_soon(l, on_begin, c);
    return c;
}
