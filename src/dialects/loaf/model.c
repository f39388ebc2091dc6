/* SPDX-License-Identifier: MIT */
/* model.list, model.select, and what "the selected model" means.
 *
 * It belongs to the process.  A session takes it over when a turn starts, so that a running turn
 * ends with the model it began with.  Models are named "provider/model-id" here as everywhere in
 * trivet; model.select takes the id with or without the provider in front.
 */
#include "dialects/loaf/internal.h"

#include <ctype.h>

const char *const loaf_thinking_levels[] = {"OFF",  "MINIMAL", "LOW", "MEDIUM",
                                            "HIGH", "XHIGH",   NULL};
static const char *const efforts[] = {"none", "minimal", "low", "medium", "high", "xhigh"};

static const char *const named_providers[] = {"openai", "antigravity", "openrouter", NULL};

/* ---- the selection ---- */

static bool find_selected(struct loaf *lf, struct arena *a, struct model *ret)
{
    struct error ignored;
    return engine_find_model(lf->sv->engine, a, str_of(lf->model), ret, &ignored);
}

const struct provider *loaf_selected_provider(struct loaf *lf)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    return find_selected(lf, &a, &m) ? engine_find_provider(lf->sv->engine, str_of(m.provider))
                                     : NULL;
}

static const char *selected_provider_name(struct loaf *lf)
{
    const struct provider *p = loaf_selected_provider(lf);
    return p ? p->name : NULL;
}

size_t loaf_enabled_providers(struct loaf *lf, const char **names, size_t max)
{
    size_t n_providers, n = 0;
    const struct provider *const *providers = engine_providers(lf->sv->engine, &n_providers);
    const struct provider *selected = loaf_selected_provider(lf);
    for (size_t i = 0; i < n_providers && n < max; i++) {
        const struct provider *p = providers[i];
        bool is_wanted = p->needs_key || p == selected; /* the rehearsal only when it was chosen */
        if (is_wanted && engine_has_key(lf->sv->engine, p))
            names[n++] = p->name;
    }
    return n;
}

/* What a provider is told about thinking; models that do not reason are told nothing. */
static struct str effort_of(struct loaf *lf)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    if (!find_selected(lf, &a, &m) || !m.reasons)
        return STR_NONE;
    for (size_t i = 0; loaf_thinking_levels[i]; i++)
        if (strcmp(loaf_thinking_levels[i], lf->thinking) == 0)
            return str_of(efforts[i]);
    return STR_NONE;
}

void loaf_model_apply(struct loaf *lf, struct session *s)
{
    struct session_info info;
    struct error ignored;
    struct str effort = effort_of(lf);
    session_info(s, &info);
    if (lf->model[0] && !str_is(info.model, lf->model))
        session_set_model(s, str_of(lf->model), &ignored);
    session_info(s, &info);
    if (!str_eq(info.effort, effort))
        session_set_effort(s, effort, &ignored);
}

/* ---- model.list ---- */

struct list_params {
    struct str provider;
};

static const struct row list_rows[] = {
    ROW(list_params, provider, T_STR, OPTIONAL | NULLABLE | NOT_BLANK | TRIM, "only its models"),
    ROW_END,
};

static const struct row list_result[] = {
    ROW_OUT("providers", T_ARR, NEEDED, "whose models are listed", .items = T_STR),
    ROW_OUT("models", T_ARR, NEEDED, "grouped by provider", .items = T_OBJ,
            .rows = loaf_model_option_rows),
    ROW_OUT("selected_model", T_STR, NEEDED, "provider/model-id, empty for none"),
    ROW_OUT("selected_thinking", T_STR, NEEDED, "thinking level", .choices = loaf_thinking_levels),
    ROW_OUT("selected_provider", T_STR, NEEDED | NULLABLE, "of the selected model"),
    ROW_OUT("selected_openrouter_provider", T_STR, NEEDED, "routing provider, or any"),
    ROW_END,
};

static bool is_provider(struct loaf *lf, struct str name)
{
    for (size_t i = 0; named_providers[i]; i++)
        if (str_is(name, named_providers[i]))
            return true;
    return engine_find_provider(lf->sv->engine, name) != NULL;
}

static void put_model(struct jw *w, const struct provider *p, const struct model *m)
{
    static const char *const thinking[] = {"OFF", "MINIMAL", "LOW", "MEDIUM", "HIGH", NULL};
    static const char *const plain[] = {"OFF", NULL};
    AUTO(buf) struct buf id = BUF_INIT;
    buf_addf(&id, "%s/%.*s", p->name, STR_FMT(m->id));
    jw_obj(w);
    jw_kstr(w, "id", buf_str(&id));
    jw_kz(w, "provider", p->name);
    jw_kstr(w, "label", m->name);
    jw_kz(w, "description", p->label);
    jw_klist(w, "supportedThinkingLevels", m->reasons ? thinking : plain);
    jw_kz(w, "defaultThinkingLevel", m->reasons ? "MEDIUM" : "OFF");
    if (m->context_window > 0)
        jw_kint(w, "contextWindowTokens", m->context_window);
    jw_obj_end(w);
}

