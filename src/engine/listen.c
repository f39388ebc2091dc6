/* SPDX-License-Identifier: MIT */
/* Events and listeners.
 *
 * An event gets its number, is kept for replay and goes to every listener.  A listener that can
 * take no more for now either pauses the session (the only client of a process, on stdio), or falls
 * behind: it misses events, and gets them from memory or from the file when it can take them again.
 * Attaching is the same: the listener begins behind, at its cursor.
 *
 *     file, journal   seq <= s->gone      merged: one text per reply
 *     rings           seq > s->gone       exactly as it was
 *     open questions, settings            sent again at the end
 */
#include "base/mem.h"
#include "base/time.h"
#include "engine/replay.h"
#include "engine/turn_impl.h"
#include "loop/child.h"

/* ---- delivering ---- */

/* Of a piece of text whose beginning the listener has, it gets the rest. */
static bool cut_known(struct listener *l, struct event *e)
{
    size_t *has = &l->has[e->kind == EV_REASONING];
    size_t known = *has > e->at ? *has - e->at : 0;
    if (known >= e->text.n)
        return false;
    e->text = str_from(e->text, known);
    e->at += known;
    *has = e->at + e->text.n;
    return true;
}

static void deliver(struct session *s, struct listener *l, const struct event *e)
{
    l->sent = e->seq;
    if (e->kind == EV_TEXT || e->kind == EV_REASONING) {
        struct event piece = *e;
        if (cut_known(l, &piece))
            l->on_event(l->arg, s, &piece);
        return;
    }
    if (e->kind == EV_REPLY_DONE || e->kind == EV_TURN_STARTED || e->kind == EV_TURN_ENDED)
        l->has[0] = l->has[1] = 0;
    if (e->kind == EV_PERMISSION_ASKED || e->kind == EV_QUESTION_ASKED)
        l->asked = e->seq;
    l->on_event(l->arg, s, e);
}

/* Pieces of a reply are numbered by their place in it. */
static void place_piece(struct turn *t, struct event *e)
{
    if (e->kind == EV_TEXT || e->kind == EV_REASONING) {
        size_t *shown = &t->n_shown[e->kind == EV_REASONING];
        e->at = *shown;
        *shown += e->text.n;
    } else if (e->kind == EV_REPLY_DONE || e->kind == EV_TURN_STARTED) {
        t->n_shown[0] = t->n_shown[1] = 0;
    }
}

static void keep(struct session *s, struct turn *t, const struct event *e)
{
    if (!event_rows[e->kind].is_kept) {
        s->state_seq = e->seq;
    } else if (t) {
        event_ring_add(&t->ring, e);
        s->gone = MAX(s->gone, t->ring.gone);
    } else {
        event_ring_add(&s->ring, e);
    }
}

void session_lose_events(struct session *s)
{
    s->lost = s->seq;
}

void session_emit(struct session *s, struct turn *t, struct event *e)
{
    if (t && t->is_cancel_asked && s->settings->is_quiet_after_cancel &&
        e->kind != EV_CANCEL_ASKED && e->kind != EV_TURN_ENDED && e->kind != EV_USAGE_CHANGED)
        return;
    if (event_rows[e->kind].is_kept)
        s->seq++;
    e->seq = s->seq;
    e->time_ms = time_now_ms();
    if (t) {
        e->turn_id = str_of(t->id);
        if (e->kind == EV_TURN_STARTED)
            t->started_seq = e->seq;
        place_piece(t, e);
        if (event_rows[e->kind].is_numbered)
            e->turn_seq = ++t->n_events;
    }
    keep(s, t, e);
    for (struct listener *l = s->listeners, *next; l; l = next) {
        next = l->next;
        if (!l->catching)
            deliver(s, l, e);
    }
}

/* ---- catching up ---- */

struct catching { /* of a listener that is behind */
    struct session *session;
    struct listener *listener; /* NULL: it has left */
    struct wait room;          /* woken when it can take more, or leaves */
    bool has_fiber;
    bool is_sending; /* catch_up uses it */
};

/* The next event of several rings, by number. */
struct merge {
    struct event_cursor *at;
    size_t n, capacity;
};

static void merge_clear(struct merge *m)
{
    free(m->at);
}

static void merge_add(struct merge *m, const struct event_ring *r, int64_t after)
{
    if (event_ring_last_seq(r) <= after)
        return;
    GROW(m->at, m->n, m->capacity);
    m->at[m->n++] = event_ring_begin(r, after);
}

