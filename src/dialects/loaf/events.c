/* SPDX-License-Identifier: MIT */
/* Translates engine events to loaf's, in the order of loaf 96-117. */
#include "dialects/loaf/say.h"

#include "base/utf8.h"

/* ---- text ---- */

/* The pieces of an answer joined must give the answer, which is trimmed: leading blanks
 * are dropped, trailing blanks are held back until text follows. */
static void text_came(struct loaf_session *ls, const struct event *e)
{
    struct str text = e->text;
    size_t end = text.n, begin = 0, n;
    buf_reset(&ls->thought);
    while ((n = utf8_space_last(str_cut(text, end))) > 0)
        end -= n;
    while (!ls->answer.n && begin < end && (n = utf8_space_first(str_from(text, begin))) > 0)
        begin += n;
    if (end > begin) {
        size_t shown = ls->answer.n;
        buf_add(&ls->answer, buf_str(&ls->blanks));
        buf_add(&ls->answer, str_n(text.p + begin, end - begin));
        buf_reset(&ls->blanks);
        loaf_say_answer(ls, str_from(buf_str(&ls->answer), shown));
    }
    if (ls->answer.n)
        buf_add(&ls->blanks, str_from(text, end));
}

static void reasoning_came(struct loaf_session *ls, const struct event *e)
{
    ls->n_thoughts += ls->thought.n == 0;
    buf_add(&ls->thought, e->text);
    if (utf8_trim(buf_str(&ls->thought)).n)
        loaf_say_thought(ls, e->text);
}

static void reply_done(struct loaf_session *ls, const struct event *e)
{
    buf_reset(&ls->thought);
    loaf_debug_reply(ls, e);
}

static void retry_waiting(struct loaf_session *ls, const struct event *e)
{
    enum { CAUSE_BYTES = 160 }; /* clients show it in one line */
    AUTO(buf) struct buf cause = BUF_INIT, label = BUF_INIT;
    loaf_put_failure(&cause, e->error);
    struct str shown = utf8_cut(buf_str(&cause), CAUSE_BYTES);
    buf_addf(&label, "%.*s%s; retrying (%d/%d)...", STR_FMT(shown), shown.n < cause.n ? "..." : "",
             e->retry->attempt, e->retry->max_attempts);
    loaf_say_status(ls, buf_str(&label), false);
    loaf_debug_retry(ls, e);
}

/* ---- calls ---- */

static void call_started(struct loaf_session *ls, const struct event *e)
{
    const struct event_call *c = e->call;
    struct jw *w = loaf_turn_event(ls, "session.tool.call.started");
    ls->round = c->round;
    buf_reset(&ls->thought);
    jw_kstr(w, "tool_call_id", c->id);
    jw_kstr(w, "tool_name", c->name);
    jw_kraw(w, "tool_input", c->args);
    jw_kobj(w, "data");
    jw_kint(w, "toolRound", c->round);
    jw_kobj(w, "call");
    jw_kstr(w, "name", c->name);
    jw_kraw(w, "input", c->args);
    jw_kstr(w, "providerToolName", c->name);
    jw_kstr(w, "callId", c->id);
    jw_obj_end(w);
    jw_obj_end(w);
    loaf_event_end(ls->loaf);
    loaf_debug_call(ls, e);
    loaf_say_estimate(ls);
}

static void put_output(struct jw *w, const char *name, const struct event_result *r)
{
    if (r->value.n)
        jw_kraw(w, name, r->value);
    else
        jw_kstr(w, name, r->text);
}

static void put_executed(struct jw *w, const struct event *e)
{
    jw_obj(w);
    jw_kstr(w, "name", e->call->name);
    jw_kbool(w, "ok", !e->result->is_error);
    jw_kraw(w, "input", e->call->args);
    put_output(w, "result", e->result);
    if (e->result->error.n)
        jw_kstr(w, "error", e->result->error);
    jw_obj_end(w);
}

/* Keeps the call for session.tool.results. */
static void keep_result(struct loaf_session *ls, const struct event *e)
{
    struct jw executed = {.out = &ls->executed, .comma = ls->executed.n > 0};
    struct jw results = {.out = &ls->results, .comma = ls->results.n > 0};
    put_executed(&executed, e);
    jw_obj(&results);
    jw_kstr(&results, "tool_call_id", e->call->id);
    jw_kstr(&results, "tool_name", e->call->name);
    jw_kbool(&results, "ok", !e->result->is_error);
    put_output(&results, "output", e->result);
    jw_obj_end(&results);
}

