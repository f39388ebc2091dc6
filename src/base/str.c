/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include "base/mem.h"

#include <strings.h>

int str_cmp(struct str a, struct str b)
{
    int c = MIN(a.n, b.n) ? memcmp(a.p, b.p, MIN(a.n, b.n)) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

bool str_ieq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq(str_cut(s, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_from(s, s.n - suffix.n), suffix);
}

size_t str_find(struct str s, struct str needle)
{
    if (needle.n == 0)
        return 0;
    if (s.n < needle.n)
        return SIZE_MAX;
    const char *at = memmem(s.p, s.n, needle.p, needle.n);
    return at ? (size_t)(at - s.p) : SIZE_MAX;
}

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

size_t str_ifind(struct str s, struct str needle)
{
    char first = needle.n ? folded(needle.p[0]) : 0;
    for (size_t i = 0; i + needle.n <= s.n; i++)
        if (needle.n == 0 || (folded(s.p[i]) == first && str_ieq(str_n(s.p + i, needle.n), needle)))
            return i;
    return SIZE_MAX;
}

size_t str_chr(struct str s, char c)
{
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;
    return at ? (size_t)(at - s.p) : SIZE_MAX;
}

size_t str_rchr(struct str s, char c)
{
    const char *at = s.n ? memrchr(s.p, c, s.n) : NULL;
    return at ? (size_t)(at - s.p) : SIZE_MAX;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.n && is_space(s.p[0]))
        s.p++, s.n--;
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool str_is_blank(struct str s)
{
    return str_trim(s).n == 0;
}

struct str str_split(struct str s, char c, struct str *ret_head)
{
    size_t at = str_chr(s, c);
    if (at == SIZE_MAX) {
        *ret_head = s;
        return STR_NONE;
    }
    *ret_head = str_cut(s, at);
    return str_from(s, at + 1);
}

bool str_int(struct str s, int64_t *ret_value)
{
    bool minus = s.n && s.p[0] == '-';
    size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+');
    int64_t v = 0;
    if (i == s.n)
        return false;
    for (; i < s.n; i++) {
        int digit = s.p[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, minus ? -digit : digit, &v))
            return false;
    }
    *ret_value = v;
    return true;
}

bool str_line(struct str *rest, struct str *ret_line)
{
    if (!rest->p || rest->n == 0)
        return false;
    struct str line;
    struct str tail = str_split(*rest, '\n', &line);
    *ret_line = line;
    *rest = tail;
    return true;
}

uint64_t str_hash(struct str s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return h;
}

char *str_dup(struct str s)
{
    char *z = xmalloc(s.n + 1);
    if (s.n)
        memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    return z;
}
