/* SPDX-License-Identifier: MIT */
/* The transport of all HTTP vendors: builds the request, passes the answer through the SSE parser
 * to the vendor's reader, and calls on_end exactly once, however the answer ends.
 *
 *     200 and text/event-stream        events to vendor->read until it is over or the peer ends
 *                                      lines that are no events may be an error object
 *     200 and anything else            the same if the body begins as a stream of events does; else
 *                                      the body is collected: an error object, a whole reply from a
 *                                      server that does not stream, or nothing of use
 *     another status                   the body is collected: error_from_http
 *
 * The stream may be freed inside any of its callbacks.  Then no further callback is called, the
 * connection is closed, and the memory is freed when the outermost callback has returned.
 */
#include "providers/vendor.h"

#include "base/limits.h"
#include "base/secret.h"
#include "base/utf8.h"
#include "net/sse.h"
#include "providers/limits.h"

enum { MAX_HEADERS = 16 };

struct vendor_stream {
    struct stream stream;
    const struct vendor *vendor;
    struct ask_sink sink;
    struct http *http; /* NULL: ended */
    struct sse sse;
    struct reply reply;
    void *state;          /* the vendor's */
    struct buf url, body; /* of the request */
    struct buf collected; /* an answer that is no stream, or text between its events */
    struct arena arena;   /* headers, key, kept response headers */
    struct str key;       /* removed from the provider's messages; the account too */
    struct str account_id;
    struct str turn_state; /* value of the vendor's turn_header */
    struct str content_type, retry_after, retry_after_ms;
    enum err_again again; /* x-should-retry */
    struct limits_book *limits;
    int status;
    bool is_events;        /* the answer is a stream of events */
    bool is_known;         /* is_events was decided */
    bool is_at_eof;        /* the peer has closed; the last event may lack its blank line */
    bool is_ended;         /* on_end was called or will not be */
    bool is_busy, is_dead; /* inside a callback; freed inside it */
};

static void no_text(void *arg, struct str delta)
{
    (void)arg;
    (void)delta;
}

static void no_news(void *arg)
{
    (void)arg;
}

static void stream_release(struct vendor_stream *s)
{
    http_cancel(s->http);
    sse_clear(&s->sse);
    reply_clear(&s->reply);
    buf_clear(&s->url);
    buf_clear(&s->body);
    buf_clear(&s->collected);
    arena_clear(&s->arena);
    if (s->vendor->clear)
        s->vendor->clear(s->state);
    free(s->state);
    free(s);
}

/* ---- the end ---- */

static void set_text(struct error *err, struct str text)
{
    struct str cut = utf8_cut(text, sizeof err->text - 1);
    memcpy(err->text, cut.p, cut.n);
    err->text[cut.n] = '\0';
}

/* Removes the key from an error text, also a truncated key at its end.  A very short key is no
 * secret and may be part of other words. */
static void remove_key(struct error *err, struct str key)
{
    enum { SHORTEST = 4 };
    AUTO(buf) struct buf clean = BUF_INIT;
    struct str rest = error_str(err);
    size_t at;
    if (key.n < SHORTEST)
        return;
    while ((at = str_find(rest, key)) != SIZE_MAX) {
        buf_addf(&clean, "%.*s[REDACTED]", STR_FMT(str_cut(rest, at)));
        rest = str_from(rest, at + key.n);
    }
    buf_add(&clean, rest);
    for (size_t n = MIN(key.n - 1, clean.n); n >= SHORTEST; n--) {
        if (memcmp(clean.p + clean.n - n, key.p, n) != 0)
            continue;
        buf_cut(&clean, clean.n - n);
        buf_addz(&clean, "[REDACTED]");
        break;
    }
    set_text(err, buf_str(&clean));
}

/* The peer may also quote a key of another request, or an example key. */
static void remove_secrets(struct error *err, const struct vendor_stream *s)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    remove_key(err, s->key);
    remove_key(err, s->account_id);
    if (secret_blank(error_str(err), &clean))
        set_text(err, buf_str(&clean));
}

static void end_with(struct vendor_stream *s, struct error *err)
{
    if (s->is_ended)
        return;
    s->is_ended = true;
    http_cancel(s->http);
    s->http = NULL;
    if (err) {
        remove_secrets(err, s);
        limits_wait(s->limits, s->stream.provider->name, err->retry_after_ms);
    }
    s->sink.on_end(s->sink.arg, &s->reply, err);
}

