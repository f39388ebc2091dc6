/* SPDX-License-Identifier: MIT */
/* The opening of a connection: which era the server speaks, and its version.
 *
 *     server/discover --> a result          modern, no handshake
 *                     --> unsupported       a version of those it names
 *                     --> any other error   initialize
 *                     --> silence, or end   started anew, and initialize at once
 *
 * What a server spoke is remembered for the next start.
 */
#include "mcp/server.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "mcp/eras.h"
#include "mcp/http.h"
#include "mcp/hub_impl.h"
#include "mcp/oauth.h"
#include "mcp/stdio.h"

enum { PROBE_MS = 3000, CODE_HEADERS = -32020, CODE_CAPABILITY = -32021, CODE_VERSION = -32022 };

static const char *const legacy_versions[] = {MCP_LEGACY_VERSION, "2025-06-18", "2025-03-26",
                                              "2024-11-05"};

static bool is_legacy_version(struct str version)
{
    for (size_t i = 0; i < ARRAY_LEN(legacy_versions); i++)
        if (str_is(version, legacy_versions[i]))
            return true;
    return false;
}

/* ---- connecting ---- */

static void on_notice(void *arg, struct str method, yyjson_val *params)
{
    struct mcp_server *s = arg;
    (void)params;
    if (str_is(method, "notifications/tools/list_changed"))
        s->is_stale = true;
}

static void on_over(void *arg)
{
    struct mcp_server *s = arg;
    hub_changed(s->hub);
    if (s->state != SERVER_READY)
        return;
    s->why = *link_reason(s->link);
    log_info("mcp %.*s: %s", STR_FMT(s->config->name), s->why.text);
    server_set(s, SERVER_DOWN);
}

static bool open_http_await(struct mcp_server *s, struct link *k, const struct mcp_place *place,
                            struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str token;
    return mcp_token_await(s->config, &a, &token, err) &&
           http_open(k, place, s->config, token, err);
}

static bool connect_await(struct mcp_server *s, const struct mcp_place *place, struct error *err)
{
    struct link_hooks hooks = {.on_notice = on_notice,
                               .on_over = on_over,
                               .arg = s,
                               .root = str_of(place->root),
                               .name = s->config->name};
    link_free(take(&s->link));
    struct link *k = link_new(place->loop, &hooks);
    bool ok = s->config->transport == MCP_HTTP ? open_http_await(s, k, place, err)
                                               : stdio_open(k, place, s->config, err);
    if (!ok) {
        link_free(k);
        return false;
    }
    s->link = k;
    return true;
}

/* ---- what the server says of itself ---- */

static void take_capabilities(struct mcp_server *s, yyjson_val *result, yyjson_val *info)
{
    yyjson_val *can = json_get(result, "capabilities");
    s->has_tools = yyjson_is_obj(json_get(can, "tools"));
    s->has_resources = yyjson_is_obj(json_get(can, "resources"));
    s->has_prompts = yyjson_is_obj(json_get(can, "prompts"));
    buf_reset(&s->label);
    shown_add(&s->label, utf8_cut(json_get_str(info, "name"), 60), false);
    buf_addc(&s->label, ' ');
    shown_add(&s->label, utf8_cut(json_get_str(info, "version"), 30), false);
}

static bool has_version(yyjson_val *list, const char *version)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
        if (str_is(json_str(item), version))
            return true;
    return false;
}

/* ---- initialize ---- */

static bool say_version(struct str version, struct error *err)
{
    return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE,
                            "it speaks version %.*s of the protocol, which is not known here",
                            STR_FMT(utf8_cut(version.n ? version : STR("(none)"), 40)));
}

/* By HTTP the next request takes a connection of its own and could overtake the notification.  That
 * the server refuses it or does not answer means nothing. */
static bool say_initialized_await(struct mcp_server *s, int64_t most_ms, struct error *err)
{
    static const char method[] = "notifications/initialized";
    AUTO(json) struct json none = JSON_INIT;
    struct mcp_request rq = {
        .method = method, .idle_ms = most_ms / 3, .is_final = true, .is_notice = true};
    if (s->config->transport != MCP_HTTP)
        return link_notify(s->link, method, STR_NONE, err);
    return link_request_await(s->link, &rq, &none, err) || err->code != ERR_CANCELED;
}

static bool initialize_await(struct mcp_server *s, const char *version, int64_t most_ms,
                             struct error *err)
{
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf members = BUF_INIT;
    struct jw w = JW(&members);
    jw_kz(&w, "protocolVersion", version);
    jw_kraw(&w, "capabilities", STR("{\"roots\":{\"listChanged\":false}}"));
    jw_kraw(&w, "clientInfo",
            STR("{\"name\":\"trivet\",\"title\":\"Trivet\",\"version\":\"" TRIVET_VERSION "\"}"));
    struct mcp_request rq = {
        .method = "initialize", .members = buf_str(&members), .idle_ms = most_ms, .is_final = true};
    link_set_era(s->link, ERA_LEGACY, STR(""));
    if (!link_request_await(s->link, &rq, &doc, err))
        return false;
    struct str given = json_get_str(doc.root, "protocolVersion");
    if (!is_legacy_version(given))
        return say_version(given, err);
    link_set_era(s->link, ERA_LEGACY, given);
    take_capabilities(s, doc.root, json_get(doc.root, "serverInfo"));
    if (!say_initialized_await(s, most_ms, err))
        return false;
    if (s->config->transport == MCP_HTTP)
        http_hear(s->link);
    return true;
}

/* ---- server/discover ---- */

enum probed { PROBED_MODERN, PROBED_LEGACY, PROBED_SILENT, PROBED_FAILED };

