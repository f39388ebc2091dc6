/* SPDX-License-Identifier: MIT */
/* A connection: requests one after the other.  What follows a request in the same packet waits in
 * `rest` until the request is answered and the answer is written; meanwhile at most one more read
 * is added, then reading pauses. */
#include "web/impl.h"

#include "base/mem.h"
#include "base/time.h"
#include "loop/fiber.h"
#include "web/answer.h"
#include "wire/conn.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

static const struct refusal too_slow = {408, "too_slow", "the request did not come in time",
                                        WEB_TOO_SLOW};

static void client_feed(struct client *c, struct str bytes);

/* ---- lifetime ---- */

void client_ref(struct client *c)
{
    c->n_refs++;
}

void client_unref(struct client *c)
{
    if (--c->n_refs > 0)
        return;
    writer_free(c->writer);
    head_clear(&c->head);
    body_clear(&c->body);
    buf_clear(&c->rest);
    free(c);
}

static struct client_list *list_of(struct client *c)
{
    return c->is_known ? &c->web->known : &c->web->strangers;
}

void client_know(struct client *c)
{
    if (c->is_known)
        return;
    TAILQ_REMOVE(&c->web->strangers, c, link);
    TAILQ_INSERT_TAIL(&c->web->known, c, link);
    c->is_known = true;
    web_less_strangers(c->web);
}

static void forget(struct client *c)
{
    struct web *w = take(&c->web);
    TAILQ_REMOVE(c->is_known ? &w->known : &w->strangers, c, link);
    w->counts.connections--;
    if (!c->is_known)
        web_less_strangers(w);
    w->counts.websockets -= c->frames != NULL;
    w->counts.streams -= c->is_stream;
    web_check_stopped(w);
}

/* The writer stays, broken, for a request that runs and for the transport. */
void client_drop(struct client *c)
{
    if (c->state == CLIENT_CLOSED)
        return;
    c->state = CLIENT_CLOSED;
    forget(c);
    shutdown(c->fd, SHUT_RDWR);
    timer_free(take(&c->timer));
    reader_free(take(&c->reader));
    frames_free(take(&c->frames));
    writer_abandon(c->writer);
    transport_end(c);
    client_unref(c);
}

bool client_makes_progress(struct client *c)
{
    uint64_t written = writer_written(c->writer);
    bool is_moving = writer_queued(c->writer) == 0 || written != c->written;
    c->written = written;
    return is_moving;
}

static void shut_when_written(struct client *c)
{
    if (writer_queued(c->writer) > 0 || c->is_shut)
        return;
    c->is_shut = true;
    if (c->has_eof)
        client_drop(c);
    else
        shutdown(c->fd, SHUT_WR);
}

void client_leave(struct client *c)
{
    c->state = CLIENT_LEAVING;
    reader_pause(c->reader, false);
    client_makes_progress(c);
    timer_start(c->timer, c->web->times.leave);
    shut_when_written(c);
}

/* ---- answers ---- */

static void client_next(struct client *c)
{
    head_clear(&c->head);
    body_clear(&c->body);
    if (c->closes || c->has_eof || c->web->on_stopped) {
        client_leave(c);
        return;
    }
    c->state = CLIENT_READING;
    timer_start(c->timer, c->web->times.idle);
    if (c->is_feeding)
        return; /* client_feed goes on */
    AUTO(buf) struct buf rest = take(&c->rest);
    if (c->is_paused)
        reader_pause(c->reader, false);
    c->is_paused = false;
    client_feed(c, buf_str(&rest));
}

void client_answered(struct client *c)
{
    if (c->state == CLIENT_CLOSED)
        return;
    c->state = CLIENT_DRAINING;
    if (writer_queued(c->writer) == 0) {
        client_next(c);
    } else {
        client_makes_progress(c);
        timer_start(c->timer, c->web->times.stall);
    }
}

