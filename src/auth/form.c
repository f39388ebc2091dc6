/* SPDX-License-Identifier: MIT */
#include "auth/form.h"

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' ||
           c == '.' || c == '~';
}

static void escape(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (is_plain(s.p[i]))
            buf_addc(out, s.p[i]);
        else
            buf_addf(out, "%%%02X", (unsigned char)s.p[i]);
    }
}

void form_put(struct buf *out, const char *name, struct str value)
{
    if (out->n && out->p[out->n - 1] != '?')
        buf_addc(out, '&');
    escape(out, str_of(name));
    buf_addc(out, '=');
    escape(out, value);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct str decode(struct str s, struct arena *a)
{
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? hex(s.p[i + 1]) : -1;
        int low = high >= 0 ? hex(s.p[i + 2]) : -1;
        if (low >= 0) {
            out[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[n++] = s.p[i] == '+' ? ' ' : s.p[i];
        }
    }
    return str_n(out, n);
}

struct str form_get(struct str form, const char *name, struct arena *a)
{
    while (form.p) {
        struct str pair, key;
        form = str_split(form, '&', &pair);
        struct str value = str_split(pair, '=', &key);
        if (str_is(decode(key, a), name))
            return value.p ? decode(value, a) : STR("");
    }
    return STR_NONE;
}
