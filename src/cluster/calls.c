/* SPDX-License-Identifier: MIT */
/* Subscriptions, requests and publishing of a NATS client.
 *
 * All requests share one subscription, "_INBOX.<random>.*"; the last part of a reply subject is
 * "<slot>-<round>" of the call that waits.
 */
#include "cluster/nats_impl.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/time.h"

#include <stdio.h>

enum { NO_SLOT = SIZE_MAX >> 1, INBOX_RANDOM = 22 };

static void on_calls_timer(void *arg);

void calls_init(struct nats *n)
{
    char random[INBOX_RANDOM + 1];
    id_hex(random, INBOX_RANDOM);
    snprintf(n->inbox, sizeof n->inbox, "_INBOX.%s.", random);
    n->first_free = NO_SLOT;
    n->last_sid = INBOX_SID;
    n->calls_timer = timer_new(n->loop, on_calls_timer, n);
}

static void sub_free(struct nats_sub *s)
{
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    free(s->subject);
    free(s->queue);
    free(s);
}

void calls_clear(struct nats *n)
{
    for (size_t i = 0; i < SUB_BUCKETS; i++)
        while (n->subs[i])
            sub_free(n->subs[i]);
    timer_free(n->calls_timer);
    free(n->calls);
}

/* ---- publishing ---- */

/* Whether it can be sent now; the reason where not. */
static bool check(const struct nats *n, struct str subject, size_t bytes, struct error *err)
{
    int64_t max = n->info.root ? json_get_int(n->info.root, "max_payload", 1 << 20) : 0;
    if (!nats_is_subject(subject))
        return error_set(err, ERR_INVALID, "%.*s is no subject", STR_FMT(str_cut(subject, 80)));
    if (n->phase != PHASE_READY)
        return error_set(err, ERR_NETWORK, "not connected to a NATS server%s%s",
                         n->why.code ? ": " : "", n->why.code ? n->why.text : "");
    if ((int64_t)bytes > max)
        return error_set(err, ERR_LIMIT, "a message of %zu bytes; the NATS server takes %lld",
                         bytes, (long long)max);
    if (link_queued(n->link) + bytes > LIMIT_NATS_QUEUE_BYTES)
        return error_set(err, ERR_LIMIT, "%zu bytes wait for the NATS server already",
                         link_queued(n->link));
    return true;
}

bool nats_publish(struct nats *n, struct str subject, struct str reply, struct str head,
                  struct str body, struct error *err)
{
    if (!check(n, subject, head.n + body.n, err))
        return false;
    nats_put_pub(link_out(n->link), subject, reply, head, body);
    link_put(n->link);
    return true;
}

/* ---- subscriptions ---- */

static void send_sub(struct nats *n, const struct nats_sub *s)
{
    nats_put_sub(link_out(n->link), str_of(s->subject), str_of(s->queue), s->sid);
    link_put(n->link);
}

struct nats_sub *nats_subscribe(struct nats *n, struct str subject, struct str queue,
                                nats_msg_fn *fn, void *arg)
{
    struct nats_sub *s = xnew(struct nats_sub), **bucket = &n->subs[++n->last_sid % SUB_BUCKETS];
    if (!nats_is_subject(subject) || (queue.n && !nats_is_subject(queue)))
        BUG("no subject: %.*s %.*s", STR_FMT(subject), STR_FMT(queue));
    *s = (struct nats_sub){.nats = n,
                           .next = *bucket,
                           .link = bucket,
                           .sid = n->last_sid,
                           .subject = str_dup(subject),
                           .queue = queue.n ? str_dup(queue) : NULL,
                           .fn = fn,
                           .arg = arg};
    if (*bucket)
        (*bucket)->link = &s->next;
    *bucket = s;
    if (n->phase == PHASE_READY)
        send_sub(n, s);
    return s;
}

void nats_unsubscribe(struct nats_sub *s)
{
    if (!s)
        return;
    struct nats *n = s->nats;
    if (n->phase == PHASE_READY) {
        nats_put_unsub(link_out(n->link), s->sid);
        link_put(n->link);
    }
    sub_free(s);
}

void calls_resubscribe(struct nats *n)
{
    AUTO(buf) struct buf inbox = BUF_INIT;
    buf_addf(&inbox, "%s*", n->inbox);
    nats_put_sub(link_out(n->link), buf_str(&inbox), STR_NONE, INBOX_SID);
    for (size_t i = 0; i < SUB_BUCKETS; i++)
        for (const struct nats_sub *s = n->subs[i]; s; s = s->next)
            send_sub(n, s);
    link_put(n->link);
}

/* ---- requests ---- */

static size_t take_slot(struct nats *n)
{
    if (n->first_free == NO_SLOT) {
        size_t more = n->n_calls ? n->n_calls : 16;
        n->calls = xrealloc(n->calls, (n->n_calls + more) * sizeof *n->calls);
        for (size_t i = n->n_calls + more; i-- > n->n_calls;) {
            n->calls[i] = (struct nats_call){.next_free = n->first_free};
            n->first_free = i;
        }
        n->n_calls += more;
    }
    size_t slot = n->first_free;
    n->first_free = n->calls[slot].next_free;
    n->n_waiting++;
    return slot;
}

static void free_slot(struct nats *n, size_t slot)
{
    struct nats_call *c = &n->calls[slot];
    c->fn = NULL;
    c->round++;
    c->next_free = n->first_free;
    n->first_free = slot;
    n->n_waiting--;
}

static uint64_t call_id(const struct nats *n, size_t slot)
{
    return (uint64_t)(slot + 1) << 32 | n->calls[slot].round;
}

