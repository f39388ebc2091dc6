/* SPDX-License-Identifier: MIT */
/* Calls of tools.  Whatever goes wrong is a result for the model: the turn goes on. */
#include "mcp/server.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "mcp/hub_impl.h"

enum { ROUNDS = 8, MESSAGE_BYTES = 500 };

/* ---- questions of modern servers ---- */

/* Declines what it asks of the user; false when it asks for anything else. */
static bool put_responses(yyjson_val *requests, struct jw *w)
{
    size_t i, max;
    yyjson_val *key, *v;
    jw_kobj(w, "inputResponses");
    yyjson_obj_foreach(requests, i, max, key, v) {
        if (!str_is(json_get_str(v, "method"), "elicitation/create"))
            return false;
        jw_keys(w, json_str(key));
        jw_raw(w, STR("{\"action\":\"decline\"}"));
    }
    jw_obj_end(w);
    return true;
}

static bool is_complete(yyjson_val *result, struct error *err)
{
    struct str type = json_get_str(result, "resultType");
    if (!type.p || str_is(type, "complete"))
        return true;
    return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE, "a result of the unknown kind %.*s",
                            STR_FMT(utf8_cut(type, 40)));
}

bool server_ask_await(struct mcp_server *s, const struct mcp_request *rq, struct json *ret,
                      struct error *err)
{
    AUTO(buf) struct buf members = BUF_INIT;
    struct mcp_request again = *rq;
    for (int round = 0; round < ROUNDS; round++) {
        AUTO(json) struct json doc = JSON_INIT;
        bool ok = server_request_await(s, &again, &doc, err);
        if (ok && str_is(json_get_str(doc.root, "resultType"), "input_required")) {
            struct jw w = JW(&members);
            buf_reset(&members);
            buf_add(&members, rq->members);
            w.comma = rq->members.n > 0;
            if (!put_responses(json_get(doc.root, "inputRequests"), &w))
                return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE,
                                        "the server asks for something that is not offered");
            if (json_get(doc.root, "requestState"))
                jw_kval(&w, "requestState", json_get(doc.root, "requestState"));
            again.members = buf_str(&members);
            continue;
        }
        ok = ok && is_complete(doc.root, err);
        if (ok)
            *ret = take(&doc);
        return ok;
    }
    return error_set_origin(err, ERR_LIMIT, ORIGIN_REMOTE, "the server asks again and again");
}

/* ---- calls ---- */

struct calling {
    struct tool_cx *cx;
};

static void on_progress(void *arg, double progress, double total, struct str message)
{
    struct calling *c = arg;
    AUTO(buf) struct buf line = BUF_INIT, clean = BUF_INIT;
    if (!c->cx->on_output)
        return;
    if (total > 0)
        buf_addf(&line, "[%g/%g] ", progress, total);
    else
        buf_addf(&line, "[%g] ", progress);
    utf8_repair(&clean, utf8_cut(str_trim(message), MESSAGE_BYTES));
    buf_add(&line, buf_str(&clean));
    buf_addc(&line, '\n');
    c->cx->on_output(c->cx->output_arg, buf_str(&line));
}

static void put_call(const struct mcp_tool *t, struct str arguments, struct buf *members)
{
    struct jw w = JW(members);
    jw_kstr(&w, "name", t->remote);
    jw_kraw(&w, "arguments", arguments.n ? arguments : STR("{}"));
}

/* {"Header": "value"} of the arguments that HTTP headers repeat. */
static void put_headers(const struct mcp_tool *t, struct str arguments, struct buf *out)
{
    AUTO(json) struct json map = JSON_INIT, args = JSON_INIT;
    struct jw w = JW(out);
    struct error ignored;
    size_t i, max;
    yyjson_val *key, *header;
    if (!t->headers.n || !json_parse(t->headers, 0, 4, &map, &ignored) ||
        !json_parse(arguments, 0, LIMIT_JSON_DEPTH, &args, &ignored))
        return;
    jw_obj(&w);
    yyjson_obj_foreach(map.root, i, max, key, header) {
        AUTO(buf) struct buf text = BUF_INIT;
        struct jw value = JW(&text);
        yyjson_val *v = json_get(args.root, yyjson_get_str(key));
        if (!yyjson_is_str(v) && !yyjson_is_int(v) && !yyjson_is_bool(v))
            continue;
        jw_val(&value, v);
        jw_keys(&w, json_str(header));
        jw_str(&w, yyjson_is_str(v) ? json_str(v) : buf_str(&text));
    }
    jw_obj_end(&w);
}

bool tool_run_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                    struct error *err)
{
    const struct mcp_tool *t = cx->self;
    struct mcp_server *s = t->server;
    AUTO(buf) struct buf members = BUF_INIT, headers = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct calling calling = {cx};
    int64_t call_ms = s->config->call_ms;
    struct mcp_request rq = {
        .method = "tools/call",
        .name = t->remote,
        .idle_ms = call_ms ? call_ms : LIMIT_MCP_CALL_MS,
        .most_ms = MAX(call_ms, (int64_t)LIMIT_MCP_MOST_MS),
        .on_progress = on_progress,
        .arg = &calling,
    };
    (void)args;
    put_call(t, cx->arguments, &members);
    put_headers(t, cx->arguments, &headers);
    rq.members = buf_str(&members);
    rq.headers = buf_str(&headers);
    hub_hold(s->hub);
    bool ok = server_ready_await(s, err) && server_ask_await(s, &rq, &doc, err);
    hub_release(s->hub);
    if (ok)
        result_put(doc.root, cx->is_blind, ret);
    else if (err->code != ERR_CANCELED)
        tool_fail(ret, "%.*s: %s", STR_FMT(t->remote), err->text);
    if (!ok && err->code == ERR_PROVIDER)
        log_info("mcp: the call of %s failed: %s", t->tool.name, err->text);
    return ok || err->code != ERR_CANCELED;
}
