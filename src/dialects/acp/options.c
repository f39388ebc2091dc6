/* SPDX-License-Identifier: MIT */
/* Modes and config options.  The mode is both: older clients know modes only. */
#include "dialects/acp/methods.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "dialects/settings.h"

#include <limits.h>

/* ---- the mode ---- */

void acp_apply_mode(struct acp_session *s)
{
    static const char *const usual[] = {"explore", "skills", "todo", "web", NULL};
    static const char *const asking[] = {"explore", "skills", "todo", "web", "questions", NULL};
    profile_fill(&s->settings, s->mode, &s->rules, true);
    s->settings.gadgets = s->acp->client.shows_forms ? asking : usual;
    acp_use_files(s);
    s->settings.network = s->acp->options.network;
    if (s->acp->options.max_rounds)
        s->settings.max_rounds = (int)MIN(s->acp->options.max_rounds, INT_MAX);
    s->settings.max_cost = s->acp->options.max_cost;
    s->settings.max_total_tokens = s->acp->options.max_total_tokens;
    s->settings.asks_beyond_mode = true;
    s->settings.sends_output = true;
    if (!s->session)
        return;
    session_set_mode(s->session, s->mode->covers);
    session_reconfine(s->session);
}

static void put_modes(struct acp_session *s, struct jw *w)
{
    jw_kobj(w, "modes");
    jw_kz(w, "currentModeId", s->mode->name);
    jw_karr(w, "availableModes");
    for (size_t i = 0; i < RUN_N_MODES; i++) {
        jw_obj(w);
        jw_kz(w, "id", run_modes[i].name);
        jw_kz(w, "name", run_modes[i].title);
        jw_kz(w, "description", run_modes[i].about);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
}

/* ---- models ---- */

/* A local server counts when its list is known. */
static bool is_offered(struct engine *e, const struct provider *p)
{
    return (p->needs_key || p->is_local) && engine_is_usable(e, p) && !p->doubles &&
           (!p->is_local || engine_models_fetched_ms(e, p));
}

struct str acp_setting(const char *name, struct arena *arena)
{
    struct error err;
    enum setting_from from;
    const struct setting *row = setting_find(str_of(name), &err);
    if (!row)
        BUG("%s", err.text);
    struct str value = setting_get(row, &from);
    return value.n ? arena_str(arena, value) : STR_NONE;
}

struct str acp_choose_model(struct acp *a, struct arena *arena)
{
    struct engine *e = a->sv->engine;
    size_t n_providers, n;
    if (a->options.model.p)
        return a->options.model;
    if (engine_default_model(e).p)
        return engine_default_model(e);
    struct str stored = acp_setting("model", arena);
    if (stored.p)
        return stored;
    const struct provider *const *providers = engine_providers(e, &n_providers);
    for (size_t i = 0; i < n_providers; i++) {
        if (!is_offered(e, providers[i]))
            continue;
        AUTO(arena) struct arena local = ARENA_INIT;
        const struct model *m = engine_models(e, providers[i], &local, &n);
        if (n)
            return arena_fmt(arena, "%s/%.*s", m[0].provider, STR_FMT(m[0].id));
    }
    return STR_NONE;
}

/* ---- config options ---- */

static void put_value(struct jw *w, struct str value, struct str name, struct str about)
{
    jw_obj(w);
    jw_kstr(w, "value", value);
    jw_kstr(w, "name", name);
    if (about.n)
        jw_kstr(w, "description", about);
    jw_obj_end(w);
}

static void begin_option(struct jw *w, const char *id, const char *name, const char *category,
                         struct str current)
{
    jw_obj(w);
    jw_kz(w, "id", id);
    jw_kz(w, "name", name);
    jw_kz(w, "category", category);
    jw_kz(w, "type", "select");
    jw_kstr(w, "currentValue", current);
    jw_karr(w, "options");
}

static void end_option(struct jw *w)
{
    jw_arr_end(w);
    jw_obj_end(w);
}

static void put_model_option(struct acp_session *s, struct jw *w, struct str current)
{
    struct engine *e = s->acp->sv->engine;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_providers, n;
    bool is_listed = false;
    const struct provider *const *providers = engine_providers(e, &n_providers);
    begin_option(w, "model", "Model", "model", current);
    for (size_t i = 0; i < n_providers; i++) {
        if (!is_offered(e, providers[i]))
            continue;
        const struct model *m = engine_models(e, providers[i], &a, &n);
        for (size_t k = 0; k < n; k++) {
            struct str slug = arena_fmt(&a, "%s/%.*s", m[k].provider, STR_FMT(m[k].id));
            is_listed |= str_eq(slug, current);
            put_value(w, slug, m[k].name.n ? m[k].name : m[k].id, utf8_cut_chars(m[k].about, 200));
        }
    }
    if (!is_listed)
        put_value(w, current, current, STR_NONE);
    end_option(w);
}

static unsigned levels_of(struct acp_session *s, struct str slug)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    struct error ignored;
    return engine_find_model(s->acp->sv->engine, &a, slug, &m, &ignored) ? m.levels : 0;
}

