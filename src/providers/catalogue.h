/* SPDX-License-Identifier: MIT */
/* The catalogue: what is known about models, from three sources in this order of weight:
 *
 *     the user's file     models.json in $XDG_CONFIG_HOME/trivet, or what TRIVET_MODELS names
 *     live lists          what providers answer, kept in $XDG_CACHE_HOME/trivet
 *     the program         the rows of struct provider
 *
 * Each says what it knows: a user who sets a context window keeps the price of the list below.
 * Nothing is asked for or read before somebody wants to know: a lookup reads the user's file and
 * the kept list of that one provider; the network is used by the *_await functions alone.
 *
 * The user's file: {"models":[{"id":"openai/gpt-6-sol", "name", "description", "context_window",
 * "max_output", "images", "reasons", "reasoning":["off","low",...], "price_in", "price_out",
 * "price_cached"}]}, all but the id optional; tokens, and USD per million of them.  It is read
 * again when it changes.  One that is broken is reported once and counts as absent.
 */
#ifndef TRIVET_PROVIDERS_CATALOGUE_H
#define TRIVET_PROVIDERS_CATALOGUE_H

#include "loop/fiber.h"
#include "providers/provider.h"

struct catalogue;

/* How a provider is reached now; filled by whoever knows about keys. */
struct catalogue_door {
    struct str base_url, key; /* without a slash at the end; key may be STR_NONE */
    struct str account_id;    /* of a sign-in, or STR_NONE */
    struct str owner;         /* account that the list belongs to, or STR_NONE: the same for all */
};
typedef void catalogue_door_fn(void *arg, const struct provider *p, struct catalogue_door *ret);

/* The list of providers must outlive the catalogue.  What the door gives is copied at once. */
struct catalogue *catalogue_new(struct loop *l, const struct provider *const *providers, size_t n,
                                catalogue_door_fn *door, void *arg);
void catalogue_free(struct catalogue *c);

/* What is known about one model; a model nobody knows is taken as it is named.  Strings of the
 * result lie in the arena. */
struct model catalogue_find(struct catalogue *c, struct arena *a, const struct provider *p,
                            struct str id);
/* All known models of a provider (NULL: of all): the program's in their order, then those of the
 * live list, then the user's own.  In the arena. */
const struct model *catalogue_list(struct catalogue *c, const struct provider *p, struct arena *a,
                                   size_t *ret_n);

/* Makes the live list of p good: one younger than a day stays (a local server is asked each time),
 * otherwise it is asked for, within 10 s, and kept for the next process.  When that fails, or the
 * answer names no model, the older list stays in use, the call succeeds, and the next request is
 * made after half a minute at the earliest.  Calls during a request wait for its answer.
 * ERR_INVALID when the provider has no list. */
bool catalogue_refresh_await(struct catalogue *c, const struct provider *p, struct error *err);
/* The next refresh asks, whatever the age of the list. */
void catalogue_expire(struct catalogue *c, const struct provider *p);
/* To be called after a sign-in, a sign-out or a change of the key.  Drops the list in memory; the
 * kept one is used again only if it belongs to the present owner. */
void catalogue_forget(struct catalogue *c, const struct provider *p);
/* Asks OpenRouter for the routes of all models in its list, unless they are known. */
bool catalogue_refresh_routes_await(struct catalogue *c, const struct provider *p,
                                    struct error *err);
/* All models of OpenRouter's public list, whatever the key may use; asked for once a day.  In the
 * arena. */
bool catalogue_public_await(struct catalogue *c, const struct provider *p, struct arena *a,
                            struct model **ret, size_t *ret_n, struct error *err);
/* When the list was fetched, wall clock; 0: there is none. */
int64_t catalogue_fetched_ms(struct catalogue *c, const struct provider *p);

/* Whose quota a request to Cloud Code uses, for ask.project: what ANTIGRAVITY_PROJECT says, else
 * what the account says, asked once.  In the arena. */
bool catalogue_project_await(struct catalogue *c, const struct provider *p, struct arena *a,
                             struct str *ret, struct error *err);
/* The names that ask.route takes for a model of OpenRouter, sorted; in the arena. */
bool catalogue_routes_await(struct catalogue *c, const struct provider *p, struct str model_id,
                            struct arena *a, struct str **ret, size_t *ret_n, struct error *err);

/* Which local servers run: all are asked at once, each gets 300 ms to take the connection.  The
 * providers lie in the arena, in the order of the list.  False on cancel, or without a network
 * module. */
bool catalogue_discover_await(struct catalogue *c, struct arena *a,
                              const struct provider *const **ret, size_t *ret_n, struct error *err);

#endif
