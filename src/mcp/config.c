/* SPDX-License-Identifier: MIT */
#include "mcp/config.h"

#include "base/log.h"
#include "base/path.h"
#include "base/sha256.h"
#include "mcp/server.h"

#include <stdlib.h>

enum { NAME_MAX_BYTES = 64, MOST_SERVERS = 100, MOST_MS = 24 * 3600 * 1000 };

void mcp_configs_clear(struct mcp_configs *c)
{
    free(c->v);
    arena_clear(&c->arena);
    *c = MCP_CONFIGS_INIT;
}

/* In the names of its tools a "." becomes "_", and "__" ends the name of the server: a second one
 * before that would make rules for one server fit the tools of another. */
static bool is_joint(char c)
{
    return c == '_' || c == '.';
}

bool mcp_name_is_fine(struct str name)
{
    bool was_joint = true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '.' || c == '-'))
            return false;
        if (is_joint(c) && was_joint)
            return false;
        was_joint = is_joint(c);
    }
    return name.n > 0 && !was_joint && name.n <= NAME_MAX_BYTES;
}

/* ---- values ---- */

struct reading {
    struct arena *arena;
    struct mcp_config *to;
};

static void fail(struct reading *r, const char *what, struct str about)
{
    if (!r->to->trouble.p)
        r->to->trouble = arena_fmt(r->arena, "%s%.*s", what, STR_FMT(str_cut(about, 100)));
}

/* A directory that the server may write to, also beyond the session.  Servers of the same name that
 * others have named do not share it. */
static const char *own_dir(struct reading *r)
{
    struct mcp_config *c = r->to;
    AUTO(buf) struct buf path = BUF_INIT;
    char digest[65];
    path_xdg(&path, "XDG_DATA_HOME", ".local/share");
    buf_addf(&path, "/trivet/mcp/%.*s", STR_FMT(c->name));
    hex_digest(c->file, digest);
    if (c->origin != MCP_OF_USER)
        buf_addf(&path, "@%.8s", digest);
    c->dir = arena_str(r->arena, buf_str(&path));
    return c->dir.p;
}

/* ${NAME} and ${NAME:-default}, once from left to right: a value is not expanded again. */
static struct str expand(struct reading *r, struct str s)
{
    AUTO(buf) struct buf out = BUF_INIT;
    for (size_t at; (at = str_find(s, STR("${"))) != SIZE_MAX;) {
        struct str inner = str_from(s, at + 2);
        size_t end = str_chr(inner, '}');
        if (end == SIZE_MAX)
            break;
        buf_add(&out, str_cut(s, at));
        struct str name = str_cut(inner, end), otherwise = STR_NONE;
        size_t mark = str_find(name, STR(":-"));
        if (mark != SIZE_MAX) {
            otherwise = str_from(name, mark + 2);
            name = str_cut(name, mark);
        }
        AUTO_FREE char *z = str_dup(name);
        const char *value = str_is(name, "TRIVET_SERVER_DIR") ? own_dir(r) : getenv(z);
        if (value && *value)
            buf_addz(&out, value);
        else if (otherwise.p)
            buf_add(&out, otherwise);
        else
            fail(r, "the environment has no variable ", name);
        s = str_from(inner, end + 1);
    }
    buf_add(&out, s);
    return arena_str(r->arena, buf_str(&out));
}

/* A string of the file, expanded; a NUL in it would cut it for the system. */
static struct str take_str(struct reading *r, yyjson_val *v, const char *what)
{
    struct str s = json_str(v);
    if (!s.p || str_chr(s, '\0') != SIZE_MAX) {
        fail(r, what, STR(" must be a string"));
        return STR("");
    }
    return expand(r, s);
}

/* {"A": "b"} or [{"name": "A", "value": "b"}] */
static struct mcp_pair *take_pairs(struct reading *r, yyjson_val *v, const char *what, size_t *ret)
{
    size_t i, max, n = yyjson_is_obj(v) ? yyjson_obj_size(v) : yyjson_arr_size(v);
    yyjson_val *key, *item;
    struct mcp_pair *pairs = arena_array(r->arena, struct mcp_pair, n + 1);
    *ret = n;
    if (v && !yyjson_is_obj(v) && !yyjson_is_arr(v) && !yyjson_is_null(v))
        fail(r, what, STR(" must be an object"));
    yyjson_obj_foreach(v, i, max, key, item)
        pairs[i] = (struct mcp_pair){arena_str(r->arena, json_str(key)), take_str(r, item, what)};
    yyjson_arr_foreach(v, i, max, item)
        pairs[i] = (struct mcp_pair){take_str(r, json_get(item, "name"), what),
                                     take_str(r, json_get(item, "value"), what)};
    for (i = 0; i < n; i++)
        if (!pairs[i].name.n || str_chr(pairs[i].name, '=') != SIZE_MAX ||
            str_chr(pairs[i].name, '\n') != SIZE_MAX || str_chr(pairs[i].value, '\n') != SIZE_MAX)
            fail(r, what, STR(" has a name or value that cannot be used"));
    return pairs;
}