/* The slot of an id that still waits, or NO_SLOT. */
static size_t find_call(const struct nats *n, uint64_t id)
{
    size_t slot = (size_t)(id >> 32) - 1;
    bool fits = id >> 32 && slot < n->n_calls && n->calls[slot].fn &&
                n->calls[slot].round == (uint32_t)id;
    return fits ? slot : NO_SLOT;
}

static void watch_deadline(struct nats *n, int64_t deadline_us)
{
    if (n->calls_timer_us && n->calls_timer_us <= deadline_us)
        return;
    n->calls_timer_us = deadline_us;
    timer_start(n->calls_timer, MAX(0, (deadline_us - time_mono_us()) / 1000 + 1));
}

uint64_t nats_request(struct nats *n, const struct nats_request *rq, nats_reply_fn *fn, void *arg)
{
    char reply[sizeof n->inbox + 32];
    struct error err;
    if (!check(n, rq->subject, rq->head.n + rq->body.n, &err)) {
        fn(arg, NULL, &err);
        return 0;
    }
    size_t slot = take_slot(n);
    struct nats_call *c = &n->calls[slot];
    c->fn = fn;
    c->arg = arg;
    c->deadline_us = time_mono_us() + rq->timeout_ms * 1000;
    watch_deadline(n, c->deadline_us);
    int len = snprintf(reply, sizeof reply, "%s%zu-%u", n->inbox, slot, c->round);
    nats_put_pub(link_out(n->link), rq->subject, str_n(reply, (size_t)len), rq->head, rq->body);
    link_put(n->link);
    return call_id(n, slot);
}

void nats_forget(struct nats *n, uint64_t id)
{
    size_t slot = find_call(n, id);
    if (slot != NO_SLOT)
        free_slot(n, slot);
}

/* The last call of a request. */
static void end_call(struct nats *n, size_t slot, const struct error *err)
{
    struct nats_call c = n->calls[slot];
    free_slot(n, slot);
    c.fn(c.arg, NULL, err);
}

static void on_calls_timer(void *arg)
{
    struct nats *n = arg;
    int64_t now = time_mono_us(), next = INT64_MAX;
    struct error late;
    error_set(&late, ERR_TIMEOUT, "the NATS cluster did not answer in time");
    n->calls_timer_us = 0;
    nats_enter(n);
    for (size_t i = 0; i < n->n_calls && !n->is_dead; i++) {
        if (n->calls[i].fn && n->calls[i].deadline_us <= now)
            end_call(n, i, &late);
        else if (n->calls[i].fn)
            next = MIN(next, n->calls[i].deadline_us);
    }
    if (nats_leave(n) && next != INT64_MAX)
        watch_deadline(n, next);
}

void calls_cut(struct nats *n, const struct error *why)
{
    struct error cut = *why;
    cut.code = ERR_CUT;
    for (size_t i = 0; i < n->n_calls && !n->is_dead; i++)
        if (n->calls[i].fn)
            end_call(n, i, &cut);
}

/* The id in "<slot>-<round>"; 0: none. */
static uint64_t parse_id(struct str text)
{
    struct str slot_text, round_text = str_split(text, '-', &slot_text);
    int64_t slot, round;
    if (!round_text.p || !str_int(slot_text, &slot) || !str_int(round_text, &round) || slot < 0 ||
        slot > UINT32_MAX - 1 || round < 0 || round > UINT32_MAX)
        return 0;
    return (uint64_t)(slot + 1) << 32 | (uint64_t)round;
}

static void deliver_reply(struct nats *n, const struct nats_msg *m)
{
    uint64_t id = parse_id(str_from(m->subject, strlen(n->inbox)));
    size_t slot = find_call(n, id);
    struct error err;
    if (slot == NO_SLOT)
        return;
    if (nats_status(m->head, NULL) == 503 && m->body.n == 0) {
        error_set_origin(&err, ERR_NOT_FOUND, ORIGIN_REMOTE,
                         "nothing in the NATS cluster answers this request");
        end_call(n, slot, &err);
        return;
    }
    struct nats_call c = n->calls[slot];
    bool wants_more = c.fn(c.arg, m, NULL);
    slot = find_call(n, id); /* it may have been forgotten inside */
    if (!wants_more && slot != NO_SLOT)
        free_slot(n, slot);
}

void calls_deliver(struct nats *n, const struct nats_op *op)
{
    struct nats_msg m = {op->subject, op->reply, op->head, op->body};
    if (op->sid == INBOX_SID) {
        if (str_starts(op->subject, str_of(n->inbox)))
            deliver_reply(n, &m);
        return;
    }
    for (struct nats_sub *s = n->subs[op->sid % SUB_BUCKETS]; s; s = s->next)
        if (s->sid == op->sid) {
            s->fn(s->arg, &m);
            return;
        }
}

/* ---- from fibers ---- */

struct request_wait {
    struct wait wait;
    struct nats_reply *ret;
    struct error err;
};

static bool on_reply(void *arg, const struct nats_msg *m, const struct error *err)
{
    struct request_wait *w = arg;
    if (m) {
        buf_add(&w->ret->head, m->head);
        buf_add(&w->ret->body, m->body);
    } else {
        w->err = *err;
    }
    wait_wake(&w->wait);
    return false;
}

void nats_reply_clear(struct nats_reply *r)
{
    buf_clear(&r->head);
    buf_clear(&r->body);
}

bool nats_request_await(struct nats *n, const struct nats_request *rq, struct nats_reply *ret,
                        struct error *err)
{
    struct request_wait w = {.wait = WAIT_INIT, .ret = ret, .err = ERROR_INIT};
    uint64_t id = nats_request(n, rq, on_reply, &w);
    if (!wait_await(&w.wait, err)) {
        nats_forget(n, id);
        return false;
    }
    if (w.err.code == ERR_NONE)
        return true;
    *err = w.err;
    return false;
}
