/* SPDX-License-Identifier: MIT */
#include "web/frames.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <wslay/wslay.h>

enum { CONTROL_MAX = 125 };

struct frames {
    struct frames_sink sink;
    wslay_frame_context_ptr wslay;
    struct str in;   /* bytes of the running feed that wslay has not taken */
    struct buf rest; /* the same, kept while it is paused */
    struct buf message;
    size_t limit;
    uint64_t frame_at; /* bytes of the current frame that were taken */
    unsigned char control[CONTROL_MAX];
    size_t n_control;
    bool is_message; /* a message has begun */
    bool is_paused;
    bool is_over; /* a Close or a fault was told */
    bool is_busy; /* frames are being read: frames_free is delayed */
    bool is_dead;
};

static ssize_t on_recv(uint8_t *to, size_t n, int flags, void *arg)
{
    struct frames *f = arg;
    (void)flags;
    n = MIN(n, f->in.n);
    if (n == 0)
        return -1;
    memcpy(to, f->in.p, n);
    f->in = str_from(f->in, n);
    return (ssize_t)n;
}

struct frames *frames_new(const struct frames_sink *sink)
{
    static const struct wslay_frame_callbacks callbacks = {.recv_callback = on_recv};
    struct frames *f = xnew(struct frames);
    f->sink = *sink;
    if (wslay_frame_context_init(&f->wslay, &callbacks, f) != 0)
        die("out of memory");
    return f;
}

void frames_free(struct frames *f)
{
    if (!f)
        return;
    f->is_dead = f->is_over = true;
    if (f->is_busy)
        return;
    wslay_frame_context_free(f->wslay);
    buf_clear(&f->rest);
    buf_clear(&f->message);
    free(f);
}

void frames_limit(struct frames *f, size_t limit)
{
    f->limit = limit;
}

static void fail(struct frames *f, int code)
{
    f->is_over = true;
    f->sink.on_fault(f->sink.arg, code);
}

/* ---- one frame ---- */

static bool is_control(unsigned opcode)
{
    return opcode & 8;
}

/* The code with which the frame that begins is refused; 0: it is fine.  Lengths and the final bit
 * of control frames were checked by wslay. */
static int check_begin(const struct frames *f, const struct wslay_frame_iocb *io)
{
    if (io->rsv || !io->mask)
        return FRAMES_PROTOCOL;
    if (is_control(io->opcode))
        return io->opcode <= WSLAY_PONG ? 0 : FRAMES_PROTOCOL;
    if (io->opcode == WSLAY_BINARY_FRAME && !f->is_message)
        return FRAMES_NOT_TEXT;
    if (io->opcode != (f->is_message ? WSLAY_CONTINUATION_FRAME : WSLAY_TEXT_FRAME))
        return FRAMES_PROTOCOL;
    return io->payload_length > f->limit - f->message.n ? FRAMES_TOO_BIG : 0;
}

static bool is_close_code(unsigned code)
{
    return (code >= 1000 && code <= 1014 && code != 1004 && code != FRAMES_NO_CODE &&
            code != 1006) ||
           (code >= 3000 && code <= 4999);
}

static void end_close(struct frames *f)
{
    const unsigned char *p = f->control;
    unsigned code = f->n_control >= 2 ? (unsigned)p[0] << 8 | p[1] : FRAMES_NO_CODE;
    if (f->n_control == 1 || (f->n_control >= 2 && !is_close_code(code))) {
        fail(f, FRAMES_PROTOCOL);
    } else if (f->n_control > 2 && !utf8_is_valid(str_n((const char *)p + 2, f->n_control - 2))) {
        fail(f, FRAMES_NOT_UTF8);
    } else {
        f->is_over = true;
        f->sink.on_close(f->sink.arg, (int)code);
    }
}

static void end_control(struct frames *f, unsigned opcode)
{
    if (opcode == WSLAY_CONNECTION_CLOSE)
        end_close(f);
    else if (opcode == WSLAY_PING)
        f->sink.on_ping(f->sink.arg, str_n((const char *)f->control, f->n_control));
    else
        f->sink.on_pong(f->sink.arg);
}

static void end_message(struct frames *f)
{
    AUTO(buf) struct buf text = take(&f->message);
    f->is_message = false;
    if (utf8_is_valid(buf_str(&text)))
        f->sink.on_message(f->sink.arg, buf_str(&text));
    else
        fail(f, FRAMES_NOT_UTF8);
}

static void take_part(struct frames *f, const struct wslay_frame_iocb *io)
{
    if (is_control(io->opcode)) {
        memcpy(f->control + f->frame_at, io->data, io->data_length);
        f->n_control = (size_t)f->frame_at + io->data_length;
    } else {
        f->is_message = true;
        buf_add(&f->message, str_n((const char *)io->data, io->data_length));
    }
    f->frame_at += io->data_length;
    if (f->frame_at < io->payload_length)
        return;
    f->frame_at = 0;
    if (is_control(io->opcode))
        end_control(f, io->opcode);
    else if (io->fin)
        end_message(f);
}

/* Reads one frame or a part of it; false when there are no more bytes. */
static bool read_one(struct frames *f)
{
    struct wslay_frame_iocb io = {0};
    ssize_t n = wslay_frame_recv(f->wslay, &io);
    if (n == WSLAY_ERR_WANT_READ)
        return false;
    int code = n < 0 ? FRAMES_PROTOCOL : f->frame_at == 0 ? check_begin(f, &io) : 0;
    if (code)
        fail(f, code);
    else
        take_part(f, &io);
    return true;
}

/* ---- feeding ---- */

static void run(struct frames *f, struct str bytes)
{
    f->in = bytes;
    f->is_busy = true;
    while (!f->is_paused && !f->is_over && read_one(f))
        ;
    f->is_busy = false;
    struct str left = f->in;
    f->in = STR_NONE;
    if (f->is_dead)
        frames_free(f);
    else if (!f->is_over && left.n)
        buf_add(&f->rest, left);
}

void frames_feed(struct frames *f, struct str bytes)
{
    if (f->is_over)
        return;
    if (f->is_paused || f->rest.n)
        buf_add(&f->rest, bytes);
    else
        run(f, bytes);
}

void frames_pause(struct frames *f, bool is_paused)
{
    f->is_paused = is_paused;
}

void frames_go_on(struct frames *f)
{
    AUTO(buf) struct buf rest = BUF_INIT;
    if (f->is_busy || f->is_paused || f->is_over)
        return;
    rest = take(&f->rest);
    run(f, buf_str(&rest));
}

size_t frames_head(unsigned char out[FRAMES_HEAD_MAX], enum frames_opcode opcode, uint64_t n)
{
    size_t n_length = n < 126 ? 0 : n <= UINT16_MAX ? 2 : 8;
    out[0] = (unsigned char)(0x80 | opcode);
    out[1] = (unsigned char)(n_length == 0 ? n : n_length == 2 ? 126 : 127);
    for (size_t i = 0; i < n_length; i++)
        out[2 + i] = (unsigned char)(n >> (8 * (n_length - 1 - i)));
    return 2 + n_length;
}
