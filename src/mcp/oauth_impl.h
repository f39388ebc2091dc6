/* SPDX-License-Identifier: MIT */
/* What is found out before a sign-in. */
#ifndef TRIVET_MCP_OAUTH_IMPL_H
#define TRIVET_MCP_OAUTH_IMPL_H

#include "mcp/oauth.h"

struct endpoints {                             /* strings in an arena */
    struct str issuer;                         /* the authorization server */
    bool names_issuer;                         /* in every redirect back (RFC 9207) */
    struct str authorize, token, registration; /* registration may be STR_NONE */
    struct str scope;                          /* or STR_NONE */
    struct str resource;
    bool takes_post, takes_basic, takes_none; /* how a client may show its secret */
};
bool endpoints_find_await(struct loop *l, const struct mcp_config *c, struct arena *a,
                          struct endpoints *ret, struct error *err);
/* name="value" of a WWW-Authenticate header; STR_NONE: there is none. */
struct str challenge_parameter(struct str header, const char *name);
/* https, or this machine. */
bool endpoint_is_safe(struct str url);

struct oauth_client { /* strings in an arena */
    struct str id, secret;
    bool in_header; /* the secret goes into the Authorization header */
};
/* Registers this program; redirect is the address the browser comes back to. */
bool client_register_await(struct loop *l, const struct endpoints *e, struct str redirect,
                           struct arena *a, struct oauth_client *ret, struct error *err);

#endif
