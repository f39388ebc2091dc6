/* SPDX-License-Identifier: MIT */
#include "providers/model_rows.h"

#include "base/rows.h"

/* ---- levels ---- */

const char *const level_names[LEVEL_N] = {"off",  "minimal", "low", "medium",
                                          "high", "xhigh",   "max"};

unsigned level_named(struct str name)
{
    static const struct {
        const char *name;
        enum model_level level;
    } others[] = {{"none", LEVEL_OFF}, {"extra_high", LEVEL_XHIGH}, {"extra-high", LEVEL_XHIGH}};
    for (unsigned i = 0; i < LEVEL_N; i++)
        if (str_ieq(name, str_of(level_names[i])))
            return 1u << i;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (str_ieq(name, str_of(others[i].name)))
            return others[i].level;
    return 0;
}

const char *level_name(unsigned level)
{
    for (unsigned i = 0; i < LEVEL_N; i++)
        if (level == 1u << i)
            return level_names[i];
    return NULL;
}

/* ---- lists ---- */

void model_rows_clear(struct model_rows *r)
{
    arena_clear(&r->arena);
    free(r->rows);
    table_clear(&r->by_slug);
    *r = MODEL_ROWS_INIT;
}

struct model_row *model_rows_add(struct model_rows *r, struct str provider, struct str id)
{
    GROW(r->rows, r->n, r->capacity);
    struct model_row *row = &r->rows[r->n++];
    struct str slug = arena_fmt(&r->arena, "%.*s/%.*s", STR_FMT(provider), STR_FMT(id));
    *row = (struct model_row){.provider = str_cut(slug, provider.n)};
    row->model.id = str_from(slug, provider.n + 1);
    table_put(&r->by_slug, slug, (void *)(uintptr_t)r->n);
    return row;
}

const struct model_row *model_rows_find(const struct model_rows *r, struct str provider,
                                        struct str id)
{
    AUTO(buf) struct buf slug = BUF_INIT;
    if (!r->n)
        return NULL;
    buf_addf(&slug, "%.*s/%.*s", STR_FMT(provider), STR_FMT(id));
    size_t number = (uintptr_t)table_get(&r->by_slug, buf_str(&slug));
    return number ? &r->rows[number - 1] : NULL;
}

void model_rows_set_routes(struct model_rows *r, struct str provider, struct str id,
                           struct str routes)
{
    const struct model_row *found = model_rows_find(r, provider, id);
    if (!found)
        return;
    struct model_row *row = &r->rows[found - r->rows];
    row->model.routes = arena_str(&r->arena, routes);
    row->given |= GIVEN_ROUTES;
}

void model_row_apply(const struct model_row *row, enum model_source source, struct model *m)
{
    const struct model *from = &row->model;
    unsigned given = row->given;
    if (given & GIVEN_NAME) {
        m->has_own_name = true;
        m->name = from->name;
    }
    if (given & GIVEN_WINDOW)
        m->context_window = from->context_window;
    if (given & GIVEN_OUTPUT)
        m->max_output = from->max_output;
    if (given & GIVEN_IMAGES)
        m->takes_images = from->takes_images;
    if (given & GIVEN_ABOUT)
        m->about = from->about;
    if (given & GIVEN_ROUTES)
        m->routes = from->routes;
    if (given & GIVEN_LEVELS) {
        m->has_own_levels = true;
        m->levels = from->levels;
        m->reasons = (from->levels & ~(unsigned)LEVEL_OFF) != 0;
    }
    if (given & GIVEN_REASONS) {
        m->has_own_reasons = true;
        m->reasons = from->reasons;
    }
    if (given & GIVEN_PRICE_IN)
        m->price_in = from->price_in;
    if (given & GIVEN_PRICE_OUT)
        m->price_out = from->price_out;
    if (given & GIVEN_PRICE_CACHED)
        m->price_cached = from->price_cached;
    if (given & GIVEN_PRICE_CACHE_WRITE)
        m->price_cache_write = from->price_cache_write;
    if (given & GIVEN_DEFAULT)
        m->default_level = from->default_level;
    if (given & GIVEN_PRIORITY)
        m->priority = from->priority;
    m->source = source;
}

/* ---- reading ---- */

