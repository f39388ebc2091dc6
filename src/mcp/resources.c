/* SPDX-License-Identifier: MIT */
/* Resources of servers: two tools for the model, and mentions (@SERVER:URI) in prompts.  The tools
 * are offered when a server has resources. */
#include "base/limits.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "mcp/hub_impl.h"

enum { READ_MS = 60000, LISTED = 500, MENTIONS = 8, MENTION_BYTES = 256 << 10 };

struct resource_args {
    struct str server, uri;
};

static const struct row list_rows[] = {
    ROW(resource_args, server, T_STR, OPTIONAL, "name of the server; without it all of them"),
    ROW_END,
};

static const struct row read_rows[] = {
    ROW(resource_args, server, T_STR, NEEDED, "name of the server"),
    ROW(resource_args, uri, T_STR, NEEDED, "the resource, as listed by mcp_list_resources"),
    ROW_END,
};

static struct mcp_server *find_server(struct mcp_hub *h, struct str name)
{
    for (size_t i = 0; i < h->n; i++)
        if (str_eq(h->servers[i]->config->name, name))
            return h->servers[i];
    return NULL;
}

/* ---- reading ---- */

bool mcp_hub_resource_await(struct mcp_hub *h, struct str server, struct str uri, bool is_blind,
                            struct tool_result *ret, struct error *err)
{
    struct mcp_server *s = find_server(h, server);
    AUTO(buf) struct buf members = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct jw w = JW(&members);
    size_t i, max;
    yyjson_val *item;
    if (!s)
        return error_set(err, ERR_NOT_FOUND, "there is no MCP server %.*s",
                         STR_FMT(str_cut(server, 64)));
    jw_kstr(&w, "uri", uri);
    struct mcp_request rq = {
        .method = "resources/read", .members = buf_str(&members), .name = uri, .idle_ms = READ_MS};
    hub_hold(h);
    bool ok = server_ready_await(s, err);
    if (ok && !s->has_resources)
        ok = error_set(err, ERR_INVALID, "the server %.*s has no resources", STR_FMT(server));
    ok = ok && server_ask_await(s, &rq, &doc, err);
    hub_release(h);
    yyjson_arr_foreach(json_get(doc.root, "contents"), i, max, item)
        if (ok)
            result_put_item(item, is_blind, ret);
    return ok;
}

static bool read_run_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                           struct error *err)
{
    const struct resource_args *given = args;
    struct mcp_hub *h = (struct mcp_hub *)cx->self;
    if (mcp_hub_resource_await(h, given->server, given->uri, cx->is_blind, ret, err))
        return ret->text.n || buf_addz(&ret->text, "(empty)");
    if (err->code != ERR_CANCELED)
        tool_fail(ret, "%s", err->text);
    return err->code != ERR_CANCELED;
}

/* ---- listing ---- */

struct resource_listing {
    struct buf *out;
    struct str server;
    size_t n;
};

static void on_page(void *arg, yyjson_val *result)
{
    struct resource_listing *l = arg;
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(json_get(result, "resources"), i, max, item) {
        struct str mime = json_get_str(item, "mimeType");
        if (l->n++ >= LISTED)
            continue;
        AUTO(buf) struct buf line = BUF_INIT;
        buf_addf(&line, "%.*s %.*s  %.*s %.*s", STR_FMT(l->server),
                 STR_FMT(str_cut(json_get_str(item, "uri"), 500)),
                 STR_FMT(utf8_cut(json_get_str(item, "name"), 100)), STR_FMT(str_cut(mime, 60)));
        shown_add(l->out, buf_str(&line), false);
        buf_addc(l->out, '\n');
    }
}

static bool list_run_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                           struct error *err)
{
    const struct resource_args *given = args;
    struct mcp_hub *h = (struct mcp_hub *)cx->self;
    struct resource_listing l = {.out = &ret->text};
    hub_hold(h);
    bool ok = true;
    for (size_t i = 0; i < h->n && ok; i++) {
        struct mcp_server *s = h->servers[i];
        struct error why;
        if (s->state != SERVER_READY || !s->has_resources ||
            (given->server.n && !str_eq(given->server, s->config->name)))
            continue;
        l.server = s->config->name;
        if (server_pages_await(s, "resources/list", on_page, &l, &why))
            continue;
        ok = why.code != ERR_CANCELED;
        if (ok)
            buf_addf(&ret->text, "%.*s: %s\n", STR_FMT(l.server), why.text);
        else
            *err = why;
    }
    hub_release(h);
    if (ok && !ret->text.n)
        buf_addz(&ret->text, "no resources");
    else if (l.n > LISTED)
        buf_addf(&ret->text, "and %zu more\n", l.n - LISTED);
    return ok;
}

/* ---- the tools ---- */

void resources_init(struct mcp_hub *h)
{
    h->resource_tools[0] = (struct tool){
        .name = "mcp_list_resources",
        .about = "Lists the resources (documents, data) of the connected MCP servers.",
        .args = list_rows,
        .args_size = sizeof(struct resource_args),
        .mode = MODE_FULL,
        .has_long_text = true,
        .run_await = list_run_await,
        .self = h,
    };
    h->resource_tools[1] = (struct tool){
        .name = "mcp_read_resource",
        .about = "Reads a resource of an MCP server by its URI.",
        .args = read_rows,
        .args_size = sizeof(struct resource_args),
        .mode = MODE_FULL,
        .has_long_text = true,
        .gives_pictures = true,
        .run_await = read_run_await,
        .self = h,
    };
}

bool resources_are_there(const struct mcp_hub *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->servers[i]->has_resources && h->servers[i]->tools)
            return true;
    return false;
}

/* ---- mentions ---- */

/* The next @SERVER:URI in the text; it ends at white space. */
static bool next_mention(struct mcp_hub *h, struct str *text, struct str *ret_server,
                         struct str *ret_uri)
{
    for (size_t at; (at = str_chr(*text, '@')) != SIZE_MAX;) {
        bool is_start = at == 0 || strchr(" \t\n(\"'", text->p[at - 1]);
        struct str word, rest = str_from(*text, at + 1);
        size_t n = 0;
        while (n < rest.n && !strchr(" \t\r\n", rest.p[n]))
            n++;
        word = str_cut(rest, n);
        *text = rest;
        *ret_uri = str_split(word, ':', ret_server);
        if (is_start && ret_uri->n && find_server(h, *ret_server))
            return true;
    }
    return false;
}

bool mcp_has_mention(struct str text)
{
    size_t at = str_chr(text, '@');
    return at != SIZE_MAX && str_chr(str_from(text, at), ':') != SIZE_MAX;
}

void mcp_hub_mentions_await(struct mcp_hub *h, struct str text, struct buf *out)
{
    struct str server, uri;
    for (int n = 0; n < MENTIONS && next_mention(h, &text, &server, &uri); n++) {
        struct tool_result r = TOOL_RESULT_INIT;
        struct error err;
        bool ok = mcp_hub_resource_await(h, server, uri, true, &r, &err);
        buf_addf(out, "\n\n<resource server=\"%.*s\" uri=\"%.*s\">\n%.*s\n</resource>",
                 STR_FMT(server), STR_FMT(str_cut(uri, 500)),
                 STR_FMT(ok ? utf8_cut(buf_str(&r.text), MENTION_BYTES) : error_str(&err)));
        tool_result_clear(&r);
        if (!ok && err.code == ERR_CANCELED)
            return;
    }
}