static bool has_error(struct str body)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    if (!json_parse(body, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored))
        return false;
    yyjson_val *top = yyjson_is_arr(json.root) ? yyjson_arr_get_first(json.root) : json.root;
    yyjson_val *error = json_get(top, "error");
    return (error && !yyjson_is_null(error)) || str_is(json_get_str(top, "object"), "error");
}

/* The stream has ended, or the reader needs no more. */
static void end_events(struct vendor_stream *s, const struct error *broken)
{
    struct error err;
    bool is_whole = s->vendor->finish(s->state, &s->reply, &s->sink, &err);
    if (s->is_dead)
        return;
    if (!is_whole && has_error(buf_str(&s->collected)))
        error_from_http(&err, s->vendor->label, s->status, buf_str(&s->collected), s->retry_after,
                        s->retry_after_ms);
    else if (broken && !is_whole)
        err = *broken; /* more precise than a missing end */
    end_with(s, is_whole ? NULL : &err);
}

/* A body that is one JSON value may be a reply of a server that does not stream. */
static bool read_whole(struct vendor_stream *s, struct str body)
{
    struct error ignored;
    bool is_over = false;
    body = str_trim(body);
    struct server_event whole = {STR(""), body};
    return body.n > 0 && (body.p[0] == '{' || body.p[0] == '[') &&
           s->vendor->read(s->state, &s->reply, &s->sink, &whole, &is_over, &ignored) &&
           !s->is_dead && s->vendor->finish(s->state, &s->reply, &s->sink, &ignored);
}

/* An answer that is no stream; `broken` says why it is not complete. */
static void end_collected(struct vendor_stream *s, const struct error *broken)
{
    struct error err;
    struct str body = buf_str(&s->collected);
    struct str type = s->content_type.n ? utf8_cut(s->content_type, 80) : STR("nothing");
    bool is_good = s->status / 100 == 2 && !has_error(body);
    bool is_read = is_good && !broken && read_whole(s, body);
    if (is_read || s->is_dead) {
        end_with(s, NULL);
        return;
    }
    if (!is_good)
        error_from_http(&err, s->vendor->label, s->status, body, s->retry_after, s->retry_after_ms);
    else if (broken)
        err = *broken;
    else
        error_set(&err, ERR_BAD_REPLY, "%s answered with %.*s instead of an event stream",
                  s->vendor->label, STR_FMT(type));
    if (s->again != AGAIN_UNSAID)
        err.again = s->again;
    end_with(s, &err);
}

/* ---- receiving ---- */

static void callback_begin(struct vendor_stream *s)
{
    s->is_busy = true;
}

static void callback_end(struct vendor_stream *s)
{
    s->is_busy = false;
    if (s->is_dead)
        stream_release(s);
}

static void read_event(struct vendor_stream *s, struct str name, struct str data)
{
    struct server_event event = {name, data};
    struct error err;
    bool is_over = false;
    if (s->is_ended)
        return;
    bool is_fine = s->vendor->read(s->state, &s->reply, &s->sink, &event, &is_over, &err);
    if (s->is_dead)
        return;
    if (!is_fine && s->is_at_eof && err.code == ERR_BAD_REPLY) {
        error_set(&err, ERR_CUT, "%s broke off in the middle of an event", s->vendor->label);
        end_events(s, &err);
    } else if (!is_fine) {
        end_with(s, &err);
    } else if (is_over) {
        struct http *done = take(&s->http);
        http_leave(done); /* its connection can be reused */
        end_events(s, NULL);
    }
}

/* Whether every line is a separate event: some servers omit the blank line between them. */
static bool is_many(struct str data)
{
    struct str line;
    if (str_chr(data, '\n') == SIZE_MAX)
        return false;
    while (data.n > 0 && str_line(&data, &line)) {
        line = str_trim(line);
        bool is_object = line.n > 1 && line.p[0] == '{' && line.p[line.n - 1] == '}';
        if (line.n > 0 && !is_object && !str_is(line, "[DONE]"))
            return false;
    }
    return true;
}

