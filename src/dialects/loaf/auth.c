/* SPDX-License-Identifier: MIT */
/* auth.status and the two keys.  Signing in is in connect.c.
 *
 * Keys are stored as they are given and never shown, not even in errors. */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "auth/store.h"

/* ---- available credentials ---- */

static bool has_key(struct loaf *lf, const char *name)
{
    const struct provider *p = loaf_provider_named(lf, str_of(name));
    return p && engine_has_credential(lf->sv->engine, p);
}

void loaf_put_profile(struct loaf *lf, struct jw *w)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry e;
    struct error ignored;
    if (!auth_store_get(engine_auth(lf->sv->engine), STR("antigravity"), &a, &e, &ignored) ||
        !e.email.n || !e.name.n) {
        jw_null(w);
        return;
    }
    jw_obj(w);
    jw_kstr(w, "email", e.email);
    jw_kstr(w, "name", e.name);
    jw_kstr_opt(w, "picture", e.picture);
    jw_obj_end(w);
}

static void put_enabled(struct loaf *lf, struct jw *w, const char *name)
{
    const char *names[LOAF_MOST_PROVIDERS];
    size_t n = loaf_enabled_providers(lf, names, ARRAY_LEN(names));
    jw_karr(w, name);
    for (size_t i = 0; i < n; i++)
        jw_str(w, str_of(names[i]));
    jw_arr_end(w);
}

void loaf_put_auth(struct loaf *lf, struct jw *w, const struct auth_names *names)
{
    jw_obj(w);
    put_enabled(lf, w, names->enabled);
    jw_kbool(w, names->openai, has_key(lf, "openai"));
    jw_kbool(w, names->openrouter, has_key(lf, "openrouter"));
    jw_kbool(w, names->antigravity, has_key(lf, "antigravity"));
    jw_key(w, names->profile);
    loaf_put_profile(lf, w);
    jw_obj_end(w);
}

const struct auth_names loaf_auth_in_status = {
    "enabled_providers",     "has_openai_token",    "has_openrouter_key",
    "has_antigravity_token", "antigravity_profile",
};
const struct auth_names loaf_auth_in_snapshot = {
    "enabledProviders",    "hasOpenAiToken",     "hasOpenRouterKey",
    "hasAntigravityToken", "antigravityProfile",
};

/* ---- auth.status ---- */

const struct row loaf_auth_status_rows[] = {
    ROW_OUT("enabled_providers", T_ARR, NEEDED, "providers that can be asked", .items = T_STR),
    ROW_OUT("has_openai_token", T_BOOL, NEEDED, "there are credentials for openai"),
    ROW_OUT("has_openrouter_key", T_BOOL, NEEDED, "for openrouter"),
    ROW_OUT("has_antigravity_token", T_BOOL, NEEDED, "for antigravity"),
    ROW_OUT("antigravity_profile", T_OBJ, NEEDED | NULLABLE, "of antigravity",
            .rows = loaf_profile_rows),
    ROW_END,
};

static bool auth_status(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    loaf_put_auth(rq->dialect, w, &loaf_auth_in_status);
    return true;
}

const struct method loaf_auth_status = {
    .name = "auth.status",
    .result = loaf_auth_status_rows,
    .lane = LANE_MAIN,
    .run = auth_status,
    .about = "Stored sign-ins and keys; ignores params.",
};

/* ---- keys ---- */

struct key_params {
    struct str api_key;
};

static const struct row key_rows[] = {
    ROW(key_params, api_key, T_STR, NEEDED | LOAF_TEXT, "the key; skip removes Exa's"),
    ROW_END,
};

static bool store_key_await(struct loaf *lf, const char *provider, struct str key,
                            struct error *err)
{
    struct auth_entry e = {.type = AUTH_API_KEY, .access = key};
    struct auth_store *st = engine_auth(lf->sv->engine);
    bool ok = key.p ? auth_store_put_await(st, str_of(provider), &e, err)
                    : auth_store_remove_await(st, str_of(provider), err);
    engine_forget_keys(lf->sv->engine);
    return ok;
}

/* ---- auth.set.openrouter_key ---- */

static const char *const sources[] = {"remote", "cache", "fallback", NULL};

static const struct row openrouter_result[] = {
    ROW_OUT("configured", T_BOOL, NEEDED, "true"),
    ROW_OUT("model_count", T_INT, NEEDED, "models that are known now"),
    ROW_OUT("source", T_STR, NEEDED, "where they come from", .choices = sources),
    ROW_END,
};

/* The provider's list, or an older one; without any the number of models is 0. */
static const char *fetch_list_await(struct loaf *lf, size_t *ret_n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    enum list_source source = loaf_fetch_list_await(lf, "openrouter");
    *ret_n = 0;
    if (source != LIST_IS_FALLBACK)
        loaf_options(lf, &a, STR("openrouter"), ret_n);
    return sources[source];
}

static bool auth_set_openrouter_key_await(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct key_params *p = rq->args;
    size_t n;
    if (!store_key_await(lf, "openrouter", p->api_key, err))
        return false;
    loaf_enable(lf, STR("openrouter"));
    if (!loaf_home_save_await(lf, err))
        return false;
    const char *source = fetch_list_await(lf, &n);
    if (!lf->model[0])
        loaf_repair_choice(lf);
    loaf_say_state_changed(lf, STR("openrouter_key_updated"), NULL);
    jw_obj(w);
    jw_kbool(w, "configured", true);
    jw_kint(w, "model_count", (int64_t)n);
    jw_kz(w, "source", source);
    jw_obj_end(w);
    return true;
}

const struct method loaf_auth_set_openrouter_key = {
    .name = "auth.set.openrouter_key",
    .params = key_rows,
    .params_size = sizeof(struct key_params),
    .params_needed = true,
    .result = openrouter_result,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = auth_set_openrouter_key_await,
    .about = "Stores the key and asks for the list of models; the key is not checked.",
};

/* ---- auth.set.exa_key ---- */

static const struct row exa_result[] = {
    ROW_OUT("configured", T_BOOL, NEEDED, "there is a key now"),
    ROW_OUT("skipped", T_BOOL, NEEDED, "it was removed"),
    ROW_END,
};

static bool auth_set_exa_key_await(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct key_params *p = rq->args;
    bool is_skip = str_ieq(p->api_key, STR("skip"));
    if (!store_key_await(lf, "exa", is_skip ? STR_NONE : p->api_key, err))
        return false;
    loaf_say_state_changed(lf, is_skip ? STR("exa_key_skipped") : STR("exa_key_updated"), NULL);
    jw_obj(w);
    jw_kbool(w, "configured", !is_skip);
    jw_kbool(w, "skipped", is_skip);
    jw_obj_end(w);
    return true;
}

const struct method loaf_auth_set_exa_key = {
    .name = "auth.set.exa_key",
    .params = key_rows,
    .params_size = sizeof(struct key_params),
    .params_needed = true,
    .result = exa_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = auth_set_exa_key_await,
    .about = "Stores the key of the web search; skip removes it.",
};
