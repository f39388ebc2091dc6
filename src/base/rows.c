/* SPDX-License-Identifier: MIT */
#include "base/rows.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <math.h>

static bool fail(struct fault *f, enum fault_kind kind, const struct row *row, struct str name)
{
    *f = (struct fault){.kind = kind, .row = row, .name = name};
    return false;
}

const struct row *row_find(const struct row *rows, struct str name)
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

/* Checks the length of a string or of an item, and with ROWS_TIDY its content. */
static enum fault_kind check_text(const struct row *row, unsigned flags, struct str s)
{
    bool is_tidy = (flags & ROWS_TIDY) && !(row->flags & TEXT);
    size_t max = row->type == T_STR && row->max ? (size_t)row->max : SIZE_MAX;
    if (is_tidy)
        max = MIN(max, (size_t)LIMIT_ARGUMENT_BYTES);
    bool is_cut_by_nul = is_tidy || (row->flags & PATH);
    return s.n > max                                           ? FAULT_LONG
           : is_cut_by_nul && str_chr(s, '\0') != SIZE_MAX     ? FAULT_NUL
           : is_tidy && str_find(s, STR("\ufffd")) != SIZE_MAX ? FAULT_UTF8
                                                               : FAULT_NONE;
}

static enum fault_kind take_str(const struct row *row, unsigned flags, yyjson_val *v, void *slot)
{
    struct str s = json_str(v);
    if (!s.p)
        return FAULT_TYPE;
    enum fault_kind kind = check_text(row, flags, s);
    if (kind != FAULT_NONE)
        return kind;
    struct str inner = row->flags & WIDE ? utf8_trim(s) : str_trim(s);
    if (row->flags & TRIM)
        s = inner;
    if ((row->flags & NOT_BLANK) && !inner.n)
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

bool row_type_fits(enum row_type type, yyjson_val *v)
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

/* Records where a fault is: the i-th item of the row's list, or the place in it given by
 * `inner`. */
static bool fail_item(struct fault *f, enum fault_kind kind, const struct row *row, size_t i,
                      const struct fault *inner)
{
    struct str name = inner ? utf8_cut(inner->name, 40) : STR_NONE;
    bool is_member = inner && inner->kind != FAULT_NOT_OBJECT;
    fail(f, kind, is_member ? inner->row : row, str_of(row->name));
    f->is_item = !is_member;
    if (is_member)
        snprintf(f->inside, sizeof f->inside, "[%zu].%.*s%.30s", i, STR_FMT(name), inner->inside);
    else
        snprintf(f->inside, sizeof f->inside, "[%zu]", i);
    return false;
}

static bool check_item(const struct row *row, unsigned flags, size_t i, yyjson_val *item,
                       struct fault *f)
{
    struct fault inner;
    if (!row_type_fits(row->items, item))
        return fail_item(f, FAULT_TYPE, row, i, NULL);
    unsigned closed = row->flags & OPEN ? 0 : ROWS_CLOSED;
    if (row->rows && !rows_decode(row->rows, closed | (flags & ROWS_TIDY), item, NULL, &inner))
        return fail_item(f, inner.kind, row, i, &inner);
    if (row->items != T_STR)
        return true;
    if ((row->flags & NOT_BLANK) && str_is_blank(json_str(item)))
        return fail_item(f, FAULT_BLANK, row, i, NULL);
    enum fault_kind kind = check_text(row, flags, json_str(item));
    return kind == FAULT_NONE || fail_item(f, kind, row, i, NULL);
}

/* Checks a list and its items, objects among them by their own rows. */
static bool check_items(const struct row *row, unsigned flags, yyjson_val *v, struct fault *f)
{
    size_t i, max, n = yyjson_arr_size(v);
    yyjson_val *item;
    if (row->has_min && (int64_t)n < row->min)
        return fail(f, FAULT_RANGE, row, str_of(row->name));
    if (row->max && (int64_t)n > row->max)
        return fail(f, FAULT_LONG, row, str_of(row->name));
    yyjson_arr_foreach(v, i, max, item) {
        if (!check_item(row, flags, i, item, f))
            return false;
    }
    return true;
}

static enum fault_kind take_value(const struct row *row, unsigned flags, yyjson_val *v, void *slot)
{
    switch (row->type) {
    case T_STR:
        return take_str(row, flags, v, slot);
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
        if (!row_type_fits(row->type, v))
            return FAULT_TYPE;
        if (slot)
            *(yyjson_val **)slot = v;
        return FAULT_NONE;
    }
}

static bool take_row(const struct row *row, unsigned flags, yyjson_val *obj, void *into,
                     struct fault *f)
{
    yyjson_val *v = json_get(obj, row->name);
    enum fault_kind kind = FAULT_NONE;
    if (v && yyjson_is_null(v) && (row->flags & NULLABLE))
        v = NULL;
    if (v) {
        void *slot = into && row->offset != ROW_NOWHERE ? (char *)into + row->offset : NULL;
        kind = take_value(row, flags, v, slot);
    }
    if (!v || (kind == FAULT_TYPE && (flags & ROWS_LENIENT)))
        return row->flags & NEEDED ? fail(f, FAULT_MISSING, row, str_of(row->name)) : true;
    if (kind != FAULT_NONE)
        return fail(f, kind, row, str_of(row->name));
    return row->type != T_ARR || check_items(row, flags, v, f);
}

static bool is_repeated(yyjson_val *obj, struct str name, size_t before)
{
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(obj, i, max, key, val) {
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
    yyjson_obj_foreach(obj, i, max, key, val) {
        if (!row_find(rows, json_str(key)))
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
    yyjson_obj_foreach(obj, i, max, key, val) {
        if (is_repeated(obj, json_str(key), i))
            return fail(f, FAULT_DUPLICATE, row_find(rows, json_str(key)), json_str(key));
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
        if (!take_row(row, flags, obj, into, ret_fault))
            return false;
    return true;
}

static const char *article(enum row_type type)
{
    return type == T_INT || type == T_OBJ || type == T_ARR ? "an" : "a";
}

void fault_name(const struct fault *f, struct buf *out)
{
    buf_addf(out, "%.*s%s", STR_FMT(utf8_cut(f->name, 100)), f->inside);
}

/* Appends the expected type of the value. */
static void say_type(const struct fault *f, struct buf *out)
{
    enum row_type type = f->is_item ? f->row->items : f->row->type;
    buf_addf(out, "must be %s %s", article(type), row_type_name(type));
    if (type == T_ARR && f->row->items != T_ANY)
        buf_addf(out, " of %ss", row_type_name(f->row->items));
}

static void say_choices(const struct fault *f, struct buf *out)
{
    buf_addz(out, "must be one of");
    for (const char *const *c = f->row->choices; *c; c++)
        buf_addf(out, "%s %s", c == f->row->choices ? "" : ",", *c);
}

/* Appends the fault of a member; its name was appended before. */
static void say_what(const struct fault *f, struct buf *out)
{
    bool is_list = f->row && f->row->type == T_ARR;
    switch (f->kind) {
    case FAULT_DUPLICATE:
        buf_addz(out, "is given twice");
        break;
    case FAULT_CLASH:
        buf_addf(out, "and `%s` are one argument, but their values differ", f->row->name);
        break;
    case FAULT_MISSING:
        buf_addz(out, "is missing");
        break;
    case FAULT_BLANK:
        buf_addz(out, "must not be blank");
        break;
    case FAULT_NUL:
        buf_addz(out, "must not hold a NUL byte");
        break;
    case FAULT_UTF8:
        buf_addz(out, "must be valid UTF-8; it holds U+FFFD");
        break;
    case FAULT_RANGE:
        buf_addf(out, "must be %s %lld%s", is_list ? "a list of at least" : "at least",
                 (long long)f->row->min, is_list ? " items" : "");
        break;
    case FAULT_LONG:
        is_list = is_list && !f->is_item;
        buf_addf(out, "must have at most %lld %s",
                 f->row->max && !f->is_item ? (long long)f->row->max : LIMIT_ARGUMENT_BYTES,
                 is_list ? "items" : "bytes");
        break;
    case FAULT_CHOICE:
        say_choices(f, out);
        break;
    default:
        say_type(f, out);
    }
}

void fault_say(const struct fault *f, struct buf *out)
{
    if (f->kind == FAULT_NOT_OBJECT || f->kind == FAULT_NOT_JSON) {
        buf_addz(out, f->kind == FAULT_NOT_OBJECT ? "expected an object"
                                                  : "arguments were cut or are not JSON");
        return;
    }
    buf_addz(out, f->kind == FAULT_UNKNOWN ? "unknown member `" : "`");
    fault_name(f, out);
    buf_addc(out, '`');
    if (f->kind == FAULT_UNKNOWN)
        return;
    buf_addc(out, ' ');
    say_what(f, out);
}

const char *row_type_name(enum row_type type)
{
    static const char *const names[] = {
        [T_ANY] = "value",  [T_STR] = "string", [T_BOOL] = "boolean", [T_INT] = "integer",
        [T_NUM] = "number", [T_OBJ] = "object", [T_ARR] = "array",
    };
    return names[type];
}

void rows_text(const struct row *rows, int indent, struct buf *out)
{
    for (const struct row *row = rows; row->name; row++) {
        if (row->flags & UNLISTED)
            continue;
        buf_addf(out, "%*s%-24s %-8s %-8s %s\n", indent, "", row->name, row_type_name(row->type),
                 row->flags & NEEDED ? "needed" : "optional", row->about ? row->about : "");
        if (row->rows)
            rows_text(row->rows, indent + 4, out);
        for (const struct row_variant *v = row->variants; v && v->value; v++) {
            buf_addf(out, "%*s%s%s%s\n", indent + 4, "", v->value, v->about ? ": " : "",
                     v->about ? v->about : "");
            rows_text(v->rows, indent + 6, out);
        }
    }
}
