/* SPDX-License-Identifier: MIT */
#include "base/rows.h"

#include "base/utf8.h"

#include <math.h>

static bool fail(struct fault *f, enum fault_kind kind, const struct row *row, struct str name)
{
    *f = (struct fault){kind, row, name};
    return false;
}

static const struct row *find_row(const struct row *rows, struct str name)
{
    for (; rows->name; rows++)
        if (str_is(name, rows->name))
            return rows;
    return NULL;
}

static bool is_choice(const struct row *row, struct str s)
{
    for (const char *const *c = row->choices; *c; c++)
        if (str_is(s, *c))
            return true;
    return false;
}

static enum fault_kind take_str(const struct row *row, yyjson_val *v, void *slot)
{
    struct str s = json_str(v);
    if (!s.p)
        return FAULT_TYPE;
    if (row->flags & TRIM)
        s = str_trim(s);
    if ((row->flags & NOT_BLANK) && str_is_blank(s))
        return row->flags & NEEDED ? FAULT_BLANK : FAULT_NONE;
    if (row->choices && !is_choice(row, s))
        return FAULT_CHOICE;
    if (slot)
        *(struct str *)slot = s;
    return FAULT_NONE;
}

static enum fault_kind take_num(const struct row *row, yyjson_val *v, void *slot)
{
    int64_t whole = 0;
    if (row->type == T_INT ? !json_is_whole(v, &whole) : !yyjson_is_num(v))
        return FAULT_TYPE;
    double d = yyjson_get_num(v);
    if (!isfinite(d))
        return FAULT_TYPE;
    if (row->has_min && d < (double)row->min)
        return FAULT_RANGE;
    if (slot && row->type == T_INT)
        *(int64_t *)slot = whole;
    else if (slot)
        *(double *)slot = d;
    return FAULT_NONE;
}

static bool is_of_type(yyjson_val *v, enum row_type type)
{
    int64_t whole;
    switch (type) {
    case T_STR:
        return yyjson_is_str(v);
    case T_BOOL:
        return yyjson_is_bool(v);
    case T_INT:
        return json_is_whole(v, &whole);
    case T_NUM:
        return yyjson_is_num(v);
    case T_OBJ:
        return yyjson_is_obj(v);
    case T_ARR:
        return yyjson_is_arr(v);
    default:
        return true;
    }
}

/* Checks the items of an array, objects inside it by their own rows. */
static enum fault_kind check_items(const struct row *row, yyjson_val *v)
{
    size_t i, max;
    yyjson_val *item;
    struct fault inner;
    if (row->has_min && (int64_t)yyjson_arr_size(v) < row->min)
        return FAULT_RANGE;
    yyjson_arr_foreach(v, i, max, item)
    {
        if (!is_of_type(item, row->items))
            return FAULT_TYPE;
        if (row->rows && !rows_decode(row->rows, ROWS_CLOSED, item, NULL, &inner))
            return FAULT_TYPE;
    }
    return FAULT_NONE;
}

static enum fault_kind take_value(const struct row *row, yyjson_val *v, void *slot)
{
    switch (row->type) {
    case T_STR:
        return take_str(row, v, slot);
    case T_INT:
    case T_NUM:
        return take_num(row, v, slot);
    case T_BOOL:
        if (!yyjson_is_bool(v))
            return FAULT_TYPE;
        if (slot)
            *(bool *)slot = yyjson_get_bool(v);
        return FAULT_NONE;
    default:
        if (!is_of_type(v, row->type))
            return FAULT_TYPE;
        if (slot)
            *(yyjson_val **)slot = v;
        return row->type == T_ARR ? check_items(row, v) : FAULT_NONE;
    }
}

static bool take_row(const struct row *row, yyjson_val *obj, void *into, struct fault *f)
{
    yyjson_val *v = json_get(obj, row->name);
    if (v && yyjson_is_null(v) && (row->flags & NULLABLE))
        v = NULL;
    if (!v)
        return row->flags & NEEDED ? fail(f, FAULT_MISSING, row, str_of(row->name)) : true;
    void *slot = into && row->offset != ROW_NOWHERE ? (char *)into + row->offset : NULL;
    enum fault_kind kind = take_value(row, v, slot);
    return kind == FAULT_NONE || fail(f, kind, row, str_of(row->name));
}

static bool is_repeated(yyjson_val *obj, struct str name, size_t before)
{
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(obj, i, max, key, val)
    {
        if (i >= before)
            return false;
        if (str_eq(json_str(key), name))
            return true;
    }
    return false;
}

static bool check_names(const struct row *rows, yyjson_val *obj, struct fault *f)
{
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(obj, i, max, key, val)
    {
        if (!find_row(rows, json_str(key)))
            return fail(f, FAULT_UNKNOWN, NULL, json_str(key));
    }
    for (const struct row *row = rows; row->name; row++)
        if ((row->flags & NEEDED) && !json_get(obj, row->name))
            return fail(f, FAULT_MISSING, row, str_of(row->name));
    return true;
}

static bool check_doubles(const struct row *rows, yyjson_val *obj, struct fault *f)
{
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(obj, i, max, key, val)
    {
        if (is_repeated(obj, json_str(key), i))
            return fail(f, FAULT_DUPLICATE, find_row(rows, json_str(key)), json_str(key));
    }
    return true;
}

