/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) for small things: PKCE challenges, comparing secrets without keeping them.
 * Portable and slow, since the core links no libcrypto; not for large files. */
#ifndef TRIVET_BASE_SHA256_H
#define TRIVET_BASE_SHA256_H

#include "base/str.h"

enum { SHA256_LEN = 32 };

struct sha256 {
    uint32_t h[8];
    uint64_t n_bytes;        /* added so far */
    unsigned char block[64]; /* the last n_bytes % 64 of them */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, struct str bytes);
void sha256_end(struct sha256 *s, unsigned char out[SHA256_LEN]);
/* One-shot form. */
void sha256_of(struct str bytes, unsigned char out[SHA256_LEN]);

#endif
