/* SPDX-License-Identifier: MIT */
#include "base/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct point {
    struct str name, mood, title;
    bool on;
    int64_t count;
    double size;
    yyjson_val *any, *obj, *list;
};

static const char *const moods[] = {"good", "bad", NULL};
static const struct row item_rows[] = {
    ROW_OUT("q", T_STR, NEEDED, "question"),
    ROW_OUT("n", T_INT, OPTIONAL, "number"),
    ROW_END,
};
static const struct row point_rows[] = {
    ROW(point, name, T_STR, NEEDED | NOT_BLANK | TRIM, "its name"),
    ROW(point, mood, T_STR, OPTIONAL, "how it feels", .choices = moods),
    ROW(point, title, T_STR, OPTIONAL | NULLABLE | NOT_BLANK, "shown"),
    ROW_AS(point, on, "isOn", T_BOOL, OPTIONAL, "whether"),
    ROW(point, count, T_INT, OPTIONAL, "how many", .has_min = true, .min = 1),
    ROW(point, size, T_NUM, OPTIONAL, "how large"),
    ROW(point, any, T_ANY, OPTIONAL, "anything"),
    ROW(point, obj, T_OBJ, OPTIONAL, "an object", .rows = item_rows),
    ROW(point, list, T_ARR, OPTIONAL, "items", .items = T_OBJ, .rows = item_rows, .has_min = true,
        .min = 1),
    ROW_OUT("tags", T_ARR, OPTIONAL | NOT_BLANK, "words", .items = T_STR, .max = 3),
    ROW_OUT("code", T_STR, OPTIONAL, "a short one", .max = 4),
    ROW_END,
};

static struct json doc;

static bool decode(const char *text, unsigned flags, struct point *p, struct fault *f)
{
    struct error err;
    json_clear(&doc);
    if (!json_parse(str_of(text), 0, 64, &doc, &err))
        fail_msg("%s: %s", text, err.text);
    *f = (struct fault){0};
    return rows_decode(point_rows, flags, doc.root, p, f);
}

static void test_values(void **state)
{
    (void)state;
    struct point p = {.count = 9};
    struct fault f;
    assert_true(
        decode("{\"name\":\" a \",\"mood\":\"bad\",\"title\":\"t\",\"isOn\":true,\"count\":3.0,"
               "\"size\":2,\"any\":null,\"obj\":{\"x\":1},\"list\":[{\"q\":\"w\"}],"
               "\"tags\":[\"u\"],\"unknown\":1}",
               0, &p, &f));
    assert_true(str_is(p.name, "a"));
    assert_true(str_is(p.mood, "bad"));
    assert_true(str_is(p.title, "t"));
    assert_true(p.on);
    assert_int_equal(p.count, 3);
    assert_true(p.size == 2.0);
    assert_true(yyjson_is_null(p.any));
    assert_true(yyjson_is_obj(p.obj));
    assert_int_equal(yyjson_arr_size(p.list), 1);
}

