/* SPDX-License-Identifier: MIT */
/* Methods of sessions: create, get, send, steer, interrupt, queue.
 *
 * All of these run in the main lane, so that requests written one after another act in that order
 * although a prompt is answered only when it is on disk.
 */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/path.h"
#include "base/time.h"

bool loaf_session_find(struct loaf *lf, struct str id, struct loaf_session **ret, struct error *err)
{
    struct loaf_session *ls = table_get(&lf->by_id, id);
    if (!ls)
        return error_set(err, ERR_NOT_FOUND, "unknown session: %.*s", STR_FMT(id));
    *ret = ls;
    return true;
}

struct loaf_session *loaf_session_of(const struct session *s)
{
    const struct listener *l = session_listener(s, loaf_on_session_event);
    return l ? l->arg : NULL;
}

void loaf_sessions_free(struct loaf *lf)
{
    for (size_t i = 0; i < lf->n_sessions; i++) {
        struct loaf_session *ls = lf->sessions[i];
        session_unlisten(ls->session, &ls->listener);
        session_close(ls->session);
        while (ls->prompts)
            loaf_prompt_drop(ls, str_of(ls->prompts->turn_id));
        buf_clear(&ls->label);
        arena_clear(&ls->shown.arena);
        free(ls);
    }
    free(lf->sessions);
    table_clear(&lf->by_id);
    buf_clear(&lf->ids);
}

#define SESSION_ID(in) ROW(in, session_id, T_STR, NEEDED | LOAF_TEXT, "from session.create")

struct session_params {
    struct str session_id;
};

static const struct row session_rows[] = {
    SESSION_ID(session_params),
    ROW_END,
};

/* ---- session.create ---- */

struct create_params {
    struct str title;
};

static const struct row create_rows[] = {
    ROW(create_params, title, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT, "title of the saved chat"),
    ROW_END,
};

static const struct row create_result[] = {
    ROW_OUT("session_id", T_STR, NEEDED, "for all further calls"),
    ROW_OUT("state", T_OBJ, NEEDED, "SessionState", .rows = loaf_session_state_rows),
    ROW_END,
};

struct session *loaf_chat_new(struct loaf *lf, int64_t now_ms, struct str title, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    char id[UUID_LEN + 1];
    loaf_chat_place(lf, now_ms, id, &path);
    struct session_spec spec = {
        .workspace = path_cwd(),
        .path = buf_str(&path),
        .id = str_of(id),
        .model = lf->model[0] ? str_of(lf->model) : STR_NONE,
        .name = title,
        .mode = MODE_FULL,
        .settings = &lf->settings,
    };
    return session_new(lf->sv->engine, &spec, err);
}

static void add_session(struct loaf *lf, struct loaf_session *ls)
{
    GROW(lf->sessions, lf->n_sessions, lf->sessions_capacity);
    lf->sessions[lf->n_sessions++] = ls;
    table_put(&lf->by_id, str_of(ls->id), ls);
    loaf_add_id(lf, ls);
    ls->listener = (struct listener){.on_event = loaf_on_session_event, .arg = ls};
    session_listen(ls->session, &ls->listener);
    if (conn_is_full(rpc_conn(lf->rpc)))
        listener_set_full(ls->session, &ls->listener, true);
}

static bool session_create_await(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct create_params *p = rq->args;
    loaf_know_skills_await(lf);
    int64_t now_ms = time_now_ms();
    struct session *chat = loaf_chat_new(lf, now_ms, p->title, err);
    if (!chat)
        return false;
    struct loaf_session *ls = xnew(struct loaf_session);
    ls->loaf = lf;
    id_uuid(ls->id);
    ls->session = chat;
    ls->created_ms = ls->updated_ms = now_ms;
    add_session(lf, ls);
    loaf_say_state_changed(lf, STR("session_created"), ls);
    jw_obj(w);
    jw_kz(w, "session_id", ls->id);
    jw_key(w, "state");
    loaf_put_session_state(ls, w);
    jw_obj_end(w);
    return true;
}

const struct method loaf_session_create = {
    .name = "session.create",
    .params = create_rows,
    .params_size = sizeof(struct create_params),
    .result = create_result,
    .lane = LANE_MAIN,
    .how = RUN_FIBER,
    .run = session_create_await,
    .about = "Makes a session; nothing is saved before its first prompt.",
};

/* ---- session.get ---- */

static bool session_get(struct request *rq, struct jw *w, struct error *err)
{
    const struct session_params *p = rq->args;
    struct loaf_session *ls;
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, err))
        return false;
    loaf_put_session_state(ls, w);
    return true;
}

