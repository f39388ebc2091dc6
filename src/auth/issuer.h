/* SPDX-License-Identifier: MIT */
/* Token issuers as rows: addresses, clients, scopes, and their differences. */
#ifndef TRIVET_AUTH_ISSUER_H
#define TRIVET_AUTH_ISSUER_H

#include "auth/store.h"

struct issuer_url {                /* base URL (from the environment, or the default) and a path */
    const char *env, *base, *path; /* path NULL: the issuer has no such address */
};

enum issuer_style {
    ISSUER_OAUTH, /* form-encoded exchange for an access and a refresh token */
    ISSUER_KEY,   /* JSON exchange for an API key; no state, so the callback has a random path */
};

struct issuer {
    const char *name;     /* "openai" */
    const char *title;    /* "OpenAI", for display */
    const char *provider; /* provider of the stored entry, unless the caller names another */
    enum issuer_style style;
    struct issuer_url authorize, token, revoke, profile;
    struct issuer_url device_start, device_poll, device_page, device_redirect;
    const char *client_id;         /* public default, or NULL */
    const char *client_id_env;     /* overrides the default; NULL: the issuer has no clients */
    const char *client_secret_env; /* set: a secret is needed */
    const char *scope;
    const char *redirect_path;
    const char *extra_query; /* ready to append, begins with "&" */
    bool names_originator;   /* the authorize query names the originator */
    bool secret_in_header;   /* the client's secret goes into the Authorization header */
    const char *resource;    /* what the tokens are for (RFC 8707), or NULL */
    const char *identifier; /* that a redirect back may name (RFC 9207); NULL: it is not compared */
    bool names_itself;      /* every redirect back does */
    bool refreshes_by_json;
    bool offers_api_key; /* the id token can be exchanged for one */
    int ports[3];        /* tried in this order; 0: any free one */
};

extern const struct issuer issuer_rows[]; /* ended by a NULL name */

const struct issuer *issuer_find(struct str name); /* NULL when unknown */
/* The issuer whose tokens the provider uses; NULL when it has keys only. */
const struct issuer *issuer_of(struct str provider);
/* Appends the address, with the base from the environment if set. */
void issuer_url(struct buf *out, const struct issuer_url *u);

struct issuer_client {
    struct str id, secret; /* borrowed from the settings, the environment or the row */
};
/* Precedence: `given`, the store's settings, the environment, the default.  ERR_NO_KEY names the
 * missing variables. */
bool issuer_client(const struct issuer *i, const struct auth_store *st, struct str given_id,
                   struct issuer_client *ret, struct error *err);

#endif