/* The version that it names and we know, of those that it says it supports. */
static enum probed choose(yyjson_val *error, const char **ret_version, struct error *err)
{
    yyjson_val *supported = json_get(json_get(error, "data"), "supported");
    if (has_version(supported, MCP_MODERN_VERSION))
        return PROBED_MODERN;
    for (size_t i = 0; i < ARRAY_LEN(legacy_versions); i++)
        if (has_version(supported, legacy_versions[i])) {
            *ret_version = legacy_versions[i];
            return PROBED_LEGACY;
        }
    say_version(json_str(yyjson_arr_get_first(supported)), err);
    return PROBED_FAILED;
}

static enum probed probe_await(struct mcp_server *s, const char **ret_version, struct error *err)
{
    AUTO(json) struct json doc = JSON_INIT;
    int64_t probe_ms = MIN((int64_t)PROBE_MS, MAX(server_start_ms(s) / 3, (int64_t)100));
    bool is_http = s->config->transport == MCP_HTTP;
    struct mcp_request rq = {.method = "server/discover",
                             .idle_ms = is_http ? server_start_ms(s) : probe_ms};
    link_set_era(s->link, ERA_MODERN, STR(MCP_MODERN_VERSION));
    if (link_request_await(s->link, &rq, &doc, err)) {
        yyjson_val *meta = json_get(doc.root, "_meta");
        yyjson_val *supported = json_get(doc.root, "supportedVersions");
        if (!yyjson_is_arr(supported))
            return PROBED_LEGACY; /* it answers anything */
        if (!has_version(supported, MCP_MODERN_VERSION)) {
            say_version(json_str(yyjson_arr_get_first(supported)), err);
            return PROBED_FAILED;
        }
        take_capabilities(s, doc.root, json_get(meta, "io.modelcontextprotocol/serverInfo"));
        return PROBED_MODERN;
    }
    if (err->code == ERR_PROVIDER && err->status == CODE_VERSION)
        return choose(doc.root, ret_version, err);
    if (err->code == ERR_PROVIDER &&
        (err->status == CODE_HEADERS || err->status == CODE_CAPABILITY))
        return PROBED_FAILED;
    if (err->code == ERR_PROVIDER || (is_http && err->code == ERR_BAD_REQUEST))
        return PROBED_LEGACY;
    return !is_http && (err->code == ERR_TIMEOUT || link_is_over(s->link)) ? PROBED_SILENT
                                                                           : PROBED_FAILED;
}

static bool handshake_await(struct mcp_server *s, const struct mcp_place *place, struct error *err)
{
    const char *version = MCP_LEGACY_VERSION;
    enum probed probed = s->known_era == ERA_LEGACY ? PROBED_LEGACY : probe_await(s, &version, err);
    if (probed == PROBED_FAILED)
        return false;
    if (probed == PROBED_SILENT) {
        log_info("mcp %.*s: started anew with the older handshake: %s", STR_FMT(s->config->name),
                 err->text);
        if (!connect_await(s, place, err))
            return false;
    }
    s->known_era = probed == PROBED_MODERN ? ERA_MODERN : ERA_LEGACY;
    return probed == PROBED_MODERN || initialize_await(s, version, server_start_ms(s), err);
}

/* A token may end while the server is in use. */
static bool renew_token_await(struct mcp_server *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error ignored;
    struct str token;
    if (s->config->transport != MCP_HTTP || !s->link)
        return false;
    struct str old = arena_str(&a, http_token(s->link));
    if (!mcp_renew_await(s->config, old, &a, &token, &ignored) || !s->link)
        return false;
    http_set_token(s->link, token);
    return true;
}

/* What the token lacks is asked for by the next sign-in. */
static void note_wanted_await(struct mcp_server *s, const struct error *err)
{
    if (err->code == ERR_DENIED && s->config->transport == MCP_HTTP && s->link)
        mcp_want_await(s->config, http_wanted(s->link));
}

bool server_request_await(struct mcp_server *s, const struct mcp_request *rq, struct json *ret,
                          struct error *err)
{
    if (!s->link || link_is_over(s->link))
        return error_set_origin(err, ERR_IO, ORIGIN_REMOTE, "the server has ended");
    if (link_request_await(s->link, rq, ret, err))
        return true;
    note_wanted_await(s, err);
    if (err->code == ERR_AUTH && renew_token_await(s))
        return link_request_await(s->link, rq, ret, err);
    if (!http_is_expired(err) || s->config->transport != MCP_HTTP || !s->link)
        return false;
    AUTO_FREE char *version = str_dup(link_version(s->link));
    if (!initialize_await(s, version, server_start_ms(s), err) || !s->link)
        return false;
    return link_request_await(s->link, rq, ret, err);
}

bool server_open_await(struct mcp_server *s, struct error *err)
{
    const struct mcp_place *place = mcp_hub_place(s->hub);
    enum mcp_era before = s->known_era ? s->known_era : era_find(s->config->mark);
    s->known_era = before;
    bool ok = connect_await(s, place, err) && handshake_await(s, place, err);
    if (!ok)
        note_wanted_await(s, err);
    /* What was remembered may have changed: once more from the beginning. */
    bool is_renewed = !ok && err->code == ERR_AUTH && s->link && renew_token_await(s);
    if (is_renewed || (!ok && before != ERA_UNKNOWN && err->code == ERR_PROVIDER)) {
        s->known_era = ERA_UNKNOWN;
        ok = connect_await(s, place, err) && handshake_await(s, place, err);
    }
    if (ok && s->known_era != before)
        era_keep_await(s->config->mark, s->known_era);
    return ok;
}
