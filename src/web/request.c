/* SPDX-License-Identifier: MIT */
/* Requests and answers as handlers see them; the server behind them is a module. */
#include "web/web.h"

#include "base/mem.h"
#include "base/module.h"

#include <stdio.h>

const char *const web_reason_names[] = {"syntax", "host", "origin",     "token",    "rate",
                                        "size",   "slow", "overloaded", "unwanted", NULL};

const struct web_api *web_open_module(struct error *err)
{
    return module_open("web", "libwslay1", err);
}

/* ---- reading ---- */

struct str web_header(const struct web_request *rq, const char *name)
{
    for (size_t i = 0; i < rq->n_headers; i++)
        if (str_ieq(rq->headers[i].name, str_of(name)))
            return rq->headers[i].value;
    return STR_NONE;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool web_decode(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '%') {
            int high = i + 2 < text.n ? hex_value(text.p[i + 1]) : -1;
            int low = i + 2 < text.n ? hex_value(text.p[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        buf_addc(out, c);
    }
    return true;
}

/* Like web_decode, with "+" as a space. */
static bool decode_value(struct buf *out, struct str text)
{
    for (struct str part; text.p; buf_addc(out, ' ')) {
        text = str_split(text, '+', &part);
        if (!web_decode(out, part))
            return false;
    }
    buf_cut(out, out->n - 1); /* the space behind the last part */
    return true;
}

struct str web_query(struct web_request *rq, const char *name)
{
    struct str rest = rq->query, pair, key;
    while (rest.p && rest.n) {
        AUTO(buf) struct buf text = BUF_INIT;
        rest = str_split(rest, '&', &pair);
        struct str value = str_split(pair, '=', &key);
        if (!decode_value(&text, key) || !str_is(buf_str(&text), name))
            continue;
        buf_reset(&text);
        if (!decode_value(&text, value.p ? value : STR("")))
            return STR_NONE;
        return arena_str(&rq->arena, buf_str(&text));
    }
    return STR_NONE;
}

/* ---- answering ---- */

const char *web_status_words(int status)
{
    static const struct {
        int status;
        const char *words;
    } rows[] = {
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].status == status)
            return rows[i].words;
    return "Other";
}

void web_say(struct web_request *rq, const char *name, struct str value)
{
    buf_addf(&rq->extra, "%s: ", name);
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] >= ' ' && value.p[i] != 127)
            buf_addc(&rq->extra, value.p[i]);
    buf_addz(&rq->extra, "\r\n");
}

static void mark_answered(struct web_request *rq)
{
    if (rq->is_answered)
        BUG("%.*s was answered twice", STR_FMT(rq->path));
    rq->is_answered = true;
}

void web_reply(struct web_request *rq, int status, const char *type, struct buf *body)
{
    AUTO(buf) struct buf none = BUF_INIT;
    mark_answered(rq);
    rq->ops->reply(rq, status, type ? type : "application/json", body ? body : &none);
}

void web_problem_put(struct buf *out, int status, const char *code, struct str detail)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "type", "about:blank");
    jw_kz(&w, "title", web_status_words(status));
    jw_kint(&w, "status", status);
    jw_kz(&w, "code", code);
    jw_kstr(&w, "detail", detail);
    jw_obj_end(&w);
}

void web_problem(struct web_request *rq, int status, const char *code, const char *fmt, ...)
{
    AUTO(buf) struct buf detail = BUF_INIT, body = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&detail, fmt, ap);
    va_end(ap);
    web_problem_put(&body, status, code, buf_str(&detail));
    web_reply(rq, status, "application/problem+json", &body);
}

struct transport *web_stream(struct web_request *rq, const char *type)
{
    mark_answered(rq);
    return rq->ops->stream(rq, type, false);
}

struct transport *web_events(struct web_request *rq)
{
    mark_answered(rq);
    return rq->ops->stream(rq, "text/event-stream", true);
}

struct transport *web_upgrade(struct web_request *rq)
{
    if (!rq->wants_upgrade)
        BUG("%.*s asks for no WebSocket", STR_FMT(rq->path));
    mark_answered(rq);
    return rq->ops->upgrade(rq);
}

/* The next line of *rest, which ends with CR, LF or both: each would end a field of the event. */
static struct str next_line(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '\n' && rest->p[n] != '\r')
        n++;
    struct str line = str_cut(*rest, n);
    bool is_last = n == rest->n;
    n += !is_last && str_starts(str_from(*rest, n), STR("\r\n"));
    *rest = is_last ? STR_NONE : str_from(*rest, n + 1);
    return line;
}

void web_event_put(struct buf *out, const char *id, const char *event, struct str data)
{
    if (id)
        buf_addf(out, "id: %s\n", id);
    if (event)
        buf_addf(out, "event: %s\n", event);
    data = data.p ? data : STR("");
    while (data.p) {
        buf_addz(out, "data: ");
        buf_add(out, next_line(&data));
        buf_addc(out, '\n');
    }
    buf_addc(out, '\n');
}