static const char default_effort[] = "default";

static void put_effort_option(struct acp_session *s, struct jw *w, const struct session_info *info)
{
    unsigned levels = levels_of(s, info->model);
    unsigned current = info->effort.n ? level_named(info->effort) : 0;
    if (!levels)
        return;
    begin_option(w, "effort", "Thinking", "thought_level",
                 str_of(current & levels ? level_name(current) : default_effort));
    put_value(w, str_of(default_effort), STR("Default"), STR("as the provider does it"));
    for (unsigned i = 0; i < LEVEL_N; i++)
        if (levels & (1u << i))
            put_value(w, str_of(level_names[i]), str_of(level_names[i]), STR_NONE);
    end_option(w);
}

static void put_mode_option(struct acp_session *s, struct jw *w)
{
    begin_option(w, "mode", "Permissions", "mode", str_of(s->mode->name));
    for (size_t i = 0; i < RUN_N_MODES; i++)
        put_value(w, str_of(run_modes[i].name), str_of(run_modes[i].title),
                  str_of(run_modes[i].about));
    end_option(w);
}

static void put_config(struct acp_session *s, struct jw *w)
{
    struct session_info info;
    session_info(s->session, &info);
    jw_karr(w, "configOptions");
    put_mode_option(s, w);
    if (info.model.n) {
        put_model_option(s, w, info.model);
        put_effort_option(s, w, &info);
    }
    jw_arr_end(w);
}

void acp_put_options(struct acp_session *s, struct jw *w)
{
    put_modes(s, w);
    put_config(s, w);
}

/* ---- changes ---- */

void acp_say_config(struct acp_session *s)
{
    struct jw *w = acp_update_begin(s, "config_option_update");
    put_config(s, w);
    acp_update_end(s);
}

static void say_mode(struct acp_session *s)
{
    struct jw *w = acp_update_begin(s, "current_mode_update");
    jw_kz(w, "currentModeId", s->mode->name);
    acp_update_end(s);
}

static bool set_mode_named(struct request *rq, struct acp_session *s, struct str name,
                           const char *field, struct error *err)
{
    const struct run_mode *mode = run_mode_named(name);
    if (!mode)
        return acp_refuse_param(rq, err, str_of(field), "is not a mode of this session: %.*s",
                                STR_FMT(str_cut(name, 60)));
    if (mode != s->mode) {
        s->mode = mode;
        acp_apply_mode(s);
    }
    return true;
}

struct mode_params {
    struct str session_id, mode_id;
};

static const struct row mode_rows[] = {
    ROW_AS(mode_params, session_id, "sessionId", T_STR, NEEDED, "the session"),
    ROW_AS(mode_params, mode_id, "modeId", T_STR, NEEDED, "one of availableModes"),
    ROW_END,
};

static bool set_mode(struct request *rq, struct jw *w, struct error *err)
{
    const struct mode_params *p = rq->args;
    struct acp_session *s;
    if (!acp_session_find(rq, p->session_id, &s, err) ||
        !set_mode_named(rq, s, p->mode_id, "modeId", err))
        return false;
    acp_say_config(s);
    jw_obj(w);
    jw_obj_end(w);
    return true;
}

