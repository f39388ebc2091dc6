/* SPDX-License-Identifier: MIT */
/* initialize: the version, and what both sides can do. */
#include "dialects/acp/methods.h"

struct initialize_params {
    int64_t version;
    yyjson_val *capabilities, *info;
};

static const struct row fs_rows[] = {
    ROW_OUT("readTextFile", T_BOOL, OPTIONAL, "fs/read_text_file works"),
    ROW_OUT("writeTextFile", T_BOOL, OPTIONAL, "fs/write_text_file works"),
    ROW_END,
};

static const struct row client_rows[] = {
    ROW_OUT("fs", T_OBJ, OPTIONAL | OPEN, "files of the editor", .rows = fs_rows),
    ROW_OUT("terminal", T_BOOL, OPTIONAL, "terminals of the editor; not used"),
    ROW_OUT("session", T_OBJ, OPTIONAL | OPEN, "updates that it knows"),
    ROW_OUT("elicitation", T_OBJ, OPTIONAL | OPEN, "forms that it shows"),
    ROW_OUT("auth", T_OBJ, OPTIONAL | OPEN, "how it signs in"),
    ROW_OUT("_meta", T_OBJ, OPTIONAL | OPEN, "terminal-auth: it runs the command of a method"),
    ROW_END,
};

static const struct row initialize_rows[] = {
    ROW_AS(initialize_params, version, "protocolVersion", T_INT, NEEDED,
           "the newest version of the client", .has_min = true, .min = 0),
    ROW_AS(initialize_params, capabilities, "clientCapabilities", T_OBJ, OPTIONAL | NULLABLE | OPEN,
           "absent: none", .rows = client_rows),
    ROW_AS(initialize_params, info, "clientInfo", T_OBJ, OPTIONAL | NULLABLE | OPEN, "its name"),
    ROW_END,
};

static bool has_object(yyjson_val *obj, const char *name)
{
    return yyjson_is_obj(json_get(obj, name));
}

/* A member of the wrong type is no capability. */
static void take_client(struct acp_client *c, yyjson_val *v)
{
    yyjson_val *fs = json_get(v, "fs"), *session = json_get(v, "session");
    *c = (struct acp_client){
        .reads_files = json_get_bool(fs, "readTextFile", false),
        .writes_files = json_get_bool(fs, "writeTextFile", false),
        .shows_forms = has_object(json_get(v, "elicitation"), "form"),
        .shows_urls = has_object(json_get(v, "elicitation"), "url"),
        .has_terminal_login = json_get_bool(json_get(v, "auth"), "terminal", false),
        .has_terminal_meta = json_get_bool(json_get(v, "_meta"), "terminal-auth", false),
        .shows_compaction = has_object(session, "compaction"),
        .shows_notices = has_object(session, "notices"),
    };
}

static void put_empty(struct jw *w, const char *name)
{
    jw_kobj(w, name);
    jw_obj_end(w);
}

static void put_capabilities(struct jw *w)
{
    jw_kobj(w, "agentCapabilities");
    jw_kbool(w, "loadSession", true);
    jw_kobj(w, "promptCapabilities");
    jw_kbool(w, "image", true);
    jw_kbool(w, "audio", false);
    jw_kbool(w, "embeddedContext", true);
    jw_obj_end(w);
    jw_kobj(w, "mcpCapabilities");
    jw_kbool(w, "http", true);
    jw_kbool(w, "sse", false);
    jw_obj_end(w);
    jw_kobj(w, "sessionCapabilities");
    put_empty(w, "list");
    put_empty(w, "resume");
    put_empty(w, "close");
    put_empty(w, "delete");
    jw_obj_end(w);
    jw_kobj(w, "auth");
    put_empty(w, "logout");
    jw_obj_end(w);
    jw_obj_end(w);
}

static bool initialize(struct request *rq, struct jw *w, struct error *err)
{
    const struct initialize_params *p = rq->args;
    struct acp *a = rq->dialect;
    (void)err;
    take_client(&a->client, p->capabilities);
    a->is_initialized = true;
    jw_obj(w);
    jw_kint(w, "protocolVersion", ACP_VERSION);
    put_capabilities(w);
    jw_kobj(w, "agentInfo");
    jw_kz(w, "name", "trivet");
    jw_kz(w, "title", "Trivet");
    jw_kz(w, "version", a->sv->version);
    jw_obj_end(w);
    acp_put_auth_methods(a, w);
    jw_obj_end(w);
    return true;
}

const struct method acp_initialize = {
    .name = "initialize",
    .params = initialize_rows,
    .params_size = sizeof(struct initialize_params),
    .params_needed = true,
    .result = acp_initialize_result,
    .lane = LANE_MAIN,
    .run = initialize,
    .about = "Settles the version of the protocol and what both sides can do.",
};
