/* SPDX-License-Identifier: MIT */
#include "tool_scene.h"

struct mend_case {
    struct str path;
    int64_t limit;
    bool deep;
    yyjson_val *names, *edits, *options;
};

static const struct row item_rows[] = {
    ROW_OUT("old_text", T_STR, NEEDED | TEXT, ""),
    ROW_OUT("new_text", T_STR, NEEDED | TEXT, ""),
    ROW_END,
};

static const struct row option_rows[] = {
    ROW_OUT("max_lines", T_INT, OPTIONAL, ""),
    ROW_END,
};

static const struct row rows[] = {
    ROW(mend_case, path, T_STR, OPTIONAL, ""),
    ROW(mend_case, limit, T_INT, OPTIONAL, ""),
    ROW(mend_case, deep, T_BOOL, OPTIONAL, ""),
    ROW(mend_case, names, T_ARR, OPTIONAL, "", .items = T_STR),
    ROW(mend_case, edits, T_ARR, OPTIONAL, "", .items = T_OBJ, .rows = item_rows),
    ROW(mend_case, options, T_OBJ, OPTIONAL, "", .rows = option_rows),
    ROW_END,
};

static const struct tool edit_tool = {
    .name = "e", .kind = TOOL_EDIT, .mode = MODE_WORKSPACE_WRITE, .args = rows};
static const struct tool read_tool = {
    .name = "r", .kind = TOOL_READ, .mode = MODE_READ_ONLY, .args = rows};
static const struct toolset strict = {.name = "strict"};
static const struct toolset lenient = {.name = "lenient", .wrong_types_are_absent = true};

static void assert_mended(const struct toolset *t, const struct tool *f, const char *from,
                          const char *to, const char *note)
{
    struct error err;
    struct fault fault;
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(mended) struct mended d = MENDED_INIT;
    assert_true(json_parse(str_of(from), 0, 64, &doc, &err));
    assert_true(mend_args(t, f, doc.root, &d, &fault));
    struct jw w = JW(&text);
    jw_val(&w, d.args.root ? d.args.root : doc.root);
    assert_string_equal(text.p, to);
    assert_string_equal(buf_str(&d.note).p, note);
}

static void test_values(void **state)
{
    (void)state;
    assert_mended(&strict, &read_tool, "{\"limit\":\"200\"}", "{\"limit\":200}", "");
    assert_mended(&strict, &read_tool, "{\"limit\":\" 3.0 \"}", "{\"limit\":3}", "");
    assert_mended(&strict, &read_tool, "{\"limit\":\"3.5\"}", "{\"limit\":\"3.5\"}", "");
    assert_mended(&strict, &read_tool, "{\"limit\":\"three\"}", "{\"limit\":\"three\"}", "");
    assert_mended(&strict, &read_tool, "{\"limit\":null,\"path\":null}", "{}", "");
    assert_mended(&strict, &read_tool, "{\"deep\":\"True\"}", "{\"deep\":true}", "");
    assert_mended(&strict, &read_tool, "{\"deep\":\"yes\"}", "{\"deep\":\"yes\"}", "");
    assert_mended(&strict, &read_tool, "{\"names\":\"a\"}", "{\"names\":[\"a\"]}", "");
    assert_mended(&strict, &read_tool, "{\"names\":\"[\\\"a\\\",\\\"b\\\"]\"}",
                  "{\"names\":[\"a\",\"b\"]}", "");
    assert_mended(&strict, &read_tool, "{\"names\":\"[a\"}", "{\"names\":[\"[a\"]}", "");
    assert_mended(&strict, &read_tool, "{\"options\":\"{\\\"maxLines\\\":\\\"3\\\"}\"}",
                  "{\"options\":{\"max_lines\":3}}", "");
    assert_mended(&strict, &read_tool, "{\"path\":[\"a\"]}", "{\"path\":[\"a\"]}", "");
}

