/* SPDX-License-Identifier: MIT */
/* MCP servers: the methods tools/list and mcp/status.  The servers stand in the config, below
 * `mcpServers`, and in .mcp.json of the workspace once it is trusted. */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/path.h"
#include "engine/session.h"
#include "mcp/hub.h"

/* The session that a request names; NULL when there is none. */
static struct session *named_session(struct request *rq)
{
    struct kward *k = rq->dialect;
    const struct kw_session_params *p = rq->args;
    struct error ignored;
    struct kw_session *s = p->session_id.n ? kw_find_session(k, p->session_id, &ignored) : NULL;
    return s ? s->file->session : NULL;
}

static const struct row params_rows[] = {
    ROW_AS(kw_session_params, session_id, "sessionId", T_STR, OPTIONAL,
           "whose tools; without it those of every session"),
    ROW_END,
};

/* ---- tools/list ---- */

static const struct row function_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "as the model calls it"),
    ROW_OUT("description", T_STR, NEEDED, "for the model"),
    ROW_OUT("parameters", T_OBJ, NEEDED | OPEN, "JSON Schema of its arguments"),
    ROW_END,
};

static const struct row metadata_rows[] = {
    ROW_OUT("source", T_STR, NEEDED, NULL, .choices = KW_ONLY("mcp")),
    ROW_OUT("displayName", T_STR, NEEDED, "for people"),
    ROW_OUT("serverName", T_STR, NEEDED, "the MCP server"),
    ROW_OUT("remoteName", T_STR, NEEDED, "its name there"),
    ROW_END,
};

static const struct row tool_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, NULL, .choices = KW_ONLY("function")),
    ROW_OUT("function", T_OBJ, NEEDED, "the tool", .rows = function_rows),
    ROW_OUT("metadata", T_OBJ, OPTIONAL, "of tools of MCP servers", .rows = metadata_rows),
    ROW_END,
};

static const struct row tools_rows[] = {
    ROW_OUT("tools", T_ARR, NEEDED, "in the order of the model", .items = T_OBJ, .rows = tool_rows),
    ROW_END,
};

static void put_tool(struct jw *w, const struct tool *f, struct mcp_hub *hub)
{
    struct str server, remote;
    jw_obj(w);
    jw_kz(w, "type", "function");
    jw_kobj(w, "function");
    jw_kz(w, "name", f->name);
    jw_kz(w, "description", f->about);
    jw_key(w, "parameters");
    tool_schema(f, w);
    jw_obj_end(w);
    if (hub && mcp_hub_origin(hub, str_of(f->name), &server, &remote)) {
        jw_kobj(w, "metadata");
        jw_kz(w, "source", "mcp");
        jw_kstr(w, "displayName", remote);
        jw_kstr(w, "serverName", server);
        jw_kstr(w, "remoteName", remote);
        jw_obj_end(w);
    }
    jw_obj_end(w);
}

static bool tools_await(struct request *rq, struct jw *w, struct error *err)
{
    struct kward *k = rq->dialect;
    struct engine *e = k->sv->engine;
    struct str place = path_cwd();
    const struct tool **tools;
    size_t n;
    struct session *s = named_session(rq);
    kw_skills_await(k, s, &rq->arena, &n); /* without one there is no tool for them */
    s = s ? named_session(rq) : NULL;
    if (s ? !session_tools_await(s, &rq->arena, &tools, &n, err)
          : !engine_load_tools_await(e, &k->settings, place, err))
        return false;
    s = s ? named_session(rq) : NULL; /* it may have been closed meanwhile */
    if (!s)
        tools = engine_tools(e, &k->settings, place, &rq->arena, &n);
    jw_obj(w);
    jw_karr(w, "tools");
    for (size_t i = 0; i < n; i++)
        put_tool(w, tools[i], s ? session_hub(s) : NULL);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_tools_list = {
    .name = "tools/list",
    .params = params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = tools_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = tools_await,
    .about = "The tools the model is offered.  With a session its MCP servers are started.",
};

/* ---- mcp/status ---- */

static const char *const states[] = {"available", "unavailable", NULL};
static const char *const transports[] = {"stdio", "http", NULL};

static const struct row server_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "as in the config"),
    ROW_OUT("transport", T_STR, NEEDED, "how it is reached", .choices = transports),
    ROW_OUT("status", T_STR, NEEDED, "whether it can be used", .choices = states),
    ROW_OUT("toolCount", T_INT, NEEDED, "tools that it offers"),
    ROW_OUT("error", T_STR, OPTIONAL, "why it cannot be used"),
    ROW_END,
};

static const struct row status_rows[] = {
    ROW_OUT("servers", T_ARR, NEEDED, "in the order of the config", .items = T_OBJ,
            .rows = server_rows),
    ROW_END,
};

static void put_server(struct jw *w, const struct mcp_status *st)
{
    bool is_ready = strcmp(st->state, "ready") == 0;
    jw_obj(w);
    jw_kstr(w, "name", st->config->name);
    jw_kz(w, "transport", st->config->transport == MCP_HTTP ? "http" : "stdio");
    jw_kz(w, "status", is_ready ? "available" : "unavailable");
    jw_kint(w, "toolCount", is_ready ? (int64_t)(st->n_tools - st->n_withheld) : 0);
    if (!is_ready)
        jw_kstr(w, "error", st->trouble.p ? st->trouble : STR("it is not started yet"));
    jw_obj_end(w);
}

static bool status_await(struct request *rq, struct jw *w, struct error *err)
{
    struct session *s = named_session(rq);
    const struct tool **tools;
    size_t n;
    if (s && !session_tools_await(s, &rq->arena, &tools, &n, err))
        return false;
    s = s ? named_session(rq) : NULL;
    struct mcp_hub *hub = s ? session_hub(s) : NULL;
    jw_obj(w);
    jw_karr(w, "servers");
    for (size_t i = 0; hub && i < mcp_hub_count(hub); i++) {
        struct mcp_status st = mcp_hub_status(hub, i);
        put_server(w, &st);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_mcp_status = {
    .name = "mcp/status",
    .params = params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = status_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = status_await,
    .about = "The MCP servers of a session, which are started for it; none without a session.",
};