/* `command` may hold the arguments too, as a list. */
static void take_command(struct reading *r, yyjson_val *entry)
{
    yyjson_val *command = json_get(entry, "command"), *args = json_get(entry, "args"), *item;
    size_t i, max, n = 0;
    bool is_list = yyjson_is_arr(command);
    if (args && !yyjson_is_arr(args))
        fail(r, "args", STR(" must be a list"));
    size_t capacity = yyjson_arr_size(command) + yyjson_arr_size(args) + 2;
    const char **argv = arena_array(r->arena, const char *, capacity);
    if (!is_list)
        argv[n++] = take_str(r, command, "command").p;
    yyjson_arr_foreach(command, i, max, item)
        argv[n++] = take_str(r, item, "command").p;
    yyjson_arr_foreach(args, i, max, item)
        argv[n++] = take_str(r, item, "args").p;
    if (!n || !argv[0][0])
        fail(r, "command", STR(" must name a program"));
    r->to->argv = argv;
}

static void take_url(struct reading *r, yyjson_val *entry)
{
    struct str url = take_str(r, json_get(entry, "url"), "url");
    r->to->url = url;
    if (!str_starts(url, STR("http://")) && !str_starts(url, STR("https://")))
        fail(r, "url", STR(" must begin with https:// or http://"));
}

static void take_transport(struct reading *r, yyjson_val *entry)
{
    struct str type = json_get_str(entry, "type");
    bool has_url = json_get(entry, "url") && !json_get(entry, "command");
    bool is_http = str_is(type, "http") || str_is(type, "streamable-http") || str_is(type, "sse") ||
                   str_is(type, "remote") || str_is(type, "streamable_http");
    bool is_stdio = str_is(type, "stdio") || str_is(type, "local");
    if (type.p && !is_http && !is_stdio)
        fail(r, "type is stdio or http, not ", type);
    if (str_is(type, "sse"))
        fail(r, "the old transport sse is not supported; ask the server for its http address",
             STR(""));
    r->to->transport = is_http || (!is_stdio && has_url) ? MCP_HTTP : MCP_STDIO;
    if (r->to->transport == MCP_HTTP)
        take_url(r, entry);
    else
        take_command(r, entry);
}

static int64_t take_ms(struct reading *r, yyjson_val *entry, const char *ms, const char *seconds)
{
    yyjson_val *v = json_get(entry, ms), *s = json_get(entry, seconds);
    double number = v ? yyjson_get_num(v) : s ? yyjson_get_num(s) * 1000 : 0;
    if ((v && !yyjson_is_num(v)) || (s && !yyjson_is_num(s)) || number < 0 || number > MOST_MS)
        fail(r, v ? ms : seconds, STR(" must be a number of time"));
    return (int64_t)MIN(MAX(number, 0), MOST_MS);
}

static void take_network(struct reading *r, yyjson_val *v)
{
    AUTO(buf) struct buf hosts = BUF_INIT;
    size_t i, max;
    yyjson_val *item;
    if (yyjson_is_bool(v)) {
        r->to->network = yyjson_get_bool(v) ? MCP_NET_ON : MCP_NET_OFF;
        return;
    }
    if (v && !yyjson_is_arr(v))
        fail(r, "network", STR(" is true, false or a list of hosts"));
    yyjson_arr_foreach(v, i, max, item)
        buf_addf(&hosts, "%s%.*s", i ? "," : "", STR_FMT(json_str(item)));
    if (yyjson_is_arr(v)) {
        r->to->network = hosts.n ? MCP_NET_HOSTS : MCP_NET_OFF;
        r->to->hosts = arena_str(r->arena, buf_str(&hosts));
    }
}

static void take_tools(struct reading *r, yyjson_val *v)
{
    size_t i, max;
    yyjson_val *item;
    struct str *tools = arena_array(r->arena, struct str, yyjson_arr_size(v) + 1);
    if (v && !yyjson_is_arr(v))
        fail(r, "tools", STR(" must be a list of names"));
    yyjson_arr_foreach(v, i, max, item)
        tools[r->to->n_tools++] = arena_str(r->arena, json_str(item));
    r->to->tools = tools;
}

/* {"clientId", "clientSecret", "scope"}, where the server knows its clients beforehand. */
static void take_oauth(struct reading *r, yyjson_val *v)
{
    yyjson_val *id = json_get(v, "clientId"), *secret = json_get(v, "clientSecret");
    yyjson_val *scope = json_get(v, "scope");
    if (yyjson_is_str(id))
        r->to->client_id = take_str(r, id, "clientId");
    if (yyjson_is_str(secret))
        r->to->client_secret = take_str(r, secret, "clientSecret");
    if (yyjson_is_str(scope))
        r->to->scope = take_str(r, scope, "scope");
}

