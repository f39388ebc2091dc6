/* SPDX-License-Identifier: MIT */
/* Any files as stored sign-ins, in all three formats: "FIRST\n%%\nSECOND".  What is put is what is
 * then got, what is taken out is not there any more, no member that the format does not know is
 * lost, and a file that is no JSON object is left as it was.
 */
#include "dialects/kward/kward.h"
#include "dialects/loaf/loaf.h"
#include "auth/store.h"
#include "base/path.h"
#include "fuzz_place.h"

static const struct auth_format *const formats[] = {&auth_format_trivet, &auth_format_kward,
                                                    &auth_format_loaf};
static const char *const names[AUTH_FILES] = {"first.json", "second.json"};
static const char *const providers[] = {"openai", "antigravity", "openrouter",
                                        "exa",    "anthropic",   "gemini"};

static struct auth_store *open_store(const struct auth_format *f)
{
    char first[256], second[256];
    return auth_store_new(f, fuzz_path(first, names[0]), fuzz_path(second, names[1]));
}

static bool owns(const struct auth_format *f, struct str provider)
{
    return f->owns(0, provider) || f->owns(1, provider);
}

static struct auth_entry new_entry(struct str provider)
{
    bool is_key = !str_is(provider, "openai") && !str_is(provider, "antigravity");
    struct auth_entry e = {.type = is_key ? AUTH_API_KEY : AUTH_OAUTH, .access = STR("new-access")};
    if (!is_key) {
        e.refresh = STR("new-refresh");
        e.expires_ms = 1790000000000;
    }
    return e;
}

/* What lies in the file, for comparing. */
static struct str read_back(unsigned i, struct buf *out)
{
    char path[256];
    struct error err;
    return path_read(out, fuzz_path(path, names[i]), 1 << 20, &err) ? buf_str(out) : STR_NONE;
}

static void try_provider(const struct auth_format *f, struct auth_store *st, struct str provider)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry e, want = new_entry(provider);
    struct error err = ERROR_INIT;
    if (auth_store_get(st, provider, &a, &e, &err))
        PROMISE(e.access.n || e.refresh.n);
    else
        PROMISE(err.code == ERR_NOT_FOUND || err.code == ERR_CORRUPT);
    if (!auth_store_put(st, provider, &want, &err)) {
        PROMISE(err.code == ERR_CORRUPT || !owns(f, provider));
        return;
    }
    PROMISE(auth_store_get(st, provider, &a, &e, &err));
    PROMISE(str_eq(e.access, want.access) && e.type == want.type);
    PROMISE(!want.refresh.n || str_eq(e.refresh, want.refresh));
    PROMISE(auth_store_remove(st, provider, &err));
    PROMISE(!auth_store_get(st, provider, &a, &e, &err) && err.code == ERR_NOT_FOUND);
}

/* Members of the root whose names we do not use. */
static void check_kept(struct str old, struct str new)
{
    AUTO(json) struct json before = JSON_INIT, after = JSON_INIT;
    struct error err;
    size_t i, max;
    yyjson_val *key, *v;
    if (!json_parse(old, 0, 64, &before, &err) || !yyjson_is_obj(before.root)) {
        PROMISE(str_is_blank(old) || str_eq(old, new));
        return;
    }
    if (!new.p) /* a format may remove a file that holds nothing else */
        return;
    PROMISE(json_parse(new, 0, 64, &after, &err));
    yyjson_obj_foreach(before.root, i, max, key, v)
        if (str_starts(json_str(key), STR("x_")))
            PROMISE(yyjson_obj_getn(after.root, json_str(key).p, json_str(key).n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n((const char *)data, n), first = fuzz_part(&rest);
    struct str parts[AUTH_FILES] = {first, rest};
    for (size_t k = 0; k < ARRAY_LEN(formats); k++) {
        struct auth_store *st = open_store(formats[k]);
        for (unsigned i = 0; i < AUTH_FILES; i++)
            fuzz_write(names[i], parts[i], 0600);
        for (size_t p = 0; p < ARRAY_LEN(providers); p++)
            try_provider(formats[k], st, str_of(providers[p]));
        for (unsigned i = 0; i < AUTH_FILES; i++) {
            AUTO(buf) struct buf now = BUF_INIT;
            check_kept(parts[i], read_back(i, &now));
        }
        auth_store_free(st);
    }
    return 0;
}