static void merge_turns(struct merge *m, const struct session *s, const struct turn *list,
                        int64_t after)
{
    for (const struct turn *t = list; t; t = t->next)
        if (t->session == s)
            merge_add(m, &t->ring, after);
}

static bool merge_next(struct merge *m, int64_t upto, struct event *ret)
{
    struct event_cursor *next = NULL;
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].node && (!next || event_cursor_seq(&m->at[i]) < event_cursor_seq(next)))
            next = &m->at[i];
    if (!next || event_cursor_seq(next) > upto)
        return false;
    *ret = event_cursor_take(next);
    return true;
}

/* Whether the listener is still there and takes more. */
static bool has_room(const struct catching *c)
{
    return c->listener && !c->listener->is_full;
}

/* A callback may emit events, which may let others fall out of the rings: then the caller begins
 * again. */
static bool send_event(struct catching *c, const struct event *e)
{
    int64_t before = c->session->seq;
    deliver(c->session, c->listener, e);
    return has_room(c) && c->session->seq == before;
}

/* Events of the rings behind what it has and what fell out.  True: there is nothing more. */
static bool send_rings(struct catching *c)
{
    struct session *s = c->session;
    struct event e;
    for (;;) {
        AUTO(merge) struct merge m = {0};
        int64_t after = MAX(c->listener->sent, s->gone);
        merge_turns(&m, s, s->engine->finished, after);
        merge_turns(&m, s, s->running, after);
        merge_turns(&m, s, s->waiting, after);
        merge_add(&m, &s->ring, after);
        bool has_next = merge_next(&m, INT64_MAX, &e);
        while (has_next && send_event(c, &e))
            has_next = merge_next(&m, INT64_MAX, &e);
        if (!has_room(c))
            return false;
        if (!has_next)
            return true;
    }
}

/* Waits until the listener takes more; false: it has left. */
static bool wait_for_room_await(struct catching *c)
{
    while (c->listener && c->listener->is_full) {
        wait_reset(&c->room);
        wait_through_await(&c->room);
    }
    return c->listener != NULL;
}

/* What is in memory although later events fell out: inputs that wait, the call that runs. */
static void send_between(struct catching *c, int64_t upto)
{
    struct session *s = c->session;
    struct event e;
    AUTO(merge) struct merge m = {0};
    merge_turns(&m, s, s->waiting, c->listener->sent);
    merge_add(&m, &s->ring, c->listener->sent);
    const struct event *call = s->running ? event_ring_lost_call(&s->running->ring) : NULL;
    while (c->listener && merge_next(&m, upto, &e)) {
        if (call && call->seq < e.seq && call->seq > c->listener->sent)
            deliver(s, c->listener, call);
        if (c->listener)
            deliver(s, c->listener, &e);
    }
    if (c->listener && call && call->seq > c->listener->sent && call->seq <= upto)
        deliver(s, c->listener, call);
}

static bool send_slice_await(struct catching *c, const struct event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!wait_for_room_await(c))
            return false;
        send_between(c, events[i].seq - 1);
        if (!c->listener)
            return false;
        deliver(c->session, c->listener, &events[i]);
    }
    return c->listener != NULL;
}

/* Everything up to s->gone, from the file and the journal. */
static bool send_file_await(struct catching *c, struct replay *r)
{
    struct session *s = c->session;
    int64_t upto = s->gone;
    size_t n;
    const struct event *events;
    while ((events = replay_read_through_await(r, c->listener ? c->listener->sent : 0, upto, &n)) &&
           n > 0)
        if (!send_slice_await(c, events, n))
            return false;
    if (c->listener && s->running && c->listener->sent < upto) {
        events = replay_read_open_through_await(r, upto, &n);
        for (size_t i = 0; i < n && c->listener; i++)
            deliver(s, c->listener, &events[i]);
    }
    if (!c->listener)
        return false;
    send_between(c, upto);
    if (c->listener)
        c->listener->sent = MAX(c->listener->sent, upto);
    return c->listener != NULL;
}

/* What is not kept: open questions, and that settings and context may be others. */
static void send_state(struct session *s, struct listener *l)
{
    struct turn *t = s->running;
    struct pending *asked[] = {t ? &t->permission : NULL, t ? &t->question : NULL};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        if (asked[i] && asked[i]->is_open && asked[i]->event->seq > l->asked) {
            int64_t sent = l->sent;
            deliver(s, l, asked[i]->event);
            l->sent = sent;
        }
    if (s->state_seq <= l->state_seq)
        return;
    l->state_seq = s->seq;
    struct event usage = {.kind = EV_USAGE_CHANGED,
                          .seq = s->seq,
                          .time_ms = time_now_ms(),
                          .count = s->context_tokens,
                          .window = session_window(s)};
    struct event settings = {.kind = EV_SETTINGS_CHANGED, .seq = s->seq, .time_ms = usage.time_ms};
    l->on_event(l->arg, s, &usage);
    l->on_event(l->arg, s, &settings);
}

