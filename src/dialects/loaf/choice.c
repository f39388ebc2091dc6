/* SPDX-License-Identifier: MIT */
/* The selected model, and the mapping between loaf's names of models and the engine's.
 *
 * The selection belongs to the process.  A session takes it over when a turn starts, so that a
 * running turn ends with the model it began with.
 *
 *     loaf                            engine
 *     openai, "gpt-5"                 codex/gpt-5 with a ChatGPT sign-in, else openai/gpt-5
 *     openrouter, "acme/alpha"        openrouter/acme/alpha
 *     antigravity, "claude-x"         antigravity/claude-x
 *     rehearsal, "rehearsal/hello"    rehearsal/hello: providers that loaf does not know keep their
 *                                     name in front
 */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/say.h"

#include <ctype.h>

const char *const loaf_thinking_levels[] = {"OFF",  "MINIMAL", "LOW", "MEDIUM",
                                            "HIGH", "XHIGH",   NULL};
static const char *const efforts[] = {"none", "minimal", "low", "medium", "high", "xhigh"};

/* In the order in which models are listed. */
const char *const loaf_providers[] = {"openai", "antigravity", "openrouter", NULL};

/* Including those that loaf does not know. */
const char *const loaf_all_providers[] = {"openai", "openrouter",       "antigravity", "anthropic",
                                          "gemini", "ollama",           "llamacpp",    "lmstudio",
                                          "vllm",   "openai-responses", "rehearsal",   NULL};

/* ---- providers ---- */

const char *loaf_provider_name(const struct provider *p)
{
    return strcmp(p->name, "codex") == 0 ? "openai" : p->name;
}

const struct provider *loaf_provider_named(struct loaf *lf, struct str name)
{
    const struct provider *codex = engine_find_provider(lf->sv->engine, STR("codex"));
    if (str_is(name, "openai") && codex && engine_has_credential(lf->sv->engine, codex))
        return codex;
    return engine_find_provider(lf->sv->engine, name);
}

const char *loaf_known_provider(struct str name)
{
    if (str_is(name, "vertex")) /* the name in old versions */
        return "openrouter";
    for (size_t i = 0; loaf_providers[i]; i++)
        if (str_is(name, loaf_providers[i]))
            return loaf_providers[i];
    return NULL;
}

void loaf_enable(struct loaf *lf, struct str name)
{
    const char *known = loaf_known_provider(name);
    for (size_t i = 0; i < lf->n_enabled; i++)
        if (known == lf->enabled[i])
            return;
    if (known)
        lf->enabled[lf->n_enabled++] = known;
}

static bool has_name(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

size_t loaf_enabled_providers(struct loaf *lf, const char **names, size_t max)
{
    size_t n_providers, n = 0;
    const struct provider *const *providers = engine_providers(lf->sv->engine, &n_providers);
    const struct provider *selected = loaf_selected_provider(lf);
    for (; n < lf->n_enabled && n < max; n++)
        names[n] = lf->enabled[n];
    for (size_t i = 0; i < n_providers && n < max; i++) {
        const struct provider *p = providers[i];
        const char *name = loaf_provider_name(p);
        /* The rehearsal model, and models that another provider lists, only if they are selected.
         */
        bool is_wanted = (p->needs_key && !p->doubles) || p == selected;
        if (is_wanted && !has_name(names, n, name) && engine_has_key(lf->sv->engine, p))
            names[n++] = name;
    }
    return n;
}

bool loaf_is_enabled(struct loaf *lf, const char *name)
{
    const char *names[LOAF_MOST_PROVIDERS];
    return has_name(names, loaf_enabled_providers(lf, names, ARRAY_LEN(names)), name);
}

/* ---- names of models ---- */

static struct str id_in(struct loaf *lf, struct str slug, const struct provider **ret)
{
    struct str head, rest = str_split(slug, '/', &head);
    *ret = rest.n ? engine_find_provider(lf->sv->engine, head) : NULL;
    return *ret ? rest : slug;
}

struct str loaf_model_id(struct loaf *lf, struct str slug)
{
    const struct provider *p;
    struct str id = id_in(lf, slug, &p);
    return p && loaf_known_provider(str_of(loaf_provider_name(p))) ? id : slug;
}

const struct provider *loaf_selected_provider(struct loaf *lf)
{
    struct str id;
    return lf->model[0] ? engine_slug_provider(lf->sv->engine, str_of(lf->model), &id) : NULL;
}

const char *loaf_selected_name(struct loaf *lf)
{
    const struct provider *p = loaf_selected_provider(lf);
    return p ? loaf_provider_name(p) : NULL;
}

bool loaf_selected_model(struct loaf *lf, struct arena *a, struct model *ret)
{
    struct error ignored;
    return engine_find_model(lf->sv->engine, a, str_of(lf->model), ret, &ignored);
}

/* By the name alone (loaf 145-147). */
static const char *guess_provider(struct str id)
{
    size_t slash = str_rchr(id, '/');
    struct str last = slash == SIZE_MAX ? id : str_from(id, slash + 1);
    if (str_starts(last, STR("gpt-")) || str_starts(last, STR("o1")) ||
        str_starts(last, STR("o3")) || str_starts(last, STR("o4")) ||
        str_find(last, STR("codex")) != SIZE_MAX)
        return "openai";
    if (str_find(last, STR("gemini")) != SIZE_MAX || str_find(last, STR("claude")) != SIZE_MAX)
        return "openrouter";
    return NULL;
}

static const char *find_in_lists(struct loaf *lf, struct str id)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model_option o;
    for (size_t i = 0; loaf_providers[i]; i++)
        if (loaf_is_enabled(lf, loaf_providers[i]) &&
            loaf_has_list(lf, str_of(loaf_providers[i])) &&
            loaf_option_find(lf, &a, str_of(loaf_providers[i]), id, &o))
            return loaf_providers[i];
    return NULL;
}

