/* SPDX-License-Identifier: MIT */
#include "dialects/mcp/structs.h"

#include "base/limits.h"
#include "base/shown.h"
#include "base/utf8.h"

#include <stdio.h>

#define VERSION_KEY "io.modelcontextprotocol/protocolVersion"
#define MODERN "2026-07-28"

static const char *const legacy[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

/* ---- errors ---- */

static void put(struct jw *w, int code, struct str message, struct str data)
{
    jw_obj(w);
    jw_kint(w, "code", code);
    jw_kstr(w, "message", utf8_cut(message, 500));
    if (data.n)
        jw_kraw(w, "data", data);
    jw_obj_end(w);
}

static bool put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    (void)has_id;
    if (fault == RPC_NOT_JSON)
        put(w, RPC_PARSE, detail, STR_NONE);
    else
        put(w, RPC_INVALID, STR("Invalid Request"), STR_NONE);
    return true;
}

static bool put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w)
{
    (void)fault;
    put(w, RPC_INVALID, detail, STR_NONE);
    return true;
}

static void put_no_method(struct str method, struct jw *w)
{
    (void)method;
    put(w, RPC_NO_METHOD, STR("Method not found"), STR_NONE);
}

static void put_params_fault(const struct method *m, const struct fault *f, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    (void)m;
    fault_say(f, &text);
    put(w, RPC_PARAMS, buf_str(&text), STR_NONE);
}

static void put_error(const struct request *rq, const struct error *err, struct jw *w)
{
    int code = rq->rpc_code ? rq->rpc_code : err->code == ERR_INVALID ? RPC_PARAMS : RPC_INTERNAL;
    put(w, code, error_str(err), rq->error_data);
}

/* ---- versions ---- */

bool served_check(struct request *rq, bool *ret_is_modern, struct error *err)
{
    struct str version = json_get_str(json_get(rq->params, "_meta"), VERSION_KEY);
    *ret_is_modern = str_is(version, MODERN);
    if (!version.p || *ret_is_modern)
        return true;
    rq->rpc_code = -32022;
    rq->error_data = STR("{\"supported\":[\"" MODERN "\"]}");
    return error_set(err, ERR_INVALID, "unsupported version of the protocol");
}

static void put_info(struct jw *w)
{
    jw_obj(w);
    jw_kz(w, "name", "trivet");
    jw_kz(w, "title", "Trivet");
    jw_kz(w, "version", TRIVET_VERSION);
    jw_obj_end(w);
}

static const char instructions[] =
    "trivet is a coding agent. run_prompt gives it a task in a directory at or below the one it was "
    "started in; its commands are confined to that directory.";

static bool initialize(struct request *rq, struct jw *w, struct error *err)
{
    struct str asked = json_get_str(rq->params, "protocolVersion");
    const char *version = legacy[0];
    (void)err;
    for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
        if (str_is(asked, legacy[i]))
            version = legacy[i];
    jw_obj(w);
    jw_kz(w, "protocolVersion", version);
    jw_kraw(w, "capabilities", STR("{\"tools\":{}}"));
    jw_key(w, "serverInfo");
    put_info(w);
    jw_kz(w, "instructions", instructions);
    jw_obj_end(w);
    return true;
}

static const struct method initialize_method = {
    .name = "initialize", .lane = LANE_MAIN, .run = initialize, .about = "The older handshake."};

static bool discover(struct request *rq, struct jw *w, struct error *err)
{
    bool is_modern;
    if (!served_check(rq, &is_modern, err))
        return false;
    jw_obj(w);
    jw_kz(w, "resultType", "complete");
    jw_kraw(w, "supportedVersions", STR("[\"" MODERN "\"]"));
    jw_kraw(w, "capabilities", STR("{\"tools\":{}}"));
    jw_kz(w, "instructions", instructions);
    jw_kint(w, "ttlMs", 3600000);
    jw_kz(w, "cacheScope", "public");
    jw_kobj(w, "_meta");
    jw_key(w, "io.modelcontextprotocol/serverInfo");
    put_info(w);
    jw_obj_end(w);
    jw_obj_end(w);
    return true;
}

static const struct method discover_method = {.name = "server/discover",
                                              .lane = LANE_MAIN,
                                              .run = discover,
                                              .about = "Versions and capabilities."};

static bool nothing(struct request *rq, struct jw *w, struct error *err)
{
    (void)rq;
    (void)err;
    jw_raw(w, STR("{}"));
    return true;
}

static const struct method ping_method = {
    .name = "ping", .lane = LANE_FREE, .run = nothing, .about = "A sign of life."};
static const struct method initialized_method = {.name = "notifications/initialized",
                                                 .is_notice = true,
                                                 .lane = LANE_MAIN,
                                                 .run = nothing,
                                                 .about = "The handshake is over."};

