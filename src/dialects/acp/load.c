/* SPDX-License-Identifier: MIT */
/* session/load and session/resume: an earlier conversation goes on, with its messages sent again or
 * not. */
#include "dialects/acp/methods.h"

#include "base/time.h"
#include "dialects/page.h"

struct load_params {
    struct str session_id, cwd;
    yyjson_val *servers;
};

#define LOAD_ROWS(how)                                                                             \
    ROW_AS(load_params, session_id, "sessionId", T_STR, NEEDED, "of session/list"),                \
        ROW(load_params, cwd, T_STR, NEEDED | PATH, "directory of the session, absolute"),         \
        ROW_AS(load_params, servers, "mcpServers", T_ARR, how | OPEN, "MCP servers to connect to", \
               .items = T_OBJ),                                                                    \
        ROW_END

static const struct row load_rows[] = {LOAD_ROWS(NEEDED)};
static const struct row resume_rows[] = {LOAD_ROWS(NULLABLE)};

/* ---- sending it again ---- */

struct replay { /* on the stack of its fiber */
    struct acp_session *s;
    struct arena arena;
    struct str path;   /* of the session file */
    struct page known; /* the calls in it */
};

static void say_user(struct acp_session *s, const struct message *m, struct arena *a)
{
    char id[UUID_LEN + 1] = "";
    struct str text = m->display.n ? m->display : message_text_of(a, m);
    if (text.n)
        acp_say_chunk(s, "user_message_chunk", id, text);
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind != BLOCK_IMAGE)
            continue;
        if (!id[0])
            id_uuid(id);
        struct jw *w = acp_update_begin(s, "user_message_chunk");
        acp_put_image_block(w, "content", m->blocks[i].data, m->blocks[i].mime);
        jw_kz(w, "messageId", id);
        acp_update_end(s);
    }
}

/* The result of a call stands behind the message of the call. */
static const struct message *result_of(const struct message *m, size_t n, size_t at, struct str id)
{
    size_t end = at + 1;
    while (end < n && m[end].role == ROLE_TOOL)
        end++;
    return message_find_result(m + at + 1, end - at - 1, id);
}

/* The diff of the file as the live call showed it, else what the arguments say. */
static bool put_diff(struct replay *r, const struct block *call, bool is_error,
                     struct acp_call_look *l, struct jw *w)
{
    const struct page_call *known = page_next_call(&r->known, call->id);
    bool has_path = l->path.n > 0;
    if (!known)
        return !is_error && has_path && strcmp(l->kind, "edit") == 0 &&
               acp_put_edit(w, call_arguments(call), buf_str(&l->path), false);
    if (!known->diff.n || !has_path)
        return false;
    int64_t line = acp_put_diff(w, buf_str(&l->path), known->diff);
    if (line)
        l->line = line;
    return true;
}

/* number: of its message, for calls whose turn is not known. */
static void say_call(struct replay *r, const struct block *call, const struct message *m,
                     size_t number, const struct message *result)
{
    struct acp_session *s = r->s;
    AUTO(buf) struct buf id = BUF_INIT, content = BUF_INIT;
    struct jw c = JW(&content);
    struct acp_call_look l;
    struct str args = call_arguments(call);
    bool is_error = !result || result->is_error;
    struct str text = result ? message_text_of(&r->arena, result) : STR("no result is known");
    acp_put_call_id(m->turn.n ? m->turn : arena_fmt(&r->arena, "%zu", number), call->id, &id);
    acp_call_look(s, call->name, args, &l);
    jw_arr(&c);
    bool has_diff = put_diff(r, call, is_error, &l, &c);
    if (text.n && (!has_diff || is_error))
        acp_put_result_text(&c, l.kind, text, is_error);
    jw_arr_end(&c);
    struct jw *w = acp_update_begin(s, "tool_call");
    jw_kstr(w, "toolCallId", buf_str(&id));
    acp_put_call(w, &l, args);
    jw_kz(w, "status", is_error ? "failed" : "completed");
    jw_kraw(w, "content", buf_str(&content));
    acp_update_end(s);
    if (!is_error)
        acp_say_plan(s, call->name, args);
    acp_call_look_clear(&l);
}

static void say_reply(struct replay *r, const struct message *m, size_t n, size_t at)
{
    struct acp_session *s = r->s;
    char text_id[UUID_LEN + 1] = "", thought_id[UUID_LEN + 1] = "";
    for (size_t i = 0; i < m[at].n_blocks; i++) {
        const struct block *b = &m[at].blocks[i];
        if (b->kind == BLOCK_REASONING && b->text.n)
            acp_say_chunk(s, "agent_thought_chunk", thought_id, b->text);
        else if (b->kind == BLOCK_TEXT && b->text.n)
            acp_say_chunk(s, "agent_message_chunk", text_id, b->text);
        else if (b->kind == BLOCK_CALL)
            say_call(r, b, &m[at], at, result_of(m, n, at, b->id));
    }
}

