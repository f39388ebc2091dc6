/* SPDX-License-Identifier: MIT */
#include "cluster/jet.h"

#include "base/base64.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/time.h"

#include <stdio.h>

enum {
    API_MS = 10000,
    SPARE_MS = 2000, /* for the word of the server that a pull is over */
    INBOX_RANDOM = 22,
    /* Numbers of JetStream's errors. */
    WRONG_LAST = 10071,        /* "wrong last sequence: 17" */
    WRONG_LAST_FLIGHT = 10164, /* the same while another append is on its way; without a number */
};

/* ---- appending ---- */

uint64_t jet_append(struct nats *n, const struct jet_append *a, nats_reply_fn *fn, void *arg)
{
    AUTO(buf) struct buf head = BUF_INIT;
    nats_head_begin(&head);
    if (a->id.n)
        nats_head_add(&head, "Nats-Msg-Id", a->id);
    if (a->expect != JET_ANY)
        nats_head_addf(&head, "Nats-Expected-Last-Subject-Sequence", "%lld", (long long)a->expect);
    buf_add(&head, a->headers);
    nats_head_end(&head);
    struct nats_request rq = {a->subject, buf_str(&head), a->body, a->timeout_ms};
    return nats_request(n, &rq, fn, arg);
}

/* The number at the end of "wrong last sequence: 17". */
static int64_t number_behind(struct str text)
{
    int64_t seq;
    size_t at = str_rchr(text, ' ');
    return at != SIZE_MAX && str_int(str_from(text, at + 1), &seq) ? seq : 0;
}

static void read_failure(yyjson_val *error, struct jet_ack *ret)
{
    struct str text = json_get_str(error, "description");
    ret->code = (int)json_get_int(error, "err_code", 0);
    bool is_conflict = ret->code == WRONG_LAST || ret->code == WRONG_LAST_FLIGHT;
    ret->outcome = is_conflict ? JET_CONFLICT : JET_REFUSED;
    ret->seq = ret->code == WRONG_LAST ? number_behind(text) : 0;
    error_set_origin(&ret->err, is_conflict ? ERR_EXISTS : ERR_BAD_REQUEST, ORIGIN_REMOTE,
                     "the NATS cluster refused a record: %.*s", STR_FMT(str_cut(text, 200)));
    ret->err.status = ret->code;
}

void jet_read_ack(const struct nats_msg *m, const struct error *err, struct jet_ack *ret)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error bad;
    *ret = (struct jet_ack){.outcome = JET_UNKNOWN};
    if (!m) {
        ret->err = *err;
        if (err->code == ERR_NETWORK || err->code == ERR_LIMIT || err->code == ERR_INVALID)
            ret->outcome = JET_REFUSED; /* not sent */
        return;
    }
    if (!json_parse(m->body, JSON_FIX_UTF8, 16, &j, &bad)) {
        ret->err = bad;
        return;
    }
    yyjson_val *error = json_get(j.root, "error");
    int64_t seq = json_get_int(j.root, "seq", 0);
    if (error) {
        read_failure(error, ret);
    } else if (seq > 0) {
        ret->outcome = JET_STORED;
        ret->seq = seq;
        ret->is_duplicate = json_get_bool(j.root, "duplicate", false);
    } else {
        error_set_origin(&ret->err, ERR_BAD_REPLY, ORIGIN_REMOTE,
                         "an acknowledgement without a sequence");
    }
}

struct append_wait {
    struct wait wait;
    struct jet_ack *ret;
};

static bool on_ack(void *arg, const struct nats_msg *m, const struct error *err)
{
    struct append_wait *w = arg;
    jet_read_ack(m, err, w->ret);
    wait_wake(&w->wait);
    return false;
}

bool jet_append_await(struct nats *n, const struct jet_append *a, struct jet_ack *ret,
                      struct error *err)
{
    struct append_wait w = {.wait = WAIT_INIT, .ret = ret};
    uint64_t id = jet_append(n, a, on_ack, &w);
    if (!wait_await(&w.wait, err)) {
        nats_forget(n, id);
        return false;
    }
    if (ret->outcome == JET_STORED)
        return true;
    *err = ret->err;
    return false;
}

/* ---- reading ---- */

uint64_t jet_get(struct nats *n, struct str stream, struct str ask, int64_t timeout_ms,
                 nats_reply_fn *fn, void *arg)
{
    AUTO(buf) struct buf subject = BUF_INIT;
    buf_addf(&subject, "$JS.API.DIRECT.GET.%.*s", STR_FMT(stream));
    struct nats_request rq = {buf_str(&subject), STR_NONE, ask, timeout_ms};
    return nats_request(n, &rq, fn, arg);
}

static enum jet_read fault(struct error *err, int status, struct str text)
{
    error_set_origin(err, status == 404 ? ERR_NOT_FOUND : ERR_BAD_REPLY, ORIGIN_REMOTE,
                     "the NATS cluster answered %d %.*s", status, STR_FMT(str_cut(text, 200)));
    err->status = status;
    return JET_FAULT;
}

