/* SPDX-License-Identifier: MIT */
/* The catalogue of models, from three sources in this order of precedence:
 *
 *     the user's file     models.json in $XDG_CONFIG_HOME/trivet, or what TRIVET_MODELS names
 *     live lists          lists fetched from providers, cached in $XDG_CACHE_HOME/trivet
 *     the program         the rows of struct provider
 *
 * Sources are merged by member: a user who sets a context window keeps the price of the live list.
 * Everything is read on demand: a lookup reads the user's file and the cached list of that one
 * provider; only the *_await functions use the network.
 *
 * The user's file: {"models":[{"id":"openai/gpt-6-sol", "name", "description", "context_window",
 * "max_output", "images", "reasons", "reasoning":["off","low",...], "price_in", "price_out",
 * "price_cached", "price_cache_write"}]}, all but the id optional; tokens, and USD per million of
 * them.  It is read again when it changes.  One that is broken is reported once and counts as
 * absent.
 */
#ifndef TRIVET_PROVIDERS_CATALOGUE_H
#define TRIVET_PROVIDERS_CATALOGUE_H

#include "loop/fiber.h"
#include "providers/provider.h"

struct catalogue;

/* Address and credentials of a provider; filled by the engine. */
struct catalogue_access {
    struct str base_url, key; /* without a slash at the end; key may be STR_NONE */
    struct str account_id;    /* of a sign-in, or STR_NONE */
    struct str owner;         /* account that the list belongs to, or STR_NONE: the same for all */
};
typedef void catalogue_access_fn(void *arg, const struct provider *p, struct catalogue_access *ret);

/* The list of providers must outlive the catalogue.  The result of `access` is copied at once. */
struct catalogue *catalogue_new(struct loop *l, const struct provider *const *providers, size_t n,
                                catalogue_access_fn *access, void *arg);
void catalogue_free(struct catalogue *c);

/* Data about one model; for an unknown model only its name.  Strings of the result are in the
 * arena. */
struct model catalogue_find(struct catalogue *c, struct arena *a, const struct provider *p,
                            struct str id);
/* All known models of a provider (NULL: of all): the program's in their order, then those of the
 * live list, then the user's own.  In the arena. */
const struct model *catalogue_list(struct catalogue *c, const struct provider *p, struct arena *a,
                                   size_t *ret_n);

/* Updates the live list of p: a list younger than a day is kept (a local server is asked each
 * time), otherwise it is fetched, within 10 s, and cached for the next process.  When that fails,
 * or the answer has no model, the older list stays in use, the call succeeds, and the next request
 * is made after 30 s at the earliest.  Calls during a request wait for its answer.  ERR_INVALID
 * when the provider has no list. */
bool catalogue_refresh_await(struct catalogue *c, const struct provider *p, struct error *err);
/* Fetches the list in any case, to find out whether the credentials are good: an older list does
 * not make it succeed.  True for a provider without a list. */
bool catalogue_check_await(struct catalogue *c, const struct provider *p, struct error *err);
/* The next refresh fetches the list, whatever its age. */
void catalogue_expire(struct catalogue *c, const struct provider *p);
/* To be called after a sign-in, a sign-out or a change of the key.  Drops the list in memory; the
 * cached one is used again only if it belongs to the current account. */
void catalogue_forget(struct catalogue *c, const struct provider *p);
/* Asks OpenRouter for the routes of all models in its list, unless they are known. */
bool catalogue_refresh_routes_await(struct catalogue *c, const struct provider *p,
                                    struct error *err);
/* All models of OpenRouter's public list, also those that the key cannot use; fetched once a day.
 * In the arena. */
bool catalogue_public_await(struct catalogue *c, const struct provider *p, struct arena *a,
                            struct model **ret, size_t *ret_n, struct error *err);
/* When the list was fetched, wall clock; 0: there is none. */
int64_t catalogue_fetched_ms(struct catalogue *c, const struct provider *p);

/* The project whose quota a request to Cloud Code uses, for ask.project: from ANTIGRAVITY_PROJECT,
 * else from the account, fetched once.  In the arena. */
bool catalogue_project_await(struct catalogue *c, const struct provider *p, struct arena *a,
                             struct str *ret, struct error *err);
/* The valid names for ask.route of an OpenRouter model, sorted; in the arena. */
bool catalogue_routes_await(struct catalogue *c, const struct provider *p, struct str model_id,
                            struct arena *a, struct str_list *ret, struct error *err);

/* Which local servers are running: all are probed in parallel, with 300 ms to connect.  The
 * providers are in the arena, in the order of the list.  False on cancel, or without a network
 * module. */
bool catalogue_discover_await(struct catalogue *c, struct arena *a,
                              const struct provider *const **ret, size_t *ret_n, struct error *err);

#endif