static void call_done(struct loaf_session *ls, const struct event *e)
{
    struct jw *w = loaf_turn_event(ls, "session.tool.call.completed");
    jw_kstr(w, "tool_call_id", e->call->id);
    jw_kstr(w, "tool_name", e->call->name);
    jw_kbool(w, "ok", !e->result->is_error);
    jw_kint(w, "duration_ms", e->result->duration_us / 1000);
    jw_kobj(w, "data");
    jw_kint(w, "toolRound", e->call->round);
    jw_key(w, "executed");
    put_executed(w, e);
    jw_obj_end(w);
    loaf_event_end(ls->loaf);
    keep_result(ls, e);
    ls->n_results++;
    loaf_debug_call(ls, e);
    loaf_say_estimate(ls);
}

void loaf_flush_round(struct loaf_session *ls)
{
    if (!ls->executed.n)
        return;
    struct jw *w = loaf_turn_event(ls, "session.tool.results");
    jw_karr(w, "results");
    jw_raw(w, buf_str(&ls->results));
    jw_arr_end(w);
    jw_kobj(w, "data");
    jw_kint(w, "toolRound", ls->round);
    jw_karr(w, "executed");
    jw_raw(w, buf_str(&ls->executed));
    jw_arr_end(w);
    jw_obj_end(w);
    buf_clear(&ls->executed); /* before it is sent: they may be large */
    buf_clear(&ls->results);
    loaf_event_end(ls->loaf);
    loaf_debug_results(ls, ls->n_results);
    ls->n_results = 0;
}

static void round_done(struct loaf_session *ls, const struct event *e)
{
    (void)e;
    loaf_flush_round(ls);
}

/* ---- steering, stopping ---- */

/* Texts that go out together have one label and one debug event, behind the last of them. */
static void steer_applied(struct loaf_session *ls, const struct event *e)
{
    struct jw w = {.out = &ls->steers, .comma = ls->steers.n > 0};
    loaf_say_message(ls, "user", e->text, STR_NONE);
    loaf_put_steer(&w, e->text);
    ls->n_steers++;
    if (e->count)
        return;
    loaf_say_status(ls, STR("steer applied; continuing..."), false);
    loaf_debug_steers(ls);
    buf_clear(&ls->steers);
    ls->n_steers = 0;
}

static void steer_late(struct loaf_session *ls, const struct event *e)
{
    loaf_say_system(ls, "%lld steer message(s) were queued too late and not applied.",
                    (long long)e->count);
}

/* Not for queued turns, which end without events, nor when the process ends. */
static void cancel_asked(struct loaf_session *ls, const struct event *e)
{
    if (str_is(e->turn_id, ls->turn_id) && !ls->loaf->is_ending && !ls->is_muted)
        loaf_say_status(ls, STR("interrupting..."), false);
}

static void notice(struct loaf_session *ls, const struct event *e)
{
    loaf_say_system(ls, "%.*s", STR_FMT(e->text));
}

/* ---- all of them ---- */

static void (*const handlers[EV_N_KINDS])(struct loaf_session *ls, const struct event *e) = {
    [EV_TURN_QUEUED] = loaf_turn_queued,
    [EV_TURN_STARTED] = loaf_turn_started,
    [EV_STEER_APPLIED] = steer_applied,
    [EV_STEER_LATE] = steer_late,
    [EV_INPUT_ADDED] = loaf_input_added,
    [EV_TEXT] = text_came,
    [EV_REASONING] = reasoning_came,
    [EV_REQUEST] = loaf_debug_request,
    [EV_REPLY_DONE] = reply_done,
    [EV_RETRY_WAITING] = retry_waiting,
    [EV_CALL_STARTED] = call_started,
    [EV_CALL_DONE] = call_done,
    [EV_ROUND_DONE] = round_done,
    [EV_COMPACTION_STARTED] = loaf_compaction_started,
    [EV_COMPACTION_DONE] = loaf_compaction_done,
    [EV_CANCEL_ASKED] = cancel_asked,
    [EV_TURN_ENDED] = loaf_turn_ended,
    [EV_NOTICE] = notice,
};

void loaf_on_session_event(void *arg, struct session *s, const struct event *e)
{
    (void)s;
    if (handlers[e->kind])
        handlers[e->kind](arg, e);
}
