/* SPDX-License-Identifier: MIT */
#include "toolsets/mend.h"

#include "base/mem.h"
#include "base/utf8.h"

enum { SHOWN_END = 100, N_NEAREST = 3 };

struct mending {
    const struct toolset *set;
    const struct tool *tool;
    struct jw w;
    struct buf ignored; /* names, joined by commas */
    bool has_unknown;   /* one of them is no argument of the tool */
    struct fault *fault;
};

/* The objects whose members are the arguments. */
struct source {
    yyjson_val *objects[2]; /* NULL: no second one */
    bool is_inner;          /* not the arguments themselves */
    bool is_part;           /* further members belong to another place */
};

void mended_clear(struct mended *d)
{
    json_clear(&d->args);
    buf_clear(&d->note);
}

bool mend_parse(struct str raw, struct json *ret)
{
    AUTO(buf) struct buf mended = BUF_INIT;
    AUTO(json) struct json inner = JSON_INIT;
    struct error ignored;
    if (!json_parse(raw, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, ret, &ignored) &&
        (!json_mend(raw, &mended) ||
         !json_parse(buf_str(&mended), JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, ret, &ignored)))
        return false;
    struct str text = json_str(ret->root);
    if (text.n && json_parse(text, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &inner, &ignored) &&
        yyjson_is_obj(inner.root)) {
        json_clear(ret);
        *ret = take(&inner);
    }
    return true;
}

static bool put_object(struct mending *m, const struct row *rows, const struct source *s);

/* A JSON text in a string, when it is of the wanted type. */
static bool parse_text(struct str text, enum row_type type, struct json *ret)
{
    struct error ignored;
    text = str_trim(text);
    if (!text.n || !json_parse(text, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, ret, &ignored))
        return false;
    if (row_type_fits(type, ret->root))
        return true;
    json_clear(ret);
    return false;
}

/* The value of a flag or a number that was written as text. */
static bool put_from_text(struct mending *m, enum row_type type, struct str text)
{
    AUTO(json) struct json parsed = JSON_INIT;
    int64_t whole;
    text = str_trim(text);
    bool is_number = type == T_INT || type == T_NUM;
    if (type == T_BOOL && (str_ieq(text, STR("true")) || str_ieq(text, STR("false"))))
        jw_bool(&m->w, str_ieq(text, STR("true")));
    else if (is_number && str_int(text, &whole))
        jw_int(&m->w, whole);
    else if (is_number && parse_text(text, type, &parsed))
        jw_val(&m->w, parsed.root);
    else
        return false;
    return true;
}

static bool put_item(struct mending *m, const struct row *row, yyjson_val *item)
{
    struct source s = {.objects = {item}, .is_inner = true};
    if (row->rows && yyjson_is_obj(item))
        return put_object(m, row->rows, &s);
    if (!yyjson_is_str(item) || row_type_fits(row->items, item) ||
        !put_from_text(m, row->items, json_str(item)))
        jw_val(&m->w, item);
    return true;
}

/* A list; a value that is none is its only item. */
static bool put_list(struct mending *m, const struct row *row, yyjson_val *v)
{
    size_t i, max;
    yyjson_val *item;
    bool ok = true;
    jw_arr(&m->w);
    if (!yyjson_is_arr(v))
        ok = put_item(m, row, v);
    else
        yyjson_arr_foreach(v, i, max, item)
            ok = ok && put_item(m, row, item);
    jw_arr_end(&m->w);
    return ok;
}

static bool put_value(struct mending *m, const struct row *row, yyjson_val *v)
{
    AUTO(json) struct json parsed = JSON_INIT;
    bool is_text = yyjson_is_str(v);
    bool is_nested = row->type == T_OBJ || row->type == T_ARR;
    if (is_text && is_nested && parse_text(json_str(v), row->type, &parsed))
        v = parsed.root;
    else if (is_text && row->type == T_ARR && row->rows &&
             parse_text(json_str(v), row->items, &parsed))
        v = parsed.root;
    struct source s = {.objects = {v}, .is_inner = true};
    if (row->type == T_ARR &&
        (yyjson_is_arr(v) || (row->items != T_ANY && row_type_fits(row->items, v))))
        return put_list(m, row, v);
    if (row->type == T_OBJ && row->rows && yyjson_is_obj(v))
        return put_object(m, row->rows, &s);
    if (!is_text || row_type_fits(row->type, v) || !put_from_text(m, row->type, json_str(v)))
        jw_val(&m->w, v);
    return true;
}

static bool fail_clash(struct mending *m, const struct row *row, struct str name)
{
    *m->fault = (struct fault){.kind = FAULT_CLASH, .row = row, .name = name};
    return false;
}

