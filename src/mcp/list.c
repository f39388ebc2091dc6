/* SPDX-License-Identifier: MIT */
/* The tools of a server: all pages, with names and schemas that every provider takes. */
#include "mcp/server.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/time.h"
#include "base/utf8.h"
#include "mcp/hub_impl.h"
#include "mcp/pins.h"

enum { ABOUT_BYTES = 4096, REMOTE_BYTES = 128, LIST_MS = 30000 };

static const struct row no_rows[] = {ROW_END};

void tool_list_free(struct tool_list *l)
{
    arena_clear(&l->arena);
    free(l->v);
    free(l);
}

/* ---- schemas ---- */

/* As the server gave it, but an object, and without the address of its own schema. */
static struct str schema_of(struct arena *a, yyjson_val *given)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    size_t i, max;
    yyjson_val *key, *v;
    jw_obj(&w);
    jw_kz(&w, "type", "object");
    yyjson_obj_foreach(given, i, max, key, v) {
        if (str_is(json_str(key), "type") || str_is(json_str(key), "$schema"))
            continue;
        jw_keys(&w, json_str(key));
        jw_val(&w, v);
    }
    if (!yyjson_is_obj(json_get(given, "properties")))
        jw_kraw(&w, "properties", STR("{}"));
    jw_obj_end(&w);
    return arena_str(a, buf_str(&out));
}

/* ---- headers of parameters ---- */

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr("!#$%&'*+-.^_`|~", c))))
            return false;
    }
    return s.n > 0;
}

/* Whether a schema below the first level asks for a header, where none can be. */
static bool has_deep_header(yyjson_val *v, bool is_first)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (!is_first && json_get(v, "x-mcp-header"))
        return true;
    yyjson_obj_foreach(v, i, max, key, item)
        if (has_deep_header(item, false))
            return true;
    yyjson_arr_foreach(v, i, max, item)
        if (has_deep_header(item, false))
            return true;
    return false;
}

static bool is_repeated(yyjson_val *properties, yyjson_val *self, struct str header)
{
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(properties, i, max, key, v)
        if (v != self && str_ieq(json_get_str(v, "x-mcp-header"), header))
            return true;
    return false;
}

/* {"member": "Header"} for the parameters that HTTP headers repeat; false when the server asks for
 * something that cannot be. */
static bool headers_of(struct arena *a, yyjson_val *schema, struct str *ret)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    size_t i, max;
    yyjson_val *key, *v, *properties = json_get(schema, "properties");
    bool any = false, ok = true;
    jw_obj(&w);
    yyjson_obj_foreach(properties, i, max, key, v) {
        struct str header = json_get_str(v, "x-mcp-header"), type = json_get_str(v, "type");
        ok = ok && !has_deep_header(v, true);
        if (!json_get(v, "x-mcp-header"))
            continue;
        ok = ok && is_token(header) && !is_repeated(properties, v, header) &&
             (str_is(type, "string") || str_is(type, "integer") || str_is(type, "boolean"));
        jw_keys(&w, json_str(key));
        jw_str(&w, header);
        any = true;
    }
    jw_obj_end(&w);
    if (any)
        *ret = arena_str(a, buf_str(&out));
    return ok;
}

/* ---- one tool ---- */

struct tool_listing {
    struct mcp_server *server;
    struct tool_list *list;
    struct table remotes, names; /* that are taken */
    size_t capacity, bytes;
    bool is_cut;
};

static struct str about_of(struct arena *a, yyjson_val *tool)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    struct str about = str_trim(json_get_str(tool, "description"));
    if (!about.n)
        about = str_trim(json_get_str(tool, "title"));
    shown_add(&clean, utf8_cut(about, ABOUT_BYTES), true);
    return clean.n ? arena_str(a, buf_str(&clean)) : STR("A tool of an MCP server.");
}

static bool is_wanted(const struct mcp_config *c, struct str name)
{
    for (size_t i = 0; i < c->n_tools; i++)
        if (str_eq(c->tools[i], name))
            return true;
    return c->n_tools == 0;
}

/* What the user would approve: the words that the model reads. */
static void put_digest(struct mcp_tool *t)
{
    AUTO(buf) struct buf all = BUF_INIT;
    buf_add(&all, t->remote);
    buf_addc(&all, '\0');
    buf_addz(&all, t->tool.about);
    buf_addc(&all, '\0');
    buf_add(&all, t->tool.schema);
    hex_digest(buf_str(&all), t->digest);
}