struct parsed_entry {
    struct str id, name, description, default_level;
    int64_t context_window, max_output, priority;
    bool images, reasons;
    yyjson_val *reasoning, *routes;
    double price_in, price_out, price_cached, price_cache_write;
};

#define NOT_BELOW_0 .has_min = true, .min = 0
static const struct row entry_rows[] = {
    ROW(parsed_entry, id, T_STR, NEEDED | NOT_BLANK, "provider/model-id"),
    ROW(parsed_entry, name, T_STR, NOT_BLANK, "for humans"),
    ROW(parsed_entry, description, T_STR, OPTIONAL, "for humans, at more length"),
    ROW(parsed_entry, context_window, T_INT, OPTIONAL, "tokens", NOT_BELOW_0),
    ROW(parsed_entry, max_output, T_INT, OPTIONAL, "tokens", NOT_BELOW_0),
    ROW(parsed_entry, images, T_BOOL, OPTIONAL, "whether it takes images"),
    ROW(parsed_entry, reasons, T_BOOL, OPTIONAL,
        "whether it reasons; follows from the levels if absent"),
    ROW(parsed_entry, reasoning, T_ARR, OPTIONAL,
        "levels: off, minimal, low, medium, high, xhigh, max", .items = T_STR),
    ROW(parsed_entry, default_level, T_STR, OPTIONAL, "one of these levels"),
    ROW(parsed_entry, priority, T_INT, OPTIONAL, "place in a list, from 1", NOT_BELOW_0),
    ROW(parsed_entry, routes, T_ARR, OPTIONAL, "upstreams of OpenRouter", .items = T_STR),
    ROW(parsed_entry, price_in, T_NUM, OPTIONAL, "USD per million tokens", NOT_BELOW_0),
    ROW(parsed_entry, price_out, T_NUM, OPTIONAL, "USD per million tokens", NOT_BELOW_0),
    ROW(parsed_entry, price_cached, T_NUM, OPTIONAL, "USD per million tokens", NOT_BELOW_0),
    ROW(parsed_entry, price_cache_write, T_NUM, OPTIONAL, "USD per million tokens", NOT_BELOW_0),
    ROW_END,
};

static const struct {
    const char *name;
    unsigned bit;
} members[] = {
    {"name", GIVEN_NAME},
    {"description", GIVEN_ABOUT},
    {"context_window", GIVEN_WINDOW},
    {"max_output", GIVEN_OUTPUT},
    {"images", GIVEN_IMAGES},
    {"reasons", GIVEN_REASONS},
    {"reasoning", GIVEN_LEVELS},
    {"default_level", GIVEN_DEFAULT},
    {"priority", GIVEN_PRIORITY},
    {"routes", GIVEN_ROUTES},
    {"price_in", GIVEN_PRICE_IN},
    {"price_out", GIVEN_PRICE_OUT},
    {"price_cached", GIVEN_PRICE_CACHED},
    {"price_cache_write", GIVEN_PRICE_CACHE_WRITE},
};

static bool read_levels(yyjson_val *list, unsigned *ret, struct error *err)
{
    unsigned levels = 0;
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item) {
        unsigned level = level_named(json_str(item));
        if (!level)
            return error_set(err, ERR_INVALID, "`reasoning` names the unknown level %.40s",
                             yyjson_get_str(item));
        levels |= level;
    }
    *ret = levels;
    return true;
}

static struct str read_routes(struct arena *a, yyjson_val *list)
{
    AUTO(buf) struct buf names = BUF_INIT;
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item) {
        if (json_str(item).n && str_chr(json_str(item), ',') == SIZE_MAX)
            buf_addf(&names, "%s%.*s", names.n ? "," : "", STR_FMT(json_str(item)));
    }
    return arena_str(a, buf_str(&names));
}

