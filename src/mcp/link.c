/* SPDX-License-Identifier: MIT */
#include "mcp/link.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/time.h"
#include "base/utf8.h"

enum { LOGGED_BYTES = 200, CODE_NO_METHOD = -32601 };

struct waiting_answer { /* on the stack of its fiber */
    struct waiting_answer *next;
    const struct mcp_request *rq;
    int64_t id;
    int64_t last_us; /* when it was sent, or its last progress */
    double progress;
    struct wait wait;
    bool has_answer, ok;
    struct json doc; /* root: the result, or the error object */
    struct error err;
};

struct link {
    struct loop *loop;
    struct link_hooks hooks;
    const struct link_transport *ops;
    void *transport;
    enum mcp_era era;
    char version[16];
    int64_t last_id;
    struct waiting_answer *waiting;
    bool is_over;
    bool is_freed;   /* goes with the last request */
    bool has_warned; /* of a message that is none */
    struct error why;
    char *root, *name;
};

struct link *link_new(struct loop *l, const struct link_hooks *hooks)
{
    struct link *k = xnew(struct link);
    k->loop = l;
    k->hooks = *hooks;
    k->root = hooks->root.p ? str_dup(hooks->root) : NULL;
    k->name = str_dup(hooks->name);
    return k;
}

void link_attach(struct link *k, const struct link_transport *t, void *transport)
{
    k->ops = t;
    k->transport = transport;
}

void *link_transport(const struct link *k)
{
    return k->transport;
}

void link_set_era(struct link *k, enum mcp_era era, struct str version)
{
    k->era = era;
    version = str_cut(version, sizeof k->version - 1);
    memcpy(k->version, version.p, version.n);
    k->version[version.n] = '\0';
}

enum mcp_era link_era(const struct link *k)
{
    return k->era;
}

struct str link_version(const struct link *k)
{
    return str_of(k->version);
}

/* After link_free and the end of every request. */
static void release(struct link *k)
{
    if (!k->is_freed || k->waiting)
        return;
    free(k->root);
    free(k->name);
    free(k);
}

void link_free(struct link *k)
{
    struct error why;
    if (!k)
        return;
    k->hooks.on_over = NULL;
    error_set(&why, ERR_IO, "the connection was closed");
    link_over(k, &why);
    if (k->ops)
        k->ops->free(k->transport);
    k->ops = NULL;
    k->is_freed = true;
    release(k);
}

void link_close(struct link *k)
{
    if (!k->is_over && k->ops)
        k->ops->close(k->transport);
}

bool link_is_over(const struct link *k)
{
    return k->is_over;
}

const struct error *link_reason(const struct link *k)
{
    return &k->why;
}

/* ---- sending ---- */

/* token: of the progress; 0: it is not asked for. */
static void put_meta(struct link *k, struct jw *w, int64_t token)
{
    bool is_modern = k->era == ERA_MODERN;
    if (!is_modern && token == 0)
        return;
    jw_kobj(w, "_meta");
    if (is_modern) {
        jw_kz(w, "io.modelcontextprotocol/protocolVersion", k->version);
        jw_kraw(w, "io.modelcontextprotocol/clientInfo",
                STR("{\"name\":\"trivet\",\"version\":\"" TRIVET_VERSION "\"}"));
        jw_kraw(w, "io.modelcontextprotocol/clientCapabilities", STR("{}"));
    }
    if (token)
        jw_kint(w, "progressToken", token);
    jw_obj_end(w);
}

static bool send_text(struct link *k, struct str text, struct error *err)
{
    struct mcp_outgoing m = {.text = text};
    if (k->is_over || !k->ops) {
        *err = k->why;
        return false;
    }
    return k->ops->send(k->transport, &m, err);
}

static bool send_call(struct link *k, const struct mcp_request *rq, int64_t id, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    struct mcp_outgoing m = {.method = str_of(rq->method),
                             .name = rq->name,
                             .headers = rq->headers,
                             .id = id,
                             .is_notice = rq->is_notice};
    bool has_id = id && !rq->is_notice;
    if (k->is_over || !k->ops) {
        *err = k->why;
        return false;
    }
    jw_obj(&w);
    jw_kz(&w, "jsonrpc", "2.0");
    if (has_id)
        jw_kint(&w, "id", id);
    jw_kz(&w, "method", rq->method);
    if (rq->members.n || has_id || k->era == ERA_MODERN) {
        jw_kobj(&w, "params");
        if (rq->members.n) {
            buf_add(&text, rq->members);
            w.comma = true;
        }
        put_meta(k, &w, rq->on_progress ? id : 0);
        jw_obj_end(&w);
    }
    jw_obj_end(&w);
    m.text = buf_str(&text);
    return k->ops->send(k->transport, &m, err);
}

bool link_notify(struct link *k, const char *method, struct str members, struct error *err)
{
    struct mcp_request rq = {.method = method, .members = members};
    return send_call(k, &rq, 0, err);
}

