/* SPDX-License-Identifier: MIT */
/* JSON Schema (draft 2020-12) made from rows. */
#include "base/rows.h"

static void value_schema(const struct row *row, const struct row_shape *shapes, struct jw *w);

static const char *shape_name(const struct row_shape *shapes, const struct row *rows,
                              const struct row_variant *variants)
{
    for (; (rows || variants) && shapes && shapes->name; shapes++)
        if (shapes->rows == rows && shapes->variants == variants)
            return shapes->name;
    return NULL;
}

static void put_ref_member(struct jw *w, const char *name)
{
    AUTO(buf) struct buf ref = BUF_INIT;
    buf_addf(&ref, "#/$defs/%s", name);
    jw_kstr(w, "$ref", buf_str(&ref));
}

void schema_ref(struct jw *w, const char *name)
{
    jw_obj(w);
    put_ref_member(w, name);
    jw_obj_end(w);
}

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

static void choices_schema(const struct row *row, struct jw *w)
{
    jw_karr(w, "enum");
    for (const char *const *c = row->choices; *c; c++)
        jw_str(w, str_of(*c));
    if (row->flags & NULLABLE)
        jw_null(w);
    jw_arr_end(w);
}

static void object_schema(const struct row *rows, bool is_closed, const struct row_shape *shapes,
                          struct jw *w)
{
    const char *name = shape_name(shapes, rows, NULL);
    if (name)
        schema_ref(w, name);
    else
        rows_schema_with(rows, is_closed, shapes, w);
}

static void one_of_schema(const struct row_variant *variants, bool is_closed,
                          const struct row_shape *shapes, struct jw *w)
{
    jw_karr(w, "oneOf");
    for (const struct row_variant *v = variants; v->value; v++)
        object_schema(v->rows, is_closed, shapes, w);
    jw_arr_end(w);
}

/* Schema of a list's items or of a map's values. */
static void item_schema(const struct row *row, const struct row_shape *shapes, struct jw *w)
{
    const char *name = shape_name(shapes, row->rows, row->variants);
    if (name) {
        schema_ref(w, name);
    } else if (row->rows) {
        rows_schema_with(row->rows, !(row->flags & OPEN), shapes, w);
    } else {
        jw_obj(w);
        if (row->items != T_ANY)
            jw_kz(w, "type", row_type_name(row->items));
        if (row->type == T_ARR && row->choices)
            choices_schema(row, w);
        if (row->variants)
            one_of_schema(row->variants, !(row->flags & OPEN), shapes, w);
        jw_obj_end(w);
    }
}

/* One alternative per value of the member `by`, which selects the variant. */
static void variants_schema(const struct row *row, const struct row_shape *shapes, struct jw *w)
{
    jw_karr(w, "oneOf");
    for (const struct row_variant *v = row->variants; v->value; v++) {
        struct row chosen = {.name = row->name, .type = T_OBJ, .rows = v->rows, .about = v->about};
        jw_obj(w);
        jw_kobj(w, "properties");
        jw_kobj(w, row->by);
        jw_kz(w, "const", v->value);
        jw_obj_end(w);
        jw_key(w, row->name);
        value_schema(&chosen, shapes, w);
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void members_schema(const struct row *rows, bool is_closed, const struct row_shape *shapes,
                           struct jw *w)
{
    bool has_needed = false;
    jw_kobj(w, "properties");
    for (const struct row *row = rows; row->name; row++) {
        has_needed |= row->flags & NEEDED;
        if (row->flags & UNLISTED)
            continue;
        jw_key(w, row->name);
        value_schema(row, shapes, w);
    }
    jw_obj_end(w);
    if (has_needed) {
        jw_karr(w, "required");
        for (const struct row *row = rows; row->name; row++)
            if (row->flags & NEEDED)
                jw_str(w, str_of(row->name));
        jw_arr_end(w);
    }
    if (is_closed)
        jw_kbool(w, "additionalProperties", false);
    for (const struct row *row = rows; row->name; row++)
        if (row->variants && row->by)
            variants_schema(row, shapes, w);
}

static void limits_schema(const struct row *row, struct jw *w)
{
    if (row->has_min)
        jw_kint(w, row->type == T_ARR ? "minItems" : "minimum", row->min);
    if (row->max && row->type == T_ARR)
        jw_kint(w, "maxItems", row->max);
}

/* A reference to a named shape, or null where that is allowed. */
static void named_schema(const struct row *row, const char *name, struct jw *w)
{
    jw_obj(w);
    if (row->flags & NULLABLE) {
        jw_karr(w, "anyOf");
        schema_ref(w, name);
        jw_raw(w, STR("{\"type\":\"null\"}"));
        jw_arr_end(w);
    } else {
        put_ref_member(w, name);
    }
    if (row->about)
        jw_kz(w, "description", row->about);
    jw_obj_end(w);
}

static void value_schema(const struct row *row, const struct row_shape *shapes, struct jw *w)
{
    if (row->schema) {
        jw_raw(w, str_of(row->schema));
        return;
    }
    const char *name = row->type == T_OBJ && !(row->flags & (OPEN | MAP))
                           ? shape_name(shapes, row->rows, row->by ? NULL : row->variants)
                           : NULL;
    if (name) {
        named_schema(row, name, w);
        return;
    }
    jw_obj(w);
    type_schema(row, w);
    if (row->choices && row->type != T_ARR)
        choices_schema(row, w);
    limits_schema(row, w);
    if (row->about)
        jw_kz(w, "description", row->about);
    if (row->type == T_ARR || (row->flags & MAP)) {
        jw_key(w, row->type == T_ARR ? "items" : "additionalProperties");
        item_schema(row, shapes, w);
    } else if (row->type == T_OBJ && row->rows) {
        members_schema(row->rows, !(row->flags & OPEN), shapes, w);
    } else if (row->type == T_OBJ && row->variants && !row->by) {
        one_of_schema(row->variants, !(row->flags & OPEN), shapes, w);
    }
    jw_obj_end(w);
}

void rows_schema_with(const struct row *rows, bool is_closed, const struct row_shape *shapes,
                      struct jw *w)
{
    jw_obj(w);
    jw_kz(w, "type", "object");
    members_schema(rows, is_closed, shapes, w);
    jw_obj_end(w);
}

void rows_schema(const struct row *rows, bool is_closed, struct jw *w)
{
    rows_schema_with(rows, is_closed, NULL, w);
}

void shape_schema(const struct row_shape *shape, const struct row_shape *shapes, struct jw *w)
{
    if (shape->rows) {
        rows_schema_with(shape->rows, !shape->is_open, shapes, w);
        return;
    }
    jw_obj(w);
    one_of_schema(shape->variants, !shape->is_open, shapes, w);
    jw_obj_end(w);
}
