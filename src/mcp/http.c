/* SPDX-License-Identifier: MIT */
/* What an answer means:
 *
 *     200 JSON, or events    messages; a stream that ends before the answer is ERR_CUT
 *     202                    a notification was taken
 *     400, 404, 405          with an error of the newest protocol: that error, else ERR_BAD_REQUEST
 *     401, 403               ERR_AUTH: it wants a sign-in or another token
 *     403 with a scope       ERR_DENIED: it wants a token with further rights (http_wanted)
 *     404 with a session     ERR_NOT_FOUND: the server has forgotten it (http_is_expired)
 *
 * ERR_BAD_REQUEST is how a server of the older protocol is known.
 * Redirects are not followed: headers may hold secrets.
 */
#include "mcp/http.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/secret.h"
#include "base/shown.h"
#include "base/time.h"
#include "base/utf8.h"
#include "mcp/oauth_impl.h"
#include "net/http.h"
#include "net/sse.h"

enum {
    END_MS = 1500,
    HEADERS = 64,
    SESSION_BYTES = 1024,
    RETRY_MS = 1000,
    RETRY_MOST_MS = 30000,
    RESUMES = 5,
    ANSWERS = 64, /* on their way to the server at once, each on a connection of its own */
    STEADY_US = 10 * 1000 * 1000 /* a stream that lasted so long was no failure */
};

struct http_exchange { /* a message and its answer */
    struct http_exchange *next;
    struct http_link *web;
    struct http *http;
    int64_t id; /* 0: nothing waits for it */
    bool is_probe, is_notice;
    bool is_last;    /* the end of the session */
    bool is_hearing; /* http_hear */
    int status;
    bool is_stream;
    struct ready *stop; /* of one that floods */
    struct buf last;    /* id of the last event, by which a stream goes on */
    int64_t retry_ms;   /* before that */
    int64_t began_us;   /* of a stream that was asked for by GET */
    int n_resumed;
    struct timer *pause; /* until then */
    struct sse sse;
    struct buf body;      /* of the answer */
    struct str challenge; /* its WWW-Authenticate */
    struct arena arena;
};

struct http_link {
    struct link *link;
    struct loop *loop;
    const struct mcp_config *config;
    char *token;   /* of a sign-in, or NULL */
    char *session; /* of the older protocol, or NULL */
    char *wanted;  /* http_wanted, or NULL */
    struct http_exchange *exchanges;
    struct timer *end;
};

static void exchange_free(struct http_exchange *x)
{
    struct http_exchange **at = &x->web->exchanges;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    loop_take_back(x->stop);
    timer_free(x->pause);
    buf_clear(&x->last);
    sse_clear(&x->sse);
    buf_clear(&x->body);
    arena_clear(&x->arena);
    free(x);
}

