/* SPDX-License-Identifier: MIT */
/* Claims of a token about its owner.  The signature is not checked: the token was received from its
 * issuer over TLS, and servers check it. */
#ifndef TRIVET_AUTH_JWT_H
#define TRIVET_AUTH_JWT_H

#include "base/arena.h"

struct claims {
    struct str account_id; /* each STR_NONE when absent */
    struct str user_id;
    struct str email;
    struct str plan;
    bool is_fedramp;
    int64_t expires_ms; /* 0: absent */
};

/* Strings are copied into a.  False when the token is no JWT with an object inside. */
bool jwt_claims(struct str token, struct arena *a, struct claims *ret);

#endif
