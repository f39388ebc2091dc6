/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include "base/mem.h"

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool put(struct buf *out, struct str bytes, const char *digits, bool pad)
{
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = MIN(bytes.n - i, (size_t)3);
        uint32_t v = (uint32_t)(unsigned char)bytes.p[i] << 16;
        if (left > 1)
            v |= (uint32_t)(unsigned char)bytes.p[i + 1] << 8;
        if (left > 2)
            v |= (unsigned char)bytes.p[i + 2];
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};
        for (size_t k = left + 1; k < 4; k++)
            four[k] = '=';
        if (!buf_add(out, str_n(four, pad ? 4 : left + 1)))
            return false;
    }
    return true;
}

bool base64_put(struct buf *out, struct str bytes)
{
    return put(out, bytes, plain, true);
}

bool base64url_put(struct buf *out, struct str bytes)
{
    return put(out, bytes, url, false);
}

static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Value of four digits, the last `pad` of them '='; false when malformed. */
static bool take_four(const char *four, size_t pad, uint32_t *ret_bits)
{
    uint32_t v = 0;
    for (size_t k = 0; k < 4; k++) {
        int digit = k >= 4 - pad ? 0 : digit_value(four[k]);
        if (digit < 0)
            return false;
        v = v << 6 | (uint32_t)digit;
    }
    if ((pad == 1 && (v & 0xff)) || (pad == 2 && (v & 0xffff)))
        return false;
    *ret_bits = v;
    return true;
}

static size_t padding(struct str text)
{
    return str_ends(text, STR("==")) ? 2 : str_ends(text, STR("=")) ? 1 : 0;
}

size_t base64_size(struct str text)
{
    uint32_t v;
    if (text.n % 4)
        return SIZE_MAX;
    size_t pad = padding(text);
    for (size_t i = 0; i < text.n; i += 4)
        if (!take_four(text.p + i, i + 4 == text.n ? pad : 0, &v))
            return SIZE_MAX;
    return text.n / 4 * 3 - pad;
}

bool base64_get(struct buf *out, struct str text)
{
    uint32_t v;
    if (text.n % 4)
        return false;
    for (size_t i = 0; i < text.n; i += 4) {
        size_t pad = i + 4 == text.n ? padding(text) : 0;
        if (!take_four(text.p + i, pad, &v))
            return false;
        char three[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
        if (!buf_add(out, str_n(three, 3 - pad)))
            return false;
    }
    return true;
}

bool base64_get_loose(struct buf *out, struct str text)
{
    uint32_t v = 0;
    int n_bits = 0;
    for (size_t i = 0; i < text.n && text.p[i] != '='; i++) {
        char c = text.p[i];
        int digit = digit_value(c == '-' ? '+' : c == '_' ? '/' : c);
        if (digit < 0)
            continue;
        v = v << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        if (!buf_addc(out, (char)(v >> n_bits)))
            return false;
    }
    return true;
}
