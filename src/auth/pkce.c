/* SPDX-License-Identifier: MIT */
#include "auth/pkce.h"

#include "base/base64.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/sha256.h"

static void put_url(const void *bytes, size_t n, char *out)
{
    AUTO(buf) struct buf b = BUF_INIT;
    base64url_put(&b, str_n(bytes, n));
    memcpy(out, b.p, b.n + 1);
}

void pkce_challenge(struct str verifier, char out[PKCE_CHALLENGE_LEN + 1])
{
    unsigned char hash[SHA256_LEN];
    sha256_of(verifier, hash);
    put_url(hash, sizeof hash, out);
}

void pkce_init(struct pkce *p)
{
    unsigned char bytes[64];
    random_bytes(bytes, 64);
    put_url(bytes, 64, p->verifier);
    random_bytes(bytes, 32);
    put_url(bytes, 32, p->state);
    pkce_challenge(str_of(p->verifier), p->challenge);
}

bool pkce_is_same(struct str a, struct str b)
{
    unsigned char difference = a.n != b.n;
    for (size_t i = 0; i < a.n && i < b.n; i++)
        difference |= (unsigned char)(a.p[i] ^ b.p[i]);
    return difference == 0;
}
