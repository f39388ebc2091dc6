/* SPDX-License-Identifier: MIT */
/* models/list, models/current, models/set: one current model for the whole process (kward.md 19).
 *
 * With KWARD_PROVIDER=local the OpenAI-compatible provider is pointed at the local server and is
 * called Local.
 */
#include "dialects/kward/internal.h"

const char kw_default_effort[] = "medium";

static const char default_slug[] = "openai/gpt-5.5";
static const char local_base[] = "http://127.0.0.1:11434/v1";

/* ---- the start ---- */

static struct str env(const char *name)
{
    return str_trim(str_of(getenv(name) ? getenv(name) : ""));
}

static char *openai_slug(struct str id)
{
    struct buf slug = BUF_INIT;
    buf_addf(&slug, "openai/%.*s", STR_FMT(id));
    return buf_take(&slug);
}

/* Nobody else's key goes to the local server, and no key is needed there. */
static void point_at_local(struct kward *k)
{
    k->is_local = true;
    AUTO_FREE char *base =
        str_dup(env("KWARD_LOCAL_BASE_URL").n ? env("KWARD_LOCAL_BASE_URL") : str_of(local_base));
    AUTO_FREE char *key =
        str_dup(env("KWARD_LOCAL_API_KEY").n ? env("KWARD_LOCAL_API_KEY") : STR("none"));
    setenv("OPENAI_BASE_URL", base, 1);
    setenv("OPENAI_API_KEY", key, 1);
    if (!str_int(env("KWARD_LOCAL_CONTEXT_WINDOW"), &k->local_window) || k->local_window < 0)
        k->local_window = 0;
}

void kw_choose_model(struct kward *k)
{
    struct str chosen = engine_default_model(k->sv->engine);
    bool is_local = str_ieq(env("KWARD_PROVIDER"), STR("local"));
    if (is_local)
        point_at_local(k);
    if (chosen.p)
        k->slug = str_dup(chosen);
    else if (is_local && env("KWARD_LOCAL_MODEL").n)
        k->slug = openai_slug(env("KWARD_LOCAL_MODEL"));
    else if (!is_local && env("OPENAI_MODEL").n)
        k->slug = openai_slug(env("OPENAI_MODEL"));
    else
        k->slug = xstrdup(default_slug);
}

/* ---- entries ---- */

const char *kw_label(const struct kward *k, const struct provider *p)
{
    return k->is_local && strcmp(p->name, "openai") == 0 ? "Local" : p->label;
}

struct model kw_current_model(struct kward *k, struct arena *a)
{
    struct model m = {.provider = "openai", .id = STR(""), .name = STR("")};
    struct error ignored;
    engine_find_model(k->sv->engine, a, str_of(k->slug), &m, &ignored);
    if (k->is_local && strcmp(m.provider, "openai") == 0)
        m.context_window = k->local_window;
    return m;
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
        jw_kz(w, "reasoningEffort", kw_default_effort);
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

/* The models the providers know by themselves; a local server's are not known. */
static size_t collect(struct kward *k, struct choice *into)
{
    size_t n_providers, n = 0;
    const struct provider *const *p = engine_providers(k->sv->engine, &n_providers);
    for (size_t i = 0; i < n_providers; i++) {
        bool is_unknown = k->is_local && strcmp(p[i]->name, "openai") == 0;
        for (const struct model *m = p[i]->models; m && m->id.n && !is_unknown; m++, n++)
            if (into)
                into[n] = (struct choice){kw_label(k, p[i]), *m};
    }
    return n;
}

static bool list(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct kward *k = rq->dialect;
    struct model current = kw_current_model(k, &rq->arena);
    const struct provider *p = engine_find_provider(k->sv->engine, str_of(current.provider));
    struct choice *choices = arena_array(&rq->arena, struct choice, collect(k, NULL) + 1);
    size_t n = collect(k, choices);
    bool is_known = false;
    for (size_t i = 0; i < n; i++)
        is_known |= is_same(&choices[i].model, &current);
    if (!is_known && p)
        choices[n++] = (struct choice){kw_label(k, p), current};
    qsort(choices, n, sizeof *choices, by_label);
    jw_obj(w);
    jw_karr(w, "models");
    for (size_t i = 0; i < n; i++)
        put_entry(k, &choices[i].model, is_same(&choices[i].model, &current), w);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_models_list = {
    .name = "models/list",
    .result = list_rows,
    .lane = LANE_MAIN,
    .run = list,
    .about = "The models that are known, the current one among them.",
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

static const char *find_provider(struct kward *k, struct str name, struct error *err)
{
    size_t n;
    const struct provider *const *p = engine_providers(k->sv->engine, &n);
    for (size_t i = 0; i < n; i++)
        if (str_ieq(name, str_of(p[i]->name)) || str_ieq(name, str_of(kw_label(k, p[i]))))
            return p[i]->name;
    error_set(err, ERR_INVALID, "Unsupported provider: %.*s", STR_FMT(str_cut(name, 100)));
    return NULL;
}

static bool set(struct request *rq, struct jw *w, struct error *err)
{
    const struct set_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct error ignored;
    AUTO(buf) struct buf slug = BUF_INIT;
    if (p->model.n == 0)
        return error_set(err, ERR_INVALID, "Model must be a non-empty string");
    const char *provider = p->provider.n ? find_provider(k, p->provider, err)
                                         : kw_current_model(k, &rq->arena).provider;
    if (!provider)
        return false;
    buf_addf(&slug, "%s/%.*s", provider, STR_FMT(p->model));
    free(k->slug);
    k->slug = buf_take(&slug);
    /* A file that another process holds keeps its old model until it is opened again. */
    for (struct kw_file *f = k->files; f; f = f->next)
        if (!f->is_closing)
            session_set_model(f->session, str_of(k->slug), &ignored);
    kw_put_current_model(k, w);
    return true;
}

const struct method kw_models_set = {
    .name = "models/set",
    .params = set_params_rows,
    .params_size = sizeof(struct set_params),
    .result = kw_model_rows,
    .lane = LANE_MAIN,
    .run = set,
    .about = "Chooses the model for the next request of every session.",
    .errors = "Model must be a non-empty string; Unsupported provider: <x>",
};
