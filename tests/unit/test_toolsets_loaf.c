/* SPDX-License-Identifier: MIT */
/* Every tool of the loaf toolset: a normal call, a limit, an error.  Numbers in comments are items
 * of the checklist, or sections, of the protocol document (loaf.md chapter 15). */
#include "tool_scene.h"

#include "base/utf8.h"

#define LOAF &toolset_loaf

/* Arguments with %s for the workspace; the next call overwrites them. */
static const char *args(struct scene *s, const char *format)
{
    static char text[8192];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, s->dir);
#pragma GCC diagnostic pop
    return text;
}

/* Output and error of a file tool are the same message. */
static void loaf_fails(struct scene *s, const char *name, const char *json, const char *text)
{
    struct error err;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json value = JSON_INIT;
    assert_true(scene_call(s, LOAF, name, json, &r));
    assert_true(r.is_error);
    assert_true(str_starts(buf_str(&r.text), str_of(text))); /* hints follow */
    assert_string_equal(buf_str(&r.error).p, text);
    assert_true(json_parse(buf_str(&r.value), 0, 4, &value, &err));
    assert_true(str_is(json_str(value.root), text));
}

static void test_loaf_read(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a", "one\r\ntwo\nthree\n");
    scene_put(&s, "empty", "");
    assert_call(&s, LOAF, "read_file", args(&s, "{\"file_path\":\"%s/a\"}"),
                "L1: one\nL2: two\nL3: three");
    assert_call(&s, LOAF, "read_file",
                args(&s, "{\"file_path\":\"%s/a\",\"offset\":2,\"limit\":1}"),
                "L2: two\n[lines 2-2 of 3; use offset 3 to continue]");
    /* Wrong types count as absent, unknown members are ignored. */
    assert_call(&s, LOAF, "read_file",
                args(&s, "{\"file_path\":\"%s/a\",\"offset\":\"b\",\"limit\":1,\"x\":1}"),
                "L1: one\n[lines 1-1 of 3; use offset 2 to continue]");
    loaf_fails(&s, "read_file", "{\"file_path\":\"a\"}", "file_path must be an absolute path");
    loaf_fails(&s, "read_file", "{}", "read_file requires a non-empty `file_path`.");
    loaf_fails(&s, "read_file", args(&s, "{\"file_path\":\"%s/a\",\"offset\":0}"),
               "offset must be a 1-indexed line number");
    loaf_fails(&s, "read_file", args(&s, "{\"file_path\":\"%s/a\",\"limit\":0}"),
               "limit must be greater than zero");
    loaf_fails(&s, "read_file", args(&s, "{\"file_path\":\"%s/a\",\"offset\":4}"),
               "offset exceeds file length");
    loaf_fails(&s, "read_file", args(&s, "{\"file_path\":\"%s/empty\"}"),
               "offset exceeds file length");
    loaf_fails(&s, "read_file", args(&s, "{\"file_path\":\"%s/none\"}"),
               "failed to read file: No such file or directory");

    AUTO(buf) struct buf line = BUF_INIT;
    for (int i = 0; i < 600; i++)
        buf_addz(&line, "\xc3\xa4");
    scene_put_bytes(&s, "long", buf_str(&line));
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(scene_call(&s, LOAF, "read_file", args(&s, "{\"file_path\":\"%s/long\"}"), &r));
    assert_int_equal(utf8_chars(buf_str(&r.value)), 4 + 500 + 2);
    assert_true(str_ends(buf_str(&r.text), STR("the longest has 600]")));
    scene_close(&s);
}

static void test_loaf_read_block(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "f.c",
              "int a;\n"
              "\n"
              "// about f\n"
              "void f(void)\n"
              "{\n"
              "    if (x) {\n"
              "        one();\n"
              "        two();\n"
              "    }\n"
              "    if (y) {\n"
              "        three();\n"
              "    }\n"
              "}\n");
    assert_call(&s, LOAF, "read_file",
                args(&s, "{\"file_path\":\"%s/f.c\",\"mode\":\"indentation\",\"indentation\":"
                         "{\"anchor_line\":7,\"max_levels\":1}}"),
                "L6:     if (x) {\nL7:         one();\nL8:         two();\nL9:     }");
    assert_call(&s, LOAF, "read_file",
                args(&s, "{\"file_path\":\"%s/f.c\",\"mode\":\"indentation\",\"offset\":7,"
                         "\"indentation\":{\"max_levels\":1,\"include_siblings\":true}}"),
                "L6:     if (x) {\nL7:         one();\nL8:         two();\nL9:     }\n"
                "L10:     if (y) {\nL11:         three();\nL12:     }");
    assert_call(&s, LOAF, "read_file",
                args(&s, "{\"file_path\":\"%s/f.c\",\"mode\":\"indentation\",\"limit\":2,"
                         "\"offset\":7}"),
                "L6:     if (x) {\nL7:         one();");
    loaf_fails(&s, "read_file",
               args(&s, "{\"file_path\":\"%s/f.c\",\"mode\":\"indentation\",\"offset\":99}"),
               "anchor_line exceeds file length");
    scene_close(&s);
}

