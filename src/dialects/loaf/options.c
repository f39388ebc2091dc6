/* SPDX-License-Identifier: MIT */
/* ModelOption (loaf 62, 76, 143-148): entries of the catalogue in loaf's form, and
 * models-cache.json.
 *
 * The models of a provider come from its live list; while there is none, from models-cache.json;
 * for providers with an API key otherwise from the program's own rows.  An account without a list
 * has no models, since what it may use is unknown.  The cache is read when a list is first needed
 * and written after every list that came over the network.
 */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/state.h"

#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "context/config.h"

enum { MOST_OPENAI = 120 };

/* ---- thinking levels ---- */

static void add_levels(struct model_option *o, unsigned from, unsigned to)
{
    for (unsigned i = from; i <= to; i++)
        o->levels[o->n_levels++] = loaf_thinking_levels[i];
}

enum { AT_OFF, AT_MINIMAL, AT_LOW, AT_MEDIUM, AT_HIGH, AT_XHIGH };

/* Levels derived from the names of OpenAI's models, without other data. */
static void add_levels_by_name(struct model_option *o)
{
    if (str_find(o->id, STR("codex-mini")) != SIZE_MAX)
        add_levels(o, AT_MEDIUM, AT_HIGH);
    else if (str_find(o->id, STR("codex")) != SIZE_MAX)
        add_levels(o, AT_LOW, AT_XHIGH);
    else if (str_starts(o->id, STR("gpt-5")))
        add_levels(o, AT_MINIMAL, AT_HIGH);
    else
        add_levels(o, AT_OFF, AT_HIGH);
}

static void set_default(struct model_option *o, const char *wanted)
{
    o->default_level = o->levels[(o->n_levels - 1) / 2];
    for (size_t i = 0; wanted && i < o->n_levels; i++)
        if (o->levels[i] == wanted)
            o->default_level = wanted;
}

static void set_levels(struct model_option *o, const struct model *m)
{
    const char *wanted = NULL;
    for (unsigned i = AT_OFF; i <= AT_XHIGH; i++) {
        if (m->levels & 1u << i)
            o->levels[o->n_levels++] = loaf_thinking_levels[i];
        if (m->default_level == 1u << i)
            wanted = loaf_thinking_levels[i];
    }
    if (!o->n_levels && !m->reasons) {
        add_levels(o, AT_OFF, AT_OFF);
    } else if (!o->n_levels && strcmp(o->provider, "openai") == 0) {
        add_levels_by_name(o);
    } else if (!o->n_levels) {
        add_levels(o, AT_OFF, AT_HIGH);
        wanted = wanted ? wanted : loaf_thinking_levels[AT_MEDIUM];
    }
    set_default(o, wanted);
}

/* Whether the levels come from a list, or from loaf's rules for lists that leave them out. */
static bool has_levels(const struct provider *p, const struct model *m)
{
    bool has_rules = p->list == LIST_CODEX || p->list == LIST_OPENROUTER ||
                     p->list == LIST_CLOUDCODE;
    return p->list == LIST_NONE || m->has_own_levels ||
           (m->has_own_reasons && (has_rules || !m->reasons));
}

struct model_option loaf_option_unknown(const char *provider)
{
    struct model_option o = {.provider = provider};
    add_levels(&o, AT_OFF, strcmp(provider, "openrouter") == 0 ? AT_HIGH : AT_XHIGH);
    set_default(&o, NULL);
    return o;
}

/* ---- from the catalogue ---- */

/* What loaf says of a model that is listed without a description. */
static const struct {
    const char *provider, *about;
} plain_descriptions[] = {
    {"openai", "server-advertised openai model"},
    {"openrouter", "server-advertised openrouter model"},
    {"antigravity", "antigravity catalog model"},
};

static struct str description_of(const struct provider *p, const struct model *m)
{
    for (size_t i = 0; i < ARRAY_LEN(plain_descriptions) && !m->about.n; i++)
        if (strcmp(plain_descriptions[i].provider, loaf_provider_name(p)) == 0)
            return str_of(plain_descriptions[i].about);
    return m->about.n ? m->about : str_of(p->label);
}

