/* SPDX-License-Identifier: MIT */
/* Compaction: five undocumented events of loaf and a message for the user (loaf 131-142).  The
 * anchors refer to an event log that trivet does not have: always 0. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/time.h"

#include <stdio.h>

/* Then compaction cannot shorten it. */
static bool is_summary_only(struct loaf_session *ls, size_t n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    return n == 1 && loaf_history_of(ls, &a, &n)[0].role == ROLE_SUMMARY;
}

const char *loaf_why_compact(void *arg, struct session *s)
{
    struct loaf *lf = arg;
    struct loaf_session *ls = loaf_session_of(s);
    const char *now = loaf_selected_name(lf);
    if (!ls || !ls->n_history)
        return NULL;
    size_t n = loaf_count_messages(ls);
    if (ls->turn_id[0])
        n = MIN(n, ls->n_history); /* a turn becomes history when it ends */
    if (is_summary_only(ls, n))
        return NULL;
    if (ls->provider && now && strcmp(ls->provider, now) != 0)
        return "provider_switch";
    return loaf_history_tokens(ls, n) > loaf_window_of(lf).high ? "auto" : NULL;
}

static const char *reason_of(const struct loaf_session *ls, const struct event_compaction *c)
{
    if (ls->compact_reason)
        return ls->compact_reason;
    return strcmp(c->reason, "overflow") == 0 ? "auto" : c->reason;
}

static bool is_overflow(const struct event *e)
{
    return strcmp(e->compaction->reason, "overflow") == 0;
}

/* The turn ends here; its messages become history. */
static void end_overflown(struct loaf_session *ls, const struct event *e)
{
    loaf_flush_round(ls);
    if (ls->answer.n)
        loaf_say_message(ls, "assistant", buf_str(&ls->answer), STR_NONE);
    loaf_put_failure(&ls->overflow, e->error);
    ls->n_history = SIZE_MAX;
}

void loaf_compaction_started(struct loaf_session *ls, const struct event *e)
{
    struct window window = loaf_window_of(ls->loaf);
    if (is_overflow(e) && e->error)
        end_overflown(ls, e);
    size_t n = MIN(ls->turn_id[0] ? ls->n_history : SIZE_MAX, loaf_count_messages(ls));
    ls->tokens_before = loaf_history_tokens(ls, n);
    ls->n_compacted = (int64_t)n;
    if (ls->turn_id[0]) {
        ls->is_pending = true;
        ls->has_flashed = false;
        loaf_flash_compressing(ls);
    }
    struct jw *w = loaf_turn_event(ls, "compaction.started");
    jw_kz(w, "reason", reason_of(ls, e->compaction));
    jw_kint(w, "anchor_event_index_before", 0);
    jw_kint(w, "event_count", ls->n_compacted);
    jw_kint(w, "context_window_tokens", window.size);
    loaf_event_end(ls->loaf);
}

static void say_failed(struct loaf_session *ls, const struct event *e)
{
    struct jw *w = loaf_turn_event(ls, "compaction.failed");
    jw_kz(w, "reason", reason_of(ls, e->compaction));
    jw_kz(w, "message", e->error->text);
    loaf_event_end(ls->loaf);
}

static void say_steps(struct loaf_session *ls, const struct event_compaction *c)
{
    char now[TIME_ISO_LEN + 1];
    time_iso(time_now_ms(), now);
    struct jw *w = loaf_turn_event(ls, "compaction.anchor_selected");
    jw_kz(w, "reason", reason_of(ls, c));
    jw_kint(w, "anchor_event_index_before", 0);
    jw_kint(w, "anchor_event_index_after", 0);
    jw_kint(w, "delta_event_count", ls->n_compacted);
    loaf_event_end(ls->loaf);
    w = loaf_turn_event(ls, "compaction.summary_merged");
    jw_kz(w, "summary_updated_at", now);
    jw_kint(w, "anchor_event_index_after", 0);
    loaf_event_end(ls->loaf);
}

static void say_completed(struct loaf_session *ls, const struct event_compaction *c)
{
    struct window window = loaf_window_of(ls->loaf);
    struct jw *w = loaf_turn_event(ls, "compaction.completed");
    jw_kbool(w, "compressed", true);
    jw_kz(w, "reason", reason_of(ls, c));
    jw_kint(w, "estimated_tokens_before", ls->tokens_before);
    jw_kint(w, "estimated_tokens_after", ls->tokens_after);
    jw_kint(w, "model_context_window", window.size);
    jw_kint(w, "target_limit", window.target);
    jw_kint(w, "high_watermark_limit", window.high);
    jw_kint(w, "anchor_event_index_before", 0);
    jw_kint(w, "anchor_event_index_after", 0);
    loaf_event_end(ls->loaf);
}

