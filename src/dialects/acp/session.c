/* SPDX-License-Identifier: MIT */
/* session/new and session/close; the list of open sessions. */
#include "dialects/acp/methods.h"

#include "base/path.h"
#include "dialects/find.h"

/* ---- finding ---- */

bool acp_is_ready(struct request *rq, struct error *err)
{
    const struct acp *a = rq->dialect;
    if (a->is_initialized)
        return true;
    rq->rpc_code = RPC_INVALID;
    return error_set(err, ERR_INVALID, "%s before initialize", rq->method->name);
}

bool acp_session_find(struct request *rq, struct str id, struct acp_session **ret,
                      struct error *err)
{
    struct acp *a = rq->dialect;
    if (!acp_is_ready(rq, err))
        return false;
    struct acp_session *s = table_get(&a->by_id, id);
    if (!s || s->is_closing)
        return error_set(err, ERR_NOT_FOUND, "unknown session: `sessionId` %.*s is not open",
                         STR_FMT(str_cut(id, 100)));
    *ret = s;
    return true;
}

/* ---- opening and closing ---- */

bool acp_check_cwd(struct request *rq, struct str cwd, struct arena *a, struct str *ret,
                   struct error *err)
{
    struct error why;
    if (cwd.n == 0 || cwd.p[0] != '/')
        return acp_refuse_param(rq, err, STR("cwd"), "must be an absolute path");
    if (!engine_find_workspace(cwd, a, ret, &why))
        return acp_refuse_param(rq, err, STR("cwd"), "is not usable: %s", why.text);
    return true;
}

bool acp_session_begin(struct request *rq, struct str cwd, struct acp_session **ret,
                       struct error *err)
{
    struct acp *a = rq->dialect;
    AUTO(arena) struct arena local = ARENA_INIT;
    struct str real;
    if (!acp_check_cwd(rq, cwd, &local, &real, err))
        return false;
    struct acp_session *s = xnew(struct acp_session);
    s->acp = a;
    s->cwd = arena_str(&s->arena, real);
    s->mode = a->options.mode;
    s->rules = (struct rules){.tools = &toolset_run, .workspace = s->cwd};
    acp_apply_mode(s);
    if (profile_load_rules(&s->rules, err) && profile_load_project_rules(&s->rules, s->cwd, err)) {
        *ret = s;
        return true;
    }
    acp_session_free(s);
    return false;
}

void acp_session_open(struct acp_session *s, struct session *session)
{
    struct acp *a = s->acp;
    struct session_info info;
    s->session = session;
    session_info(session, &info);
    s->id = str_dup(info.id);
    s->listener = (struct listener){.on_event = acp_on_event, .arg = s};
    session_listen(session, &s->listener);
    if (conn_is_full(rpc_conn(a->rpc)))
        listener_set_full(session, &s->listener, true);
    s->next = a->sessions;
    if (a->sessions)
        a->sessions->prev = s;
    a->sessions = s;
    table_put(&a->by_id, str_of(s->id), s);
}

static void unlink_session(struct acp_session *s)
{
    struct acp *a = s->acp;
    if (!s->id)
        return;
    if (s->prev)
        s->prev->next = s->next;
    else
        a->sessions = s->next;
    if (s->next)
        s->next->prev = s->prev;
    table_drop(&a->by_id, str_of(s->id), s);
}

void acp_session_free(struct acp_session *s)
{
    unlink_session(s);
    rpc_forget_ask(s->acp->rpc, s->call.ask);
    rpc_forget_ask(s->acp->rpc, s->question.ask);
    acp_call_clear(s);
    arena_clear(&s->question.arena);
    loop_take_back(s->commands_soon);
    if (s->session) {
        session_unlisten(s->session, &s->listener);
        session_close(s->session);
    }
    rules_clear(&s->rules);
    arena_clear(&s->arena);
    free(s->title);
    free(s->id);
    free(s);
}

void acp_session_close_await(struct acp_session *s)
{
    struct error ignored;
    struct session *session = s->session;
    s->is_closing = true;
    if (s->fiber)
        fiber_cancel(s->fiber);
    session_interrupt(session);
    while (s->is_prompting) { /* its answer comes first */
        wait_reset(&s->closed);
        wait_through_await(&s->closed);
    }
    session_pause_await(session, &ignored); /* a compaction may run */
    session_go_on(session);
    acp_session_free(s); /* nothing runs: the settings are not needed any more */
}

bool acp_wait_closed_await(struct acp *a, struct str id, struct error *err)
{
    enum { LOOK_MS = 10 };
    const struct acp_session *s;
    while ((s = table_get(&a->by_id, id)) && s->is_closing)
        if (!sleep_await(a->sv->loop, LOOK_MS, err))
            return false;
    return true;
}

void acp_sessions_free(struct acp *a)
{
    while (a->sessions)
        acp_session_free(a->sessions);
    table_clear(&a->by_id);
}

/* ---- session/new ---- */

struct new_params {
    struct str cwd;
    yyjson_val *servers;
};

static const struct row new_rows[] = {
    ROW(new_params, cwd, T_STR, NEEDED | PATH, "directory of the session, absolute"),
    ROW_AS(new_params, servers, "mcpServers", T_ARR, NEEDED | OPEN, "MCP servers to connect to",
           .items = T_OBJ),
    ROW_END,
};

