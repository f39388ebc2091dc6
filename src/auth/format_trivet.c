/* SPDX-License-Identifier: MIT */
/* trivet's own credentials file: one object, an entry per provider.
 *
 *     { "openai": { "type": "oauth", "access": "...", "refresh": "...", "account_id": "...",
 *                   "expires_ms": 1790000000000 },
 *       "anthropic": { "type": "api_key", "access": "..." } }
 */
#include "auth/store.h"

static const struct {
    const char *name;
    size_t at; /* of the struct str in struct auth_entry */
} members[] = {
    {"access", offsetof(struct auth_entry, access)},
    {"refresh", offsetof(struct auth_entry, refresh)},
    {"id_token", offsetof(struct auth_entry, id_token)},
    {"account_id", offsetof(struct auth_entry, account_id)},
    {"email", offsetof(struct auth_entry, email)},
    {"plan", offsetof(struct auth_entry, plan)},
    {"api_key", offsetof(struct auth_entry, api_key)},
    {"client_id", offsetof(struct auth_entry, client_id)},
};

static bool owns(unsigned file, struct str provider)
{
    return file == 0 && provider.n > 0;
}

/* The last of equal names, as in json_get. */
static yyjson_val *find(yyjson_val *root, struct str provider)
{
    size_t i, max;
    yyjson_val *key, *value, *found = NULL;
    if (!root)
        return NULL;
    yyjson_obj_foreach(root, i, max, key, value)
        if (str_eq(json_str(key), provider))
            found = value;
    return found;
}

static bool get(yyjson_val *const *roots, struct str provider, struct arena *a,
                struct auth_entry *ret)
{
    yyjson_val *obj = find(roots[0], provider);
    bool is_key = str_is(json_get_str(obj, "type"), "api_key");
    if (!is_key && !str_is(json_get_str(obj, "type"), "oauth"))
        return false;
    *ret = (struct auth_entry){.type = is_key ? AUTH_API_KEY : AUTH_OAUTH};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        *(struct str *)(void *)((char *)ret + members[i].at) = auth_get_str(obj, members[i].name,
                                                                            a);
    ret->expires_ms = json_get_int(obj, "expires_ms", 0);
    return ret->access.n || ret->refresh.n;
}

static bool put(unsigned file, yyjson_mut_doc *doc, struct str provider, const struct auth_entry *e)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    (void)file;
    if (!e) {
        yyjson_mut_obj_remove_keyn(root, provider.p, provider.n);
        return true;
    }
    yyjson_mut_val *obj = auth_set_obj(doc, root, provider);
    auth_set_str(doc, obj, "type", e->type == AUTH_OAUTH ? STR("oauth") : STR("api_key"));
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        auth_set_str(doc, obj, members[i].name,
                     *(const struct str *)(const void *)((const char *)e + members[i].at));
    if (e->expires_ms)
        auth_set_int(doc, obj, "expires_ms", e->expires_ms);
    else
        yyjson_mut_obj_remove_key(obj, "expires_ms");
    return true;
}

const struct auth_format auth_format_trivet = {
    .name = "trivet", .owns = owns, .get = get, .put = put};