struct commas {
    char text[40];
};

static struct commas with_commas(int64_t n)
{
    char digits[24];
    struct commas c;
    size_t at = 0;
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < len; i++) {
        c.text[at++] = digits[i];
        if (i + 1 < len && digits[i] != '-' && (len - 1 - i) % 3 == 0)
            c.text[at++] = ',';
    }
    c.text[at] = '\0';
    return c;
}

/* No message after model.select: its result has the same data. */
static void say_note(struct loaf_session *ls, const struct event_compaction *c)
{
    if (ls->compact_reason)
        return;
    struct window window = loaf_window_of(ls->loaf);
    const char *now = loaf_selected_name(ls->loaf);
    struct commas from = with_commas(ls->tokens_before), to = with_commas(ls->tokens_after);
    if (strcmp(c->reason, "overflow") == 0)
        loaf_say_system(ls,
                        "context overflow detected; compressed context (%s -> %s est. tokens). "
                        "continuing...",
                        from.text, to.text);
    else if (strcmp(reason_of(ls, c), "provider_switch") == 0)
        loaf_say_system(ls,
                        "provider switched: %s -> %s. context compressed (%s -> %s est. tokens).",
                        ls->provider, now ? now : "none", from.text, to.text);
    else if (strcmp(reason_of(ls, c), "manual") == 0)
        loaf_say_system(ls, "context compression complete: %s -> %s est. tokens.", from.text,
                        to.text);
    else
        loaf_say_system(
            ls, "context compression (auto): %s -> %s est. tokens (limit %s / window %s).",
            from.text, to.text, with_commas(window.high).text, with_commas(window.size).text);
}

void loaf_compaction_done(struct loaf_session *ls, const struct event *e)
{
    ls->updated_ms = time_now_ms();
    if (e->error) {
        ls->has_failed_to_compact = ls->turn_id[0] != '\0' && e->error->code != ERR_CANCELED;
        say_failed(ls, e);
    } else {
        if (ls->turn_id[0])
            ls->n_history = 1; /* only the summary precedes the turn */
        ls->tokens_after = loaf_history_tokens(ls, 1);
        say_steps(ls, e->compaction);
        say_completed(ls, e->compaction);
        loaf_say_estimate(ls);
        say_note(ls, e->compaction);
        ls->provider = loaf_selected_name(ls->loaf);
        ls->has_chat = true;
    }
}

/* ---- /compress ---- */

static void put_outcome(struct loaf_session *ls, struct jw *w)
{
    struct window window = loaf_window_of(ls->loaf);
    jw_obj(w);
    jw_kbool(w, "compressed", true);
    jw_kz(w, "reason", "manual");
    jw_kint(w, "estimated_tokens_before", ls->tokens_before);
    jw_kint(w, "estimated_tokens_after", ls->tokens_after);
    jw_kint(w, "model_context_window", window.size);
    jw_kint(w, "target_limit", window.target);
    jw_kint(w, "anchor_event_index_before", 0);
    jw_kint(w, "anchor_event_index_after", 0);
    jw_obj_end(w);
}

static bool compress_paused_await(struct loaf_session *ls, struct session *s, struct arena *a,
                                  struct error *err)
{
    struct compact_outcome out;
    ls->is_pending = true; /* a turn that ended meanwhile has reset it */
    loaf_model_apply(ls->loaf, s);
    return session_compact_await(s, STR_NONE, a, &out, err) ||
           error_prefix(err, "context compaction failed");
}

bool loaf_compress_await(struct loaf_session *ls, struct arena *a, struct jw *w, struct error *err)
{
    if (!loaf_selected_provider(ls->loaf))
        return error_set(err, ERR_NO_MODEL, "select a model first before running /compress");
    ls->is_muted = ls->turn_id[0] != '\0';
    ls->is_pending = true;
    loaf_say_status(ls, STR("compressing context..."), false);
    struct session *s = loaf_pause_await(ls, err);
    bool ok = s && compress_paused_await(ls, s, a, err);
    if (ok)
        put_outcome(ls, w);
    ls->is_pending = ls->turn_id[0] != '\0';
    if (!ls->is_pending)
        loaf_say_status(ls, STR("ready"), false);
    if (s)
        session_go_on(s);
    return ok;
}