static void fail(struct http_exchange *x, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void fail(struct http_exchange *x, enum err_code code, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    error_set_origin(&err, code, ORIGIN_REMOTE, "%s", text.p);
    err.status = x->status;
    if (x->id)
        link_fail(x->web->link, x->id, &err);
}

struct str http_token(const struct link *k)
{
    const struct http_link *w = link_transport(k);
    return str_of(w->token);
}

void http_set_token(struct link *k, struct str token)
{
    struct http_link *w = link_transport(k);
    free(w->token);
    w->token = str_dup(token);
    if (link_era(k) == ERA_LEGACY && link_version(k).n)
        http_hear(k);
}

struct str http_wanted(const struct link *k)
{
    const struct http_link *w = link_transport(k);
    return str_of(w->wanted);
}

bool http_is_expired(const struct error *err)
{
    return err->code == ERR_NOT_FOUND && err->status == 404;
}

static void on_pause(void *arg);

/* ---- answers ---- */

static void on_event(void *arg, struct str event, struct str data)
{
    struct http_exchange *x = arg;
    if ((!event.n || str_is(event, "message")) && data.n)
        link_take(x->web->link, data);
}

static void on_comment(void *arg)
{
    struct http_exchange *x = arg;
    link_touch(x->web->link, x->id);
}

static void on_mark(void *arg, struct str name, struct str value)
{
    struct http_exchange *x = arg;
    int64_t ms;
    if (str_is(name, "retry") && str_int(value, &ms) && ms >= 0)
        x->retry_ms = MIN(ms, (int64_t)RETRY_MOST_MS);
    if (!str_is(name, "id") || value.n > SESSION_BYTES || str_chr(value, '\0') != SIZE_MAX)
        return;
    buf_reset(&x->last);
    buf_add(&x->last, value);
}

static void on_status(void *arg, int status, struct str content_type)
{
    struct http_exchange *x = arg;
    x->status = status;
    x->is_stream = status == 200 && str_ifind(content_type, STR("text/event-stream")) == 0;
    if (x->is_notice)
        link_done(x->web->link, x->id);
}

static void on_header(void *arg, struct str name, struct str value)
{
    struct http_exchange *x = arg;
    value = str_trim(value);
    if (str_ieq(name, STR("www-authenticate")))
        x->challenge = arena_str(&x->arena, value);
    if (!str_ieq(name, STR("mcp-session-id")) || !value.n || value.n > SESSION_BYTES ||
        link_era(x->web->link) != ERA_LEGACY)
        return;
    free(x->web->session);
    x->web->session = str_dup(value);
}

static void on_stop(void *arg)
{
    struct http_exchange *x = arg;
    x->stop = NULL;
    http_cancel(x->http);
    exchange_free(x);
}

static void on_body(void *arg, struct str bytes)
{
    struct http_exchange *x = arg;
    if (x->stop)
        return;
    link_touch(x->web->link, x->id);
    if (x->is_stream ? sse_feed(&x->sse, bytes) : buf_add(&x->body, bytes))
        return;
    fail(x, ERR_LIMIT, "it sent a message that is too long");
    x->stop = loop_soon(x->web->loop, on_stop, x);
}

/* An error of the newest protocol that came with a status other than 200; its id may be null. */
static bool take_modern_error(struct http_exchange *x, yyjson_val *error)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    int64_t code = json_get_int(error, "code", 0);
    bool is_missing = code == -32601 && x->is_probe; /* the probe is optional */
    if (code != -32020 && code != -32021 && code != -32022 && code != -32601)
        return false;
    jw_obj(&w);
    jw_kint(&w, "id", x->id);
    if (is_missing)
        jw_kraw(&w, "result",
                STR("{\"supportedVersions\":[\"" MCP_MODERN_VERSION "\"],\"capabilities\":{"
                    "\"tools\":{}}}"));
    else
        jw_kval(&w, "error", error);
    jw_obj_end(&w);
    return link_take(x->web->link, buf_str(&text));
}

/* A token that does not suffice for this request (RFC 6750). */
static bool take_wanted(struct http_exchange *x)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    struct http_link *w = x->web;
    struct str name = w->config->name, scope = challenge_parameter(x->challenge, "scope");
    if (x->status != 403 || !w->token || !scope.n ||
        !str_is(challenge_parameter(x->challenge, "error"), "insufficient_scope"))
        return false;
    free(w->wanted);
    w->wanted = str_dup(scope);
    shown_add(&clean, utf8_cut(scope, 200), false);
    fail(x, ERR_DENIED,
         "the server %.*s wants further rights (%s): `trivet mcp login %.*s` asks for them",
         STR_FMT(name), clean.p, STR_FMT(name));
    return true;
}

