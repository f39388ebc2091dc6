/* SPDX-License-Identifier: MIT */
/* Sign-ins at servers with an address: OAuth 2.1 with PKCE.
 *
 *     401 of the server --> its resource metadata --> the authorization server's metadata
 *         --> a client (from the settings, or registered now) --> the browser --> tokens
 *
 * Tokens are kept with the other sign-ins (auth/store.h) under the address of the server, so that
 * another address never gets them; the client and where tokens are renewed in
 * $XDG_STATE_HOME/trivet/mcp-clients.json.
 */
#ifndef TRIVET_MCP_OAUTH_H
#define TRIVET_MCP_OAUTH_H

#include "base/arena.h"
#include "loop/fiber.h"
#include "mcp/config.h"

/* Signs in; on_url gets the address that the user opens.  ERR_NOT_FOUND when the server offers no
 * sign-in. */
typedef void mcp_url_fn(void *arg, struct str url);
bool mcp_login_await(struct loop *l, const struct mcp_config *c, mcp_url_fn *on_url, void *arg,
                     struct error *err);
/* Forgets the tokens. */
bool mcp_logout_await(const struct mcp_config *c, struct error *err);

/* The token for requests, renewed when it is about to end; STR_NONE: there is no sign-in.  False
 * only with ERR_CANCELED. */
bool mcp_token_await(const struct mcp_config *c, struct arena *a, struct str *ret,
                     struct error *err);
/* After a refusal: another token, or false. */
bool mcp_renew_await(const struct mcp_config *c, struct str refused, struct arena *a,
                     struct str *ret, struct error *err);

/* The server wants these rights beyond those of the sign-in: the next one asks for them too. */
void mcp_want_await(const struct mcp_config *c, struct str scope);

#endif
