/* SPDX-License-Identifier: MIT */
/* The selected model, lists of models, and ~/.loaf where both are stored.  For this folder
 * only. */
#ifndef TRIVET_DIALECTS_LOAF_CHOICE_H
#define TRIVET_DIALECTS_LOAF_CHOICE_H

#include "dialects/loaf/structs.h"

/* ---- home.c ---- */

/* Finds the directory, reads its files, and gives loaf's secrets to the engine. */
void loaf_home_open(struct loaf *lf);
/* Writes the settings now; the second only logs a warning on failure. */
bool loaf_home_save_await(struct loaf *lf, struct error *err);
void loaf_home_keep_await(struct loaf *lf);
/* Adds a prompt to inputHistory, in the background. */
void loaf_home_add_prompt(struct loaf *lf, struct str text);
/* Removes settings, secrets and lists, and resets what came from them; saved chats stay. */
bool loaf_home_forget_await(struct loaf *lf, struct error *err);

/* ---- choice.c ---- */

extern const char *const loaf_thinking_levels[]; /* NULL-ended */
extern const char *const loaf_providers[];       /* NULL-ended, in the order of model.list */
extern const char *const loaf_all_providers[];   /* NULL-ended, what `provider` may be */
/* One of loaf_thinking_levels, or NULL. */
const char *loaf_level_named(struct str name);
/* One of loaf_providers, or NULL. */
const char *loaf_known_provider(struct str name);
/* The engine's provider that serves this name now, or NULL; and what loaf calls a provider. */
const struct provider *loaf_provider_named(struct loaf *lf, struct str name);
const char *loaf_provider_name(const struct provider *p);
/* Providers a model can be chosen from now; writes at most max names. */
size_t loaf_enabled_providers(struct loaf *lf, const char **names, size_t max);
/* Selects the model of a saved chat, as far as it is available. */
void loaf_model_take(struct loaf *lf, struct str provider, struct str model, struct str level,
                     struct str routing);
bool loaf_is_enabled(struct loaf *lf, const char *name);
void loaf_enable(struct loaf *lf, struct str name); /* names that loaf does not know are ignored */
/* What loaf calls the model of a slug; a part of it. */
struct str loaf_model_id(struct loaf *lf, struct str slug);
/* The provider of the selected model, or NULL; and its name in loaf. */
const struct provider *loaf_selected_provider(struct loaf *lf);
const char *loaf_selected_name(struct loaf *lf);
bool loaf_selected_model(struct loaf *lf, struct arena *a, struct model *ret);
void loaf_set_slug(struct loaf *lf, const struct provider *p, struct str id);
/* The selected model with the provider in front, as loaf calls both; in the arena. */
struct str loaf_full_id(struct loaf *lf, struct arena *a);
/* The model of this id: of the provider in full_id if that matches, else of the provider that has
 * it; without one nothing changes. */
void loaf_set_model(struct loaf *lf, struct str id, struct str full_id);
void loaf_set_routing(struct loaf *lf, struct str routing);
/* The level if the selected model has it, or if no list says which it has; else the model's
 * default. */
void loaf_fit_thinking(struct loaf *lf, struct str wanted);
void loaf_forget_choice(struct loaf *lf);
/* At the start: the stored selection, repaired, else the model of the environment. */
void loaf_begin_choice(struct loaf *lf);
/* After a sign-in, and at the start: selects a usable model if there is one. */
void loaf_repair_choice(struct loaf *lf);
/* The list of p has arrived: repairs an empty selection and an unsupported thinking level; emits
 * state.changed if the selection changed. */
void loaf_list_came(struct loaf *lf, const struct provider *p);
/* Gives the session the selected model, where it has another. */
void loaf_model_apply(struct loaf *lf, struct session *s);

/* ---- options.c, routing.c, model.c ---- */

struct model_option { /* ModelOption */
    const char *provider;
    struct str id, label, description;
    const char *levels[6];
    size_t n_levels;
    bool has_levels; /* from a list; else it may have others too */
    const char *default_level;
    int64_t window;    /* tokens, 0: not known */
    int64_t priority;  /* the provider's own order, 0: unknown */
    struct str routes; /* comma separated, or STR_NONE */
};
/* All models of a provider, by loaf's name of it; in the arena.  Those of an account are known when
 * its list was fetched, now or earlier by a loaf on this machine. */
const struct model_option *loaf_options(struct loaf *lf, struct arena *a, struct str name,
                                        size_t *ret_n);
/* One of them; while there is no list also one that the program knows. */
bool loaf_option_find(struct loaf *lf, struct arena *a, struct str provider, struct str id,
                      struct model_option *ret);
bool loaf_has_list(struct loaf *lf, struct str name);
struct model_option loaf_option_unknown(const char *provider); /* of a model in no list */
void loaf_put_option(struct loaf *lf, struct jw *w, const struct model_option *o);
/* Writes the provider's list to models-cache.json. */
void loaf_options_keep(struct loaf *lf, const char *provider); /* in the background */
void loaf_options_keep_await(struct loaf *lf, const char *provider);
/* The result of model.openrouter.providers for the model, a JSON array; STR_NONE: not requested. */
struct str loaf_routes_of(struct loaf *lf, struct str model_id);
void loaf_routes_free(struct loaf *lf);
bool loaf_has_cached(struct loaf *lf, const char *provider);
void loaf_put_selection(struct loaf *lf, struct jw *w);                    /* four members */
void loaf_put_models(struct loaf *lf, struct jw *w, const char *provider); /* NULL: of all */

/* ---- lists.c ---- */

enum list_source { LIST_IS_REMOTE, LIST_IS_CACHE, LIST_IS_FALLBACK };
/* After a sign-in or another key: asks for the provider's list now. */
enum list_source loaf_fetch_list_await(struct loaf *lf, const char *name);
/* Fetches all available lists in the background, except recent ones. */
void loaf_refresh_lists(struct loaf *lf);
/* Waits for running requests of lists while no model is selected. */
bool loaf_wait_for_choice_await(struct loaf *lf, struct error *err);

#endif
