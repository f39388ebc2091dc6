/* SPDX-License-Identifier: MIT */
/* First and last events of a turn (loaf 89, 96-99, 115, 123-130).  The last event is always the
 * status "ready". */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/time.h"
#include "base/utf8.h"

/* ---- beginning ---- */

static void begin_turn(struct loaf_session *ls, struct str turn_id, size_t n_history)
{
    memcpy(ls->turn_id, turn_id.p, MIN(turn_id.n, UUID_LEN));
    ls->n_history = n_history;
    ls->is_added = ls->has_flashed = ls->is_muted = ls->has_failed_to_compact = false;
    ls->turn_provider = NULL;
    ls->n_thoughts = 0;
    ls->n_results = 0;
    ls->began_us = time_mono_us();
    ls->is_pending = true;
    ls->updated_ms = time_now_ms();
    loaf_say_status(ls, STR("preparing..."), true);
}

void loaf_turn_queued(struct loaf_session *ls, const struct event *e)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_waiting;
    ls->updated_ms = time_now_ms();
    if (e->is_first) { /* the prompt is the last message already */
        size_t n = loaf_count_messages(ls);
        begin_turn(ls, e->turn_id, n ? n - 1 : 0);
        return;
    }
    session_waiting(ls->session, &a, &n_waiting);
    struct jw *w = loaf_session_event(ls,
                                      "session.status"); /* the session's label is not changed */
    jw_kbool(w, "pending", true);
    jw_kstr(w, "status_label", arena_fmt(&a, "queued (%zu)", n_waiting));
    loaf_event_end(ls->loaf);
}

void loaf_turn_started(struct loaf_session *ls, const struct event *e)
{
    if (!str_is(e->turn_id, ls->turn_id))
        begin_turn(ls, e->turn_id, loaf_count_messages(ls));
    loaf_model_apply(ls->loaf, ls->session);
}

void loaf_flash_compressing(struct loaf_session *ls)
{
    if (!ls->has_flashed)
        loaf_say_status(ls, STR("compressing context..."), true);
    ls->has_flashed = true;
}

void loaf_input_added(struct loaf_session *ls, const struct event *e)
{
    const struct prompt_images *p = loaf_prompt_find(ls, e->turn_id);
    bool is_off = strcmp(ls->loaf->thinking, "OFF") == 0;
    if (ls->n_history)
        loaf_flash_compressing(ls);
    ls->is_added = true;
    ls->has_chat = true;
    ls->turn_provider = loaf_selected_name(ls->loaf);
    loaf_say_status(ls, is_off ? STR("drafting response...") : STR("thinking..."), true);
    loaf_say_message(ls, "user", e->text, str_of(p ? p->attached : NULL));
    loaf_say_estimate(ls);
}

/* ---- ending ---- */

static void end_completed(struct loaf_session *ls)
{
    if (!ls->answer.n) {
        buf_addz(&ls->answer, ls->loaf->settings.empty_answer);
        loaf_say_answer(ls, buf_str(&ls->answer));
    }
    loaf_debug_final(ls);
    loaf_say_completed(ls);
}

static void end_interrupted(struct loaf_session *ls)
{
    bool has_text = ls->answer.n > 0;
    loaf_flush_round(ls);
    if (has_text && !ls->overflow.n) /* after an overflow it was sent before */
        loaf_say_message(ls, "assistant", buf_str(&ls->answer), STR_NONE);
    loaf_say_estimate(ls);
    if (!ls->is_muted)
        loaf_say_system(ls, has_text ? "response interrupted by user. partial output kept."
                                     : "response interrupted by user.");
    struct jw *w = loaf_turn_event(ls, "session.interrupted");
    jw_kbool(w, "partial_output", has_text);
    loaf_event_end(ls->loaf);
}

struct failure {
    const char *code;
    bool is_prefixed; /* the message shown begins with "inference error: " */
    char text[600];
};

