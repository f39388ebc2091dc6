/* SPDX-License-Identifier: MIT */
/* Every face of the three toolsets: a normal call, a limit, an error.  Numbers in comments are
 * items of the checklists, or sections, of the protocol documents. */
#include "tool_scene.h"

#include "base/utf8.h"

#define LOAF &toolset_loaf
#define SCAIFLUX &toolset_scaiflux
#define KWARD &toolset_kward

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

static void check_names(const struct toolset *t, const char *want)
{
    AUTO(buf) struct buf names = BUF_INIT;
    for (size_t i = 0; i < t->n_faces; i++)
        buf_addf(&names, "%s ", t->faces[i]->name);
    assert_string_equal(names.p, want);
}

static void check_schema(const struct face *f)
{
    struct error err;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct jw w = JW(&text);
    face_schema(f, &w);
    if (!json_parse(buf_str(&text), 0, 32, &doc, &err))
        fail_msg("%s: %s", f->name, err.text);
    assert_true(str_is(json_get_str(doc.root, "type"), "object"));
    assert_false(json_get_bool(doc.root, "additionalProperties", true));
    assert_true(yyjson_obj_size(json_get(doc.root, "properties")) > 0);
    assert_true(yyjson_arr_size(json_get(doc.root, "required")) > 0);
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach (json_get(doc.root, "properties"), i, max, key, val) {
        assert_non_null(json_get(val, "type"));
    }
    assert_true(strlen(f->about) > 20);
}

static void test_names_and_schemas(void **state)
{
    (void)state;
    const struct toolset *sets[] = {LOAF, SCAIFLUX, KWARD};
    check_names(LOAF, "bash grep_files list_dir read_file "); /* loaf 73: sorted by name */
    check_names(SCAIFLUX, "read_file glob_search grep_search write_file edit_file bash "); /* 24 */
    check_names(KWARD, "list_directory read_file write_file edit_file run_shell_command "
                       "ask_user_question ");
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        for (size_t k = 0; k < sets[i]->n_faces; k++)
            check_schema(sets[i]->faces[k]);
    /* ScaiFlux 73: required modes. */
    assert_int_equal(toolset_find(SCAIFLUX, STR("write_file"))->mode, MODE_WORKSPACE_WRITE);
    assert_int_equal(toolset_find(SCAIFLUX, STR("edit_file"))->mode, MODE_WORKSPACE_WRITE);
    assert_int_equal(toolset_find(SCAIFLUX, STR("bash"))->mode, MODE_FULL);
    assert_int_equal(toolset_find(SCAIFLUX, STR("read_file"))->mode, MODE_READ_ONLY);
    assert_int_equal(toolset_find(SCAIFLUX, STR("grep_search"))->mode, MODE_READ_ONLY);
    assert_null(toolset_find(SCAIFLUX, STR("Read_file")));
}

/* ---- loaf, chapter 15 ---- */

/* Output and error of a file tool are the same message. */
static void loaf_fails(struct scene *s, const char *name, const char *json, const char *text)
{
    struct error err;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json value = JSON_INIT;
    assert_true(scene_call(s, LOAF, name, json, &r));
    assert_true(r.is_error);
    assert_string_equal(buf_str(&r.text).p, text);
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
                args(&s, "{\"file_path\":\"%s/a\",\"offset\":2,\"limit\":1}"), "L2: two");
    /* Wrong types count as absent, unknown members are ignored. */
    assert_call(&s, LOAF, "read_file",
                args(&s, "{\"file_path\":\"%s/a\",\"offset\":\"2\",\"limit\":1,\"x\":1}"),
                "L1: one");
    loaf_fails(&s, "read_file", "{\"file_path\":\"a\"}", "file_path must be an absolute path");
    loaf_fails(&s, "read_file", "{}", "file_path must be an absolute path");
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
    assert_int_equal(utf8_chars(buf_str(&r.text)), 4 + 500);
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
    assert_string_equal(r.text.p, "No matches found.");
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
    assert_true(str_eq(buf_str(&r->text), buf_str(&r->value)));
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
    yyjson_val *v =
        loaf_bash(&s, "{\"command\":\"cd sub; export T=5; printf 'hi\\n\\n'\"}", &r, &doc);
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

    static const char *const refused[] = {"{\"command\":\" \"}", "{}",
                                          "{\"command\":\"true\",\"env\":{\"A\":1}}",
                                          "{\"command\":\"true\",\"run_in_background\":true}"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        v = loaf_bash(&s, refused[i], &r, &doc);
        assert_true(str_is(json_get_str(v, "status"), "invalid_input"));
        assert_true(str_eq(json_get_str(v, "message"), buf_str(&r.error)));
        assert_true(r.is_error);
    }
    assert_string_equal(r.error.p, "background jobs are not available in this version");

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

