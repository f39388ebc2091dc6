/* SPDX-License-Identifier: MIT */
/* The turn from start to end: input, model, tools, model, ... answer, end.
 *
 * Every path leads to turn_finish, the only function that emits EV_TURN_ENDED.
 */
#include "engine/compact.h"
#include "engine/file.h"
#include "engine/journal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/time.h"

static bool write_turn_record(struct turn *t, const struct event_end *end, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct session *s = t->session;
    if (t->errand)
        return true;
    /* The record is written before the events of the end, which have the next numbers. */
    int64_t ahead = t->state == TURN_RUNNING ? 0 : t->state == TURN_CANCELED ? 1 : 2;
    record_turn(&line, &(struct turn_record){.id = str_of(t->id),
                                             .state = t->state,
                                             .is_kept = t->mark && t->mark->is_kept,
                                             .seq = s->seq + ahead,
                                             .turn_seq = t->n_events + ahead,
                                             .err = &t->error,
                                             .end = end});
    return session_write(s, buf_str(&line), err);
}

/* The event that reports the message follows at once. */
static bool add_message(struct turn *t, const struct message *m, struct record_place place,
                        struct error *err)
{
    struct session *s = t->session;
    place.turn = str_of(t->id);
    place.seq = s->seq + 1;
    bool ok = session_write_message(s, m, &place, err);
    history_move(&s->history, m, &t->arena, t->mark);
    return ok;
}

bool turn_add_message(struct turn *t, const struct message *m, struct error *err)
{
    return add_message(t, m, (struct record_place){.turn_seq = t->n_events + 1}, err);
}

bool turn_add_result(struct turn *t, const struct message *m, int64_t started_seq,
                     struct error *err)
{
    struct record_place place = {.turn_seq = t->n_events + 1, .started_seq = started_seq};
    return add_message(t, m, place, err);
}

/* An input that waited joins the conversation now; one that started at once did so already. */
static bool take_input(struct turn *t, struct error *err)
{
    struct session *s = t->session;
    if (!t->is_queued_input)
        return true;
    t->mark = history_mark(&s->history, str_of(t->id));
    t->first_entry = s->history.n;
    return turn_add_message(t, &t->input, err);
}

/* Those that the next request takes. */
static int64_t count_together(const struct steer *s)
{
    int64_t n = 0;
    for (; s && !s->call; s = s->next)
        n++;
    return n;
}

/* What the user said meanwhile goes to the model with the next request. */
static bool take_steering(struct turn *t, bool *ret_any, struct error *err)
{
    struct session *s = t->session;
    *ret_any = false;
    while (t->steers && !t->steers->call) {
        struct steer *steer = t->steers;
        t->steers = steer->next;
        if (!t->steers)
            t->steers_end = &t->steers;
        struct record_place place = {.input = str_of(steer->id), .turn_seq = t->n_events + 1};
        if (!add_message(t, &steer->message, place, err))
            return false;
        session_emit(s, t,
                     &(struct event){.kind = EV_STEER_APPLIED,
                                     .text = steer->text,
                                     .count = count_together(t->steers)});
        *ret_any = true;
    }
    return true;
}

/* Gives calls ids that are unique in the turn, before anybody sees them. */
static void name_calls(struct turn *t, struct message *m)
{
    int place = 0;
    for (size_t b = 0; b < m->n_blocks; b++) {
        struct block *call = &m->blocks[b];
        if (call->kind != BLOCK_CALL)
            continue;
        if (call->has_made_id && t->session->settings->ids_by_place)
            call->id = arena_fmt(&t->arena, "%.*s-%d-%d",
                                 STR_FMT(call->name.n ? call->name : STR("tool")), t->round, place);
        place++;
        bool is_used = call->id.n == 0 || call->id.n > LIMIT_CALL_ID_BYTES;
        for (size_t i = t->first_entry; i < t->session->history.n && !is_used; i++) {
            const struct message *old = &t->session->history.messages[i];
            is_used = old->role == ROLE_TOOL && str_eq(old->call_id, call->id);
        }
        for (size_t k = 0; k < b && !is_used; k++)
            is_used = m->blocks[k].kind == BLOCK_CALL && str_eq(m->blocks[k].id, call->id);
        t->n_calls++;
        if (is_used)
            call->id = arena_fmt(&t->arena, "call_%.8s_%d", t->id, t->n_calls);
    }
}

