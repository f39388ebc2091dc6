/* SPDX-License-Identifier: MIT */
/* Prompts of servers: texts that the user asks for by a command, mcp__SERVER__PROMPT. */
#include "base/shown.h"
#include "base/utf8.h"
#include "mcp/hub_impl.h"

enum { GET_MS = 60000, MOST = 500, ABOUT_BYTES = 200 };

struct prompt_listing {
    struct mcp_server *server;
    struct arena *arena;
    struct mcp_prompt *v;
    size_t n, capacity;
    struct table names;
};

static void add_arguments(struct arena *a, yyjson_val *list, struct mcp_prompt *p)
{
    size_t i, max;
    yyjson_val *item;
    p->args = arena_array(a, struct str, yyjson_arr_size(list) + 1);
    yyjson_arr_foreach(list, i, max, item) {
        p->args[p->n_args++] = arena_str(a, json_get_str(item, "name"));
        p->n_needed = json_get_bool(item, "required", false) ? p->n_args : p->n_needed;
    }
}

static void on_page(void *arg, yyjson_val *result)
{
    struct prompt_listing *l = arg;
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(json_get(result, "prompts"), i, max, item) {
        struct str remote = json_get_str(item, "name");
        if (!remote.n || l->n >= MOST)
            continue;
        AUTO(buf) struct buf about = BUF_INIT;
        struct mcp_prompt p = {.server = l->server->config->name,
                               .remote = arena_str(l->arena, remote)};
        p.name = name_tool(l->arena, l->server->prefix, remote, &l->names);
        shown_add(&about, utf8_cut(json_get_str(item, "description"), ABOUT_BYTES), false);
        p.about = arena_str(l->arena, buf_str(&about));
        add_arguments(l->arena, json_get(item, "arguments"), &p);
        table_put(&l->names, p.name, l);
        GROW(l->v, l->n, l->capacity);
        l->v[l->n++] = p;
    }
}

bool mcp_hub_prompts_await(struct mcp_hub *h, struct arena *a, struct mcp_prompt **ret,
                           size_t *ret_n, struct error *err)
{
    struct prompt_listing l = {.arena = a};
    bool ok = true;
    hub_hold(h);
    for (size_t i = 0; i < h->n && ok; i++) {
        struct error why;
        l.server = h->servers[i];
        if (l.server->state != SERVER_READY || !l.server->has_prompts)
            continue;
        ok = server_pages_await(l.server, "prompts/list", on_page, &l, &why) ||
             why.code != ERR_CANCELED;
        if (!ok)
            *err = why;
    }
    hub_release(h);
    *ret = arena_array(a, struct mcp_prompt, l.n + 1);
    if (l.n)
        memcpy(*ret, l.v, l.n * sizeof *l.v);
    *ret_n = l.n;
    free(l.v);
    table_clear(&l.names);
    return ok;
}

/* ---- one prompt ---- */

/* The words in the order of the arguments; the last argument takes what is left. */
static bool put_arguments(const struct mcp_prompt *p, struct str words, struct jw *w,
                          struct error *err)
{
    size_t n = 0;
    words = str_trim(words);
    jw_kobj(w, "arguments");
    for (; n < p->n_args && words.n; n++) {
        struct str word = words, rest = STR_NONE;
        if (n + 1 < p->n_args)
            rest = str_split(words, ' ', &word);
        jw_keys(w, p->args[n]);
        jw_str(w, word);
        words = str_trim(rest);
    }
    jw_obj_end(w);
    if (n >= p->n_needed)
        return true;
    return error_set(err, ERR_INVALID, "%.*s needs the argument %.*s", STR_FMT(p->name),
                     STR_FMT(p->args[n]));
}

static void put_messages(yyjson_val *result, struct buf *out)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(json_get(result, "messages"), i, max, item) {
        struct tool_result r = TOOL_RESULT_INIT;
        result_put_item(json_get(item, "content"), true, &r);
        if (out->n)
            buf_addz(out, "\n\n");
        if (str_is(json_get_str(item, "role"), "assistant"))
            buf_addz(out, "(as an example of your answer) ");
        buf_add(out, buf_str(&r.text));
        tool_result_clear(&r);
    }
}

bool mcp_hub_prompt_await(struct mcp_hub *h, struct str name, struct str words, struct buf *ret,
                          struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf members = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct jw w = JW(&members);
    struct mcp_prompt *all;
    struct mcp_server *s = NULL;
    size_t n, i = 0;
    if (!mcp_hub_prompts_await(h, &a, &all, &n, err))
        return false;
    while (i < n && !str_eq(all[i].name, name))
        i++;
    for (size_t k = 0; i < n && k < h->n; k++)
        if (str_eq(h->servers[k]->config->name, all[i].server))
            s = h->servers[k];
    if (!s)
        return error_set(err, ERR_NOT_FOUND, "no MCP server has the prompt %.*s",
                         STR_FMT(str_cut(name, 64)));
    jw_kstr(&w, "name", all[i].remote);
    if (!put_arguments(&all[i], words, &w, err))
        return false;
    struct mcp_request rq = {.method = "prompts/get",
                             .members = buf_str(&members),
                             .name = all[i].remote,
                             .idle_ms = GET_MS};
    hub_hold(h);
    bool ok = server_ask_await(s, &rq, &doc, err);
    hub_release(h);
    if (ok)
        put_messages(doc.root, ret);
    return ok && (ret->n || error_set(err, ERR_BAD_REPLY, "the prompt is empty"));
}