bool rows_decode(const struct row *rows, unsigned flags, yyjson_val *obj, void *into,
                 struct fault *ret_fault)
{
    if (!yyjson_is_obj(obj))
        return fail(ret_fault, FAULT_NOT_OBJECT, NULL, STR_NONE);
    if ((flags & ROWS_CLOSED) && !check_names(rows, obj, ret_fault))
        return false;
    if ((flags & ROWS_NO_DOUBLES) && !check_doubles(rows, obj, ret_fault))
        return false;
    for (const struct row *row = rows; row->name; row++)
        if (!take_row(row, obj, into, ret_fault))
            return false;
    return true;
}

static const char *article(enum row_type type)
{
    return type == T_INT || type == T_OBJ || type == T_ARR ? "an" : "a";
}

void fault_say(const struct fault *f, struct buf *out)
{
    struct str name = utf8_cut(f->name, 100);
    switch (f->kind) {
    case FAULT_NOT_OBJECT:
        buf_addz(out, "expected an object");
        return;
    case FAULT_UNKNOWN:
        buf_addf(out, "unknown member `%.*s`", STR_FMT(name));
        return;
    case FAULT_DUPLICATE:
        buf_addf(out, "`%.*s` is given twice", STR_FMT(name));
        return;
    case FAULT_MISSING:
        buf_addf(out, "`%.*s` is missing", STR_FMT(name));
        return;
    case FAULT_BLANK:
        buf_addf(out, "`%.*s` must not be blank", STR_FMT(name));
        return;
    case FAULT_RANGE:
        buf_addf(out, "`%.*s` must be %s %lld%s", STR_FMT(name),
                 f->row->type == T_ARR ? "a list of at least" : "at least", (long long)f->row->min,
                 f->row->type == T_ARR ? " items" : "");
        return;
    case FAULT_CHOICE:
        buf_addf(out, "`%.*s` must be one of", STR_FMT(name));
        for (const char *const *c = f->row->choices; *c; c++)
            buf_addf(out, "%s %s", c == f->row->choices ? "" : ",", *c);
        return;
    default:
        buf_addf(out, "`%.*s` must be %s %s", STR_FMT(name), article(f->row->type),
                 row_type_name(f->row->type));
        if (f->row->type == T_ARR && f->row->items != T_ANY)
            buf_addf(out, " of %ss", row_type_name(f->row->items));
    }
}

const char *row_type_name(enum row_type type)
{
    static const char *const names[] = {
        [T_ANY] = "value",   [T_STR] = "string", [T_BOOL] = "boolean", [T_INT] = "integer",
        [T_NUM] = "number", [T_OBJ] = "object", [T_ARR] = "array",
    };
    return names[type];
}

static void value_schema(const struct row *row, struct jw *w);

static void type_schema(const struct row *row, struct jw *w)
{
    if (row->type == T_ANY)
        return;
    if (row->flags & NULLABLE) {
        jw_karr(w, "type");
        jw_str(w, str_of(row_type_name(row->type)));
        jw_str(w, STR("null"));
        jw_arr_end(w);
    } else {
        jw_kz(w, "type", row_type_name(row->type));
    }
}

static void item_schema(const struct row *row, struct jw *w)
{
    jw_key(w, "items");
    if (row->rows) {
        rows_schema(row->rows, true, w);
        return;
    }
    jw_obj(w);
    if (row->items != T_ANY)
        jw_kz(w, "type", row_type_name(row->items));
    jw_obj_end(w);
}

static void members_schema(const struct row *rows, bool is_closed, struct jw *w)
{
    jw_kobj(w, "properties");
    for (const struct row *row = rows; row->name; row++) {
        jw_key(w, row->name);
        value_schema(row, w);
    }
    jw_obj_end(w);
    bool has_needed = false;
    for (const struct row *row = rows; row->name; row++)
        has_needed |= row->flags & NEEDED;
    if (has_needed) {
        jw_karr(w, "required");
        for (const struct row *row = rows; row->name; row++)
            if (row->flags & NEEDED)
                jw_str(w, str_of(row->name));
        jw_arr_end(w);
    }
    if (is_closed)
        jw_kbool(w, "additionalProperties", false);
}

static void value_schema(const struct row *row, struct jw *w)
{
    if (row->schema) {
        jw_raw(w, str_of(row->schema));
        return;
    }
    jw_obj(w);
    type_schema(row, w);
    if (row->choices)
        jw_klist(w, "enum", row->choices);
    if (row->has_min)
        jw_kint(w, row->type == T_ARR ? "minItems" : "minimum", row->min);
    if (row->about)
        jw_kz(w, "description", row->about);
    if (row->type == T_ARR)
        item_schema(row, w);
    else if (row->type == T_OBJ && row->rows)
        members_schema(row->rows, !(row->flags & OPEN), w);
    jw_obj_end(w);
}

void rows_schema(const struct row *rows, bool is_closed, struct jw *w)
{
    jw_obj(w);
    jw_kz(w, "type", "object");
    members_schema(rows, is_closed, w);
    jw_obj_end(w);
}

void rows_text(const struct row *rows, int indent, struct buf *out)
{
    for (const struct row *row = rows; row->name; row++) {
        buf_addf(out, "%*s%-24s %-8s %-8s %s\n", indent, "", row->name, row_type_name(row->type),
                 row->flags & NEEDED ? "needed" : "optional", row->about ? row->about : "");
        if (row->rows)
            rows_text(row->rows, indent + 4, out);
    }
}
