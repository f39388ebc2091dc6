/* SPDX-License-Identifier: MIT */
/* The engine: everything a process has one of.  Providers, models, the shared shell, the open
 * sessions.  Only the command line makes one; dialects are handed it. */
#ifndef TRIVET_ENGINE_ENGINE_H
#define TRIVET_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/err.h"
#include "loop/fiber.h"
#include "providers/provider.h"

struct engine;

struct engine *engine_new(struct loop *l, const struct provider *const *providers, size_t n);
/* Every session must be closed and their turns ended (engine_is_idle). */
void engine_free(struct engine *e);
struct loop *engine_loop(struct engine *e);
/* No turn runs. */
bool engine_is_idle(const struct engine *e);
/* Waits until every turn has ended; not cancelable. */
void engine_drain_through_await(struct engine *e);
/* Cancels every running turn and refuses new input. */
void engine_stop(struct engine *e);

/* One rule for all dialects: models are named "provider/model-id".  A name whose first part is no
 * provider of ours goes whole to the OpenAI-compatible gateway.  ERR_NO_MODEL for an empty one.
 * Strings of *ret lie in the arena or are static. */
bool engine_find_model(struct engine *e, struct arena *a, struct str slug, struct model *ret,
                       struct error *err);
const struct provider *engine_find_provider(struct engine *e, struct str name);
/* All models the providers know by themselves. */
const struct provider *const *engine_providers(struct engine *e, size_t *ret_n);
/* TRIVET_MODEL, or STR_NONE. */
struct str engine_default_model(struct engine *e);
/* The directory the process was started in. */
struct str engine_launch_dir(const struct engine *e);
/* Whether the provider could be asked now: it needs no key, or has one. */
bool engine_has_key(struct engine *e, const struct provider *p);

#endif
