/* SPDX-License-Identifier: MIT */
/* WebSockets.  A Close is answered and then the connection is left as after an answer; one that the
 * server sends waits for the client's a short time. */
#include "web/impl.h"

#include "base/mem.h"
#include "base/time.h"
#include "base/utf8.h"
#include "wire/conn.h"

enum {
    REASON_BYTES = 123,       /* of a Close */
    CONTROL_BYTES = 64 << 10, /* unsent bytes beyond which pings are neither sent nor answered */
};

static struct client *client_of(struct transport *t)
{
    return CONTAINER_OF(t, struct client, transport);
}

/* ---- sending ---- */

static void put_head(struct client *c, enum frames_opcode opcode, size_t n)
{
    unsigned char head[FRAMES_HEAD_MAX];
    size_t length = frames_head(head, opcode, n);
    writer_put(c->writer, str_n((const char *)head, length));
}

static void put_control(struct client *c, enum frames_opcode opcode, struct str payload)
{
    put_head(c, opcode, payload.n);
    writer_put(c->writer, payload);
}

static void put_close(struct client *c, int code, struct str reason)
{
    char payload[2 + REASON_BYTES] = {(char)(code >> 8), (char)code};
    if (c->is_closing)
        return;
    c->is_closing = true;
    reason = utf8_cut(reason, REASON_BYTES);
    memcpy(payload + 2, reason.p, reason.n);
    put_control(c, FRAMES_CLOSE, str_n(payload, code == FRAMES_NO_CODE ? 0 : 2 + reason.n));
}

static void socket_send(struct transport *t, struct buf *body, const struct splices *splices)
{
    struct client *c = client_of(t);
    if (c->is_closing || c->state != CLIENT_WEBSOCKET)
        return;
    put_head(c, FRAMES_TEXT, splices_total(splices, buf_str(body)));
    transport_put(c->writer, body, splices);
}

/* ---- receiving ---- */

static void on_message(void *arg, struct str text)
{
    struct client *c = arg;
    if (c->is_held && !c->is_closing && c->transport.conn)
        conn_take(c->transport.conn, text);
}

static void on_ping(void *arg, struct str payload)
{
    struct client *c = arg;
    if (!c->is_closing && writer_queued(c->writer) < CONTROL_BYTES)
        put_control(c, FRAMES_PONG, payload);
}

static void on_pong(void *arg)
{
    (void)arg; /* every byte counts as a sign of life */
}

static void on_close(void *arg, int code)
{
    struct client *c = arg;
    put_close(c, code, STR(""));
    client_leave(c);
    transport_end(c);
}

static void on_fault(void *arg, int code)
{
    struct client *c = arg;
    c->web->counts.refused[code == FRAMES_TOO_BIG ? WEB_TOO_MUCH : WEB_BAD_SYNTAX]++;
    put_close(c, code, STR(""));
    client_leave(c);
    transport_end(c);
}

void socket_take(struct client *c, struct str bytes)
{
    c->heard_us = time_mono_us();
    frames_limit(c->frames, c->transport.limit);
    frames_feed(c->frames, bytes);
}

static void socket_pause(struct transport *t, bool is_paused)
{
    struct client *c = client_of(t);
    if (c->state != CLIENT_WEBSOCKET) {
        if (!is_paused)
            transport_end(c);
        return;
    }
    if (c->is_closing)
        return; /* the client's Close is waited for */
    c->is_silenced = is_paused;
    c->heard_us = time_mono_us();
    frames_pause(c->frames, is_paused);
    reader_pause(c->reader, is_paused);
    if (!is_paused) {
        client_ref(c);
        frames_limit(c->frames, t->limit);
        frames_go_on(c->frames);
        client_unref(c);
    }
}

/* ---- ending ---- */

/* From now on messages are read and dropped. */
void socket_close(struct client *c, int code, const char *reason)
{
    if (c->state != CLIENT_WEBSOCKET || c->is_closing)
        return;
    put_close(c, code, str_of(reason));
    client_makes_progress(c);
    timer_start(c->timer, c->web->times.leave);
    c->is_silenced = false;
    frames_pause(c->frames, false);
    reader_pause(c->reader, false);
}

static void socket_end(struct transport *t, int code, const char *reason)
{
    socket_close(client_of(t), code, reason);
}

static void socket_free(struct transport *t)
{
    struct client *c = client_of(t);
    c->is_held = false;
    socket_close(c, WEB_CLOSE_DONE, "");
    transport_release(c);
}

static const struct transport_ops socket_ops = {socket_send, socket_pause, socket_end, socket_free};

/* ---- time ---- */

static void tick_closing(struct client *c)
{
    if (writer_queued(c->writer) > 0 && client_makes_progress(c))
        timer_start(c->timer, c->web->times.leave);
    else
        client_drop(c);
}

static bool is_silent(const struct client *c)
{
    return !c->is_silenced && time_mono_us() - c->heard_us >= c->web->times.silence * 1000;
}

void socket_tick(struct client *c)
{
    if (c->is_closing) {
        tick_closing(c);
    } else if (is_silent(c) || transport_is_stalled(c)) {
        client_drop(c);
    } else if (!judge_again(c)) {
        socket_close(c, WEB_CLOSE_TOKEN, "this token is no longer valid");
    } else {
        if (writer_queued(c->writer) < CONTROL_BYTES)
            put_control(c, FRAMES_PING, STR(""));
        timer_start(c->timer, c->web->times.ping);
    }
}

/* ---- beginning ---- */

void socket_accept(struct client *c)
{
    const struct frames_sink sink = {on_message, on_ping, on_pong, on_close, on_fault, c};
    AUTO(buf) struct buf head = BUF_INIT;
    buf_addz(&head, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\nSec-WebSocket-Protocol: " GUARD_PROTOCOL
                    "\r\nSec-WebSocket-Accept: ");
    guard_accept_key(&head, head_get(&c->head, "Sec-WebSocket-Key"));
    buf_addz(&head, "\r\n\r\n");
    writer_put(c->writer, buf_str(&head));
    c->frames = frames_new(&sink);
    c->web->counts.websockets++;
    c->state = CLIENT_WEBSOCKET;
    c->heard_us = c->moved_us = time_mono_us();
    timer_start(c->timer, c->web->times.ping);
}

struct transport *socket_begin(struct exchange *x)
{
    struct client *c = x->c;
    struct transport *t = transport_give(c, &socket_ops);
    if (c->state == CLIENT_CLOSED)
        return t;
    socket_accept(c);
    AUTO(buf) struct buf rest = take(&c->rest);
    socket_pause(t, true);
    frames_feed(c->frames, buf_str(&rest));
    if (c->has_eof)
        client_drop(c);
    else if (c->web->on_stopped)
        socket_close(c, WEB_CLOSE_RESTART, "the server restarts");
    return t;
}
