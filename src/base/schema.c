/* SPDX-License-Identifier: MIT */
/* One function per group of keywords; each returns false with the place in `at` and the reason in
 * err.  The place is a JSON pointer to the value that is checked. */
#include "base/schema.h"

#include "base/utf8.h"

#include <stdlib.h>

enum { MAX_DEPTH = 100 }; /* of values, and of chains of references */

struct check {
    yyjson_val *root; /* the schema document, for references */
    struct buf at;    /* JSON pointer of the value that is checked */
    int depth;
    struct error *err;
};

static bool check(struct check *c, yyjson_val *schema, yyjson_val *v);

/* ---- reporting ---- */

static bool refuse(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(struct check *c, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    return error_set(c->err, ERR_INVALID, "%.*s %.*s",
                     c->at.n ? (int)MIN(c->at.n, (size_t)200) : (int)sizeof "the value" - 1,
                     c->at.n ? c->at.p : "the value", STR_FMT(utf8_cut(buf_str(&text), 250)));
}

/* Adds "/name" with the escapes of RFC 6901; returns the previous length. */
static size_t enter(struct check *c, struct str name)
{
    size_t before = c->at.n;
    buf_addc(&c->at, '/');
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '~' || name.p[i] == '/')
            buf_addz(&c->at, name.p[i] == '~' ? "~0" : "~1");
        else
            buf_addc(&c->at, name.p[i]);
    return before;
}

static bool check_member(struct check *c, struct str name, yyjson_val *schema, yyjson_val *v)
{
    size_t before = enter(c, name);
    bool ok = check(c, schema, v);
    buf_cut(&c->at, before);
    return ok;
}

static bool check_item(struct check *c, size_t i, yyjson_val *schema, yyjson_val *v)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", i);
    return check_member(c, str_of(number), schema, v);
}

/* ---- single keywords ---- */

static const char *type_of(yyjson_val *v)
{
    int64_t ignored;
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return "boolean";
    case YYJSON_TYPE_ARR:
        return "array";
    case YYJSON_TYPE_OBJ:
        return "object";
    case YYJSON_TYPE_STR:
        return "string";
    default:
        return json_is_whole(v, &ignored) || yyjson_is_int(v) ? "integer" : "number";
    }
}

static bool is_of_type(yyjson_val *v, struct str type)
{
    const char *is = type_of(v);
    return str_is(type, is) || (str_is(type, "number") && strcmp(is, "integer") == 0);
}

static bool check_type(struct check *c, yyjson_val *type, yyjson_val *v)
{
    AUTO(buf) struct buf wanted = BUF_INIT;
    size_t i, max;
    yyjson_val *item;
    if (!type)
        return true;
    if (yyjson_is_str(type))
        return is_of_type(v, json_str(type)) ||
               refuse(c, "must be of type %s, is of type %s", yyjson_get_str(type), type_of(v));
    yyjson_arr_foreach(type, i, max, item) {
        if (is_of_type(v, json_str(item)))
            return true;
        buf_addf(&wanted, "%s%s", i ? " or " : "", yyjson_get_str(item));
    }
    return refuse(c, "must be of type %.*s, is of type %s", STR_FMT(buf_str(&wanted)), type_of(v));
}

/* Equal as JSON Schema means it: 1 equals 1.0, members have no order. */
static bool is_equal(yyjson_val *a, yyjson_val *b)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_num(a) && yyjson_is_num(b) &&
        (yyjson_is_real(a) || yyjson_is_real(b))) /* integers are compared exactly below */
        return yyjson_get_num(a) == yyjson_get_num(b);
    if (yyjson_get_type(a) != yyjson_get_type(b))
        return false;
    if (yyjson_is_arr(a)) {
        if (yyjson_arr_size(a) != yyjson_arr_size(b))
            return false;
        yyjson_arr_foreach(a, i, max, item)
            if (!is_equal(item, yyjson_arr_get(b, i)))
                return false;
        return true;
    }
    if (yyjson_is_obj(a)) {
        if (yyjson_obj_size(a) != yyjson_obj_size(b))
            return false;
        yyjson_obj_foreach(a, i, max, key, item) {
            yyjson_val *other = yyjson_obj_getn(b, yyjson_get_str(key), yyjson_get_len(key));
            if (!other || !is_equal(item, other))
                return false;
        }
        return true;
    }
    return yyjson_equals(a, b);
}

static bool check_choice(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    yyjson_val *list = json_get(schema, "enum"), *only = json_get(schema, "const"), *item;
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    size_t i, max;
    if (only && !is_equal(only, v)) {
        jw_val(&w, only);
        return refuse(c, "must be %.*s", STR_FMT(utf8_cut(buf_str(&text), 100)));
    }
    if (!list)
        return true;
    yyjson_arr_foreach(list, i, max, item)
        if (is_equal(item, v))
            return true;
    jw_val(&w, list);
    return refuse(c, "must be one of %.*s", STR_FMT(utf8_cut(buf_str(&text), 200)));
}