/* Digest of what is started or reached; values of secrets are part of it and cannot be read from
 * it. */
static void put_mark(struct mcp_config *c)
{
    struct sha256 s;
    unsigned char digest[SHA256_LEN];
    sha256_init(&s);
    sha256_add(&s, c->name);
    sha256_add(&s, STR("\n"));
    sha256_add(&s, c->url);
    for (size_t i = 0; c->argv && c->argv[i]; i++)
        sha256_add(&s, str_n(c->argv[i], strlen(c->argv[i]) + 1));
    sha256_add(&s, c->cwd);
    for (size_t i = 0; i < c->n_env; i++) {
        sha256_add(&s, c->env[i].name);
        sha256_add(&s, STR("="));
        sha256_add(&s, c->env[i].value);
    }
    sha256_end(&s, digest);
    for (size_t i = 0; i < SHA256_LEN; i++)
        snprintf(c->mark + 2 * i, 3, "%02x", digest[i]);
}

static const char *const known[] = {
    "command",       "args",
    "env",           "environment",
    "cwd",           "url",
    "headers",       "type",
    "timeout",       "startupTimeout",
    "name",          "disabled",
    "enabled",       "sandbox",
    "network",       "tools",
    "trust",         "description",
    "alwaysLoad",    "startup_timeout_sec",
    "_meta",         "oauth",
    "autoApprove",   "http_headers",
    "enabled_tools", "tool_timeout_sec",
};

static void warn_unknown(struct str name, yyjson_val *entry)
{
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(entry, i, max, key, v) {
        size_t k = 0;
        while (k < ARRAY_LEN(known) && !str_is(json_str(key), known[k]))
            k++;
        if (k == ARRAY_LEN(known))
            log_info("mcp %.*s: the setting %.*s is not known", STR_FMT(name),
                     STR_FMT(str_cut(json_str(key), 60)));
    }
}

static void read_entry(struct mcp_configs *c, struct mcp_config *to, yyjson_val *entry)
{
    struct reading r = {.arena = &c->arena, .to = to};
    if (!mcp_name_is_fine(to->name))
        fail(&r, MCP_NAME_RULE, STR(""));
    if (!yyjson_is_obj(entry)) {
        fail(&r, "its settings must be an object", STR(""));
        return;
    }
    yyjson_val *env = json_get(entry, "env"), *headers = json_get(entry, "headers");
    yyjson_val *tools = json_get(entry, "tools");
    take_transport(&r, entry);
    to->env = take_pairs(&r, env ? env : json_get(entry, "environment"), "env", &to->n_env);
    to->headers = take_pairs(&r, headers ? headers : json_get(entry, "http_headers"), "headers",
                             &to->n_headers);
    if (json_get(entry, "cwd"))
        to->cwd = take_str(&r, json_get(entry, "cwd"), "cwd");
    take_oauth(&r, json_get(entry, "oauth"));
    to->call_ms = take_ms(&r, entry, "timeout", "tool_timeout_sec");
    to->start_ms = take_ms(&r, entry, "startupTimeout", "startup_timeout_sec");
    to->is_off = json_get_bool(entry, "disabled", false) || !json_get_bool(entry, "enabled", true);
    to->is_unconfined = !json_get_bool(entry, "sandbox", true);
    take_network(&r, json_get(entry, "network"));
    take_tools(&r, tools ? tools : json_get(entry, "enabled_tools"));
    warn_unknown(to->name, entry);
    put_mark(to);
}

static struct mcp_config *slot(struct mcp_configs *c, struct str name)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->v[i].name, name))
            return &c->v[i];
    if (c->n == MOST_SERVERS)
        return NULL;
    GROW(c->v, c->n, c->capacity);
    return &c->v[c->n++];
}

static void add_entry(struct mcp_configs *c, struct str name, yyjson_val *entry,
                      enum mcp_origin origin, struct str file)
{
    struct mcp_config *to = slot(c, name);
    if (!to)
        return;
    *to = (struct mcp_config){.name = arena_str(&c->arena, name), .origin = origin, .file = file};
    read_entry(c, to, entry);
}

void mcp_configs_add(struct mcp_configs *c, yyjson_val *servers, enum mcp_origin origin,
                     struct str file)
{
    size_t i, max;
    yyjson_val *key, *entry;
    file = arena_str(&c->arena, file);
    yyjson_obj_foreach(servers, i, max, key, entry)
        add_entry(c, json_str(key), entry, origin, file);
    yyjson_arr_foreach(servers, i, max, entry)
        add_entry(c, json_get_str(entry, "name"), entry, origin, file);
}

const struct mcp_config *mcp_configs_find(const struct mcp_configs *c, struct str name)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->v[i].name, name))
            return &c->v[i];
    return NULL;
}
