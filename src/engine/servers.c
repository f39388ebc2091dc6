/* SPDX-License-Identifier: MIT */
/* The MCP servers of sessions.  They are looked for at the first request of a session, so that one
 * without servers costs two looks at the disk, and are shared by sessions of the same workspace
 * that have the same servers.
 *
 *     session --- servers --- pool --- hub (mcp/hub.h)
 *     session --- servers --/
 */
#include "engine/turn_impl.h"

#include "base/log.h"
#include "base/sha256.h"
#include "mcp/hub.h"
#include "mcp/search.h"
#include "mcp/sources.h"

enum { WINDOW_SHARE = 10, UNKNOWN_WINDOW = 128000, GIVEN_DEPTH = 16 };

/* A hub and how many sessions use it. */
struct pool {
    struct pool *next;
    struct engine *engine;
    struct mcp_hub *hub; /* NULL when it has ended */
    char key[65];
    unsigned refs;
    bool is_ending;
};

struct servers {
    struct json given; /* by the client, for this session; root NULL: none */
    bool is_read;      /* the settings were read */
    bool is_stale;     /* and have changed since */
    bool is_read_only; /* as the sandbox of the servers is */
    struct pool *pool; /* NULL: there are no servers */
    struct mcp_search *search;
    char *untrusted; /* file of the project that was not read */
};

/* ---- pools ---- */

static void remove_pool(struct pool *p)
{
    struct pool **at = &p->engine->pools;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p);
}

static void end_fiber(void *arg)
{
    struct pool *p = arg;
    struct engine *e = p->engine;
    mcp_hub_end_through_await(p->hub);
    p->hub = NULL;
    if (!p->refs)
        remove_pool(p);
    e->n_ending--;
    wait_wake(&e->pools_over);
}

static void end_pool(struct pool *p)
{
    if (p->is_ending)
        return;
    p->is_ending = true;
    p->engine->n_ending++;
    fiber_start(p->engine->loop, "mcp-end", end_fiber, p);
}

static void leave_pool(struct pool *p)
{
    if (--p->refs)
        return;
    if (p->hub)
        end_pool(p); /* removes it */
    else
        remove_pool(p);
}

void engine_end_servers_through_await(struct engine *e)
{
    for (struct pool *p = e->pools; p; p = p->next)
        end_pool(p);
    while (e->n_ending) {
        wait_reset(&e->pools_over);
        wait_through_await(&e->pools_over);
    }
}

/* ---- which servers ---- */

static void add_number(struct sha256 *s, int64_t number)
{
    sha256_add(s, str_n((const char *)&number, sizeof number));
}

