/* SPDX-License-Identifier: MIT */
/* model.list and model.select.  The selection and names of models: choice.c. */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

/* ---- model.list ---- */

struct list_params {
    struct str provider;
};

static const struct row list_rows[] = {
    ROW(list_params, provider, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT, "only its models",
        .choices = loaf_all_providers),
    ROW_END,
};

const struct row loaf_models_rows[] = {
    ROW_OUT("providers", T_ARR, NEEDED, "whose models are listed", .items = T_STR),
    ROW_OUT("models", T_ARR, NEEDED, "grouped by provider", .items = T_OBJ,
            .rows = loaf_model_option_rows),
    ROW_OUT("selected_model", T_STR, NEEDED, "id of a model, empty for none"),
    ROW_OUT("selected_thinking", T_STR, NEEDED, "thinking level", .choices = loaf_thinking_levels),
    ROW_OUT("selected_provider", T_STR, NEEDED | NULLABLE, "of the selected model"),
    ROW_OUT("selected_openrouter_provider", T_STR, NEEDED, "routing provider, or any"),
    ROW_END,
};

void loaf_put_selection(struct loaf *lf, struct jw *w)
{
    jw_kstr(w, "selected_model", loaf_model_id(lf, str_of(lf->model)));
    jw_kz(w, "selected_thinking", lf->thinking);
    jw_kz(w, "selected_provider", loaf_selected_name(lf));
    jw_kz(w, "selected_openrouter_provider", lf->routing);
}

/* Enabled ones; antigravity last if it can be used (loaf 143-144). */
static size_t list_providers(struct loaf *lf, const char **names)
{
    size_t n = loaf_enabled_providers(lf, names, LOAF_MOST_PROVIDERS), n_kept = 0;
    const struct provider *google = engine_find_provider(lf->sv->engine, STR("antigravity"));
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], "antigravity") != 0)
            names[n_kept++] = names[i];
    if (google && n_kept < LOAF_MOST_PROVIDERS && engine_has_key(lf->sv->engine, google))
        names[n_kept++] = "antigravity";
    return n_kept;
}

static void put_options_of(struct loaf *lf, struct jw *w, const char *provider)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *p = loaf_provider_named(lf, str_of(provider));
    size_t n;
    if (!p || !engine_is_usable(lf->sv->engine, p))
        return; /* no sign-in and no key */
    const struct model_option *all = loaf_options(lf, &a, str_of(provider), &n);
    for (size_t i = 0; i < n; i++)
        loaf_put_option(lf, w, &all[i]);
}

/* loaf's providers in its order, then the others in the engine's order. */
static void put_options(struct loaf *lf, struct jw *w, const char *const *names, size_t n)
{
    jw_karr(w, "models");
    for (size_t k = 0; loaf_providers[k]; k++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(names[i], loaf_providers[k]) == 0)
                put_options_of(lf, w, names[i]);
    for (size_t i = 0; i < n; i++)
        if (!loaf_known_provider(str_of(names[i])))
            put_options_of(lf, w, names[i]);
    jw_arr_end(w);
}

void loaf_put_models(struct loaf *lf, struct jw *w, const char *provider)
{
    const char *names[LOAF_MOST_PROVIDERS] = {provider};
    size_t n = provider ? 1 : list_providers(lf, names);
    jw_obj(w);
    jw_karr(w, "providers");
    for (size_t i = 0; i < n; i++)
        jw_str(w, str_of(names[i]));
    jw_arr_end(w);
    put_options(lf, w, names, n);
    loaf_put_selection(lf, w);
    jw_obj_end(w);
}

static bool model_list(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct loaf *lf = rq->dialect;
    const struct list_params *p = rq->args;
    loaf_put_models(lf, w, p->provider.p ? arena_strz(&rq->arena, p->provider) : NULL);
    loaf_refresh_lists(lf); /* for the next call */
    return true;
}

const struct method loaf_model_list = {
    .name = "model.list",
    .params = list_rows,
    .params_size = sizeof(struct list_params),
    .result = loaf_models_rows,
    .lane = LANE_MAIN,
    .run = model_list,
    .about = "Models that can be selected; sends no request.",
};

/* ---- model.select ---- */

struct select_params {
    struct str model_id, provider, thinking_level, openrouter_provider, session_id;
    bool compress_immediately;
};

