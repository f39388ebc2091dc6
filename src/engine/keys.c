/* SPDX-License-Identifier: MIT */
/* What a request is authorised with: the environment's key, else what the user stored or signed in
 * with.  Servers on this machine, and replays, need none. */
#include "engine/engine_impl.h"

#include "auth/jwt.h"
#include "auth/keys.h"
#include "base/path.h"
#include "base/secret.h"
#include "net/http.h"
#include "tools/tool.h"

/* $XDG_CONFIG_HOME/trivet/auth.json */
void engine_auth_path(struct buf *out)
{
    path_xdg(out, "XDG_CONFIG_HOME", ".config");
    buf_addz(out, "/trivet/auth.json");
}

struct auth_store *engine_auth(struct engine *e)
{
    if (!e->auth) {
        AUTO(buf) struct buf path = BUF_INIT;
        engine_auth_path(&path);
        engine_use_auth(e, auth_store_new(&auth_format_trivet, buf_str(&path), STR_NONE));
    }
    return e->auth;
}

/* Looked up once, so that they are known from the start (keys_find). */
static void learn_keys(struct engine *e)
{
    size_t n;
    const struct provider *const *p = engine_providers(e, &n);
    for (size_t i = 0; i < n; i++)
        keys_find(p[i]->env_key);
    keys_find(search_service.env_key);
}

void engine_use_auth(struct engine *e, struct auth_store *st)
{
    learn_keys(e);
    auth_store_free(e->auth);
    engine_forget_keys(e);
    e->auth = st;
    st->ignores_env = true; /* which name counts for which provider is in the provider's row */
}

/* ---- where providers are ---- */

struct provider_place { /* in the engine's arena */
    struct provider_place *next;
    const struct provider *provider;
    struct str base_url, key;
};

static struct provider_place *find_place(const struct engine *e, const struct provider *p)
{
    struct provider_place *place = e->places;
    while (place && place->provider != p)
        place = place->next;
    return place;
}

void engine_point_provider(struct engine *e, const struct provider *p, struct str base_url,
                           struct str key)
{
    struct provider_place *place = find_place(e, p);
    if (!place) {
        place = arena_new(&e->arena, struct provider_place);
        place->provider = p;
        place->next = e->places;
        e->places = place;
    }
    if (!str_eq(place->base_url, base_url)) /* requests may still hold the one before */
        place->base_url = arena_str(&e->arena, base_url);
    if (!str_eq(place->key, key))
        place->key = arena_str(&e->arena, key);
    if (key.n)
        secret_learn(place->key);
}

struct str engine_base_url(const struct engine *e, const struct provider *p)
{
    const struct provider_place *place = find_place(e, p);
    struct str url = place ? place->base_url : STR_NONE;
    if (!place)
        return keys_base_url(p->env_base, p->base_url);
    while (url.n && url.p[url.n - 1] == '/')
        url.n--;
    return url.n ? url : keys_base_url(NULL, p->base_url);
}

struct str engine_given_key(const struct engine *e, const struct provider *p)
{
    const struct provider_place *place = find_place(e, p);
    if (!place)
        return keys_find(p->env_key);
    return place->key.n ? place->key : STR_NONE;
}

struct str engine_search_key(struct engine *e)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str key = keys_find(search_service.env_key);
    struct auth_entry entry;
    struct error ignored;
    if (key.p)
        return key;
    if (!e->is_search_key_known) {
        e->is_search_key_known = true;
        bool is_there = auth_store_get(engine_auth(e), str_of(search_service.auth_entry), &a,
                                       &entry, &ignored);
        /* In the engine's arena: a search that runs may still hold the one before. */
        e->search_key = is_there ? arena_str(&e->arena, entry.access) : STR_NONE;
    }
    return e->search_key;
}

bool engine_can_search(struct engine *e)
{
    return engine_search_key(e).n > 0;
}

void engine_forget_keys(struct engine *e)
{
    e->is_search_key_known = false;
}

const char *engine_auth_entry(const struct provider *p)
{
    return p->sign_in ? p->sign_in : p->name;
}

/* An entry may be of the wrong kind: a token is no key for an API that wants one. */
static bool fits(const struct provider *p, const struct credential *c)
{
    return (c->type == AUTH_OAUTH) == p->takes_tokens;
}

static bool needs_none(const struct engine *e, const struct provider *p)
{
    return !p->needs_key || keys_is_local(engine_base_url(e, p)) || http_is_replay();
}

bool engine_peek_key(struct engine *e, const struct provider *p, struct credential *ret)
{
    struct error ignored;
    if (!credential_peek(engine_auth(e), engine_auth_entry(p), ret, &ignored))
        return false;
    if (fits(p, ret))
        return true;
    credential_clear(ret);
    return false;
}

bool engine_has_credential(struct engine *e, const struct provider *p)
{
    AUTO(credential) struct credential c = CREDENTIAL_INIT;
    return engine_given_key(e, p).p || engine_peek_key(e, p, &c);
}

bool engine_has_key(struct engine *e, const struct provider *p)
{
    return needs_none(e, p) || engine_has_credential(e, p);
}

bool engine_is_usable(struct engine *e, const struct provider *p)
{
    return p->takes_tokens && !http_is_replay() ? engine_has_credential(e, p)
                                                : engine_has_key(e, p);
}

bool engine_no_key(const struct provider *p, struct error *err)
{
    return error_set(err, ERR_NO_KEY,
                     p->takes_tokens ? "no sign-in for %s; sign in or set %s"
                                     : "no API key for %s; set %s",
                     p->label, p->env_key ? p->env_key : "one");
}

bool engine_key_await(struct engine *e, const struct provider *p, struct credential *ret,
                      struct error *err)
{
    struct str key = engine_given_key(e, p);
    if (key.p) {
        *ret = (struct credential){.source = CREDENTIAL_ENV, .type = AUTH_API_KEY};
        ret->token = arena_str(&ret->arena, key);
        struct claims claims;
        if (p->takes_tokens && jwt_claims(ret->token, &ret->arena, &claims))
            ret->account_id = claims.account_id;
        return true;
    }
    if (credential_await(engine_auth(e), engine_auth_entry(p), ret, err)) {
        if (fits(p, ret))
            return true;
        credential_clear(ret);
        error_set(err, ERR_NO_KEY, "of another kind");
    }
    if (err->code != ERR_NO_KEY)
        return false;
    return needs_none(e, p) || engine_no_key(p, err);
}

bool engine_renew_key_await(struct engine *e, const struct provider *p, struct str refused,
                            struct error *err)
{
    AUTO(credential) struct credential c = CREDENTIAL_INIT;
    if (!p->takes_tokens || engine_given_key(e, p).p || !refused.n)
        return error_set(err, ERR_AUTH, "there is only one key for %s", p->label);
    return credential_renew_await(engine_auth(e), engine_auth_entry(p), refused, &c, err);
}
