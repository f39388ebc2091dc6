/* SPDX-License-Identifier: MIT */
/* Model, effort and compaction from the environment and the config file (kward 146-157, 302-307),
 * and writing them to the config file.
 *
 *     provider   KWARD_PROVIDER, config provider, the first that has a key
 *     model      OPENAI_MODEL ..., config openai_model ..., config model, a default
 *     effort     OPENAI_REASONING_EFFORT ..., config openai_reasoning_effort ..., reasoning_effort,
 *                thinking_level, none
 *
 * TRIVET_MODEL overrides them all.  A choice of a client in this process overrides the environment;
 * it is stored in the config file and read from there.
 *
 * With the provider "local", one of the providers for local servers gets the user's address and the
 * label Local.
 */
#include "dialects/kward/events.h"
#include "dialects/kward/models.h"

#include "auth/store.h"
#include "context/config.h"

enum { RESERVE_TOKENS = 16384, KEEP_RECENT_TOKENS = 20000 };

const char kw_default_effort[] = "medium";

static struct str env(const char *name)
{
    return str_trim(str_of(getenv(name) ? getenv(name) : ""));
}

/* ---- names of providers in the file ---- */

static bool is_local(const struct kward *k, const char *provider)
{
    return k->local && strcmp(provider, k->local) == 0;
}

/* The prefix of _model and _reasoning_effort; in upper case for the environment. */
static struct str key_word(const struct kward *k, const char *provider)
{
    if (is_local(k, provider))
        return STR("local");
    return strcmp(provider, "codex") == 0 ? STR("openai") : str_of(provider);
}

static void key_name(struct buf *out, const struct kward *k, const char *provider,
                     const char *ending)
{
    buf_addf(out, "%.*s_%s", STR_FMT(key_word(k, provider)), ending);
    for (size_t i = 0; i < out->n; i++)
        if (out->p[i] == '-')
            out->p[i] = '_';
}

/* <word>_<ending> of the config, STR_NONE unless it is a non-blank string. */
static struct str config_text(const struct kward *k, yyjson_val *config, const char *provider,
                              const char *ending)
{
    AUTO(buf) struct buf name = BUF_INIT;
    key_name(&name, k, provider, ending);
    struct str text = str_trim(json_get_str(config, name.p));
    return text.n ? text : STR_NONE;
}

static struct str env_of(const struct kward *k, const char *provider, const char *ending)
{
    AUTO(buf) struct buf name = BUF_INIT;
    struct str word = key_word(k, provider);
    if (!str_is(word, "openai") && !str_is(word, "openrouter"))
        return STR_NONE;
    buf_addf(&name, "%.*s_%s", STR_FMT(word), ending);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] >= 'a' && name.p[i] <= 'z')
            name.p[i] -= 'a' - 'A';
    struct str value = env(name.p);
    return value.n ? value : STR_NONE;
}

/* ---- the local server ---- */

static const struct backend {
    const char *word, *provider, *base;
} backends[] = {
    {"ollama", "ollama", "http://127.0.0.1:11434/v1"},
    {"lm_studio", "lmstudio", "http://127.0.0.1:1234/v1"},
    {"llama_cpp", "llamacpp", "http://127.0.0.1:8080/v1"},
    /* any other server: no defaults */
    {"", "vllm", ""},
};

static const struct backend *find_backend(yyjson_val *config, bool has_address)
{
    struct str word = str_trim(json_get_str(config, "local_backend"));
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        if (word.n && str_ieq(word, str_of(backends[i].word)))
            return &backends[i];
    return &backends[has_address ? ARRAY_LEN(backends) - 1 : 0];
}

/* From the environment, else the config, else STR(""). */
static struct str local_setting(yyjson_val *config, const char *env_name, const char *name)
{
    struct str value = env(env_name);
    return value.n ? value : str_trim(json_get_str(config, name));
}

/* The local server gets no key of another provider, and needs none. */
static void point_at_local(struct kward *k, yyjson_val *config)
{
    struct str given = local_setting(config, "KWARD_LOCAL_BASE_URL", "local_base_url");
    const struct backend *b = find_backend(config, given.n > 0);
    struct str key = local_setting(config, "KWARD_LOCAL_API_KEY", "local_api_key");
    const struct provider *p = engine_find_provider(k->sv->engine, str_of(b->provider));
    k->local = b->provider;
    if (p)
        engine_point_provider(k->sv->engine, p, given.n ? given : str_of(b->base), key);
    if (!str_int(env("KWARD_LOCAL_CONTEXT_WINDOW"), &k->local_window))
        k->local_window = json_get_int(config, "local_context_window", 0);
    k->local_window = MAX(k->local_window, 0);
}

/* ---- choosing ---- */

