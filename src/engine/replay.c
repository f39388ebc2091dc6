/* SPDX-License-Identifier: MIT */
/* The records of a session file as events, see replay.h.
 *
 *     trivet_turn running     turn_started, with the input that stood before it in the file
 *     message of the model    reasoning, text, reply_done
 *     trivet_call             call_started
 *     message of a tool       call_started, if the call never ran; call_done
 *     message of the user     steer_applied, if it steered a turn
 *     compaction              compaction_done
 *     trivet_turn ended       answer or failed, turn_ended
 *     trivet_turn lost        the same as failed
 *
 * A record has the number of its last event.  Those before it get the numbers before that, which
 * belonged to the same reply or turn.
 */
#include "engine/replay.h"

#include "base/limits.h"
#include "base/time.h"
#include "engine/journal.h"
#include "engine/turn_impl.h"

enum { SLICE_BYTES = 1 << 20 };

struct seen_input { /* of a turn that has not started yet at this place of the file */
    struct seen_input *next;
    char turn[UUID_LEN + 1];
    struct buf text;
};

struct seen_call { /* of the last reply: its results follow */
    struct str id, name, args;
    bool is_reported; /* that it started */
};

struct replay {
    struct session *session;
    char *path;   /* of the file, for the thread pool */
    int64_t from; /* offset of the next line */
    struct seen_input *inputs;
    struct arena reply; /* calls and text of the last reply */
    struct seen_call *calls;
    size_t n_calls;
    struct str answer;
    /* of the current slice */
    struct arena arena;
    struct event *events;
    size_t n, capacity;
    int64_t after, upto;
    int64_t slice_from;
    int64_t time_ms; /* of the current record */
    struct str turn;
    bool is_stopped; /* a record beyond upto was seen */
};

struct replay *replay_new(struct session *s)
{
    struct replay *r = xnew(struct replay);
    r->session = s;
    return r;
}

static void input_free(struct seen_input *in)
{
    buf_clear(&in->text);
    free(in);
}

void replay_free(struct replay *r)
{
    while (r && r->inputs) {
        struct seen_input *next = r->inputs->next;
        input_free(r->inputs);
        r->inputs = next;
    }
    if (!r)
        return;
    arena_clear(&r->reply);
    arena_clear(&r->arena);
    free(r->path);
    free(r->events);
    free(r);
}

/* Everything that e points to lies in the arena, or lives as long as the slice. */
static void add(struct replay *r, struct event e)
{
    if (e.seq <= r->after)
        return;
    GROW(r->events, r->n, r->capacity);
    e.time_ms = r->time_ms;
    e.turn_id = r->turn;
    r->events[r->n++] = e;
}

/* ---- inputs ---- */

static void remember_input(struct replay *r, struct str turn, yyjson_val *message)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m;
    if (turn.n == 0 || turn.n > UUID_LEN || !message_get(&a, message, &m))
        return;
    struct seen_input *in = xnew(struct seen_input);
    memcpy(in->turn, turn.p, turn.n);
    buf_add(&in->text, m.display.p ? m.display : message_text_of(&a, &m));
    in->next = r->inputs;
    r->inputs = in;
}

/* The text of the turn's input, in the arena; it is forgotten then. */
static struct str take_input(struct replay *r, struct str turn)
{
    for (struct seen_input **at = &r->inputs; *at; at = &(*at)->next)
        if (str_is(turn, (*at)->turn)) {
            struct seen_input *in = *at;
            *at = in->next;
            struct str text = arena_str(&r->arena, buf_str(&in->text));
            input_free(in);
            return text;
        }
    return STR_NONE;
}

/* ---- messages ---- */

static void remember_calls(struct replay *r, const struct message *m)
{
    arena_clear(&r->reply);
    r->answer = message_text_of(&r->reply, m);
    r->calls = arena_array(&r->reply, struct seen_call, m->n_blocks + 1);
    r->n_calls = 0;
    for (size_t b = 0; b < m->n_blocks; b++)
        if (m->blocks[b].kind == BLOCK_CALL)
            r->calls[r->n_calls++] = (struct seen_call){
                .id = arena_str(&r->reply, m->blocks[b].id),
                .name = arena_str(&r->reply, m->blocks[b].name),
                .args = arena_str(&r->reply, m->blocks[b].arguments)};
}

static void add_reply(struct replay *r, yyjson_val *v, const struct message *m, int64_t seq)
{
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw w = JW(&json);
    struct str text = message_text_of(&r->arena, m);
    struct str reasoning = message_reasoning_of(&r->arena, m);
    remember_calls(r, m);
    if (reasoning.n)
        add(r, (struct event){.kind = EV_REASONING, .text = reasoning, .seq = seq - 2});
    if (text.n)
        add(r, (struct event){.kind = EV_TEXT, .text = text, .seq = seq - 1});
    if (seq <= r->after)
        return;
    jw_val(&w, json_get(v, "message"));
    add(r, (struct event){.kind = EV_REPLY_DONE,
                          .json = arena_str(&r->arena, buf_str(&json)),
                          .seq = seq,
                          .turn_seq = json_get_int(v, "turn_seq", 0)});
}