static void test_absent_leaves_defaults(void **state)
{
    (void)state;
    struct point p = {.count = 9, .on = true, .title = STR("old")};
    struct fault f;
    assert_true(decode("{\"name\":\"n\"}", ROWS_CLOSED | ROWS_NO_DOUBLES, &p, &f));
    assert_int_equal(p.count, 9);
    assert_true(p.on);
    assert_true(decode("{\"name\":\"n\",\"title\":null}", 0, &p, &f));
    assert_true(str_is(p.title, "old"));
    assert_true(decode("{\"name\":\"n\",\"title\":\"  \"}", 0, &p, &f));
    assert_true(str_is(p.title, "old"));
    assert_true(decode("{\"name\":\"m\",\"name\":\"n\"}", 0, &p, &f));
    assert_true(str_is(p.name, "n"));
    assert_true(rows_decode(point_rows, 0, doc.root, NULL, &f));
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned flags;
        enum fault_kind kind;
        const char *say;
    } cases[] = {
        {"[]", 0, FAULT_NOT_OBJECT, "expected an object"},
        {"null", 0, FAULT_NOT_OBJECT, "expected an object"},
        {"{}", 0, FAULT_MISSING, "`name` is missing"},
        {"{\"name\":null}", 0, FAULT_TYPE, "`name` must be a string"},
        {"{\"name\":5}", 0, FAULT_TYPE, "`name` must be a string"},
        {"{\"name\":\" \"}", 0, FAULT_BLANK, "`name` must not be blank"},
        {"{\"name\":\"a\",\"mood\":\"x\"}", 0, FAULT_CHOICE, "`mood` must be one of good, bad"},
        {"{\"name\":\"a\",\"isOn\":1}", 0, FAULT_TYPE, "`isOn` must be a boolean"},
        {"{\"name\":\"a\",\"isOn\":null}", 0, FAULT_TYPE, "`isOn` must be a boolean"},
        {"{\"name\":\"a\",\"count\":1.5}", 0, FAULT_TYPE, "`count` must be an integer"},
        {"{\"name\":\"a\",\"count\":0}", 0, FAULT_RANGE, "`count` must be at least 1"},
        {"{\"name\":\"a\",\"size\":\"1\"}", 0, FAULT_TYPE, "`size` must be a number"},
        {"{\"name\":\"a\",\"size\":1e999}", 0, FAULT_TYPE, "`size` must be a number"},
        {"{\"name\":\"a\",\"obj\":[]}", 0, FAULT_TYPE, "`obj` must be an object"},
        {"{\"name\":\"a\",\"list\":{}}", 0, FAULT_TYPE, "`list` must be an array of objects"},
        {"{\"name\":\"a\",\"list\":[]}", 0, FAULT_RANGE,
         "`list` must be a list of at least 1 items"},
        {"{\"name\":\"a\",\"list\":[1]}", 0, FAULT_TYPE, "`list[0]` must be an object"},
        {"{\"name\":\"a\",\"list\":[{}]}", 0, FAULT_MISSING, "`list[0].q` is missing"},
        {"{\"name\":\"a\",\"list\":[{\"q\":\"\"},{\"q\":\"\",\"n\":\"1\"}]}", 0, FAULT_TYPE,
         "`list[1].n` must be an integer"},
        {"{\"name\":\"a\",\"list\":[{\"q\":\"\",\"z\":1}]}", 0, FAULT_UNKNOWN,
         "unknown member `list[0].z`"},
        {"{\"name\":\"a\",\"tags\":[\"u\",1]}", 0, FAULT_TYPE, "`tags[1]` must be a string"},
        {"{\"name\":\"a\",\"tags\":[\"u\",\" \"]}", 0, FAULT_BLANK, "`tags[1]` must not be blank"},
        {"{\"name\":\"a\",\"tags\":[\"\\u0000\"]}", ROWS_TIDY, FAULT_NUL,
         "`tags[0]` must not hold a NUL byte"},
        {"{\"name\":\"a\",\"tags\":[\"1\",\"2\",\"3\",\"4\"]}", 0, FAULT_LONG,
         "`tags` must have at most 3 items"},
        {"{\"name\":\"a\",\"code\":\"12345\"}", 0, FAULT_LONG, "`code` must have at most 4 bytes"},
        {"{\"name\":\"a\",\"code\":\"1\\u00002\"}", ROWS_TIDY, FAULT_NUL,
         "`code` must not hold a NUL byte"},
        {"{\"name\":\"a\",\"code\":\"\xef\xbf\xbd\"}", ROWS_TIDY, FAULT_UTF8,
         "`code` must be valid UTF-8; it holds U+FFFD"},
        {"{\"name\":5}", ROWS_LENIENT, FAULT_MISSING, "`name` is missing"},
        {"{\"name\":\"a\",\"mood\":\"x\"}", ROWS_LENIENT, FAULT_CHOICE,
         "`mood` must be one of good, bad"},
        {"{\"name\":\"a\",\"tags\":[1]}", ROWS_LENIENT, FAULT_TYPE, "`tags[0]` must be a string"},
        {"{\"count\":\"x\",\"zzz\":1}", ROWS_CLOSED, FAULT_UNKNOWN, "unknown member `zzz`"},
        {"{\"mood\":5}", ROWS_CLOSED, FAULT_MISSING, "`name` is missing"},
        {"{\"name\":\"a\",\"name\":\"b\"}", ROWS_NO_DOUBLES, FAULT_DUPLICATE,
         "`name` is given twice"},
        {"{\"name\":\"a\",\"x\":1,\"x\":2}", ROWS_NO_DOUBLES, FAULT_DUPLICATE,
         "`x` is given twice"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct point p = {0};
        struct fault f;
        AUTO(buf) struct buf said = BUF_INIT;
        if (decode(cases[i].text, cases[i].flags, &p, &f))
            fail_msg("%s was accepted", cases[i].text);
        fault_say(&f, &said);
        assert_int_equal(f.kind, cases[i].kind);
        assert_string_equal(said.p, cases[i].say);
    }
}

static void test_wrong_types_count_as_absent(void **state)
{
    (void)state;
    struct point p = {.count = 9, .size = 1.5, .on = true};
    struct fault f;
    assert_true(decode("{\"name\":\"a\",\"count\":\"3\",\"size\":[],\"isOn\":0,\"list\":{},"
                       "\"tags\":null,\"obj\":7}",
                       ROWS_LENIENT, &p, &f));
    assert_int_equal(p.count, 9);
    assert_true(p.size == 1.5 && p.on && !p.list && !p.obj);
}

