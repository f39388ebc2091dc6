/* SPDX-License-Identifier: MIT */
/* A turn during which an earlier process ended: clients that come back to it hear how it ended.
 * They get the text that was recovered, results for the calls that ran, and the end as an error.
 * The numbers are those that the records get when the file is written next. */
#include "engine/file.h"
#include "engine/turn_impl.h"

#include "base/time.h"

void turn_lost(struct error *err)
{
    error_set(err, ERR_INTERNAL,
              "trivet ended during this turn; what it had begun may be incomplete");
}

static void emit_reply(struct session *s, struct turn *t, const struct message *m)
{
    struct str text = message_text_of(&t->arena, m);
    session_emit(s, t, &(struct event){.kind = EV_TEXT, .text = text});
    session_emit(s, t, &(struct event){.kind = EV_REPLY_DONE, .message = m});
}

static void emit_result(struct session *s, struct turn *t, const struct message *m)
{
    struct event_call call = {.id = m->call_id, .name = m->name, .raw = STR(""), .args = STR("{}")};
    struct event_result result = {.text = message_text_of(&t->arena, m), .is_error = true};
    s->seq++;
    session_emit(s, t, &(struct event){.kind = EV_CALL_DONE, .call = &call, .result = &result});
}

static struct turn *make_turn(struct session *s, const struct turn_mark *m)
{
    struct turn *t = xnew(struct turn);
    struct str id = str_cut(m->id, UUID_LEN);
    memcpy(t->id, id.p, id.n);
    memcpy(t->session_id, s->id, sizeof t->session_id);
    t->engine = s->engine;
    t->session = s;
    t->steers_end = &t->steers;
    t->created_ms = t->started_ms = t->finished_ms = time_now_ms();
    t->is_accepted = t->is_announced = true;
    engine_add_turn(t);
    return t;
}

void session_report_lost(struct session *s)
{
    const struct turn_mark *m = s->history.marks;
    if (!s->lost_end_seq || !m || m->state != TURN_RUNNING)
        return;
    struct turn *t = make_turn(s, m);
    struct event_end end = {.state = TURN_FAILED, .stop = "error", .mutations = STR("[]")};
    turn_lost(&t->error);
    s->gone = s->seq = s->recovered_seq;
    for (size_t i = session_first_unsaved(s); i < s->history.n; i++)
        if (s->history.messages[i].role == ROLE_ASSISTANT)
            emit_reply(s, t, &s->history.messages[i]);
        else
            emit_result(s, t, &s->history.messages[i]);
    turn_finish(t, &end);
    arena_clear(&t->arena);
    engine_keep_finished(s->engine, t);
}
