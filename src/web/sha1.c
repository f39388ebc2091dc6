/* SPDX-License-Identifier: MIT */
#include "web/sha1.h"

#include "base/buf.h"
#include "base/mem.h"

enum { BLOCK = 64 };

static uint32_t turn_left(uint32_t v, unsigned by)
{
    return v << by | v >> (32 - by);
}

/* The function and the constant of a round. */
static uint32_t round_value(int i, const uint32_t v[5])
{
    uint32_t b = v[1], c = v[2], d = v[3];
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (i < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (i < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void mix(uint32_t h[5], const unsigned char *block)
{
    uint32_t w[80], v[5]; /* v: the standard's a to e */
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = turn_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 80; i++) {
        uint32_t first = turn_left(v[0], 5) + round_value(i, v) + v[4] + w[i];
        memmove(v + 1, v, 4 * sizeof *v);
        v[2] = turn_left(v[2], 30);
        v[0] = first;
    }
    for (int i = 0; i < 5; i++)
        h[i] += v[i];
}

void sha1_of(struct str bytes, unsigned char out[SHA1_LEN])
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    AUTO(buf) struct buf padded = BUF_INIT;
    buf_add(&padded, bytes);
    buf_addc(&padded, (char)0x80);
    while (padded.n % BLOCK != BLOCK - 8)
        buf_addc(&padded, '\0');
    for (int i = 7; i >= 0; i--)
        buf_addc(&padded, (char)((uint64_t)bytes.n * 8 >> (8 * i)));
    for (size_t at = 0; at < padded.n; at += BLOCK)
        mix(h, (const unsigned char *)padded.p + at);
    for (int i = 0; i < SHA1_LEN; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}
