/* SPDX-License-Identifier: MIT */
#include "mcp/pins.h"

#include "base/log.h"
#include "base/path.h"
#include "context/config.h"
#include "mcp/hub_impl.h"
#include "mcp/sources.h"

enum { MOST_SERVERS = 300 };

/* The digest that counts for a tool, or STR_NONE. */
static struct str pin_of(const struct mcp_server *s, yyjson_val *kept, const struct mcp_tool *t)
{
    AUTO_FREE char *name = str_dup(t->remote);
    struct str pin = json_get_str(kept, name);
    if (pin.p)
        return pin;
    for (const struct tool_list *l = s->tools; l; l = l->older) /* the oldest in this process */
        for (size_t i = 0; i < l->n; i++)
            if (str_eq(l->v[i].remote, t->remote) && !l->v[i].is_withheld)
                pin = str_of(l->v[i].digest);
    return pin;
}

struct keeping { /* what is written, on another thread: nothing of it changes meanwhile */
    const struct mcp_server *server;
    const struct tool_list *list;
    bool is_accepted; /* replaces what was kept */
};

/* Settings change; the oldest servers are forgotten. */
static yyjson_mut_val *first_key(yyjson_mut_val *object)
{
    yyjson_mut_obj_iter it;
    yyjson_mut_obj_iter_init(object, &it);
    return yyjson_mut_obj_iter_next(&it);
}

static void keep(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct keeping *k = arg;
    yyjson_mut_val *all = trust_object(doc, root, "tools");
    while (yyjson_mut_obj_size(all) >= MOST_SERVERS &&
           !yyjson_mut_obj_get(all, k->server->config->mark))
        yyjson_mut_obj_remove_key(all, yyjson_mut_get_str(first_key(all)));
    yyjson_mut_val *own = trust_object(doc, all, k->server->config->mark);
    for (size_t i = 0; i < k->list->n; i++) {
        const struct mcp_tool *t = &k->list->v[i];
        if (k->is_accepted || !yyjson_mut_obj_getn(own, t->remote.p, t->remote.n))
            config_put(doc, own, t->remote, yyjson_mut_strcpy(doc, t->digest));
    }
}

static bool save_await(const struct keeping *k, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    trust_path(&path);
    return config_change_await(buf_str(&path), keep, (void *)k, NULL, err);
}

void pins_apply_await(struct mcp_server *s, struct tool_list *l)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    bool is_new = false, is_kept = s->config->origin != MCP_OF_CLIENT;
    trust_path(&path);
    if (is_kept && !config_read(buf_str(&path), &j, &err))
        log_warn("MCP: %s", err.text);
    yyjson_val *kept = json_get(json_get(j.root, "tools"), s->config->mark);
    for (size_t i = 0; i < l->n; i++) {
        struct mcp_tool *t = &l->v[i];
        struct str pin = pin_of(s, kept, t);
        AUTO_FREE char *name = str_dup(t->remote);
        t->is_withheld = pin.p && !str_is(pin, t->digest);
        is_new = is_new || !json_get(kept, name);
        if (t->is_withheld)
            log_warn("the MCP server %.*s describes its tool %.*s differently than before; it is "
                     "withheld until `trivet mcp trust %.*s`",
                     STR_FMT(s->config->name), STR_FMT(t->remote), STR_FMT(s->config->name));
    }
    struct keeping k = {.server = s, .list = l};
    if (is_kept && is_new && !save_await(&k, &err))
        log_info("mcp %.*s: its tools were not kept: %s", STR_FMT(s->config->name), err.text);
}

bool mcp_hub_accept_await(struct mcp_hub *h, size_t server, struct error *err)
{
    struct mcp_server *s = h->servers[server];
    struct keeping k = {.server = s, .list = s->tools, .is_accepted = true};
    if (!s->tools || !save_await(&k, err))
        return s->tools ? false : error_set(err, ERR_INVALID, "its tools are not known");
    for (size_t i = 0; i < s->tools->n; i++)
        s->tools->v[i].is_withheld = false;
    return true;
}