void client_refuse(struct client *c, const struct refusal *why, int64_t retry_ms)
{
    AUTO(buf) struct buf body = BUF_INIT, extra = BUF_INIT;
    c->web->counts.refused[why->reason]++;
    c->closes = true;
    web_problem_put(&body, why->status, why->code, str_of(why->detail));
    if (why->status == 401)
        buf_addz(&extra, "WWW-Authenticate: Bearer\r\n");
    if (why->status == 405)
        buf_addz(&extra, "Allow: GET, HEAD, POST, PUT, PATCH, DELETE\r\n");
    if (why->status == 426)
        buf_addz(&extra, "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    if (retry_ms)
        buf_addf(&extra, "Retry-After: %lld\r\n", (long long)(retry_ms + 999) / 1000);
    answer_send(c,
                &(struct answer){.status = why->status,
                                 .type = "application/problem+json",
                                 .extra = buf_str(&extra)},
                &body, str_is(c->head.method, "HEAD"));
    client_leave(c);
}

/* ---- running a request ---- */

static struct exchange *exchange_of(struct web_request *rq)
{
    return CONTAINER_OF(rq, struct exchange, rq);
}

static void reply(struct web_request *rq, int status, const char *type, struct buf *body)
{
    struct exchange *x = exchange_of(rq);
    bool has_body = status != 204 && status != 304;
    answer_send(x->c,
                &(struct answer){
                    .status = status, .type = has_body ? type : NULL, .extra = buf_str(&rq->extra)},
                body, x->is_head || !has_body);
}

static struct transport *stream(struct web_request *rq, const char *type, bool has_comments)
{
    return stream_begin(exchange_of(rq), type, has_comments);
}

static struct transport *upgrade(struct web_request *rq)
{
    return socket_begin(exchange_of(rq));
}

static const struct web_request_ops request_ops = {reply, stream, upgrade};

static void exchange_end(struct exchange *x)
{
    struct client *c = x->c;
    arena_clear(&x->rq.arena);
    buf_clear(&x->rq.extra);
    if (c->state == CLIENT_RUNNING) {
        client_answered(c);
    } else { /* a stream, a WebSocket, or closed: no further request comes */
        head_clear(&c->head);
        body_clear(&c->body);
    }
    client_unref(c);
    free(x);
}

static void request_fiber(void *arg)
{
    struct exchange *x = arg;
    struct web *w = x->c->web;
    if (w && x->is_login)
        judge_login_fiber(x);
    else if (w)
        w->s.on_request(w->s.arg, &x->rq);
    if (!x->rq.is_answered)
        web_problem(&x->rq, 500, "no_answer", "the request was not answered");
    exchange_end(x);
}

void client_run(struct client *c)
{
    struct exchange *x = xnew(struct exchange);
    const struct head *h = &c->head;
    x->c = c;
    x->is_head = str_is(h->method, "HEAD");
    x->is_login = judge_is_login(c);
    x->rq = (struct web_request){
        .ops = &request_ops,
        .method = x->is_head ? STR("GET") : h->method,
        .path = h->path,
        .query = h->query,
        .headers = h->headers,
        .n_headers = h->n_headers,
        .body = buf_str(&c->body.bytes),
        .who = c->who,
        .is_known = c->has_hash || c->web->s.greet,
        .wants_upgrade = guard_wants_upgrade(h),
        .peer = c->peer,
    };
    c->state = CLIENT_RUNNING;
    timer_stop(c->timer);
    client_ref(c);
    fiber_start(c->l, "request", request_fiber, x);
}

/* ---- input ---- */

static size_t take_head(struct client *c, struct str bytes)
{
    const struct refusal *fault;
    if (c->head.bytes.n == 0)
        timer_start(c->timer, c->web->times.head);
    size_t n = head_feed(&c->head, bytes, &fault);
    if (fault)
        client_refuse(c, fault, 0);
    else if (c->head.state == HEAD_DONE)
        judge(c);
    return n;
}

static size_t take_body(struct client *c, struct str bytes)
{
    const struct refusal *fault;
    size_t n = body_feed(&c->body, bytes, &fault);
    if (fault)
        client_refuse(c, fault, 0);
    else if (c->body.state == BODY_DONE)
        client_run(c);
    else if (c->is_known)
        timer_start(c->timer, c->web->times.body);
    return n;
}

/* Handles as much as it can; the rest waits for the answer. */
static void client_feed(struct client *c, struct str bytes)
{
    c->is_feeding = true;
    while (bytes.n && (c->state == CLIENT_READING || c->state == CLIENT_BODY)) {
        size_t n = c->state == CLIENT_READING ? take_head(c, bytes) : take_body(c, bytes);
        bytes = str_from(bytes, n);
    }
    c->is_feeding = false;
    if (bytes.n && (c->state == CLIENT_RUNNING || c->state == CLIENT_DRAINING))
        buf_add(&c->rest, bytes);
}

static void take_eof(struct client *c)
{
    c->has_eof = true;
    if (c->state == CLIENT_RUNNING || c->state == CLIENT_DRAINING)
        return; /* the client may have closed only its sending side */
    if (c->state == CLIENT_LEAVING && !c->is_shut)
        return; /* the last bytes are being written */
    client_drop(c);
}

static void on_bytes(void *arg, struct str bytes)
{
    struct client *c = arg;
    client_ref(c);
    if (bytes.n == 0) {
        take_eof(c);
    } else if (c->state == CLIENT_WEBSOCKET) {
        socket_take(c, bytes);
    } else if (c->state == CLIENT_RUNNING || c->state == CLIENT_DRAINING) {
        buf_add(&c->rest, bytes);
        c->is_paused = true;
        reader_pause(c->reader, true);
    } else {
        client_feed(c, bytes);
    }
    client_unref(c);
}

static void on_written(void *arg, bool is_broken)
{
    struct client *c = arg;
    client_ref(c);
    if (is_broken)
        client_drop(c);
    else if (c->state == CLIENT_DRAINING)
        client_next(c);
    else if (c->state == CLIENT_LEAVING)
        shut_when_written(c);
    if (!is_broken && c->is_held && c->transport.conn)
        conn_take_written(c->transport.conn, false);
    client_unref(c);
}

/* ---- time ---- */

static void on_time(void *arg)
{
    struct client *c = arg;
    client_ref(c);
    bool has_begun = c->state == CLIENT_BODY || c->head.bytes.n > 0;
    if (c->state == CLIENT_STREAMING)
        stream_tick(c);
    else if (c->state == CLIENT_WEBSOCKET)
        socket_tick(c);
    else if ((c->state == CLIENT_READING || c->state == CLIENT_BODY) && has_begun)
        client_refuse(c, &too_slow, 0);
    else if (c->state == CLIENT_DRAINING && client_makes_progress(c))
        timer_start(c->timer, c->web->times.stall);
    else if (c->state == CLIENT_LEAVING && !c->is_shut && client_makes_progress(c))
        timer_start(c->timer, c->web->times.leave);
    else
        client_drop(c);
    client_unref(c);
}

/* ---- begin and end ---- */

void client_stop(struct client *c)
{
    static const char why[] = "the server restarts";
    c->closes = true;
    if (c->state == CLIENT_READING || c->state == CLIENT_BODY)
        client_drop(c);
    else if (c->state == CLIENT_STREAMING || c->state == CLIENT_WEBSOCKET)
        c->transport.ops->close(&c->transport, WEB_CLOSE_RESTART, why);
}

static void name_peer(struct client *c, const struct sockaddr_storage *a)
{
    const void *host = a->ss_family == AF_INET
                           ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
                           : &((const struct sockaddr_in6 *)a)->sin6_addr;
    c->key = peer_key_of(a);
    if ((a->ss_family != AF_INET && a->ss_family != AF_INET6) ||
        !inet_ntop(a->ss_family, host, c->peer, sizeof c->peer))
        memcpy(c->peer, "unix", sizeof "unix");
}

/* Takes fd over. */
void client_new(struct web *w, int fd, const struct sockaddr_storage *peer)
{
    int one = 1;
    struct error err;
    struct client *c = xnew(struct client);
    *c = (struct client){.web = w, .l = w->l, .n_refs = 1, .fd = fd, .head = HEAD_INIT};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!duplex_new(w->l, fd, &(struct duplex_calls){on_bytes, on_written, c}, &c->reader,
                    &c->writer, &err)) {
        free(c);
        return;
    }
    name_peer(c, peer);
    c->since_us = time_mono_us();
    c->is_known = w->s.greet;
    TAILQ_INSERT_TAIL(list_of(c), c, link);
    w->counts.accepted++;
    w->counts.connections++;
    w->counts.strangers += !c->is_known;
    c->timer = timer_new(w->l, on_time, c);
    timer_start(c->timer, w->times.head);
    if (w->s.greet && !w->s.greet(w->s.arg, fd, &c->who))
        client_drop(c);
}
