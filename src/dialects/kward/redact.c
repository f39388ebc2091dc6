/* SPDX-License-Identifier: MIT */
/* No secret leaves through the protocol (kward.md 4): members with telling names lose their
 * strings, and keys inside any text are blanked.  Ids of requests are echoed as they came.
 *
 * Every message passes here, so a quick look comes first: most hold none of the telling words and
 * are sent as they are.  Our own writer escapes no letter, so the look may be at the raw JSON.
 */
#include "dialects/kward/internal.h"

static const char *const names[] = {"token",   "secret",        "apikey",   "api_key",
                                    "api-key", "authorization", "password", "credential"};
static const char *const harmless[] = {"apiKeyProviders", "storedCredentialType",
                                       "authorizationUrl"};
static const char blank[] = "[REDACTED]";

enum { KEY_CHARS = 8 }; /* behind "sk-" */

/* ---- the quick look ---- */

static bool has_word(struct str rest)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str name = str_of(names[i]);
        if (rest.n >= name.n && str_ieq(str_cut(rest, name.n), name))
            return true;
    }
    return (rest.n >= 6 && str_ieq(str_cut(rest, 6), STR("bearer"))) ||
           str_starts(rest, STR("sk-"));
}

static bool may_hold_secrets(struct str s)
{
    static const bool first[256] = {
        ['t'] = true, ['T'] = true, ['s'] = true, ['S'] = true, ['a'] = true, ['A'] = true,
        ['p'] = true, ['P'] = true, ['c'] = true, ['C'] = true, ['b'] = true, ['B'] = true,
    };
    static const bool second[256] = {
        /* of the words above */
        ['o'] = true, ['O'] = true, ['e'] = true, ['E'] = true, ['p'] = true,
        ['P'] = true, ['u'] = true, ['U'] = true, ['a'] = true, ['A'] = true,
        ['r'] = true, ['R'] = true, ['k'] = true,
    };
    for (size_t i = 0; i + 1 < s.n; i++)
        if (first[(unsigned char)s.p[i]] && second[(unsigned char)s.p[i + 1]] &&
            has_word(str_from(s, i)))
            return true;
    return false;
}

/* ---- texts ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Length of a key that begins here, 0 when none does. */
static size_t key_length(struct str s, size_t at)
{
    if (!str_starts(str_from(s, at), STR("sk-")) || (at && is_alnum(s.p[at - 1])))
        return 0;
    size_t end = at + 3;
    while (end < s.n && (is_alnum(s.p[end]) || s.p[end] == '_' || s.p[end] == '-'))
        end++;
    return end - at - 3 >= KEY_CHARS ? end - at : 0;
}

/* Length of "Bearer" with what it bears, 0 when nothing such begins here. */
static size_t bearer_length(struct str s, size_t at)
{
    size_t end = at + 6;
    if (s.n - at < 8 || !str_ieq(str_n(s.p + at, 6), STR("bearer")) || !is_space(s.p[end]))
        return 0;
    while (end < s.n && is_space(s.p[end]))
        end++;
    size_t start = end;
    while (end < s.n && !is_space(s.p[end]) && s.p[end] != '"' && s.p[end] != '\'')
        end++;
    return end > start ? end - at : 0;
}

static void put_text(struct jw *w, struct str s)
{
    AUTO(buf) struct buf out = BUF_INIT;
    size_t from = 0;
    for (size_t at = 0; at < s.n;) {
        size_t bearer = bearer_length(s, at), n = bearer ? bearer : key_length(s, at);
        if (!n) {
            at++;
            continue;
        }
        buf_add(&out, str_n(s.p + from, at - from));
        buf_addf(&out, "%s%s", bearer ? "Bearer " : "", blank);
        from = at += n;
    }
    if (from == 0) {
        jw_str(w, s);
        return;
    }
    buf_add(&out, str_from(s, from));
    jw_str(w, buf_str(&out));
}

/* ---- values ---- */

static bool is_secret_name(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (str_is(name, harmless[i]))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ifind(name, str_of(names[i])) != SIZE_MAX)
            return true;
    return false;
}

static void put_value(struct jw *w, yyjson_val *v);

static void put_member(struct jw *w, yyjson_val *key, yyjson_val *v)
{
    bool is_plain = yyjson_is_num(v) || yyjson_is_raw(v) || yyjson_is_bool(v) || yyjson_is_null(v);
    jw_keys(w, json_str(key));
    if (!is_plain && is_secret_name(json_str(key)))
        jw_str(w, str_of(blank));
    else
        put_value(w, v);
}

static void put_value(struct jw *w, yyjson_val *v)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_obj(v)) {
        jw_obj(w);
        yyjson_obj_foreach (v, i, max, key, item)
            put_member(w, key, item);
        jw_obj_end(w);
    } else if (yyjson_is_arr(v)) {
        jw_arr(w);
        yyjson_arr_foreach (v, i, max, item)
            put_value(w, item);
        jw_arr_end(w);
    } else if (yyjson_is_str(v)) {
        put_text(w, json_str(v));
    } else {
        jw_val(w, v);
    }
}

bool kw_redact(void *kward, struct str body, struct buf *out)
{
    (void)kward;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    struct jw w = JW(out);
    size_t i, max;
    yyjson_val *key, *v;
    /* What we write is nested a little deeper than what we read. */
    if (!may_hold_secrets(body) || !json_parse(body, 0, LIMIT_JSON_DEPTH * 2, &j, &ignored))
        return false;
    jw_obj(&w);
    yyjson_obj_foreach (j.root, i, max, key, v) {
        jw_keys(&w, json_str(key));
        if (str_is(json_str(key), "id"))
            jw_val(&w, v);
        else
            put_value(&w, v);
    }
    jw_obj_end(&w);
    return true;
}