/* What the object has for a row, under whatever name; *ret stays NULL when it has nothing. */
static bool find_value(struct mending *m, const struct row *rows, const struct row *row,
                       yyjson_val *obj, yyjson_val **ret)
{
    size_t i, max;
    struct str first = STR_NONE;
    yyjson_val *key, *v;
    yyjson_obj_foreach(obj, i, max, key, v) {
        struct str name = json_str(key);
        if (yyjson_is_null(v) || mend_row(m->tool->kind, rows, name) != row)
            continue;
        /* The name that is not the row's own is to blame. */
        if (first.p && !str_eq(first, name) && !yyjson_equals(*ret, v))
            return fail_clash(m, row, str_is(name, row->name) ? first : name);
        *ret = v;
        first = name;
    }
    return true;
}

static bool has_member_of(const struct mending *m, const struct row *rows, const struct row *items,
                          yyjson_val *obj)
{
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(obj, i, max, key, v) {
        if (!mend_row(m->tool->kind, rows, json_str(key)) &&
            mend_row(m->tool->kind, items, json_str(key)))
            return true;
    }
    return false;
}

/* Whether the members of an item may stand beside the list. */
static bool is_liftable(const struct mending *m, const struct row *row)
{
    return m->tool->kind == TOOL_EDIT && row->type == T_ARR && row->rows;
}

static void add_ignored(struct mending *m, struct str name, const struct row *row)
{
    if (m->ignored.n)
        buf_addz(&m->ignored, ", ");
    buf_add(&m->ignored, utf8_cut(name, 100));
    if (row)
        buf_addf(&m->ignored, " (must be of type %s)", row_type_name(row->type));
    m->has_unknown |= !row;
}

/* Whether text of the value's form can become what the row wants. */
static bool is_readable(struct mending *m, const struct row *row, yyjson_val *v)
{
    AUTO(buf) struct buf scratch = BUF_INIT;
    AUTO(json) struct json mended = JSON_INIT;
    struct error ignored;
    struct jw kept = m->w;
    m->w = JW(&scratch);
    put_value(m, row, v);
    m->w = kept;
    return !json_parse(buf_str(&scratch), 0, LIMIT_JSON_DEPTH, &mended, &ignored) ||
           row_type_fits(row->type, mended.root);
}

static bool put_row(struct mending *m, const struct row *rows, const struct row *row,
                    const struct source *s)
{
    yyjson_val *v = NULL, *obj = s->objects[0];
    if (!find_value(m, rows, row, obj, &v) ||
        (!v && s->objects[1] && !find_value(m, rows, row, s->objects[1], &v)))
        return false;
    if (!v && is_liftable(m, row) && has_member_of(m, rows, row->rows, obj)) {
        struct source part = {.objects = {obj}, .is_inner = true, .is_part = true};
        jw_key(&m->w, row->name);
        jw_arr(&m->w);
        bool ok = put_object(m, row->rows, &part);
        jw_arr_end(&m->w);
        return ok;
    }
    if (!v)
        return true;
    if (!s->is_inner && m->set->wrong_types_are_absent && !(row->flags & NEEDED) &&
        !is_readable(m, row, v)) {
        add_ignored(m, str_of(row->name), row);
        return true;
    }
    jw_key(&m->w, row->name);
    return put_value(m, row, v);
}

static bool is_lifted(const struct mending *m, const struct row *rows, struct str name)
{
    for (const struct row *row = rows; row->name; row++)
        if (is_liftable(m, row) && mend_row(m->tool->kind, row->rows, name))
            return true;
    return false;
}

/* What no row names: dropped, ignored with a note, or left for the rows to refuse. */
static void put_others(struct mending *m, const struct row *rows, const struct source *s)
{
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(s->objects[0], i, max, key, v) {
        struct str name = json_str(key);
        if (mend_row(m->tool->kind, rows, name) || mend_is_small_talk(name) ||
            is_lifted(m, rows, name) || (s->objects[1] && str_is(name, "edits")))
            continue;
        if (m->tool->mode == MODE_READ_ONLY && !s->is_inner) {
            add_ignored(m, name, NULL);
            continue;
        }
        jw_keys(&m->w, name);
        jw_val(&m->w, v);
    }
}

static bool put_object(struct mending *m, const struct row *rows, const struct source *s)
{
    bool ok = true;
    jw_obj(&m->w);
    for (const struct row *row = rows; ok && row->name; row++)
        ok = put_row(m, rows, row, s);
    if (ok && !s->is_part)
        put_others(m, rows, s);
    jw_obj_end(&m->w);
    return ok;
}

/* A list of one edit for a tool that takes one edit: the object in it. */
static yyjson_val *single_edit(const struct tool *f, yyjson_val *args, struct json *parsed)
{
    yyjson_val *list = json_get(args, "edits");
    if (f->kind != TOOL_EDIT || !list || mend_row(f->kind, f->args, STR("edits")))
        return NULL;
    if (yyjson_is_str(list) &&
        (parse_text(json_str(list), T_ARR, parsed) || parse_text(json_str(list), T_OBJ, parsed)))
        list = parsed->root;
    yyjson_val *item = yyjson_arr_size(list) == 1 ? yyjson_arr_get_first(list) : list;
    return yyjson_is_obj(item) ? item : NULL;
}

