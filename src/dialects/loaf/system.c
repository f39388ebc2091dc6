/* SPDX-License-Identifier: MIT */
/* The process itself: rpc.handshake, system.ping, system.shutdown, state.get. */
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/time.h"

/* ---- rpc.handshake ---- */

struct handshake_params {
    struct str protocol_version;
    bool strict;
};

static const struct row handshake_rows[] = {
    ROW(handshake_params, protocol_version, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT,
        "version the client speaks"),
    ROW(handshake_params, strict, T_BOOL, OPTIONAL | NULLABLE, "fail if the version differs"),
    ROW_OUT("client_name", T_ANY, OPTIONAL, "for information"),
    ROW_OUT("client_version", T_ANY, OPTIONAL, "for information"),
    ROW_END,
};

static const struct row capability_rows[] = {
    ROW_OUT("events", T_BOOL, NEEDED, "event notifications are sent"),
    ROW_OUT("command_execute", T_BOOL, NEEDED, "slash commands"),
    ROW_OUT("multi_session", T_BOOL, NEEDED, "several sessions at a time"),
    ROW_OUT("image_inputs", T_ARR, NEEDED, "how pictures can be given", .items = T_STR),
    ROW_END,
};

static const struct row handshake_result[] = {
    ROW_OUT("protocol_version", T_STR, NEEDED, "of this server"),
    ROW_OUT("server_name", T_STR, NEEDED, "loaf"),
    ROW_OUT("capabilities", T_OBJ, NEEDED, "what is supported", .rows = capability_rows),
    ROW_OUT("methods", T_ARR, NEEDED, "names of all methods, sorted", .items = T_STR),
    ROW_END,
};

static bool is_refused(struct request *rq, const struct handshake_params *p, struct error *err)
{
    if (!p->strict || !p->protocol_version.p || str_is(p->protocol_version, LOAF_PROTOCOL))
        return false;
    rq->rpc_code = RPC_PARAMS;
    rq->error_data = STR(
        "{\"reason\":\"unsupported_protocol_version\",\"supported\":\"" LOAF_PROTOCOL "\"}");
    error_set(err, ERR_INVALID, "unsupported protocol_version: %.*s", STR_FMT(p->protocol_version));
    return true;
}

static bool rpc_handshake(struct request *rq, struct jw *w, struct error *err)
{
    static const char *const image_inputs[] = {"path", "data_url", NULL};
    if (is_refused(rq, rq->args, err))
        return false;
    jw_obj(w);
    jw_kz(w, "protocol_version", LOAF_PROTOCOL);
    jw_kz(w, "server_name", "loaf");
    jw_kobj(w, "capabilities");
    jw_kbool(w, "events", true);
    jw_kbool(w, "command_execute", true);
    jw_kbool(w, "multi_session", true);
    jw_klist(w, "image_inputs", image_inputs);
    jw_obj_end(w);
    jw_karr(w, "methods");
    for (size_t i = 0; i < loaf_n_methods; i++)
        jw_str(w, str_of(loaf_methods[i]->name));
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method loaf_rpc_handshake = {
    .name = "rpc.handshake",
    .params = handshake_rows,
    .params_size = sizeof(struct handshake_params),
    .result = handshake_result,
    .lane = LANE_MAIN,
    .run = rpc_handshake,
    .about = "Version, capabilities and methods; optional.",
    .errors = "unsupported_protocol_version when strict and the versions differ",
};

/* ---- system.ping ---- */

static const struct row ping_result[] = {
    ROW_OUT("ok", T_BOOL, NEEDED, "true"),
    ROW_OUT("time", T_STR, NEEDED, "now, UTC"),
    ROW_END,
};

static bool system_ping(struct request *rq, struct jw *w, struct error *err)
{
    (void)rq, (void)err;
    char now[TIME_ISO_LEN + 1];
    time_iso(time_now_ms(), now);
    jw_obj(w);
    jw_kbool(w, "ok", true);
    jw_kz(w, "time", now);
    jw_obj_end(w);
    return true;
}

const struct method loaf_system_ping = {
    .name = "system.ping",
    .result = ping_result,
    .lane = LANE_MAIN,
    .run = system_ping,
    .about = "Answers at once; ignores params.",
};

/* ---- system.shutdown ---- */

struct shutdown_params {
    struct str reason;
};

static const struct row shutdown_rows[] = {
    ROW(shutdown_params, reason, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT,
        "repeated in state.changed"),
    ROW_END,
};

static const struct row shutdown_result[] = {
    ROW_OUT("accepted", T_BOOL, NEEDED, "true"),
    ROW_OUT("reason", T_STR, OPTIONAL, "as it was given"),
    ROW_END,
};

static bool system_shutdown(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct loaf *lf = rq->dialect;
    const struct shutdown_params *p = rq->args;
    loaf_say_state_changed(lf, p->reason.p ? p->reason : STR("shutdown"), NULL);
    jw_obj(w);
    jw_kbool(w, "accepted", true);
    jw_kstr_opt(w, "reason", p->reason);
    jw_obj_end(w);
    rpc_stop(lf->rpc);
    loaf_end(lf, 0);
    return true;
}

const struct method loaf_system_shutdown = {
    .name = "system.shutdown",
    .params = shutdown_rows,
    .params_size = sizeof(struct shutdown_params),
    .result = shutdown_result,
    .lane = LANE_MAIN,
    .run = system_shutdown,
    .about = "Stops all turns, answers, and ends the process.",
};

/* ---- state.get ---- */

static bool state_get(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    loaf_put_snapshot(rq->dialect, w, SIZE_MAX);
    return true;
}

const struct method loaf_state_get = {
    .name = "state.get",
    .result = loaf_snapshot_rows,
    .lane = LANE_MAIN,
    .run = state_get,
    .about = "The state of the process; ignores params.",
};