/* ---- ScaiFlux, chapters 6.7 and 7 ---- */

static void test_scaiflux_files(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    /* 80: written, the target is known. */
    assert_true(scene_call(&s, SCAIFLUX, "write_file",
                           "{\"path\":\"./d/a.txt\",\"content\":\"one\\ntwo\\nthree\\n\"}", &r));
    assert_false(r.is_error);
    assert_file(&s, "d/a.txt", "one\ntwo\nthree\n");
    assert_string_equal(r.path.p, "./d/a.txt");
    assert_string_equal(r.target.p, scene_path(&s, "d/a.txt"));
    assert_call(&s, SCAIFLUX, "read_file", "{\"path\":\"d/a.txt\"}", "one\ntwo\nthree\n");
    assert_call(&s, SCAIFLUX, "read_file", "{\"path\":\"d/a.txt\",\"offset\":1,\"limit\":1}",
                "two\n[the file goes on; use offset=2 to continue]\n");
    assert_call_fails(&s, SCAIFLUX, "read_file", "{\"path\":\"d/a.txt\",\"offset\":3}",
                      "offset 3 is beyond the end of d/a.txt (3 lines)");
    assert_call_fails(&s, SCAIFLUX, "read_file", "{\"path\":\"none\"}",
                      "cannot read none: No such file or directory");
    /* 81 */
    tool_result_clear(&r);
    assert_true(scene_call(&s, SCAIFLUX, "edit_file",
                           "{\"path\":\"d/a.txt\",\"old_string\":\"two\",\"new_string\":\"2\"}",
                           &r));
    assert_string_equal(r.text.p, "edited d/a.txt: 1 replacement\n");
    assert_has(buf_str(&r.diff), "-two\n+2\n");
    assert_file(&s, "d/a.txt", "one\n2\nthree\n");
    assert_call_fails(
        &s, SCAIFLUX, "edit_file",
        "{\"path\":\"d/a.txt\",\"old_string\":\"e\",\"new_string\":\"E\"}",
        "old_string appears 3 times in d/a.txt; give more context or set replace_all");
    assert_call(
        &s, SCAIFLUX, "edit_file",
        "{\"path\":\"d/a.txt\",\"old_string\":\"e\",\"new_string\":\"E\",\"replace_all\":true}",
        "edited d/a.txt: 3 replacements\n");
    assert_call_fails(&s, SCAIFLUX, "edit_file",
                      "{\"path\":\"d/a.txt\",\"old_string\":\"zz\",\"new_string\":\"\"}",
                      "old_string was not found in d/a.txt");
    assert_call_fails(&s, SCAIFLUX, "write_file", "{\"path\":\"d\",\"content\":\"\"}",
                      args(&s, "cannot write d: %s/d is not a regular file"));
    scene_close(&s);
}

static void test_scaiflux_calls_that_do_not_run(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    assert_call_fails(&s, SCAIFLUX, "fly", "{}", "unknown tool: fly"); /* 84 */
    assert_call_fails(&s, SCAIFLUX, "read_file", "{}",
                      "invalid arguments for read_file: `path` is missing"); /* 86 */
    assert_call_fails(&s, SCAIFLUX, "read_file", "{\"path\":\"a\",\"x\":1}",
                      "invalid arguments for read_file: unknown member `x`");
    assert_call_fails(&s, SCAIFLUX, "read_file", "{\"path\":1}",
                      "invalid arguments for read_file: `path` must be a string");
    assert_call_fails(&s, SCAIFLUX, "read_file", "{\"path\":\"a\",\"offset\":-1}",
                      "invalid arguments for read_file: `offset` must be at least 0");
    struct {
        struct str path;
        int64_t offset, limit;
    } decoded = {.path = STR("../x")};
    const struct face *f = toolset_find(SCAIFLUX, STR("read_file"));
    assert_true(str_is(f->target(&decoded), "../x")); /* 74 */
    assert_null(toolset_find(SCAIFLUX, STR("bash"))->target);
    scene_close(&s);
}

