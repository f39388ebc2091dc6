/* SPDX-License-Identifier: MIT */
/* The exchanges with an issuer, one function each (providers 57-62), used by login.c and
 * credential.c.  All are for fibers; strings of answers are copied into the arena. */
#ifndef TRIVET_AUTH_OAUTH_H
#define TRIVET_AUTH_OAUTH_H

#include "auth/exchange.h"

struct grant { /* the issuer and the client */
    const struct issuer *issuer;
    struct issuer_client client;
};

/* The URL that the user must open.  The browser is redirected to redirect_uri; scope STR_NONE: the
 * issuer's. */
struct pkce;
void oauth_authorize_url(struct buf *out, const struct grant *g, const struct pkce *p,
                         struct str redirect_uri, struct str scope, struct str originator);

struct oauth_code {
    struct str code, verifier, redirect_uri;
};
/* Exchanges a code for tokens, or for a key. */
bool oauth_code_await(const struct grant *g, const struct oauth_code *c, struct arena *a,
                      struct auth_entry *ret, struct error *err);
/* New tokens for the old entry's refresh token.  Members missing in the answer keep their values.
 * ERR_AUTH: permanently refused, sign in again; every other failure is temporary.  A request that
 * was sent gets a few seconds to complete even if the fiber is canceled, since the old token may
 * already be invalid. */
bool oauth_refresh_await(const struct grant *g, const struct auth_entry *old, struct arena *a,
                         struct auth_entry *ret, struct error *err);
/* Exchanges the id token for an API key.  Often refused. */
bool oauth_api_key_await(const struct grant *g, struct str id_token, struct arena *a,
                         struct str *ret_key, struct error *err);
/* Reads the profile: sets e-mail address, name and picture of the entry. */
bool oauth_profile_await(const struct grant *g, struct arena *a, struct auth_entry *e,
                         struct error *err);
/* Revokes the tokens. */
bool oauth_revoke_await(const struct grant *g, const struct auth_entry *e, struct error *err);

struct device {
    struct str id, user_code;
    int64_t interval_ms;
    int64_t lasts_ms; /* lifetime of the code */
};
/* ERR_NOT_FOUND: the issuer offers no device codes. */
bool oauth_device_start_await(const struct grant *g, struct arena *a, struct device *ret,
                              struct error *err);

enum device_state { DEVICE_PENDING, DEVICE_SLOW_DOWN, DEVICE_GRANTED };
struct device_answer {
    enum device_state state;
    struct str code, verifier; /* when granted; the issuer made the verifier */
};
bool oauth_device_poll_await(const struct grant *g, const struct device *d, struct arena *a,
                             struct device_answer *ret, struct error *err);

#endif