/* As loaf has it: the name that the list gives, else the id; for OpenRouter's with blanks. */
static struct str label_of(struct arena *a, const struct provider *p, const struct model *m)
{
    bool is_named = m->source == MODEL_LIVE ? m->has_own_name : m->name.p != m->id.p;
    if (is_named)
        return m->name;
    char *label = arena_strz(a, m->id), *to = label;
    for (const char *c = label; p->list == LIST_OPENROUTER && *c; c++) {
        bool is_mark = *c == '-' || *c == '_';
        if (!is_mark || to == label || to[-1] != ' ')
            *to++ = (char)(is_mark ? ' ' : *c);
    }
    return p->list == LIST_OPENROUTER ? str_n(label, (size_t)(to - label)) : str_of(label);
}

static struct model_option from_model(struct loaf *lf, struct arena *a, const struct provider *p,
                                      const struct model *m)
{
    struct str slug = arena_fmt(a, "%s/%.*s", p->name, STR_FMT(m->id));
    struct model_option o = {
        .provider = loaf_provider_name(p),
        .id = loaf_model_id(lf, slug),
        .label = label_of(a, p, m),
        .description = description_of(p, m),
        .window = m->context_window,
        .priority = m->priority,
        .routes = m->routes,
        .has_levels = has_levels(p, m),
    };
    set_levels(&o, m);
    return o;
}

static bool is_openai_model(struct str id)
{
    static const char *const heads[] = {"gpt-", "o1", "o3", "o4"};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (str_starts(id, str_of(heads[i])))
            return true;
    return str_find(id, STR("codex")) != SIZE_MAX;
}

static int rank_of(struct str id)
{
    return str_find(id, STR("codex")) != SIZE_MAX ? 0
           : str_starts(id, STR("gpt-5"))         ? 1
           : str_starts(id, STR("gpt-4.1"))       ? 2
           : str_starts(id, STR("gpt-4o"))        ? 3
           : str_starts(id, STR("o"))             ? 4
                                                  : 10;
}

static int by_priority(const void *a, const void *b)
{
    const struct model_option *x = a, *y = b;
    if (x->priority && y->priority && x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (rank_of(x->id) != rank_of(y->id))
        return rank_of(x->id) - rank_of(y->id);
    return str_cmp(x->id, y->id);
}

/* Models without a priority come last. */
static int by_place(const void *a, const void *b)
{
    const struct model_option *x = a, *y = b;
    if (x->priority != y->priority)
        return !x->priority ? 1 : !y->priority ? -1 : x->priority < y->priority ? -1 : 1;
    return str_cmp(x->id, y->id);
}

static int by_label(const void *a, const void *b)
{
    const struct model_option *x = a, *y = b;
    int c = str_cmp(x->label, y->label);
    return c ? c : str_cmp(x->id, y->id);
}

static bool is_live(struct loaf *lf, const struct provider *p)
{
    return engine_models_fetched_ms(lf->sv->engine, p) > 0;
}

/* Rows of the user's file are always listed.  With a live list only its models are; without one the
 * program's rows are, except for accounts. */
static bool is_shown(const struct provider *p, const struct model *m, bool has_list)
{
    if (m->source == MODEL_USER)
        return true;
    if (p->list == LIST_CODEX && !is_openai_model(m->id))
        return false;
    return has_list ? m->source == MODEL_LIVE : !p->takes_tokens;
}

static void sort_options(const struct provider *p, struct model_option *all, size_t n)
{
    if (p->list == LIST_OPENROUTER)
        qsort(all, n, sizeof *all, by_label);
    else if (p->list == LIST_CODEX || p->list == LIST_OPENAI)
        qsort(all, n, sizeof *all, by_priority);
    else if (p->list == LIST_CLOUDCODE)
        qsort(all, n, sizeof *all, by_place);
}

static size_t from_catalogue(struct loaf *lf, struct arena *a, const struct provider *p,
                             struct model_option **ret)
{
    size_t n_models, n = 0;
    const struct model *models = engine_models(lf->sv->engine, p, a, &n_models);
    bool has_list = is_live(lf, p);
    struct model_option *all = arena_array(a, struct model_option, n_models + 1);
    for (size_t i = 0; i < n_models; i++)
        if (is_shown(p, &models[i], has_list))
            all[n++] = from_model(lf, a, p, &models[i]);
    if (n && has_list)
        sort_options(p, all, n);
    *ret = all;
    return p->list == LIST_CODEX ? MIN(n, (size_t)MOST_OPENAI) : n;
}

/* ---- from loaf's cache ---- */

static yyjson_val *cached_models(struct loaf *lf, const char *provider)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error ignored;
    if (!lf->cache.doc) {
        buf_addf(&path, "%s/models-cache.json", lf->data_dir);
        if (!config_read(buf_str(&path), &lf->cache, &ignored))
            return NULL;
    }
    if (json_get_int(lf->cache.root, "version", 0) != 1)
        return NULL;
    return json_get(json_get(lf->cache.root, provider), "models");
}