/* Also for a model in no list, since the list may be missing. */
static const char *find_provider_of(struct loaf *lf, struct str id, bool *ret_is_guess)
{
    const char *name = find_in_lists(lf, id);
    *ret_is_guess = !name;
    if (!name)
        name = guess_provider(id);
    if (!name && str_chr(id, '/') != SIZE_MAX && loaf_is_enabled(lf, "openrouter"))
        name = "openrouter";
    for (size_t i = 0; !name && i < lf->n_enabled; i++)
        if (!loaf_has_list(lf, str_of(lf->enabled[i])))
            name = lf->enabled[i];
    return name;
}

/* ---- setting ---- */

static void set_slug(struct loaf *lf, struct str slug)
{
    char *copy = str_dup(slug);
    free(lf->model);
    lf->model = copy;
}

void loaf_set_slug(struct loaf *lf, const struct provider *p, struct str id)
{
    AUTO(buf) struct buf slug = BUF_INIT;
    buf_addf(&slug, "%s/%.*s", p->name, STR_FMT(id));
    set_slug(lf, buf_str(&slug));
    lf->is_model_chosen = true;
}

struct str loaf_full_id(struct loaf *lf, struct arena *a)
{
    const struct provider *p;
    struct str id = id_in(lf, str_of(lf->model), &p);
    return p ? arena_fmt(a, "%s/%.*s", loaf_provider_name(p), STR_FMT(id))
             : arena_str(a, str_of(lf->model));
}

void loaf_set_model(struct loaf *lf, struct str id, struct str full_id)
{
    struct str head, bare = str_split(full_id, '/', &head);
    const char *name;
    const struct provider *p = bare.n ? loaf_provider_named(lf, head) : NULL;
    bool names_provider = p && (str_eq(id, bare) || str_eq(id, full_id));
    if (!names_provider) {
        name = find_provider_of(lf, id, &lf->is_provider_guessed);
        p = name ? loaf_provider_named(lf, str_of(name)) : NULL;
        bare = id;
    }
    if (p)
        loaf_set_slug(lf, p, bare);
}

void loaf_set_routing(struct loaf *lf, struct str routing)
{
    char *copy = routing.n ? str_dup(routing) : xstrdup("any");
    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    free(lf->routing);
    lf->routing = copy;
}

const char *loaf_level_named(struct str name)
{
    for (size_t i = 0; loaf_thinking_levels[i]; i++)
        if (str_is(name, loaf_thinking_levels[i]))
            return loaf_thinking_levels[i];
    return NULL;
}

void loaf_fit_thinking(struct loaf *lf, struct str wanted)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    const char *name = loaf_selected_name(lf), *level = loaf_level_named(wanted);
    struct model_option o;
    if (!name)
        return;
    if (!loaf_option_find(lf, &a, str_of(name), loaf_model_id(lf, str_of(lf->model)), &o))
        o = loaf_option_unknown(name);
    bool fits = level && !o.has_levels;
    for (size_t i = 0; i < o.n_levels; i++)
        fits = fits || level == o.levels[i];
    lf->thinking = fits ? level : o.default_level;
}

