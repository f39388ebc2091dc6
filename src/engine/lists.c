/* SPDX-License-Identifier: MIT */
/* Lists of models: credentials for the requests, several requests in parallel. */
#include "engine/engine_impl.h"

#include "auth/jwt.h"
#include "auth/keys.h"
#include "net/http.h"

/* ---- address and credentials ---- */

/* A list fetched with a sign-in belongs to that account; one fetched with a key has no owner. */
static void put_account(struct engine *e, const struct provider *p, struct catalogue_access *ret)
{
    AUTO(credential) struct credential c = CREDENTIAL_INIT;
    struct claims claims;
    if (ret->key.p) {
        if (p->takes_tokens && jwt_claims(ret->key, &e->access, &claims)) {
            ret->account_id = claims.account_id;
            ret->owner = claims.account_id.n ? claims.account_id : claims.email;
        }
        return;
    }
    if (!p->needs_key || !engine_peek_key(e, p, &c))
        return;
    ret->key = arena_str(&e->access, c.token);
    ret->account_id = arena_str(&e->access, c.account_id);
    if (p->takes_tokens)
        ret->owner = arena_str(&e->access, c.account_id.n ? c.account_id : c.email);
}

static void put_access(void *arg, const struct provider *p, struct catalogue_access *ret)
{
    struct engine *e = arg;
    arena_clear(&e->access);
    *ret = (struct catalogue_access){.base_url = engine_base_url(e, p),
                                     .key = engine_given_key(e, p)};
    put_account(e, p, ret);
}

struct catalogue *engine_catalogue(struct engine *e)
{
    if (!e->catalogue)
        e->catalogue = catalogue_new(e->loop, e->providers, e->n_providers, put_access, e);
    return e->catalogue;
}

/* ---- looking ---- */

const struct model *engine_models(struct engine *e, const struct provider *p, struct arena *a,
                                  size_t *ret_n)
{
    return catalogue_list(engine_catalogue(e), p, a, ret_n);
}

int64_t engine_models_fetched_ms(struct engine *e, const struct provider *p)
{
    return catalogue_fetched_ms(engine_catalogue(e), p);
}

void engine_expire_models(struct engine *e, const struct provider *p)
{
    catalogue_expire(engine_catalogue(e), p);
}

void engine_forget_models(struct engine *e, struct str name)
{
    for (size_t i = 0; i < e->n_providers; i++)
        if (str_is(name, engine_auth_entry(e->providers[i])))
            catalogue_forget(engine_catalogue(e), e->providers[i]);
}

const struct provider **engine_listing_providers(struct engine *e, struct arena *a, size_t *ret_n)
{
    const struct provider **all = arena_array(a, const struct provider *, e->n_providers + 1);
    size_t n = 0;
    for (size_t i = 0; i < e->n_providers && !http_is_replay(); i++) {
        const struct provider *p = e->providers[i];
        if (p->list != LIST_NONE && !p->is_local && engine_is_usable(e, p))
            all[n++] = p;
    }
    *ret_n = n;
    return all;
}

/* ---- asking ---- */

bool engine_refresh_models_await(struct engine *e, const struct provider *p, struct error *err)
{
    AUTO(credential) struct credential c = CREDENTIAL_INIT;
    struct error ignored;
    if (p->takes_tokens) /* refreshes a token that has expired; a failure shows in the request */
        engine_key_await(e, p, &c, &ignored);
    return catalogue_refresh_await(engine_catalogue(e), p, err);
}

bool engine_check_key_await(struct engine *e, const struct provider *p, struct error *err)
{
    return catalogue_check_await(engine_catalogue(e), p, err);
}

struct round { /* of questions to several providers */
    struct engine *engine;
    engine_list_fn *on_list;
    void *arg;
    size_t n_open;
    struct wait wait;
};

struct question {
    struct round *round;
    const struct provider *provider;
    struct fiber *fiber; /* NULL: it is over */
};

static void question_fiber(void *arg)
{
    struct question *q = arg;
    struct round *r = q->round;
    struct error ignored;
    int64_t before = engine_models_fetched_ms(r->engine, q->provider);
    engine_refresh_models_await(r->engine, q->provider, &ignored);
    if (r->on_list && engine_models_fetched_ms(r->engine, q->provider) != before)
        r->on_list(r->arg, q->provider);
    q->fiber = NULL;
    if (--r->n_open == 0)
        wait_wake(&r->wait);
}

bool engine_refresh_lists_await(struct engine *e, const struct provider *const *which, size_t n,
                                engine_list_fn *on_list, void *arg, struct error *err)
{
    struct round r = {.engine = e, .on_list = on_list, .arg = arg, .n_open = n};
    struct question *all = xcalloc(n + 1, sizeof *all);
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct question){.round = &r, .provider = which[i]};
        all[i].fiber = fiber_start(e->loop, "list", question_fiber, &all[i]);
    }
    if (n > 0 && !wait_await(&r.wait, err)) {
        ok = false;
        for (size_t i = 0; i < n; i++)
            if (all[i].fiber)
                fiber_cancel(all[i].fiber);
        if (r.n_open) {
            wait_reset(&r.wait);
            wait_through_await(&r.wait);
        }
    }
    free(all);
    return ok;
}

bool engine_public_models_await(struct engine *e, const struct provider *p, struct arena *a,
                                struct model **ret, size_t *ret_n, struct error *err)
{
    return catalogue_public_await(engine_catalogue(e), p, a, ret, ret_n, err);
}

bool engine_routes_await(struct engine *e, const struct provider *p, struct str model_id,
                         struct arena *a, struct str_list *ret, struct error *err)
{
    return catalogue_routes_await(engine_catalogue(e), p, model_id, a, ret, err);
}

bool engine_refresh_routes_await(struct engine *e, const struct provider *p, struct error *err)
{
    return catalogue_refresh_routes_await(engine_catalogue(e), p, err);
}

bool engine_quota_await(struct engine *e, const struct provider *p, struct arena *a,
                        struct quota *ret, struct error *err)
{
    AUTO(credential) struct credential c = CREDENTIAL_INIT;
    if (!engine_key_await(e, p, &c, err)) /* refreshed, where it had ended */
        return false;
    return catalogue_quota_await(engine_catalogue(e), p, a, ret, err);
}

bool engine_discover_await(struct engine *e, struct arena *a, const struct provider *const **ret,
                           size_t *ret_n, struct error *err)
{
    *ret_n = 0;
    return http_is_replay() || catalogue_discover_await(engine_catalogue(e), a, ret, ret_n, err);
}
