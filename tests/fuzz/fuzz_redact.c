/* SPDX-License-Identifier: MIT */
/* Any JSON text on its way to a Kward client (kward 40-47, 350-352).  It stays JSON of the same
 * shape, and what the rules forbid is nowhere in it: no string below a member with a secret name,
 * no own key in a text that is no path, no word with the form of a key in an error text.
 * All other strings are what they were.
 */
#include "base/secret.h"
#include "dialects/kward/methods.h"
#include "fuzz.h"

enum { DEPTH = 500 };

enum zone { NONE, TOLD, SAID };

static bool is_telling(struct str name)
{
    return !str_is(name, "apiKeyProviders") && !str_is(name, "storedCredentialType") &&
           !str_is(name, "authorizationUrl") && secret_is_name(name);
}

static enum zone zone_of(struct str name, bool is_text)
{
    if (!is_text && (str_is(name, "args") || str_is(name, "content") || str_is(name, "messages") ||
                     str_is(name, "message")))
        return SAID;
    return str_is(name, "error") || str_is(name, "config") || str_is(name, "message") ? TOLD : NONE;
}

static void check_text(struct str old, struct str new, enum zone zone)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool is_path = old.n && old.p[0] == '/' && str_chr(old, ' ') == SIZE_MAX &&
                   str_chr(old, '\n') == SIZE_MAX;
    bool is_changed = !is_path && (zone == TOLD ? secret_blank : secret_blank_own)(old, &out);
    PROMISE(str_eq(new, is_changed ? buf_str(&out) : old));
}

static void check(yyjson_val *old, yyjson_val *new, bool is_top, enum zone zone)
{
    size_t i, max, k, n;
    yyjson_val *key, *v, *other_key, *other;
    PROMISE(yyjson_get_type(old) == yyjson_get_type(new));
    if (yyjson_is_str(new)) {
        check_text(json_str(old), json_str(new), zone);
        return;
    }
    PROMISE(!yyjson_is_ctn(old) || unsafe_yyjson_get_len(old) == unsafe_yyjson_get_len(new));
    yyjson_arr_foreach(new, i, max, v)
        check(yyjson_arr_get(old, i), v, false, zone);
    yyjson_obj_iter it = yyjson_obj_iter_with(old);
    yyjson_obj_foreach(new, k, n, key, v) {
        other_key = yyjson_obj_iter_next(&it);
        other = yyjson_obj_iter_get_val(other_key);
        bool is_plain = !yyjson_is_str(other) && !yyjson_is_ctn(other);
        if (is_top && str_is(json_str(other_key), "id"))
            PROMISE(yyjson_equals(v, other));
        else if (is_telling(json_str(other_key)) && !is_plain)
            PROMISE(str_is(json_str(v), SECRET_BLANK));
        else
            check(other, v, false,
                  zone ? zone : zone_of(json_str(other_key), yyjson_is_str(other)));
        check_text(json_str(other_key), json_str(key), zone);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(json) struct json old = JSON_INIT, new = JSON_INIT;
    AUTO(buf) struct buf body = BUF_INIT, out = BUF_INIT;
    struct error err;
    secret_learn(STR("own-key-1"));
    if (!json_parse(str_n((const char *)data, n), 0, DEPTH, &old, &err))
        return 0;
    buf_add(&body, str_n((const char *)data, n)); /* of its size to the byte */
    bool is_changed = kw_redact(NULL, buf_str(&body), &out);
    PROMISE(is_changed || out.n == 0);
    PROMISE(json_parse(is_changed ? buf_str(&out) : buf_str(&body), 0, DEPTH, &new, &err));
    check(old.root, new.root, true, NONE);
    return 0;
}
