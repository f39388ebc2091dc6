/* SPDX-License-Identifier: MIT */
#include "dialects/accounts.h"

#include "auth/issuer.h"
#include "auth/keys.h"
#include "auth/store.h"

struct str account_name(const struct provider *p)
{
    return str_of(p->sign_in ? p->sign_in : p->name);
}

bool account_signs_in(const struct provider *p)
{
    return p->takes_tokens && issuer_of(account_name(p));
}

bool account_takes_key(const struct provider *p)
{
    return p->env_key && p->needs_key && !p->takes_tokens;
}

bool account_is_offered(struct engine *e, const struct provider *p)
{
    return engine_is_usable(e, p) && (!p->is_local || engine_models_fetched_ms(e, p));
}

static bool is_other_offered(struct engine *e)
{
    size_t n;
    const struct provider *const *all = engine_providers(e, &n);
    for (size_t i = 0; i < n; i++)
        if (!all[i]->is_played && account_is_offered(e, all[i]))
            return true;
    return false;
}

bool account_is_listed(struct engine *e, const struct provider *p, struct str current)
{
    struct str id;
    if (current.n && engine_slug_provider(e, current, &id) == p)
        return true;
    if (p->is_played)
        return !is_other_offered(e);
    const struct provider *twin = p->doubles ? engine_find_provider(e, str_of(p->doubles)) : NULL;
    return account_is_offered(e, p) && !(twin && account_is_offered(e, twin));
}

bool account_lists_model(const struct provider *p, const struct model *m, struct str current)
{
    size_t slash = str_chr(current, '/');
    return !p->is_played || str_is(m->id, "default") ||
           (slash != SIZE_MAX && str_eq(str_from(current, slash + 1), m->id));
}

void account_put_source(struct engine *e, struct str slug, struct buf *out)
{
    struct str id;
    const struct provider *p = slug.n ? engine_slug_provider(e, slug, &id) : NULL;
    if (!p || (!p->needs_key && !p->takes_tokens))
        return;
    struct str given = engine_given_key(e, p);
    if (given.n && str_eq(given, keys_find(p->env_key)))
        buf_addf(out, "the %s is that of %s", p->takes_tokens ? "token" : "key", p->env_key);
    else if (given.n)
        buf_addz(out, "the key is the one that the client gave");
    else if (p->takes_tokens)
        buf_addf(out, "trivet login %s signs in again", p->name);
    else
        buf_addf(out, "the key is the one stored with trivet login %s", p->name);
}

void account_changed(struct engine *e, const struct provider *p)
{
    engine_forget_keys(e);
    engine_forget_models(e, account_name(p));
}

bool account_put_key_await(struct engine *e, const struct provider *p, struct str key,
                           struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry entry = {.type = AUTH_API_KEY, .access = key}, before;
    struct auth_store *st = engine_auth(e);
    struct error ignored;
    bool had_one = auth_store_get(st, account_name(p), &a, &before, &ignored);
    if (!auth_store_put_await(st, account_name(p), &entry, err))
        return false;
    account_changed(e, p);
    if (engine_check_key_await(e, p, err) || (err->code != ERR_AUTH && err->code != ERR_NO_KEY))
        return true;
    if (had_one)
        auth_store_put_await(st, account_name(p), &before, &ignored);
    else
        auth_store_remove_await(st, account_name(p), &ignored);
    account_changed(e, p);
    return false;
}