bool loaf_has_cached(struct loaf *lf, const char *provider)
{
    return yyjson_arr_size(cached_models(lf, provider)) > 0;
}

static struct str routes_in(struct arena *a, yyjson_val *list)
{
    AUTO(buf) struct buf names = BUF_INIT;
    size_t i, max;
    yyjson_val *name;
    yyjson_arr_foreach(list, i, max, name) {
        if (json_str(name).n)
            buf_addf(&names, "%s%.*s", names.n ? "," : "", STR_FMT(json_str(name)));
    }
    return names.n ? arena_str(a, buf_str(&names)) : STR_NONE;
}

static struct model_option from_cache(struct arena *a, const char *provider, yyjson_val *v)
{
    struct model_option o = {.provider = provider};
    yyjson_val *level;
    size_t i, max;
    o.id = arena_str(a, json_get_str(v, "id"));
    o.label = arena_str(a, json_get_str(v, "label"));
    o.description = arena_str(a, json_get_str(v, "description"));
    o.window = json_get_int(v, "contextWindowTokens", 0);
    o.routes = routes_in(a, json_get(v, "routingProviders"));
    yyjson_arr_foreach(json_get(v, "supportedThinkingLevels"), i, max, level) {
        const char *known = loaf_level_named(json_str(level));
        if (known && o.n_levels < ARRAY_LEN(o.levels))
            o.levels[o.n_levels++] = known;
    }
    o.has_levels = o.n_levels > 0;
    if (!o.n_levels)
        add_levels(&o, AT_OFF, strcmp(provider, "openrouter") == 0 ? AT_HIGH : AT_XHIGH);
    set_default(&o, loaf_level_named(json_get_str(v, "defaultThinkingLevel")));
    return o;
}

static yyjson_val *find_cached(struct loaf *lf, const char *known, struct str id)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(cached_models(lf, known), i, max, item) {
        if (str_eq(json_get_str(item, "id"), id))
            return item;
    }
    return NULL;
}

bool loaf_has_list(struct loaf *lf, struct str name)
{
    const struct provider *p = loaf_provider_named(lf, name);
    const char *known = loaf_known_provider(name);
    return p && (p->list == LIST_NONE || is_live(lf, p) || (known && loaf_has_cached(lf, known)));
}

const struct model_option *loaf_options(struct loaf *lf, struct arena *a, struct str name,
                                        size_t *ret_n)
{
    const struct provider *p = loaf_provider_named(lf, name);
    const char *known = loaf_known_provider(name);
    yyjson_val *cached = p && known && !is_live(lf, p) ? cached_models(lf, known) : NULL, *item;
    size_t n = 0, i, max;
    *ret_n = 0;
    if (!p)
        return NULL;
    if (!yyjson_arr_size(cached)) {
        struct model_option *own;
        *ret_n = from_catalogue(lf, a, p, &own);
        return own;
    }
    struct model_option *all = arena_array(a, struct model_option, yyjson_arr_size(cached));
    yyjson_arr_foreach(cached, i, max, item) {
        if (json_get_str(item, "id").n)
            all[n++] = from_cache(a, known, item);
    }
    *ret_n = n;
    return all;
}

bool loaf_option_find(struct loaf *lf, struct arena *a, struct str provider, struct str id,
                      struct model_option *ret)
{
    const struct provider *p = loaf_provider_named(lf, provider);
    const char *known = loaf_known_provider(provider);
    struct error ignored;
    struct model m;
    if (!p || !id.n)
        return false;
    bool has_list = is_live(lf, p);
    yyjson_val *cached = known && !has_list ? find_cached(lf, known, id) : NULL;
    if (cached) {
        *ret = from_cache(a, known, cached);
        return true;
    }
    struct str slug = known ? arena_fmt(a, "%s/%.*s", p->name, STR_FMT(id)) : id;
    if (!engine_find_model(lf->sv->engine, a, slug, &m, &ignored) ||
        strcmp(m.provider, p->name) != 0 || m.source == MODEL_UNKNOWN ||
        (has_list && !is_shown(p, &m, true)))
        return false;
    *ret = from_model(lf, a, p, &m);
    return true;
}