static void test_names(void **state)
{
    (void)state;
    assert_mended(&strict, &read_tool, "{\"filePath\":\"a\"}", "{\"path\":\"a\"}", "");
    assert_mended(&strict, &read_tool, "{\"PATH\":\"a\",\"file\":\"a\"}", "{\"path\":\"a\"}", "");
    assert_mended(&strict, &read_tool, "{\"path\":\"a\",\"file\":null}", "{\"path\":\"a\"}", "");
    assert_mended(&strict, &read_tool, "{\"path\":\"a\",\"dir\":1,\"reason\":2}",
                  "{\"path\":\"a\"}",
                  "ignored: dir; accepted: path, limit, deep, names, edits, options");
    assert_mended(&strict, &edit_tool, "{\"path\":\"a\",\"dir\":1,\"reason\":2}",
                  "{\"path\":\"a\",\"dir\":1}", "");
    assert_mended(&lenient, &read_tool, "{\"limit\":\"x\",\"path\":\"a\"}", "{\"path\":\"a\"}",
                  "ignored: limit (must be of type integer)");
}

static void test_edits(void **state)
{
    (void)state;
    const char *one = "{\"path\":\"a\",\"edits\":[{\"old_text\":\"x\",\"new_text\":\"y\"}]}";
    assert_mended(&strict, &edit_tool, "{\"path\":\"a\",\"oldText\":\"x\",\"new_str\":\"y\"}", one,
                  "");
    assert_mended(&strict, &edit_tool,
                  "{\"path\":\"a\",\"edits\":{\"old_string\":\"x\",\"new_string\":\"y\"}}", one,
                  "");
    assert_mended(&strict, &edit_tool,
                  "{\"path\":\"a\",\"edits\":"
                  "\"[{\\\"old_text\\\":\\\"x\\\",\\\"new_text\\\":\\\"y\\\"}]\"}",
                  one, "");
    /* A text that is no JSON stays what it is, for the rows to refuse. */
    assert_mended(&strict, &edit_tool, "{\"edits\":\"x\"}", "{\"edits\":\"x\"}", "");
}

static void test_clash(void **state)
{
    (void)state;
    struct error err;
    struct fault fault;
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(mended) struct mended d = MENDED_INIT;
    assert_true(json_parse(STR("{\"path\":\"a\",\"file\":\"b\"}"), 0, 64, &doc, &err));
    assert_false(mend_args(&strict, &read_tool, doc.root, &d, &fault));
    fault_say(&fault, &text);
    assert_string_equal(text.p, "`file` and `path` are one argument, but their values differ");
}

static void test_distance(void **state)
{
    (void)state;
    assert_int_equal(mend_distance(STR("Read_File"), STR("read-file")), 0);
    assert_int_equal(mend_distance(STR("conten"), STR("content")), 1);
    assert_int_equal(mend_distance(STR(""), STR("abc")), 3);
    assert_int_equal(mend_distance(STR("abc"), STR("")), 3);
}

static void assert_json_mended(const char *from, const char *to)
{
    AUTO(buf) struct buf out = BUF_INIT;
    assert_int_equal(json_mend(str_of(from), &out), to != NULL);
    if (to)
        assert_string_equal(out.p, to);
}

static void test_json_mend(void **state)
{
    (void)state;
    assert_json_mended("{\"a\":\"x\ny\tz\"}", "{\"a\":\"x\\ny\\tz\"}");
    assert_json_mended("{\"a\":\"\\d \\u12 \\u0041 \\\\ \\\"\"}",
                       "{\"a\":\"\\\\d \\\\u12 \\u0041 \\\\ \\\"\"}");
    assert_json_mended("{\"a\":1,\n\"b\":2}", NULL);
    assert_json_mended("{\"a\":\"x\n", NULL);
    assert_json_mended("{\"a\":\"x\\", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_edits),    cmocka_unit_test(test_clash),
        cmocka_unit_test(test_distance), cmocka_unit_test(test_json_mend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
