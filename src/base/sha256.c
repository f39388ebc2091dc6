/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include "base/mem.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn_right(uint32_t v, unsigned by)
{
    return v >> by | v << (32 - by);
}

/* Message schedule: the first 16 words are the bytes of the block, the others are derived from
 * earlier words.
 */
static void spread(const unsigned char *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (turn_right(a, 7) ^ turn_right(a, 18) ^ a >> 3) +
               (turn_right(b, 17) ^ turn_right(b, 19) ^ b >> 10);
    }
}

static void mix(uint32_t h[8], const unsigned char *block)
{
    uint32_t w[64], v[8]; /* v: the standard's a to h */
    spread(block, w);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t one = v[7] + (turn_right(e, 6) ^ turn_right(e, 11) ^ turn_right(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + round_constants[i] + w[i];
        uint32_t two = (turn_right(a, 2) ^ turn_right(a, 13) ^ turn_right(a, 22)) +
                       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void sha256_init(struct sha256 *s)
{
    *s = (struct sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                               0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, struct str bytes)
{
    while (bytes.n) {
        size_t at = s->n_bytes % sizeof s->block;
        size_t n = MIN(bytes.n, sizeof s->block - at);
        memcpy(s->block + at, bytes.p, n);
        s->n_bytes += n;
        bytes = str_from(bytes, n);
        if (at + n == sizeof s->block)
            mix(s->h, s->block);
    }
}

void sha256_end(struct sha256 *s, unsigned char out[SHA256_LEN])
{
    static const char padding[64] = {(char)0x80};
    char length[8];
    uint64_t n_bits = s->n_bytes * 8;
    size_t at = s->n_bytes % sizeof s->block;
    for (int i = 0; i < 8; i++)
        length[i] = (char)(n_bits >> (56 - 8 * i));
    sha256_add(s, str_n(padding, (at < 56 ? 56 : 120) - at));
    sha256_add(s, str_n(length, sizeof length));
    for (int i = 0; i < SHA256_LEN; i++)
        out[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_of(struct str bytes, unsigned char out[SHA256_LEN])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, bytes);
    sha256_end(&s, out);
}