static void on_event(void *arg, struct str event, struct str data)
{
    struct vendor_stream *s = arg;
    struct str line;
    if (!is_many(data)) {
        read_event(s, event, data);
        return;
    }
    while (data.n > 0 && str_line(&data, &line))
        read_event(s, event, line);
}

/* Google may send a bare error object between the events. */
static void on_other(void *arg, struct str line)
{
    struct vendor_stream *s = arg;
    struct error err;
    if (str_chr(line, '\0') != SIZE_MAX && !s->is_ended) { /* an event may stand behind it */
        error_set(&err, ERR_BAD_REPLY, "%s sent a NUL byte between the events", s->vendor->label);
        end_with(s, &err);
        return;
    }
    buf_add(&s->collected, line);
    buf_addc(&s->collected, '\n');
}

static void on_status(void *arg, int status, struct str content_type)
{
    struct vendor_stream *s = arg;
    struct str type;
    str_split(content_type, ';', &type);
    s->status = status;
    limits_begin(s->limits, s->stream.provider->name);
    s->content_type = arena_str(&s->arena, content_type);
    /* An answer without content type is treated as an event stream. */
    s->is_events = status / 100 == 2 &&
                   (type.n == 0 || str_ieq(str_trim(type), STR("text/event-stream")));
    s->is_known = s->is_events || status / 100 != 2;
    s->collected.limit = s->is_known ? LIMIT_ERROR_BODY_BYTES : LIMIT_SSE_EVENT_BYTES;
}

static void on_header(void *arg, struct str name, struct str value)
{
    struct vendor_stream *s = arg;
    if (s->vendor->turn_header && str_ieq(name, str_of(s->vendor->turn_header)))
        s->turn_state = arena_str(&s->arena, value);
    if (str_ieq(name, STR("retry-after")))
        s->retry_after = arena_str(&s->arena, value);
    else if (str_ieq(name, STR("retry-after-ms")))
        s->retry_after_ms = arena_str(&s->arena, value);
    else if (str_ieq(name, STR("x-should-retry")))
        s->again = str_ieq(value, STR("true"))    ? AGAIN_YES
                   : str_ieq(value, STR("false")) ? AGAIN_NO
                                                  : AGAIN_UNSAID;
    else
        limits_header(s->limits, s->stream.provider->name, name, value);
}

static void take_events(struct vendor_stream *s, struct str bytes)
{
    struct error err;
    if (sse_feed(&s->sse, bytes) || s->is_ended)
        return;
    error_set(&err, ERR_BAD_REPLY, "%s sent an event larger than %d bytes", s->vendor->label,
              LIMIT_SSE_EVENT_BYTES);
    end_with(s, &err);
}

/* An event stream with another content type is recognised by its first bytes. */
static void look_for_events(struct vendor_stream *s)
{
    static const char *const begins[] = {"data:", "event:", ":"};
    struct str body = str_trim(buf_str(&s->collected));
    if (s->is_known || body.n == 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
        struct str begin = str_of(begins[i]);
        s->is_events |= str_starts(body, begin);
        if (body.n < begin.n && str_starts(begin, body))
            return; /* undecided: more bytes are needed */
    }
    s->is_known = true;
    if (!s->is_events)
        return;
    AUTO(buf) struct buf bytes = take(&s->collected);
    s->collected = BUF_MAX(LIMIT_ERROR_BODY_BYTES);
    take_events(s, buf_str(&bytes));
}

static void on_body(void *arg, struct str bytes)
{
    struct vendor_stream *s = arg;
    callback_begin(s);
    if (s->is_events) {
        take_events(s, bytes);
    } else {
        size_t limit = s->collected.limit;
        buf_add(&s->collected, str_cut(bytes, limit - s->collected.n));
        look_for_events(s);
        if (!s->is_events && s->collected.n == limit)
            end_collected(s, NULL);
    }
    callback_end(s);
}

static void on_http_end(void *arg, const struct error *broken)
{
    struct vendor_stream *s = arg;
    callback_begin(s);
    s->http = NULL;
    if (s->is_events) {
        s->is_at_eof = true;
        if (!broken)
            sse_end(&s->sse);
        if (!s->is_ended)
            end_events(s, broken);
    } else if (s->status != 0) {
        end_collected(s, broken);
    } else {
        struct error err;
        if (broken)
            err = *broken;
        else
            error_set(&err, ERR_NETWORK, "%s sent no answer", s->vendor->label);
        end_with(s, &err);
    }
    callback_end(s);
}