static void test_first_fault_in_row_order(void **state)
{
    (void)state;
    struct point p = {0};
    struct fault f;
    assert_false(decode("{\"size\":\"\",\"count\":\"\",\"name\":\"a\"}", 0, &p, &f));
    assert_true(str_is(f.name, "count"));
    assert_string_equal(f.row->name, "count");
}

static void test_schema(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW_OUT("a", T_STR, NEEDED, "the a", .choices = moods),
        ROW_OUT("b", T_INT, NULLABLE, NULL, .has_min = true, .min = 0),
        ROW_OUT("c", T_ARR, OPTIONAL, NULL, .items = T_STR),
        ROW_OUT("d", T_OBJ, OPTIONAL | OPEN, NULL, .rows = item_rows),
        ROW_OUT("e", T_ANY, OPTIONAL, NULL),
        ROW_OUT("f", T_ANY, OPTIONAL, NULL, .schema = "{\"const\":1}"),
        ROW_END,
    };
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    rows_schema(rows, true, &w);
    assert_string_equal(
        out.p,
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[\"good\","
        "\"bad\"],"
        "\"description\":\"the a\"},\"b\":{\"type\":[\"integer\",\"null\"],\"minimum\":0},"
        "\"c\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
        "\"d\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\","
        "\"description\":\"question\"},\"n\":{\"type\":\"integer\",\"description\":\"number\"}},"
        "\"required\":[\"q\"]},\"e\":{},\"f\":{\"const\":1}},\"required\":[\"a\"],"
        "\"additionalProperties\":false}");
    buf_reset(&out);
    w = JW(&out);
    rows_schema(point_rows, false, &w);
    struct error err;
    json_clear(&doc);
    assert_true(json_parse(buf_str(&out), 0, 64, &doc, &err));
    assert_null(json_get(doc.root, "additionalProperties"));
}

static const char *const only_a[] = {"a", NULL};
static const struct row kind_a_rows[] = {
    ROW_OUT("kind", T_STR, NEEDED, NULL, .choices = only_a),
    ROW_END,
};
static const struct row_variant kinds[] = {{"a", kind_a_rows, "the a"}, {NULL, NULL, NULL}};
static const struct row_shape shapes[] = {
    {"Item", .rows = item_rows},
    {"Kind", .variants = kinds},
    {.name = NULL},
};

static void test_schema_of_variants_maps_and_shapes(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW_OUT("type", T_STR, NEEDED, NULL),
        ROW_OUT("payload", T_OBJ, NEEDED, NULL, .by = "type", .variants = kinds),
        ROW_OUT("item", T_OBJ, NULLABLE, "one", .rows = item_rows),
        ROW_OUT("kinds", T_ARR, OPTIONAL, NULL, .items = T_OBJ, .variants = kinds),
        ROW_OUT("counts", T_OBJ, MAP, NULL, .items = T_INT),
        ROW_OUT("mood", T_STR, NULLABLE, NULL, .choices = moods),
        ROW_END,
    };
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    rows_schema_with(rows, true, shapes, &w);
    assert_string_equal(
        out.p, "{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"string\"},"
               "\"payload\":{\"type\":\"object\"},"
               "\"item\":{\"anyOf\":[{\"$ref\":\"#/$defs/Item\"},{\"type\":\"null\"}],"
               "\"description\":\"one\"},"
               "\"kinds\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/Kind\"}},"
               "\"counts\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}},"
               "\"mood\":{\"type\":[\"string\",\"null\"],\"enum\":[\"good\",\"bad\",null]}},"
               "\"required\":[\"type\",\"payload\"],\"additionalProperties\":false,"
               "\"oneOf\":[{\"properties\":{\"type\":{\"const\":\"a\"},\"payload\":{\"type\":"
               "\"object\",\"description\":\"the a\",\"properties\":{\"kind\":{\"type\":\"string\","
               "\"enum\":[\"a\"]}},\"required\":[\"kind\"],\"additionalProperties\":false}}}]}");
    buf_reset(&out);
    w = JW(&out);
    shape_schema(&shapes[1], NULL, &w);
    assert_string_equal(out.p, "{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"kind\":{"
                               "\"type\":\"string\",\"enum\":[\"a\"]}},\"required\":[\"kind\"],"
                               "\"additionalProperties\":false}]}");
}

static void test_text(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    rows_text(point_rows, 2, &out);
    assert_true(str_find(buf_str(&out),
                         STR("  name                     string   needed   its name\n")) == 0);
    assert_true(str_find(buf_str(&out), STR("\n      q ")) != SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_absent_leaves_defaults),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_wrong_types_count_as_absent),
        cmocka_unit_test(test_first_fault_in_row_order),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_schema_of_variants_maps_and_shapes),
        cmocka_unit_test(test_text),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    json_clear(&doc);
    return rc;
}
