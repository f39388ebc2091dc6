/* SPDX-License-Identifier: MIT */
/* models/..., reasoning/set, openrouter/catalog: one current model for the whole process
 * (kward 302-308).  settings.c selects and stores it. */
#include "dialects/accounts.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"

/* ---- entries ---- */

/* Tauren maps the label OpenAI to Codex, so other providers must not use it. */
const char *kw_label(const struct kward *k, const struct provider *p)
{
    if (k->local && strcmp(p->name, k->local) == 0)
        return "Local";
    return strcmp(p->name, "openai") == 0 ? "OpenAI API" : p->label;
}

struct model kw_current_model(struct kward *k, struct arena *a)
{
    struct model m = {.provider = "openai", .id = STR(""), .name = STR("")};
    struct error ignored;
    engine_find_model(k->sv->engine, a, str_of(k->slug), &m, &ignored);
    if (k->local && k->local_window && strcmp(m.provider, k->local) == 0)
        m.context_window = k->local_window;
    return m;
}

struct str kw_effort(const struct kward *k)
{
    return str_of(k->effort ? k->effort : kw_default_effort);
}

static bool is_same(const struct model *a, const struct model *b)
{
    return strcmp(a->provider, b->provider) == 0 && str_eq(a->id, b->id);
}

static void put_entry(struct kward *k, const struct model *m, bool is_current, struct jw *w)
{
    const struct provider *p = engine_find_provider(k->sv->engine, str_of(m->provider));
    jw_obj(w);
    jw_kz(w, "provider", p ? kw_label(k, p) : m->provider);
    jw_kstr(w, "id", m->id);
    jw_kstr(w, "name", m->name.n ? m->name : m->id);
    jw_kstr(w, "model", m->id);
    jw_kbool(w, "reasoning", m->reasons);
    if (m->reasons)
        jw_kstr(w, "reasoningEffort", kw_effort(k));
    if (m->context_window > 0)
        jw_kint(w, "contextWindow", m->context_window);
    jw_kbool(w, "current", is_current);
    jw_obj_end(w);
}

void kw_put_current_model(struct kward *k, struct jw *w)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m = kw_current_model(k, &a);
    put_entry(k, &m, true, w);
}

/* ---- models/list ---- */

static const struct row list_rows[] = {
    ROW_OUT("models", T_ARR, NEEDED, "by provider, then id", .rows = kw_model_rows, .items = T_OBJ),
    ROW_END,
};

struct choice {
    const char *label;
    struct model model;
};

static int by_label(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    int order = strcmp(x->label, y->label);
    return order ? order : str_cmp(x->model.id, y->model.id);
}

#define ROUTED(word)                                                                               \
    {                                                                                              \
        .provider = "openrouter", .id = {word, sizeof(word) - 1}, .reasons = true                  \
    }
/* Models of OpenRouter while its list is unknown. */
static const struct model routed[] = {
    ROUTED("openai/gpt-5.3-codex-spark"),
    ROUTED("openai/gpt-5.4"),
    ROUTED("openai/gpt-5.4-mini"),
    ROUTED("openai/gpt-5.5"),
};

/* The provider's list, else the built-in models; and those of the user's models.json. */
static const struct model *models_of(struct kward *k, const struct provider *p, struct arena *a,
                                     size_t *ret_n)
{
    size_t n_all, n = 0;
    const struct model *all = engine_models(k->sv->engine, p, a, &n_all);
    bool has_list = engine_models_fetched_ms(k->sv->engine, p) > 0;
    struct model *listed = arena_array(a, struct model, n_all + 1);
    for (size_t i = 0; i < n_all; i++)
        if (!has_list || all[i].source >= MODEL_LIVE)
            listed[n++] = all[i];
    *ret_n = n;
    if (n || strcmp(p->name, "openrouter") != 0)
        return listed;
    *ret_n = ARRAY_LEN(routed);
    return routed;
}

/* The built-in model is listed only while it is in use. */
static bool is_wanted_rehearsal(struct kward *k, const struct provider *p, const char *current)
{
    struct str id, slug = engine_default_model(k->sv->engine);
    return strcmp(current, p->name) == 0 ||
           (slug.n && engine_slug_provider(k->sv->engine, str_trim(slug), &id) == p);
}

/* Models can be chosen of providers with a key or a sign-in, and of local servers that run. */
static bool is_offered(struct kward *k, const struct provider *p, const char *current)
{
    if (p->is_played)
        return is_wanted_rehearsal(k, p, current);
    if (p->doubles && strcmp(current, p->name) != 0)
        return false;
    return p->is_local ? kw_is_running(k, p) : engine_is_usable(k->sv->engine, p);
}

struct choices {
    struct choice *all;
    size_t n, capacity;
};

static void add_choice(struct choices *c, struct kward *k, const struct provider *p,
                       const struct model *m)
{
    GROW(c->all, c->n, c->capacity);
    c->all[c->n++] = (struct choice){kw_label(k, p), *m};
}

static void collect(struct kward *k, const struct model *current, struct arena *a,
                    struct choices *c)
{
    size_t n_providers, n;
    const struct provider *const *p = engine_providers(k->sv->engine, &n_providers);
    struct str slug = arena_fmt(a, "%s/%.*s", current->provider, STR_FMT(current->id));
    for (size_t i = 0; i < n_providers; i++) {
        if (!is_offered(k, p[i], current->provider))
            continue;
        const struct model *m = models_of(k, p[i], a, &n);
        for (size_t j = 0; j < n; j++)
            if (account_lists_model(p[i], &m[j], slug))
                add_choice(c, k, p[i], &m[j]);
    }
}