static void test_scaiflux_glob(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "b.py", "");
    scene_put(&s, "a.py", "");
    assert_call(&s, SCAIFLUX, "glob_search", "{\"pattern\":\"**/*.py\"}", "a.py\nb.py\n"); /* 67 */
    scene_put(&s, ".git/c.py", "");
    scene_put(&s, ".scaiflux/c.py", "");
    scene_put(&s, "x/node_modules/c.py", "");
    scene_put(&s, "x/y/.d.py", "");
    assert_call(&s, SCAIFLUX, "glob_search", "{\"pattern\":\"**/*.py\"}",
                "a.py\nb.py\nx/y/.d.py\n");
    assert_call(&s, SCAIFLUX, "glob_search", "{\"pattern\":\"*/*.py\",\"path\":\"x\"}",
                "x/y/.d.py\n");
    assert_call(&s, SCAIFLUX, "glob_search", "{\"pattern\":\"*.none\"}", "");
    assert_call_fails(&s, SCAIFLUX, "glob_search", "{\"pattern\":\"../*\"}",
                      "cannot search: the pattern must not contain ..");
    scene_close(&s);
}

static void test_scaiflux_grep(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a.c", "one\nhit 1\nthree\nfour\nHIT\n");
    scene_put(&s, "d/b.py", "hit 2\n");
    const struct toolset *t = SCAIFLUX;
    assert_call(&s, t, "grep_search", "{\"pattern\":\"hit\"}", "a.c\nd/b.py\n");
    assert_call(&s, t, "grep_search", "{\"pattern\":\"hit\",\"output_mode\":\"content\"}",
                "a.c:2:hit 1\nd/b.py:1:hit 2\n");
    assert_call(&s, t, "grep_search",
                "{\"pattern\":\"hit\",\"output_mode\":\"content\",\"-n\":false,\"path\":\"d\"}",
                "d/b.py:hit 2\n");
    assert_call(&s, t, "grep_search", "{\"pattern\":\"hit\",\"output_mode\":\"count\",\"-i\":true}",
                "a.c:2\nd/b.py:1\n");
    assert_call(
        &s, t, "grep_search",
        "{\"pattern\":\"hit\",\"output_mode\":\"content\",\"-i\":true,\"-A\":1,\"path\":\"a.c\"}",
        "a.c:2:hit 1\na.c-3-three\n--\na.c:5:HIT\n");
    assert_call(&s, t, "grep_search", "{\"pattern\":\"hit\",\"type\":\"py\"}", "d/b.py\n");
    assert_call(&s, t, "grep_search", "{\"pattern\":\"hit\",\"glob\":\"*.c\"}", "a.c\n");
    assert_call(&s, t, "grep_search", "{\"pattern\":\"hit\",\"head_limit\":1}",
                "a.c\n[more matches; use offset=1 to continue]\n");
    assert_call(&s, t, "grep_search", "{\"pattern\":\"hit\",\"head_limit\":1,\"offset\":1}",
                "d/b.py\n");
    assert_call(&s, t, "grep_search",
                "{\"pattern\":\"one.hit\",\"multiline\":true,\"output_mode\":\"content\"}",
                "a.c:1:one\na.c:2:hit 1\n");
    assert_call(&s, t, "grep_search", "{\"pattern\":\"nothing\"}", "No matches found.\n");
    assert_call_fails(&s, t, "grep_search", "{\"pattern\":\"x\",\"output_mode\":\"all\"}",
                      "invalid arguments for grep_search: `output_mode` must be one of "
                      "files_with_matches, content, count");
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(scene_call(&s, t, "grep_search", "{\"pattern\":\"(\"}", &r));
    assert_true(r.is_error);
    assert_has(buf_str(&r.text), "the expression is wrong at offset 1");
    scene_close(&s);
}