void loaf_model_take(struct loaf *lf, struct str provider, struct str model, struct str level,
                     struct str routing)
{
    const struct provider *p = loaf_provider_named(lf, provider);
    if (!p)
        return;
    loaf_enable(lf, provider);
    loaf_set_slug(lf, p, model);
    loaf_fit_thinking(lf, level);
    if (str_is(provider, "openrouter"))
        loaf_set_routing(lf, routing);
}

void loaf_forget_choice(struct loaf *lf)
{
    set_slug(lf, STR(""));
    loaf_set_routing(lf, STR_NONE);
    lf->thinking = "HIGH";
    lf->is_model_chosen = lf->is_provider_guessed = false;
}

/* Adds the slug of the provider's default model, else of its first; false without a list. */
static bool put_first(struct loaf *lf, const char *name, struct buf *slug)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *p = loaf_provider_named(lf, str_of(name));
    struct model_option usual;
    size_t n;
    if (!p || !engine_is_usable(lf->sv->engine, p) || !loaf_has_list(lf, str_of(name)))
        return false;
    const struct model_option *all = loaf_options(lf, &a, str_of(name), &n);
    if (!n)
        return false;
    bool has_usual = loaf_option_find(lf, &a, str_of(name), STR("gpt-4.1"), &usual);
    struct str id = has_usual ? usual.id : all[0].id;
    if (loaf_known_provider(str_of(name))) /* ids of other providers contain the provider */
        buf_addf(slug, "%s/", p->name);
    buf_add(slug, id);
    return true;
}

/* Selects a model of the first enabled provider that has one (loaf 145-147).  Without any list the
 * selection does not change: a list may arrive later. */
static void choose_first(struct loaf *lf)
{
    const char *names[LOAF_MOST_PROVIDERS];
    size_t n = loaf_enabled_providers(lf, names, ARRAY_LEN(names));
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf slug = BUF_INIT;
        if (!put_first(lf, names[i], &slug))
            continue;
        set_slug(lf, buf_str(&slug));
        return;
    }
}

void loaf_repair_choice(struct loaf *lf)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str id = arena_str(&a, loaf_model_id(lf, str_of(lf->model)));
    const char *name = loaf_selected_name(lf);
    const char *known = name ? loaf_known_provider(str_of(name)) : NULL;
    if (name && !known)
        return; /* a model of a provider that loaf does not know */
    if (known && loaf_is_enabled(lf, known))
        loaf_set_slug(lf, loaf_provider_named(lf, str_of(known)), id);
    else
        choose_first(lf);
    loaf_fit_thinking(lf, str_of(lf->thinking));
}

void loaf_begin_choice(struct loaf *lf)
{
    struct str model = str_trim(engine_default_model(lf->sv->engine));
    if (lf->is_model_chosen || !model.n)
        loaf_repair_choice(lf);
    else
        set_slug(lf, model);
}

/* A list that names the selected model decides which provider it belongs to. */
static void settle_provider(struct loaf *lf)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str id = arena_str(&a, loaf_model_id(lf, str_of(lf->model)));
    const char *name = lf->is_provider_guessed ? find_in_lists(lf, id) : NULL;
    if (!name)
        return;
    lf->is_provider_guessed = false;
    loaf_set_slug(lf, loaf_provider_named(lf, str_of(name)), id);
}

void loaf_list_came(struct loaf *lf, const struct provider *p)
{
    AUTO_FREE char *model = xstrdup(lf->model);
    const char *thinking = lf->thinking;
    settle_provider(lf);
    if (!lf->model[0])
        loaf_repair_choice(lf);
    else if (loaf_selected_provider(lf) == p)
        loaf_fit_thinking(lf, str_of(lf->thinking));
    if (strcmp(model, lf->model) != 0 || thinking != lf->thinking)
        loaf_say_state_changed(lf, STR("model_selected"), NULL);
}

/* ---- using ---- */

/* The effort for the request; empty for models without reasoning. */
static struct str effort_of(struct loaf *lf)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    if (!loaf_selected_model(lf, &a, &m) || !m.reasons)
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
    session_set_route(s, str_is(str_of(lf->routing), "any") ? STR_NONE : str_of(lf->routing));
}