/* With tolerance: 0.3 is a multiple of 0.1, although neither has an exact binary form. */
static bool is_multiple(double v, double step)
{
    double times = v / step;
    if (!(times > -0x1p52 && times < 0x1p52))
        return true; /* every double this large is an integer */
    double nearest = (double)(int64_t)(times + (times < 0 ? -0.5 : 0.5));
    double off = times > nearest ? times - nearest : nearest - times;
    return off <= 1e-9 * (nearest < 0 ? 1 - nearest : 1 + nearest);
}

static bool check_number(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    static const struct {
        const char *keyword, *words;
        bool is_lower, may_equal;
    } bounds[] = {
        {"minimum", "at least", true, true},
        {"exclusiveMinimum", "greater than", true, false},
        {"maximum", "at most", false, true},
        {"exclusiveMaximum", "less than", false, false},
    };
    double is = yyjson_get_num(v);
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        yyjson_val *bound = json_get(schema, bounds[i].keyword);
        double limit = yyjson_get_num(bound);
        if (!bound || (bounds[i].may_equal && is == limit) ||
            (bounds[i].is_lower ? is > limit : is < limit))
            continue;
        return refuse(c, "must be %s %g", bounds[i].words, limit);
    }
    double step = json_get_num(schema, "multipleOf", 0);
    if (step > 0 && !is_multiple(is, step))
        return refuse(c, "must be a multiple of %g", step);
    return true;
}

/* Compares a count with the keywords for minimum and maximum. */
static bool check_count(struct check *c, yyjson_val *schema, const char *least, const char *most,
                        size_t n, const char *what)
{
    int64_t low = json_get_int(schema, least, 0), high = json_get_int(schema, most, INT64_MAX);
    if ((int64_t)n < low)
        return refuse(c, "must have at least %lld %s, has %zu", (long long)low, what, n);
    if ((int64_t)n > high)
        return refuse(c, "must have at most %lld %s, has %zu", (long long)high, what, n);
    return true;
}

static bool check_unique(struct check *c, yyjson_val *v)
{
    for (size_t i = 0; i < yyjson_arr_size(v); i++)
        for (size_t k = 0; k < i; k++)
            if (is_equal(yyjson_arr_get(v, i), yyjson_arr_get(v, k)))
                return refuse(c, "must not repeat an item: %zu and %zu are equal", k, i);
    return true;
}

static bool check_array(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    yyjson_val *first = json_get(schema, "prefixItems"), *rest = json_get(schema, "items"), *item;
    size_t i, max;
    if (yyjson_is_arr(rest)) { /* as drafts before 2020 wrote it */
        first = rest;
        rest = json_get(schema, "additionalItems");
    }
    if (!check_count(c, schema, "minItems", "maxItems", yyjson_arr_size(v), "items") ||
        (json_get_bool(schema, "uniqueItems", false) && !check_unique(c, v)))
        return false;
    yyjson_arr_foreach(v, i, max, item) {
        yyjson_val *one = i < yyjson_arr_size(first) ? yyjson_arr_get(first, i) : rest;
        if (one && !check_item(c, i, one, item))
            return false;
    }
    return true;
}

static bool check_object(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    yyjson_val *rows = json_get(schema, "properties"), *needed = json_get(schema, "required");
    yyjson_val *others = json_get(schema, "additionalProperties"), *key, *item;
    size_t i, max;
    yyjson_arr_foreach(needed, i, max, item)
        if (!yyjson_obj_getn(v, yyjson_get_str(item), yyjson_get_len(item)))
            return refuse(c, "must have the member \"%s\"", yyjson_get_str(item));
    yyjson_obj_foreach(v, i, max, key, item) {
        struct str name = json_str(key);
        yyjson_val *row = yyjson_obj_getn(rows, name.p, name.n);
        if (!row && others && yyjson_is_false(others))
            return refuse(c, "must not have the member \"%.*s\"", STR_FMT(utf8_cut(name, 80)));
        row = row ? row : others;
        if (row && !check_member(c, name, row, item))
            return false;
    }
    return check_count(c, schema, "minProperties", "maxProperties", yyjson_obj_size(v), "members");
}

/* ---- subschemas ---- */

static size_t count_fits(struct check *c, yyjson_val *list, yyjson_val *v)
{
    struct error ignored, *err = c->err;
    size_t i, max, n = 0;
    yyjson_val *item;
    c->err = &ignored;
    yyjson_arr_foreach(list, i, max, item)
        n += check(c, item, v);
    c->err = err;
    return n;
}

