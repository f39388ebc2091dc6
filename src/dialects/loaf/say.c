/* SPDX-License-Identifier: MIT */
/* Writes events: {"type":..,"timestamp":..,"payload":{..}} inside a notification named "event".
 * Where loaf and its documents use different members for one value, all are sent. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/limits.h"
#include "base/shown.h"
#include "base/time.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>

struct jw *loaf_event_begin(struct loaf *lf, const char *type)
{
    char now[TIME_ISO_LEN + 1];
    time_iso(time_now_ms(), now);
    lf->w = rpc_begin_notice("event", &lf->out);
    lf->w.splices = &lf->splices;
    lf->event_at = lf->out.n;
    jw_obj(&lf->w);
    jw_kz(&lf->w, "type", type);
    jw_kz(&lf->w, "timestamp", now);
    jw_kobj(&lf->w, "payload");
    return &lf->w;
}

struct jw *loaf_session_event(struct loaf_session *ls, const char *type)
{
    struct jw *w = loaf_event_begin(ls->loaf, type);
    jw_kz(w, "session_id", ls->id);
    return w;
}

struct jw *loaf_turn_event(struct loaf_session *ls, const char *type)
{
    struct jw *w = loaf_session_event(ls, type);
    if (ls->turn_id[0])
        jw_kz(w, "turn_id", ls->turn_id);
    return w;
}

enum { KEEP_EVENT_BYTES = 64 << 10 };

static void copy_event(const struct loaf *lf)
{
    AUTO(buf) struct buf line = BUF_INIT;
    size_t at = lf->event_at;
    for (size_t i = 0; i < lf->splices.n; i++) {
        const struct splice *splice = &lf->splices.items[i];
        shown_add(&line, str_n(lf->out.p + at, splice->at - at), false);
        shown_add(&line, buf_str(&splice->blob->bytes), false);
        at = splice->at;
    }
    shown_add(&line, str_from(buf_str(&lf->out), at), false);
    buf_addc(&line, '\n');
    fwrite(line.p, 1, line.n, stderr);
}

void loaf_event_end(struct loaf *lf)
{
    jw_obj_end(&lf->w);
    jw_obj_end(&lf->w);
    if (lf->copies_events)
        copy_event(lf);
    if (!lf->is_deaf)
        rpc_end_notice(lf->rpc, &lf->w);
    splices_clear(&lf->splices);
    buf_shrink(&lf->out, KEEP_EVENT_BYTES);
}

void loaf_say_state_changed(struct loaf *lf, struct str reason, const struct loaf_session *created)
{
    struct jw *w = loaf_event_begin(lf, "state.changed");
    jw_kstr(w, "reason", reason);
    if (created)
        jw_kz(w, "session_id", created->id);
    jw_key(w, "snapshot");
    loaf_put_snapshot(lf, w, LIMIT_EVENT_SESSIONS);
    loaf_event_end(lf);
}

void loaf_say_status(struct loaf_session *ls, struct str label, bool with_turn)
{
    buf_reset(&ls->label);
    buf_add(&ls->label, label);
    struct jw *w = with_turn ? loaf_turn_event(ls, "session.status")
                             : loaf_session_event(ls, "session.status");
    jw_kbool(w, "pending", ls->is_pending);
    jw_kstr(w, "status_label", label);
    loaf_event_end(ls->loaf);
}

struct ui_message *loaf_show(struct loaf *lf, struct shown_messages *to, const char *kind,
                             struct str text, struct str images)
{
    struct ui_message *m = arena_new(&to->arena, struct ui_message);
    *m = (struct ui_message){
        .id = ++lf->last_message_id, .kind = kind, .text = text, .images = images};
    if (to->last)
        to->last->next = m;
    else
        to->first = m;
    return to->last = m;
}

/* text and images lie in the arena of the shown messages. */
static struct ui_message *keep_message(struct loaf_session *ls, const char *kind, struct str text,
                                       struct str images)
{
    ls->updated_ms = time_now_ms();
    return loaf_show(ls->loaf, &ls->shown, kind, text, images);
}

const struct ui_message *loaf_add_message(struct loaf_session *ls, const char *kind,
                                          struct str text, struct str images)
{
    return keep_message(ls, kind, arena_str(&ls->shown.arena, text),
                        arena_str(&ls->shown.arena, images));
}