/* ---- waiting ---- */

static struct waiting_answer *find_waiting(struct link *k, int64_t id)
{
    for (struct waiting_answer *w = k->waiting; w; w = w->next)
        if (w->id == id)
            return w;
    return NULL;
}

static void unlist(struct link *k, struct waiting_answer *w)
{
    struct waiting_answer **at = &k->waiting;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

/* How long to wait from now on; 0 or less when the time is over. */
static int64_t left_ms(const struct waiting_answer *w, int64_t began_us)
{
    int64_t now_us = time_mono_us();
    int64_t idle = w->rq->idle_ms - (now_us - w->last_us) / 1000;
    int64_t most = w->rq->most_ms ? w->rq->most_ms - (now_us - began_us) / 1000 : idle;
    return MIN(idle, most);
}

static bool hear_await(struct link *k, struct waiting_answer *w, struct error *err)
{
    int64_t began_us = w->last_us;
    while (!w->has_answer) {
        int64_t ms = left_ms(w, began_us);
        if (ms <= 0)
            return error_set(err, ERR_TIMEOUT, "no answer to %s within %lld ms", w->rq->method,
                             (long long)(time_mono_us() - began_us) / 1000);
        wait_reset(&w->wait);
        if (!wait_timed_await(k->loop, &w->wait, ms, err) && err->code != ERR_TIMEOUT)
            return false;
    }
    return true;
}

/* Sends the server that the answer is not wanted any more. */
static void cancel_request(struct link *k, const struct waiting_answer *w, const struct error *why)
{
    AUTO(buf) struct buf members = BUF_INIT;
    struct jw jw = {.out = &members};
    struct error ignored;
    if (k->is_over || w->rq->is_final)
        return;
    if (k->ops->drop && k->ops->drop(k->transport, w->id))
        return;
    jw_kint(&jw, "requestId", w->id);
    jw_kz(&jw, "reason", why->code == ERR_TIMEOUT ? "timeout" : "canceled by the user");
    link_notify(k, "notifications/cancelled", buf_str(&members), &ignored);
}

bool link_request_await(struct link *k, const struct mcp_request *rq, struct json *ret,
                        struct error *err)
{
    struct waiting_answer w = {
        .rq = rq, .id = ++k->last_id, .last_us = time_mono_us(), .progress = -1};
    w.next = k->waiting;
    k->waiting = &w;
    bool ok = send_call(k, rq, w.id, err) && hear_await(k, &w, err);
    if (!ok && !w.has_answer)
        cancel_request(k, &w, err);
    unlist(k, &w);
    release(k); /* after this the link may be gone */
    if (!ok) {
        json_clear(&w.doc);
        return false;
    }
    *ret = w.doc;
    if (!w.ok)
        *err = w.err;
    return w.ok;
}

static void answer(struct waiting_answer *w, bool ok, struct json *doc, const struct error *err)
{
    if (w->has_answer)
        return;
    w->has_answer = true;
    w->ok = ok;
    if (doc)
        w->doc = take(doc);
    if (err)
        w->err = *err;
    wait_wake(&w->wait);
}

void link_fail(struct link *k, int64_t id, const struct error *err)
{
    struct waiting_answer *w = find_waiting(k, id);
    if (w)
        answer(w, false, NULL, err);
}

void link_done(struct link *k, int64_t id)
{
    struct waiting_answer *w = find_waiting(k, id);
    if (w)
        answer(w, true, NULL, NULL);
}

bool link_waits(const struct link *k, int64_t id)
{
    const struct waiting_answer *w = k->waiting;
    while (w && w->id != id)
        w = w->next;
    return w && !w->has_answer;
}

void link_touch(struct link *k, int64_t id)
{
    struct waiting_answer *w = find_waiting(k, id);
    if (w)
        w->last_us = time_mono_us();
}

void link_over(struct link *k, const struct error *why)
{
    if (k->is_over)
        return;
    k->is_over = true;
    k->why = *why;
    for (struct waiting_answer *w = k->waiting; w; w = w->next)
        answer(w, false, NULL, why);
    if (k->hooks.on_over)
        k->hooks.on_over(k->hooks.arg);
}

/* ---- receiving ---- */

static void put_roots(struct link *k, struct jw *w)
{
    static const char plain[] = "-._~/";
    jw_karr(w, "roots");
    jw_obj(w);
    AUTO(buf) struct buf uri = BUF_INIT;
    buf_addz(&uri, "file://");
    for (const char *p = k->root; *p; p++) {
        bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                        (*p >= '0' && *p <= '9') || strchr(plain, *p);
        if (is_plain)
            buf_addc(&uri, *p);
        else
            buf_addf(&uri, "%%%02X", (unsigned char)*p);
    }
    jw_kstr(w, "uri", buf_str(&uri));
    const char *slash = strrchr(k->root, '/');
    jw_kz(w, "name", slash && slash[1] ? slash + 1 : k->root);
    jw_obj_end(w);
    jw_arr_end(w);
}

/* Servers may ask for a sign of life and for the workspace; sampling and elicitation are not
 * offered. */
static void answer_server(struct link *k, struct str method, yyjson_val *id)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    struct error ignored;
    bool is_ping = str_is(method, "ping");
    bool is_roots = str_is(method, "roots/list") && k->root && k->era == ERA_LEGACY;
    jw_obj(&w);
    jw_kz(&w, "jsonrpc", "2.0");
    jw_kval(&w, "id", id);
    if (is_ping || is_roots) {
        jw_kobj(&w, "result");
        if (is_roots)
            put_roots(k, &w);
    } else {
        jw_kobj(&w, "error");
        jw_kint(&w, "code", CODE_NO_METHOD);
        jw_kz(&w, "message", "this client does not offer that method");
    }
    jw_obj_end(&w);
    jw_obj_end(&w);
    if (!is_ping && !is_roots)
        log_info("mcp %s: refused its request %.*s", k->name, STR_FMT(str_cut(method, 60)));
    send_text(k, buf_str(&text), &ignored);
}