static void take_failure(struct http_exchange *x)
{
    AUTO(json) struct json doc = JSON_INIT;
    struct error ignored;
    struct http_link *w = x->web;
    struct str name = w->config->name, said = STR_NONE;
    if (json_parse(buf_str(&x->body), JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &doc, &ignored)) {
        yyjson_val *error = json_get(doc.root, "error");
        said = json_get_str(error, "message");
        if (x->id && x->status < 500 && take_modern_error(x, error))
            return;
    }
    if (take_wanted(x))
        return;
    AUTO(buf) struct buf clean = BUF_INIT;
    shown_add(&clean, utf8_cut(said, 200), false);
    said = buf_str(&clean);
    if (x->status == 401 || x->status == 403)
        fail(x, ERR_AUTH,
             "the server %.*s %s (HTTP %d): credentials are missing; `trivet mcp login %.*s` signs "
             "in, or its settings name `headers`",
             STR_FMT(name), w->token ? "refused the sign-in" : "wants a sign-in", x->status,
             STR_FMT(name));
    else if (x->status == 404 && w->session)
        fail(x, ERR_NOT_FOUND, "the server has ended the session");
    else
        fail(x, x->status < 500 ? ERR_BAD_REQUEST : ERR_PROVIDER,
             "the server answered HTTP %d%s%.*s", x->status, said.n ? ": " : "", STR_FMT(said));
}

/* A stream of the older protocol that ended before the answer goes on where it ended; that of what
 * the server says by itself always, unless the server has none. */
static bool is_resumable(struct http_exchange *x)
{
    if (x->is_hearing && time_mono_us() - x->began_us > STEADY_US)
        x->n_resumed = 0;
    if (x->n_resumed >= RESUMES || link_era(x->web->link) != ERA_LEGACY)
        return false;
    return x->is_hearing ? x->is_stream || !x->status
                         : x->is_stream && x->last.n && link_waits(x->web->link, x->id);
}

static void resume_later(struct http_exchange *x)
{
    int64_t ms = x->is_hearing ? x->retry_ms << x->n_resumed : x->retry_ms;
    x->n_resumed++;
    x->pause = x->pause ? x->pause : timer_new(x->web->loop, on_pause, x);
    timer_start(x->pause, MIN(ms, (int64_t)RETRY_MOST_MS));
}

static void on_end(void *arg, const struct error *err)
{
    struct http_exchange *x = arg;
    struct http_link *w = x->web;
    x->http = NULL;
    if (x->is_stream && !err)
        sse_end(&x->sse);
    if (is_resumable(x)) {
        resume_later(x);
        return;
    }
    if (err && x->id)
        link_fail(w->link, x->id, err);
    else if (!err && x->is_stream)
        ;
    else if (!err && (x->status < 200 || x->status > 299))
        take_failure(x);
    else if (!err && x->body.n)
        link_take(w->link, buf_str(&x->body));
    fail(x, ERR_CUT, "the answer ended before the result"); /* if nothing was said before */
    bool is_last = x->is_last;
    exchange_free(x);
    if (is_last)
        timer_start(w->end, 0);
}

/* ---- sending ---- */

struct headers {
    struct http_header v[HEADERS];
    size_t n;
    struct arena *arena;
};

static void add_header(struct headers *h, const char *name, struct str value)
{
    if (h->n < HEADERS && value.p)
        h->v[h->n++] = (struct http_header){str_of(name), value};
}

/* Visible ASCII as it is, everything else in base64. */
static struct str header_value(struct arena *a, struct str s)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool is_plain = s.n && s.p[0] != ' ' && s.p[s.n - 1] != ' ' && !str_starts(s, STR("=?"));
    for (size_t i = 0; i < s.n && is_plain; i++)
        is_plain = s.p[i] >= ' ' && s.p[i] <= '~';
    if (is_plain)
        return arena_str(a, s);
    buf_addz(&out, "=?base64?");
    base64_put(&out, s);
    buf_addz(&out, "?=");
    return arena_str(a, buf_str(&out));
}

static void add_modern(struct headers *h, const struct mcp_outgoing *m)
{
    AUTO(json) struct json doc = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *key, *v;
    if (m->method.p)
        add_header(h, "Mcp-Method", arena_str(h->arena, m->method));
    if (m->name.p)
        add_header(h, "Mcp-Name", header_value(h->arena, m->name));
    if (!m->headers.n || !json_parse(m->headers, 0, 4, &doc, &ignored))
        return;
    yyjson_obj_foreach(doc.root, i, max, key, v)
        add_header(h, arena_fmt(h->arena, "Mcp-Param-%.*s", STR_FMT(json_str(key))).p,
                   header_value(h->arena, json_str(v)));
}