const struct tool *mend_pick(const struct tool *f, yyjson_val *args)
{
    const struct tool *other = f->for_edits;
    size_t i, max;
    yyjson_val *key, *v;
    bool is_edit = false;
    yyjson_obj_foreach(args, i, max, key, v) {
        if (!other || mend_row(f->kind, f->args, json_str(key)))
            return f;
        const struct row *row = mend_row(other->kind, other->args, json_str(key));
        is_edit |= row && str_is(str_of(row->name), "old_string");
        is_edit |= str_is(json_str(key), "edits");
    }
    return is_edit ? other : f;
}

/* Whether the rows can take the arguments as they are. */
static bool is_fine(const struct tool *f, yyjson_val *args)
{
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(args, i, max, key, v) {
        const struct row *row = row_find(f->args, json_str(key));
        if (!row || row->rows || !row_type_fits(row->type, v) || yyjson_is_null(v) ||
            row->type == T_ARR)
            return false;
    }
    return true;
}

static void put_accepted(const struct row *rows, struct buf *out)
{
    size_t start = out->n;
    for (const struct row *row = rows; row->name; row++)
        if (!(row->flags & UNLISTED))
            buf_addf(out, "%s%s", out->n > start ? ", " : "", row->name);
}

bool mend_args(const struct toolset *t, const struct tool *f, yyjson_val *args, struct mended *ret,
               struct fault *ret_fault)
{
    AUTO(json) struct json parsed = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    if (f->takes_anything || is_fine(f, args))
        return true;
    struct mending m = {.set = t, .tool = f, .w = JW(&text), .fault = ret_fault};
    struct source s = {.objects = {args, single_edit(f, args, &parsed)}};
    bool ok = put_object(&m, f->args, &s);
    /* JSON that was text before may be as deep as the arguments once more. */
    unsigned depth = 2 * LIMIT_JSON_DEPTH + 4;
    if (ok && !json_parse(buf_str(&text), JSON_FIX_SURROGATES, depth, &ret->args, &err))
        BUG("mended arguments are no JSON: %s", err.text);
    if (ok && m.ignored.n)
        buf_addf(&ret->note, "ignored: %.*s", STR_FMT(buf_str(&m.ignored)));
    if (ok && m.has_unknown) {
        buf_addz(&ret->note, "; accepted: ");
        put_accepted(f->args, &ret->note);
    }
    buf_clear(&m.ignored);
    return ok;
}

void mend_say_cut(struct str raw, struct buf *out)
{
    size_t from = raw.n;
    for (int chars = 0; chars < SHOWN_END && from > 0; chars++)
        do
            from--;
        while (from > 0 && ((unsigned char)raw.p[from] & 0xc0) == 0x80);
    buf_addf(out, "\nthey have %zu bytes and end with: %.*s", raw.n, STR_FMT(str_from(raw, from)));
}

void mend_say_names(const struct tool *f, const struct fault *fault, struct buf *out)
{
    const struct row *rows = f->args, *nearest = NULL;
    size_t best = SIZE_MAX;
    if (fault->kind != FAULT_UNKNOWN && fault->kind != FAULT_CLASH)
        return;
    struct str name = fault->name;
    if (fault->inside[0]) { /* a member of an item: the name stands behind the last dot */
        const struct row *list = row_find(f->args, name);
        struct str inside = str_of(fault->inside);
        rows = list && list->rows ? list->rows : rows;
        name = str_from(inside, str_rchr(inside, '.') + 1);
    }
    for (const struct row *row = rows; row->name; row++) {
        size_t d = mend_distance(name, str_of(row->name));
        if (d < best && d <= MAX(name.n, strlen(row->name)) / 2 && !(row->flags & UNLISTED)) {
            best = d;
            nearest = row;
        }
    }
    buf_addc(out, '\n');
    if (nearest && fault->kind == FAULT_UNKNOWN)
        buf_addf(out, "nearest: %s; ", nearest->name);
    buf_addz(out, "accepted: ");
    put_accepted(rows, out);
}

void mend_say_tools(const struct tool *const *tools, size_t n, struct str name, struct buf *out)
{
    enum { OTHER_KIND = 1000 };
    const struct tool *nearest[N_NEAREST] = {0};
    for (size_t k = 0; k < N_NEAREST && k < n; k++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < n; i++) {
            size_t d = mend_distance(name, str_of(tools[i]->name));
            if (d > 2 && !mend_speaks_of(name, tools[i]->kind))
                d += OTHER_KIND;
            if (d < best && tools[i] != nearest[0] && tools[i] != nearest[1]) {
                best = d;
                nearest[k] = tools[i];
            }
        }
        buf_addf(out, "%s%s", k ? ", " : "\nnearest tools: ", nearest[k]->name);
    }
}
