/* SPDX-License-Identifier: MIT */
/* Names and schemas of the three toolsets, and every tool of ScaiFlux: a normal call, a limit, an
 * error.  Numbers in comments are items of the checklists of the protocol documents.  loaf and
 * Kward have files of their own. */
#include "tool_scene.h"
#include "tools/background.h"

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
    for (size_t i = 0; i < t->n_tools; i++)
        buf_addf(&names, "%s ", t->tools[i]->name);
    assert_string_equal(names.p, want);
}

static void check_schema(const struct tool *f)
{
    struct error err;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct jw w = JW(&text);
    tool_schema(f, &w);
    if (!json_parse(buf_str(&text), 0, 32, &doc, &err))
        fail_msg("%s: %s", f->name, err.text);
    assert_true(str_is(json_get_str(doc.root, "type"), "object"));
    assert_false(json_get_bool(doc.root, "additionalProperties", true));
    assert_true(yyjson_obj_size(json_get(doc.root, "properties")) > 0);
    bool lists_jobs = str_starts(str_of(f->name), STR("list_background_")); /* needs nothing */
    assert_true(lists_jobs || yyjson_arr_size(json_get(doc.root, "required")) > 0);
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(json_get(doc.root, "properties"), i, max, key, val) {
        assert_non_null(json_get(val, "type"));
    }
    assert_true(strlen(f->about) > 20);
}

static void test_names_and_schemas(void **state)
{
    (void)state;
    const struct toolset *sets[] = {LOAF, SCAIFLUX, KWARD};
    /* loaf 73: sorted by name */
    check_names(LOAF,
                "apply_patch bash create_persistent_tool edit_file grep_files install_js_packages "
                "list_background_bash list_background_js list_dir read_background_bash "
                "read_background_js read_file resize_background_bash run_js run_js_module "
                "search_web start_background_js stop_background_bash stop_background_js "
                "todo_write write_background_bash write_background_js ");
    check_names(SCAIFLUX, "read_file glob_search grep_search write_file edit_file bash " /* 24 */
                          "WebFetch WebSearch TodoWrite Skill "); /* of gadgets */
    check_names(KWARD, "list_directory read_file write_file edit_file run_shell_command "
                       "code_search web_search read_skill ask_user_question todo_write ");
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        for (size_t k = 0; k < sets[i]->n_tools; k++)
            check_schema(sets[i]->tools[k]);
    /* ScaiFlux 73: required modes. */
    assert_int_equal(toolset_find(SCAIFLUX, STR("write_file"))->mode, MODE_WORKSPACE_WRITE);
    assert_int_equal(toolset_find(SCAIFLUX, STR("edit_file"))->mode, MODE_WORKSPACE_WRITE);
    assert_int_equal(toolset_find(SCAIFLUX, STR("bash"))->mode, MODE_FULL);
    assert_int_equal(toolset_find(SCAIFLUX, STR("read_file"))->mode, MODE_READ_ONLY);
    assert_int_equal(toolset_find(SCAIFLUX, STR("grep_search"))->mode, MODE_READ_ONLY);
    assert_null(toolset_find(SCAIFLUX, STR("Read_file")));
}

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
                "two\n[the file goes on: 3 lines; use offset=2 to continue]\n");
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
        "old_string appears 3 times in d/a.txt; give more context or set replace_all\nit stands here:\n1: one\n3: three");
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
    assert_call_fails(&s, SCAIFLUX, "write_file", "{\"path\":\"a\",\"content\":\"\",\"x\":1}",
                      "invalid arguments for write_file: unknown member `x`");
    assert_call_fails(&s, SCAIFLUX, "read_file", "{\"path\":1}",
                      "invalid arguments for read_file: `path` must be a string");
    assert_call_fails(&s, SCAIFLUX, "read_file", "{\"path\":\"a\",\"offset\":-1}",
                      "invalid arguments for read_file: `offset` must be at least 0");
    struct {
        struct str path;
        int64_t offset, limit;
    } decoded = {.path = STR("../x")};
    const struct tool *f = toolset_find(SCAIFLUX, STR("read_file"));
    assert_true(str_is(tool_target(f, &decoded), "../x")); /* 74 */
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
    assert_call(&s, SCAIFLUX, "glob_search", "{\"pattern\":\"*.none\"}",
                "No files match *.none.\n**/*.none would match at any depth.\n");
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
    assert_call(&s, t, "grep_search", "{\"pattern\":\"nothing\"}",
                "No matches found.\nUpper and lower case differ; -i makes them the same.\n"
                "Files that .gitignore names and binary files are not searched.\n");
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
    s.cx.background = background_new(s.loop);
    s.cx.saved = saved_dir_new(str_of(scene_path(&s, "saved")), STR("/shown"));
    assert_true(
        scene_call(&s, SCAIFLUX, "bash", "{\"command\":\"true\",\"run_in_background\":true}", &r));
    assert_has(buf_str(&r.text), "its output goes to /shown/output-1.txt");
    assert_false(r.is_error);
    background_free(s.cx.background);
    saved_dir_free(s.cx.saved);
    s.cx.background = NULL;
    s.cx.saved = NULL;
    tool_result_clear(&r);
    r = TOOL_RESULT_INIT;
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

