/* SPDX-License-Identifier: MIT */
/* Input: accepted only when it is on disk, then started, queued, or given to the running turn. */
#include "engine/file.h"
#include "engine/turn_impl.h"

#include "base/time.h"

static struct message input_message(struct arena *a, const struct input *in)
{
    struct message m = message_text(a, ROLE_USER, arena_str(a, in->text));
    m.display = arena_str(a, in->display);
    if (in->n_images == 0)
        return m;
    struct block *blocks = arena_array(a, struct block, in->n_images + 1);
    blocks[0] = m.blocks[0];
    for (size_t i = 0; i < in->n_images; i++)
        blocks[i + 1] = in->images[i];
    m.blocks = blocks;
    m.n_blocks = in->n_images + 1;
    return message_copy(a, &m);
}

static struct turn *turn_new(struct session *s)
{
    struct turn *t = xnew(struct turn);
    id_uuid(t->id);
    memcpy(t->session_id, s->id, sizeof t->session_id);
    t->engine = s->engine;
    t->session = s;
    t->steers_end = &t->steers;
    t->created_ms = time_now_ms();
    engine_add_turn(t);
    return t;
}

static void unlink_waiting(struct session *s, struct turn *t)
{
    for (struct turn **at = &s->waiting; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    s->waiting_end = &s->waiting;
    while (*s->waiting_end)
        s->waiting_end = &(*s->waiting_end)->next;
}

static void link_waiting(struct session *s, struct turn *t)
{
    *s->waiting_end = t;
    s->waiting_end = &t->next;
}

/* Inputs that an earlier process left do not count: they only run when another input comes. */
static size_t count_ahead(const struct session *s)
{
    size_t n = s->running || s->is_compacting || s->n_pauses;
    for (const struct turn *t = s->waiting; t; t = t->next)
        n += !t->is_held;
    return n;
}

/* Nothing has to end before this input can be said. */
static bool is_next(const struct session *s, const struct turn *t)
{
    return s->waiting == t && !s->running && !s->is_compacting && !s->n_pauses;
}

void session_announce_waiting(struct session *s)
{
    for (struct turn *t = s->waiting; t; t = t->next) {
        if (t->is_announced || !t->is_accepted)
            continue;
        t->is_announced = true;
        session_emit(s, t,
                     &(struct event){.kind = EV_TURN_QUEUED,
                                     .text = t->text,
                                     .by = t->by,
                                     .is_first = t->mark || (t->errand && is_next(s, t))});
    }
}

/* An input has come: what an earlier process left runs before it. */
static void release_held(struct session *s)
{
    session_announce_waiting(s);
    for (struct turn *t = s->waiting; t; t = t->next)
        t->is_held = false;
}

/* ---- written, or taken back ---- */

/* A line that could not be synced must not come back when the file is read again. */
void input_take_back(struct session *s, struct str id, struct str line, int64_t from)
{
    AUTO(buf) struct buf over = BUF_INIT;
    struct error ignored;
    if (s->log && slog_take_back(s->log, from, line.n))
        return;
    record_input_over(&over, id, "refused");
    session_write(s, buf_str(&over), &ignored);
}

/* Writes the line and waits for the disk; on failure nothing of it stays. */
static bool write_through_await(struct session *s, struct str id, struct str line,
                                struct error *err)
{
    int64_t from = s->log ? slog_size(s->log) : 0;
    if (!session_write(s, line, err))
        return false;
    if (session_sync_through_await(s, err))
        return true;
    input_take_back(s, id, line, from);
    return false;
}

/* The input as a message when its turn starts now, else as one that waits; of: the steer it was. */
static void put_input(struct session *s, struct turn *t, struct str of, struct buf *line)
{
    if (t->is_queued_input)
        record_input(line, str_of(t->id), "queue", &t->input, of);
    else
        record_message(line, &s->history, &t->input,
                       &(struct record_place){.turn = str_of(t->id), .seq = s->seq});
}

/* A turn that never ran ends: nothing of it was in the conversation. */
static void end_waiting(struct session *s, struct turn *t)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct error ignored;
    struct event_end end = {.state = TURN_CANCELED, .stop = "interrupted", .mutations = STR("[]")};
    unlink_waiting(s, t);
    t->is_cancel_asked = true;
    session_emit(s, t, &(struct event){.kind = EV_CANCEL_ASKED});
    record_input_over(&line, str_of(t->id), "dropped");
    if (!t->errand)
        session_write(s, buf_str(&line), &ignored);
    session_flush(s);
    t->finished_ms = time_now_ms();
    turn_finish(t, &end);
    turn_drop_errand(t);
    arena_clear(&t->arena);
    engine_keep_finished(s->engine, t);
}