static void test_scaiflux_bash(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    assert_call(&s, SCAIFLUX, "bash", "{\"command\":\"printf out; echo err >&2\"}", "out\nerr\n");
    assert_call_fails(&s, SCAIFLUX, "bash", "{\"command\":\"echo x; exit 3\"}",
                      "x\nexit status 3\n"); /* 82 */
    assert_call_fails(&s, SCAIFLUX, "bash", "{\"command\":\"sleep 30\",\"timeout\":100}",
                      "timed out after 100 ms\n");
    assert_call_fails(&s, SCAIFLUX, "bash", "{\"command\":\"true\",\"run_in_background\":true}",
                      "run_in_background is not available in this version");
    assert_call(&s, SCAIFLUX, "bash", "{\"command\":\"printf 'a\\\\377b'\"}",
                "a\xef\xbf\xbd"
                "b"); /* 7 */
    assert_true(scene_call(&s, SCAIFLUX, "bash", "{\"command\":\"seq 1000000\"}", &r));
    assert_true(r.text.n < 70000);
    assert_has(buf_str(&r.text), "bytes left out");
    assert_true(str_ends(buf_str(&r.text), STR("\n1000000\n")));
    tool_result_clear(&r);
    s.cancel_file = "flag"; /* 8.1: the output so far */
    assert_false(
        scene_call(&s, SCAIFLUX, "bash", "{\"command\":\"echo begun; touch flag; sleep 30\"}", &r));
    assert_string_equal(r.text.p, "begun\n");
    scene_close(&s);
}

/* ---- Kward, chapters 13 and 15 ---- */

static void test_kward_list_and_read(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf big = BUF_INIT;
    scene_open(&s);
    scene_put(&s, "sub/x", "");
    scene_put(&s, "a.txt", "1\n2\n3\n");
    scene_put_bytes(&s, "bin", STR("a\0b"));
    assert_call(&s, KWARD, "list_directory", "{\"path\":\".\"}", "a.txt\nbin\nsub/");
    assert_call_fails(&s, KWARD, "list_directory", "{\"path\":\"a.txt\"}",
                      "Error: not a directory: a.txt");
    assert_call_fails(&s, KWARD, "list_directory", "{\"path\":\"/etc\"}",
                      "Error: path outside workspace: /etc");
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\"}", "1\n2\n3\n");
    assert_true(read_set_has(s.cx.reads, str_of(scene_path(&s, "a.txt"))));
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"offset\":2}", "2\n3\n");
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"offset\":1,\"limit\":1}",
                "1\n\n[2 more lines in file. Use offset=2 to continue.]");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"offset\":4}",
                      "Error: offset 4 is beyond end of file (3 lines total)");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"limit\":0}",
                      "Error: limit must be positive");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"bin\"}", "Error: not a text file: bin");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"sub\"}", "Error: not a file: sub");
    assert_call_fails(&s, KWARD, "read_file", "{}", "Error: path is required");

    assert_int_equal(symlink("/etc/passwd", scene_path(&s, "link")), 0);
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"link\"}",
                      "Error: path outside workspace: link");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"sub/../../x\"}",
                      "Error: path outside workspace: sub/../../x");

    for (int i = 1; i <= 3000; i++)
        buf_addf(&big, "%d\n", i);
    scene_put_bytes(&s, "lines", buf_str(&big));
    assert_true(scene_call(&s, KWARD, "read_file", "{\"path\":\"lines\"}", &r));
    assert_true(str_ends(buf_str(&r.text), STR("\n2000\n\n[Showing lines 1-2000 of 3000 (2000 line "
                                               "limit). Use offset=2001 to continue.]")));
    buf_reset(&big);
    for (int i = 0; i < 60; i++)
        buf_addf(&big, "%01023d\n", i);
    scene_put_bytes(&s, "wide", buf_str(&big));
    tool_result_clear(&r);
    assert_true(scene_call(&s, KWARD, "read_file", "{\"path\":\"wide\"}", &r));
    assert_true(str_ends(buf_str(&r.text), STR("[Showing lines 1-50 of 60 (51200 byte limit). Use "
                                               "offset=51 to continue.]")));
    for (int i = 0; i < 300; i++)
        buf_addf(&big, "%01023d\n", i);
    scene_put_bytes(&s, "huge", buf_str(&big));
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"huge\"}",
                      "Error: file too large: huge is 368640 bytes; limit is 262144 bytes");
    scene_close(&s);
}