/* The engine's name of the provider that the word or label means; NULL: none. */
static const char *provider_named(const struct kward *k, struct str name)
{
    size_t n;
    const struct provider *const *p = engine_providers(k->sv->engine, &n);
    for (size_t i = 0; i < n; i++)
        if (str_ieq(name, str_of(p[i]->name)) || str_ieq(name, str_of(kw_label(k, p[i]))))
            return p[i]->name;
    return NULL;
}

const char *kw_find_provider(struct kward *k, struct str name, struct error *err)
{
    AUTO(json) struct json config = JSON_INIT;
    if (str_ieq(name, STR("local")) && !k->local) {
        if (!config_read(str_of(k->config_path), &config, err))
            return NULL;
        point_at_local(k, config.root);
    }
    const char *provider = provider_named(k, name);
    if (!provider)
        error_set(err, ERR_INVALID, "Unsupported provider: %.*s", STR_FMT(str_cut(name, 100)));
    return provider;
}

static const char *provider_with_key(const struct kward *k)
{
    static const char *const preferred[] = {"codex", "openai", "openrouter"};
    for (size_t i = 0; i < ARRAY_LEN(preferred); i++) {
        const struct provider *p = engine_find_provider(k->sv->engine, str_of(preferred[i]));
        if (p && engine_is_usable(k->sv->engine, p))
            return p->name;
    }
    return "codex"; /* turns then fail with the missing sign-in */
}

static const char *choose_provider(struct kward *k, yyjson_val *config)
{
    struct str word = env("KWARD_PROVIDER");
    if (!word.n || k->is_model_chosen)
        word = str_trim(json_get_str(config, "provider"));
    if (str_ieq(word, STR("local"))) {
        point_at_local(k, config);
        return k->local;
    }
    const char *provider = word.n ? provider_named(k, word) : NULL;
    return provider ? provider : provider_with_key(k);
}

static struct str usual_model(const struct provider *p, const char *provider)
{
    if (strcmp(provider, "openrouter") == 0)
        return STR("openai/gpt-5.5");
    if (strcmp(provider, "openai") == 0 || strcmp(provider, "codex") == 0)
        return STR("gpt-5.5");
    return p && p->models && p->models->id.n ? p->models->id : STR("default");
}

static bool is_better(const struct model *m, const struct model *than)
{
    return !than || (m->priority && (!than->priority || m->priority < than->priority));
}

/* With a list, a model of it: the usual one, else the first in the provider's order. */
static struct str default_model(const struct kward *k, const char *provider, struct arena *a)
{
    const struct provider *p = engine_find_provider(k->sv->engine, str_of(provider));
    struct str usual = usual_model(p, provider);
    const struct model *best = NULL;
    size_t n = 0;
    const struct model *all = p ? engine_models(k->sv->engine, p, a, &n) : NULL;
    bool has_list = p && engine_models_fetched_ms(k->sv->engine, p) > 0;
    for (size_t i = 0; has_list && i < n; i++) {
        if (all[i].source < MODEL_LIVE)
            continue;
        if (str_eq(all[i].id, usual))
            return usual;
        if (is_better(&all[i], best))
            best = &all[i];
    }
    return best ? best->id : usual;
}

static struct str choose_model(const struct kward *k, yyjson_val *config, const char *provider,
                               struct arena *a)
{
    struct str id = STR_NONE;
    if (is_local(k, provider))
        id = env("KWARD_LOCAL_MODEL").n ? env("KWARD_LOCAL_MODEL") : STR_NONE;
    else if (!k->is_model_chosen)
        id = env_of(k, provider, "MODEL");
    if (!id.p)
        id = config_text(k, config, provider, "model");
    if (!id.p && str_trim(json_get_str(config, "model")).n)
        id = str_trim(json_get_str(config, "model"));
    return id.p ? id : default_model(k, provider, a);
}

static void set_model(struct kward *k, yyjson_val *config)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str fixed = engine_default_model(k->sv->engine);
    const char *provider = choose_provider(k, config);
    struct buf slug = BUF_INIT;
    if (fixed.p && !k->is_model_chosen)
        buf_add(&slug, fixed);
    else
        buf_addf(&slug, "%s/%.*s", provider, STR_FMT(choose_model(k, config, provider, &a)));
    free(k->slug);
    k->slug = buf_take(&slug);
}

static void set_effort(struct kward *k, yyjson_val *config)
{
    static const char *const plain[] = {"reasoning_effort", "thinking_level"};
    AUTO(arena) struct arena a = ARENA_INIT;
    const char *provider = kw_current_model(k, &a).provider;
    struct str effort = k->is_effort_chosen ? STR_NONE : env_of(k, provider, "REASONING_EFFORT");
    if (!effort.p)
        effort = config_text(k, config, provider, "reasoning_effort");
    for (size_t i = 0; !effort.n && i < ARRAY_LEN(plain); i++)
        effort = str_trim(json_get_str(config, plain[i]));
    if (!effort.n && (strcmp(provider, "codex") == 0 || strcmp(provider, "openrouter") == 0))
        effort = str_of(kw_default_effort); /* for others the provider's default is used */
    free(k->effort);
    k->effort = effort.n ? str_dup(effort) : NULL;
}

