/* SPDX-License-Identifier: MIT */
/* Replay by session-wide number: from the rings where they reach, from the file where they do not.
 *
 *     file      turn A turn A turn B ...          merged: one text per reply, the last number
 *     rings              [turn B ... turn C]      exact, delta by delta
 *
 * A turn whose ring is complete is told from memory only; one whose ring has lost its beginning is
 * told from the file up to the ring's first event.
 */
#include "engine/turn_impl.h"

struct replay {
    struct session *session;
    int64_t after;
    event_fn *fn;
    void *arg;
    bool is_stopped;
    const struct event **events; /* of the rings, by seq */
    size_t n, room, at;
    struct arena arena;
};

static bool collect(void *arg, const struct event *e)
{
    struct replay *r = arg;
    if (e->seq <= r->after)
        return true;
    if (r->n == r->room) {
        r->room = r->room ? r->room * 2 : 64;
        r->events = xrealloc(r->events, r->room * sizeof(struct event *));
    }
    r->events[r->n++] = e;
    return true;
}

static int by_seq(const void *a, const void *b)
{
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void collect_turns(struct replay *r, struct turn *list)
{
    for (struct turn *t = list; t; t = t->next)
        if (t->session == r->session)
            event_ring_each(&t->ring, 0, collect, r);
}

/* Events of the rings that come before seq. */
static void tell_rings(struct replay *r, int64_t before)
{
    while (!r->is_stopped && r->at < r->n && r->events[r->at]->seq < before)
        r->is_stopped = !r->fn(r->arg, r->events[r->at++]);
}

static struct turn *find_turn(struct replay *r, struct str id)
{
    struct turn *t = id.p ? engine_find_turn(r->session->engine, id) : NULL;
    return t && t->session == r->session ? t : NULL;
}

/* Tells one event from the file unless memory tells it. */
static void tell(struct replay *r, struct str turn_id, struct event e)
{
    struct turn *t = find_turn(r, turn_id);
    if (e.seq <= r->after || r->is_stopped)
        return;
    if (t && t->ring.dropped_to == 0)
        return;
    if (t) {
        const struct event *first = NULL;
        for (size_t i = 0; i < r->n && !first; i++)
            if (str_eq(r->events[i]->turn_id, turn_id))
                first = r->events[i];
        if (first && e.seq >= first->seq)
            return;
    }
    tell_rings(r, e.seq);
    e.turn_id = turn_id;
    if (!r->is_stopped)
        r->is_stopped = !r->fn(r->arg, &e);
}

static void tell_message(struct replay *r, yyjson_val *v, int64_t seq, struct str turn)
{
    struct message m;
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw w = JW(&json);
    if (!message_get(&r->arena, json_get(v, "message"), &m))
        return;
    struct str text = message_text_of(&r->arena, &m);
    struct str reasoning = message_reasoning_of(&r->arena, &m);
    switch (m.role) {
    case ROLE_ASSISTANT:
        if (reasoning.n)
            tell(r, turn, (struct event){.kind = EV_REASONING, .text = reasoning, .seq = seq - 1});
        if (text.n)
            tell(r, turn, (struct event){.kind = EV_TEXT, .text = text, .seq = seq - 1});
        jw_val(&w, json_get(v, "message"));
        tell(r, turn, (struct event){.kind = EV_REPLY_DONE, .json = buf_str(&json), .seq = seq});
        break;
    case ROLE_TOOL: {
        struct event_call call = {
            .id = m.call_id, .name = m.name, .raw = STR(""), .args = STR("{}")};
        struct event_result result = {.text = text, .is_error = m.is_error};
        tell(r, turn, (struct event){.kind = EV_CALL_STARTED, .call = &call, .seq = seq - 1});
        tell(r, turn,
             (struct event){.kind = EV_CALL_DONE, .call = &call, .result = &result, .seq = seq});
        break;
    }
    default:
        break;
    }
}

static void tell_turn(struct replay *r, yyjson_val *v, int64_t seq, struct str turn)
{
    struct str name = json_get_str(v, "state");
    if (str_is(name, "running")) {
        tell(r, turn, (struct event){.kind = EV_TURN_STARTED, .seq = seq});
        return;
    }
    struct event_end end = {.state = TURN_CANCELED, .stop = "interrupted", .mutations = STR("[]")};
    for (enum turn_state s = TURN_COMPLETED; s <= TURN_CANCELED; s++)
        if (str_is(name, turn_state_name(s)))
            end.state = s;
    end.usage = usage_get(json_get(v, "usage"));
    end.iterations = (int)json_get_int(v, "iterations", 0);
    tell(r, turn,
         (struct event){.kind = EV_TURN_ENDED,
                        .end = &end,
                        .seq = seq,
                        .turn_seq = json_get_int(v, "turn_seq", 0)});
}

static bool on_line(void *arg, struct str line, int64_t offset)
{
    (void)offset;
    struct replay *r = arg;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!json_parse(line, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored)) {
        j = JSON_INIT;
        return true;
    }
    struct str type = json_get_str(j.root, "type");
    int64_t seq = json_get_int(j.root, "seq", 0);
    struct str turn = json_get_str(j.root, "turn");
    if (str_is(type, "message") && seq)
        tell_message(r, j.root, seq, turn);
    else if (str_is(type, "trivet_turn"))
        tell_turn(r, j.root, seq, turn);
    arena_clear(&r->arena);
    return !r->is_stopped;
}

bool session_replay(struct session *s, int64_t after_seq, event_fn *fn, void *arg,
                    struct error *err)
{
    struct replay r = {.session = s, .after = after_seq, .fn = fn, .arg = arg};
    collect_turns(&r, s->engine->finished);
    collect_turns(&r, s->running);
    collect_turns(&r, s->waiting);
    if (r.n)
        qsort(r.events, r.n, sizeof *r.events, by_seq);
    bool ok = !s->has_file || slog_read(str_of(s->path), on_line, &r, err);
    if (ok)
        tell_rings(&r, INT64_MAX);
    arena_clear(&r.arena);
    free(r.events);
    return ok;
}