/* The same for sessions that can share their servers. */
static void put_key(const struct mcp_configs *c, struct str workspace,
                    const struct mcp_place *place, char out[65])
{
    struct sha256 s;
    unsigned char digest[SHA256_LEN];
    sha256_init(&s);
    sha256_add(&s, workspace);
    add_number(&s, place->is_open * 2 + place->is_read_only);
    for (size_t i = 0; i < c->n; i++) {
        const struct mcp_config *v = &c->v[i];
        sha256_add(&s, str_of(v->mark));
        sha256_add(&s, v->hosts);
        add_number(&s, v->network * 4 + v->is_off * 2 + v->is_unconfined);
        add_number(&s, v->call_ms);
        add_number(&s, v->start_ms);
        for (size_t k = 0; k < v->n_tools; k++)
            sha256_add(&s, v->tools[k]);
        for (size_t k = 0; k < v->n_headers; k++)
            sha256_add(&s, v->headers[k].value);
    }
    sha256_end(&s, digest);
    for (size_t i = 0; i < SHA256_LEN; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void read_project(struct session *s, struct mcp_configs *c)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error err;
    bool is_trusted;
    if (!mcp_project_path(&path, str_of(s->workspace)))
        return;
    if (!mcp_read_project(c, buf_str(&path), &is_trusted, &err))
        log_warn("MCP servers are left out: %s", err.text);
    else if (!is_trusted)
        s->servers->untrusted = str_dup(buf_str(&path));
    if (s->servers->untrusted && !s->engine->has_warned_untrusted) {
        s->engine->has_warned_untrusted = true;
        log_warn("the MCP servers of %.*s are not started: look at the file, then run trivet mcp "
                 "trust",
                 STR_FMT(buf_str(&path)));
    }
}

static void read_sources(struct session *s, struct mcp_configs *c)
{
    AUTO(buf) struct buf user = BUF_INIT;
    struct error err;
    if (s->settings->offers_servers) {
        if (s->settings->servers_file)
            buf_addz(&user, s->settings->servers_file);
        else
            mcp_user_path(&user);
        if (!mcp_read_file(c, buf_str(&user), MCP_OF_USER, &err))
            log_warn("MCP servers are left out: %s", err.text);
        read_project(s, c);
    }
    if (s->servers->given.root)
        mcp_configs_add(c, s->servers->given.root, MCP_OF_CLIENT, STR_NONE);
}

static struct pool *find_pool(struct engine *e, const char *key)
{
    for (struct pool *p = e->pools; p; p = p->next)
        if (!p->is_ending && strcmp(p->key, key) == 0)
            return p;
    return NULL;
}

static struct pool *new_pool(struct session *s, struct mcp_configs *c, const char *key)
{
    struct engine *e = s->engine;
    struct pool *p = xnew(struct pool);
    *p = (struct pool){.engine = e, .next = e->pools};
    p->hub = engine_hub_new(e, str_of(s->workspace), s->settings, c);
    memcpy(p->key, key, sizeof p->key);
    e->pools = p;
    return p;
}

static struct servers *servers_of(struct session *s)
{
    if (!s->servers)
        s->servers = xnew(struct servers);
    return s->servers;
}

static void leave(struct servers *v)
{
    mcp_search_free(take(&v->search));
    if (v->pool)
        leave_pool(take(&v->pool));
    free(take(&v->untrusted));
    v->is_read = v->is_stale = false;
}

static void read_servers(struct session *s)
{
    AUTO(mcp_configs) struct mcp_configs c = MCP_CONFIGS_INIT;
    struct mcp_place place = {0};
    struct servers *v = servers_of(s);
    char key[65];
    v->is_read = true;
    read_sources(s, &c);
    if (!c.n)
        return;
    engine_server_place(s->engine, s->settings, &place);
    v->is_read_only = place.is_read_only;
    put_key(&c, str_of(s->workspace), &place, key);
    v->pool = find_pool(s->engine, key);
    if (!v->pool)
        v->pool = new_pool(s, &c, key);
    v->pool->refs++;
    v->search = mcp_search_new(v->pool->hub);
}

/* Changed settings count between calls: one that waits for a permission refers to its server. */
static void renew(struct session *s)
{
    struct servers *v = servers_of(s);
    bool is_between = !s->running || s->running->fiber == fiber_self();
    if (v->pool && !v->is_stale && is_between) { /* another mode may need another sandbox */
        struct mcp_place place = {0};
        engine_server_place(s->engine, s->settings, &place);
        v->is_stale = place.is_read_only != v->is_read_only;
    }
    if (v->is_stale && is_between)
        leave(v);
    if (!v->is_read)
        read_servers(s);
}

/* ---- for the parts of the engine ---- */

static struct mcp_search *search_of(const struct session *s)
{
    bool is_there = s->servers && s->servers->pool && s->servers->pool->hub &&
                    !s->servers->pool->is_ending;
    return is_there ? s->servers->search : NULL;
}

bool session_load_servers_await(struct session *s, struct error *err)
{
    if (!s->settings->offers_servers && !s->servers)
        return true;
    renew(s);
    if (!search_of(s))
        return true;
    return mcp_hub_refresh_await(s->servers->pool->hub, LIMIT_MCP_WAIT_MS, err);
}

void session_report_servers(struct session *s, struct turn *t)
{
    AUTO(buf) struct buf text = BUF_INIT;
    const struct mcp_hub *h = search_of(s) ? s->servers->pool->hub : NULL;
    for (size_t i = 0; h && !t->has_reported_servers && i < mcp_hub_count(h); i++) {
        struct mcp_status st = mcp_hub_status(h, i);
        if (strcmp(st.state, "failed") != 0 || st.config->trouble.p)
            continue;
        buf_addf(&text, "%s%.*s: %.*s",
                 text.n ? "; " : "MCP servers that cannot be used: ", STR_FMT(st.config->name),
                 STR_FMT(st.trouble));
    }
    if (!text.n)
        return;
    t->has_reported_servers = true;
    session_emit(s, t, &(struct event){.kind = EV_NOTICE, .text = buf_str(&text)});
}

const struct tool **session_server_tools(struct session *s, struct arena *a, size_t *ret_n)
{
    struct mcp_search *search = search_of(s);
    *ret_n = 0;
    if (!search)
        return NULL;
    int64_t window = session_window(s);
    return mcp_search_tools(search, (window ? window : UNKNOWN_WINDOW) / WINDOW_SHARE, a, ret_n);
}

const struct tool *session_find_server_tool(struct session *s, struct str name)
{
    struct mcp_search *search = search_of(s);
    return search ? mcp_search_find(search, name) : NULL;
}

void session_servers_free(struct session *s)
{
    if (!s->servers)
        return;
    leave(s->servers);
    json_clear(&s->servers->given);
    free(take(&s->servers));
}

/* ---- for dialects and commands ---- */

struct mcp_hub *engine_hub_new(struct engine *e, struct str workspace,
                               const struct session_settings *settings, struct mcp_configs *c)
{
    struct mcp_place place = {.loop = e->loop, .root = str_dup(workspace)};
    if (!e->env)
        e->env = environment_for_children();
    place.env = (const char *const *)e->env;
    engine_server_place(e, settings, &place);
    return mcp_hub_new(&place, c);
}

bool session_use_servers(struct session *s, struct str servers, struct error *err)
{
    AUTO(json) struct json j = JSON_INIT;
    if (!json_parse(servers, 0, GIVEN_DEPTH, &j, err))
        return false;
    if (!yyjson_is_arr(j.root) && !yyjson_is_obj(j.root))
        return error_set(err, ERR_INVALID, "MCP servers are a list or an object");
    struct servers *v = servers_of(s);
    v->is_stale = v->is_read;
    json_clear(&v->given);
    v->given = take(&j);
    return true;
}

void session_reread_servers(struct session *s)
{
    if (s->servers)
        s->servers->is_stale = s->servers->is_read;
}

struct mcp_hub *session_hub(struct session *s)
{
    if (s->settings->offers_servers || s->servers)
        renew(s);
    return search_of(s) ? s->servers->pool->hub : NULL;
}

struct str session_untrusted_servers(struct session *s)
{
    return s->servers ? str_of(s->servers->untrusted) : STR_NONE;
}

/* The hub with its servers started; NULL when there is none. */
static struct mcp_hub *started_hub_await(struct session *s, struct error *err)
{
    if (!session_load_servers_await(s, err))
        return NULL;
    if (search_of(s))
        return s->servers->pool->hub;
    error_set(err, ERR_NOT_FOUND, "there are no MCP servers");
    return NULL;
}

bool session_prompt_await(struct session *s, struct str name, struct str words, struct buf *ret,
                          struct error *err)
{
    session_hold(s);
    struct mcp_hub *h = started_hub_await(s, err);
    bool ok = h && mcp_hub_prompt_await(h, name, words, ret, err);
    session_release(s);
    return ok;
}

void session_mentions_await(struct session *s, struct str input, struct buf *out)
{
    struct error ignored;
    if (!mcp_has_mention(input))
        return;
    struct mcp_hub *h = started_hub_await(s, &ignored);
    if (h)
        mcp_hub_mentions_await(h, input, out);
}
