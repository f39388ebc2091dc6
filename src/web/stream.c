/* SPDX-License-Identifier: MIT */
/* Answers without an end: each message of the transport is one chunk. */
#include "web/impl.h"

#include "base/mem.h"
#include "base/time.h"
#include "web/answer.h"
#include "wire/conn.h"

#include <stdio.h>

static struct client *client_of(struct transport *t)
{
    return CONTAINER_OF(t, struct client, transport);
}

static void put_chunk(struct client *c, struct buf *body, const struct splices *splices)
{
    char size[24];
    size_t n = splices_total(splices, buf_str(body));
    if (c->is_closing || c->state != CLIENT_STREAMING || n == 0)
        return; /* a chunk of size 0 would end the answer */
    int length = snprintf(size, sizeof size, "%zx\r\n", n);
    writer_put(c->writer, str_n(size, (size_t)length));
    transport_put(c->writer, body, splices);
    writer_put(c->writer, STR("\r\n"));
}

static void stream_send(struct transport *t, struct buf *body, const struct splices *splices)
{
    put_chunk(client_of(t), body, splices);
}

static void end_stream(struct client *c)
{
    if (c->state != CLIENT_STREAMING || c->is_closing)
        return;
    c->is_closing = true;
    writer_put(c->writer, STR("0\r\n\r\n"));
    client_leave(c);
}

static void stream_close(struct transport *t, int code, const char *reason)
{
    struct client *c = client_of(t);
    (void)code, (void)reason;
    end_stream(c);
    transport_end(c);
}

/* Nothing but the request comes from the client.  The connection begins with a resume. */
static void stream_pause(struct transport *t, bool is_paused)
{
    struct client *c = client_of(t);
    if (!is_paused && c->state != CLIENT_STREAMING)
        transport_end(c);
}

static void stream_free(struct transport *t)
{
    struct client *c = client_of(t);
    c->is_held = false;
    end_stream(c);
    transport_release(c);
}

static const struct transport_ops stream_ops = {stream_send, stream_pause, stream_close,
                                                stream_free};

static void put_head(struct exchange *x, const char *type)
{
    AUTO(buf) struct buf head = BUF_INIT;
    answer_put(&head, &(struct answer){.status = 200,
                                       .type = type,
                                       .extra = buf_str(&x->rq.extra),
                                       .is_chunked = true,
                                       .closes = true});
    writer_put(x->c->writer, buf_str(&head));
}

struct transport *stream_begin(struct exchange *x, const char *type, bool has_comments)
{
    struct client *c = x->c;
    c->closes = true;
    put_head(x, type);
    if (x->is_head)
        return NULL;
    struct transport *t = transport_give(c, &stream_ops);
    if (c->state == CLIENT_CLOSED)
        return t;
    c->state = CLIENT_STREAMING;
    c->is_stream = true;
    c->has_comments = has_comments;
    c->web->counts.streams++;
    buf_clear(&c->rest);
    reader_pause(c->reader, false);
    timer_start(c->timer, c->web->times.comment);
    if (c->has_eof)
        client_drop(c);
    else if (c->web->on_stopped)
        end_stream(c);
    return t;
}

void stream_tick(struct client *c)
{
    static const struct splices none;
    AUTO(buf) struct buf comment = BUF_INIT;
    if (transport_is_stalled(c)) {
        client_drop(c);
        return;
    }
    if (!judge_again(c)) {
        stream_close(&c->transport, WEB_CLOSE_TOKEN, "");
        return;
    }
    buf_addz(&comment, ":\n\n");
    if (c->has_comments && writer_queued(c->writer) == 0)
        put_chunk(c, &comment, &none);
    timer_start(c->timer, c->web->times.comment);
}

/* ---- for WebSockets too ---- */

struct transport *transport_give(struct client *c, const struct transport_ops *ops)
{
    c->transport = (struct transport){.ops = ops, .writer = c->writer};
    c->is_held = true;
    c->moved_us = c->heard_us = time_mono_us();
    client_ref(c);
    return &c->transport;
}

/* From the loop: the end, and for whatever waits for the writer, that it broke. */
static void on_tell(void *arg)
{
    struct client *c = arg;
    c->telling = NULL;
    if (!c->transport.conn)
        return; /* the connection resumes input when it begins, which comes back here */
    client_ref(c);
    if (!c->is_told) {
        c->is_told = true;
        conn_take_end(c->transport.conn);
    }
    if (c->is_held && c->state == CLIENT_CLOSED)
        conn_take_written(c->transport.conn, true);
    client_unref(c);
}

void transport_end(struct client *c)
{
    if (c->is_held && !c->telling)
        c->telling = loop_soon(c->l, on_tell, c);
}

void transport_release(struct client *c)
{
    loop_take_back(take(&c->telling));
    client_unref(c);
}

bool transport_is_stalled(struct client *c)
{
    int64_t now = time_mono_us();
    if (client_makes_progress(c))
        c->moved_us = now;
    return now - c->moved_us >= c->web->times.stall * 1000;
}