enum jet_read jet_read_record(const struct nats_msg *m, const struct error *why,
                              struct jet_record *ret, struct error *err)
{
    struct str text = STR_NONE;
    if (!m) {
        *err = *why;
        return JET_FAULT;
    }
    int status = nats_status(m->head, &text);
    if (status == 404 || status == 204) /* no such record; end of a batch */
        return JET_END;
    if (status)
        return fault(err, status, text);
    *ret = (struct jet_record){.subject = nats_header(m->head, "Nats-Subject"),
                               .n_pending = -1,
                               .head = m->head,
                               .body = m->body};
    if (!nats_header_int(m->head, "Nats-Sequence", &ret->seq) || !ret->subject.n)
        return fault(err, 0, STR("a record without a sequence"));
    nats_header_int(m->head, "Nats-Num-Pending", &ret->n_pending);
    int64_t ms = 0;
    if (time_from_iso(nats_header(m->head, "Nats-Time-Stamp"), &ms))
        ret->time_ns = ms * 1000000;
    return JET_RECORD;
}

void jet_kept_clear(struct jet_kept *k)
{
    buf_clear(&k->head);
    buf_clear(&k->body);
}

bool jet_last_await(struct nats *n, struct str stream, struct str subject, struct jet_kept *ret,
                    struct error *err)
{
    AUTO(buf) struct buf ask = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    char what[200];
    struct jw w = JW(&ask);
    jw_obj(&w);
    jw_kstr(&w, "last_by_subj", subject);
    jw_obj_end(&w);
    snprintf(what, sizeof what, "STREAM.MSG.GET.%.*s", STR_FMT(stream));
    ret->seq = 0;
    if (!jet_api_await(n, what, buf_str(&ask), API_MS, &j, err))
        return err->status == JET_NO_MESSAGE;
    yyjson_val *m = json_get(j.root, "message");
    time_from_iso(json_get_str(m, "time"), &ret->time_ms);
    if (!base64_get(&ret->head, json_get_str(m, "hdrs")) ||
        !base64_get(&ret->body, json_get_str(m, "data")))
        return error_set(err, ERR_BAD_REPLY, "a record that is not base64");
    ret->seq = json_get_int(m, "seq", 0);
    return ret->seq > 0 || error_set(err, ERR_BAD_REPLY, "a record without a sequence");
}

/* ---- consuming ---- */

/* The n-th part from the end of a subject, 0 is the last. */
static struct str part_from_end(struct str subject, int n)
{
    for (; n > 0; n--) {
        size_t at = str_rchr(subject, '.');
        subject = at == SIZE_MAX ? STR("") : str_cut(subject, at);
    }
    size_t at = str_rchr(subject, '.');
    return at == SIZE_MAX ? subject : str_from(subject, at + 1);
}

/* "$JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERED.SEQ.CONSUMER-SEQ.TIME.PENDING[.RANDOM]" */
static bool read_token(struct str token, struct jet_item *ret)
{
    int n_parts = 1;
    for (size_t i = 0; i < token.n; i++)
        n_parts += token.p[i] == '.';
    int skip = n_parts == 12 ? 1 : 0;
    return str_starts(token, STR("$JS.ACK.")) && (n_parts == 9 || n_parts == 11 || skip) &&
           str_int(part_from_end(token, skip + 3), &ret->seq) &&
           str_int(part_from_end(token, skip + 4), &ret->n_delivered);
}

enum jet_read jet_read_item(const struct nats_msg *m, struct jet_item *ret, struct error *err)
{
    struct str text = STR_NONE;
    int status = nats_status(m->head, &text);
    if (status == 404 || status == 408) /* no item in time */
        return JET_END;
    if (status)
        return fault(err, status, text);
    *ret = (struct jet_item){
        .subject = m->subject, .head = m->head, .body = m->body, .token = m->reply};
    if (!read_token(m->reply, ret))
        return fault(err, 0, STR("an item that cannot be acknowledged"));
    return JET_RECORD;
}

struct jet_puller {
    struct nats *nats;
    struct nats_sub *sub;
    struct timer *timer; /* where the server does not say that the time is over */
    char inbox[48];
    struct buf subject; /* of the requests */
    int n_left;         /* items that may still come; 0: nothing is asked for */
    jet_item_fn *fn;
    void *arg;
};

static void end_pull(struct jet_puller *p, const struct error *err)
{
    p->n_left = 0;
    timer_stop(p->timer);
    p->fn(p->arg, NULL, err);
}

static void on_pull_late(void *arg)
{
    end_pull(arg, NULL);
}

static void on_pulled(void *arg, const struct nats_msg *m)
{
    struct jet_puller *p = arg;
    struct jet_item item;
    struct error err;
    enum jet_read read = jet_read_item(m, &item, &err);
    if (read == JET_RECORD) {
        p->fn(p->arg, &item, NULL);
        if (p->n_left && --p->n_left == 0)
            end_pull(p, NULL);
    } else if (p->n_left) {
        end_pull(p, read == JET_END ? NULL : &err);
    }
}

