/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/mem.h"

size_t utf8_get(struct str s, uint32_t *ret_code_point)
{
    if (s.n == 0)
        return 0;
    const unsigned char *p = (const unsigned char *)s.p;
    if (p[0] < 0x80) {
        *ret_code_point = p[0];
        return 1;
    }
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || s.n < n)
        return 0;
    uint32_t c = p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret_code_point = c;
    return n;
}

/* Skips plain ASCII eight bytes at a time. */
static size_t skip_ascii(struct str s, size_t at)
{
    uint64_t word;
    while (at + 8 <= s.n) {
        memcpy(&word, s.p + at, 8);
        if (word & 0x8080808080808080u)
            break;
        at += 8;
    }
    while (at < s.n && (unsigned char)s.p[at] < 0x80)
        at++;
    return at;
}

size_t utf8_valid(struct str s)
{
    size_t at = 0;
    uint32_t c;
    while ((at = skip_ascii(s, at)) < s.n) {
        size_t n = utf8_get(str_from(s, at), &c);
        if (n == 0)
            return at;
        at += n;
    }
    return s.n;
}

/* Length of the maximal ill-formed sequence at the start of s, which one U+FFFD replaces. */
static size_t bad_length(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t want = p[0] < 0xc2 || p[0] > 0xf4 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    size_t n = 1;
    while (n < want && n < s.n && (p[n] & 0xc0) == 0x80) {
        if (n == 1 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                       (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
            break;
        n++;
    }
    return n;
}

bool utf8_repair(struct buf *out, struct str s)
{
    for (;;) {
        size_t good = utf8_valid(s);
        if (!buf_add(out, str_cut(s, good)))
            return false;
        if (good == s.n)
            return true;
        s = str_from(s, good);
        if (!buf_add(out, STR("\xef\xbf\xbd")))
            return false;
        s = str_from(s, bad_length(s));
    }
}

struct str utf8_cut(struct str s, size_t n)
{
    if (s.n <= n)
        return s;
    while (n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return str_cut(s, n);
}

struct str utf8_cut_chars(struct str s, size_t n)
{
    size_t at = 0;
    while (at < s.n && n--) {
        at++;
        while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
            at++;
    }
    return str_cut(s, at);
}

/* The surrogate at the start of s, 0 if there is none.  They have the form of three-byte
 * characters, which UTF-8 forbids. */
static uint32_t surrogate_at(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    if (s.n < 3 || p[0] != 0xed || p[1] < 0xa0 || p[1] > 0xbf || (p[2] & 0xc0) != 0x80)
        return 0;
    return 0xd000u | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

/* Appends a replacement for the invalid UTF-8 at the start of s; returns its length, or 0 when
 * later bytes may complete it to a character. */
static size_t put_bad(struct buf *out, struct str s)
{
    uint32_t first = surrogate_at(s), second = surrogate_at(str_from(s, 3));
    if (first >= 0xd800 && first < 0xdc00 && (second >= 0xdc00 || s.n == 3)) {
        if (s.n == 3)
            return 0;
        utf8_put(out, 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        return 6;
    }
    if (!first && s.n < 4 && utf8_unfinished(s) == s.n)
        return 0;
    buf_add(out, STR("\xef\xbf\xbd"));
    return first ? 3 : bad_length(s);
}

struct str utf8_join(struct utf8_half *half, struct str piece, struct buf *out)
{
    size_t begun = out->n, bad;
    AUTO(buf) struct buf both = BUF_INIT;
    if (piece.n == 0 || (half->n == 0 && utf8_is_valid(piece)))
        return piece;
    buf_add(&both, str_n(half->bytes, half->n));
    buf_add(&both, piece);
    half->n = 0;
    for (struct str rest = buf_str(&both); rest.n > 0; rest = str_from(rest, bad)) {
        size_t good = utf8_valid(rest);
        buf_add(out, str_cut(rest, good));
        rest = str_from(rest, good);
        if (rest.n == 0)
            break;
        bad = put_bad(out, rest);
        if (bad == 0) {
            memcpy(half->bytes, rest.p, rest.n);
            half->n = (unsigned char)rest.n;
            break;
        }
    }
    return str_from(buf_str(out), begun);
}

size_t utf8_unfinished(struct str s)
{
    for (size_t back = 1; back <= 3 && back <= s.n; back++) {
        unsigned char c = (unsigned char)s.p[s.n - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
        return want > back ? back : 0;
    }
    return 0;
}

/* Whole conversations are counted before each request, so these two take eight bytes at a time. */

static uint64_t eight(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

enum { EACH = 8 };

/* How many of the eight bytes have their highest bit set. */
static size_t count_high(uint64_t v)
{
    return (size_t)((v >> 7 & 0x0101010101010101u) * 0x0101010101010101u >> 56);
}

size_t utf8_ascii(struct str s)
{
    size_t i = 0, beyond = 0;
    for (; i + EACH <= s.n; i += EACH)
        beyond += count_high(eight(s.p + i));
    for (; i < s.n; i++)
        beyond += (unsigned char)s.p[i] >> 7;
    return s.n - beyond;
}

size_t utf8_chars(struct str s)
{
    size_t i = 0, following = 0; /* bytes 10xxxxxx */
    for (; i + EACH <= s.n; i += EACH) {
        uint64_t v = eight(s.p + i);
        following += count_high(v & ~(v << 1));
    }
    for (; i < s.n; i++)
        following += ((unsigned char)s.p[i] & 0xc0) == 0x80;
    return s.n - following;
}

size_t utf8_utf16_len(struct str s)
{
    size_t count = utf8_chars(s);
    for (size_t i = 0; i < s.n; i++)
        count += (unsigned char)s.p[i] >= 0xf0;
    return count;
}

bool utf8_put(struct buf *out, uint32_t c)
{
    char b[4];
    size_t n;
    if (c < 0x80) {
        b[0] = (char)c;
        n = 1;
    } else if (c < 0x800) {
        b[0] = (char)(0xc0 | c >> 6);
        n = 2;
    } else if (c < 0x10000) {
        b[0] = (char)(0xe0 | c >> 12);
        n = 3;
    } else {
        b[0] = (char)(0xf0 | c >> 18);
        n = 4;
    }
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    return buf_add(out, str_n(b, n));
}

struct str utf8_cut_utf16(struct str s, size_t n)
{
    size_t at = 0, units = 0, len;
    uint32_t c;
    while ((len = utf8_get(str_from(s, at), &c)) > 0 && units + 1 + (c > 0xffff) <= n) {
        units += 1 + (c > 0xffff);
        at += len;
    }
    return str_cut(s, at);
}

/* ---- white space ---- */

static bool is_space(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000 || c == 0xfeff;
}

size_t utf8_space_first(struct str s)
{
    uint32_t c;
    size_t n = utf8_get(s, &c);
    return n && is_space(c) ? n : 0;
}

size_t utf8_space_last(struct str s)
{
    for (size_t n = 1; n <= MIN(s.n, (size_t)3); n++)
        if (utf8_space_first(str_from(s, s.n - n)) == n)
            return n;
    return 0;
}

struct str utf8_trim(struct str s)
{
    size_t n;
    while ((n = utf8_space_first(s)) > 0)
        s = str_from(s, n);
    while ((n = utf8_space_last(s)) > 0)
        s = str_cut(s, s.n - n);
    return s;
}

void utf8_collapse(struct buf *out, struct str s)
{
    size_t at = 0, n;
    bool has_gap = false;
    for (s = utf8_trim(s); at < s.n && !out->full; at += MAX(n, (size_t)1)) {
        n = utf8_space_first(str_from(s, at));
        if (n && !has_gap)
            buf_addc(out, ' ');
        else if (!n)
            buf_addc(out, s.p[at]);
        has_gap = n > 0;
    }
}