static void add_headers(struct http_link *w, struct headers *h)
{
    const struct mcp_config *c = w->config;
    bool has_authorization = false;
    for (size_t i = 0; i < c->n_headers; i++) {
        has_authorization |= str_ieq(c->headers[i].name, STR("authorization"));
        if (h->n < HEADERS)
            h->v[h->n++] = (struct http_header){c->headers[i].name, c->headers[i].value};
    }
    if (w->token && !has_authorization)
        add_header(h, "Authorization", arena_fmt(h->arena, "Bearer %s", w->token));
    struct str version = link_version(w->link);
    if (version.n)
        add_header(h, "MCP-Protocol-Version", arena_str(h->arena, version));
    if (w->session && link_era(w->link) == ERA_LEGACY)
        add_header(h, "Mcp-Session-Id", arena_str(h->arena, str_of(w->session)));
}

static bool start(struct http_exchange *x, const char *method, struct headers *h, struct str body,
                  struct error *err)
{
    struct http_request rq = {
        .method = method,
        .url = x->web->config->url,
        .headers = h->v,
        .n_headers = h->n,
        .body = body,
        .on_status = on_status,
        .on_header = on_header,
        .on_body = on_body,
        .on_end = on_end,
        .arg = x,
    };
    x->http = http_start(x->web->loop, &rq, err);
    if (x->http)
        return true;
    exchange_free(x);
    return false;
}

static bool get_stream(struct http_exchange *x, struct error *err)
{
    struct headers h = {.arena = &x->arena};
    arena_clear(&x->arena);
    add_header(&h, "Accept", STR("text/event-stream"));
    add_headers(x->web, &h);
    if (x->last.n)
        add_header(&h, "Last-Event-ID", arena_str(&x->arena, buf_str(&x->last)));
    x->status = 0;
    x->is_stream = false;
    x->began_us = time_mono_us();
    return start(x, "GET", &h, STR(""), err);
}

static void on_pause(void *arg)
{
    struct http_exchange *x = arg;
    struct error err;
    struct link *k = x->web->link;
    int64_t id = x->id;
    if (!get_stream(x, &err))
        link_fail(k, id, &err);
}

static struct http_exchange *exchange_new(struct http_link *w, int64_t id)
{
    struct http_exchange *x = xnew(struct http_exchange);
    *x = (struct http_exchange){
        .web = w, .next = w->exchanges, .id = id, .body = BUF_MAX(LIMIT_MCP_LINE_BYTES)};
    w->exchanges = x;
    sse_init(&x->sse, LIMIT_MCP_LINE_BYTES);
    x->sse.on_event = on_event;
    x->sse.on_comment = on_comment;
    x->sse.on_mark = on_mark;
    x->retry_ms = RETRY_MS;
    x->sse.arg = x;
    return x;
}

static void drop_exchange(struct http_exchange *x)
{
    if (x->http)
        http_cancel(x->http);
    exchange_free(x);
}

static void stop_hearing(struct http_link *w)
{
    struct http_exchange *x = w->exchanges;
    while (x && !x->is_hearing)
        x = x->next;
    if (x)
        drop_exchange(x);
}

void http_hear(struct link *k)
{
    struct http_link *w = link_transport(k);
    struct error ignored;
    stop_hearing(w);
    struct http_exchange *x = exchange_new(w, 0);
    x->is_hearing = true;
    get_stream(x, &ignored);
}

/* What no request waits for: answers and notifications. */
static size_t count_unawaited(const struct http_link *w)
{
    size_t n = 0;
    for (const struct http_exchange *x = w->exchanges; x; x = x->next)
        n += !x->id;
    return n;
}