const struct method acp_session_set_mode = {
    .name = "session/set_mode",
    .params = mode_rows,
    .params_size = sizeof(struct mode_params),
    .params_needed = true,
    .result = acp_empty_rows,
    .lane = LANE_MAIN,
    .run = set_mode,
    .about = "Sets what calls may do; counts from the next call on.",
    .errors = "unknown session (-32002); unknown mode (-32602)",
};

struct config_params {
    struct str session_id, config_id;
    yyjson_val *value;
};

static const struct row config_rows[] = {
    ROW_AS(config_params, session_id, "sessionId", T_STR, NEEDED, "the session"),
    ROW_AS(config_params, config_id, "configId", T_STR, NEEDED, "mode, model or effort"),
    ROW(config_params, value, T_ANY, NEEDED, "one of its options"),
    ROW_END,
};

static bool refuse_value(struct request *rq, struct str value, struct error *err)
{
    return acp_refuse_param(rq, err, STR("value"), "is not among the options: %.*s",
                            STR_FMT(str_cut(value, 100)));
}

/* The effort that the model does not have is dropped. */
bool acp_set_model(struct acp_session *s, struct str slug, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_info info;
    struct model m;
    struct str id;
    session_info(s->session, &info);
    if (!slug.n || !engine_slug_provider(s->acp->sv->engine, slug, &id))
        return error_set(err, ERR_NO_MODEL, "there is no model %.*s", STR_FMT(str_cut(slug, 100)));
    if (!engine_find_model(s->acp->sv->engine, &a, slug, &m, err))
        return false;
    bool keeps = info.effort.n && (level_named(info.effort) & m.levels);
    struct str effort = keeps ? arena_str(&a, info.effort) : STR_NONE;
    return session_choose(s->session, slug, effort, err);
}

static bool set_model(struct request *rq, struct acp_session *s, struct str slug, struct error *err)
{
    return acp_set_model(s, slug, err) ||
           (err->code == ERR_NO_MODEL && refuse_value(rq, slug, err));
}

static bool set_effort(struct request *rq, struct acp_session *s, struct str value,
                       struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_info info;
    session_info(s->session, &info);
    bool is_default = str_is(value, default_effort);
    if (!is_default && !(level_named(value) & levels_of(s, info.model)))
        return refuse_value(rq, value, err);
    struct str model = arena_str(&a, info.model);
    return session_choose(s->session, model, is_default ? STR_NONE : value, err);
}

static bool set_config(struct request *rq, struct jw *w, struct error *err)
{
    const struct config_params *p = rq->args;
    struct acp_session *s;
    struct str value = json_str(p->value);
    bool ok;
    if (!acp_session_find(rq, p->session_id, &s, err))
        return false;
    if (!value.p)
        return acp_refuse_param(rq, err, STR("value"), "must be a string");
    if (str_is(p->config_id, "mode")) {
        ok = set_mode_named(rq, s, value, "value", err);
        if (ok)
            say_mode(s);
    } else if (str_is(p->config_id, "model")) {
        ok = set_model(rq, s, value, err);
    } else if (str_is(p->config_id, "effort")) {
        ok = set_effort(rq, s, value, err);
    } else {
        return acp_refuse_param(rq, err, STR("configId"), "is not an option of this session: %.*s",
                                STR_FMT(str_cut(p->config_id, 60)));
    }
    if (!ok)
        return false;
    jw_obj(w);
    put_config(s, w);
    jw_obj_end(w);
    return true;
}

const struct method acp_session_set_config_option = {
    .name = "session/set_config_option",
    .params = config_rows,
    .params_size = sizeof(struct config_params),
    .params_needed = true,
    .result = acp_options_result,
    .lane = LANE_MAIN,
    .run = set_config,
    .about = "Sets mode, model or effort; answers with all options.",
    .errors = "unknown session (-32002); unknown option or value (-32602)",
};