static bool cancel(struct request *rq, struct jw *w, struct error *err)
{
    yyjson_val *id = json_get(rq->params, "requestId");
    if (id)
        rpc_cancel_one(rq->rpc, id);
    return nothing(rq, w, err);
}

static const struct method cancelled_method = {.name = "notifications/cancelled",
                                               .is_notice = true,
                                               .lane = LANE_FREE,
                                               .run = cancel,
                                               .about = "Stops a call."};

static const struct method *const methods[] = {
    &initialize_method, &cancelled_method,  &initialized_method, &ping_method,
    &discover_method,   &served_tools_call, &served_tools_list,
};

/* ---- the end ---- */

static void end_fiber(void *arg)
{
    struct mcp_peer *p = arg;
    struct error ignored;
    rpc_drain_await(p->rpc, &ignored);
    server_quit(p->sv, p->exit_code, true);
}

/* Running prompts are stopped; their answers are still sent. */
static void end(struct mcp_peer *p, int exit_code)
{
    if (p->is_ending)
        return;
    p->is_ending = true;
    p->exit_code = exit_code;
    rpc_stop(p->rpc);
    rpc_cancel(p->rpc);
    fiber_start(p->sv->loop, "end", end_fiber, p);
}

static void on_eof(void *dialect)
{
    end(dialect, 0);
}

static void on_broken(void *dialect)
{
    end(dialect, 1);
}

static void on_full(void *dialect, bool full)
{
    (void)dialect;
    (void)full;
}

static void on_signal(struct server *sv, int signo)
{
    (void)signo;
    end(sv->state, 0);
}

/* ---- the start ---- */

static const struct rpc_dialect wire = {
    .framing = FRAME_LINES,
    .limit = LIMIT_ACP_LINE_BYTES,
    .methods = methods,
    .n_methods = ARRAY_LEN(methods),
    .echoes_id_on_invalid = true,
    .parse_flags = JSON_FIX_SURROGATES | JSON_FIX_UTF8,
    .put_fault = put_fault,
    .put_frame_fault = put_frame_fault,
    .put_no_method = put_no_method,
    .put_params_fault = put_params_fault,
    .put_error = put_error,
    .on_eof = on_eof,
    .on_full = on_full,
    .on_broken = on_broken,
};

static bool take_mode(void *into, const struct option *row, struct str value, struct error *err)
{
    struct mcp_options *o = into;
    o->mode = run_mode_named(value);
    return (o->mode && !o->mode->asks) ||
           error_set(
               err, ERR_INVALID,
               "--%s is one of read-only, plan, workspace-write, danger-full-access, not %.*s",
               row->name, STR_FMT(str_cut(value, 60)));
}

const struct option mcp_serve_options[] = {
    OPTION(mcp_options, model, OPT_TEXT, "model", 'm', "SLUG",
           "model of new sessions (default: TRIVET_MODEL, or the\n"
           "choice made in the chat)"),
    OPTION(mcp_options, mode, OPT_TAKEN, "mode", 0, "MODE",
           "what its tools may do: read-only, plan, workspace-write\n"
           "(default) or danger-full-access",
           .accept = take_mode),
    OPTION(mcp_options, network, OPT_FLAG, "net", 0, NULL, "confined commands may use the network"),
    OPTION(mcp_options, asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

static bool read_options(struct mcp_peer *p, struct error *err)
{
    int argc = p->sv->argc;
    p->options = (struct mcp_options){.mode = run_mode_named(STR("workspace-write"))};
    if (!options_read(mcp_serve_options, &argc, p->sv->argv, &p->options, NULL, err))
        return false;
    if (argc)
        return error_set(err, ERR_INVALID, "unknown argument %.100s", p->sv->argv[0]);
    return engine_find_workspace(STR("."), &p->arena, &p->workspace, err);
}

static bool start(struct server *sv)
{
    struct mcp_peer *p = xnew(struct mcp_peer);
    struct error err;
    p->sv = sv;
    if (!read_options(p, &err)) {
        shown_line(stderr, "trivet mcp serve: %s", err.text);
        sv->exit_code = 2;
        arena_clear(&p->arena);
        free(p);
        return false;
    }
    sv->state = p;
    p->rpc = rpc_new(sv->loop, sv->in_fd, sv->out_fd, &wire, p);
    return true;
}

static struct conn *get_conn(struct server *sv)
{
    struct mcp_peer *p = sv->state;
    return rpc_conn(p->rpc);
}

static void free_all(struct server *sv)
{
    struct mcp_peer *p = sv->state;
    fiber_end_all(sv->loop);
    rpc_free(p->rpc);
    served_places_free(p); /* every session was closed by its call */
    arena_clear(&p->arena);
    free(p);
}

const struct dialect dialect_mcp = {
    .name = "mcp",
    .about = "Model Context Protocol, as a server",
    .start = start,
    .conn = get_conn,
    .on_signal = on_signal,
    .free = free_all,
    .methods = methods,
    .n_methods = ARRAY_LEN(methods),
};
