/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

static uint64_t fixed; /* state of the test sequence, 0: real randomness */

void id_fix(uint64_t seed)
{
    fixed = seed;
}

static uint64_t next_fixed(void) /* splitmix64 */
{
    uint64_t z = (fixed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void random_bytes(void *out, size_t n)
{
    unsigned char *p = out;
    if (fixed) {
        for (size_t i = 0; i < n; i++)
            p[i] = (unsigned char)next_fixed();
        return;
    }
    while (n) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno != EINTR)
            BUG("getrandom failed: %d", errno);
        if (got > 0) {
            p += got;
            n -= (size_t)got;
        }
    }
}

uint64_t random_below(uint64_t bound)
{
    uint64_t v;
    random_bytes(&v, sizeof v);
    return bound ? v % bound : 0;
}

void id_hex(char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char b;
        random_bytes(&b, 1);
        out[i] = "0123456789abcdef"[b & 15];
    }
    out[n] = '\0';
}

void id_uuid(char out[UUID_LEN + 1])
{
    unsigned char b[16];
    random_bytes(b, sizeof b);
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    for (size_t i = 0, at = 0; i < sizeof b; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[at++] = '-';
        out[at++] = "0123456789abcdef"[b[i] >> 4];
        out[at++] = "0123456789abcdef"[b[i] & 15];
        out[at] = '\0';
    }
}
