/* SPDX-License-Identifier: MIT */
#include "base/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct json parse(const char *text)
{
    struct json j = JSON_INIT;
    struct error err;
    if (!json_parse(str_of(text), 0, 300, &j, &err))
        fail_msg("%s: %s", text, err.text);
    return j;
}

struct example {
    const char *schema, *value, *fault; /* NULL: it fits */
};

static void expect(const struct example *e)
{
    struct json schema = parse(e->schema), value = parse(e->value);
    struct error err = ERROR_INIT;
    if (!schema_is_usable(schema.root, &err))
        fail_msg("%s: %s", e->schema, err.text);
    bool ok = schema_check(schema.root, value.root, &err);
    if (ok != !e->fault || (!ok && strcmp(err.text, e->fault) != 0))
        fail_msg("%s against %s: %s", e->value, e->schema, ok ? "fits" : err.text);
    json_clear(&schema);
    json_clear(&value);
}

static const struct example examples[] = {
    {"true", "1", NULL},
    {"false", "1", "the value is not allowed here"},
    {"{}", "null", NULL},
    {"{\"type\":\"string\"}", "\"a\"", NULL},
    {"{\"type\":\"string\"}", "1", "the value must be of type string, is of type integer"},
    {"{\"type\":\"integer\"}", "5.0", NULL},
    {"{\"type\":\"integer\"}", "18446744073709551615", NULL},
    {"{\"type\":\"integer\"}", "5.5", "the value must be of type integer, is of type number"},
    {"{\"type\":\"number\"}", "5", NULL},
    {"{\"type\":[\"string\",\"null\"]}", "null", NULL},
    {"{\"type\":[\"string\",\"null\"]}", "[]",
     "the value must be of type string or null, is of type array"},
    {"{\"enum\":[1,\"a\",{\"x\":[1]}]}", "{\"x\":[1.0]}", NULL},
    {"{\"enum\":[1,\"a\"]}", "2", "the value must be one of [1,\"a\"]"},
    {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", NULL},
    {"{\"const\":9007199254740993}", "9007199254740992", "the value must be 9007199254740993"},
    {"{\"minimum\":1}", "0.5", "the value must be at least 1"},
    {"{\"minimum\":1}", "1", NULL},
    {"{\"exclusiveMinimum\":1}", "1", "the value must be greater than 1"},
    {"{\"maximum\":1}", "1.5", "the value must be at most 1"},
    {"{\"exclusiveMaximum\":1}", "1", "the value must be less than 1"},
    {"{\"multipleOf\":0.1}", "0.3", NULL},
    {"{\"multipleOf\":3}", "7", "the value must be a multiple of 3"},
    {"{\"minLength\":2}", "\"\xc3\xa4\"", "the value must have at least 2 characters, has 1"},
    {"{\"maxLength\":2}", "\"\xc3\xa4\xc3\xa4\"", NULL},
    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1}",
     "/a must be of type string, is of type integer"},
    {"{\"required\":[\"a\"]}", "{}", "the value must have the member \"a\""},
    {"{\"required\":[\"a\"]}", "[]", NULL},
    {"{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"b/c\":1}",
     "the value must not have the member \"b/c\""},
    {"{\"additionalProperties\":{\"type\":\"null\"}}", "{\"b/c~\":1}",
     "/b~1c~0 must be of type null, is of type integer"},
    {"{\"minProperties\":1}", "{}", "the value must have at least 1 members, has 0"},
    {"{\"items\":{\"properties\":{\"n\":{\"type\":\"string\"}}}}", "[{},{\"n\":null}]",
     "/1/n must be of type string, is of type null"},
    {"{\"prefixItems\":[{\"const\":1}],\"items\":false}", "[1,2]", "/1 is not allowed here"},
    {"{\"items\":[{\"const\":1}],\"additionalItems\":{\"const\":2}}", "[1,2,3]", "/2 must be 2"},
    {"{\"uniqueItems\":true}", "[1,2,1.0]", "the value must not repeat an item: 0 and 2 are equal"},
    {"{\"maxItems\":1}", "[1,2]", "the value must have at most 1 items, has 2"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "2",
     "the value fits none of the 2 alternatives of anyOf"},
    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "2",
     "the value must fit exactly one alternative of oneOf, fits 2"},
    {"{\"allOf\":[{\"minimum\":1},{\"maximum\":2}]}", "3", "the value must be at most 2"},
    {"{\"not\":{\"type\":\"null\"}}", "null", "the value must not fit the schema under \"not\""},
    {"{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},"
     "\"else\":{\"required\":[\"c\"]}}",
     "{\"a\":1}", "the value must have the member \"b\""},
    {"{\"if\":{\"required\":[\"a\"]},\"else\":{\"required\":[\"c\"]}}", "{}",
     "the value must have the member \"c\""},
    {"{\"$defs\":{\"a b\":{\"type\":\"null\"}},\"items\":{\"$ref\":\"#/$defs/a%20b\"}}", "[1]",
     "/0 must be of type null, is of type integer"},
    {"{\"properties\":{\"next\":{\"$ref\":\"#\"}},\"required\":[\"v\"]}",
     "{\"v\":1,\"next\":{\"v\":2,\"next\":{}}}", "/next/next must have the member \"v\""},
    {"{\"$ref\":\"#\"}", "1", "the value is nested deeper than 100 levels"},
};

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        expect(&examples[i]);
}

static void test_unusable(void **state)
{
    static const struct {
        const char *schema, *fault;
    } bad[] = {
        {"1", "the value must be a schema: an object, true or false"},
        {"{\"type\":\"text\"}", "/type must be a type of JSON, or a list of them"},
        {"{\"type\":[]}", "/type must be a type of JSON, or a list of them"},
        {"{\"type\":[[\"string\"]]}", "/type must be a type of JSON, or a list of them"},
        {"{\"properties\":{\"a\":{\"pattern\":\"x\"}}}",
         "/properties/a/pattern is a keyword that cannot be checked here"},
        {"{\"anyOf\":[{},3]}", "/anyOf/1 must be a schema: an object, true or false"},
        {"{\"anyOf\":[]}", "/anyOf must be a list of schemas"},
        {"{\"required\":[1]}", "/required must be a list of strings"},
        {"{\"$ref\":\"other.json\"}", "/$ref must name a schema inside this document"},
        {"{\"$ref\":\"#/$defs/gone\"}", "/$ref must name a schema inside this document"},
        {"{\"minItems\":-1}", "/minItems must be a count"},
        {"{\"enum\":1}", "/enum must be a list"},
        {"{\"uniqueItems\":1}", "/uniqueItems must be true or false"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct json schema = parse(bad[i].schema);
        struct error err = ERROR_INIT;
        assert_false(schema_is_usable(schema.root, &err));
        assert_string_equal(err.text, bad[i].fault);
        json_clear(&schema);
    }
}

/* Names of keywords are data where members are named: a property called "pattern" is none. */
static void test_names_are_no_keywords(void **state)
{
    (void)state;
    expect(&(struct example){"{\"properties\":{\"pattern\":{\"type\":\"string\"}}}",
                             "{\"pattern\":\"x\"}", NULL});
    expect(&(struct example){"{\"enum\":[{\"pattern\":1}]}", "{\"pattern\":1}", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_unusable),
        cmocka_unit_test(test_names_are_no_keywords),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