static struct seen_call *find_call(struct replay *r, struct str id)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (str_eq(r->calls[i].id, id))
            return &r->calls[i];
    return NULL;
}

static bool is_object(struct str text)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (json_parse(text, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored))
        return yyjson_is_obj(j.root);
    j = JSON_INIT;
    return false;
}

static const struct event_call *make_call(struct replay *r, struct str id, struct str name)
{
    struct event_call *call = arena_new(&r->arena, struct event_call);
    const struct seen_call *seen = find_call(r, id);
    *call = (struct event_call){.id = arena_str(&r->arena, id),
                                .name = arena_str(&r->arena, seen ? seen->name : name),
                                .raw = seen ? arena_str(&r->arena, seen->args) : STR(""),
                                .args = STR("{}")};
    call->args_are_bad = seen && !is_object(call->raw);
    if (seen && !call->args_are_bad)
        call->args = call->raw;
    return call;
}

static void add_call(struct replay *r, struct str id, int64_t seq)
{
    struct seen_call *seen = find_call(r, id);
    if (!seen)
        return;
    seen->is_reported = true;
    if (seq > r->after)
        add(r, (struct event){
                   .kind = EV_CALL_STARTED, .call = make_call(r, id, STR_NONE), .seq = seq});
}

static void add_result(struct replay *r, yyjson_val *v, const struct message *m, int64_t seq)
{
    int64_t started = json_get_int(v, "started", 0), turn_seq = json_get_int(v, "turn_seq", 0);
    const struct seen_call *seen = find_call(r, m->call_id);
    if (seq <= r->after)
        return;
    const struct event_call *call = make_call(r, m->call_id, m->name);
    struct event_result *result = arena_new(&r->arena, struct event_result);
    *result = (struct event_result){.text = message_text_of(&r->arena, m), .is_error = m->is_error};
    if (started && !(seen && seen->is_reported))
        add(r, (struct event){.kind = EV_CALL_STARTED, .call = call, .seq = started});
    add(r, (struct event){.kind = EV_CALL_DONE,
                          .call = call,
                          .result = result,
                          .seq = seq,
                          .turn_seq = turn_seq});
}

static void add_summary(struct replay *r, const struct message *m, int64_t seq)
{
    struct event_compaction *c = arena_new(&r->arena, struct event_compaction);
    *c = (struct event_compaction){.reason = "auto", .summary = message_text_of(&r->arena, m)};
    add(r, (struct event){.kind = EV_COMPACTION_DONE, .compaction = c, .seq = seq});
}

static void add_message(struct replay *r, yyjson_val *v, int64_t seq)
{
    struct message m;
    if (!message_get(&r->arena, json_get(v, "message"), &m))
        return;
    switch (m.role) {
    case ROLE_ASSISTANT:
        add_reply(r, v, &m, seq);
        break;
    case ROLE_TOOL:
        add_result(r, v, &m, seq);
        break;
    case ROLE_SUMMARY:
        add_summary(r, &m, seq);
        break;
    case ROLE_USER:
        if (json_get_str(v, "input").n)
            add(r, (struct event){.kind = EV_STEER_APPLIED,
                                  .text = message_text_of(&r->arena, &m),
                                  .seq = seq,
                                  .turn_seq = json_get_int(v, "turn_seq", 0)});
        else
            remember_input(r, r->turn, json_get(v, "message"));
        break;
    default:
        break;
    }
}

/* ---- turns ---- */

static struct error *read_error(struct replay *r, yyjson_val *v)
{
    struct error *err = arena_new(&r->arena, struct error);
    struct str text = json_get_str(json_get(v, "error"), "message");
    error_set(err, err_code_named(json_get_str(json_get(v, "error"), "code")), "%.*s",
              STR_FMT(text));
    return err;
}

static void add_end(struct replay *r, yyjson_val *v, enum turn_state state, int64_t seq)
{
    struct event_end *end = arena_new(&r->arena, struct event_end);
    int64_t turn_seq = json_get_int(v, "turn_seq", 0);
    struct str stop = json_get_str(v, "stop");
    struct error *error = state == TURN_FAILED ? read_error(r, v) : NULL;
    *end = (struct event_end){.state = state,
                              .stop = stop.n ? arena_str(&r->arena, stop).p : "interrupted",
                              .iterations = (int)json_get_int(v, "iterations", 0),
                              .usage = usage_get(json_get(v, "usage")),
                              .mutations = STR("[]")};
    if (str_is(json_get_str(v, "state"), "lost"))
        turn_lost(error);
    if (state == TURN_COMPLETED)
        add(r, (struct event){.kind = EV_ANSWER,
                              .text = arena_str(&r->arena, r->answer),
                              .seq = seq - 1,
                              .turn_seq = turn_seq - 1});
    if (state == TURN_FAILED)
        add(r, (struct event){
                   .kind = EV_FAILED, .error = error, .seq = seq - 1, .turn_seq = turn_seq - 1});
    add(r,
        (struct event){
            .kind = EV_TURN_ENDED, .end = end, .error = error, .seq = seq, .turn_seq = turn_seq});
}

