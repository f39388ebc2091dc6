/* SPDX-License-Identifier: MIT */
/* Kward's files (kward 336-346):
 *
 *     auth.json    {auth_mode: "openai_oauth", tokens: {access_token, refresh_token, id_token, ...,
 *                  account_id}, account_id, saved_at, expires_at}      the OpenAI sign-in
 *     config.json  {..., openrouter_api_key, anthropic_api_key, gemini_api_key}
 *                                                                      among the user's settings
 *
 * Times are ISO 8601 text.  Signing out of OpenAI deletes auth.json.
 */
#include "dialects/kward/kward.h"

#include "base/time.h"

enum { AUTH_JSON, CONFIG_JSON };

static const struct {
    const char *provider, *name;
} keys[] = {
    {"openrouter", "openrouter_api_key"},
    {"anthropic", "anthropic_api_key"},
    {"gemini", "gemini_api_key"},
};

/* The member of config.json with the provider's key, or NULL. */
static const char *key_name(struct str provider)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_is(provider, keys[i].provider))
            return keys[i].name;
    return NULL;
}

static bool owns(unsigned file, struct str provider)
{
    return file == AUTH_JSON ? str_is(provider, "openai") : key_name(provider) != NULL;
}

static bool get_key(yyjson_val *config, const char *name, struct arena *a, struct auth_entry *ret)
{
    struct str key = name ? str_trim(json_get_str(config, name)) : STR_NONE;
    if (key.n == 0)
        return false;
    *ret = (struct auth_entry){.type = AUTH_API_KEY, .access = arena_str(a, key)};
    return true;
}

/* Text, or seconds since 1970 from other writers. */
static int64_t get_time(yyjson_val *root, const char *name)
{
    int64_t ms = 0, seconds;
    yyjson_val *v = json_get(root, name);
    if (json_is_whole(v, &seconds) && seconds > 0 && seconds < 100000000000)
        return seconds * 1000;
    return time_from_iso(json_str(v), &ms) ? ms : 0;
}

static bool get_login(yyjson_val *root, struct arena *a, struct auth_entry *ret)
{
    yyjson_val *tokens = json_get(root, "tokens");
    *ret = (struct auth_entry){
        .type = AUTH_OAUTH,
        .access = auth_get_str(tokens, "access_token", a),
        .refresh = auth_get_str(tokens, "refresh_token", a),
        .id_token = auth_get_str(tokens, "id_token", a),
        .account_id = auth_get_str(root, "account_id", a),
        .expires_ms = get_time(root, "expires_at"),
    };
    if (!ret->account_id.n)
        ret->account_id = auth_get_str(tokens, "account_id", a);
    return ret->access.n || ret->refresh.n;
}

static bool get(yyjson_val *const *roots, struct str provider, struct arena *a,
                struct auth_entry *ret)
{
    return str_is(provider, "openai") ? get_login(roots[AUTH_JSON], a, ret)
                                      : get_key(roots[CONFIG_JSON], key_name(provider), a, ret);
}

static void set_time(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name, int64_t ms)
{
    char text[TIME_ISO_LEN + 1];
    time_iso(ms, text);
    auth_set_str(doc, root, name, ms ? str_of(text) : STR_NONE);
}

static void put_login(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct auth_entry *e)
{
    auth_set_str(doc, root, "auth_mode", STR("openai_oauth"));
    yyjson_mut_val *tokens = auth_set_obj(doc, root, STR("tokens"));
    auth_set_str(doc, tokens, "access_token", e->access);
    auth_set_str(doc, tokens, "refresh_token", e->refresh);
    auth_set_str(doc, tokens, "id_token", e->id_token);
    auth_set_str(doc, tokens, "account_id", e->account_id);
    auth_set_str(doc, root, "account_id", e->account_id);
    set_time(doc, root, "saved_at", time_now_ms());
    set_time(doc, root, "expires_at", e->expires_ms);
}

static bool put(unsigned file, yyjson_mut_doc *doc, struct str provider, const struct auth_entry *e)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (file == CONFIG_JSON) {
        auth_set_str(doc, root, key_name(provider), e ? e->access : STR_NONE);
        return true;
    }
    if (e)
        put_login(doc, root, e);
    return e != NULL;
}

const struct auth_format auth_format_kward = {
    .name = "kward", .owns = owns, .get = get, .put = put};