struct jet_puller *jet_puller_new(struct nats *n, struct str stream, struct str consumer,
                                  jet_item_fn *fn, void *arg)
{
    struct jet_puller *p = xnew(struct jet_puller);
    char random[INBOX_RANDOM + 1];
    id_hex(random, INBOX_RANDOM);
    *p = (struct jet_puller){.nats = n, .fn = fn, .arg = arg};
    snprintf(p->inbox, sizeof p->inbox, "_INBOX.%s", random);
    buf_addf(&p->subject, "$JS.API.CONSUMER.MSG.NEXT.%.*s.%.*s", STR_FMT(stream),
             STR_FMT(consumer));
    p->sub = nats_subscribe(n, str_of(p->inbox), STR_NONE, on_pulled, p);
    p->timer = timer_new(nats_loop(n), on_pull_late, p);
    return p;
}

void jet_puller_free(struct jet_puller *p)
{
    if (!p)
        return;
    nats_unsubscribe(p->sub);
    timer_free(p->timer);
    buf_clear(&p->subject);
    free(p);
}

bool jet_puller_ask(struct jet_puller *p, int n_items, int64_t expires_ms, struct error *err)
{
    AUTO(buf) struct buf ask = BUF_INIT;
    struct jw w = JW(&ask);
    jw_obj(&w);
    jw_kint(&w, "batch", n_items);
    jw_kint(&w, "expires", expires_ms * 1000000);
    jw_obj_end(&w);
    if (!nats_publish(p->nats, buf_str(&p->subject), str_of(p->inbox), STR_NONE, buf_str(&ask),
                      err))
        return false;
    p->n_left = n_items;
    timer_start(p->timer, expires_ms + SPARE_MS);
    return true;
}

bool jet_answer(struct nats *n, struct str token, enum jet_answer how, int64_t delay_ms,
                struct error *err)
{
    static const char *const words[] = {"+ACK", "+WPI", "-NAK", "+TERM"};
    AUTO(buf) struct buf body = BUF_INIT;
    buf_addz(&body, words[how]);
    if (how == JET_NAK && delay_ms > 0)
        buf_addf(&body, " {\"delay\":%lld}", (long long)delay_ms * 1000000);
    return nats_publish(n, token, STR_NONE, STR_NONE, buf_str(&body), err);
}

/* ---- managing ---- */

static bool read_api_error(yyjson_val *error, const char *what, struct error *err)
{
    bool is_missing = json_get_int(error, "code", 0) == 404;
    error_set_origin(err, is_missing ? ERR_NOT_FOUND : ERR_BAD_REQUEST, ORIGIN_REMOTE,
                     "the NATS cluster refused %s: %.*s", what,
                     STR_FMT(str_cut(json_get_str(error, "description"), 300)));
    err->status = (int)json_get_int(error, "err_code", 0);
    return false;
}

bool jet_api_await(struct nats *n, const char *what, struct str body, int64_t timeout_ms,
                   struct json *ret, struct error *err)
{
    AUTO(buf) struct buf subject = BUF_INIT;
    AUTO(nats_reply) struct nats_reply reply = NATS_REPLY_INIT;
    buf_addf(&subject, "$JS.API.%s", what);
    struct nats_request rq = {buf_str(&subject), STR_NONE, body, timeout_ms};
    if (!nats_request_await(n, &rq, &reply, err))
        return error_prefix(err, "%s", what);
    if (!json_parse(buf_str(&reply.body), JSON_FIX_UTF8, LIMIT_JSON_DEPTH, ret, err))
        return error_prefix(err, "the answer to %s", what);
    yyjson_val *error = json_get(ret->root, "error");
    if (!error)
        return true;
    read_api_error(error, what, err);
    json_clear(ret);
    return false;
}

bool jet_stream_await(struct nats *n, struct str name, struct str config, bool *ret_is_new,
                      struct error *err)
{
    AUTO(json) struct json j = JSON_INIT, made = JSON_INIT;
    char what[200];
    snprintf(what, sizeof what, "STREAM.INFO.%.*s", STR_FMT(name));
    bool is_there = jet_api_await(n, what, STR_NONE, API_MS, &j, err);
    if (!is_there && err->status != JET_NO_STREAM)
        return false;
    snprintf(what, sizeof what, "STREAM.%s.%.*s", is_there ? "UPDATE" : "CREATE", STR_FMT(name));
    if (!jet_api_await(n, what, config, API_MS, &made, err))
        return false;
    *ret_is_new = !is_there;
    return true;
}

bool jet_consumer_await(struct nats *n, struct str stream, struct str name, struct str config,
                        struct error *err)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    char what[200];
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kstr(&w, "stream_name", stream);
    jw_kraw(&w, "config", config);
    jw_obj_end(&w);
    snprintf(what, sizeof what, "CONSUMER.DURABLE.CREATE.%.*s.%.*s", STR_FMT(stream),
             STR_FMT(name));
    return jet_api_await(n, what, buf_str(&body), API_MS, &j, err);
}