static void put_models_of(struct loaf *lf, struct jw *w, struct str name)
{
    const struct provider *p = engine_find_provider(lf->sv->engine, name);
    for (const struct model *m = p ? p->models : NULL; m && m->id.n; m++)
        put_model(w, p, m);
}

static void put_selection(struct loaf *lf, struct jw *w)
{
    jw_kz(w, "selected_model", lf->model);
    jw_kz(w, "selected_thinking", lf->thinking);
    jw_kz(w, "selected_provider", selected_provider_name(lf));
    jw_kz(w, "selected_openrouter_provider", lf->routing);
}

static bool model_list(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct list_params *p = rq->args;
    const char *names[32];
    size_t n = 1;
    if (p->provider.p && !is_provider(lf, p->provider))
        return loaf_refuse_param(rq, err, "provider",
                                 "provider must be one of: openai, openrouter, antigravity");
    if (p->provider.p)
        names[0] = arena_strz(&rq->arena, p->provider);
    else
        n = loaf_enabled_providers(lf, names, ARRAY_LEN(names));
    jw_obj(w);
    jw_karr(w, "providers");
    for (size_t i = 0; i < n; i++)
        jw_str(w, str_of(names[i]));
    jw_arr_end(w);
    jw_karr(w, "models");
    for (size_t i = 0; i < n; i++)
        put_models_of(lf, w, str_of(names[i]));
    jw_arr_end(w);
    put_selection(lf, w);
    jw_obj_end(w);
    return true;
}

const struct method loaf_model_list = {
    .name = "model.list",
    .params = list_rows,
    .params_size = sizeof(struct list_params),
    .result = list_result,
    .lane = LANE_MAIN,
    .run = model_list,
    .about = "Models that can be selected; asks no server.",
};

/* ---- model.select ---- */

struct select_params {
    struct str model_id, provider, thinking_level, openrouter_provider, session_id;
    bool compress_immediately;
};

static const struct row select_rows[] = {
    ROW(select_params, model_id, T_STR, NEEDED | NOT_BLANK | TRIM, "as model.list names it"),
    ROW(select_params, provider, T_STR, NEEDED | NOT_BLANK | TRIM, "its provider"),
    ROW(select_params, thinking_level, T_STR, NEEDED | NOT_BLANK | TRIM,
        "OFF to XHIGH; others become the model's default"),
    ROW(select_params, openrouter_provider, T_STR, OPTIONAL | NULLABLE | NOT_BLANK | TRIM,
        "routing provider; any when absent"),
    ROW(select_params, session_id, T_STR, OPTIONAL | NULLABLE | NOT_BLANK | TRIM,
        "session to compress"),
    ROW(select_params, compress_immediately, T_BOOL, OPTIONAL | NULLABLE,
        "summarise that session's history now"),
    ROW_END,
};

static const struct row select_result[] = {
    ROW_OUT("selected_model", T_STR, NEEDED, "provider/model-id"),
    ROW_OUT("selected_thinking", T_STR, NEEDED, "thinking level", .choices = loaf_thinking_levels),
    ROW_OUT("selected_provider", T_STR, NEEDED | NULLABLE, "of the selected model"),
    ROW_OUT("selected_openrouter_provider", T_STR, NEEDED, "routing provider, or any"),
    ROW_OUT("compression", T_OBJ, OPTIONAL, "with compress_immediately",
            .rows = loaf_compression_rows),
    ROW_END,
};

static bool is_in_table(const struct provider *p, struct str id)
{
    for (const struct model *m = p->models; m && m->id.n; m++)
        if (str_eq(m->id, id))
            return true;
    return false;
}

/* A model that no table names may still exist: on a server the user has pointed us to, or, for a
 * provider without address, in a file. */
static bool may_exist(const struct provider *p, struct str id)
{
    if (is_in_table(p, id))
        return true;
    if (p->base_url)
        return p->env_base && getenv(p->env_base) && *getenv(p->env_base);
    return str_chr(id, '/') != SIZE_MAX || str_ends(id, STR(".json"));
}

static bool make_slug(struct loaf *lf, const struct select_params *p, struct buf *slug,
                      struct error *err)
{
    const struct provider *provider = engine_find_provider(lf->sv->engine, p->provider);
    struct str head, rest = str_split(p->model_id, '/', &head);
    struct str id = rest.n && str_eq(head, p->provider) ? rest : p->model_id;
    if (!provider || !may_exist(provider, id))
        return error_set(err, ERR_NO_MODEL, "unknown model for provider %.*s: %.*s",
                         STR_FMT(p->provider), STR_FMT(p->model_id));
    buf_addf(slug, "%s/%.*s", provider->name, STR_FMT(id));
    return true;
}