/* The mode that a call with these arguments (%s: the workspace) needs. */
static enum mode mode_of(struct scene *s, const struct toolset *set, const char *name,
                         const char *json)
{
    struct error err;
    struct fault fault;
    AUTO(json) struct json doc = JSON_INIT;
    const struct tool *f = toolset_find(set, str_of(name));
    AUTO_FREE void *decoded = xcalloc(1, f->args_size);
    assert_true(json_parse(str_of(args(s, json)), 0, 16, &doc, &err));
    assert_true(tool_decode(set, f, doc.root, decoded, &fault));
    return tool_required_mode(f, &s->cx, decoded);
}

/* One patch with the given hunks. */
static enum mode mode_of_patch(struct scene *s, const char *hunks)
{
    AUTO(buf) struct buf json = BUF_INIT;
    buf_addf(&json, "{\"input\":\"*** Begin Patch\\n%s*** End Patch\"}", hunks);
    return mode_of(s, LOAF, "apply_patch", json.p);
}

static void scene_with_links(struct scene *s)
{
    scene_open(s);
    scene_put(s, "in/f.txt", "a\n");
    assert_int_equal(symlink("/etc", scene_path(s, "out")), 0);
    assert_int_equal(symlink("/etc/hosts", scene_path(s, "file")), 0);
    assert_int_equal(symlink("in", scene_path(s, "near")), 0);
}