static bool fits(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    struct error ignored, *err = c->err;
    c->err = &ignored;
    bool ok = check(c, schema, v);
    c->err = err;
    return ok;
}

static bool check_combined(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    yyjson_val *all = json_get(schema, "allOf"), *any = json_get(schema, "anyOf"), *item;
    yyjson_val *one = json_get(schema, "oneOf"), *none = json_get(schema, "not");
    yyjson_val *when = json_get(schema, "if");
    size_t i, max;
    yyjson_arr_foreach(all, i, max, item)
        if (!check(c, item, v))
            return false;
    /* With a single alternative, its own error is more precise. */
    if (any && yyjson_arr_size(any) == 1)
        return check(c, yyjson_arr_get_first(any), v);
    if (any && !count_fits(c, any, v))
        return refuse(c, "fits none of the %zu alternatives of anyOf", yyjson_arr_size(any));
    size_t n = one ? count_fits(c, one, v) : 1;
    if (n != 1)
        return refuse(c, "must fit exactly one alternative of oneOf, fits %zu", n);
    if (none && fits(c, none, v))
        return refuse(c, "must not fit the schema under \"not\"");
    yyjson_val *then = !when ? NULL : json_get(schema, fits(c, when, v) ? "then" : "else");
    return !then || check(c, then, v);
}

/* The schema that "#/$defs/name" means, or NULL. */
static yyjson_val *follow(yyjson_val *root, struct str ref)
{
    if (str_is(ref, "#"))
        return root;
    if (!str_starts(ref, STR("#/")))
        return NULL;
    AUTO(buf) struct buf pointer = BUF_INIT; /* with %XX decoded */
    for (size_t i = 1; i < ref.n; i++) {
        char hex[3] = {0}, *end = hex;
        if (ref.p[i] == '%' && i + 2 < ref.n) {
            hex[0] = ref.p[i + 1];
            hex[1] = ref.p[i + 2];
        }
        long code = hex[0] ? strtol(hex, &end, 16) : 0;
        bool is_code = end == hex + 2;
        buf_addc(&pointer, is_code ? (char)code : ref.p[i]);
        i += is_code ? 2 : 0;
    }
    return yyjson_ptr_getn(root, pointer.p, pointer.n);
}

static bool check_keywords(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    yyjson_val *ref = json_get(schema, "$ref");
    if (ref && !check(c, follow(c->root, json_str(ref)), v))
        return false;
    if (!check_type(c, json_get(schema, "type"), v) || !check_choice(c, schema, v))
        return false;
    if (yyjson_is_num(v) && !check_number(c, schema, v))
        return false;
    if (yyjson_is_str(v) &&
        !check_count(c, schema, "minLength", "maxLength", utf8_chars(json_str(v)), "characters"))
        return false;
    if (yyjson_is_arr(v) && !check_array(c, schema, v))
        return false;
    if (yyjson_is_obj(v) && !check_object(c, schema, v))
        return false;
    return check_combined(c, schema, v);
}

static bool check(struct check *c, yyjson_val *schema, yyjson_val *v)
{
    if (yyjson_is_bool(schema))
        return yyjson_is_true(schema) || refuse(c, "is not allowed here");
    if (c->depth == MAX_DEPTH)
        return refuse(c, "is nested deeper than %d levels", MAX_DEPTH);
    c->depth++;
    bool ok = check_keywords(c, schema, v);
    c->depth--;
    return ok;
}

bool schema_check(yyjson_val *schema, yyjson_val *value, struct error *err)
{
    struct check c = {.root = schema, .at = BUF_INIT, .err = err};
    bool ok = check(&c, schema, value);
    buf_clear(&c.at);
    return ok;
}

/* ---- checking the schema itself ---- */

enum shape {
    A_SCHEMA,
    SCHEMAS,
    SCHEMA_OR_LIST,
    MEMBERS,
    WORDS,
    WORD_OR_LIST,
    LIST,
    NUMBER,
    COUNT,
    FLAG,
    REFERENCE,
    NOT_CHECKED
};

