/* SPDX-License-Identifier: MIT */
/* StateSnapshot, SessionState and their parts (loaf 62, 76). */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/state.h"

#include "base/utf8.h"

#include "base/time.h"

/* ---- StateSnapshot ---- */

static void put_model(struct loaf *lf, struct jw *w)
{
    jw_kobj(w, "model");
    jw_kstr(w, "selectedModel", loaf_model_id(lf, str_of(lf->model)));
    jw_kz(w, "selectedThinking", lf->thinking);
    jw_kz(w, "selectedOpenRouterProvider", lf->routing);
    jw_kz(w, "selectedProvider", loaf_selected_name(lf));
    jw_obj_end(w);
}

/* Each new session sends all ids: they are cached as JSON, all of equal length. */
void loaf_add_id(struct loaf *lf, const struct loaf_session *ls)
{
    struct jw w = {.out = &lf->ids, .comma = lf->ids.n > 0};
    jw_str(&w, str_of(ls->id));
}

static void put_sessions(struct loaf *lf, struct jw *w, size_t most)
{
    enum { ITEM = sizeof "\"\"," - 1 + UUID_LEN };
    size_t n_left_out = lf->n_sessions - MIN(lf->n_sessions, most);
    jw_kobj(w, "sessions");
    jw_kint(w, "count", (int64_t)lf->n_sessions);
    jw_karr(w, "ids");
    if (lf->n_sessions)
        jw_raw(w, str_from(buf_str(&lf->ids), n_left_out * ITEM));
    jw_arr_end(w);
    jw_obj_end(w);
}

void loaf_put_snapshot(struct loaf *lf, struct jw *w, size_t most_ids)
{
    jw_obj(w);
    jw_key(w, "auth");
    loaf_put_auth(lf, w, &loaf_auth_in_snapshot);
    jw_kobj(w, "onboarding");
    jw_kbool(w, "completed", lf->is_onboarded);
    jw_obj_end(w);
    put_model(lf, w);
    put_sessions(lf, w, most_ids);
    jw_kobj(w, "skills");
    loaf_put_skills_state(lf, w);
    jw_obj_end(w);
    jw_obj_end(w);
}

/* ---- messages ---- */

static void put_text(struct jw *w, const char *name, const struct ui_message *m)
{
    if (m->json)
        jw_kblob(w, name, m->json);
    else
        jw_kstr(w, name, m->text);
}

void loaf_put_ui_message(struct jw *w, const struct ui_message *m)
{
    jw_obj(w);
    jw_kint(w, "id", m->id);
    jw_kz(w, "kind", m->kind);
    put_text(w, "text", m);
    jw_kz(w, "role", m->kind);
    put_text(w, "content", m);
    if (m->images.p)
        jw_kraw(w, "images", m->images);
    jw_obj_end(w);
}

struct message *loaf_history_of(struct loaf_session *ls, struct arena *a, size_t *ret_n)
{
    struct message *all = session_messages(ls->session, a, ret_n);
    if (ls->turn_id[0])
        *ret_n = MIN(*ret_n, ls->n_history); /* a turn becomes history when it ends */
    return all;
}

struct str loaf_history_text(struct arena *a, const struct message *m)
{
    struct str text = utf8_trim(message_text_of(a, m));
    if (m->role != ROLE_SUMMARY)
        return text;
    return arena_fmt(a, "## Conversation Summary\n\n%.*s", STR_FMT(text));
}

bool loaf_put_attachments(struct jw *w, const char *name, const struct message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind != BLOCK_IMAGE)
            continue;
        if (n++ == 0 && name)
            jw_karr(w, name);
        else if (n == 1)
            jw_arr(w);
        loaf_image_put(w, &m->blocks[i]);
    }
    if (n)
        jw_arr_end(w);
    return n > 0;
}

void loaf_put_history_message(struct jw *w, struct arena *a, const struct message *m)
{
    jw_kz(w, "role", m->role == ROLE_USER ? "user" : "assistant");
    jw_kstr(w, "text", loaf_history_text(a, m));
    loaf_put_attachments(w, "images", m);
}

static void put_history(struct loaf_session *ls, struct jw *w)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct message *all = loaf_history_of(ls, &a, &n);
    jw_karr(w, "history");
    for (size_t i = 0; i < n; i++) {
        jw_obj(w);
        loaf_put_history_message(w, &a, &all[i]);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

/* ---- the queue ---- */

struct prompt_images *loaf_prompt_find(struct loaf_session *ls, struct str turn_id)
{
    for (struct prompt_images *p = ls->prompts; p; p = p->next)
        if (str_is(turn_id, p->turn_id))
            return p;
    return NULL;
}

void loaf_prompt_drop(struct loaf_session *ls, struct str turn_id)
{
    for (struct prompt_images **at = &ls->prompts; *at; at = &(*at)->next) {
        struct prompt_images *p = *at;
        if (!str_is(turn_id, p->turn_id))
            continue;
        *at = p->next;
        free(p->text);
        free(p->images);
        free(p->attached);
        free(p);
        return;
    }
}

void loaf_put_queue(struct loaf_session *ls, struct jw *w)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct waiting_input *waiting = session_waiting(ls->session, &a, &n);
    jw_karr(w, "queue");
    for (size_t i = 0; i < n; i++) {
        const struct prompt_images *p = loaf_prompt_find(ls, waiting[i].turn_id);
        char queued[TIME_ISO_LEN + 1];
        time_iso(waiting[i].queued_ms, queued);
        jw_obj(w);
        jw_kstr(w, "id", waiting[i].turn_id);
        jw_kstr(w, "text", p ? str_of(p->text) : waiting[i].text);
        jw_kraw(w, "images", p ? str_of(p->images) : STR("[]"));
        jw_kz(w, "enqueuedAt", queued);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

/* ---- SessionState ---- */

static void put_context(struct loaf_session *ls, struct jw *w)
{
    const char *name = loaf_selected_name(ls->loaf);
    struct estimate e = loaf_estimate_of(ls);
    jw_kint(w, "contextTokenEstimate", e.total);
    jw_kz(w, "contextTokenSource", "history");
    jw_kz(w, "contextTokenProvider", name ? name : ls->provider);
    loaf_put_breakdown(w, "contextTokenBreakdown", &e);
}

void loaf_put_session_state(struct loaf_session *ls, struct jw *w)
{
    char created[TIME_ISO_LEN + 1], updated[TIME_ISO_LEN + 1];
    struct session_info info;
    session_info(ls->session, &info);
    time_iso(ls->created_ms, created);
    time_iso(ls->updated_ms, updated);
    jw_obj(w);
    jw_kz(w, "id", ls->id);
    jw_kz(w, "createdAt", created);
    jw_kz(w, "updatedAt", updated);
    jw_kbool(w, "pending", ls->is_pending);
    jw_kstr(w, "statusLabel", ls->label.n ? buf_str(&ls->label) : STR("ready"));
    jw_karr(w, "messages");
    for (const struct ui_message *m = ls->shown.first; m; m = m->next)
        loaf_put_ui_message(w, m);
    jw_arr_end(w);
    put_history(ls, w);
    loaf_put_queue(ls, w);
    jw_kint(w, "pendingSteerCount", info.n_steering);
    jw_kz(w, "conversationProvider", ls->provider);
    jw_kstr_null(w, "activeSessionId", ls->has_chat ? info.id : STR_NONE);
    put_context(ls, w);
    jw_obj_end(w);
}
