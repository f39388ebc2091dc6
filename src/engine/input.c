/* SPDX-License-Identifier: MIT */
/* Input: accepted only when it is on disk, then started, queued, or given to the running turn. */
#include "engine/internal.h"

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

/* Behind everything that waits; but before what an earlier process left. */
static void link_waiting(struct session *s, struct turn *t)
{
    struct turn **at = &s->waiting;
    while (*at && !(*at)->is_held)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    if (!t->next)
        s->waiting_end = &t->next;
}

static size_t count_ahead(const struct session *s)
{
    size_t n = s->running || s->is_compacting || s->n_pauses;
    for (const struct turn *t = s->waiting; t; t = t->next)
        n += !t->is_held;
    return n;
}

/* The input goes to disk: as a message when its turn starts now, as an input when it waits; of: the
 * steer that it was. */
static bool write_input(struct session *s, struct turn *t, bool is_first, struct str of,
                        struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (t->errand)
        return true;
    t->is_queued_input = !is_first;
    if (is_first)
        return session_write_message(s, &t->input, str_of(t->id), STR_NONE, s->seq, err);
    record_input(&line, str_of(t->id), "queue", &t->input, of);
    return session_write(s, buf_str(&line), err);
}

/* A turn that never ran ends: nothing of it was in the conversation. */
static void end_waiting(struct session *s, struct turn *t)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct error ignored;
    struct event_end end = {.state = TURN_CANCELED, .stop = "interrupted", .mutations = STR("[]"),
                            .text = STR("")};
    unlink_waiting(s, t);
    t->is_cancel_asked = true;
    session_emit(s, t, &(struct event){.kind = EV_CANCEL_ASKED});
    record_input_over(&line, str_of(t->id), "dropped");
    if (!t->errand)
        session_write(s, buf_str(&line), &ignored);
    t->state = TURN_CANCELED;
    t->finished_ms = time_now_ms();
    session_emit(s, t, &(struct event){.kind = EV_TURN_ENDED, .end = &end});
    turn_drop_errand(t);
    arena_clear(&t->arena);
    engine_keep_finished(s->engine, t);
}

static bool start_or_queue_await(struct session *s, const struct input *in,
                                 char ret_turn[UUID_LEN + 1], struct error *err)
{
    size_t n_ahead = count_ahead(s);
    bool is_first = n_ahead == 0;
    if (n_ahead > LIMIT_QUEUE_INPUTS)
        return error_set(err, ERR_LIMIT, "%d inputs are waiting already", LIMIT_QUEUE_INPUTS);
    struct turn *t = turn_new(s);
    t->input = input_message(&t->arena, in);
    t->text = arena_str(&t->arena, in->display.p ? in->display : in->text);
    t->errand = in->errand;
    if (in->refusal) {
        struct error *copy = arena_new(&t->arena, struct error);
        *copy = *in->refusal;
        t->refusal = copy;
    }
    link_waiting(s, t);
    session_hold(s);
    bool ok = write_input(s, t, is_first, STR_NONE, err);
    if (ok && is_first && !t->errand) {
        t->mark = history_mark(&s->history, str_of(t->id));
        t->first_entry = s->history.n;
        history_add(&s->history, &t->input, t->mark);
    }
    ok = ok && (t->errand || slog_sync_through_await(s->log, err));
    if (!ok) {
        t->errand = NULL; /* stays the caller's */
        unlink_waiting(s, t);
        if (t->mark && s->history.n == t->first_entry + 1)
            s->history.n--; /* it was not accepted, so it was not said */
        turn_free(t);
    } else {
        memcpy(ret_turn, t->id, sizeof t->id);
        t->is_accepted = true;
        session_emit(s, t, &(struct event){.kind = EV_TURN_QUEUED, .text = t->text,
                                           .is_first = is_first});
    }
    if (ok && s->engine->is_stopping)
        end_waiting(s, t); /* it came too late to run, but it has its end */
    session_start_next(s);
    session_release(s);
    return ok;
}

static bool steer_await(struct session *s, const struct input *in, char ret_turn[UUID_LEN + 1],
                        struct error *err)
{
    struct turn *t = s->running;
    if (!t || t->is_cancel_asked)
        return error_set(err, ERR_INVALID, "no turn is running");
    AUTO(buf) struct buf line = BUF_INIT;
    struct steer *steer = arena_new(&t->arena, struct steer);
    id_hex(steer->id, 16);
    steer->is_recorded = true;
    steer->message = input_message(&t->arena, in);
    steer->text = arena_str(&t->arena, in->display.p ? in->display : in->text);
    record_input(&line, str_of(steer->id), "steer", &steer->message, STR_NONE);
    if (!session_write(s, buf_str(&line), err))
        return false;
    *t->steers_end = steer;
    t->steers_end = &steer->next;
    memcpy(ret_turn, t->id, sizeof t->id);
    buf_reset(&line);
    struct jw w = JW(&line);
    message_put(&w, &steer->message);
    session_emit(s, t, &(struct event){.kind = EV_STEERED, .text = steer->text,
                                       .json = buf_str(&line)});
    session_hold(s);
    bool ok = slog_sync_through_await(s->log, err);
    session_release(s);
    return ok;
}

bool input_requeue(struct session *s, const struct steer *steer)
{
    struct error ignored;
    struct turn *t = turn_new(s);
    t->input = message_copy(&t->arena, &steer->message);
    t->text = arena_str(&t->arena, steer->text);
    if (!write_input(s, t, false, str_of(steer->id), &ignored)) {
        turn_free(t);
        return false;
    }
    t->is_accepted = true;
    link_waiting(s, t);
    session_emit(s, t, &(struct event){.kind = EV_TURN_QUEUED, .text = t->text});
    return true;
}

bool input_first(struct session *s, struct str text, struct error *err)
{
    struct turn *t = turn_new(s);
    t->input = message_text(&t->arena, ROLE_USER, arena_str(&t->arena, text));
    t->text = arena_str(&t->arena, text);
    if (!write_input(s, t, false, STR_NONE, err)) {
        turn_free(t);
        return false;
    }
    t->is_accepted = true;
    t->next = s->waiting;
    s->waiting = t;
    if (!t->next)
        s->waiting_end = &t->next;
    return true;
}

bool session_send_await(struct session *s, const struct input *in, enum send_how how,
                        char ret_turn[UUID_LEN + 1], struct error *err)
{
    if (s->engine->is_stopping || s->is_closing)
        return error_set(err, ERR_CANCELED, "the session is being closed");
    if (how == SEND_STEER)
        return steer_await(s, in, ret_turn, err);
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
        return error_set(err, ERR_NOT_FOUND, "Unknown turn: %.*s", STR_FMT(turn_id));
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