static void test_loaf_list(void **state)
{
    (void)state;
    struct scene s;
    AUTO(buf) struct buf want = BUF_INIT;
    scene_open(&s);
    scene_put(&s, "a/b/c", "");
    scene_put(&s, ".hidden", "");
    assert_int_equal(symlink("a", scene_path(&s, "link")), 0);
    assert_int_equal(mkfifo(scene_path(&s, "pipe"), 0600), 0);
    buf_addf(&want, "Absolute path: %s\n.hidden\na/\n  b/\nlink@\npipe?", s.dir);
    assert_call(&s, LOAF, "list_dir", args(&s, "{\"dir_path\":\"%s\"}"), want.p);
    buf_reset(&want);
    buf_addf(&want, "Absolute path: %s\na/\n  b/\nMore than 2 entries found", s.dir);
    assert_call(&s, LOAF, "list_dir",
                args(&s, "{\"dir_path\":\"%s\",\"offset\":2,\"limit\":2,\"depth\":3}"), want.p);
    loaf_fails(&s, "list_dir", args(&s, "{\"dir_path\":\"%s\",\"offset\":99}"),
               "offset exceeds directory entry count");
    loaf_fails(&s, "list_dir", "{\"dir_path\":\".\"}", "dir_path must be an absolute path");
    loaf_fails(&s, "list_dir", args(&s, "{\"dir_path\":\"%s/.hidden\"}"),
               "failed to read directory: Not a directory");
    scene_close(&s);
}

static void test_loaf_grep(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    AUTO(buf) struct buf want = BUF_INIT;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    scene_put(&s, "old.c", "int hit;\n");
    scene_put(&s, "sub/new.c", "hit\n");
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, scene_path(&s, "old.c"), old, 0), 0);
    buf_addf(&want, "%s/sub/new.c\n%s/old.c", s.dir, s.dir);
    assert_call(&s, LOAF, "grep_files", "{\"pattern\":\"h.t\"}", want.p);
    assert_call(&s, LOAF, "grep_files", "{\"pattern\":\"^hit\",\"path\":\"sub\"}",
                scene_path(&s, "sub/new.c"));
    assert_call(&s, LOAF, "grep_files", "{\"pattern\":\"hit\",\"limit\":1,\"include\":\"*.c\"}",
                scene_path(&s, "sub/new.c"));
    /* None: ok false, the output says so, no error. */
    assert_true(scene_call(&s, LOAF, "grep_files", "{\"pattern\":\"nope\"}", &r));
    assert_string_equal(
        r.text.p,
        "No matches found.\nUpper and lower case differ ((?i) makes them the same); hidden files, "
        "files that .gitignore names and binary files are not searched.");
    assert_string_equal(r.value.p, "\"No matches found.\"");
    assert_true(r.is_error);
    assert_int_equal(r.error.n, 0);
    loaf_fails(&s, "grep_files", "{\"pattern\":\" \"}", "pattern must not be empty");
    loaf_fails(&s, "grep_files", "{\"pattern\":\"x\",\"path\":\"no\"}", "unable to access `no`");
    scene_close(&s);
}

/* One call of bash; the output object. */
static yyjson_val *loaf_bash(struct scene *s, const char *json, struct tool_result *r,
                             struct json *value)
{
    struct error err;
    tool_result_clear(r);
    json_clear(value);
    scene_call(s, LOAF, "bash", json, r);
    assert_true(json_parse(buf_str(&r->value), 0, 16, value, &err));
    assert_true(str_starts(buf_str(&r->text), STR("{\"status\":\""))); /* its streams may be cut */
    return value->root;
}