static void test_kward_write_and_edit(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    assert_call(&s, KWARD, "write_file", "{\"path\":\"new.txt\",\"content\":\"h\xc3\xa4\\n\"}",
                "Wrote 4 bytes to new.txt");
    scene_put(&s, "a.txt", "one\ntwo\n");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}",
                      "Error: existing file must be read before writing: a.txt");
    assert_call_fails(&s, KWARD, "edit_file",
                      "{\"path\":\"a.txt\",\"edits\":[{\"old_text\":\"one\",\"new_text\":\"1\"}]}",
                      "Error: existing file must be read before editing: a.txt");
    assert_file(&s, "a.txt", "one\ntwo\n");
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\"}", "one\ntwo\n");
    const char *diff = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    assert_true(scene_call(
        &s, KWARD, "edit_file",
        "{\"path\":\"a.txt\",\"edits\":[{\"old_text\":\"one\",\"new_text\":\"1\"}]}", &r));
    assert_has(buf_str(&r.text), "Edited a.txt: replaced 1 block(s)\n--- a.txt\n");
    assert_string_equal(r.diff.p, diff);
    assert_true(str_ends(buf_str(&r.text), str_of(diff)));
    assert_string_equal(r.path.p, "a.txt");
    assert_string_equal(r.target.p, scene_path(&s, "a.txt"));
    assert_call(&s, KWARD, "write_file", "{\"path\":\"a.txt\",\"content\":\"1\\n2\\n\"}",
                "Wrote 4 bytes to a.txt\n--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n 1\n-two\n+2\n");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"no/x\",\"content\":\"\"}",
                      "Error: parent directory does not exist: no/x");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"../x\",\"content\":\"\"}",
                      "Error: path outside workspace: ../x");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"a.txt\"}",
                      "Error: content is required");
    scene_close(&s);
}

static void edit_fails(struct scene *s, const char *edits, const char *text)
{
    char json[1000];
    snprintf(json, sizeof json, "{\"path\":\"a\",\"edits\":%s}", edits);
    assert_call_fails(s, KWARD, "edit_file", json, text);
    assert_file(s, "a", "abc abc xyz\n");
}

static void test_kward_edit_faults(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a", "abc abc xyz\n");
    read_set_add(s.cx.reads, str_of(scene_path(&s, "a")));
    edit_fails(&s, "[]", "Error: edits must contain at least one replacement");
    edit_fails(&s, "[{\"old_text\":\"q\",\"new_text\":\"\"}]",
               "Error: edits[0].old_text was not found in a");
    edit_fails(
        &s, "[{\"old_text\":\"xyz\",\"new_text\":\"\"},{\"old_text\":\"abc\",\"new_text\":\"\"}]",
        "Error: edits[1].old_text appears 2 times in a; provide more context");
    edit_fails(
        &s, "[{\"old_text\":\"xyz\",\"new_text\":\"\"},{\"old_text\":\"c x\",\"new_text\":\"\"}]",
        "Error: edits[0] and edits[1] overlap in a");
    edit_fails(&s, "[{\"old_text\":\"xyz\",\"new_text\":\"xyz\"}]", "Error: no changes made to a");
    edit_fails(&s, "[{\"old_text\":\"\",\"new_text\":\"x\"}]",
               "Error: edits[0].old_text must not be empty");
    edit_fails(&s, "[{\"old_text\":\"xyz\"}]", "Error: edits[0].new_text must be a string");
    edit_fails(&s, "[5]", "Error: edits[0].old_text must be a string");
    /* A diff of more than 8192 bytes is cut, with a note. */
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf json = BUF_INIT;
    buf_addz(&json, "{\"path\":\"a\",\"content\":\"");
    for (int i = 0; i < 2000; i++)
        buf_addf(&json, "line %d\\n", i);
    buf_addz(&json, "\"}");
    assert_true(scene_call(&s, KWARD, "write_file", json.p, &r));
    assert_true(r.diff.n < 8192 + 100);
    assert_true(str_ends(buf_str(&r.diff), STR("... diff truncated to 8192 bytes\n")));
    scene_close(&s);
}

