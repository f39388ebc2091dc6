/* SPDX-License-Identifier: MIT */
/* What a request to a provider is authorised with, valid now.
 *
 * The environment's key comes first, then the store.  A token that ends within five minutes is
 * refreshed before it is given out.  Refresh tokens are used up by using them, and using one twice
 * ends the sign-in; so in one process all who ask share one refresh, and processes take turns with
 * a lock and look again before they ask the issuer.
 */
#ifndef TRIVET_AUTH_CREDENTIAL_H
#define TRIVET_AUTH_CREDENTIAL_H

#include "auth/store.h"

enum credential_source { CREDENTIAL_ENV, CREDENTIAL_STORED };

struct credential {
    enum auth_type type; /* a token, or a key */
    enum credential_source source;
    struct str token;                   /* the bearer */
    struct str account_id, email, plan; /* STR_NONE when not known */
    bool is_fedramp;
    int64_t expires_ms; /* 0: not known, or never */
    struct arena arena; /* of the strings */
};
#define CREDENTIAL_INIT ((struct credential){0})
void credential_clear(struct credential *c);

/* What there is, as it is: nothing is refreshed.  ERR_NO_KEY when there is nothing, ERR_CORRUPT. */
bool credential_peek(const struct auth_store *st, const char *provider, struct credential *ret,
                     struct error *err);
/* ERR_NO_KEY, ERR_CORRUPT; ERR_AUTH when the issuer refused the refresh for good; ERR_NETWORK,
 * ERR_TIMEOUT, ERR_PROVIDER and the like when it may work later.  While the old token is good, it
 * is given out even if the refresh failed. */
bool credential_await(struct auth_store *st, const char *provider, struct credential *ret,
                      struct error *err);
/* After a 401: one that is not `refused`, by a refresh unless somebody had one meanwhile.  ERR_AUTH
 * for keys, of which there is only one. */
bool credential_renew_await(struct auth_store *st, const char *provider, struct str refused,
                            struct credential *ret, struct error *err);

#endif