/* The level if the model has it, else the model's default (loaf.md 11.4). */
static const char *fit_thinking(struct loaf *lf, struct str level)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m = {0};
    find_selected(lf, &a, &m);
    const struct provider *p = engine_find_provider(lf->sv->engine, str_of(m.provider));
    bool is_listed = p && is_in_table(p, m.id);
    size_t n = !is_listed ? 6 : m.reasons ? 5 : 1;
    for (size_t i = 0; i < n; i++)
        if (str_is(level, loaf_thinking_levels[i]))
            return loaf_thinking_levels[i];
    return loaf_thinking_levels[!is_listed ? 2 : m.reasons ? 3 : 0];
}

static void set_routing(struct loaf *lf, struct str routing)
{
    free(lf->routing);
    lf->routing = routing.p ? str_dup(routing) : xstrdup("any");
    for (char *c = lf->routing; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

void loaf_model_take(struct loaf *lf, struct str provider, struct str model, struct str level,
                     struct str routing)
{
    AUTO(buf) struct buf slug = BUF_INIT;
    if (!engine_find_provider(lf->sv->engine, provider))
        return;
    buf_addf(&slug, "%.*s/%.*s", STR_FMT(provider), STR_FMT(model));
    free(lf->model);
    lf->model = buf_take(&slug);
    lf->thinking = fit_thinking(lf, level);
    if (str_is(provider, "openrouter"))
        set_routing(lf, routing);
}

static void put_compression(struct loaf *lf, struct jw *w, const char *reason, int64_t before,
                            int64_t after)
{
    struct window window = reason ? loaf_window_of(lf) : (struct window){0};
    jw_kobj(w, "compression");
    jw_kbool(w, "requested", true);
    jw_kbool(w, "applied", reason != NULL);
    jw_kz(w, "reason", reason ? reason : "none");
    jw_kint(w, "estimated_tokens_before", before);
    jw_kint(w, "estimated_tokens_after", after);
    jw_kint(w, "model_context_window", window.size);
    jw_kint(w, "target_limit", window.target);
    jw_kint(w, "anchor_event_index_before", 0);
    jw_kint(w, "anchor_event_index_after", 0);
    jw_obj_end(w);
}

/* Summarises with the model just selected. */
static bool compress_await(struct request *rq, struct loaf_session *ls, struct jw *w,
                           struct error *err)
{
    struct loaf *lf = rq->dialect;
    struct compact_outcome out;
    const char *provider = selected_provider_name(lf);
    bool is_switch = ls->provider && provider && strcmp(ls->provider, provider) != 0;
    const char *reason = is_switch ? "provider_switch" : "auto";
    size_t n;
    loaf_history_of(ls, &rq->arena, &n);
    if (n == 0) {
        put_compression(lf, w, NULL, 0, 0);
        return true;
    }
    loaf_model_apply(lf, ls->session);
    ls->compact_reason = reason;
    bool ok = session_compact_await(ls->session, STR_NONE, &rq->arena, &out, err);
    ls->compact_reason = NULL;
    if (!ok)
        return error_prefix(err, "context compaction failed");
    if (is_switch)
        ls->provider = provider;
    put_compression(lf, w, reason, out.tokens_before, out.tokens_after);
    return true;
}

static bool model_select_await(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct select_params *p = rq->args;
    struct loaf_session *ls = NULL;
    AUTO(buf) struct buf slug = BUF_INIT;
    if (!is_provider(lf, p->provider))
        return loaf_refuse_param(rq, err, "provider",
                                 "provider must be openai, openrouter, or antigravity");
    if (!make_slug(lf, p, &slug, err))
        return false;
    if (p->compress_immediately && !p->session_id.p)
        return error_set(err, ERR_INVALID,
                         "session_id is required when compress_immediately is true");
    if (p->compress_immediately && !loaf_session_find(lf, p->session_id, &ls, err))
        return false;
    free(lf->model);
    lf->model = buf_take(&slug);
    lf->thinking = fit_thinking(lf, p->thinking_level);
    if (str_is(p->provider, "openrouter"))
        set_routing(lf, p->openrouter_provider);
    loaf_say_state_changed(lf, STR("model_selected"), NULL);
    jw_obj(w);
    put_selection(lf, w);
    if (ls && !compress_await(rq, ls, w, err))
        return false;
    jw_obj_end(w);
    return true;
}

const struct method loaf_model_select = {
    .name = "model.select",
    .params = select_rows,
    .params_size = sizeof(struct select_params),
    .params_needed = true,
    .result = select_result,
    .how = RUN_FIBER,
    .lane = LANE_SLOW,
    .run = model_select_await,
    .about = "Selects the model of the whole process, from the next turn on.",
    .errors = "unknown model for provider <p>: <id>; context compaction failed: <cause>",
};
