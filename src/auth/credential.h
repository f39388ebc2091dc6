/* SPDX-License-Identifier: MIT */
/* Valid credentials for requests to a provider.
 *
 * The environment's key comes first, then the store.  A token that expires within five minutes is
 * refreshed first.  Refresh tokens are single-use, and using one twice ends the sign-in; so all
 * callers in a process share one refresh, and processes use a lock file and read the store again
 * before they send a request to the issuer.
 */
#ifndef TRIVET_AUTH_CREDENTIAL_H
#define TRIVET_AUTH_CREDENTIAL_H

#include "auth/store.h"

enum credential_source { CREDENTIAL_ENV, CREDENTIAL_STORED };

struct credential {
    enum auth_type type; /* a token, or a key */
    enum credential_source source;
    struct str token;                   /* bearer token */
    struct str account_id, email, plan; /* STR_NONE when not known */
    bool is_fedramp;
    int64_t expires_ms; /* 0: not known, or never */
    struct arena arena; /* of the strings */
};
#define CREDENTIAL_INIT ((struct credential){0})
void credential_clear(struct credential *c);

/* The stored credential without a refresh.  ERR_NO_KEY when there is none, ERR_CORRUPT. */
bool credential_peek(const struct auth_store *st, const char *provider, struct credential *ret,
                     struct error *err);
/* ERR_NO_KEY, ERR_CORRUPT; ERR_AUTH when the issuer refused the refresh permanently; ERR_NETWORK,
 * ERR_TIMEOUT, ERR_PROVIDER and the like when it may work later.  While the old token is valid, it
 * is returned even if the refresh failed. */
bool credential_await(struct auth_store *st, const char *provider, struct credential *ret,
                      struct error *err);
/* After a 401: a token other than `refused`, by a refresh unless it was refreshed meanwhile.
 * ERR_AUTH for keys, which cannot be refreshed. */
bool credential_renew_await(struct auth_store *st, const char *provider, struct str refused,
                            struct credential *ret, struct error *err);

#endif
