/* SPDX-License-Identifier: MIT */
/* Any JSON text on its way to a Kward client (kward.md 4).  It stays JSON of the same shape, and
 * what the rules forbid is nowhere in it: no string below a member with a telling name, no key in
 * any string, and no bearer.  The rules stand here once more, applied to the parsed value: slow and
 * plain, where the filter is a walk over bytes.
 */
#include "dialects/kward/internal.h"
#include "fuzz.h"

enum { DEPTH = 500 };

static bool is_telling(struct str name)
{
    static const char *const words[] = {"token",   "secret",        "apikey",   "api_key",
                                        "api-key", "authorization", "password", "credential"};
    if (str_is(name, "apiKeyProviders") || str_is(name, "storedCredentialType") ||
        str_is(name, "authorizationUrl"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ifind(name, str_of(words[i])) != SIZE_MAX)
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool has_bearer(struct str s)
{
    size_t at, from = 0;
    while ((at = str_ifind(str_from(s, from), STR("bearer"))) != SIZE_MAX) {
        size_t start = from + at + 6, end = start;
        while (end < s.n && is_blank(s.p[end]))
            end++;
        bool bears = end > start && end < s.n && s.p[end] != '"' && s.p[end] != '\'';
        if (bears && !str_starts(str_from(s, end), STR("[REDACTED]")))
            return true;
        from = start;
    }
    return false;
}

static void check(yyjson_val *old, yyjson_val *new, bool is_top)
{
    size_t i, max, k, n;
    yyjson_val *key, *v, *other_key, *other;
    if (yyjson_is_str(new)) {
        PROMISE(yyjson_is_str(old));
        PROMISE(!fuzz_has_key(json_str(new)) && !has_bearer(json_str(new)));
        return;
    }
    PROMISE(yyjson_get_type(old) == yyjson_get_type(new));
    PROMISE(!yyjson_is_ctn(old) || unsafe_yyjson_get_len(old) == unsafe_yyjson_get_len(new));
    yyjson_arr_foreach (new, i, max, v)
        check(yyjson_arr_get(old, i), v, false);
    yyjson_obj_iter it = yyjson_obj_iter_with(old);
    yyjson_obj_foreach (new, k, n, key, v) {
        other_key = yyjson_obj_iter_next(&it);
        other = yyjson_obj_iter_get_val(other_key);
        bool is_plain = !yyjson_is_str(other) && !yyjson_is_ctn(other);
        if (is_top && str_is(json_str(key), "id"))
            PROMISE(yyjson_equals(v, other));
        else if (is_telling(json_str(other_key)) && !is_plain)
            PROMISE(str_is(json_str(v), "[REDACTED]"));
        else
            check(other, v, false);
        PROMISE(!fuzz_has_key(json_str(key)) && !has_bearer(json_str(key)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(json) struct json old = JSON_INIT, new = JSON_INIT;
    AUTO(buf) struct buf body = BUF_INIT, out = BUF_INIT;
    struct error err;
    if (!json_parse(str_n((const char *)data, n), 0, DEPTH, &old, &err))
        return 0;
    buf_add(&body, str_n((const char *)data, n)); /* of its size to the byte */
    bool is_changed = kw_redact(NULL, buf_str(&body), &out);
    PROMISE(is_changed || out.n == 0);
    PROMISE(json_parse(is_changed ? buf_str(&out) : buf_str(&body), 0, DEPTH, &new, &err));
    check(old.root, new.root, true);
    return 0;
}