const struct method loaf_session_get = {
    .name = "session.get",
    .params = session_rows,
    .params_size = sizeof(struct session_params),
    .params_needed = true,
    .result = loaf_session_state_rows,
    .lane = LANE_MAIN,
    .run = session_get,
    .about = "The state of a session.",
    .errors = "unknown session: <id>",
};

/* ---- session.send ---- */

struct send_params {
    struct str session_id, text;
    yyjson_val *images;
    bool enqueue;
};

static const struct row send_rows[] = {
    SESSION_ID(send_params),
    ROW(send_params, text, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT, "what the user typed"),
    ROW(send_params, images, T_ANY, OPTIONAL,
        "array of {path?, data_url?, mime_type?}; a data URL wins over a path"),
    ROW(send_params, enqueue, T_BOOL, OPTIONAL | NULLABLE, "wait behind the running turn"),
    ROW_END,
};

static const struct row send_result[] = {
    ROW_OUT("session_id", T_STR, NEEDED, "the session"),
    ROW_OUT("turn_id", T_STR, NEEDED, "id of the turn in all its events"),
    ROW_OUT("accepted", T_BOOL, NEEDED, "true"),
    ROW_OUT("queued", T_BOOL, NEEDED, "it waits behind another turn"),
    ROW_END,
};

/* Keeps the raw images of a prompt, which the engine does not store. */
static void keep_prompt(struct loaf_session *ls, const char *turn_id, struct str text,
                        const struct images *images, bool is_refused)
{
    struct prompt_images *p = xnew(struct prompt_images);
    memcpy(p->turn_id, turn_id, sizeof p->turn_id);
    p->text = str_dup(text);
    p->images = str_dup(images->raw);
    p->attached = images->attached.p ? str_dup(images->attached) : NULL;
    p->is_refused = is_refused;
    p->next = ls->prompts;
    ls->prompts = p;
}

/* A picture that cannot be loaded makes the turn fail, not the request. */
static bool send_await(struct request *rq, struct loaf_session *ls, char turn[UUID_LEN + 1],
                       struct error *err)
{
    const struct send_params *p = rq->args;
    struct str text = p->text.p ? p->text : STR("");
    struct error refusal;
    struct images images = {0};
    size_t n = loaf_images_count(p->images);
    bool is_loaded = loaf_images_load(&rq->arena, path_cwd(), p->images, &images, &refusal);
    struct input in = {
        .text = loaf_images_label(&rq->arena, text, n),
        .images = images.blocks,
        .n_images = images.n,
        .refusal = is_loaded ? NULL : &refusal,
    };
    if (!session_send_await(ls->session, &in, p->enqueue ? SEND_QUEUE : SEND_NEW, turn, err)) {
        if (err->code == ERR_BUSY)
            error_set(err, ERR_BUSY, "session is busy; use enqueue=true to queue the prompt");
        return false;
    }
    if (n)
        keep_prompt(ls, turn, text, &images, !is_loaded);
    loaf_home_add_prompt(ls->loaf, text);
    return true;
}

static bool session_send_method_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct send_params *p = rq->args;
    struct loaf_session *ls;
    char turn[UUID_LEN + 1];
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, err))
        return false;
    if (!p->text.n && !loaf_images_count(p->images))
        return error_set(err, ERR_INVALID,
                         "session.send requires non-empty text or at least one image");
    if (!loaf_wait_for_choice_await(rq->dialect, err) || !send_await(rq, ls, turn, err))
        return false;
    jw_obj(w);
    jw_kz(w, "session_id", ls->id);
    jw_kz(w, "turn_id", turn);
    jw_kbool(w, "accepted", true);
    jw_kbool(w, "queued", strcmp(turn, ls->turn_id) != 0); /* its first event has set turn_id */
    jw_obj_end(w);
    return true;
}

const struct method loaf_session_send = {
    .name = "session.send",
    .params = send_rows,
    .params_size = sizeof(struct send_params),
    .params_needed = true,
    .result = send_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = session_send_method_await,
    .about = "Gives the session a prompt; everything else comes as events.",
    .errors = "unknown session: <id>; session is busy; neither text nor image",
};

/* ---- session.steer ---- */

struct steer_params {
    struct str session_id, text;
};

static const struct row steer_rows[] = {
    SESSION_ID(steer_params),
    ROW(steer_params, text, T_STR, NEEDED | LOAF_TEXT, "said with the next model request"),
    ROW_END,
};

static const struct row steer_result[] = {
    ROW_OUT("session_id", T_STR, NEEDED, "the session"),
    ROW_OUT("accepted", T_BOOL, NEEDED, "false when no turn runs"),
    ROW_END,
};