static void say_appended(struct loaf_session *ls, const struct ui_message *m)
{
    struct jw *w = loaf_session_event(ls, "session.message.appended");
    jw_key(w, "message");
    loaf_put_ui_message(w, m);
    loaf_event_end(ls->loaf);
}

const struct ui_message *loaf_say_message(struct loaf_session *ls, const char *kind,
                                          struct str text, struct str images)
{
    const struct ui_message *m = loaf_add_message(ls, kind, text, images);
    say_appended(ls, m);
    return m;
}

/* The next two events contain a long answer four times: it is encoded once. */
static struct ui_message *keep_answer(struct loaf_session *ls)
{
    struct str text = buf_str(&ls->answer);
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw w = JW(&json);
    if (text.n < LONG_TEXT)
        return keep_message(ls, "assistant", arena_str(&ls->shown.arena, text), STR_NONE);
    arena_own(&ls->shown.arena, buf_take(&ls->answer), text.n + 1);
    struct ui_message *m = keep_message(ls, "assistant", text, STR_NONE);
    jw_str(&w, text);
    m->json = blob_new(&json);
    return m;
}

void loaf_say_completed(struct loaf_session *ls)
{
    struct ui_message *m = keep_answer(ls);
    say_appended(ls, m);
    loaf_say_estimate(ls);
    struct jw *w = loaf_turn_event(ls, "session.completed");
    jw_kint(w, "answer_length", (int64_t)utf8_utf16_len(m->text));
    jw_key(w, "message");
    loaf_put_ui_message(w, m);
    loaf_event_end(ls->loaf);
    blob_release(take(&m->json)); /* queued events hold a reference until they are written */
}

void loaf_say_system(struct loaf_session *ls, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    loaf_say_message(ls, "system", buf_str(&text), STR_NONE);
}

void loaf_say_estimate(struct loaf_session *ls)
{
    struct estimate e = loaf_estimate_of(ls);
    const char *name = loaf_selected_name(ls->loaf);
    struct jw *w = loaf_session_event(ls, "session.context.estimate");
    jw_kz(w, "provider", name ? name : ls->provider);
    jw_kz(w, "source", "history");
    jw_kint(w, "total_tokens_estimate", e.total);
    loaf_put_breakdown(w, "breakdown", &e);
    loaf_event_end(ls->loaf);
}

/* ---- pieces of an answer ---- */

static void say_chunk(struct loaf_session *ls, const char *kind, struct str text,
                      struct str thought)
{
    bool is_answer = !thought.p;
    struct jw *w = loaf_turn_event(ls, "session.stream.chunk");
    jw_kstr(w, "text", is_answer ? text : STR(""));
    jw_kbool(w, "done", false);
    jw_kobj(w, "chunk");
    jw_karr(w, "thoughts");
    if (!is_answer)
        jw_str(w, thought);
    jw_arr_end(w);
    jw_kstr(w, "answerText", is_answer ? text : STR(""));
    jw_karr(w, "segments");
    jw_obj(w);
    jw_kz(w, "kind", kind);
    jw_kstr(w, "text", text);
    jw_obj_end(w);
    jw_arr_end(w);
    jw_obj_end(w);
    loaf_event_end(ls->loaf);
}

void loaf_say_answer(struct loaf_session *ls, struct str text)
{
    loaf_say_status(ls, STR("drafting response..."), false);
    say_chunk(ls, "answer", text, STR_NONE);
}

/* The title of a piece of reasoning: its bold heading, else its first line; lower case. */
static void put_title(struct buf *out, struct str thought)
{
    struct str title = STR_NONE;
    if (str_starts(thought, STR("**"))) {
        struct str inner = str_from(thought, 2);
        size_t end = str_find(inner, STR("**"));
        if (end != SIZE_MAX)
            title = utf8_trim(str_cut(inner, end));
    }
    if (!title.n) {
        str_split(thought, '\n', &title);
        title = utf8_trim(title);
    }
    for (size_t i = 0; i < title.n; i++)
        buf_addc(out, (char)tolower((unsigned char)title.p[i]));
    if (!title.n)
        buf_addz(out, "reasoning");
}

void loaf_say_thought(struct loaf_session *ls, struct str text)
{
    AUTO(buf) struct buf label = BUF_INIT;
    struct str thought = utf8_trim(buf_str(&ls->thought));
    buf_addz(&label, "thinking: ");
    put_title(&label, thought);
    loaf_say_status(ls, buf_str(&label), false);
    say_chunk(ls, "thought", text, thought);
}