/* Every path of a patch is judged, wherever it stands, after links are resolved. */
static void test_patch_modes(void **state)
{
    (void)state;
    struct scene s;
    scene_with_links(&s);
    static const struct {
        const char *hunks;
        enum mode want;
    } cases[] = {
        {"*** Add File: a\\n+x\\n", MODE_WORKSPACE_WRITE},
        {"*** Add File: near/a\\n+x\\n*** Delete File: in/f.txt\\n", MODE_WORKSPACE_WRITE},
        {"*** Add File: a\\n+x\\n*** Add File: out/b\\n+x\\n", MODE_FULL},
        {"*** Add File: a\\n+x\\n*** Add File: in/../../b\\n+x\\n", MODE_FULL},
        {"*** Add File: a..b\\n+x\\n*** Delete File: /etc/hosts\\n", MODE_FULL},
        {"*** Update File: in/f.txt\\n-a\\n+b\\n*** Update File: file\\n-a\\n+b\\n", MODE_FULL},
        {"*** Delete File: file\\n",
         MODE_WORKSPACE_WRITE}, /* the link goes, not what it leads to */
        {"*** Delete File: out/hosts\\n", MODE_FULL},
        {"*** Update File: in/f.txt\\n*** Move to: near/g\\n-a\\n+b\\n", MODE_WORKSPACE_WRITE},
        {"*** Update File: in/f.txt\\n*** Move to: out/g\\n-a\\n+b\\n", MODE_FULL},
        {"*** Update File: file\\n*** Move to: in/g\\n-a\\n+b\\n", MODE_FULL},
        {"*** Update File: ~/../f\\n-a\\n+b\\n", MODE_FULL},
        {"no patch\\n", MODE_WORKSPACE_WRITE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (mode_of_patch(&s, cases[i].hunks) != cases[i].want)
            fail_msg("%s", cases[i].hunks);
    /* A link outside that leads inside: what is removed lies outside. */
    AUTO(buf) struct buf link = BUF_INIT, hunk = BUF_INIT;
    buf_addf(&link, "%s.link", s.dir);
    assert_int_equal(symlink(scene_path(&s, "in/f.txt"), link.p), 0);
    buf_addf(&hunk, "*** Delete File: %s\\n", link.p);
    assert_int_equal(mode_of_patch(&s, hunk.p), MODE_FULL);
    unlink(link.p);
    /* Relative paths of a patch mean the launch directory. */
    s.cx.launch_dir = STR("/etc");
    assert_int_equal(mode_of_patch(&s, "*** Add File: a\\n+x\\n"), MODE_FULL);
    scene_close(&s);
}

static void test_modes(void **state)
{
    (void)state;
    struct scene s;
    scene_with_links(&s);
    static const struct {
        const struct toolset *set;
        const char *name, *json;
        enum mode want;
    } cases[] = {
        {LOAF, "read_file", "{\"file_path\":\"%s/in/f.txt\"}", MODE_READ_ONLY},
        {LOAF, "read_file", "{\"file_path\":\"%s/file\"}", MODE_FULL},
        {LOAF, "list_dir", "{\"dir_path\":\"%s/out\"}", MODE_FULL},
        {LOAF, "grep_files", "{\"pattern\":\"x\"}", MODE_READ_ONLY},
        {LOAF, "grep_files", "{\"pattern\":\"x\",\"path\":\"out\"}", MODE_FULL},
        {LOAF, "bash", "{\"command\":\"true\"}", MODE_FULL},
        {SCAIFLUX, "write_file", "{\"path\":\"near/x\",\"content\":\"\"}", MODE_WORKSPACE_WRITE},
        {SCAIFLUX, "write_file", "{\"path\":\"file\",\"content\":\"\"}", MODE_FULL},
        {SCAIFLUX, "glob_search", "{\"pattern\":\"*\",\"path\":\"out\"}", MODE_FULL},
        {KWARD, "edit_file", "{\"path\":\"in/f.txt\",\"edits\":[]}", MODE_WORKSPACE_WRITE},
        {KWARD, "write_file", "{\"path\":\"out/x\",\"content\":\"\"}", MODE_FULL},
        {KWARD, "list_directory", "{\"path\":\"..\"}", MODE_FULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (mode_of(&s, cases[i].set, cases[i].name, cases[i].json) != cases[i].want)
            fail_msg("%s %s", cases[i].name, cases[i].json);
    /* What is relative means where the process was started, when the tool takes it so. */
    s.cx.launch_dir = STR("/etc");
    assert_int_equal(mode_of(&s, LOAF, "grep_files", "{\"pattern\":\"x\",\"path\":\"in\"}"),
                     MODE_FULL);
    assert_int_equal(mode_of(&s, LOAF, "grep_files", "{\"pattern\":\"x\"}"), MODE_FULL);
    assert_int_equal(mode_of(&s, KWARD, "read_file", "{\"path\":\"in/f.txt\"}"), MODE_READ_ONLY);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_schemas),
        cmocka_unit_test(test_scaiflux_files),
        cmocka_unit_test(test_scaiflux_calls_that_do_not_run),
        cmocka_unit_test(test_scaiflux_glob),
        cmocka_unit_test(test_scaiflux_grep),
        cmocka_unit_test(test_scaiflux_bash),
        cmocka_unit_test(test_patch_modes),
        cmocka_unit_test(test_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
