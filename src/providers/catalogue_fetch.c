/* SPDX-License-Identifier: MIT */
/* Fetches and caches live lists, and finds servers on this machine; see catalogue.h.
 *
 * A cached list: {"version":1,"fetched_at":"2026-...","origin":"<hash of address and owner>",
 * "keyed":true,"routed":true,"models":[...]}, the models as in the user's file.
 */
#include "providers/catalogue_internal.h"

#include "base/path.h"
#include "base/time.h"
#include "net/fetch.h"
#include "store/file.h"

enum {
    FRESH_MS = 24 * 3600 * 1000,
    REST_US = 30 * 1000 * 1000, /* after a failure */
    MOST_SHOWS = 100,           /* models whose details are requested from Ollama */
    CONNECT_MS = 300,
    DISCOVER_MS = 1000, /* for the whole answer */
    PROBE_BYTES = 4 << 20,
};

/* ---- fetching ---- */

static bool ask_list_await(struct asker *k, const char *path, struct model_rows *ret,
                           struct error *err)
{
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    struct str url = arena_fmt(&k->arena, "%.*s%s", STR_FMT(k->base), path);
    return asker_ask_await(k, "GET", url, STR(""), &got, err) &&
           live_read_list(str_of(k->provider->name), k->provider->list, buf_str(&got.body), ret,
                          err);
}

/* Requests the details of one model; false when requests for other models would fail too. */
static bool ask_show_await(struct asker *k, struct model_row *row, struct error *err)
{
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kstr(&w, "model", row->model.id);
    jw_obj_end(&w);
    struct str url = arena_fmt(&k->arena, "%.*s/api/show", STR_FMT(k->root));
    if (!asker_ask_await(k, "POST", url, buf_str(&body), &got, err))
        return err->status != 0;
    live_read_show(buf_str(&got.body), row);
    return true;
}

static void ask_props_await(struct asker *k, struct model_rows *rows, struct error *err)
{
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    struct str url = arena_fmt(&k->arena, "%.*s/props", STR_FMT(k->root));
    if (asker_ask_await(k, "GET", url, STR(""), &got, err))
        live_read_props(buf_str(&got.body), rows);
}

static bool ask_account_await(struct asker *k, struct model_rows *ret, struct error *err)
{
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    if (k->provider->list == LIST_CODEX) /* the version of a client that knows these models */
        return ask_list_await(k, "/models?client_version=0.99.0", ret, err);
    return asker_ask_cloudcode_await(k, &got, err) &&
           live_read_list(str_of(k->provider->name), LIST_CLOUDCODE, buf_str(&got.body), ret, err);
}

static const char *list_path(const struct asker *k)
{
    switch (k->provider->list) {
    case LIST_OPENROUTER:
        return k->key.n ? "/models/user" : "/models";
    case LIST_ANTHROPIC:
        return "/models?limit=1000"; /* all on one page */
    case LIST_GEMINI:
        return "/models?pageSize=1000";
    default:
        return "/models";
    }
}

/* Fetches the list and its additional data; for the latter only a cancel counts as failure. */
static bool ask_all_await(struct asker *k, struct model_rows *ret, struct error *err)
{
    struct error more = ERROR_INIT;
    if (k->provider->list >= LIST_CODEX)
        return ask_account_await(k, ret, err);
    bool ok = ask_list_await(k, list_path(k), ret, err);
    if (!ok && k->provider->list == LIST_OPENROUTER && k->key.n && err->status != 0) {
        k->key = STR_NONE; /* the public list needs none */
        ok = ask_list_await(k, "/models", ret, err);
    }
    if (!ok)
        return false;
    if (k->provider->list == LIST_LLAMACPP)
        ask_props_await(k, ret, &more);
    for (size_t i = 0; k->provider->list == LIST_OLLAMA && i < MIN(ret->n, MOST_SHOWS); i++)
        if (!ask_show_await(k, &ret->rows[i], &more))
            break;
    if (more.code != ERR_CANCELED)
        return true;
    *err = more;
    return false;
}