static struct turn *make_turn(struct session *s, const struct input *in)
{
    struct turn *t = turn_new(s);
    t->input = input_message(&t->arena, in);
    t->text = arena_str(&t->arena, in->display.p ? in->display : in->text);
    t->by = arena_str(&t->arena, in->by);
    t->errand = in->errand;
    if (in->refusal) {
        struct error *copy = arena_new(&t->arena, struct error);
        *copy = *in->refusal;
        t->refusal = copy;
    }
    return t;
}

/* The first in line joins the conversation at once. */
static bool write_input_await(struct session *s, struct turn *t, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (t->errand)
        return true;
    if (!session_need_file_await(s, err))
        return false;
    t->is_queued_input = !is_next(s, t);
    put_input(s, t, STR_NONE, &line);
    if (!t->is_queued_input) {
        t->mark = history_mark(&s->history, str_of(t->id));
        t->first_entry = s->history.n;
        history_add(&s->history, &t->input, t->mark);
    }
    return write_through_await(s, str_of(t->id), buf_str(&line), err);
}

/* It was not accepted, so it was not said. */
static void refuse_input(struct session *s, struct turn *t)
{
    t->errand = NULL; /* stays the caller's */
    unlink_waiting(s, t);
    if (t->mark && s->history.n == t->first_entry + 1)
        s->history.n--;
    turn_free(t);
}

static void accept_input(struct session *s, struct turn *t, char ret_turn[UUID_LEN + 1])
{
    memcpy(ret_turn, t->id, sizeof t->id);
    t->is_accepted = true;
    release_held(s); /* announces this one too, in its place */
    if (s->engine->is_stopping)
        end_waiting(s, t); /* it came too late to run, but it has its end */
}

/* The record of a turn's end says which numbers its last events will have: while it is on its way
 * to the disk no other input is told of. */
static void wait_for_end_through_await(struct session *s)
{
    while (s->running && s->running->is_ending)
        session_wait_turn_through_await(s);
}

static bool start_or_queue_await(struct session *s, const struct input *in,
                                 char ret_turn[UUID_LEN + 1], struct error *err)
{
    if (count_ahead(s) > LIMIT_QUEUE_INPUTS)
        return error_set(err, ERR_LIMIT, "%d inputs are waiting already", LIMIT_QUEUE_INPUTS);
    struct turn *t = make_turn(s, in);
    link_waiting(s, t);
    session_hold(s);
    bool ok = write_input_await(s, t, err);
    wait_for_end_through_await(s);
    if (ok)
        accept_input(s, t, ret_turn);
    else
        refuse_input(s, t);
    session_start_next(s);
    session_release(s);
    return ok;
}

/* ---- steering ---- */

bool session_can_steer(const struct session *s)
{
    const struct turn *t = s->running;
    return t && !t->is_cancel_asked && !t->is_ending && !t->errand;
}

static struct steer *make_steer(struct turn *t, const struct input *in, struct steering *call)
{
    struct steer *steer = arena_new(&t->arena, struct steer);
    id_hex(steer->id, 16);
    steer->message = input_message(&t->arena, in);
    steer->text = arena_str(&t->arena, in->display.p ? in->display : in->text);
    steer->by = arena_str(&t->arena, in->by);
    steer->call = call;
    *t->steers_end = steer;
    t->steers_end = &steer->next;
    *call = (struct steering){steer, t};
    return steer;
}

static void unlink_steer(struct turn *t, struct steer *steer)
{
    for (struct steer **at = &t->steers; *at; at = &(*at)->next)
        if (*at == steer) {
            *at = steer->next;
            break;
        }
    t->steers_end = &t->steers;
    while (*t->steers_end)
        t->steers_end = &(*t->steers_end)->next;
}

static void announce_steered(struct session *s, struct turn *t, const struct steer *steer)
{
    AUTO(buf) struct buf message = BUF_INIT;
    struct jw w = JW(&message);
    message_put(&w, &steer->message);
    session_emit(
        s, t,
        &(struct event){
            .kind = EV_STEERED, .text = steer->text, .json = buf_str(&message), .by = steer->by});
}

/* It is on disk.  The turn that carries it may be another by now. */
static bool accept_steer(struct session *s, const struct steering *call,
                         char ret_turn[UUID_LEN + 1], struct error *err)
{
    struct turn *t = call->turn;
    if (!t)
        return error_set(err, ERR_INVALID, "the turn ended before it could take the input");
    if (!call->steer) { /* a turn was made of it */
        accept_input(s, t, ret_turn);
        session_start_next(s);
        return true;
    }
    memcpy(ret_turn, t->id, sizeof t->id);
    call->steer->call = NULL;
    announce_steered(s, t, call->steer);
    wait_wake(&t->steering);
    return true;
}

static void refuse_steer(struct session *s, const struct steering *call)
{
    struct turn *t = call->turn;
    if (t && call->steer) {
        unlink_steer(t, call->steer);
        wait_wake(&t->steering);
    } else if (t) {
        refuse_input(s, t);
    }
}