static bool open_new(struct acp_session *s, struct error *err)
{
    struct acp *a = s->acp;
    char id[UUID_LEN + 1];
    AUTO(buf) struct buf path = BUF_INIT;
    id_uuid(id);
    find_sessions_dir(&path);
    buf_addf(&path, "/%s.jsonl", id);
    struct session_spec spec = {
        .workspace = s->cwd,
        .path = buf_str(&path),
        .id = str_of(id),
        .model = acp_choose_model(a, &s->arena),
        .effort = a->options.effort.p ? a->options.effort : acp_setting("effort", &s->arena),
        .mode = s->mode->covers,
        .settings = &s->settings,
    };
    if (!spec.model.p)
        return error_set(err, ERR_NO_KEY,
                         "no model can be asked: there is neither a key nor a sign-in; set one in "
                         "the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY ...) or TRIVET_MODEL");
    struct session *session = session_new(a->sv->engine, &spec, err);
    if (!session)
        return false;
    acp_session_open(s, session);
    return true;
}

static bool new_session_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct new_params *p = rq->args;
    struct acp_session *s;
    if (!acp_is_ready(rq, err) || !acp_check_servers(rq, p->servers, err) ||
        !acp_session_begin(rq, p->cwd, &s, err))
        return false;
    profile_skills_await(s->acp->sv->engine, s->cwd); /* for the list of commands */
    if (!open_new(s, err) || !acp_use_servers(s, p->servers, err)) {
        acp_session_free(s);
        return false;
    }
    jw_obj(w);
    jw_kz(w, "sessionId", s->id);
    acp_put_options(s, w);
    jw_obj_end(w);
    acp_say_commands_soon(s);
    return true;
}

const struct method acp_session_new = {
    .name = "session/new",
    .params = new_rows,
    .params_size = sizeof(struct new_params),
    .params_needed = true,
    .result = acp_new_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = new_session_await,
    .about = "Begins a conversation in a directory.",
    .errors = "no model can be asked (-32000)",
};

/* ---- session/close ---- */

struct close_params {
    struct str session_id;
};

static const struct row close_rows[] = {
    ROW_AS(close_params, session_id, "sessionId", T_STR, NEEDED, "the session"),
    ROW_END,
};

static bool close_session_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct close_params *p = rq->args;
    struct acp_session *s;
    if (!acp_session_find(rq, p->session_id, &s, err))
        return false;
    acp_session_close_await(s);
    jw_obj(w);
    jw_obj_end(w);
    return true;
}

const struct method acp_session_close = {
    .name = "session/close",
    .params = close_rows,
    .params_size = sizeof(struct close_params),
    .params_needed = true,
    .result = acp_empty_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .lets_pass = true,
    .run = close_session_await,
    .about = "Ends what runs in the session and releases it; its file stays.",
    .errors = "unknown session (-32002)",
};

/* ---- mcpServers ---- */

static const char *const transports[] = {"stdio", "http", "sse", NULL};

struct server_member {
    struct str type, name, command, url;
    yyjson_val *args, *env, *headers;
};

static const struct row pair_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "of the variable or header"),
    ROW_OUT("value", T_STR, NEEDED, "its value"),
    ROW_END,
};

const struct row acp_server_rows[] = {
    ROW(server_member, type, T_STR, OPTIONAL | NULLABLE, "absent: stdio", .choices = transports),
    ROW(server_member, name, T_STR, NEEDED | NOT_BLANK, "of the server"),
    ROW(server_member, command, T_STR, OPTIONAL, "stdio: the program, absolute"),
    ROW(server_member, args, T_ARR, OPTIONAL, "stdio: its arguments", .items = T_STR),
    ROW(server_member, env, T_ARR, OPTIONAL | OPEN, "stdio: variables", .items = T_OBJ,
        .rows = pair_rows),
    ROW(server_member, url, T_STR, OPTIONAL, "http, sse: the address"),
    ROW(server_member, headers, T_ARR, OPTIONAL | OPEN, "http, sse: headers", .items = T_OBJ,
        .rows = pair_rows),
    ROW_END,
};

static bool check_server(struct request *rq, yyjson_val *server, struct str place,
                         struct error *err)
{
    struct server_member m = {0};
    struct fault f;
    if (!rows_decode(acp_server_rows, 0, server, &m, &f))
        return acp_refuse_fault(rq, err, place, &f);
    bool is_stdio = !m.type.p || str_is(m.type, "stdio");
    struct str field = arena_fmt(&rq->arena, "%.*s.%s", STR_FMT(place),
                                 is_stdio ? "command" : "url");
    if (!(is_stdio ? m.command : m.url).n)
        return acp_refuse_param(rq, err, field, "is missing");
    return true;
}

bool acp_use_servers(struct acp_session *s, yyjson_val *servers, struct error *err)
{
    AUTO(buf) struct buf list = BUF_INIT;
    struct jw w = JW(&list);
    if (!servers || !yyjson_arr_size(servers))
        return true;
    jw_val(&w, servers);
    return session_use_servers(s->session, buf_str(&list), err);
}

bool acp_check_servers(struct request *rq, yyjson_val *servers, struct error *err)
{
    size_t i, max;
    yyjson_val *server;
    if (!servers)
        return true;
    yyjson_arr_foreach(servers, i, max, server) {
        if (!check_server(rq, server, arena_fmt(&rq->arena, "mcpServers[%zu]", i), err))
            return false;
    }
    return true;
}