static void add_turn(struct replay *r, yyjson_val *v, int64_t seq)
{
    struct str name = json_get_str(v, "state");
    if (str_is(name, "running")) {
        add(r, (struct event){.kind = EV_TURN_STARTED,
                              .text = take_input(r, r->turn),
                              .seq = seq,
                              .turn_seq = json_get_int(v, "turn_seq", 0)});
        r->answer = STR_NONE;
        return;
    }
    if (str_is(name, "lost"))
        add_end(r, v, TURN_FAILED, seq);
    for (enum turn_state s = TURN_COMPLETED; s <= TURN_CANCELED; s++)
        if (str_is(name, turn_state_name(s)))
            add_end(r, v, s, seq);
}

/* ---- slices ---- */

static bool on_line(void *arg, struct str line, int64_t offset)
{
    struct replay *r = arg;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    r->from = offset;
    if (offset - r->slice_from > SLICE_BYTES)
        return false;
    if (!json_parse(line, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored)) {
        j = JSON_INIT;
        return true;
    }
    struct str type = json_get_str(j.root, "type");
    int64_t seq = json_get_int(j.root, "seq", 0);
    r->is_stopped = seq > r->upto;
    if (r->is_stopped)
        return false;
    r->turn = arena_str(&r->arena, json_get_str(j.root, "turn"));
    r->time_ms = 0;
    time_from_iso(json_get_str(j.root, "timestamp"), &r->time_ms);
    if (str_is(type, "trivet_input"))
        remember_input(r, r->turn, json_get(j.root, "message"));
    else if (seq && (str_is(type, "message") || str_is(type, "compaction")))
        add_message(r, j.root, seq);
    else if (seq && str_is(type, "trivet_turn"))
        add_turn(r, j.root, seq);
    else if (seq && str_is(type, "trivet_call"))
        add_call(r, json_get_str(j.root, "toolCallId"), seq);
    return true;
}

static void read_slice(void *arg)
{
    struct replay *r = arg;
    struct error ignored;
    int64_t end = r->from;
    arena_clear(&r->arena);
    r->n = 0;
    r->is_stopped = false;
    r->slice_from = r->from;
    bool ok = slog_read_from(str_of(r->path), r->from, on_line, r, &end, &ignored);
    if (!ok || (!r->is_stopped && r->from - r->slice_from <= SLICE_BYTES))
        r->from = MAX(r->from, end); /* the last line was read as well */
}

const struct event *replay_read_through_await(struct replay *r, int64_t after, int64_t upto,
                                              size_t *ret_n)
{
    struct session *s = r->session;
    int64_t before;
    session_set_str(&r->path, str_of(s->path));
    r->after = after;
    r->upto = upto;
    do {
        before = r->from;
        r->n = 0;
        if (s->has_file)
            work_through_await(s->engine->loop, read_slice, r);
    } while (r->n == 0 && !r->is_stopped && r->from > before);
    *ret_n = r->n;
    return r->events;
}

/* ---- the open reply ---- */

struct open_reply { /* read on the thread pool */
    char *path;
    char turn[UUID_LEN + 1];
    struct buf text, reasoning;
};

static void on_batch(void *arg, struct str turn, bool is_reasoning, struct str text, int64_t seq)
{
    (void)seq;
    struct open_reply *o = arg;
    if (str_is(turn, o->turn))
        buf_add(is_reasoning ? &o->reasoning : &o->text, text);
}

static void read_journal(void *arg)
{
    struct open_reply *o = arg;
    journal_read(str_of(o->path), on_batch, o);
}

/* One piece of each kind: two events with one number could not be distinguished by a cursor. */
const struct event *replay_read_open_through_await(struct replay *r, int64_t upto, size_t *ret_n)
{
    struct session *s = r->session;
    struct open_reply o = {.path = xstrdup(s->path)};
    memcpy(o.turn, s->running->id, sizeof o.turn);
    journal_flush(s->journal);
    work_through_await(s->engine->loop, read_journal, &o);
    arena_clear(&r->arena);
    r->n = 0;
    r->after = upto - 2;
    r->time_ms = time_now_ms();
    r->turn = arena_str(&r->arena, str_of(o.turn));
    struct str reasoning = arena_str(&r->arena, buf_str(&o.reasoning));
    struct str text = arena_str(&r->arena, buf_str(&o.text));
    if (reasoning.n)
        add(r, (struct event){.kind = EV_REASONING, .text = reasoning, .seq = upto - 1});
    if (text.n)
        add(r, (struct event){.kind = EV_TEXT, .text = text, .seq = upto});
    free(o.path);
    buf_clear(&o.text);
    buf_clear(&o.reasoning);
    *ret_n = r->n;
    return r->events;
}
