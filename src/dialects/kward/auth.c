/* SPDX-License-Identifier: MIT */
/* auth/status, auth/providers, auth/loginWithApiKey, auth/logoutProvider (kward 333-338):
 * keys and stored
 * sign-ins.  Signing in is in login.c.
 *
 * Answers contain whether there is a key, never the key. */
#include "dialects/kward/kward.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"

#include "auth/keys.h"
#include "auth/login.h"
#include "base/path.h"
#include "context/config.h"

/* ---- providers ---- */

struct card {
    const char *id, *name, *type; /* type as in storedCredentialType */
    const char *env;              /* variable that overrides what is stored */
    const char *yes, *no;         /* labels */
};

static const struct card cards[] = {
    {"openai", "OpenAI", "oauth", "OPENAI_ACCESS_TOKEN", "Signed in", "Not signed in"},
    {"openrouter", "OpenRouter", "api_key", "OPENROUTER_API_KEY", "API key configured",
     "API key not configured"},
};

static const struct card *find_card(struct str id)
{
    for (size_t i = 0; i < ARRAY_LEN(cards); i++)
        if (str_is(id, cards[i].id))
            return &cards[i];
    return NULL;
}

/* Reads one entry of each file, so that its keys are registered for redaction (base/secret.h). */
static void learn_stored(const struct auth_store *st)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry entry;
    struct error ignored;
    auth_store_get(st, STR("openai"), &a, &entry, &ignored);
    auth_store_get(st, STR("openrouter"), &a, &entry, &ignored);
}

void kw_use_auth(struct kward *k)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct str given = keys_find("KWARD_AUTH_PATH");
    if (given.p)
        path_absolute(&path, STR("."), given);
    else
        buf_addf(&path, "%.*s/.kward/auth.json", STR_FMT(path_home()));
    engine_use_auth(k->sv->engine,
                    auth_store_new(&auth_format_kward, buf_str(&path), str_of(k->config_path)));
    learn_stored(engine_auth(k->sv->engine));
}

/* The stored entry of the provider; false with the reason unless there is no entry. */
static bool look(struct kward *k, const char *provider, struct arena *a, struct auth_entry *ret,
                 bool *ret_has, struct error *err)
{
    *ret_has = auth_store_get(engine_auth(k->sv->engine), str_of(provider), a, ret, err);
    return *ret_has || err->code == ERR_NOT_FOUND;
}

/* ---- auth/status ---- */

static const struct row status_rows[] = {
    ROW_OUT("openaiOAuth", T_BOOL, NEEDED, "a sign-in is stored"),
    ROW_OUT("openaiAccountId", T_STR, OPTIONAL | NULLABLE, "whose it is"),
    ROW_OUT("openrouterApiKey", T_BOOL, OPTIONAL, "a key is set in the environment or stored"),
    ROW_OUT("openaiAccessToken", T_BOOL, OPTIONAL, "a token is set in the environment"),
    ROW_OUT("error", T_STR, OPTIONAL, "why the state is unknown"),
    ROW_END,
};

static bool status(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct kward *k = rq->dialect;
    struct auth_entry login = {0}, key;
    bool has_login, has_key;
    struct error why;
    bool ok = look(k, "openai", &rq->arena, &login, &has_login, &why) &&
              look(k, "openrouter", &rq->arena, &key, &has_key, &why);
    jw_obj(w);
    jw_kbool(w, "openaiOAuth", ok && has_login);
    if (ok) {
        jw_kstr_null(w, "openaiAccountId", has_login ? login.account_id : STR_NONE);
        jw_kbool(w, "openrouterApiKey", has_key || keys_find("OPENROUTER_API_KEY").p);
        jw_kbool(w, "openaiAccessToken", keys_find("OPENAI_ACCESS_TOKEN").p != NULL);
    } else {
        jw_kstr(w, "error", error_str(&why));
    }
    jw_obj_end(w);
    return true;
}

const struct method kw_auth_status = {
    .name = "auth/status",
    .result = status_rows,
    .lane = LANE_MAIN,
    .run = status,
    .about = "Which keys and sign-ins there are; never the secrets.",
};

/* ---- auth/providers ---- */

static const struct row card_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "openai or openrouter"),
    ROW_OUT("name", T_STR, NEEDED, "for humans"),
    ROW_OUT("authType", T_STR, NEEDED, "oauth or api_key"),
    ROW_OUT("configured", T_BOOL, NEEDED, "requests can be made"),
    ROW_OUT("source", T_STR, OPTIONAL, "environment, which counts first, or stored"),
    ROW_OUT("storedCredentialType", T_STR, OPTIONAL, "oauth or api_key, when one is stored"),
    ROW_OUT("canLogout", T_BOOL, NEEDED, "something is stored"),
    ROW_OUT("usesCallbackServer", T_BOOL, OPTIONAL, "sign-in ends by a browser redirect"),
    ROW_OUT("label", T_STR, NEEDED, "the state in words"),
    ROW_END,
};

static const struct row providers_rows[] = {
    ROW_OUT("providers", T_ARR, NEEDED, "one card each", .rows = card_rows, .items = T_OBJ),
    ROW_END,
};