static void test_kward_shell(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    assert_call(&s, KWARD, "run_shell_command", "{\"command\":\"true\"}", "Exit status: 0\n");
    assert_call(&s, KWARD, "run_shell_command", "{\"command\":\"echo o; printf e >&2; exit 2\"}",
                "Exit status: 2\n\nSTDOUT:\no\n\nSTDERR:\ne"); /* not an error result */
    assert_call_fails(&s, KWARD, "run_shell_command", "{\"command\":\"  \"}",
                      "Error: command is required");
    assert_call_fails(&s, KWARD, "run_shell_command", "{}", "Error: command is required");
    assert_call_fails(&s, KWARD, "run_shell_command",
                      "{\"command\":\"sleep 30\",\"timeout_seconds\":1}",
                      "Error: command timed out after 1 seconds");
    assert_true(scene_call(&s, KWARD, "run_shell_command", "{\"command\":\"seq 100000\"}", &r));
    assert_true(str_ends(buf_str(&r.text), STR("\n... truncated to 20480 bytes")));
    assert_int_equal(r.text.n, 20480 + strlen("\n... truncated to 20480 bytes"));
    assert_call_fails(&s, KWARD, "fly", "{}", "Error: unknown tool: fly");
    scene_close(&s);
}

struct asked {
    struct buf questions;
    const char *answer; /* NULL: somebody cancels */
};

static bool answer_await(void *arg, struct str questions, struct buf *answer, struct error *err)
{
    struct asked *a = arg;
    buf_reset(&a->questions);
    buf_add(&a->questions, questions);
    if (!a->answer)
        return error_set(err, ERR_CANCELED, "canceled");
    return buf_addz(answer, a->answer);
}

#define OPTIONS                                                                                    \
    "\"options\":[{\"label\":\"Yes\",\"description\":\"go\"},{\"label\":\"No\",\"description\":"   \
    "\"stop\"}]"

static void test_kward_ask(void **state)
{
    (void)state;
    struct scene s;
    struct asked asked = {.answer = "Go on?: Yes"};
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    const char *good =
        "{\"questions\":[{\"question\":\" Go on? \",\"header\":\"H\",\"x\":1," OPTIONS "}]}";
    scene_open(&s);
    assert_call_fails(&s, KWARD, "ask_user_question", good,
                      "Error: nobody can be asked in this session");
    s.cx.ask_await = answer_await;
    s.cx.ask_arg = &asked;
    assert_call(&s, KWARD, "ask_user_question", good, "Go on?: Yes");
    assert_string_equal(asked.questions.p,
                        "[{\"question\":\"Go on?\",\"header\":\"H\"," OPTIONS "}]");
    buf_reset(&asked.questions);
    assert_call_fails(&s, KWARD, "ask_user_question", "{\"questions\":[]}",
                      "Error: questions must be a list of 1 to 4 questions");
    assert_call_fails(&s, KWARD, "ask_user_question",
                      "{\"questions\":[{\"question\":\"a\",\"header\":\" \"," OPTIONS "}]}",
                      "Error: questions[0].header must be a non-empty string");
    assert_call_fails(
        &s, KWARD, "ask_user_question",
        "{\"questions\":[{\"question\":\"a\",\"header\":\"b\",\"multiSelect\":false," OPTIONS "}]}",
        "Error: questions[0].multiSelect is not supported");
    assert_call_fails(&s, KWARD, "ask_user_question",
                      "{\"questions\":[{\"question\":\"a\",\"header\":\"b\",\"options\":[]}]}",
                      "Error: questions[0].options must be a list of 2 to 4 options");
    assert_int_equal(asked.questions.n, 0); /* nobody was asked */
    asked.answer = "Cancelled.";
    assert_call_fails(&s, KWARD, "ask_user_question", good, "Cancelled.");
    asked.answer = NULL;
    assert_false(scene_call(&s, KWARD, "ask_user_question", good, &r));
    buf_clear(&asked.questions);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_schemas),
        cmocka_unit_test(test_loaf_read),
        cmocka_unit_test(test_loaf_read_block),
        cmocka_unit_test(test_loaf_list),
        cmocka_unit_test(test_loaf_grep),
        cmocka_unit_test(test_loaf_bash),
        cmocka_unit_test(test_loaf_bash_ends),
        cmocka_unit_test(test_scaiflux_files),
        cmocka_unit_test(test_scaiflux_calls_that_do_not_run),
        cmocka_unit_test(test_scaiflux_glob),
        cmocka_unit_test(test_scaiflux_grep),
        cmocka_unit_test(test_scaiflux_bash),
        cmocka_unit_test(test_kward_list_and_read),
        cmocka_unit_test(test_kward_write_and_edit),
        cmocka_unit_test(test_kward_edit_faults),
        cmocka_unit_test(test_kward_shell),
        cmocka_unit_test(test_kward_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