static bool keep_reply(struct turn *t, struct message *reply, struct error *err)
{
    struct session *s = t->session;
    name_calls(t, reply);
    t->answer = message_text_of(&t->arena, reply);
    if (!turn_add_message(t, reply, err))
        return false;
    journal_drop(s->journal);
    session_emit(
        s, t, &(struct event){.kind = EV_REPLY_DONE, .message = reply, .count = t->request_bytes});
    return true;
}

/* The rounds are used up and the model asks for tools again: none of them runs. */
static bool stop_at_limit(struct turn *t, const struct message *reply, struct error *err)
{
    int limit = t->session->settings->max_rounds;
    skip_calls(t, reply, 0, "not executed: iteration limit reached");
    if (!t->session->settings->max_rounds_is_stop)
        return error_set(err, ERR_LIMIT, "stopped after %d rounds of tool calls", limit);
    t->stop = "max_iterations";
    return true;
}

static const char *stop_name(enum stop_reason stop)
{
    bool is_cut = stop == STOP_LENGTH || stop == STOP_LOOP;
    return is_cut ? "max_tokens" : stop == STOP_FILTER ? "content_filter" : "end_turn";
}

/* Input that is on its way to the disk still belongs to this turn. */
static bool wait_for_steering_await(struct turn *t, bool *ret_any, struct error *err)
{
    while (t->steers && t->steers->call) {
        wait_reset(&t->steering);
        if (!wait_await(&t->steering, err))
            return false;
    }
    *ret_any = t->steers != NULL;
    return true;
}

/* The limit that the turn has reached, or NULL. */
static const char *limit_reached(const struct turn *t)
{
    const struct session_settings *st = t->session->settings;
    if (st->max_cost > 0 && t->usage.cost >= st->max_cost)
        return "max_cost";
    bool is_over = st->max_total_tokens && t->usage.input + t->usage.output >= st->max_total_tokens;
    return is_over ? "max_total_tokens" : NULL;
}

static bool stop_at_budget(struct turn *t, const char *name, struct error *err)
{
    t->stop = name;
    if (t->session->settings->names_limits)
        return true;
    return error_set(err, ERR_LIMIT, "stopped: the turn has reached its limit (%s)", name);
}

static bool say_to_model(struct turn *t, const char *words, struct error *err)
{
    struct message m = message_text(&t->arena, ROLE_USER, str_of(words));
    m.is_note = true;
    return turn_add_message(t, &m, err);
}

/* A reply that repeated itself: the model gets a second chance where calls that repeat end the
 * turn. */
static bool answer_loop(struct turn *t, bool *ret_goes_on, struct error *err)
{
    *ret_goes_on = t->session->settings->max_repeats > 0;
    if (!*ret_goes_on)
        return true;
    if (t->has_looped)
        return error_set(err, ERR_LIMIT, "stopped: the model repeats the same passage");
    t->has_looped = true;
    return say_to_model(t,
                        "(Automatic note: your reply repeated the same passage and was cut. Do not "
                        "write it again; take the next step, or end with what is known.)",
                        err);
}

/* Before the end of the turn.  Changes that nothing was run on: the model is asked once to check
 * them. */
static bool remind(struct turn *t, enum stop_reason stop, bool *ret_goes_on, struct error *err)
{
    const char *words = t->session->settings->check_reminder;
    if (stop == STOP_LOOP)
        return answer_loop(t, ret_goes_on, err);
    *ret_goes_on = stop == STOP_END && words && t->has_unchecked_change && !t->was_reminded;
    if (!*ret_goes_on)
        return true;
    t->was_reminded = true;
    return say_to_model(t, words, err);
}