static bool list_await(struct request *rq, struct jw *w, struct error *err)
{
    struct kward *k = rq->dialect;
    struct choices c = {0};
    bool is_known = false;
    if (!kw_refresh_lists_await(k, err))
        return false;
    struct model current = kw_current_model(k, &rq->arena);
    const struct provider *p = engine_find_provider(k->sv->engine, str_of(current.provider));
    collect(k, &current, &rq->arena, &c);
    for (size_t i = 0; i < c.n; i++)
        is_known |= is_same(&c.all[i].model, &current);
    if (!is_known && p)
        add_choice(&c, k, p, &current);
    if (c.n)
        qsort(c.all, c.n, sizeof *c.all, by_label);
    jw_obj(w);
    jw_karr(w, "models");
    for (size_t i = 0; i < c.n; i++)
        put_entry(k, &c.all[i].model, is_same(&c.all[i].model, &current), w);
    jw_arr_end(w);
    jw_obj_end(w);
    free(c.all);
    return true;
}

const struct method kw_models_list = {
    .name = "models/list",
    .result = list_rows,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = list_await,
    .about =
        "The models of all providers with a key or a sign-in and of local servers that run, and "
        "the current one; the providers are asked for their lists.",
};

static bool current(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    kw_put_current_model(rq->dialect, w);
    return true;
}

const struct method kw_models_current = {
    .name = "models/current",
    .result = kw_model_rows,
    .lane = LANE_MAIN,
    .run = current,
    .about = "The model the next request goes to.",
};

/* ---- models/set ---- */

struct set_params {
    struct str model, provider;
};

static const struct row set_params_rows[] = {
    ROW_AS(set_params, model, "model", T_STR, NEEDED | TRIM, "id of the model"),
    ROW_AS(set_params, provider, "provider", T_STR, NULLABLE | TRIM,
           "label of the provider in any case; the current one when absent"),
    ROW_END,
};

static const char *provider_or_current(struct request *rq, struct str name, struct error *err)
{
    struct kward *k = rq->dialect;
    return name.n ? kw_find_provider(k, name, err) : kw_current_model(k, &rq->arena).provider;
}

static bool set_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct set_params *p = rq->args;
    struct kward *k = rq->dialect;
    if (p->model.n == 0)
        return error_set(err, ERR_INVALID, "Model must be a non-empty string");
    const char *provider = provider_or_current(rq, p->provider, err);
    if (!provider || !kw_choose_model_await(k, provider, p->model, err))
        return false;
    kw_put_current_model(k, w);
    return true;
}

const struct method kw_models_set = {
    .name = "models/set",
    .params = set_params_rows,
    .params_size = sizeof(struct set_params),
    .result = kw_model_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = set_await,
    .about =
        "Selects the model for the next request of every session, and stores it in the config.",
    .errors = "Model must be a non-empty string; Unsupported provider: <x>",
};

/* ---- reasoning/set ---- */

struct effort_params {
    struct str effort, provider;
};

static const struct row effort_params_rows[] = {
    ROW_AS(effort_params, effort, "effort", T_STR, NEEDED | TRIM, "low, medium, high, ..."),
    ROW_AS(effort_params, provider, "provider", T_STR, NULLABLE | TRIM,
           "label of the provider in any case; the current one when absent"),
    ROW_END,
};

static bool set_effort_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct effort_params *p = rq->args;
    struct kward *k = rq->dialect;
    if (p->effort.n == 0)
        return error_set(err, ERR_INVALID, "Reasoning effort must be a non-empty string");
    const char *provider = provider_or_current(rq, p->provider, err);
    if (!provider || !kw_choose_effort_await(k, provider, p->effort, err))
        return false;
    kw_put_current_model(k, w);
    return true;
}

const struct method kw_reasoning_set = {
    .name = "reasoning/set",
    .params = effort_params_rows,
    .params_size = sizeof(struct effort_params),
    .result = kw_model_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = set_effort_await,
    .about = "Sets the reasoning effort, and stores it in the config.",
    .errors = "Reasoning effort must be a non-empty string; Unsupported provider: <x>",
};

/* ---- openrouter/catalog ---- */

static int by_id(const void *a, const void *b)
{
    return str_cmp(((const struct model *)a)->id, ((const struct model *)b)->id);
}

static bool catalog_await(struct request *rq, struct jw *w, struct error *err)
{
    struct kward *k = rq->dialect;
    const struct provider *p = engine_find_provider(k->sv->engine, STR("openrouter"));
    size_t n = 0;
    struct model *models = NULL;
    if (!p || !engine_public_models_await(k->sv->engine, p, &rq->arena, &models, &n, err))
        n = 0;
    struct model current = kw_current_model(k, &rq->arena);
    if (n)
        qsort(models, n, sizeof *models, by_id);
    jw_obj(w);
    jw_karr(w, "models");
    for (size_t i = 0; i < n; i++)
        put_entry(k, &models[i], is_same(&models[i], &current), w);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_openrouter_catalog = {
    .name = "openrouter/catalog",
    .result = list_rows,
    .how = RUN_FIBER,
    .lane = LANE_SLOW,
    .run = catalog_await,
    .about = "OpenRouter's public list of models; empty when it cannot be fetched.",
};
