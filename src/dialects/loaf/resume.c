/* SPDX-License-Identifier: MIT */
/* Replacing the conversation of a session: history.clear_session, /clear, and resuming a saved chat
 * (loaf 93, 200-203).  A running turn is stopped first, so that its result is not added later. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/path.h"
#include "base/time.h"
#include "engine/list.h"

/* ---- clearing ---- */

static void forget_messages(struct loaf_session *ls)
{
    loop_clear_arena(ls->loaf->sv->loop, &ls->shown.arena);
    ls->shown = (struct shown_messages){0};
    ls->has_chat = false;
    ls->provider = NULL;
    ls->updated_ms = time_now_ms();
}

/* A chat resumed in two RPC sessions is one engine session; it stays open for the other one. */
static bool is_shared(const struct loaf_session *ls)
{
    const struct listener *first = session_listener(ls->session, loaf_on_session_event);
    return first != &ls->listener || first->next;
}

/* For this RPC session the running turn is over; the other one gets its last event. */
static void leave_turn(struct loaf_session *ls)
{
    struct event_end end = {.state = TURN_CANCELED, .stop = "interrupted"};
    if (ls->turn_id[0])
        loaf_turn_ended(ls, &(struct event){.turn_id = str_of(ls->turn_id), .end = &end});
}

static void take_session(struct loaf_session *ls, struct session *s)
{
    bool is_full = ls->listener.is_full;
    session_unlisten(ls->session, &ls->listener);
    session_close(ls->session);
    ls->session = s;
    session_listen(s, &ls->listener);
    listener_set_full(s, &ls->listener, is_full);
}

static bool leave_shared(struct loaf_session *ls, struct error *err)
{
    struct session *s = loaf_chat_new(ls->loaf, time_now_ms(), STR_NONE, err);
    if (!s)
        return false;
    leave_turn(ls);
    forget_messages(ls);
    take_session(ls, s);
    return true;
}

struct session *loaf_pause_await(struct loaf_session *ls, struct error *err)
{
    for (;;) {
        struct session *s = ls->session;
        bool ok = session_pause_await(s, err);
        if (ok && ls->session == s)
            return s;
        session_go_on(s); /* s may be freed by this */
        if (!ok)
            return NULL;
    }
}

bool loaf_clear_await(struct loaf_session *ls, bool drops_queue, struct error *err)
{
    if (is_shared(ls))
        return leave_shared(ls, err);
    AUTO(buf) struct buf path = BUF_INIT;
    char id[UUID_LEN + 1];
    loaf_chat_place(ls->loaf, time_now_ms(), id, &path);
    if (drops_queue)
        session_clear_queue(ls->session);
    struct session *s = loaf_pause_await(ls, err);
    if (!s)
        return false;
    bool ok = session_renew_await(s, str_of(id), buf_str(&path), err);
    if (ok)
        forget_messages(ls);
    session_go_on(s);
    return ok;
}

struct clear_params {
    struct str session_id;
};

static const struct row clear_rows[] = {
    ROW(clear_params, session_id, T_STR, NEEDED | LOAF_TEXT, "from session.create"),
    ROW_END,
};

static const struct row clear_result[] = {
    ROW_OUT("session_id", T_STR, NEEDED, "the session"),
    ROW_OUT("cleared", T_BOOL, NEEDED, "true"),
    ROW_END,
};

static bool history_clear_session_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct clear_params *p = rq->args;
    struct loaf_session *ls;
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, err) ||
        !loaf_clear_await(ls, true, err))
        return false;
    jw_obj(w);
    jw_kz(w, "session_id", ls->id);
    jw_kbool(w, "cleared", true);
    jw_obj_end(w);
    return true;
}

const struct method loaf_history_clear_session = {
    .name = "history.clear_session",
    .params = clear_rows,
    .params_size = sizeof(struct clear_params),
    .params_needed = true,
    .result = clear_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .lets_pass = true,
    .run = history_clear_session_await,
    .about = "Empties a session and its queue; a running turn is stopped, saved chats stay.",
    .errors = "unknown session: <id>",
};

/* ---- resuming ---- */

struct naming {
    const struct saved_chat *saved;
    struct str title;
    bool is_given; /* the client set it: it is not a default one of the chat */
};

/* On the thread pool: the first prompt may be any message, since summaries replace others. */
static void look_at_title(void *arg)
{
    struct naming *g = arg;
    const struct saved_chat *saved = g->saved;
    for (size_t i = 0; i <= saved->n_messages; i++) {
        AUTO(buf) struct buf made = BUF_INIT;
        loaf_put_title(&made, saved->messages + i, MIN(saved->n_messages - i, 1));
        if (str_eq(buf_str(&made), g->title))
            return;
    }
    g->is_given = !str_is(g->title, "compressed conversation");
}

