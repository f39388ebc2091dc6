/* SPDX-License-Identifier: MIT */
/* The engine: providers, models, credentials, the shared shell, the environment of commands, the
 * open sessions.  A process on stdio has one; a daemon has one for each profile (who connects from
 * where), and these find each other's sessions.  Dialects are handed theirs. */
#ifndef TRIVET_ENGINE_ENGINE_H
#define TRIVET_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/err.h"
#include "loop/fiber.h"
#include "providers/limits.h"
#include "providers/provider.h"
#include "providers/quota.h"

struct engine;

/* Moves the variables that tools may not see to where /proc/PID/environ does not show them.  To be
 * called before anybody keeps what getenv returned. */
void engine_hide_environment(void);
struct engine *engine_new(struct loop *l, const struct provider *const *providers, size_t n);
/* One more in the same process: the same loop and providers, sessions and turns of both are found
 * from either; everything else is its own. */
struct engine *engine_new_beside(struct engine *e);
/* Clients come and go while sessions go on: those that come back to an interrupted turn hear of its
 * end. */
void engine_share(struct engine *e);
/* Every session must be closed and their turns ended (engine_is_idle). */
void engine_free(struct engine *e);
struct loop *engine_loop(struct engine *e);
/* The skills that were found last (context/skill_store.h). */
struct skill_store;
struct skill_store *engine_skills(struct engine *e);
/* No turn runs. */
bool engine_is_idle(const struct engine *e);
/* Waits until every turn has ended, then ends the background jobs; not cancelable. */
void engine_drain_through_await(struct engine *e);
/* Cancels every running turn, refuses new input, asks background jobs to end. */
void engine_stop(struct engine *e);

/* --- models (providers/catalogue.h) --- */

/* One rule for all dialects: models are named "provider/model-id".  A name whose first part is no
 * known provider goes whole to the OpenAI-compatible gateway.  ERR_NO_MODEL for an empty one.
 * Strings of *ret lie in the arena or are static. */
bool engine_find_model(struct engine *e, struct arena *a, struct str slug, struct model *ret,
                       struct error *err);
/* The provider that such a name means, without looking the model up; NULL when there is none.
 * ret_id gets the part of the slug that is the model's id there. */
const struct provider *engine_slug_provider(struct engine *e, struct str slug, struct str *ret_id);
/* From now on the provider is at this address and gets this key, whatever the environment says;
 * empty: its usual address, no key. */
void engine_point_provider(struct engine *e, const struct provider *p, struct str base_url,
                           struct str key);
/* Where the provider is and with which key: as engine_point_provider said, else by the environment.
 * Without a slash at the end; STR_NONE: no key. */
struct str engine_base_url(const struct engine *e, const struct provider *p);
struct str engine_given_key(const struct engine *e, const struct provider *p);
const struct provider *engine_find_provider(struct engine *e, struct str name);
const struct provider *const *engine_providers(struct engine *e, size_t *ret_n);
/* What is known about the models of a provider (NULL: of all), without asking anybody: the
 * program's rows, the kept live lists, the user's file.  In the arena. */
const struct model *engine_models(struct engine *e, const struct provider *p, struct arena *a,
                                  size_t *ret_n);
/* Asks the provider for its list unless there is a good one; an older list that goes on serving is
 * a success.  ERR_INVALID when the provider has none to ask for (p->list is LIST_NONE). */
bool engine_refresh_models_await(struct engine *e, const struct provider *p, struct error *err);
/* The same in any case, to find out whether the credentials are good: ERR_AUTH when they are not.
 */
bool engine_check_key_await(struct engine *e, const struct provider *p, struct error *err);
/* Refreshes several lists in parallel.  on_list (may be NULL) is called for each list that changed,
 * as soon as it is there, in a fiber of its own: it may await.  Failures are ignored: false only
 * with ERR_CANCELED. */
typedef void engine_list_fn(void *arg, const struct provider *p);
bool engine_refresh_lists_await(struct engine *e, const struct provider *const *which, size_t n,
                                engine_list_fn *on_list, void *arg, struct error *err);
/* The usable providers that have a list to ask for, without the servers on this machine.  In the
 * arena, with space for one more. */
const struct provider **engine_listing_providers(struct engine *e, struct arena *a, size_t *ret_n);
/* The next refresh asks in any case. */
void engine_expire_models(struct engine *e, const struct provider *p);
/* After a sign-in, a sign-out or another key: lists of the providers that use the entry `name` of
 * the store are dropped, for they may be another account's. */
void engine_forget_models(struct engine *e, struct str name);
/* Fills struct model.routes of OpenRouter's models. */
bool engine_refresh_routes_await(struct engine *e, const struct provider *p, struct error *err);
/* OpenRouter's public list, not only what the key may use; in the arena. */
bool engine_public_models_await(struct engine *e, const struct provider *p, struct arena *a,
                                struct model **ret, size_t *ret_n, struct error *err);
/* When that list was fetched, wall clock; 0: there is none. */
int64_t engine_models_fetched_ms(struct engine *e, const struct provider *p);
/* The upstreams that OpenRouter can send a model's requests to, names as ask.route takes them; in
 * the arena.  An id without author has none. */
bool engine_routes_await(struct engine *e, const struct provider *p, struct str model_id,
                         struct arena *a, struct str_list *ret, struct error *err);
/* What is left of a subscription (codex, antigravity); strings in the arena. */
bool engine_quota_await(struct engine *e, const struct provider *p, struct arena *a,
                        struct quota *ret, struct error *err);
/* Which local servers run now; about a second at most. */
bool engine_discover_await(struct engine *e, struct arena *a, const struct provider *const **ret,
                           size_t *ret_n, struct error *err);
/* What the provider said last about its limits; false when it has not answered yet. */
bool engine_limits(struct engine *e, const struct provider *p, struct limits *ret);
/* TRIVET_MODEL, or STR_NONE. */
struct str engine_default_model(struct engine *e);
/* What children of the process may see of its environment: complete, NULL-ended. */
const char *const *engine_environment(const struct engine *e);
/* The real path, in the arena, of a directory named on the command line; ERR_INVALID when it is
 * none. */
bool engine_find_workspace(struct str path, struct arena *a, struct str *ret, struct error *err);
/* Where keys and sign-ins are kept; trivet's own file unless the dialect said another before.  The
 * engine owns what it is given. */
struct auth_store;
struct auth_store *engine_auth(struct engine *e);
void engine_auth_path(struct buf *out); /* of trivet's own file */
void engine_use_auth(struct engine *e, struct auth_store *st);
/* A hub of these servers (mcp/hub.h) for a workspace; settings: of a session, or NULL.  The caller
 * ends it. */
struct mcp_hub;
struct mcp_configs;
struct session_settings;
struct mcp_hub *engine_hub_new(struct engine *e, struct str workspace,
                               const struct session_settings *settings, struct mcp_configs *c);
/* Whether the web can be searched: there is a key for it. */
bool engine_can_search(struct engine *e);
/* Reads stored values again, which another process has changed. */
void engine_forget_keys(struct engine *e);
/* Whether the provider could be asked now: it needs no key, or has one. */
bool engine_has_key(struct engine *e, const struct provider *p);
/* The same, but a provider with accounts needs a sign-in even if its address needs no key. */
bool engine_is_usable(struct engine *e, const struct provider *p);
/* Whether there is a key or a sign-in for it, needed or not. */
bool engine_has_credential(struct engine *e, const struct provider *p);

#endif