/* The listener is up to date. */
static void catch_over(struct catching *c)
{
    struct session *s = c->session;
    struct listener *l = c->listener;
    l->catching = NULL;
    l->sent = s->seq;
    free(c);
    send_state(s, l);
}

static void catching_fiber(void *arg)
{
    struct catching *c = arg;
    struct session *s = c->session;
    struct replay *r = NULL;
    while (wait_for_room_await(c)) {
        if (c->listener->sent < s->gone) {
            if (!r)
                r = replay_new(s);
            if (!send_file_await(c, r))
                break;
        } else if (send_rings(c)) {
            catch_over(c);
            c = NULL;
            break;
        }
    }
    replay_free(r);
    free(c);
    session_release(s);
}

/* Sends what it can at once, and leaves the rest to a fiber. */
static void catch_up(struct session *s, struct listener *l)
{
    struct catching *c = l->catching;
    if (c->has_fiber || c->is_sending)
        return;
    c->is_sending = true;
    bool is_over = !l->is_full && l->sent >= s->gone && send_rings(c);
    c->is_sending = false;
    if (!c->listener) { /* it left meanwhile */
        free(c);
        return;
    }
    if (is_over) {
        catch_over(c);
        return;
    }
    if (c->listener->is_full && c->listener->sent >= s->gone)
        return; /* listener_set_full goes on */
    c->has_fiber = true;
    session_hold(s);
    fiber_start(s->engine->loop, "catch up", catching_fiber, c);
}

static void fall_behind(struct session *s, struct listener *l)
{
    l->catching = xnew(struct catching);
    *l->catching = (struct catching){.session = s, .listener = l, .room = WAIT_INIT};
    l->state_seq = s->seq;
}

/* ---- listening ---- */

void session_listen(struct session *s, struct listener *l)
{
    struct listener **end = &s->listeners;
    while (*end)
        end = &(*end)->next;
    l->next = NULL;
    l->catching = NULL;
    l->sent = l->state_seq = s->seq;
    l->has[0] = l->has[1] = 0;
    l->asked = 0;
    *end = l;
}

enum attach_mode session_attach(struct session *s, struct listener *l, int64_t after)
{
    bool is_replayable = after <= s->seq && after > s->lost && (after >= s->gone || s->has_file);
    enum attach_mode mode = !is_replayable     ? ATTACH_SNAPSHOT
                            : after >= s->gone ? ATTACH_EXACT
                                               : ATTACH_MERGED;
    session_listen(s, l);
    fall_behind(s, l);
    l->sent = is_replayable ? after : s->seq;
    catch_up(s, l);
    return mode;
}

int64_t session_seq(const struct session *s)
{
    return s->seq;
}

int64_t session_floor(const struct session *s)
{
    return s->gone;
}

int64_t session_turn_begin(const struct session *s)
{
    const struct turn *t = s->running;
    return t && t->started_seq ? t->started_seq - 1 : s->seq;
}

void session_unlisten(struct session *s, struct listener *l)
{
    struct catching *c = l->catching;
    listener_set_full(s, l, false);
    l->catching = NULL;
    if (c && (c->has_fiber || c->is_sending)) {
        c->listener = NULL;
        wait_wake(&c->room);
    } else {
        free(c);
    }
    for (struct listener **at = &s->listeners; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            return;
        }
}

struct listener *session_listener(const struct session *s, listener_fn *on_event)
{
    struct listener *l = s->listeners;
    while (l && l->on_event != on_event)
        l = l->next;
    return l;
}

void listener_set_full(struct session *s, struct listener *l, bool full)
{
    if (l->is_full == full)
        return;
    l->is_full = full;
    if (!l->may_lag) {
        s->n_full += full ? 1 : -1u;
        session_pause_sources(s);
        return;
    }
    if (full && !l->catching)
        fall_behind(s, l);
    else if (!full && l->catching && l->catching->has_fiber)
        wait_wake(&l->catching->room);
    else if (!full && l->catching)
        catch_up(s, l);
}

void session_pause_sources(struct session *s)
{
    bool is_paused = s->n_full > 0;
    if (s->stream)
        s->stream->provider->pause(s->stream, is_paused);
    if (s->running && s->running->child)
        child_pause(s->running->child, is_paused);
}
