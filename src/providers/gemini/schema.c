/* SPDX-License-Identifier: MIT */
/* Tool schemas for Gemini. "parametersJsonSchema" accepts JSON Schema but ignores `const`, which
 * becomes an enum of one value. "parameters" has fixed members and refuses others: only known
 * members are written, and a nullable type uses its own syntax.
 */
#include "providers/gemini/gemini.h"

#include "base/limits.h"

static bool is_one_of(struct str name, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static bool is_kept(struct str name, enum gemini_schema kind)
{
    static const char *const remarks[] = {"$schema", "$comment", NULL};
    static const char *const known[] = {
        "type",    "format",        "title",         "description", "nullable", "enum",
        "items",   "properties",    "required",      "minItems",    "maxItems", "minimum",
        "maximum", "minLength",     "maxLength",     "pattern",     "default",  "anyOf",
        "oneOf",   "minProperties", "maxProperties", "example",     "const",    NULL,
    };
    return kind == GEMINI_OPENAPI ? is_one_of(name, known) : !is_one_of(name, remarks);
}

static void put_node(struct jw *w, yyjson_val *v, enum gemini_schema kind);

static void put_list(struct jw *w, yyjson_val *list, enum gemini_schema kind)
{
    size_t i, max;
    yyjson_val *item;
    jw_arr(w);
    yyjson_arr_foreach(list, i, max, item)
        put_node(w, item, kind);
    jw_arr_end(w);
}

/* An object with arbitrary names whose values are schemas. */
static void put_map(struct jw *w, yyjson_val *map, enum gemini_schema kind)
{
    size_t i, max;
    yyjson_val *name, *value;
    jw_obj(w);
    yyjson_obj_foreach(map, i, max, name, value) {
        jw_keys(w, json_str(name));
        put_node(w, value, kind);
    }
    jw_obj_end(w);
}

/* ["string","null"] is a string that may be null; of several other types the first is used. */
static void put_types(struct jw *w, yyjson_val *types)
{
    size_t i, max;
    yyjson_val *item;
    struct str first = STR_NONE;
    bool has_null = false;
    yyjson_arr_foreach(types, i, max, item) {
        if (str_is(json_str(item), "null"))
            has_null = true;
        else if (!first.p)
            first = json_str(item);
    }
    jw_kstr(w, "type", first.p ? first : STR("string"));
    if (has_null)
        jw_kbool(w, "nullable", true);
}

/* Enum values are strings there. */
static void put_enum(struct jw *w, yyjson_val *values, enum gemini_schema kind)
{
    size_t i, max;
    yyjson_val *item;
    jw_karr(w, "enum");
    yyjson_arr_foreach(values, i, max, item) {
        if (kind == GEMINI_JSON_SCHEMA || yyjson_is_str(item))
            jw_val(w, item);
    }
    jw_arr_end(w);
}

static void put_const(struct jw *w, yyjson_val *value, enum gemini_schema kind)
{
    if (kind == GEMINI_OPENAPI && !yyjson_is_str(value))
        return;
    jw_karr(w, "enum");
    jw_val(w, value);
    jw_arr_end(w);
}

static void put_member(struct jw *w, struct str name, yyjson_val *value, enum gemini_schema kind)
{
    static const char *const maps[] = {"properties", "$defs", "definitions", "patternProperties",
                                       NULL};
    static const char *const plain[] = {"default", "example", "examples", "required", NULL};
    if (str_is(name, "const")) {
        put_const(w, value, kind);
        return;
    }
    if (str_is(name, "enum")) {
        put_enum(w, value, kind);
        return;
    }
    if (kind == GEMINI_OPENAPI && str_is(name, "type") && yyjson_is_arr(value)) {
        put_types(w, value);
        return;
    }
    jw_keys(w, kind == GEMINI_OPENAPI && str_is(name, "oneOf") ? STR("anyOf") : name);
    if (is_one_of(name, maps) && yyjson_is_obj(value))
        put_map(w, value, kind);
    else if (is_one_of(name, plain))
        jw_val(w, value);
    else
        put_node(w, value, kind);
}

/* Whether a member repeats another one that is kept. */
static bool is_double(yyjson_val *schema, struct str name, enum gemini_schema kind)
{
    if (str_is(name, "enum"))
        return json_get(schema, "const") != NULL;
    return kind == GEMINI_OPENAPI && str_is(name, "oneOf") && json_get(schema, "anyOf");
}

static void put_node(struct jw *w, yyjson_val *v, enum gemini_schema kind)
{
    size_t i, max;
    yyjson_val *name, *value;
    if (yyjson_is_arr(v)) {
        put_list(w, v, kind);
        return;
    }
    if (!yyjson_is_obj(v)) {
        jw_val(w, v);
        return;
    }
    jw_obj(w);
    yyjson_obj_foreach(v, i, max, name, value) {
        if (is_kept(json_str(name), kind) && !is_double(v, json_str(name), kind))
            put_member(w, json_str(name), value, kind);
    }
    jw_obj_end(w);
}

void gemini_put_schema(struct jw *w, struct str schema, enum gemini_schema kind)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    if (json_parse(schema, JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored) &&
        yyjson_is_obj(json.root))
        put_node(w, json.root, kind);
    else
        jw_raw(w, STR("{\"type\":\"object\",\"properties\":{}}"));
}
