/* SPDX-License-Identifier: MIT */
/* The output of a running call so far, emitted now and then: its last lines, never all of it.
 *
 * The number of events does not depend on how much a command prints: the first comes after
 * FIRST_MS, and the pauses between two events grow, so that a long command does not push everything
 * else out of what is kept of the turn.  A command that ends before FIRST_MS has no such event; its
 * result comes at once.
 */
#include "engine/turn_impl.h"

#include "base/time.h"
#include "base/utf8.h"

enum { FIRST_MS = 100, LAST_MS = 2000, TAIL_BYTES = 2048, TAIL_LINES = 20 };

struct output {
    struct turn *turn;
    const struct event_call *call;
    struct timer *timer;
    bool is_waiting; /* the timer runs */
    struct buf tail;
    int64_t began_us, pause_ms;
};

struct output *output_new(struct turn *t, const struct event_call *call)
{
    struct output *o = xnew(struct output);
    o->turn = t;
    o->call = call;
    o->began_us = time_mono_us();
    o->pause_ms = FIRST_MS;
    return o;
}

/* The last lines that fit, whole ones where there are any. */
static struct str last_lines(struct str s)
{
    struct str tail = s.n > TAIL_BYTES ? str_from(s, s.n - TAIL_BYTES) : s;
    size_t n_lines = 0;
    if (tail.n < s.n && str_chr(tail, '\n') + 1 < tail.n) /* no newline: nothing is left out */
        tail = str_from(tail, str_chr(tail, '\n') + 1);
    size_t at = tail.n ? tail.n - 1 : 0; /* the last newline ends the last line */
    while (at > 0 && !(tail.p[at - 1] == '\n' && ++n_lines == TAIL_LINES))
        at--;
    return str_from(tail, at);
}

static void on_timer(void *arg)
{
    struct output *o = arg;
    AUTO(buf) struct buf text = BUF_INIT;
    o->is_waiting = false;
    utf8_repair(&text, last_lines(buf_str(&o->tail)));
    session_emit(o->turn->session, o->turn,
                 &(struct event){.kind = EV_CALL_OUTPUT,
                                 .call = o->call,
                                 .text = buf_str(&text),
                                 .count = (time_mono_us() - o->began_us) / 1000});
    o->pause_ms = MIN(o->pause_ms + o->pause_ms / 8 + 1, LAST_MS);
}

void output_take(void *arg, struct str bytes)
{
    struct output *o = arg;
    if (bytes.n > 2 * TAIL_BYTES)
        bytes = str_from(bytes, bytes.n - 2 * TAIL_BYTES);
    buf_add(&o->tail, bytes);
    if (o->tail.n > 8 * TAIL_BYTES) {
        memmove(o->tail.p, o->tail.p + o->tail.n - 2 * TAIL_BYTES, 2 * TAIL_BYTES);
        buf_cut(&o->tail, 2 * TAIL_BYTES);
    }
    if (o->is_waiting)
        return;
    if (!o->timer)
        o->timer = timer_new(o->turn->engine->loop, on_timer, o);
    timer_start(o->timer, o->pause_ms);
    o->is_waiting = true;
}

void output_free(struct output *o)
{
    if (!o)
        return;
    timer_free(o->timer);
    buf_clear(&o->tail);
    free(o);
}