static const struct {
    const char *name;
    enum shape shape;
} keywords[] = {
    {"additionalItems", A_SCHEMA},
    {"additionalProperties", A_SCHEMA},
    {"else", A_SCHEMA},
    {"if", A_SCHEMA},
    {"not", A_SCHEMA},
    {"then", A_SCHEMA},
    {"allOf", SCHEMAS},
    {"anyOf", SCHEMAS},
    {"oneOf", SCHEMAS},
    {"prefixItems", SCHEMAS},
    {"items", SCHEMA_OR_LIST},
    {"$defs", MEMBERS},
    {"definitions", MEMBERS},
    {"properties", MEMBERS},
    {"required", WORDS},
    {"type", WORD_OR_LIST},
    {"enum", LIST},
    {"exclusiveMaximum", NUMBER},
    {"exclusiveMinimum", NUMBER},
    {"maximum", NUMBER},
    {"minimum", NUMBER},
    {"multipleOf", NUMBER},
    {"maxItems", COUNT},
    {"maxLength", COUNT},
    {"maxProperties", COUNT},
    {"minItems", COUNT},
    {"minLength", COUNT},
    {"minProperties", COUNT},
    {"uniqueItems", FLAG},
    {"$ref", REFERENCE},
    {"$dynamicRef", NOT_CHECKED},
    {"contains", NOT_CHECKED},
    {"dependencies", NOT_CHECKED},
    {"dependentRequired", NOT_CHECKED},
    {"dependentSchemas", NOT_CHECKED},
    {"pattern", NOT_CHECKED},
    {"patternProperties", NOT_CHECKED},
    {"propertyNames", NOT_CHECKED},
    {"unevaluatedItems", NOT_CHECKED},
    {"unevaluatedProperties", NOT_CHECKED},
};

static bool look(struct check *c, yyjson_val *schema);

static bool look_at_member(struct check *c, struct str name, yyjson_val *schema)
{
    size_t before = enter(c, name);
    bool ok = look(c, schema);
    buf_cut(&c->at, before);
    return ok;
}

static bool look_into(struct check *c, yyjson_val *container)
{
    size_t i, max;
    yyjson_val *key, *item;
    yyjson_arr_foreach(container, i, max, item) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        if (!look_at_member(c, str_of(number), item))
            return false;
    }
    yyjson_obj_foreach(container, i, max, key, item)
        if (!look_at_member(c, json_str(key), item))
            return false;
    return true;
}

static bool are_words(yyjson_val *v)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(v, i, max, item)
        if (!yyjson_is_str(item))
            return false;
    return yyjson_is_arr(v);
}

static bool are_types(yyjson_val *v)
{
    static const char *const types[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    size_t i, max;
    yyjson_val *item;
    if (yyjson_is_str(v)) {
        for (size_t k = 0; k < ARRAY_LEN(types); k++)
            if (str_is(json_str(v), types[k]))
                return true;
        return false;
    }
    yyjson_arr_foreach(v, i, max, item)
        if (!yyjson_is_str(item) || !are_types(item))
            return false;
    return yyjson_arr_size(v) > 0;
}

static bool look_at_keyword(struct check *c, enum shape shape, yyjson_val *v)
{
    int64_t count;
    switch (shape) {
    case A_SCHEMA:
        return look(c, v);
    case SCHEMAS:
        return yyjson_arr_size(v) ? look_into(c, v) : refuse(c, "must be a list of schemas");
    case SCHEMA_OR_LIST:
        return yyjson_is_arr(v) ? look_into(c, v) : look(c, v);
    case MEMBERS:
        return yyjson_is_obj(v) ? look_into(c, v) : refuse(c, "must be an object of schemas");
    case WORDS:
        return are_words(v) || refuse(c, "must be a list of strings");
    case WORD_OR_LIST:
        return are_types(v) || refuse(c, "must be a type of JSON, or a list of them");
    case LIST:
        return yyjson_is_arr(v) || refuse(c, "must be a list");
    case NUMBER:
        return yyjson_is_num(v) || refuse(c, "must be a number");
    case COUNT:
        return (json_is_whole(v, &count) && count >= 0) || refuse(c, "must be a count");
    case FLAG:
        return yyjson_is_bool(v) || refuse(c, "must be true or false");
    case REFERENCE: {
        yyjson_val *to = follow(c->root, json_str(v));
        return yyjson_is_obj(to) || yyjson_is_bool(to) ||
               refuse(c, "must name a schema inside this document");
    }
    case NOT_CHECKED:
        break;
    }
    return refuse(c, "is a keyword that cannot be checked here");
}

static bool look(struct check *c, yyjson_val *schema)
{
    bool ok = true;
    if (yyjson_is_bool(schema))
        return true;
    if (!yyjson_is_obj(schema))
        return refuse(c, "must be a schema: an object, true or false");
    if (c->depth == MAX_DEPTH)
        return refuse(c, "is nested deeper than %d levels", MAX_DEPTH);
    c->depth++;
    for (size_t i = 0; ok && i < ARRAY_LEN(keywords); i++) {
        yyjson_val *v = json_get(schema, keywords[i].name);
        if (!v)
            continue;
        size_t before = enter(c, str_of(keywords[i].name));
        ok = look_at_keyword(c, keywords[i].shape, v);
        buf_cut(&c->at, before);
    }
    c->depth--;
    return ok;
}

bool schema_is_usable(yyjson_val *schema, struct error *err)
{
    struct check c = {.root = schema, .at = BUF_INIT, .err = err};
    bool ok = look(&c, schema);
    buf_clear(&c.at);
    return ok;
}
