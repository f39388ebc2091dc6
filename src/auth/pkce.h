/* SPDX-License-Identifier: MIT */
/* The random parts of a sign-in (RFC 7636, S256). */
#ifndef TRIVET_AUTH_PKCE_H
#define TRIVET_AUTH_PKCE_H

#include "base/buf.h"

enum {
    PKCE_VERIFIER_LEN = 86,  /* base64url of 64 bytes */
    PKCE_CHALLENGE_LEN = 43, /* base64url of 32 bytes */
    PKCE_STATE_LEN = 43,
};

struct pkce {
    char verifier[PKCE_VERIFIER_LEN + 1];
    char challenge[PKCE_CHALLENGE_LEN + 1];
    char state[PKCE_STATE_LEN + 1];
};

/* New verifier and state, and the verifier's challenge. */
void pkce_init(struct pkce *p);
/* base64url of the SHA-256 of the verifier's characters. */
void pkce_challenge(struct str verifier, char out[PKCE_CHALLENGE_LEN + 1]);
/* Whether they are equal, compared in constant time. */
bool pkce_is_same(struct str a, struct str b);

#endif
