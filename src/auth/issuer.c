/* SPDX-License-Identifier: MIT */
#include "auth/issuer.h"

#include "auth/keys.h"

#define OPENAI(p)                                                                                  \
    {                                                                                              \
        "TRIVET_OPENAI_AUTH_URL", "https://auth.openai.com", p                                     \
    }
#define OPENROUTER(p)                                                                              \
    {                                                                                              \
        "TRIVET_OPENROUTER_AUTH_URL", "https://openrouter.ai", p                                   \
    }
#define GOOGLE_SCOPE(s) "https://www.googleapis.com/auth/" s

/* clang-format off */
const struct issuer issuer_rows[] = {
    {
        .name = "openai",
        .title = "OpenAI",
        .provider = "openai",
        .authorize = OPENAI("/oauth/authorize"),
        .token = OPENAI("/oauth/token"),
        .revoke = OPENAI("/oauth/revoke"),
        .device_start = OPENAI("/api/accounts/deviceauth/usercode"),
        .device_poll = OPENAI("/api/accounts/deviceauth/token"),
        .device_page = OPENAI("/codex/device"),
        .device_redirect = OPENAI("/deviceauth/callback"),
        .client_id = "app_EMoamEEZ73f0CkXaXp7hrann", /* a public client without secret */
        .client_id_env = "TRIVET_OPENAI_CLIENT_ID",
        .scope = "openid profile email offline_access",
        .redirect_path = "/auth/callback",
        .extra_query = "&id_token_add_organizations=true&codex_cli_simplified_flow=true",
        .names_originator = true,
        .refreshes_by_json = true,
        .offers_api_key = true,
        .ports = {1455, 1457, 0}, /* the first two are registered with the issuer */
    },
    {
        .name = "google",
        .title = "Google",
        .provider = "antigravity",
        .authorize = {"TRIVET_GOOGLE_AUTH_URL", "https://accounts.google.com", "/o/oauth2/v2/auth"},
        .token = {"TRIVET_GOOGLE_TOKEN_URL", "https://oauth2.googleapis.com", "/token"},
        .profile = {"TRIVET_GOOGLE_API_URL", "https://www.googleapis.com", "/oauth2/v2/userinfo"},
        .client_id_env = "TRIVET_GOOGLE_CLIENT_ID",
        .client_secret_env = "TRIVET_GOOGLE_CLIENT_SECRET",
        .scope = GOOGLE_SCOPE("cloud-platform") " " GOOGLE_SCOPE("userinfo.email") " " GOOGLE_SCOPE(
            "userinfo.profile") " " GOOGLE_SCOPE("cclog") " " GOOGLE_SCOPE("experimentsandconfigs"),
        .redirect_path = "/oauth-callback",
        .extra_query = "&access_type=offline&prompt=consent",
    },
    {
        .name = "openrouter",
        .title = "OpenRouter",
        .provider = "openrouter",
        .style = ISSUER_KEY,
        .authorize = OPENROUTER("/auth"),
        .token = OPENROUTER("/api/v1/auth/keys"),
        .redirect_path = "/callback",
    },
    {0},
};
/* clang-format on */

const struct issuer *issuer_find(struct str name)
{
    for (const struct issuer *i = issuer_rows; i->name; i++)
        if (str_is(name, i->name))
            return i;
    return NULL;
}

const struct issuer *issuer_of(struct str provider)
{
    for (const struct issuer *i = issuer_rows; i->name; i++)
        if (str_is(provider, i->provider))
            return i;
    return NULL;
}

void issuer_url(struct buf *out, const struct issuer_url *u)
{
    buf_add(out, keys_base_url(u->env, u->base));
    buf_addz(out, u->path);
}

static bool check_client(const struct issuer *i, const struct issuer_client *c, struct error *err)
{
    if (c->id.n && (c->secret.n || !i->client_secret_env))
        return true;
    if (!i->client_secret_env)
        return error_set(err, ERR_NO_KEY, "signing in to %s needs a client id: set %s", i->title,
                         i->client_id_env);
    return error_set(err, ERR_NO_KEY,
                     "signing in to %s needs a client id and secret of your own, and none is "
                     "shipped: set %s and %s",
                     i->title, i->client_id_env, i->client_secret_env);
}

bool issuer_client(const struct issuer *i, const struct auth_store *st, struct str given_id,
                   struct issuer_client *ret, struct error *err)
{
    struct issuer_client c = {0};
    if (!i->client_id_env) {
        *ret = c;
        return true;
    }
    if (st)
        auth_store_client(st, i->name, &c.id, &c.secret);
    if (given_id.n)
        c.id = given_id;
    if (!c.id.n)
        c.id = keys_find(i->client_id_env);
    if (!c.id.n)
        c.id = str_of(i->client_id);
    if (!c.secret.n)
        c.secret = keys_find(i->client_secret_env);
    if (!check_client(i, &c, err))
        return false;
    *ret = c;
    return true;
}