static const struct row select_rows[] = {
    ROW(select_params, model_id, T_STR, NEEDED | LOAF_TEXT, "as model.list names it"),
    ROW(select_params, provider, T_STR, NEEDED | LOAF_TEXT, "its provider",
        .choices = loaf_all_providers),
    ROW(select_params, thinking_level, T_STR, NEEDED | LOAF_TEXT,
        "OFF to XHIGH; others become the model's default"),
    ROW(select_params, openrouter_provider, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT,
        "routing provider; any when absent"),
    ROW(select_params, session_id, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT, "session to compress"),
    ROW(select_params, compress_immediately, T_BOOL, OPTIONAL | NULLABLE,
        "summarise that session's history now"),
    ROW_END,
};

static const struct row select_result[] = {
    ROW_OUT("selected_model", T_STR, NEEDED, "id of the model"),
    ROW_OUT("selected_thinking", T_STR, NEEDED, "thinking level", .choices = loaf_thinking_levels),
    ROW_OUT("selected_provider", T_STR, NEEDED | NULLABLE, "of the selected model"),
    ROW_OUT("selected_openrouter_provider", T_STR, NEEDED, "routing provider, or any"),
    ROW_OUT("compression", T_OBJ, OPTIONAL, "with compress_immediately",
            .rows = loaf_compression_rows),
    ROW_END,
};

/* A model in no list may still exist: on a server that the user configured, or, for a provider
 * without address, in a file. */
static bool may_be_unlisted(const struct provider *p, struct str id)
{
    if (p->base_url)
        return p->env_base && getenv(p->env_base) && *getenv(p->env_base);
    return str_chr(id, '/') != SIZE_MAX || str_ends(id, STR(".json"));
}

static bool is_listed(struct loaf *lf, struct arena *a, struct str provider, struct str id)
{
    struct model_option o;
    return loaf_option_find(lf, a, provider, id, &o);
}

/* Ids are taken as model.list gives them, and with or without the provider in front. */
static bool find_id(struct loaf *lf, const struct select_params *p, struct arena *a,
                    const struct provider **ret_provider, struct str *ret_id, struct error *err)
{
    const struct provider *provider = loaf_provider_named(lf, p->provider);
    bool is_known = loaf_known_provider(p->provider) != NULL;
    struct str head, rest = str_split(p->model_id, '/', &head);
    struct str bare = rest.n && str_eq(head, p->provider) ? rest : p->model_id;
    struct str named = is_known ? bare
                                : arena_fmt(a, "%.*s/%.*s", STR_FMT(p->provider), STR_FMT(bare));
    *ret_provider = provider;
    *ret_id = is_known && is_listed(lf, a, p->provider, p->model_id) ? p->model_id : bare;
    if (provider && (ret_id->p != bare.p || is_listed(lf, a, p->provider, named) ||
                     may_be_unlisted(provider, bare)))
        return true;
    return error_set(err, ERR_NO_MODEL, "unknown model for provider %.*s: %.*s",
                     STR_FMT(p->provider), STR_FMT(p->model_id));
}

static void put_compression(struct loaf *lf, struct jw *w, const char *reason, int64_t before,
                            int64_t after)
{
    struct window window = loaf_window_of(lf);
    jw_kobj(w, "compression");
    jw_kbool(w, "requested", true);
    jw_kbool(w, "applied", reason != NULL);
    jw_kz(w, "reason", reason ? reason : "none");
    jw_kint(w, "estimated_tokens_before", before);
    jw_kint(w, "estimated_tokens_after", after);
    jw_kint(w, "model_context_window", window.size);
    jw_kint(w, "target_limit", reason ? window.target : MIN(window.high, window.size));
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
    const char *provider = loaf_selected_name(lf);
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
    put_compression(lf, w, reason, ls->tokens_before, ls->tokens_after);
    return true;
}

static bool model_select_await(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct select_params *p = rq->args;
    struct loaf_session *ls = NULL;
    const struct provider *provider;
    struct str id;
    if (!find_id(lf, p, &rq->arena, &provider, &id, err))
        return false;
    if (p->compress_immediately && !p->session_id.p)
        return error_set(err, ERR_INVALID,
                         "session_id is required when compress_immediately is true");
    if (p->compress_immediately && !loaf_session_find(lf, p->session_id, &ls, err))
        return false;
    loaf_set_slug(lf, provider, id);
    loaf_fit_thinking(lf, p->thinking_level);
    if (str_is(p->provider, "openrouter"))
        loaf_set_routing(lf, p->openrouter_provider);
    lf->is_provider_guessed = false;
    loaf_refresh_lists(lf); /* the data of the model may be outdated */
    jw_obj(w);
    loaf_put_selection(lf, w);
    bool ok = !ls || compress_await(rq, ls, w, err);
    loaf_say_state_changed(lf, STR("model_selected"), NULL);
    loaf_home_keep_await(lf);
    jw_obj_end(w);
    return ok;
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