static bool session_steer_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct steer_params *p = rq->args;
    struct loaf_session *ls;
    char turn[UUID_LEN + 1];
    struct error why = ERROR_INIT;
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, err))
        return false;
    struct input in = {.text = p->text};
    bool is_taken = session_send_await(ls->session, &in, SEND_STEER, turn, &why);
    if (!is_taken && why.code != ERR_INVALID && why.code != ERR_CANCELED) {
        *err = why;
        return false;
    }
    jw_obj(w);
    jw_kz(w, "session_id", ls->id);
    jw_kbool(w, "accepted", is_taken);
    jw_obj_end(w);
    return true;
}

const struct method loaf_session_steer = {
    .name = "session.steer",
    .params = steer_rows,
    .params_size = sizeof(struct steer_params),
    .params_needed = true,
    .result = steer_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = session_steer_await,
    .about = "Gives the running turn a further text at its next model request.",
    .errors = "unknown session: <id>",
};

/* ---- session.interrupt ---- */

static const struct row interrupt_result[] = {
    ROW_OUT("session_id", T_STR, NEEDED, "the session"),
    ROW_OUT("interrupted", T_BOOL, NEEDED, "false when nothing runs or it is ending already"),
    ROW_END,
};

static bool session_interrupt_method(struct request *rq, struct jw *w, struct error *err)
{
    const struct session_params *p = rq->args;
    struct loaf_session *ls;
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, err))
        return false;
    jw_obj(w);
    jw_kz(w, "session_id", ls->id);
    jw_kbool(w, "interrupted", session_interrupt(ls->session));
    jw_obj_end(w);
    return true;
}

/* Whether the client has got the first event of the running turn; the last one must not precede it.
 */
static bool has_turn(struct request *rq)
{
    const struct session_params *p = rq->args;
    struct loaf_session *ls;
    struct session_info info;
    struct error ignored;
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, &ignored))
        return false;
    session_info(ls->session, &info);
    return info.is_busy && (ls->is_pending || ls->compact_reason);
}

const struct method loaf_session_interrupt = {
    .name = "session.interrupt",
    .params = session_rows,
    .params_size = sizeof(struct session_params),
    .params_needed = true,
    .result = interrupt_result,
    .lane = LANE_MAIN,
    .hurries = has_turn,
    .run = session_interrupt_method,
    .about = "Stops the running turn; the next one in the queue starts.",
    .errors = "unknown session: <id>",
};

/* ---- session.queue.list, session.queue.clear ---- */

static const struct row queue_list_result[] = {
    ROW_OUT("session_id", T_STR, NEEDED, "the session"),
    ROW_OUT("queue", T_ARR, NEEDED, "in order of execution", .items = T_OBJ,
            .rows = loaf_queue_item_rows),
    ROW_END,
};

static bool session_queue_list(struct request *rq, struct jw *w, struct error *err)
{
    const struct session_params *p = rq->args;
    struct loaf_session *ls;
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, err))
        return false;
    jw_obj(w);
    jw_kz(w, "session_id", ls->id);
    loaf_put_queue(ls, w);
    jw_obj_end(w);
    return true;
}

const struct method loaf_session_queue_list = {
    .name = "session.queue.list",
    .params = session_rows,
    .params_size = sizeof(struct session_params),
    .params_needed = true,
    .result = queue_list_result,
    .lane = LANE_MAIN,
    .run = session_queue_list,
    .about = "Prompts that wait behind the running turn.",
    .errors = "unknown session: <id>",
};

static const struct row queue_clear_result[] = {
    ROW_OUT("session_id", T_STR, NEEDED, "the session"),
    ROW_OUT("cleared_count", T_INT, NEEDED, "prompts that will not run"),
    ROW_END,
};

static bool session_queue_clear(struct request *rq, struct jw *w, struct error *err)
{
    const struct session_params *p = rq->args;
    struct loaf_session *ls;
    if (!loaf_session_find(rq->dialect, p->session_id, &ls, err))
        return false;
    jw_obj(w);
    jw_kz(w, "session_id", ls->id);
    jw_kint(w, "cleared_count", (int64_t)session_clear_queue(ls->session));
    jw_obj_end(w);
    return true;
}

const struct method loaf_session_queue_clear = {
    .name = "session.queue.clear",
    .params = session_rows,
    .params_size = sizeof(struct session_params),
    .params_needed = true,
    .result = queue_clear_result,
    .lane = LANE_MAIN,
    .run = session_queue_clear,
    .about = "Drops all waiting prompts; the running turn goes on.",
    .errors = "unknown session: <id>",
};