/* ---- caching ---- */

struct saving {
    struct buf path, text;
};

static void save(void *arg) /* on the thread pool; failures are ignored, the list is fetched
                             * again */
{
    struct saving *s = arg;
    struct error ignored;
    if (path_make_dirs(path_dir(buf_str(&s->path)), 0700, &ignored))
        file_replace(buf_str(&s->path), buf_str(&s->text), 0600, &ignored);
}

static void save_through_await(struct asker *k, const struct live_models *live)
{
    struct saving s = {0};
    struct jw w = JW(&s.text);
    char at[TIME_ISO_LEN + 1], origin[17];
    time_iso(live->fetched_ms, at);
    catalogue_origin(k->base, k->owner, origin);
    jw_obj(&w);
    jw_kint(&w, "version", 1);
    jw_kz(&w, "fetched_at", at);
    jw_kz(&w, "origin", origin);
    jw_kbool(&w, "keyed", live->is_keyed);
    jw_kbool(&w, "routed", live->has_routes);
    jw_key(&w, "models");
    model_rows_put(&live->rows, &w);
    jw_obj_end(&w);
    buf_addc(&s.text, '\n');
    catalogue_cache_path(k->provider, &s.path);
    work_through_await(k->loop, save, &s);
    buf_clear(&s.path);
    buf_clear(&s.text);
}

static bool is_fresh(const struct live_models *live, const struct asker *k)
{
    int64_t age = time_now_ms() - live->fetched_ms;
    bool is_keyed = k->provider->list == LIST_OPENROUTER && k->key.n > 0;
    return live->fetched_ms > 0 && !live->is_expired && !k->provider->is_local &&
           live->is_keyed == is_keyed && age >= 0 && age < FRESH_MS;
}

/* ---- waiting for the request of another fiber ---- */

struct list_waiter { /* on the stack of its fiber */
    struct list_waiter *next;
    struct wait wait;
};

static bool join_await(struct live_models *live, struct error *err)
{
    struct list_waiter w = {.next = live->waiters, .wait = WAIT_INIT};
    live->waiters = &w;
    if (wait_await(&w.wait, err))
        return true;
    for (struct list_waiter **at = &live->waiters; *at; at = &(*at)->next)
        if (*at == &w) {
            *at = w.next;
            break;
        }
    return false;
}

static void wake_waiters(struct live_models *live)
{
    struct list_waiter *w = take(&live->waiters);
    while (w) {
        struct list_waiter *next = w->next; /* read before the wake: w is on the fiber's stack */
        wait_wake(&w->wait);
        w = next;
    }
}

/* ---- refreshing ---- */

/* Lists do not contain routes: known routes of the models are copied. */
static void keep_routes(const struct live_models *live, struct str provider,
                        struct model_rows *fresh)
{
    for (size_t i = 0; i < live->rows.n; i++)
        if (live->rows.rows[i].given & GIVEN_ROUTES)
            model_rows_set_routes(fresh, provider, live->rows.rows[i].model.id,
                                  live->rows.rows[i].model.routes);
}

static bool ask_for_await(struct asker *k, struct live_models *live, struct error *err)
{
    AUTO(model_rows) struct model_rows rows = MODEL_ROWS_INIT;
    const struct provider *p = k->provider;
    bool had_key = p->list == LIST_OPENROUTER && k->key.n > 0;
    unsigned generation = live->generation;
    if (!ask_all_await(k, &rows, err))
        return false;
    if (rows.n == 0 && !p->is_local) /* a local server may have no model loaded */
        return error_set(err, ERR_BAD_REPLY, "%s named no model", p->label);
    if (generation != live->generation)
        return error_set(err, ERR_AUTH, "another sign-in for %s counts now", p->label);
    keep_routes(live, str_of(p->name), &rows);
    model_rows_clear(&live->rows);
    live->rows = take(&rows);
    live->fetched_ms = MAX(time_now_ms(), live->fetched_ms + 1); /* callers detect a change by this
                                                                  * time */
    live->is_keyed = had_key;
    live->is_expired = live->has_routes = false;
    live->failed_us = 0;
    save_through_await(k, live);
    return true;
}

