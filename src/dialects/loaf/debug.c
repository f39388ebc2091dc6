/* SPDX-License-Identifier: MIT */
/* session.debug: requests and replies of the model, among the documented events, after debug.set.
 * Request bodies contain the whole conversation and no credentials; headers are not shown. */
#include "dialects/loaf/say.h"

#include "base/limits.h"
#include "base/time.h"
#include "base/utf8.h"

enum { PREVIEW_CHARS = 400 };

static bool is_on(const struct loaf_session *ls)
{
    return ls->loaf->settings.sends_requests && ls->turn_id[0];
}

/* The event up to its open data object. */
static struct jw *begin(struct loaf_session *ls, const char *stage)
{
    struct jw *w = loaf_turn_event(ls, "session.debug");
    jw_kz(w, "stage", stage);
    jw_kobj(w, "data");
    return w;
}

static void end(struct loaf_session *ls, struct jw *w)
{
    jw_obj_end(w);
    loaf_event_end(ls->loaf);
}

void loaf_debug_request(struct loaf_session *ls, const struct event *e)
{
    ls->round = (int)e->count;
    if (!is_on(ls))
        return;
    struct jw *w = begin(ls, "request");
    jw_kint(w, "toolRound", e->count);
    if (e->json.n)
        jw_kraw(w, "payload", e->json);
    else
        jw_knull(w, "payload");
    end(ls, w);
}

void loaf_debug_retry(struct loaf_session *ls, const struct event *e)
{
    if (!is_on(ls))
        return;
    struct jw *w = begin(ls, "retry_429");
    jw_kint(w, "attempt", e->retry->attempt - 1);
    jw_kint(w, "maxAttempts", e->retry->max_attempts);
    jw_kint(w, "delayMs", e->retry->delay_ms);
    jw_kstr(w, "error", e->text);
    end(ls, w);
}

static void say_calls(struct loaf_session *ls, yyjson_val *message)
{
    yyjson_val *calls = json_get(message, "tool_calls");
    if (!yyjson_arr_size(calls))
        return;
    struct jw *w = begin(ls, "tool_calls");
    jw_kint(w, "toolRound", ls->round);
    jw_kval(w, "calls", calls);
    end(ls, w);
}

void loaf_debug_reply(struct loaf_session *ls, const struct event *e)
{
    AUTO(json) struct json message = JSON_INIT;
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw raw = JW(&json);
    struct error ignored;
    if (!is_on(ls))
        return;
    message_put(&raw, e->message);
    struct jw *w = begin(ls, "response_raw");
    jw_kint(w, "toolRound", ls->round);
    jw_kraw(w, "response", buf_str(&json));
    end(ls, w);
    if (json_parse(buf_str(&json), 0, LIMIT_JSON_DEPTH, &message, &ignored))
        say_calls(ls, message.root);
}

void loaf_put_steer(struct jw *w, struct str text)
{
    enum { PREVIEW = 160 };
    jw_obj(w);
    jw_kz(w, "role", "user");
    jw_kstr(w, "preview", utf8_cut_utf16(text, PREVIEW));
    jw_obj_end(w);
}

void loaf_debug_steers(struct loaf_session *ls)
{
    if (!is_on(ls))
        return;
    struct jw *w = begin(ls, "steer_injected");
    jw_kint(w, "count", ls->n_steers);
    jw_karr(w, "messages");
    jw_raw(w, buf_str(&ls->steers));
    jw_arr_end(w);
    end(ls, w);
}

void loaf_debug_call(struct loaf_session *ls, const struct event *e)
{
    if (!is_on(ls))
        return;
    struct jw *w = begin(ls, e->result ? "tool_call_completed" : "tool_call_started");
    jw_kint(w, "toolRound", e->call->round);
    jw_kstr(w, "name", e->call->name);
    jw_kstr(w, "callId", e->call->id);
    jw_kraw(w, "input", e->call->args);
    if (e->result)
        jw_kbool(w, "ok", !e->result->is_error);
    end(ls, w);
}

void loaf_debug_results(struct loaf_session *ls, size_t n)
{
    if (!is_on(ls))
        return;
    struct jw *w = begin(ls, "tool_results");
    jw_kint(w, "toolRound", ls->round);
    jw_kint(w, "count", (int64_t)n);
    end(ls, w);
}

void loaf_debug_final(struct loaf_session *ls)
{
    struct str answer = buf_str(&ls->answer);
    if (!is_on(ls))
        return;
    struct jw *w = begin(ls, "response_final");
    jw_kint(w, "thoughtCount", ls->n_thoughts);
    jw_kint(w, "answerLength", (int64_t)utf8_utf16_len(answer));
    jw_kint(w, "durationMs", (time_mono_us() - ls->began_us) / 1000);
    jw_kstr(w, "answerPreview", utf8_cut_chars(answer, PREVIEW_CHARS));
    end(ls, w);
}