static bool read_entry(struct model_rows *r, yyjson_val *v, bool is_strict, struct error *err)
{
    struct parsed_entry e = {0};
    struct fault fault;
    struct str provider;
    unsigned levels = 0;
    if (!rows_decode(entry_rows, is_strict ? ROWS_CLOSED | ROWS_NO_DOUBLES : 0, v, &e, &fault)) {
        AUTO(buf) struct buf words = BUF_INIT;
        fault_say(&fault, &words);
        return error_set(err, ERR_INVALID, "%.300s", words.p);
    }
    struct str id = str_split(str_trim(e.id), '/', &provider);
    if (provider.n == 0 || id.n == 0)
        return error_set(err, ERR_INVALID, "`id` must be provider/model-id");
    if (!read_levels(e.reasoning, &levels, err))
        return false;
    struct model_row *row = model_rows_add(r, provider, id);
    row->model.name = arena_str(&r->arena, e.name);
    row->model.about = arena_str(&r->arena, e.description);
    row->model.routes = read_routes(&r->arena, e.routes);
    row->model.context_window = e.context_window;
    row->model.max_output = e.max_output;
    row->model.takes_images = e.images;
    row->model.reasons = e.reasons;
    row->model.levels = levels;
    row->model.default_level = level_named(e.default_level);
    row->model.priority = e.priority;
    row->model.price_in = e.price_in;
    row->model.price_out = e.price_out;
    row->model.price_cached = e.price_cached;
    row->model.price_cache_write = e.price_cache_write;
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (json_get(v, members[i].name))
            row->given |= members[i].bit;
    if (e.name.n == 0)
        row->given &= ~(unsigned)GIVEN_NAME;
    return true;
}

bool model_rows_read(struct model_rows *r, yyjson_val *models, bool is_strict, struct error *err)
{
    size_t i, max;
    yyjson_val *item;
    if (!yyjson_is_arr(models))
        return error_set(err, ERR_INVALID, "`models` must be an array");
    yyjson_arr_foreach(models, i, max, item) {
        if (!read_entry(r, item, is_strict, err))
            return error_prefix(err, "models[%zu]", i);
    }
    return true;
}

/* ---- writing ---- */

static void put_levels(struct jw *w, unsigned levels)
{
    jw_karr(w, "reasoning");
    for (unsigned i = 0; i < LEVEL_N; i++)
        if (levels & 1u << i)
            jw_str(w, str_of(level_names[i]));
    jw_arr_end(w);
}

static void put_routes(struct jw *w, struct str routes)
{
    struct str name;
    jw_karr(w, "routes");
    while (routes.n) {
        routes = str_split(routes, ',', &name);
        jw_str(w, name);
    }
    jw_arr_end(w);
}

static void put_row(const struct model_row *row, struct jw *w)
{
    const struct model *m = &row->model;
    AUTO(buf) struct buf id = BUF_INIT;
    buf_addf(&id, "%.*s/%.*s", STR_FMT(row->provider), STR_FMT(m->id));
    jw_obj(w);
    jw_kstr(w, "id", buf_str(&id));
    if (row->given & GIVEN_NAME)
        jw_kstr(w, "name", m->name);
    if (row->given & GIVEN_ABOUT)
        jw_kstr(w, "description", m->about);
    if (row->given & GIVEN_WINDOW)
        jw_kint(w, "context_window", m->context_window);
    if (row->given & GIVEN_OUTPUT)
        jw_kint(w, "max_output", m->max_output);
    if (row->given & GIVEN_IMAGES)
        jw_kbool(w, "images", m->takes_images);
    if (row->given & GIVEN_REASONS)
        jw_kbool(w, "reasons", m->reasons);
    if (row->given & GIVEN_LEVELS)
        put_levels(w, m->levels);
    if (row->given & GIVEN_DEFAULT)
        jw_kz(w, "default_level", level_name(m->default_level));
    if (row->given & GIVEN_PRIORITY)
        jw_kint(w, "priority", m->priority);
    if (row->given & GIVEN_ROUTES)
        put_routes(w, m->routes);
    if (row->given & GIVEN_PRICE_IN)
        jw_knum(w, "price_in", m->price_in);
    if (row->given & GIVEN_PRICE_OUT)
        jw_knum(w, "price_out", m->price_out);
    if (row->given & GIVEN_PRICE_CACHED)
        jw_knum(w, "price_cached", m->price_cached);
    if (row->given & GIVEN_PRICE_CACHE_WRITE)
        jw_knum(w, "price_cache_write", m->price_cache_write);
    jw_obj_end(w);
}

void model_rows_put(const struct model_rows *r, struct jw *w)
{
    jw_arr(w);
    for (size_t i = 0; i < r->n; i++)
        put_row(&r->rows[i], w);
    jw_arr_end(w);
}