static void on_progress(struct link *k, yyjson_val *params)
{
    int64_t token;
    yyjson_val *given = json_get(params, "progressToken");
    if (!json_is_whole(given, &token) && !str_int(json_str(given), &token))
        return;
    struct waiting_answer *w = find_waiting(k, token);
    if (!w || !w->rq->on_progress)
        return;
    double progress = json_get_num(params, "progress", 0);
    if (progress <= w->progress) /* it must rise; a server that stands still does not count */
        return;
    w->progress = progress;
    w->last_us = time_mono_us();
    w->rq->on_progress(w->rq->arg, progress, json_get_num(params, "total", 0),
                       json_get_str(params, "message"));
}

static void on_notice(struct link *k, struct str method, yyjson_val *params)
{
    if (str_is(method, "notifications/progress"))
        on_progress(k, params);
    else if (str_is(method, "notifications/message"))
        log_info("mcp %s: %.*s", k->name,
                 STR_FMT(utf8_cut(json_get_str(params, "data"), LOGGED_BYTES)));
    else if (k->hooks.on_notice)
        k->hooks.on_notice(k->hooks.arg, method, params);
}

static void on_response(struct waiting_answer *w, struct json *doc, yyjson_val *message)
{
    yyjson_val *error = json_get(message, "error");
    struct error err = ERROR_INIT;
    doc->root = error ? error : json_get(message, "result");
    if (error) {
        AUTO(buf) struct buf clean = BUF_INIT;
        struct str text = json_get_str(error, "message");
        shown_add(&clean, utf8_cut(text.n ? text : STR("the server failed"), 300), false);
        error_set_origin(&err, ERR_PROVIDER, ORIGIN_REMOTE, "%s (%lld)", clean.p,
                         (long long)json_get_int(error, "code", 0));
        err.status = (int)json_get_int(error, "code", 0);
    }
    answer(w, !error, doc, &err);
}

/* True: it was a message.  An answer takes the document over. */
static bool take_one(struct link *k, struct json *doc, yyjson_val *message)
{
    struct str method = json_get_str(message, "method");
    yyjson_val *id = json_get(message, "id");
    int64_t number;
    if (!yyjson_is_obj(message))
        return false;
    if (method.p && id && !yyjson_is_null(id)) {
        answer_server(k, method, id);
    } else if (method.p) {
        on_notice(k, method, json_get(message, "params"));
    } else if (json_is_whole(id, &number) &&
               (json_get(message, "result") || json_get(message, "error"))) {
        struct waiting_answer *w = find_waiting(k, number);
        if (w)
            on_response(w, doc, message);
    } else {
        return false;
    }
    return true;
}

/* Each member of an array with a document of its own, as an answer takes its document. */
static bool take_batch(struct link *k, yyjson_val *list)
{
    size_t i, max;
    yyjson_val *item;
    bool ok = true;
    yyjson_arr_foreach(list, i, max, item) {
        AUTO(buf) struct buf text = BUF_INIT;
        struct jw w = JW(&text);
        jw_val(&w, item);
        ok = !yyjson_is_arr(item) && link_take(k, buf_str(&text)) && ok;
    }
    return ok;
}

bool link_take(struct link *k, struct str text)
{
    AUTO(json) struct json doc = JSON_INIT;
    struct error err;
    bool ok = json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &doc, &err);
    if (ok)
        ok = yyjson_is_arr(doc.root) ? take_batch(k, doc.root) : take_one(k, &doc, doc.root);
    if (!ok && !k->has_warned) {
        k->has_warned = true;
        log_info("mcp %s: output that is no message is skipped: %.*s", k->name,
                 STR_FMT(utf8_cut(text, LOGGED_BYTES)));
    }
    return ok;
}