enum { ROUND_US = 5000 }; /* of sending, in one round of the loop */

static void read_calls(void *arg)
{
    struct replay *r = arg;
    page_read_calls(&r->arena, r->path, &r->known);
}

static bool say_messages_await(struct replay *r, struct error *err)
{
    struct acp_session *s = r->s;
    size_t n;
    const struct message *m = session_whole_await(s->session, &r->arena, &n);
    int64_t begun_us = time_mono_us();
    for (size_t i = 0; i < n; i++) {
        if (time_mono_us() - begun_us > ROUND_US) {
            if (!yield_await(s->acp->sv->loop, err))
                return false;
            begun_us = time_mono_us();
        }
        if (message_is_typed(&m[i]))
            say_user(s, &m[i], &r->arena);
        else if (m[i].role == ROLE_ASSISTANT)
            say_reply(r, m, n, i);
    }
    return true;
}

static bool say_all_await(struct acp_session *s, struct error *err)
{
    struct replay r = {.s = s};
    struct session_info info;
    session_info(s->session, &info);
    r.path = arena_str(&r.arena, info.path);
    work_through_await(s->acp->sv->loop, read_calls, &r);
    bool ok = say_messages_await(&r, err);
    arena_clear(&r.arena);
    return ok;
}

/* ---- opening ---- */

static bool open_await(struct request *rq, struct acp_session *s, struct str path,
                       struct error *err)
{
    struct acp *a = s->acp;
    struct session_report report;
    struct session_spec spec = {
        .workspace = s->cwd,
        .is_workspace_fixed = true,
        .path = path,
        .mode = s->mode->covers,
        .settings = &s->settings,
    };
    (void)rq;
    struct session *session = session_open_await(a->sv->engine, &spec, &report, err);
    if (!session)
        return false;
    session_clear_queue(session); /* what never ran was asked for another time */
    acp_session_open(s, session);
    struct session_info info;
    session_info(session, &info);
    struct str model = info.model.p ? STR_NONE : acp_choose_model(a, &s->arena);
    return !model.p || session_set_model(session, model, err);
}

static bool find_await(struct request *rq, struct acp_session **ret, struct error *err)
{
    const struct load_params *p = rq->args;
    struct acp *a = rq->dialect;
    struct str path, cwd;
    if (!acp_is_ready(rq, err) || !acp_check_servers(rq, p->servers, err) ||
        !acp_check_cwd(rq, p->cwd, &rq->arena, &cwd, err))
        return false;
    if (!acp_wait_closed_await(a, p->session_id, err))
        return false;
    struct acp_session *s = table_get(&a->by_id, p->session_id);
    if (s) {
        *ret = s;
        return acp_use_servers(s, p->servers, err);
    }
    if (!acp_find_saved_await(a, p->session_id, &rq->arena, &path, err) ||
        !acp_session_begin(rq, p->cwd, &s, err))
        return false;
    profile_skills_await(a->sv->engine, s->cwd); /* for the list of commands */
    if (!open_await(rq, s, path, err) || !acp_use_servers(s, p->servers, err)) {
        acp_session_free(s);
        return false;
    }
    *ret = s;
    return true;
}

static bool load_or_resume_await(struct request *rq, struct jw *w, bool replays, struct error *err)
{
    struct acp_session *s;
    if (!find_await(rq, &s, err))
        return false;
    if (s->is_prompting)
        return error_set(err, ERR_BUSY, "a prompt of this session is running: `sessionId` %s",
                         s->id);
    s->is_prompting = replays; /* nothing else may be sent in between */
    bool ok = !replays || say_all_await(s, err);
    s->is_prompting = false;
    wait_wake(&s->closed);
    if (!ok)
        return false;
    jw_obj(w);
    acp_put_options(s, w);
    jw_obj_end(w);
    acp_say_commands_soon(s);
    return true;
}

static bool load_await(struct request *rq, struct jw *w, struct error *err)
{
    return load_or_resume_await(rq, w, true, err);
}

static bool resume_await(struct request *rq, struct jw *w, struct error *err)
{
    return load_or_resume_await(rq, w, false, err);
}

const struct method acp_session_load = {
    .name = "session/load",
    .params = load_rows,
    .params_size = sizeof(struct load_params),
    .params_needed = true,
    .result = acp_session_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = load_await,
    .about = "Opens a saved session and sends its conversation again before the answer.",
    .errors = "unknown session (-32002); in use by another program (-32603)",
};

const struct method acp_session_resume = {
    .name = "session/resume",
    .params = resume_rows,
    .params_size = sizeof(struct load_params),
    .params_needed = true,
    .result = acp_session_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = resume_await,
    .about = "The same without sending it again.",
    .errors = "unknown session (-32002); in use by another program (-32603)",
};
