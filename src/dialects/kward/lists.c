/* SPDX-License-Identifier: MIT */
/* Lists of models: requested by models/list, which waits for them, and in the background after a
 * sign-in or a new key, and for the context window of the current model when the first session
 * opens.  One fiber makes all requests. */
#include "dialects/kward/models.h"

struct kw_lists_waiter { /* on the stack of its fiber */
    struct kw_lists_waiter *next;
    struct wait wait;
};

/* A default model is replaced by one of the list if the list does not have it. */
static void on_list(void *kward, const struct provider *p)
{
    struct kward *k = kward;
    AUTO(arena) struct arena a = ARENA_INIT;
    if (strcmp(kw_current_model(k, &a).provider, p->name) == 0)
        kw_refresh(k);
}

static bool has_provider(const struct provider *const *all, size_t n, const struct provider *p)
{
    for (size_t i = 0; i < n; i++)
        if (all[i] == p)
            return true;
    return false;
}

bool kw_is_running(const struct kward *k, const struct provider *p)
{
    return has_provider(k->servers, k->n_servers, p);
}

static void discover_await(struct kward *k, struct arena *a)
{
    const struct provider *const *found = NULL;
    struct error ignored;
    size_t n = 0;
    if (!engine_discover_await(k->sv->engine, a, &found, &n, &ignored))
        n = 0;
    k->n_servers = MIN(n, ARRAY_LEN(k->servers));
    for (size_t i = 0; i < k->n_servers; i++)
        k->servers[i] = found[i];
}

static void refresh_all_await(struct kward *k)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error ignored;
    size_t n;
    discover_await(k, &a);
    const struct provider **usable = engine_listing_providers(k->sv->engine, &a, &n);
    const struct provider **which = arena_array(&a, const struct provider *, n + k->n_servers);
    for (size_t i = 0; i < n; i++)
        which[i] = usable[i];
    for (size_t i = 0; i < k->n_servers; i++)
        which[n++] = k->servers[i];
    engine_refresh_lists_await(k->sv->engine, which, n, on_list, k, &ignored);
}

static void refresh_current_await(struct kward *k)
{
    struct str id;
    struct error ignored;
    const struct provider *p = engine_slug_provider(k->sv->engine, str_of(k->slug), &id);
    engine_refresh_lists_await(k->sv->engine, &p, p != NULL, on_list, k, &ignored);
}

static void wake_waiters(struct kward *k)
{
    struct kw_lists_waiter *w = take(&k->lists_waiters);
    while (w) {
        struct kw_lists_waiter *next = w->next; /* w may be freed after the wake */
        wait_wake(&w->wait);
        w = next;
    }
}

/* Repeats if more lists were requested meanwhile. */
static void lists_fiber(void *arg)
{
    struct kward *k = arg;
    do {
        if (take(&k->wants_all_lists))
            refresh_all_await(k);
        else
            refresh_current_await(k);
    } while (k->wants_all_lists && !fiber_is_canceled());
    k->lister = NULL;
    wake_waiters(k);
}

static void start(struct kward *k)
{
    if (!k->lister && !k->sv->is_quitting)
        k->lister = fiber_start(k->sv->loop, "lists", lists_fiber, k);
}

void kw_refresh_lists(struct kward *k)
{
    k->wants_all_lists = true;
    start(k);
}

bool kw_refresh_lists_await(struct kward *k, struct error *err)
{
    kw_refresh_lists(k);
    struct kw_lists_waiter w = {.next = k->lists_waiters, .wait = WAIT_INIT};
    if (!k->lister)
        return true;
    k->lists_waiters = &w;
    if (wait_await(&w.wait, err))
        return true;
    for (struct kw_lists_waiter **at = &k->lists_waiters; *at; at = &(*at)->next)
        if (*at == &w) {
            *at = w.next;
            break;
        }
    return false;
}

/* OpenAI's list has no windows: it is requested only if the model is unknown. */
void kw_want_window(struct kward *k)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    if (k->has_wanted_window)
        return;
    k->has_wanted_window = true;
    struct model m = kw_current_model(k, &a);
    const struct provider *p = engine_find_provider(k->sv->engine, str_of(m.provider));
    if (p && p->list != LIST_NONE && engine_is_usable(k->sv->engine, p) &&
        (p->list != LIST_OPENAI || !m.context_window))
        start(k);
}

void kw_end_lists(struct kward *k)
{
    if (k->lister)
        fiber_cancel(k->lister);
}