/* ---- output ---- */

/* The answer to model.openrouter.providers is newer than the list. */
static void put_routes(struct loaf *lf, struct jw *w, const struct model_option *o)
{
    struct str asked = loaf_routes_of(lf, o->id), rest = o->routes, name;
    if (asked.p) {
        jw_kraw(w, "routingProviders", asked);
        return;
    }
    jw_karr(w, "routingProviders");
    while (rest.n) {
        rest = str_split(rest, ',', &name);
        jw_str(w, name);
    }
    jw_arr_end(w);
}

static void put_members(struct loaf *lf, struct jw *w, const struct model_option *o,
                        bool with_provider)
{
    jw_kstr(w, "id", o->id);
    if (with_provider)
        jw_kz(w, "provider", o->provider);
    jw_kstr(w, "label", o->label);
    jw_kstr(w, "description", o->description);
    jw_karr(w, "supportedThinkingLevels");
    for (size_t i = 0; i < o->n_levels; i++)
        jw_str(w, str_of(o->levels[i]));
    jw_arr_end(w);
    jw_kz(w, "defaultThinkingLevel", o->default_level);
    if (strcmp(o->provider, "openrouter") == 0)
        put_routes(lf, w, o);
    if (o->window > 0)
        jw_kint(w, "contextWindowTokens", o->window);
}

void loaf_put_option(struct loaf *lf, struct jw *w, const struct model_option *o)
{
    jw_obj(w);
    put_members(lf, w, o, true);
    jw_obj_end(w);
}

/* ---- writing the cache ---- */

struct keeping { /* used on its fiber and on a worker thread */
    struct loaf *lf;
    const char *provider;
    struct buf path;
    struct json entry;
};

static void put_cache(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct keeping *k = arg;
    config_put(doc, root, STR("version"), yyjson_mut_int(doc, 1));
    config_put(doc, root, str_of(k->provider), yyjson_val_mut_copy(doc, k->entry.root));
}

static void keep_await(struct keeping *k)
{
    struct error err;
    if (!config_renew_await(buf_str(&k->path), put_cache, k, &err))
        log_warn("cannot write models-cache.json: %s", err.text);
    json_clear(&k->lf->cache); /* so that it is read again */
    k->lf->cache = JSON_INIT;
    k->lf->n_keeping--;
    wait_wake(&k->lf->quiet);
    json_clear(&k->entry);
    buf_clear(&k->path);
    free(k);
}

static void keep_fiber(void *arg)
{
    keep_await(arg);
}

static void put_entry(struct loaf *lf, const char *provider, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct jw w = JW(out);
    char now[TIME_ISO_LEN + 1];
    size_t n;
    const struct model_option *all = loaf_options(lf, &a, str_of(provider), &n);
    time_iso(time_now_ms(), now);
    jw_obj(&w);
    jw_kz(&w, "fetchedAt", now);
    jw_karr(&w, "models");
    for (size_t i = 0; i < n; i++) {
        jw_obj(&w);
        put_members(lf, &w, &all[i], false);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
}

static struct keeping *keeping_new(struct loaf *lf, const char *provider)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct error ignored;
    struct keeping *k = xnew(struct keeping);
    put_entry(lf, provider, &text);
    if (!json_parse(buf_str(&text), 0, 16, &k->entry, &ignored)) {
        free(k);
        return NULL;
    }
    k->lf = lf;
    k->provider = provider;
    buf_addf(&k->path, "%s/models-cache.json", lf->data_dir);
    lf->n_keeping++;
    return k;
}

void loaf_options_keep(struct loaf *lf, const char *provider)
{
    struct keeping *k = keeping_new(lf, provider);
    if (k)
        fiber_start(lf->sv->loop, "cache", keep_fiber, k);
}

void loaf_options_keep_await(struct loaf *lf, const char *provider)
{
    struct keeping *k = keeping_new(lf, provider);
    if (k)
        keep_await(k);
}
