/* SPDX-License-Identifier: MIT */
#include "dialects/mcp/structs.h"

#include "base/path.h"

static const struct served_tool *const tools[] = {&served_list_sessions, &served_read_session,
                                                  &served_run_prompt};

bool served_workspace(struct served *c, struct str path, struct str *ret, struct error *err)
{
    struct str top = c->peer->workspace;
    if (!engine_find_workspace(path.n ? path : STR("."), &c->rq->arena, ret, err))
        return false;
    return path_is_inside(top, *ret) ||
           error_set(err, ERR_DENIED,
                     "the workspace must lie at or below %.*s, where the server runs",
                     STR_FMT(top));
}

/* ---- tools/list ---- */

static bool list(struct request *rq, struct jw *w, struct error *err)
{
    bool is_modern;
    if (!served_check(rq, &is_modern, err))
        return false;
    jw_obj(w);
    if (is_modern)
        jw_kz(w, "resultType", "complete");
    jw_karr(w, "tools");
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        jw_obj(w);
        jw_kz(w, "name", tools[i]->name);
        jw_kz(w, "description", tools[i]->about);
        jw_key(w, "inputSchema");
        rows_schema(tools[i]->rows, 0, w);
        jw_kobj(w, "annotations");
        jw_kbool(w, "readOnlyHint", tools[i]->only_looks);
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    if (is_modern) {
        jw_kint(w, "ttlMs", 3600000);
        jw_kz(w, "cacheScope", "public");
    }
    jw_obj_end(w);
    return true;
}

const struct method served_tools_list = {
    .name = "tools/list", .lane = LANE_FREE, .run = list, .about = "The tools."};

/* ---- tools/call ---- */

static void put_result(const struct served *c, bool is_modern, struct jw *w)
{
    jw_obj(w);
    if (is_modern)
        jw_kz(w, "resultType", "complete");
    jw_karr(w, "content");
    jw_obj(w);
    jw_kz(w, "type", "text");
    jw_kstr(w, "text", buf_str(&c->text));
    jw_obj_end(w);
    jw_arr_end(w);
    if (c->structured.n)
        jw_kraw(w, "structuredContent", buf_str(&c->structured));
    jw_kbool(w, "isError", c->is_error);
    jw_obj_end(w);
}

static const struct served_tool *find_tool(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (str_is(name, tools[i]->name))
            return tools[i];
    return NULL;
}

static bool decode(struct served *c, const struct served_tool *t, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct fault fault;
    yyjson_val *given = json_get(c->rq->params, "arguments");
    void *into = arena_alloc(&c->rq->arena, t->args_size);
    AUTO(json) struct json none = JSON_INIT;
    if (!given && json_parse(STR("{}"), 0, 2, &none, err))
        given = none.root;
    c->args = into;
    if (rows_decode(t->rows, 0, given, into, &fault))
        return true;
    fault_say(&fault, &text);
    return error_set(err, ERR_INVALID, "%.*s", STR_FMT(buf_str(&text)));
}

static bool call_await(struct request *rq, struct jw *w, struct error *err)
{
    struct served c = {.peer = rq->dialect, .rq = rq};
    bool is_modern;
    const struct served_tool *t = find_tool(json_get_str(rq->params, "name"));
    if (!served_check(rq, &is_modern, err))
        return false;
    if (!t)
        return error_set(err, ERR_INVALID, "Unknown tool: %.*s",
                         STR_FMT(str_cut(json_get_str(rq->params, "name"), 60)));
    c.progress = json_get(json_get(rq->params, "_meta"), "progressToken");
    bool ok = decode(&c, t, err) && t->run_await(&c, err);
    if (!ok && err->code != ERR_CANCELED) { /* a failed call is a result */
        buf_reset(&c.text);
        buf_add(&c.text, error_str(err));
        c.is_error = ok = true;
    }
    if (ok)
        put_result(&c, is_modern, w);
    buf_clear(&c.text);
    buf_clear(&c.structured);
    return ok;
}

const struct method served_tools_call = {.name = "tools/call",
                                         .how = RUN_FIBER,
                                         .lane = LANE_FREE,
                                         .run = call_await,
                                         .about = "Calls a tool."};