/* ---- the request ---- */

static size_t put_headers(struct vendor_stream *s, const struct ask *ask, struct http_header *out)
{
    size_t n = 0;
    out[n++] = (struct http_header){STR("Content-Type"), STR("application/json")};
    out[n++] = (struct http_header){STR("Accept"), STR("text/event-stream")};
    if (s->key.n > 0 && s->vendor->key_header)
        out[n++] = (struct http_header){str_of(s->vendor->key_header), s->key};
    else if (s->key.n > 0)
        out[n++] = (struct http_header){STR("Authorization"),
                                        arena_fmt(&s->arena, "Bearer %.*s", STR_FMT(s->key))};
    if (s->vendor->headers)
        n += s->vendor->headers(ask, &s->arena, out + n, MAX_HEADERS - n);
    return n;
}

static struct vendor_stream *stream_new(const struct provider *p, const struct vendor *v,
                                        const struct ask *ask, const struct ask_sink *sink)
{
    struct vendor_stream *s = xnew(struct vendor_stream);
    s->stream.provider = p;
    s->vendor = v;
    s->sink = *sink;
    s->sink.on_text = sink->on_text ? sink->on_text : no_text;
    s->sink.on_reasoning = sink->on_reasoning ? sink->on_reasoning : no_text;
    s->sink.on_alive = sink->on_alive ? sink->on_alive : no_news;
    s->state = xcalloc(1, MAX(v->state_size, (size_t)1));
    s->collected = BUF_MAX(LIMIT_ERROR_BODY_BYTES);
    s->key = arena_str(&s->arena, ask->key);
    s->account_id = arena_str(&s->arena, ask->account_id);
    s->reply.label = v->label;
    s->limits = ask->limits;
    sse_init(&s->sse, LIMIT_SSE_EVENT_BYTES);
    s->sse.on_event = on_event;
    s->sse.on_other = on_other;
    s->sse.arg = s;
    v->put_url(ask, &s->url);
    v->put_body(ask, &s->body);
    return s;
}

struct stream *vendor_start(const struct provider *p, const struct vendor *v, struct loop *l,
                            const struct ask *ask, const struct ask_sink *sink, struct error *err)
{
    struct vendor_stream *s = stream_new(p, v, ask, sink);
    struct http_header headers[MAX_HEADERS];
    struct http_request rq = {
        .method = "POST",
        .url = buf_str(&s->url),
        .headers = headers,
        .n_headers = put_headers(s, ask, headers),
        .body = buf_str(&s->body),
        .on_status = on_status,
        .on_header = on_header,
        .on_body = on_body,
        .on_end = on_http_end,
        .arg = s,
    };
    s->http = http_start(l, &rq, err);
    if (!s->http) {
        remove_secrets(err, s);
        stream_release(s);
        return NULL;
    }
    return &s->stream;
}

void vendor_pause(struct stream *stream, bool paused)
{
    struct vendor_stream *s = CONTAINER_OF(stream, struct vendor_stream, stream);
    if (s->http)
        http_pause(s->http, paused);
}

struct reply *vendor_reply(struct stream *stream)
{
    return &CONTAINER_OF(stream, struct vendor_stream, stream)->reply;
}

void vendor_free(struct stream *stream)
{
    if (!stream)
        return;
    struct vendor_stream *s = CONTAINER_OF(stream, struct vendor_stream, stream);
    if (!s->is_busy) {
        stream_release(s);
        return;
    }
    http_cancel(s->http);
    s->http = NULL;
    s->is_dead = s->is_ended = true;
    s->sink.on_text = s->sink.on_reasoning = no_text;
    s->sink.on_alive = no_news;
}

struct str vendor_turn_state(const struct stream *stream)
{
    return CONTAINER_OF(stream, struct vendor_stream, stream)->turn_state;
}

struct str vendor_request_body(const struct stream *stream)
{
    return buf_str(&CONTAINER_OF(stream, struct vendor_stream, stream)->body);
}

int64_t vendor_request_bytes(const struct stream *stream)
{
    return (int64_t)CONTAINER_OF(stream, struct vendor_stream, stream)->body.n;
}