static void put_card(struct kward *k, const struct card *c, struct jw *w)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry e;
    struct error ignored; /* an unreadable file has no usable credentials */
    bool is_oauth = strcmp(c->type, "oauth") == 0, is_stored;
    bool in_env = keys_find(c->env).p != NULL;
    look(k, c->id, &a, &e, &is_stored, &ignored);
    jw_obj(w);
    jw_kz(w, "id", c->id);
    jw_kz(w, "name", c->name);
    jw_kz(w, "authType", c->type);
    jw_kbool(w, "configured", in_env || is_stored);
    if (in_env || is_stored)
        jw_kz(w, "source", in_env ? "environment" : "stored");
    if (is_stored)
        jw_kz(w, "storedCredentialType", c->type);
    jw_kbool(w, "canLogout", is_stored);
    if (is_oauth)
        jw_kbool(w, "usesCallbackServer", true);
    jw_kz(w, "label", in_env || is_stored ? c->yes : c->no);
    jw_obj_end(w);
}

static bool providers(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    jw_obj(w);
    jw_karr(w, "providers");
    for (size_t i = 0; i < ARRAY_LEN(cards); i++)
        put_card(rq->dialect, &cards[i], w);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_auth_providers = {
    .name = "auth/providers",
    .result = providers_rows,
    .lane = LANE_MAIN,
    .run = providers,
    .about = "One card per kind of credentials, for a settings page.",
};

/* ---- auth/loginWithApiKey ---- */

struct key_params {
    struct str provider_id, api_key;
};

static const struct row key_params_rows[] = {
    ROW_AS(key_params, provider_id, "providerId", T_STR, NEEDED | TRIM, "openrouter"),
    ROW_AS(key_params, api_key, "apiKey", T_STR, NEEDED | TRIM, "the key"),
    ROW_END,
};

static const struct row message_rows[] = {
    ROW_OUT("providerId", T_STR, NEEDED, "as given"),
    ROW_OUT("message", T_STR, NEEDED, "for the user"),
    ROW_END,
};

static void put_message(struct jw *w, const struct card *c, const char *verb)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "%s %s.", verb, c->name);
    jw_obj(w);
    jw_kz(w, "providerId", c->id);
    jw_kstr(w, "message", buf_str(&text));
    jw_obj_end(w);
}

/* The key is stored in the config file: an invalid file gives the same error as config/read. */
static bool is_config_sound(const struct kward *k, struct error *err)
{
    AUTO(json) struct json config = JSON_INIT;
    return config_read(str_of(k->config_path), &config, err);
}

static bool login_with_key_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct key_params *p = rq->args;
    struct kward *k = rq->dialect;
    const struct card *c = find_card(p->provider_id);
    struct auth_entry e = {.type = AUTH_API_KEY, .access = p->api_key};
    if (!c || strcmp(c->type, "api_key") != 0)
        return error_set(err, ERR_INVALID, "Unsupported API key provider: %.*s",
                         STR_FMT(str_cut(p->provider_id, 100)));
    if (!p->api_key.n)
        return error_set(err, ERR_INVALID, "API key must be a non-empty string");
    if (!is_config_sound(k, err) ||
        !auth_store_put_await(engine_auth(k->sv->engine), p->provider_id, &e, err))
        return false;
    engine_forget_models(k->sv->engine, p->provider_id);
    kw_refresh(k);
    kw_refresh_lists(k);
    put_message(w, c, "Saved API key for");
    return true;
}

const struct method kw_auth_login_with_key = {
    .name = "auth/loginWithApiKey",
    .params = key_params_rows,
    .params_size = sizeof(struct key_params),
    .result = message_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = login_with_key_await,
    .about = "Stores an API key in the config file.",
    .errors = "API key must be a non-empty string; Unsupported API key provider: <id>",
};

/* ---- auth/logoutProvider ---- */

struct logout_params {
    struct str provider_id;
};

static const struct row logout_params_rows[] = {
    ROW_AS(logout_params, provider_id, "providerId", T_STR, NEEDED | TRIM, "openai or openrouter"),
    ROW_END,
};

static bool logout_provider_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct logout_params *p = rq->args;
    struct kward *k = rq->dialect;
    const struct card *c = find_card(p->provider_id);
    if (!c)
        return error_set(err, ERR_INVALID, "Unsupported auth provider: %.*s",
                         STR_FMT(str_cut(p->provider_id, 100)));
    if (strcmp(c->type, "api_key") == 0 && !is_config_sound(k, err))
        return false;
    if (!logout_await(engine_auth(k->sv->engine), p->provider_id, err))
        return false;
    engine_forget_models(k->sv->engine, p->provider_id);
    kw_refresh(k);
    put_message(w, c, "Logged out of");
    return true;
}

const struct method kw_auth_logout = {
    .name = "auth/logoutProvider",
    .params = logout_params_rows,
    .params_size = sizeof(struct logout_params),
    .result = message_rows,
    .how = RUN_FIBER, /* the token is revoked at the issuer */
    .lane = LANE_FREE,
    .run = logout_provider_await,
    .about = "Removes stored credentials; environment variables still apply.",
    .errors = "Unsupported auth provider: <id>",
};