/* The error text for a provider without credentials: loaf's, or trivet's for other providers. */
static void describe_no_key(struct loaf *lf, const struct provider *p, struct failure *f,
                            struct buf *text)
{
    const char *name = loaf_provider_name(p), *known = loaf_known_provider(str_of(name));
    *f = (struct failure){.code = "no_credentials"};
    if (known && !loaf_is_enabled(lf, known)) {
        f->code = "provider_not_enabled";
        buf_addf(text, "provider %s is not enabled", known);
    } else if (known && strcmp(known, "openrouter") == 0) {
        buf_addz(text, "openrouter model selected, but no openrouter api key is available");
    } else if (known) {
        buf_addf(text, "%s model selected, but no %s oauth token is available", known,
                 strcmp(known, "openai") == 0 ? "chatgpt" : known);
    } else {
        buf_addf(text, "%s model selected, but no %s api key is available; set %s", name, name,
                 p->env_key ? p->env_key : "one");
    }
}

static struct failure describe_failure(struct loaf_session *ls, const struct error *err)
{
    struct failure f = {.code = "provider_error", .is_prefixed = true};
    const struct prompt_images *prompt = loaf_prompt_find(ls, str_of(ls->turn_id));
    const struct provider *p = loaf_selected_provider(ls->loaf);
    struct buf text = BUF_MAX(sizeof f.text - 1);
    if (ls->has_failed_to_compact) {
        f = (struct failure){.code = "compaction_failed"};
        buf_addf(&text, "context compaction failed: %s", err->text);
    } else if (prompt && prompt->is_refused) {
        f.code = "invalid_image";
        buf_addz(&text, err->text);
    } else if (err->code == ERR_NO_MODEL && !ls->loaf->model[0]) {
        f = (struct failure){.code = "no_model"};
        buf_addz(&text, "select a model from an enabled provider first");
    } else if (err->code == ERR_NO_KEY && p) {
        describe_no_key(ls->loaf, p, &f, &text);
    } else {
        if (err->origin == ORIGIN_LOCAL && err->code != ERR_NETWORK)
            f.code = err_code_name(err->code);
        loaf_put_failure(&text, err);
    }
    memcpy(f.text, buf_str(&text).p, text.n);
    buf_clear(&text);
    return f;
}

static void end_failed(struct loaf_session *ls, const struct error *err)
{
    struct failure f = describe_failure(ls, err);
    bool is_late = ls->has_failed_to_compact && ls->overflow.n;
    if (ls->is_added)
        loaf_say_estimate(ls);
    if (is_late)
        loaf_say_system(ls, "inference error: %.*s", STR_FMT(buf_str(&ls->overflow)));
    loaf_say_system(ls, "%s%s",
                    is_late         ? "auto-compression failed: "
                    : f.is_prefixed ? "inference error: "
                                    : "",
                    f.text);
    struct jw *w = loaf_turn_event(ls, "session.error");
    jw_kz(w, "message", f.text);
    jw_kz(w, "code", f.code);
    loaf_event_end(ls->loaf);
}

static void forget_turn(struct loaf_session *ls)
{
    loaf_prompt_drop(ls, str_of(ls->turn_id));
    memset(ls->turn_id, 0, sizeof ls->turn_id);
    buf_clear(&ls->answer);
    buf_clear(&ls->blanks);
    buf_clear(&ls->thought);
    buf_clear(&ls->executed);
    buf_clear(&ls->results);
    buf_clear(&ls->steers);
    ls->n_steers = 0;
    buf_clear(&ls->overflow);
}

void loaf_turn_ended(struct loaf_session *ls, const struct event *e)
{
    ls->updated_ms = time_now_ms();
    if (!str_is(e->turn_id, ls->turn_id)) { /* it was only queued */
        loaf_prompt_drop(ls, e->turn_id);
        return;
    }
    if (e->end->state == TURN_COMPLETED)
        end_completed(ls);
    else if (strcmp(e->end->stop, "continued") == 0)
        loaf_flush_round(ls); /* before the next turn starts */
    else if (e->end->state == TURN_CANCELED)
        end_interrupted(ls);
    else
        end_failed(ls, e->error);
    if ((e->end->state != TURN_FAILED || ls->overflow.n) && ls->turn_provider)
        ls->provider = ls->turn_provider;
    forget_turn(ls);
    ls->is_pending = false;
    loaf_say_status(ls, STR("ready"), false);
    buf_clear(&ls->label);
}
