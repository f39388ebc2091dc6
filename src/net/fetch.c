/* SPDX-License-Identifier: MIT */
#include "net/fetch.h"

#include "base/log.h"
#include "base/time.h"

struct fetching {
    struct fetched *out;
    struct wait wait;
    bool has_failed;
    bool is_over; /* the request has ended */
    struct error err;
};

void fetched_clear(struct fetched *f)
{
    buf_clear(&f->body);
    buf_clear(&f->content_type);
    buf_clear(&f->location);
}

static void on_status(void *arg, int status, struct str content_type)
{
    struct fetching *k = arg;
    k->out->status = status;
    buf_add(&k->out->content_type, content_type);
}

static void on_header(void *arg, struct str name, struct str value)
{
    struct fetching *k = arg;
    if (!str_ieq(name, STR("location")))
        return;
    buf_reset(&k->out->location);
    buf_add(&k->out->location, value);
}

static void on_body(void *arg, struct str bytes)
{
    struct fetching *k = arg;
    if (k->has_failed || buf_add(&k->out->body, bytes))
        return;
    k->has_failed = true;
    error_set(&k->err, ERR_LIMIT, "the answer is larger than %zu bytes", k->out->body.limit);
    wait_wake(&k->wait);
}

static void on_end(void *arg, const struct error *err)
{
    struct fetching *k = arg;
    k->is_over = true;
    if (err && !k->has_failed) {
        k->has_failed = true;
        k->err = *err;
    }
    wait_wake(&k->wait);
}

static void on_grace_over(void *arg)
{
    wait_wake(arg);
}

/* The fiber is canceled; waits grace_ms for the exchange to end. */
static bool end_through_await(struct loop *l, struct fetching *k, int64_t ms)
{
    struct timer *t = timer_new(l, on_grace_over, &k->wait);
    timer_start(t, ms);
    wait_through_await(&k->wait);
    timer_free(t);
    return k->is_over;
}

bool fetch_await(struct loop *l, const struct fetch *what, struct fetched *ret, struct error *err)
{
    struct fetched out = {.body = BUF_MAX(what->max_bytes ? what->max_bytes : 1 << 20)};
    struct fetching k = {.out = &out};
    struct http_request rq = {.method = what->method,
                              .url = what->url,
                              .headers = what->headers,
                              .n_headers = what->n_headers,
                              .body = what->body,
                              .on_status = on_status,
                              .on_header = on_header,
                              .on_body = on_body,
                              .on_end = on_end,
                              .is_public = what->is_public,
                              .arg = &k};
    int64_t began_us = time_mono_us();
    struct http *h = http_start(l, &rq, err);
    if (!h)
        return false;
    struct error why;
    bool ok = wait_timed_await(l, &k.wait, what->timeout_ms ? what->timeout_ms : 30000, &why);
    if (!ok && what->grace_ms && why.code == ERR_CANCELED)
        ok = k.is_over || end_through_await(l, &k, what->grace_ms);
    if (!k.is_over)
        http_cancel(h); /* no callback follows */
    if (ok && k.has_failed) {
        why = k.err;
        ok = false;
    }
    struct str place;
    str_split(what->url, '?', &place); /* a query may contain a key */
    log_took("request", began_us, "%s %.*s, status %d%s%s", what->method, STR_FMT(place),
             out.status, ok ? "" : ": ", ok ? "" : why.text);
    if (ok) {
        *ret = out;
    } else {
        *err = why;
        fetched_clear(&out);
    }
    return ok;
}
