/* SPDX-License-Identifier: MIT */
/* config/read, config/update (kward 328-332), runtime/updateSetting and runtime/reload (267-270).
 */
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"
#include "dialects/kward/registry.h"

#include "base/secret.h"
#include "context/config.h"

static const struct row config_rows[] = {
    ROW_OUT("path", T_STR, NEEDED, "the config file"),
    ROW_OUT("config", T_OBJ, NEEDED | OPEN, "what it holds"),
    ROW_END,
};

static void put_config(struct jw *w, const struct kward *k, yyjson_val *config)
{
    jw_obj(w);
    jw_kz(w, "path", k->config_path);
    jw_kval(w, "config", config);
    jw_obj_end(w);
}

/* ---- config/read ---- */

struct read_params {
    yyjson_val *redacted;
};

static const struct row read_params_rows[] = {
    ROW_AS(read_params, redacted, "redacted", T_ANY, NULLABLE,
           "false: with the secrets; true when absent"),
    ROW_END,
};

static bool read_config(struct request *rq, struct jw *w, struct error *err)
{
    const struct read_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(json) struct json config = JSON_INIT;
    if (!config_read(str_of(k->config_path), &config, err))
        return false;
    put_config(w, k, config.root);
    rq->is_raw = yyjson_is_false(p->redacted);
    return true;
}

const struct method kw_config_read = {
    .name = "config/read",
    .params = read_params_rows,
    .params_size = sizeof(struct read_params),
    .result = config_rows,
    .lane = LANE_MAIN,
    .run = read_config,
    .about = "The config file; without secrets unless asked for.",
    .errors = "Invalid Kward config JSON: <path>",
};

/* ---- config/update ---- */

struct update_params {
    yyjson_val *values;
};

static const struct row update_params_rows[] = {
    ROW_AS(update_params, values, "values", T_ANY, NEEDED,
           "members that replace those of the file"),
    ROW_END,
};

static bool is_blanked(yyjson_mut_val *v)
{
    return yyjson_mut_equals_str(v, SECRET_BLANK);
}

/* A client may send back the result of config/read, with redacted secrets: those members keep the
 * values of the file. */
static yyjson_mut_val *with_secrets(yyjson_mut_doc *doc, yyjson_mut_val *now, yyjson_mut_val *old)
{
    size_t i, max;
    yyjson_mut_val *key, *v;
    if (is_blanked(now) && old)
        return yyjson_mut_val_mut_copy(doc, old);
    if (!yyjson_mut_is_obj(now) || !yyjson_mut_is_obj(old))
        return now;
    yyjson_mut_val *made = yyjson_mut_obj(doc);
    yyjson_mut_obj_foreach(now, i, max, key, v)
        yyjson_mut_obj_add(made, yyjson_mut_val_mut_copy(doc, key),
                           with_secrets(doc, yyjson_mut_val_mut_copy(doc, v),
                                        yyjson_mut_obj_getn(old, yyjson_mut_get_str(key),
                                                            yyjson_mut_get_len(key))));
    return made;
}

static void put_values(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_val *values = arg, *key, *v;
    size_t i, max;
    yyjson_obj_foreach(values, i, max, key, v)
        config_put(
            doc, root, json_str(key),
            with_secrets(doc, yyjson_val_mut_copy(doc, v),
                         yyjson_mut_obj_getn(root, yyjson_get_str(key), yyjson_get_len(key))));
}

/* Drops lists that were fetched with a key that has changed. */
static void forget_models(struct kward *k, yyjson_val *values)
{
    size_t n;
    const struct provider *const *p = engine_providers(k->sv->engine, &n);
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf name = BUF_INIT;
        buf_addf(&name, "%s_api_key", p[i]->name);
        if (json_get(values, name.p))
            engine_forget_models(k->sv->engine, str_of(p[i]->name));
    }
}

static bool update_config_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct update_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(json) struct json config = JSON_INIT;
    if (!yyjson_is_obj(p->values))
        return error_set(err, ERR_INVALID, "Config values must be an object");
    if (!config_change_await(str_of(k->config_path), put_values, p->values, &config, err))
        return false;
    forget_models(k, p->values);
    kw_refresh(k);
    put_config(w, k, config.root);
    return true;
}

const struct method kw_config_update = {
    .name = "config/update",
    .params = update_params_rows,
    .params_size = sizeof(struct update_params),
    .result = config_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = update_config_await,
    .about = "Replaces members of the config file; the others stay.",
    .errors = "Config values must be an object; Invalid Kward config JSON: <path>",
};