static bool run_rounds_await(struct turn *t, struct error *err)
{
    const struct session_settings *st = t->session->settings;
    for (;;) {
        const char *limit = t->round ? limit_reached(t) : NULL;
        if (limit)
            return stop_at_budget(t, limit, err);
        struct message reply;
        enum stop_reason stop;
        bool was_steered;
        if (!take_steering(t, &was_steered, err))
            return false;
        if (!ask_model_await(t, &reply, &stop, err)) /* streams; retries and back-off inside */
            return false;
        if (!keep_reply(t, &reply, err))
            return false;
        if (message_n_calls(&reply) > 0 && stop != STOP_LENGTH && stop != STOP_FILTER) {
            if (t->iterations >= st->max_rounds)
                return stop_at_limit(t, &reply, err);
            if (!run_calls_await(t, &reply, err)) /* permission, tool, result; one by one */
                return false;
            continue;
        }
        if (stop == STOP_PAUSE && t->round < st->max_rounds)
            continue;
        skip_calls(t, &reply, 0, "not executed: the reply was cut");
        if (st->steer_extends && !wait_for_steering_await(t, &was_steered, err))
            return false;
        if (st->steer_extends && was_steered)
            continue;
        bool goes_on;
        if (!remind(t, stop, &goes_on, err))
            return false;
        if (goes_on)
            continue;
        t->stop = stop_name(stop);
        return true;
    }
}

/* ---- errands ---- */

static void say(void *turn, struct str text)
{
    struct turn *t = turn;
    buf_add(&t->shown, text);
    session_emit(t->session, t, &(struct event){.kind = EV_TEXT, .text = text});
}

static bool run_errand_await(struct turn *t, struct error *err)
{
    bool ok = t->errand->run_await(t->errand, say, t, err);
    t->answer = buf_str(&t->shown);
    return ok;
}

static bool run_turn_await(struct turn *t, struct error *err)
{
    struct session *s = t->session;
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *p;
    struct model m;
    t->state = TURN_RUNNING;
    t->started_ms = time_now_ms();
    if (fiber_is_canceled())
        return error_set(err, ERR_CANCELED, "canceled before it began");
    session_emit(s, t, &(struct event){.kind = EV_TURN_STARTED, .text = t->text});
    if (!write_turn_record(t, NULL, err))
        return false;
    if (t->errand)
        return run_errand_await(t, err);
    if (t->refusal) {
        *err = *t->refusal;
        return false;
    }
    if (!session_model(s, &a, &m, &p, err))
        return false;
    prompt_begin_await(t);
    if (!take_input(t, err) || !prompt_attach(t, err) || !compact_if_needed_await(t, err))
        return false;
    session_emit(s, t, &(struct event){.kind = EV_INPUT_ADDED, .text = t->text});
    return run_rounds_await(t, err);
}

/* ---- the end ---- */

/* A turn that was stopped keeps what the user had said to it: the next one goes on from there. */
static void keep_stopped_steering(struct turn *t)
{
    struct error ignored;
    bool any;
    if (t->session->settings->steer_extends && t->is_cancel_asked && t->mark)
        take_steering(t, &any, &ignored);
}

/* Steering that found no round: a follow-up turn where the dialect says so, else an event.  What
 * was not acknowledged yet is refused instead. */
static void settle_late_steering(struct turn *t)
{
    struct session *s = t->session;
    bool follows = s->settings->steer_extends && !s->is_closing && !t->is_cancel_asked;
    int64_t n = 0;
    for (struct steer *steer = t->steers; steer; steer = steer->next) {
        AUTO(buf) struct buf line = BUF_INIT;
        struct error ignored;
        if (follows && input_requeue(s, steer))
            continue;
        record_input_over(&line, str_of(steer->id), "dropped");
        session_write(s, buf_str(&line), &ignored);
        if (steer->call)
            *steer->call = (struct steering){NULL, NULL};
        else
            n++;
    }
    t->steers = NULL;
    t->steers_end = &t->steers;
    if (n)
        session_emit(s, t, &(struct event){.kind = EV_STEER_LATE, .count = n});
}

void turn_finish(struct turn *t, const struct event_end *end)
{
    struct session *s = t->session;
    t->state = end->state;
    if (t->state == TURN_COMPLETED && !(t->errand && t->answer.n == 0))
        session_emit(s, t, &(struct event){.kind = EV_ANSWER, .text = t->answer});
    if (t->state == TURN_FAILED)
        session_emit(s, t, &(struct event){.kind = EV_FAILED, .error = &t->error});
    log_write(&(struct log_entry){.level = LOG_INFO,
                                  .source = __FILE__,
                                  .what = "turn",
                                  .us = t->started_ms ? (t->finished_ms - t->started_ms) * 1000 : 0,
                                  .session = session_id_str(s),
                                  .turn = str_of(t->id)},
              "%s, %s, %d rounds, %lld tokens in, %lld out%s%s", turn_state_name(t->state),
              end->stop, end->iterations, (long long)end->usage.input, (long long)end->usage.output,
              t->state == TURN_FAILED ? ": " : "", t->state == TURN_FAILED ? t->error.text : "");
    session_emit(s, t,
                 &(struct event){.kind = EV_TURN_ENDED,
                                 .end = end,
                                 .error = t->state == TURN_FAILED ? &t->error : NULL});
}