static bool steer_await(struct session *s, const struct input *in, char ret_turn[UUID_LEN + 1],
                        struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct steering call;
    struct steer *steer = make_steer(s->running, in, &call);
    char id[sizeof steer->id];
    memcpy(id, steer->id, sizeof id);
    record_input(&line, str_of(id), "steer", &steer->message, STR_NONE);
    session_hold(s);
    bool ok = write_through_await(s, str_of(id), buf_str(&line), err);
    wait_for_end_through_await(s);
    if (ok)
        ok = accept_steer(s, &call, ret_turn, err);
    else
        refuse_steer(s, &call);
    session_release(s);
    return ok;
}

bool input_requeue(struct session *s, struct steer *steer)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct error ignored;
    struct turn *t = turn_new(s);
    t->input = message_copy(&t->arena, &steer->message);
    t->text = arena_str(&t->arena, steer->text);
    t->is_queued_input = true;
    put_input(s, t, str_of(steer->id), &line);
    if (!session_write(s, buf_str(&line), &ignored)) {
        turn_free(t);
        return false;
    }
    link_waiting(s, t);
    if (steer->call) {
        *steer->call = (struct steering){NULL, t}; /* announces it when it is on disk */
        return true;
    }
    t->is_accepted = t->is_announced = true;
    session_emit(s, t, &(struct event){.kind = EV_TURN_QUEUED, .text = t->text});
    return true;
}

bool input_first(struct session *s, struct str text, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct turn *t = turn_new(s);
    t->input = message_text(&t->arena, ROLE_USER, arena_str(&t->arena, text));
    t->text = arena_str(&t->arena, text);
    t->is_queued_input = true;
    put_input(s, t, STR_NONE, &line);
    if (!session_write(s, buf_str(&line), err)) {
        turn_free(t);
        return false;
    }
    t->is_accepted = t->is_announced = true;
    t->next = s->waiting;
    s->waiting = t;
    if (!t->next)
        s->waiting_end = &t->next;
    return true;
}

/* Steering that comes while a turn ends becomes a turn of its own where steering gets a round of
 * its own anyway. */
static bool becomes_turn(const struct session *s)
{
    const struct turn *t = s->running;
    return s->settings->steer_extends && t && t->is_ending && !t->is_cancel_asked && !t->errand;
}

bool session_send_await(struct session *s, const struct input *in, enum send_how how,
                        char ret_turn[UUID_LEN + 1], struct error *err)
{
    bool steers = how == SEND_STEER || how == SEND_STEER_OR_QUEUE;
    if (s->engine->is_stopping || s->is_closing)
        return error_set(err, ERR_CANCELED, "the session is being closed");
    if (steers && session_can_steer(s)) {
        if (steer_await(s, in, ret_turn, err))
            return true;
        if (how == SEND_STEER || err->code != ERR_INVALID)
            return false;
    } else if (how == SEND_STEER && !becomes_turn(s)) {
        return error_set(err, ERR_INVALID, "no turn is running that could take it");
    }
    if (how == SEND_NEW && count_ahead(s) > 0)
        return error_set(err, ERR_BUSY, "a turn is running");
    return start_or_queue_await(s, in, ret_turn, err);
}

/* ---- stopping ---- */

static void ask_to_stop(struct session *s, struct turn *t)
{
    t->is_cancel_asked = true;
    session_emit(s, t, &(struct event){.kind = EV_CANCEL_ASKED});
    if (t->fiber)
        fiber_cancel(t->fiber);
}

bool session_interrupt(struct session *s)
{
    struct turn *t = s->running;
    if (!t && s->waiting && !s->waiting->is_held)
        t = s->waiting; /* its input is on the way to the disk */
    if (!t || t->is_cancel_asked)
        return false;
    if (t == s->running)
        ask_to_stop(s, t);
    else
        t->is_cancel_asked = true;
    return true;
}

bool engine_cancel_turn(struct engine *e, struct str turn_id, struct error *err)
{
    struct turn *t = engine_find_turn(e, turn_id);
    if (!t)
        return error_set(err, ERR_NOT_FOUND, "there is no turn %.*s", STR_FMT(turn_id));
    if (t->state == TURN_QUEUED && t->session->running != t)
        end_waiting(t->session, t);
    else if (t->session && t->session->running == t && !t->is_cancel_asked)
        ask_to_stop(t->session, t);
    return true;
}

size_t input_drop(struct session *s, bool with_held)
{
    size_t n = 0;
    for (struct turn *t = s->waiting, *next; t; t = next) {
        next = t->next;
        if (t->is_accepted && (with_held || !t->is_held)) {
            end_waiting(s, t);
            n++;
        }
    }
    return n;
}

size_t session_clear_queue(struct session *s)
{
    return input_drop(s, true);
}
