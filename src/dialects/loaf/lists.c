/* SPDX-License-Identifier: MIT */
/* Lists of models over the network (loaf 149).  At the start they are requested in the
 * background from every provider with a key or a sign-in; the start does not wait for them.  After
 * a sign-in or a new key the call waits for the list, so that a model of it can be chosen.  A
 * failed request is repeated when models are listed. */
#include "dialects/loaf/choice.h"

/* The name under which the provider's list is kept, or NULL. */
static const char *kept_name(struct loaf *lf, const struct provider *p)
{
    const char *name = loaf_known_provider(str_of(loaf_provider_name(p)));
    return name && loaf_provider_named(lf, str_of(name)) == p ? name : NULL;
}

static void keep_list(struct loaf *lf, const struct provider *p)
{
    const char *name = kept_name(lf, p);
    if (name)
        loaf_options_keep(lf, name);
}

/* The upstreams of OpenRouter's models are a list of their own. */
static void fetch_routes_await(struct loaf *lf, const struct provider *p)
{
    struct error ignored;
    if (p->list == LIST_OPENROUTER && engine_models_fetched_ms(lf->sv->engine, p) > 0)
        engine_refresh_routes_await(lf->sv->engine, p, &ignored);
}

enum list_source loaf_fetch_list_await(struct loaf *lf, const char *name)
{
    struct engine *e = lf->sv->engine;
    struct error ignored;
    engine_forget_models(e, str_of(name));
    const struct provider *p = loaf_provider_named(lf, str_of(name));
    if (!p)
        return LIST_IS_FALLBACK;
    int64_t before = engine_models_fetched_ms(e, p);
    bool ok = engine_refresh_models_await(e, p, &ignored);
    if (ok && engine_models_fetched_ms(e, p) != before) {
        fetch_routes_await(lf, p);
        if (kept_name(lf, p))
            loaf_options_keep_await(lf, kept_name(lf, p));
        return LIST_IS_REMOTE;
    }
    if (ok)
        return LIST_IS_CACHE;
    return loaf_has_cached(lf, name) ? LIST_IS_CACHE : LIST_IS_FALLBACK;
}

/* ---- in the background ---- */

static void wake_waiters(struct loaf *lf)
{
    struct lists_waiter *w = take(&lf->lists_waiters);
    while (w) {
        struct lists_waiter *next = w->next; /* w may be freed after the wake */
        wait_wake(&w->wait);
        w = next;
    }
}

static void on_list(void *arg, const struct provider *p)
{
    struct loaf *lf = arg;
    if (p->list != LIST_OPENROUTER) /* OpenRouter: after the routes */
        keep_list(lf, p);
    loaf_list_came(lf, p);
    if (lf->model[0])
        wake_waiters(lf);
}

/* The usable providers, and the local server if one of its models is selected. */
static const struct provider **wanted_lists(struct loaf *lf, struct arena *a, size_t *ret_n)
{
    const struct provider *selected = loaf_selected_provider(lf);
    const struct provider **all = engine_listing_providers(lf->sv->engine, a, ret_n);
    if (selected && selected->is_local && selected->list != LIST_NONE)
        all[(*ret_n)++] = selected;
    return all;
}

static void refresh_await(struct loaf *lf)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct engine *e = lf->sv->engine;
    const struct provider *router = engine_find_provider(e, STR("openrouter"));
    int64_t before = router ? engine_models_fetched_ms(e, router) : 0;
    struct error ignored;
    size_t n;
    const struct provider **which = wanted_lists(lf, &a, &n);
    engine_refresh_lists_await(e, which, n, on_list, lf, &ignored);
    if (router && engine_is_usable(e, router))
        fetch_routes_await(lf, router);
    if (router && engine_models_fetched_ms(e, router) != before)
        keep_list(lf, router);
}

/* Repeats if lists were requested meanwhile. */
static void refresh_fiber(void *arg)
{
    struct loaf *lf = arg;
    while (lf->wants_lists && !fiber_is_canceled()) {
        lf->wants_lists = false;
        refresh_await(lf);
    }
    lf->refresher = NULL;
    wait_wake(&lf->quiet);
    wake_waiters(lf);
}

void loaf_refresh_lists(struct loaf *lf)
{
    if (lf->is_ending)
        return;
    lf->wants_lists = true;
    if (!lf->refresher)
        lf->refresher = fiber_start(lf->sv->loop, "lists", refresh_fiber, lf);
}

bool loaf_wait_for_choice_await(struct loaf *lf, struct error *err)
{
    struct lists_waiter w = {.next = lf->lists_waiters, .wait = WAIT_INIT};
    if (lf->model[0] || !lf->refresher)
        return true;
    lf->lists_waiters = &w;
    if (wait_await(&w.wait, err))
        return true;
    for (struct lists_waiter **at = &lf->lists_waiters; *at; at = &(*at)->next)
        if (*at == &w) {
            *at = w.next;
            break;
        }
    return false;
}
