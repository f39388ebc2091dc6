/* SPDX-License-Identifier: MIT */
#include "mcp/hub_impl.h"

#include "base/time.h"

enum { LIST_US = 60 * 1000 * 1000 };

struct mcp_hub *mcp_hub_new(const struct mcp_place *p, struct mcp_configs *configs)
{
    struct mcp_hub *h = xnew(struct mcp_hub);
    h->place = *p;
    h->configs = take(configs);
    h->servers = xcalloc(h->configs.n + 1, sizeof(struct mcp_server *));
    for (size_t i = 0; i < h->configs.n; i++) {
        struct mcp_server *s = xnew(struct mcp_server);
        *s = (struct mcp_server){.hub = h, .config = &h->configs.v[i]};
        s->prefix = name_prefix(s->config->name, h->servers, h->n);
        if (s->config->is_off || s->config->trouble.p) {
            s->state = SERVER_FAILED;
            error_set(&s->why, ERR_INVALID, "%.*s",
                      STR_FMT(s->config->is_off ? STR("it is switched off") : s->config->trouble));
        }
        h->servers[h->n++] = s;
    }
    resources_init(h);
    return h;
}

const struct mcp_place *mcp_hub_place(const struct mcp_hub *h)
{
    return &h->place;
}

/* ---- waiting ---- */

void hub_changed(struct mcp_hub *h)
{
    for (struct hub_wait *w = h->waits; w; w = w->next)
        wait_wake(&w->wait);
}

static void unlist(struct mcp_hub *h, struct hub_wait *w)
{
    struct hub_wait **at = &h->waits;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
}

bool hub_wait_await(struct mcp_hub *h, int64_t ms, struct error *err)
{
    struct hub_wait w = {.next = h->waits};
    h->waits = &w;
    bool ok = wait_timed_await(h->place.loop, &w.wait, ms, err);
    unlist(h, &w);
    return ok;
}

static void wait_change_through_await(struct mcp_hub *h)
{
    struct hub_wait w = {.next = h->waits};
    h->waits = &w;
    wait_through_await(&w.wait);
    unlist(h, &w);
}

void hub_hold(struct mcp_hub *h)
{
    h->n_held++;
}

void hub_release(struct mcp_hub *h)
{
    h->n_held--;
    hub_changed(h);
}

/* ---- starting, listing ---- */

/* How long the servers that work are still waited for: each so long from its start on, however many
 * requests wait.  0 or less: not at all. */
static int64_t left_us(const struct mcp_hub *h, int64_t most_ms)
{
    int64_t left = 0, now = time_mono_us();
    for (size_t i = 0; i < h->n; i++) {
        const struct mcp_server *s = h->servers[i];
        if (s->state == SERVER_STARTING || s->is_listing)
            left = MAX(left, s->busy_us + most_ms * 1000 - now);
    }
    return left;
}

/* A server with an address may have no stream on which it reports a changed list. */
static bool is_due(const struct mcp_server *s)
{
    return s->config->transport == MCP_HTTP && s->state == SERVER_READY &&
           time_mono_us() - s->listed_us > LIST_US;
}

bool mcp_hub_refresh_await(struct mcp_hub *h, int64_t most_ms, struct error *err)
{
    int64_t left;
    for (size_t i = 0; i < h->n; i++) {
        struct mcp_server *s = h->servers[i];
        server_start(s);
        if (is_due(s))
            s->is_stale = true;
        if (s->is_stale)
            server_relist(s);
    }
    bool ok = true;
    hub_hold(h);
    while (ok && (left = left_us(h, most_ms)) > 0) {
        struct error why;
        if (!hub_wait_await(h, left / 1000 + 1, &why) && why.code != ERR_TIMEOUT) {
            *err = why;
            ok = false;
        }
    }
    hub_release(h);
    return ok;
}

/* ---- the end ---- */

static bool is_over(const struct mcp_hub *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct mcp_server *s = h->servers[i];
        if (s->fiber || (s->link && !link_is_over(s->link)))
            return false;
    }
    return h->n_held == 0;
}