/* True if there is an older list to use. */
static bool fall_back(const struct live_models *live, const struct provider *p, struct error *err)
{
    return live->fetched_ms > 0 ||
           error_set(err, ERR_NETWORK, "%s did not give its list of models lately", p->label);
}

static bool is_resting(const struct live_models *live, const struct provider *p)
{
    return !p->is_local && live->failed_us && time_mono_us() - live->failed_us < REST_US;
}

bool catalogue_refresh_await(struct catalogue *c, const struct provider *p, struct error *err)
{
    AUTO(asker) struct asker k = asker_make(c, p);
    struct live_models *live = catalogue_live(c, p);
    bool has_joined = false;
    if (!live || p->list == LIST_NONE || k.base.n == 0)
        return error_set(err, ERR_INVALID, "%s has no list of models to ask for", p->label);
    while (live->is_asked) {
        if (!join_await(live, err))
            return false;
        has_joined = true;
    }
    if (!is_fresh(live, &k) && !has_joined) {
        live->is_read = false; /* another process may have fetched it meanwhile */
        catalogue_live(c, p);
    }
    if (is_fresh(live, &k))
        return true;
    if (is_resting(live, p) || (has_joined && p->is_local))
        return fall_back(live, p, err);
    unsigned generation = live->generation;
    live->is_asked = true;
    bool ok = ask_for_await(&k, live, err);
    live->is_asked = false;
    wake_waiters(live);
    if (ok || err->code == ERR_CANCELED)
        return ok;
    if (generation == live->generation)
        live->failed_us = time_mono_us();
    return live->fetched_ms > 0;
}

bool catalogue_check_await(struct catalogue *c, const struct provider *p, struct error *err)
{
    AUTO(asker) struct asker k = asker_make(c, p);
    struct live_models *live = catalogue_live(c, p);
    if (!live || p->list == LIST_NONE || k.base.n == 0)
        return true;
    while (live->is_asked)
        if (!join_await(live, err))
            return false;
    live->is_asked = true;
    bool ok = ask_for_await(&k, live, err);
    live->is_asked = false;
    wake_waiters(live);
    return ok;
}

bool catalogue_public_await(struct catalogue *c, const struct provider *p, struct arena *a,
                            struct model **ret, size_t *ret_n, struct error *err)
{
    AUTO(asker) struct asker k = asker_make(c, p);
    AUTO(model_rows) struct model_rows rows = MODEL_ROWS_INIT;
    bool is_old = !c->public_us || time_mono_us() - c->public_us > (int64_t)FRESH_MS * 1000;
    k.key = STR_NONE;
    if (is_old && ask_list_await(&k, "/models", &rows, err)) {
        model_rows_clear(&c->public);
        c->public = take(&rows);
        c->public_us = time_mono_us();
    } else if (!c->public_us) {
        return false;
    }
    *ret = catalogue_public(c, p, a);
    *ret_n = c->public.n;
    return true;
}

bool catalogue_refresh_routes_await(struct catalogue *c, const struct provider *p,
                                    struct error *err)
{
    AUTO(asker) struct asker k = asker_make(c, p);
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    struct live_models *live = catalogue_live(c, p);
    if (!live || p->list != LIST_OPENROUTER || live->fetched_ms == 0)
        return error_set(err, ERR_INVALID, "%s has no routes to ask for", p->label);
    if (live->has_routes)
        return true;
    struct str url = arena_fmt(&k.arena, "%.*s/models/endpoints", STR_FMT(k.base));
    unsigned generation = live->generation;
    bool ok = asker_ask_await(&k, "GET", url, STR(""), &got, err);
    if (generation != live->generation || (!ok && err->status == 0))
        return ok ? error_set(err, ERR_AUTH, "another key for %s counts now", p->label) : false;
    if (ok && !live_read_routes(str_of(p->name), buf_str(&got.body), &live->rows))
        ok = error_set(err, ERR_BAD_REPLY, "%s did not answer with routes", p->label);
    live->has_routes = true; /* also if the server has no such path: it is not asked again */
    save_through_await(&k, live);
    return ok;
}

