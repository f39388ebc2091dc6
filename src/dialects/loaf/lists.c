/* SPDX-License-Identifier: MIT */
/* Lists of models over the network: at the start and after a sign-in in the background, after a key
 * was set at once (loaf.md 11.1).  A start never waits for them. */
#include "dialects/loaf/internal.h"

enum list_source loaf_fetch_list_await(struct loaf *lf, const char *name)
{
    struct engine *e = lf->sv->engine;
    const struct provider *p = loaf_provider_named(lf, str_of(name));
    struct error ignored;
    if (!p)
        return LIST_IS_FALLBACK;
    int64_t before = engine_models_fetched_ms(e, p);
    engine_expire_models(e, p);
    bool ok = engine_refresh_models_await(e, p, &ignored);
    if (ok && engine_models_fetched_ms(e, p) != before) {
        loaf_options_keep(lf, name);
        return LIST_IS_REMOTE;
    }
    if (ok)
        return LIST_IS_CACHE;
    return loaf_has_cached(lf, name) ? LIST_IS_CACHE : LIST_IS_FALLBACK;
}

static void refresh_await(struct loaf *lf, const char *name)
{
    struct engine *e = lf->sv->engine;
    const struct provider *p = loaf_provider_named(lf, str_of(name));
    struct error ignored;
    if (!p || !engine_has_key(e, p))
        return;
    int64_t before = engine_models_fetched_ms(e, p);
    if (engine_refresh_models_await(e, p, &ignored) && engine_models_fetched_ms(e, p) != before)
        loaf_options_keep(lf, name);
}

/* Goes through the wanted ones again when more were asked for meanwhile. */
static void refresh_fiber(void *arg)
{
    struct loaf *lf = arg;
    size_t i = 0;
    while (i < LOAF_PROVIDERS && !fiber_is_canceled()) {
        if (!lf->wants_list[i]) {
            i++;
            continue;
        }
        lf->wants_list[i] = false;
        refresh_await(lf, loaf_providers[i]);
        i = 0;
    }
    lf->refresher = NULL;
}

void loaf_refresh_list(struct loaf *lf, const char *name)
{
    for (size_t i = 0; i < LOAF_PROVIDERS; i++)
        if (strcmp(loaf_providers[i], name) == 0)
            lf->wants_list[i] = true;
    if (!lf->refresher)
        lf->refresher = fiber_start(lf->sv->loop, "lists", refresh_fiber, lf);
}
