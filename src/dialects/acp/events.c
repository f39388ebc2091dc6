/* SPDX-License-Identifier: MIT */
/* Engine events to session/update notifications. */
#include "dialects/acp/methods.h"

#include "base/time.h"
#include "base/utf8.h"

struct jw *acp_update_begin(struct acp_session *s, const char *kind)
{
    struct acp *a = s->acp;
    a->w = rpc_begin_notice("session/update", &a->out);
    jw_obj(&a->w);
    jw_kz(&a->w, "sessionId", s->id);
    jw_kobj(&a->w, "update");
    jw_kz(&a->w, "sessionUpdate", kind);
    return &a->w;
}

void acp_update_end(struct acp_session *s)
{
    struct acp *a = s->acp;
    jw_obj_end(&a->w);
    jw_obj_end(&a->w);
    if (!a->is_deaf)
        rpc_end_notice(a->rpc, &a->w);
}

void acp_put_text_block(struct jw *w, const char *name, struct str text)
{
    jw_kobj(w, name);
    jw_kz(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_obj_end(w);
}

void acp_put_image_block(struct jw *w, const char *name, struct str data, struct str mime)
{
    jw_kobj(w, name);
    jw_kz(w, "type", "image");
    jw_kstr(w, "data", data);
    jw_kstr(w, "mimeType", mime.n ? mime : STR("image/png"));
    jw_obj_end(w);
}

/* ---- messages ---- */

static struct str skip_blank_lines(struct str text)
{
    struct str line, rest = text;
    while (str_line(&rest, &line) && str_is_blank(line))
        text = rest;
    return text;
}

void acp_say_chunk(struct acp_session *s, const char *kind, char id[UUID_LEN + 1], struct str text)
{
    if (!id[0]) {
        text = skip_blank_lines(text);
        if (!text.n)
            return;
        id_uuid(id);
    }
    struct jw *w = acp_update_begin(s, kind);
    acp_put_text_block(w, "content", text);
    jw_kz(w, "messageId", id);
    acp_update_end(s);
}

static void text_came(struct acp_session *s, const struct event *e)
{
    s->thought_id[0] = '\0';
    acp_say_chunk(s, "agent_message_chunk", s->message_id, e->text);
}

static void reasoning_came(struct acp_session *s, const struct event *e)
{
    acp_say_chunk(s, "agent_thought_chunk", s->thought_id, e->text);
}

static void reply_done(struct acp_session *s, const struct event *e)
{
    (void)e;
    s->message_id[0] = s->thought_id[0] = '\0';
}

/* ---- the session ---- */

static void usage_changed(struct acp_session *s, const struct event *e)
{
    struct session_info info;
    if (!e->window)
        return;
    session_info(s->session, &info);
    struct jw *w = acp_update_begin(s, "usage_update");
    jw_kint(w, "used", e->count);
    jw_kint(w, "size", e->window);
    if (info.usage.cost > 0) {
        jw_kobj(w, "cost");
        jw_knum(w, "amount", info.usage.cost);
        jw_kz(w, "currency", "USD");
        jw_obj_end(w);
    }
    acp_update_end(s);
}

enum { TITLE_CHARS = 80 };

/* The title of a session is its name, else the beginning of its first prompt. */
void acp_say_title(struct acp_session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf title = BUF_MAX(TITLE_CHARS * 8);
    struct session_info info;
    char now[TIME_ISO_LEN + 1];
    session_info(s->session, &info);
    if (info.name.n) {
        buf_add(&title, info.name);
    } else if (!s->title) {
        size_t n;
        struct message *m = session_messages(s->session, &a, &n);
        if (n && m[0].role == ROLE_USER)
            utf8_collapse(&title, m[0].display.n ? m[0].display : message_text_of(&a, &m[0]));
    }
    struct str shown = utf8_cut_chars(buf_str(&title), TITLE_CHARS);
    if (!shown.n || (s->title && str_is(shown, s->title)))
        return;
    free(s->title);
    s->title = str_dup(shown);
    time_iso(time_now_ms(), now);
    struct jw *w = acp_update_begin(s, "session_info_update");
    jw_kz(w, "title", s->title);
    jw_kz(w, "updatedAt", now);
    acp_update_end(s);
}

/* ---- compaction, notices ---- */

static void compaction_came(struct acp_session *s, const struct event *e)
{
    bool is_over = e->kind == EV_COMPACTION_DONE;
    if (!s->acp->client.shows_compaction)
        return;
    if (!is_over)
        id_uuid(s->compaction_id);
    struct jw *w = acp_update_begin(s, "compaction_update");
    jw_kz(w, "compactionId", s->compaction_id);
    jw_kz(w, "status",
          !is_over                         ? "in_progress"
          : !e->error                      ? "completed"
          : e->error->code == ERR_CANCELED ? "cancelled"
                                           : "failed");
    if (is_over && e->error)
        jw_kz(w, "error", e->error->text);
    if (is_over && !e->error && e->compaction->summary.n) {
        jw_karr(w, "summary");
        jw_obj(w);
        jw_kz(w, "type", "text");
        jw_kstr(w, "text", e->compaction->summary);
        jw_obj_end(w);
        jw_arr_end(w);
    }
    acp_update_end(s);
}

static void say_notice(struct acp_session *s, const char *severity, struct str title,
                       struct str more)
{
    if (!s->acp->client.shows_notices)
        return;
    struct jw *w = acp_update_begin(s, "notice");
    jw_kz(w, "severity", severity);
    jw_kstr(w, "title", title);
    if (more.n)
        jw_kstr(w, "description", more);
    acp_update_end(s);
}

static void notice_came(struct acp_session *s, const struct event *e)
{
    say_notice(s, "info", e->text, STR_NONE);
}

static void retry_waiting(struct acp_session *s, const struct event *e)
{
    AUTO(buf) struct buf title = BUF_INIT;
    buf_addf(&title, "The request failed and is sent again (%d of %d)", e->retry->attempt,
             e->retry->max_attempts);
    say_notice(s, "warning", buf_str(&title), e->error ? error_str(e->error) : e->text);
}

static void turn_ended(struct acp_session *s, const struct event *e)
{
    acp_withdraw_permission(s);
    acp_withdraw_question(s);
    acp_call_clear(s);
    if (strcmp(e->end->stop, "continued") == 0)
        return;
    s->state = e->end->state;
    s->stop = e->end->stop;
    if (e->error)
        s->error = *e->error;
    if (!s->acp->is_ending)
        acp_say_title(s);
    wait_wake(&s->ended);
}

/* ---- all of them ---- */

static void (*const handlers[EV_N_KINDS])(struct acp_session *s, const struct event *e) = {
    [EV_TEXT] = text_came,
    [EV_REASONING] = reasoning_came,
    [EV_REPLY_DONE] = reply_done,
    [EV_CALL_STARTED] = acp_call_started,
    [EV_PERMISSION_ASKED] = acp_ask_permission,
    [EV_QUESTION_ASKED] = acp_ask_question,
    [EV_CALL_OUTPUT] = acp_call_output,
    [EV_CALL_DONE] = acp_call_done,
    [EV_USAGE_CHANGED] = usage_changed,
    [EV_COMPACTION_STARTED] = compaction_came,
    [EV_COMPACTION_DONE] = compaction_came,
    [EV_RETRY_WAITING] = retry_waiting,
    [EV_NOTICE] = notice_came,
    [EV_TURN_ENDED] = turn_ended,
};

void acp_on_event(void *arg, struct session *session, const struct event *e)
{
    (void)session;
    if (handlers[e->kind])
        handlers[e->kind](arg, e);
}