/* ---- discovery ---- */

struct discovery {
    size_t n_open;
    struct wait wait;
};

struct probe {
    struct discovery *all;
    const struct provider *provider;
    struct arena arena;
    struct http *http; /* NULL: ended, or never started */
    int status;
    struct buf body;
    bool is_whole;
};

static void on_status(void *arg, int status, struct str content_type)
{
    (void)content_type;
    ((struct probe *)arg)->status = status;
}

static void on_body(void *arg, struct str bytes)
{
    buf_add(&((struct probe *)arg)->body, bytes);
}

static void on_end(void *arg, const struct error *err)
{
    struct probe *b = arg;
    b->http = NULL;
    b->is_whole = !err && !b->body.full;
    if (--b->all->n_open == 0)
        wait_wake(&b->all->wait);
}

static bool probe_start(struct catalogue *c, struct probe *b, struct error *err)
{
    struct catalogue_access access = {0};
    struct http_header header;
    c->access(c->access_arg, b->provider, &access);
    header = (struct http_header){STR("Authorization"),
                                  arena_fmt(&b->arena, "Bearer %.*s", STR_FMT(access.key))};
    struct http_request rq = {
        .method = "GET",
        .url = arena_fmt(&b->arena, "%.*s/models", STR_FMT(access.base_url)),
        .headers = &header,
        .n_headers = access.key.n > 0,
        .body = STR(""),
        .connect_timeout_ms = CONNECT_MS,
        .on_status = on_status,
        .on_body = on_body,
        .on_end = on_end,
        .arg = b,
    };
    b->http = http_start(c->loop, &rq, err);
    b->all->n_open += b->http != NULL;
    return b->http != NULL;
}

/* Another program may listen at the address: the answer must be a list of models, or an error that
 * a model server gives (a key is missing, the model is still loading). */
static bool is_model_server(const struct probe *b)
{
    AUTO(model_rows) struct model_rows rows = MODEL_ROWS_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    struct str body = buf_str(&b->body);
    if (!b->is_whole)
        return false;
    if (b->status == 200)
        return live_read_list(str_of(b->provider->name), LIST_PLAIN, body, &rows, &ignored);
    return (b->status == 401 || b->status == 503) && json_parse(body, 0, 100, &json, &ignored) &&
           json_get(json.root, "error");
}

static void probe_clear(struct probe *b)
{
    http_cancel(b->http);
    buf_clear(&b->body);
    arena_clear(&b->arena);
}

bool catalogue_discover_await(struct catalogue *c, struct arena *a,
                              const struct provider *const **ret, size_t *ret_n, struct error *err)
{
    struct discovery all = {0};
    struct probe *probes = arena_array(a, struct probe, c->n_providers + 1);
    const struct provider **found = arena_array(a, const struct provider *, c->n_providers + 1);
    size_t n = 0, n_found = 0;
    struct error why = ERROR_INIT;
    for (size_t i = 0; i < c->n_providers && why.code != ERR_MODULE; i++) {
        if (!c->providers[i]->is_local)
            continue;
        probes[n] = (struct probe){.all = &all, .provider = c->providers[i]};
        probes[n].body = BUF_MAX(PROBE_BYTES);
        probe_start(c, &probes[n++], &why); /* an invalid address counts as not running */
    }
    if (all.n_open > 0 && why.code != ERR_MODULE)
        wait_timed_await(c->loop, &all.wait, DISCOVER_MS, &why); /* no answer in time counts as not
                                                                  * running */
    for (size_t i = 0; i < n; i++) {
        if (is_model_server(&probes[i]))
            found[n_found++] = probes[i].provider;
        probe_clear(&probes[i]);
    }
    if (why.code == ERR_CANCELED || why.code == ERR_MODULE) {
        *err = why;
        return false;
    }
    *ret = found;
    *ret_n = n_found;
    return true;
}