static void test_loaf_bash(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    scene_open(&s);
    s.cx.shell = &s.shell;
    scene_put(&s, "sub/x", "");
    yyjson_val *v = loaf_bash(&s, "{\"command\":\"cd sub; export T=5; printf 'hi\\n\\n'\"}", &r,
                              &doc);
    static const char *const members[] = {
        "status",      "mode",      "shell",          "shell_command",    "shell_args",
        "command",     "exit_code", "signal",         "timed_out",        "aborted",
        "duration_ms", "stdout",    "stderr",         "truncated_stdout", "truncated_stderr",
        "cwd_before",  "cwd_after", "state_captured", "session_updated"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        assert_non_null(json_get(v, members[i]));
    assert_int_equal(yyjson_obj_size(v), ARRAY_LEN(members));
    assert_true(str_is(json_get_str(v, "status"), "ok"));
    assert_true(str_is(json_get_str(v, "stdout"), "hi")); /* trailing newlines removed */
    assert_true(str_is(json_get_str(v, "cwd_before"), s.dir));
    assert_true(str_is(json_get_str(v, "cwd_after"), scene_path(&s, "sub")));
    assert_true(json_get_bool(v, "state_captured", false));
    assert_false(r.is_error);
    assert_int_equal(r.error.n, 0);

    /* Directory and variables live on, and never leak into the output (loaf 20 b). */
    v = loaf_bash(&s, "{\"command\":\"printf \\\"$T $PWD\\\"\"}", &r, &doc);
    AUTO(buf) struct buf want = BUF_INIT;
    buf_addf(&want, "5 %s/sub", s.dir);
    assert_true(str_is(json_get_str(v, "stdout"), want.p));
    v = loaf_bash(&s, "{\"command\":\"echo $U$T\",\"env\":{\"U\":\"u\"},\"cwd\":\"..\"}", &r, &doc);
    assert_true(str_is(json_get_str(v, "stdout"), "u5"));
    assert_true(str_is(json_get_str(v, "cwd_before"), s.dir));
    v = loaf_bash(&s, "{\"command\":\"echo $U$T\",\"reset_session\":true}", &r, &doc);
    assert_true(str_is(json_get_str(v, "stdout"), ""));

    v = loaf_bash(&s, "{\"command\":\"echo no >&2; exit 7\"}", &r, &doc);
    assert_int_equal(json_get_int(v, "exit_code", 0), 7);
    assert_true(str_is(json_get_str(v, "stderr"), "no\n"));
    assert_false(json_get_bool(v, "state_captured", true));
    assert_string_equal(r.error.p, "process failed (exit code 7)");
    assert_true(r.is_error);
    scene_close(&s);
}

static void test_loaf_bash_ends(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    scene_open(&s);
    yyjson_val *v = loaf_bash(&s, "{\"command\":\"kill -9 $$\"}", &r, &doc);
    assert_true(str_is(json_get_str(v, "signal"), "SIGKILL"));
    assert_true(yyjson_is_null(json_get(v, "exit_code")));
    assert_string_equal(r.error.p, "process failed (no exit code)");

    v = loaf_bash(&s, "{\"command\":\"sleep 30\",\"timeout_seconds\":1}", &r, &doc);
    assert_true(json_get_bool(v, "timed_out", false));
    assert_true(str_starts(buf_str(&r.error), STR("process timed out (")));

    v = loaf_bash(&s, "{\"command\":\"true\",\"cwd\":\"/no/such/dir\"}", &r, &doc);
    assert_string_equal(r.error.p, "process failed (no exit code)");
    assert_true(str_is(json_get_str(v, "status"), "error"));

    v = loaf_bash(&s, "{\"command\":\"head -c 400000 /dev/zero | tr '\\\\0' x\"}", &r, &doc);
    assert_true(json_get_bool(v, "truncated_stdout", false));
    assert_int_equal(json_get_str(v, "stdout").n, 300000);

    v = loaf_bash(&s, "{\"command\":\"printf 'a\\\\0b\\\\001\\\\tc\\\\033[1m\\\\rd'\"}", &r, &doc);
    assert_true(str_is(json_get_str(v, "stdout"), "a\xef\xbf\xbd"
                                                  "b\xef\xbf\xbd\tc\x1b[1m\rd"));

    static const char *const refused[] = {"{\"command\":\" \"}", "{}",
                                          "{\"command\":\"true\",\"env\":{\"A\":1}}",
                                          "{\"command\":\"true\",\"run_in_background\":true}"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        v = loaf_bash(&s, refused[i], &r, &doc);
        assert_true(str_is(json_get_str(v, "status"), "invalid_input"));
        assert_true(str_eq(json_get_str(v, "message"), buf_str(&r.error)));
        assert_true(r.is_error);
    }
    assert_string_equal(r.error.p, "background jobs are not available here");

    /* 7.5: an interrupt gives aborted true and the output so far. */
    s.cancel_file = "flag";
    v = loaf_bash(&s, "{\"command\":\"echo begun; touch flag; sleep 30\"}", &r, &doc);
    assert_true(json_get_bool(v, "aborted", false));
    assert_true(str_is(json_get_str(v, "stdout"), "begun\n"));
    assert_true(str_starts(buf_str(&r.error), STR("process aborted (")));
    s.cancel_file = NULL;

    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "fly", "{}", &r));
    assert_string_equal(r.error.p, "unknown tool: fly");
    assert_has(buf_str(&r.value), "\"status\":\"not_found\"");
    scene_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaf_read), cmocka_unit_test(test_loaf_read_block),
        cmocka_unit_test(test_loaf_list), cmocka_unit_test(test_loaf_grep),
        cmocka_unit_test(test_loaf_bash), cmocka_unit_test(test_loaf_bash_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