/* ---- compaction ---- */

/* A positive number under either spelling, or the default. */
static int64_t positive(yyjson_val *obj, const char *snake, const char *camel, int64_t otherwise)
{
    int64_t n = json_get_int(obj, snake, json_get_int(obj, camel, 0));
    return n > 0 ? n : otherwise;
}

static void set_compaction(struct kward *k, yyjson_val *config)
{
    yyjson_val *c = json_get(config, "compaction");
    struct compact_rules *r = &k->settings.compact;
    r->is_enabled = json_get_bool(c, "enabled", true);
    r->reserve_tokens = positive(c, "reserve_tokens", "reserveTokens", RESERVE_TOKENS);
    r->keep_recent_tokens = positive(c, "keep_recent_tokens", "keepRecentTokens",
                                     KEEP_RECENT_TOKENS);
    k->settings.context_window = positive(c, "context_window", "contextWindow", 0);
}

/* ---- loading ---- */

/* Searching the web is on unless the config says otherwise. */
static void set_gadgets(struct kward *k, yyjson_val *config)
{
    static const char *const web[] = {"web", NULL};
    bool is_on = json_get_bool(json_get(config, "web_search"), "enabled", true);
    k->settings.gadgets = is_on ? web : NULL;
}

/* The OAuth client, if the user has configured one. */
static void set_client(struct kward *k, yyjson_val *config)
{
    struct auth_store *st = engine_auth(k->sv->engine);
    struct str id = str_trim(json_get_str(config, "openai_oauth_client_id"));
    struct str old = STR_NONE, secret;
    auth_store_client(st, "openai", &old, &secret);
    if (!str_eq(id, old))
        auth_store_set_client(st, "openai", id, STR_NONE);
}

void kw_load_settings(struct kward *k)
{
    AUTO(json) struct json config = JSON_INIT;
    struct error ignored;
    /* An invalid file is reported by config/read and config/update. */
    if (!config_read(str_of(k->config_path), &config, &ignored))
        config = JSON_INIT;
    set_client(k, config.root);
    set_model(k, config.root);
    set_effort(k, config.root);
    set_compaction(k, config.root);
    set_gadgets(k, config.root);
    kw_take_persona(k, config.root);
}

void kw_refresh(struct kward *k)
{
    struct error ignored;
    kw_load_settings(k);
    /* A file locked by another process keeps its old model until it is opened again. */
    for (struct kw_file *f = k->files; f; f = f->next) {
        struct session_info info;
        session_info(f->session, &info);
        if (!f->is_closing &&
            (!str_is(info.model, k->slug) || !str_eq(info.effort, str_of(k->effort))))
            session_choose(f->session, str_of(k->slug), str_of(k->effort), &ignored);
    }
}

/* ---- storing choices ---- */

struct choice { /* members of the config file and their values */
    struct str names[2], values[2];
    size_t n;
};

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *root, struct str name, struct str value)
{
    config_put(doc, root, name, yyjson_mut_strncpy(doc, value.p, value.n));
}

static void put_choice(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct choice *c = arg;
    for (size_t i = 0; i < c->n; i++)
        put_text(doc, root, c->names[i], c->values[i]);
}

bool kw_choose_model_await(struct kward *k, const char *provider, struct str model,
                           struct error *err)
{
    AUTO(buf) struct buf name = BUF_INIT;
    key_name(&name, k, provider, "model");
    struct choice c = {
        .names = {STR("provider"), buf_str(&name)},
        .values = {is_local(k, provider) ? STR("local") : str_of(provider), model},
        .n = 2,
    };
    if (!config_change_await(str_of(k->config_path), put_choice, &c, NULL, err))
        return false;
    k->is_model_chosen = true;
    kw_refresh(k);
    k->has_wanted_window = !k->files;
    kw_want_window(k);
    return true;
}

bool kw_choose_effort_await(struct kward *k, const char *provider, struct str effort,
                            struct error *err)
{
    AUTO(buf) struct buf name = BUF_INIT;
    key_name(&name, k, provider, "reasoning_effort");
    struct choice c = {.names = {buf_str(&name)}, .values = {effort}, .n = 1};
    if (!config_change_await(str_of(k->config_path), put_choice, &c, NULL, err))
        return false;
    k->is_effort_chosen = true;
    kw_refresh(k);
    return true;
}
