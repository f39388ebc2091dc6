/* SPDX-License-Identifier: MIT */
/* loaf's files (loaf 175-178):
 *
 *     secrets-fallback.json   {account: value}; a value is a key, or an object as JSON text:
 *         openai_chatgpt_auth           {version: 1, accessToken, accountId, refreshToken?,
 *                                        idToken?, apiKey?}
 *         antigravity_oauth_token_info  {version: 1, accessToken, refreshToken,
 *                                        expiryDateSeconds, tokenType}; added by trivet: email,
 *                                        name, picture
 *         openrouter_api_key, exa_api_key
 *     auth.json               {auth_mode: "chatgpt", tokens: {account_id?}, last_refresh}; old ones
 *                             contain the tokens, used if the first file has none
 *
 * The expiry of an OpenAI token is not stored; it is read from the token.
 */
#include "dialects/loaf/loaf.h"

#include "auth/jwt.h"
#include "base/time.h"

enum { SECRETS_JSON, AUTH_JSON, INNER_DEPTH = 16 };

static const struct {
    const char *provider, *account;
    bool is_object;
} accounts[] = {
    {"openai", "openai_chatgpt_auth", true},
    {"antigravity", "antigravity_oauth_token_info", true},
    {"openrouter", "openrouter_api_key", false},
    {"exa", "exa_api_key", false},
};

static size_t find_account(struct str provider)
{
    size_t i = 0;
    while (i < ARRAY_LEN(accounts) && !str_is(provider, accounts[i].provider))
        i++;
    return i;
}

static bool owns(unsigned file, struct str provider)
{
    return file == SECRETS_JSON ? find_account(provider) < ARRAY_LEN(accounts)
                                : str_is(provider, "openai");
}

/* ---- reading ---- */

static int64_t get_expiry(yyjson_val *obj, struct str access)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct claims claims = {0};
    double seconds = json_get_num(obj, "expiryDateSeconds", 0);
    if (seconds > 0 && seconds < 1e11)
        return (int64_t)(seconds * 1000);
    jwt_claims(access, &a, &claims);
    return claims.expires_ms;
}

static bool get_object(struct str text, struct arena *a, struct auth_entry *ret)
{
    AUTO(json) struct json doc = JSON_INIT;
    struct error ignored;
    if (!json_parse(text, 0, INNER_DEPTH, &doc, &ignored) ||
        json_get_int(doc.root, "version", 0) != 1)
        return false;
    *ret = (struct auth_entry){
        .type = AUTH_OAUTH,
        .access = auth_get_str(doc.root, "accessToken", a),
        .refresh = auth_get_str(doc.root, "refreshToken", a),
        .id_token = auth_get_str(doc.root, "idToken", a),
        .account_id = auth_get_str(doc.root, "accountId", a),
        .api_key = auth_get_str(doc.root, "apiKey", a),
        .email = auth_get_str(doc.root, "email", a),
        .name = auth_get_str(doc.root, "name", a),
        .picture = auth_get_str(doc.root, "picture", a),
    };
    ret->expires_ms = get_expiry(doc.root, ret->access);
    return ret->access.n > 0;
}

static bool get_old_login(yyjson_val *root, struct arena *a, struct auth_entry *ret)
{
    yyjson_val *tokens = json_get(root, "tokens");
    *ret = (struct auth_entry){
        .type = AUTH_OAUTH,
        .access = auth_get_str(tokens, "access_token", a),
        .refresh = auth_get_str(tokens, "refresh_token", a),
        .id_token = auth_get_str(tokens, "id_token", a),
        .account_id = auth_get_str(tokens, "account_id", a),
        .api_key = auth_get_str(root, "OPENAI_API_KEY", a),
    };
    ret->expires_ms = get_expiry(NULL, ret->access);
    return ret->access.n > 0;
}