/* ---- runtime/updateSetting ---- */

struct setting_params {
    struct str session_id, setting_id;
    yyjson_val *value;
};

static const struct row setting_params_rows[] = {
    ROW_AS(setting_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(setting_params, setting_id, "settingId", T_STR, NEEDED,
           "defaultModel or defaultThinkingLevel"),
    ROW_AS(setting_params, value, "value", T_ANY, NEEDED, "Provider/model-id, or an effort"),
    ROW_END,
};

static const struct row applied_rows[] = {
    ROW_OUT("applied", T_STR, NEEDED, "live"),
    ROW_OUT("message", T_STR, NEEDED, "for the user"),
    ROW_END,
};

/* "Provider/model-id", or {provider, model}; without a provider the current one stays. */
static bool update_model_await(struct request *rq, yyjson_val *value, struct error *err)
{
    struct kward *k = rq->dialect;
    struct str name = STR_NONE, model = str_trim(json_str(value));
    size_t slash = str_chr(model, '/');
    if (yyjson_is_obj(value)) {
        name = str_trim(json_get_str(value, "provider"));
        model = str_trim(json_get_str(value, "model"));
    } else if (slash != SIZE_MAX) {
        name = str_cut(model, slash);
        model = str_trim(str_from(model, slash + 1));
    }
    if (!model.n)
        return error_set(err, ERR_INVALID, "Model must be a non-empty string");
    const char *provider = name.n ? kw_find_provider(k, name, err)
                                  : kw_current_model(k, &rq->arena).provider;
    return provider && kw_choose_model_await(k, provider, model, err);
}

static bool update_effort_await(struct request *rq, yyjson_val *value, struct error *err)
{
    struct kward *k = rq->dialect;
    struct str effort = str_trim(json_str(value));
    if (!effort.n)
        return error_set(err, ERR_INVALID, "Reasoning effort must be a non-empty string");
    return kw_choose_effort_await(k, kw_current_model(k, &rq->arena).provider, effort, err);
}

static bool update_setting_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct setting_params *p = rq->args;
    bool is_model = str_is(p->setting_id, "defaultModel");
    if (!kw_find_session(rq->dialect, p->session_id, err))
        return false;
    if (!is_model && !str_is(p->setting_id, "defaultThinkingLevel"))
        return error_set(err, ERR_INVALID, "Unsupported runtime setting: %.*s",
                         STR_FMT(str_cut(p->setting_id, 100)));
    if (!(is_model ? update_model_await(rq, p->value, err)
                   : update_effort_await(rq, p->value, err)))
        return false;
    jw_obj(w);
    jw_kz(w, "applied", "live");
    jw_kz(w, "message",
          is_model ? "Model updated for this session."
                   : "Thinking level updated for this session.");
    jw_obj_end(w);
    return true;
}

const struct method kw_update_setting = {
    .name = "runtime/updateSetting",
    .params = setting_params_rows,
    .params_size = sizeof(struct setting_params),
    .result = applied_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = update_setting_await,
    .about = "Selects the model or its reasoning effort, like models/set and reasoning/set.",
    .errors = "Unsupported runtime setting: <id>; Model must be a non-empty string",
};

/* ---- runtime/reload ---- */

static const struct row reload_rows[] = {
    ROW_OUT("ok", T_BOOL, NEEDED, "always true"),
    ROW_OUT("message", T_STR, NEEDED, "for the user"),
    ROW_END,
};

/* Templates, skills, plugins and memories are read when they are needed. */
static bool reload(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(json) struct json config = JSON_INIT;
    size_t n;
    const struct provider *const *all = engine_providers(k->sv->engine, &n);
    if (!kw_find_session(k, p->session_id, err) ||
        !config_read(str_of(k->config_path), &config, err))
        return false;
    for (size_t i = 0; i < n; i++)
        engine_expire_models(k->sv->engine, all[i]);
    kw_refresh(k);
    jw_obj(w);
    jw_kbool(w, "ok", true);
    jw_kz(w, "message", "Resources reloaded.");
    jw_obj_end(w);
    return true;
}

const struct method kw_reload = {
    .name = "runtime/reload",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = reload_rows,
    .lane = LANE_MAIN,
    .run = reload,
    .about = "Reads the config again.",
    .errors = "Unknown session: <id>; Invalid Kward config JSON: <path>",
};