static void set_state(struct turn *t, bool ok, const struct error *err)
{
    bool is_stopped = !ok && (err->code == ERR_CANCELED || t->is_continued);
    t->state = ok ? TURN_COMPLETED : is_stopped ? TURN_CANCELED : TURN_FAILED;
    if (t->state == TURN_FAILED)
        t->error = *err;
    if (t->state != TURN_COMPLETED)
        t->stop = t->is_continued             ? "continued"
                  : t->state == TURN_CANCELED ? "interrupted"
                                              : "error";
    if (t->mark)
        t->mark->state = t->state;
}

static void end_turn_await(struct turn *t, bool ok, struct error *err)
{
    struct session *s = t->session;
    AUTO(buf) struct buf mutations = BUF_INIT;
    struct error late;
    t->is_ending = true;
    keep_stopped_steering(t);
    set_state(t, ok, err);
    journal_drop(s->journal);
    t->finished_ms = time_now_ms();
    buf_addf(&mutations, "[%.*s]", STR_FMT(buf_str(&t->mutations)));
    struct event_end end = {.state = t->state,
                            .stop = t->stop,
                            .iterations = t->iterations,
                            .requests = t->n_requests,
                            .usage = t->usage,
                            .mutations = buf_str(&mutations)};
    bool is_changed = t->state != TURN_FAILED || (t->mark && t->mark->is_kept);
    bool is_kept = write_turn_record(t, &end, &late);
    is_kept = is_kept && (t->errand || session_settle_through_await(s, is_changed, &late));
    if (!is_kept && t->state != TURN_FAILED) {
        set_state(t, false, &late);
        end.state = t->state;
        end.stop = t->stop;
    }
    if (t->state == TURN_COMPLETED && s->settings->keep_context_await)
        s->settings->keep_context_await(s->settings->context_arg, s);
    turn_finish(t, &end);
    if (!t->errand && !t->is_continued) {
        s->last_end = t->state;
        s->is_last_kept = t->mark && t->mark->is_kept;
        session_set_str(&s->last_error, t->state == TURN_FAILED ? error_str(&t->error) : STR_NONE);
    }
    settle_late_steering(t); /* nothing waits between this and the end of the fiber */
}

static void turn_fiber(void *arg)
{
    struct turn *t = arg;
    struct error err = ERROR_INIT;
    bool ok = run_turn_await(t, &err);
    undo_end_through_await(t);
    timer_free(take(&t->timer));
    if (!ok && t->is_late && !t->is_cancel_asked && err.code == ERR_CANCELED)
        ok = stop_at_budget(t, "max_time", &err);
    if (ok)
        t->session->n_continuations = 0;
    else if (err.code == ERR_OVERFLOW && overflow_continue_await(t, &err))
        t->is_continued = true;
    end_turn_await(t, ok, &err);
    t->fiber = NULL;
    session_turn_over(t->session, t); /* after this the turn and the session may be gone */
}

/* What runs ends as it does at an interrupt. */
static void on_late(void *arg)
{
    struct turn *t = arg;
    t->is_late = true;
    if (t->fiber)
        fiber_cancel(t->fiber);
}

void turn_start(struct turn *t)
{
    int64_t most_ms = t->session->settings->max_time_ms;
    t->stop = "end_turn";
    if (most_ms > 0) {
        t->timer = timer_new(t->engine->loop, on_late, t);
        timer_start(t->timer, most_ms);
    }
    t->engine->n_running++;
    if (!t->session->journal)
        t->session->journal = journal_new(t->session);
    t->fiber = fiber_start(t->engine->loop, "turn", turn_fiber, t);
    if (t->is_cancel_asked)
        fiber_cancel(t->fiber);
}