void mcp_hub_end_through_await(struct mcp_hub *h)
{
    for (size_t i = 0; i < h->n; i++) {
        struct mcp_server *s = h->servers[i];
        s->is_ending = true;
        if (s->fiber)
            fiber_cancel(s->fiber);
        if (s->link)
            link_close(s->link);
    }
    while (!is_over(h))
        wait_change_through_await(h);
    for (size_t i = 0; i < h->n; i++)
        server_free(h->servers[i]);
    free(h->servers);
    mcp_configs_clear(&h->configs);
    free(h->place.root);
    free(h);
}

/* ---- looking ---- */

const struct tool **mcp_hub_tools(struct mcp_hub *h, struct arena *a, size_t *ret_n)
{
    size_t n = 0, capacity = 3;
    for (size_t i = 0; i < h->n; i++)
        capacity += h->servers[i]->tools ? h->servers[i]->tools->n : 0;
    const struct tool **tools = arena_array(a, const struct tool *, capacity);
    for (size_t i = 0; i < h->n; i++) {
        const struct tool_list *l = h->servers[i]->tools;
        for (size_t k = 0; l && k < l->n; k++)
            if (!l->v[k].is_withheld)
                tools[n++] = &l->v[k].tool;
    }
    for (size_t i = 0; i < 2 && resources_are_there(h); i++)
        tools[n++] = &h->resource_tools[i];
    *ret_n = n;
    return tools;
}

static const struct mcp_tool *find_tool(const struct mcp_hub *h, struct str name)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct tool_list *l = h->servers[i]->tools;
        if (!l || !str_starts(name, str_of(h->servers[i]->prefix)))
            continue;
        for (size_t k = 0; k < l->n; k++)
            if (str_is(name, l->v[k].tool.name))
                return &l->v[k];
    }
    return NULL;
}

const struct tool *mcp_hub_find(struct mcp_hub *h, struct str name)
{
    const struct mcp_tool *t = find_tool(h, name);
    for (size_t i = 0; i < 2 && !t && resources_are_there(h); i++)
        if (str_is(name, h->resource_tools[i].name))
            return &h->resource_tools[i];
    return t && !t->is_withheld ? &t->tool : NULL;
}

bool mcp_hub_origin(struct mcp_hub *h, struct str name, struct str *ret_server,
                    struct str *ret_remote)
{
    const struct mcp_tool *t = find_tool(h, name);
    if (!t)
        return false;
    *ret_server = t->server->config->name;
    *ret_remote = t->remote;
    return true;
}

size_t mcp_hub_count(const struct mcp_hub *h)
{
    return h->n;
}

struct mcp_status mcp_hub_status(const struct mcp_hub *h, size_t i)
{
    static const char *const names[] = {"idle", "starting", "ready", "down", "failed"};
    const struct mcp_server *s = h->servers[i];
    const struct tool_list *l = s->tools;
    struct mcp_status st = {.config = s->config,
                            .state = s->config->is_off ? "off" : names[s->state],
                            .label = str_trim(buf_str(&s->label)),
                            .n_tools = l ? l->n : 0};
    if (s->state == SERVER_DOWN || s->state == SERVER_FAILED)
        st.trouble = str_of(s->why.text);
    if (s->link) {
        st.version = link_version(s->link);
        st.is_modern = link_era(s->link) == ERA_MODERN;
    }
    for (size_t k = 0; l && k < l->n; k++)
        st.n_withheld += l->v[k].is_withheld;
    return st;
}

bool mcp_hub_tool(const struct mcp_hub *h, size_t server, size_t i, struct mcp_tool_info *ret)
{
    const struct tool_list *l = h->servers[server]->tools;
    if (!l || i >= l->n)
        return false;
    *ret = (struct mcp_tool_info){&l->v[i].tool, l->v[i].remote, l->v[i].dialect,
                                  l->v[i].is_withheld};
    return true;
}