static struct session *open_chat_await(struct loaf *lf, struct arena *a,
                                       const struct saved_chat *saved, const struct chat_row *c,
                                       struct error *err)
{
    struct session_report report;
    struct naming naming = {.saved = saved, .title = c->title};
    work_through_await(lf->sv->loop, look_at_title, &naming);
    struct session_spec spec = {
        .workspace = path_cwd(),
        .is_workspace_fixed = true,
        .path = saved->path,
        .model = arena_fmt(a, "%.*s/%.*s", STR_FMT(c->provider), STR_FMT(c->model)),
        .name = naming.is_given ? c->title : STR_NONE,
        .mode = MODE_FULL,
        .settings = &lf->settings,
    };
    return session_open_await(lf->sv->engine, &spec, &report, err);
}

static void show_message(struct loaf *lf, struct shown_messages *to, const struct message *m)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf images = BUF_INIT;
    struct jw w = JW(&images);
    bool has_images = loaf_put_attachments(&w, NULL, m);
    loaf_show(lf, to, m->role == ROLE_USER ? "user" : "assistant",
              arena_str(&to->arena, loaf_history_text(&a, m)),
              has_images ? arena_str(&to->arena, buf_str(&images)) : STR_NONE);
}

/* Shows the messages of an opened chat from *at on, up to the limit of one round of the loop.
 * False: more are left. */
static bool show_some(struct loaf *lf, struct session *s, struct shown_messages *to, size_t *at)
{
    enum { ROUND_BYTES = 1 << 20, ROUND_MESSAGES = 256 };
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_info info;
    session_info(s, &info);
    size_t n, used = to->arena.used, end = *at + ROUND_MESSAGES, n_settled = (size_t)info.n_settled;
    struct message *m = session_messages_range(s, *at, end, &a, &n);
    for (size_t i = 0; i < n; i++, ++*at) {
        if (to->arena.used - used > ROUND_BYTES && *at < n_settled)
            return false;
        show_message(lf, to, &m[i]);
    }
    return end > n_settled;
}

/* Sends no events. */
static void show_history_await(struct loaf *lf, struct session *s, struct shown_messages *ret)
{
    struct error ignored;
    struct session_info begun, now;
    size_t at = 0;
    *ret = (struct shown_messages){0};
    session_info(s, &begun);
    while (!show_some(lf, s, ret, &at) && yield_await(lf->sv->loop, &ignored)) {
        session_info(s, &now);
        if (now.epoch == begun.epoch)
            continue;
        /* The conversation was replaced meanwhile: start again. */
        arena_clear(&ret->arena);
        *ret = (struct shown_messages){0};
        begun = now;
        at = 0;
    }
}

static bool open_and_show_await(struct loaf_session *ls, struct arena *a,
                                const struct saved_chat *saved, const struct chat_row *c,
                                struct str *ret_id, struct error *err)
{
    struct loaf *lf = ls->loaf;
    struct session *s = open_chat_await(lf, a, saved, c, err);
    if (!s)
        return false;
    struct counted counted;
    struct shown_messages shown;
    session_refresh_await(s); /* another process may have changed the file */
    loaf_count_await(lf, s, &counted);
    show_history_await(lf, s, &shown);
    leave_turn(ls);
    forget_messages(ls);
    take_session(ls, s);
    ls->counted = counted;
    ls->shown = shown;
    ls->has_chat = true;
    ls->provider = arena_strz(&ls->shown.arena, c->provider);
    loaf_model_take(lf, c->provider, c->model, c->level, c->routing);
    loaf_say_state_changed(lf, STR("session_resumed"), NULL);
    session_announce_waiting(s);
    *ret_id = c->id;
    loaf_home_keep_await(lf);
    return true;
}

bool loaf_resume_await(struct loaf_session *ls, bool last, struct str id, struct arena *a,
                       struct str *ret_id, struct error *err)
{
    struct saved_chat saved;
    if (!loaf_chat_find_await(ls->loaf, a, last, id, &saved, err))
        return false;
    struct chat_row c = loaf_chat_of(a, &saved);
    if (is_shared(ls))
        return open_and_show_await(ls, a, &saved, &c, ret_id, err);
    session_clear_queue(ls->session);
    struct session *old = loaf_pause_await(ls, err);
    if (!old)
        return false;
    bool ok = open_and_show_await(ls, a, &saved, &c, ret_id, err);
    session_go_on(old);
    return ok;
}
