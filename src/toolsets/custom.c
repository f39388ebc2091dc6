/* SPDX-License-Identifier: MIT */
/* The list of custom tools, and what their results look like. */
#include "toolsets/custom_internal.h"

#include "base/utf8.h"

enum { NAME_MAX_CHARS = 64, ABOUT_BYTES = 4000 };

static const char open_schema[] = "{\"type\":\"object\",\"properties\":{}}";
static const struct row no_rows[] = {ROW_END};

struct custom *custom_new(struct str dir)
{
    struct custom *c = xnew(struct custom);
    c->dir = arena_str(&c->arena, dir);
    return c;
}

void custom_free(struct custom *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        json_clear(&c->tools[i]->schema);
    arena_clear(&c->arena);
    free(c->offered);
    free(c->tools);
    free(c->errors);
    free(c);
}

struct str custom_dir(const struct custom *c)
{
    return c->dir;
}

void custom_note(struct custom *c, const char *fmt, ...)
{
    AUTO(buf) struct buf line = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&line, fmt, ap);
    va_end(ap);
    GROW(c->errors, c->n_errors, c->errors_capacity);
    c->errors[c->n_errors++] = arena_str(&c->arena, buf_str(&line));
}

bool custom_name_is_fine(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == ':' || c == '-';
        if (!is_fine)
            return false;
    }
    return name.n > 0 && name.n <= NAME_MAX_CHARS;
}

static char provider_char(char c)
{
    return c == '.' || c == ':' ? '_' : c;
}

void custom_put_provider_name(struct buf *out, const char *name)
{
    for (; *name; name++)
        buf_addc(out, provider_char(*name));
}

static bool is_same(struct str a, const char *b)
{
    size_t i = 0;
    while (i < a.n && b[i] && provider_char(a.p[i]) == provider_char(b[i]))
        i++;
    return i == a.n && !b[i];
}

static bool is_taken(const struct toolset *set, struct str name)
{
    for (size_t i = 0; i < set->n_tools; i++)
        if (is_same(name, set->tools[i]->name))
            return true;
    return false;
}

/* ---- making ---- */

/* A schema without properties says nothing and is dropped. */
static void keep_schema(struct custom *c, struct custom_tool *t, yyjson_val *schema)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    struct error ignored;
    t->tool.schema = str_of(open_schema);
    if (!yyjson_is_obj(json_get(schema, "properties")))
        return;
    jw_val(&w, schema);
    t->tool.schema = arena_str(&c->arena, buf_str(&text));
    json_parse(t->tool.schema, 0, LIMIT_JSON_DEPTH, &t->schema, &ignored);
}

struct custom_tool *custom_make(struct custom *c, const struct toolset *set, struct str name,
                                struct str about, yyjson_val *schema, struct str file)
{
    if (!custom_name_is_fine(name)) {
        custom_note(c, "%.*s: a tool's name has 1 to %d of a-z A-Z 0-9 _ . : -", STR_FMT(file),
                    NAME_MAX_CHARS);
        return NULL;
    }
    const struct tool *other = custom_find(c, name);
    bool is_own = other && str_is(file, ((const struct custom_tool *)other->self)->file);
    if (is_taken(set, name) || (other && !is_own)) {
        custom_note(c, "%.*s: there is a tool called %.*s already", STR_FMT(file), STR_FMT(name));
        return NULL;
    }
    AUTO(buf) struct buf clean = BUF_INIT;
    utf8_repair(&clean, utf8_cut(str_trim(about), ABOUT_BYTES));
    struct custom_tool *t = arena_new(&c->arena, struct custom_tool);
    t->set = set;
    t->file = arena_strz(&c->arena, file);
    t->tool = (struct tool){
        .name = arena_strz(&c->arena, name),
        .about = clean.n ? arena_strz(&c->arena, buf_str(&clean)) : "A custom tool.",
        .args = no_rows,
        .args_size = 1,
        .mode = MODE_FULL,
        .takes_anything = true,
        .has_long_text = true,
        .self = t,
    };
    keep_schema(c, t, schema);
    return t;
}

void custom_add(struct custom *c, struct custom_tool *t)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!is_same(str_of(t->tool.name), c->offered[i]->name))
            continue;
        json_clear(&c->tools[i]->schema);
        c->tools[i]->schema = JSON_INIT; /* calls of the old one go on without it */
        c->tools[i] = t;
        c->offered[i] = &t->tool;
        return;
    }
    if (c->n == c->capacity) {
        c->capacity = c->capacity ? c->capacity * 2 : 8;
        c->tools = xrealloc(c->tools, c->capacity * sizeof *c->tools);
        c->offered = xrealloc(c->offered, c->capacity * sizeof *c->offered);
    }
    c->tools[c->n] = t;
    c->offered[c->n++] = &t->tool;
}

/* ---- finding ---- */

bool custom_load_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                       struct error *err)
{
    if (c->is_loaded)
        return true;
    /* Programs first and at once: calls that come while the scripts are being read find these. */
    gate_enter_through_await(&c->gate);
    if (!c->has_programs)
        custom_find_programs_through_await(c, set);
    c->has_programs = true;
    gate_leave(&c->gate);
    if (!custom_find_js_await(c, cx, set, err))
        return false;
    c->is_loaded = true;
    return true;
}

bool custom_add_file_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                           struct str path, struct error *err)
{
    AUTO_FREE char *file = str_dup(path);
    size_t n_errors = c->n_errors;
    if (!custom_import_await(c, cx, set, (const char *const[]){file, NULL}, err))
        return false;
    if (c->n_errors > n_errors)
        return error_set(err, ERR_INVALID, "%.*s", STR_FMT(c->errors[c->n_errors - 1]));
    return true;
}

const struct tool *const *custom_tools(const struct custom *c, size_t *ret_n)
{
    *ret_n = c ? c->n : 0;
    return c ? c->offered : NULL;
}

const struct tool *custom_find(const struct custom *c, struct str name)
{
    for (size_t i = 0; c && i < c->n; i++)
        if (is_same(name, c->offered[i]->name))
            return c->offered[i];
    return NULL;
}

const struct str *custom_errors(const struct custom *c, size_t *ret_n)
{
    *ret_n = c->n_errors;
    return c->errors;
}

/* ---- ending ---- */

static void add_value(struct buf *out, yyjson_val *v)
{
    struct jw w = JW(out);
    if (yyjson_is_str(v))
        buf_add(out, json_str(v));
    else
        jw_val(&w, v);
}

static void put_status(const struct custom_tool *t, struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "tool", t->tool.name);
    jw_kz(&w, "status", "error");
    jw_obj_end(&w);
}

bool custom_finish(const struct custom_tool *t, bool ok, yyjson_val *output, struct str error,
                   struct tool_result *r)
{
    struct jw w = JW(&r->value);
    bool has_output = output && !yyjson_is_null(output);
    buf_reset(&r->text);
    buf_reset(&r->value);
    buf_reset(&r->error);
    r->is_error = !ok;
    if (has_output || ok)
        jw_val(&w, output);
    else
        put_status(t, &r->value);
    if (!ok) {
        error = error.n ? error : STR("the tool failed without a reason");
        buf_add(&r->error, error);
        buf_addz(&r->text, t->set->error_prefix ? t->set->error_prefix : "");
        buf_add(&r->text, error);
        if (has_output)
            buf_addc(&r->text, '\n');
    }
    if (has_output)
        add_value(&r->text, output);
    return true;
}