static void add_tool(struct tool_listing *x, yyjson_val *tool)
{
    struct tool_list *l = x->list;
    struct arena *a = &l->arena;
    struct mcp_server *s = x->server;
    struct str name = json_get_str(tool, "name"), headers = STR_NONE;
    yyjson_val *schema = json_get(tool, "inputSchema");
    if (!name.n || name.n > REMOTE_BYTES || table_get(&x->remotes, name) ||
        !is_wanted(s->config, name))
        return;
    /* Tasks are not offered: it would refuse every call. */
    if (str_is(json_get_str(json_get(tool, "execution"), "taskSupport"), "required")) {
        log_info("mcp %.*s: the tool %.*s can be called as a task alone", STR_FMT(s->config->name),
                 STR_FMT(name));
        return;
    }
    bool needs_headers = s->config->transport == MCP_HTTP && link_era(s->link) == ERA_MODERN;
    if (!headers_of(a, schema, &headers) && needs_headers) {
        log_info("mcp %.*s: the tool %.*s asks for headers that cannot be",
                 STR_FMT(s->config->name), STR_FMT(name));
        return;
    }
    GROW(l->v, l->n, x->capacity);
    struct mcp_tool *t = &l->v[l->n];
    *t = (struct mcp_tool){.server = s,
                           .remote = arena_str(a, name),
                           .dialect = arena_str(a, json_get_str(schema, "$schema")),
                           .headers = headers};
    t->tool = (struct tool){
        .name = name_tool(a, s->prefix, name, &x->names).p,
        .about = about_of(a, tool).p,
        .args = no_rows,
        .args_size = 1,
        .mode = MODE_FULL,
        .schema = schema_of(a, schema),
        .takes_anything = true,
        .has_long_text = true,
        .gives_pictures = true,
        .run_await = tool_run_await,
    };
    put_digest(t);
    table_put(&x->remotes, t->remote, x);
    table_put(&x->names, str_of(t->tool.name), x);
    l->n++;
    x->bytes += t->tool.schema.n + strlen(t->tool.about);
}

static void on_page(void *arg, yyjson_val *result)
{
    struct tool_listing *x = arg;
    size_t i, max;
    yyjson_val *tool;
    yyjson_arr_foreach(json_get(result, "tools"), i, max, tool) {
        x->is_cut = x->list->n >= LIMIT_MCP_TOOLS || x->bytes >= LIMIT_MCP_LIST_BYTES;
        if (x->is_cut)
            return;
        add_tool(x, tool);
    }
}

/* ---- pages ---- */

/* Lists may be asked for again when the connection broke; calls are not. */
static bool page_await(struct mcp_server *s, const struct mcp_request *rq, struct json *ret,
                       struct error *err)
{
    if (server_request_await(s, rq, ret, err))
        return true;
    bool is_broken = err->code == ERR_CUT || err->code == ERR_NETWORK;
    return is_broken && s->config->transport == MCP_HTTP && server_request_await(s, rq, ret, err);
}

bool server_pages_await(struct mcp_server *s, const char *method, page_fn *fn, void *arg,
                        struct error *err)
{
    AUTO(buf) struct buf members = BUF_INIT;
    struct mcp_request rq = {.method = method, .idle_ms = LIST_MS};
    for (int page = 0; page < LIMIT_MCP_PAGES; page++) {
        AUTO(json) struct json doc = JSON_INIT;
        rq.members = buf_str(&members);
        if (!page_await(s, &rq, &doc, err))
            return false;
        fn(arg, doc.root);
        struct str next = json_get_str(doc.root, "nextCursor");
        if (!next.p)
            return true;
        struct jw w = JW(&members);
        buf_reset(&members);
        jw_kstr(&w, "cursor", next);
    }
    log_info("mcp %.*s: %s has more than %d pages", STR_FMT(s->config->name), method,
             LIMIT_MCP_PAGES);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct mcp_tool *)a)->tool.name, ((const struct mcp_tool *)b)->tool.name);
}

static void finish(struct tool_list *l)
{
    AUTO(buf) struct buf all = BUF_INIT;
    if (l->n)
        qsort(l->v, l->n, sizeof *l->v, by_name);
    for (size_t i = 0; i < l->n; i++) {
        l->v[i].tool.self = &l->v[i];
        buf_addz(&all, l->v[i].digest);
    }
    hex_digest(buf_str(&all), l->digest);
}

bool server_list_await(struct mcp_server *s, struct error *err)
{
    struct tool_listing x = {.server = s, .list = xnew(struct tool_list)};
    bool ok = !s->has_tools || server_pages_await(s, "tools/list", on_page, &x, err);
    finish(x.list);
    s->listed_us = time_mono_us();
    table_clear(&x.remotes);
    table_clear(&x.names);
    if (x.is_cut)
        log_info("mcp %.*s: it has too many tools, the first %zu count", STR_FMT(s->config->name),
                 x.list->n);
    bool is_same = ok && s->tools && strcmp(s->tools->digest, x.list->digest) == 0;
    if (!ok || is_same) {
        tool_list_free(x.list);
        return ok;
    }
    pins_apply_await(s, x.list);
    x.list->older = s->tools;
    s->tools = x.list;
    s->n_lists++;
    return true;
}