static bool web_send(void *transport, const struct mcp_outgoing *m, struct error *err)
{
    struct http_link *w = transport;
    if (!m->id && count_unawaited(w) >= ANSWERS)
        return error_set(err, ERR_LIMIT, "the server asks for too much at once");
    struct http_exchange *x = exchange_new(w, m->id);
    struct headers h = {.arena = &x->arena};
    x->is_probe = str_is(m->method, "server/discover");
    x->is_notice = m->is_notice;
    if (str_is(m->method, "initialize"))
        free(take(&w->session));
    add_header(&h, "Content-Type", STR("application/json"));
    add_header(&h, "Accept", STR("application/json, text/event-stream"));
    add_headers(w, &h);
    if (link_era(w->link) == ERA_MODERN)
        add_modern(&h, m);
    return start(x, "POST", &h, arena_str(&x->arena, m->text), err);
}

/* For a modern server closing the stream is enough; an older one gets a notification. */
static bool web_drop(void *transport, int64_t id)
{
    struct http_link *w = transport;
    for (struct http_exchange *x = w->exchanges; x; x = x->next)
        if (x->id == id) {
            drop_exchange(x);
            break;
        }
    return link_era(w->link) == ERA_MODERN;
}

/* ---- the end ---- */

static void on_over(void *arg)
{
    struct http_link *w = arg;
    struct error why;
    error_set(&why, ERR_IO, "the connection was closed");
    link_over(w->link, &why);
}

/* Ends the session of the older protocol; whatever the server answers is fine. */
static void web_close(void *transport)
{
    struct http_link *w = transport;
    struct error ignored;
    stop_hearing(w);
    timer_start(w->end, w->session ? END_MS : 0);
    if (!w->session || link_era(w->link) != ERA_LEGACY)
        return;
    struct http_exchange *x = exchange_new(w, 0);
    struct headers h = {.arena = &x->arena};
    x->is_last = true;
    add_headers(w, &h);
    if (!start(x, "DELETE", &h, STR(""), &ignored))
        timer_start(w->end, 0);
}

static void web_free(void *transport)
{
    struct http_link *w = transport;
    while (w->exchanges)
        drop_exchange(w->exchanges);
    timer_free(w->end);
    free(w->token);
    free(w->session);
    free(w->wanted);
    free(w);
}

static const struct link_transport web_transport = {
    .send = web_send, .drop = web_drop, .close = web_close, .free = web_free};

/* ---- opening ---- */

static bool is_loopback(struct str url)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    struct str rest = str_from(url, strlen("http://"));
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        struct str behind = str_from(rest, strlen(hosts[i]));
        if (str_starts(rest, str_of(hosts[i])) &&
            (!behind.n || behind.p[0] == ':' || behind.p[0] == '/'))
            return true;
    }
    return false;
}

static bool has_secret(const struct mcp_config *c, struct str token)
{
    for (size_t i = 0; i < c->n_headers; i++)
        if (secret_is_name(c->headers[i].name) || str_ieq(c->headers[i].name, STR("authorization")))
            return true;
    return token.n > 0;
}

bool http_open(struct link *k, const struct mcp_place *p, const struct mcp_config *c,
               struct str token, struct error *err)
{
    if (p->is_required && c->network != MCP_NET_ON)
        return error_set(err, ERR_DENIED,
                         "TRIVET_SANDBOX=require shuts the network off, unless its settings say "
                         "`network`: true");
    if (str_starts(c->url, STR("http://")) && !is_loopback(c->url) && has_secret(c, token))
        return error_set(err, ERR_DENIED,
                         "its headers hold a secret, which goes over https:// alone");
    struct http_link *w = xnew(struct http_link);
    *w = (struct http_link){.link = k, .loop = p->loop, .config = c};
    w->token = token.n ? str_dup(token) : NULL;
    w->end = timer_new(p->loop, on_over, w);
    link_attach(k, &web_transport, w);
    return true;
}