static bool get(yyjson_val *const *roots, struct str provider, struct arena *a,
                struct auth_entry *ret)
{
    size_t i = find_account(provider);
    if (i == ARRAY_LEN(accounts))
        return false;
    struct str value = str_trim(json_get_str(roots[SECRETS_JSON], accounts[i].account));
    if (accounts[i].is_object)
        return get_object(value, a, ret) || get_old_login(roots[AUTH_JSON], a, ret);
    if (value.n == 0)
        return false;
    *ret = (struct auth_entry){.type = AUTH_API_KEY, .access = arena_str(a, value)};
    return true;
}

/* ---- writing ---- */

static void set_object(yyjson_mut_doc *doc, struct str provider, const struct auth_entry *e)
{
    yyjson_mut_val *obj = yyjson_mut_doc_get_root(doc);
    auth_set_int(doc, obj, "version", 1);
    auth_set_str(doc, obj, "accessToken", e->access);
    auth_set_str(doc, obj, "refreshToken", e->refresh);
    if (str_is(provider, "antigravity")) {
        auth_set_int(doc, obj, "expiryDateSeconds", e->expires_ms / 1000);
        auth_set_str(doc, obj, "tokenType", STR("Bearer"));
        auth_set_str(doc, obj, "email", e->email);
        auth_set_str(doc, obj, "name", e->name);
        auth_set_str(doc, obj, "picture", e->picture);
        return;
    }
    auth_set_str(doc, obj, "idToken", e->id_token);
    auth_set_str(doc, obj, "apiKey", e->api_key);
    if (e->account_id.p)
        auth_set_str(doc, obj, "accountId", e->account_id);
    else
        yyjson_mut_obj_put(obj, yyjson_mut_str(doc, "accountId"), yyjson_mut_null(doc));
}

/* Changes the object in the JSON text; unknown members are kept. */
static char *change_object(struct str old, struct str provider, const struct auth_entry *e)
{
    AUTO(json) struct json parsed = JSON_INIT;
    struct error ignored;
    bool is_kept = json_parse(old, 0, INNER_DEPTH, &parsed, &ignored) && yyjson_is_obj(parsed.root);
    yyjson_mut_doc *doc = is_kept ? yyjson_doc_mut_copy(parsed.doc, NULL)
                                  : yyjson_mut_doc_new(NULL);
    if (!is_kept)
        yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    set_object(doc, provider, e);
    char *text = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    return text;
}

static void put_secret(yyjson_mut_doc *doc, struct str provider, const struct auth_entry *e)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    size_t i = find_account(provider);
    const char *account = accounts[i].account;
    if (!e || !accounts[i].is_object) {
        auth_set_str(doc, root, account, e ? e->access : STR_NONE);
        return;
    }
    struct str old = str_of(yyjson_mut_get_str(yyjson_mut_obj_get(root, account)));
    AUTO_FREE char *text = change_object(old, provider, e);
    auth_set_str(doc, root, account, str_of(text));
}

static bool put_auth(yyjson_mut_doc *doc, const struct auth_entry *e)
{
    static const char *const names[] = {"auth_mode", "tokens", "last_refresh", "OPENAI_API_KEY"};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    char now[TIME_ISO_LEN + 1];
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        yyjson_mut_obj_remove_key(root, names[i]);
    if (!e)
        return yyjson_mut_obj_size(root) > 0;
    time_iso(time_now_ms(), now);
    auth_set_str(doc, root, "auth_mode", STR("chatgpt"));
    auth_set_str(doc, auth_set_obj(doc, root, STR("tokens")), "account_id", e->account_id);
    auth_set_str(doc, root, "last_refresh", str_of(now));
    return true;
}

static bool put(unsigned file, yyjson_mut_doc *doc, struct str provider, const struct auth_entry *e)
{
    if (file == AUTH_JSON)
        return put_auth(doc, e);
    put_secret(doc, provider, e);
    return true;
}

const struct auth_format auth_format_loaf = {.name = "loaf", .owns = owns, .get = get, .put = put};
