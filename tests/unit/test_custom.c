/* SPDX-License-Identifier: MIT */
/* Custom tools: manifests and their faults, programs as tools, JavaScript files through the runtime
 * that is installed (skipped without one). */
#include "tool_scene.h"
#include "toolsets/custom.h"
#include "tools/js.h"

struct loading {
    struct scene *scene;
    const struct toolset *set;
    bool ok;
    struct error err;
};

static void load_fiber(void *arg)
{
    struct loading *l = arg;
    l->ok = custom_load_await(l->scene->cx.custom, &l->scene->cx, l->set, &l->err);
}

/* Loads <workspace>/tools. */
static void load(struct scene *s, const struct toolset *set)
{
    struct loading l = {.scene = s, .set = set};
    AUTO(buf) struct buf dir = BUF_INIT;
    buf_addf(&dir, "%s/tools", s->dir);
    s->cx.custom = custom_new(buf_str(&dir));
    scene_run(s, load_fiber, &l);
    assert_true(l.ok);
}

static void unload(struct scene *s)
{
    custom_free(s->cx.custom);
    scene_close(s);
}

static void put_script(struct scene *s, const char *rel, const char *text)
{
    scene_put(s, rel, text);
    assert_int_equal(chmod(scene_path(s, rel), 0755), 0);
}

static void check_names(const struct scene *s, const char *want)
{
    AUTO(buf) struct buf names = BUF_INIT;
    size_t n;
    const struct tool *const *tools = custom_tools(s->cx.custom, &n);
    for (size_t i = 0; i < n; i++)
        buf_addf(&names, "%s ", tools[i]->name);
    assert_string_equal(buf_str(&names).p, want);
}

static void check_errors(const struct scene *s, const char *const *want, size_t n_want)
{
    size_t n;
    const struct str *errors = custom_errors(s->cx.custom, &n);
    for (size_t i = 0; i < MIN(n, n_want); i++)
        assert_has(errors[i], want[i]);
    assert_int_equal(n, n_want);
}

/* Calls a custom tool as the engine would; what run_await returned. */
static bool call(struct scene *s, const char *name, const char *json, struct tool_result *ret)
{
    struct scene_call c = {.scene = s, .tool = custom_find(s->cx.custom, str_of(name)), .ret = ret};
    char args = 0;
    assert_non_null(c.tool);
    *ret = TOOL_RESULT_INIT;
    c.args = &args;
    s->cx.self = c.tool->self;
    s->cx.arguments = str_of(json);
    scene_run(s, scene_call_fiber, &c);
    tool_result_finish(ret);
    return c.ok;
}

static void check_call(struct scene *s, const char *name, const char *json, const char *text,
                       const char *value, bool is_error)
{
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(call(s, name, json, &r));
    assert_string_equal(buf_str(&r.text).p, text);
    if (value)
        assert_string_equal(buf_str(&r.value).p, value);
    assert_int_equal(r.is_error, is_error);
    assert_int_equal(r.error.n > 0, is_error);
}

static void test_manifests(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "tools/a/tool.json", "{\"name\":\"good\",\"command\":\"cat\"}");
    scene_put(&s, "tools/b/tool.json", "{\"name\":\"bad name\",\"command\":\"cat\"}");
    scene_put(&s, "tools/c/tool.json", "{\"command\":\"cat\"}");
    scene_put(&s, "tools/d/tool.json", "{\"name\":\"d\"}");
    scene_put(&s, "tools/e/tool.json", "{\"name\":\"e\",\"command\":[\"x\",1]}");
    scene_put(&s, "tools/f/tool.json", "{\"name\":\"f\",\"command\":[]}");
    scene_put(&s, "tools/g/tool.json", "not json");
    scene_put(&s, "tools/h/tool.json", "{\"name\":\"good\",\"command\":\"cat\"}");
    scene_put(&s, "tools/h2/tool.json", "{\"name\":\"read.file\",\"command\":\"cat\"}");
    scene_put(&s, "tools/i/tool.json", "{\"name\":\"bash\",\"command\":\"cat\"}");
    scene_put(&s, "tools/j/tool.json", "{\"name\":\"j\",\"command\":\"x\",\"input_schema\":5}");
    scene_put(&s, "tools/k/tool.json", "[]");
    scene_put(&s, "tools/l/other.json", "{}");
    scene_put(&s, "tools/file", "x");
    load(&s, &toolset_loaf);
    check_names(&s, "good ");
    static const char *const errors[] = {
        "tools/b/tool.json: a tool's name has 1 to 64 of",
        "tools/c/tool.json: `name` must be a string",
        "tools/d/tool.json: `command` must be",
        "tools/e/tool.json: `command` must be",
        "tools/f/tool.json: `command` must be",
        "tools/g/tool.json: ",
        "tools/h/tool.json: there is a tool called good already",
        "tools/h2/tool.json: there is a tool called read.file already", /* for providers */
        "tools/i/tool.json: there is a tool called bash already",
        "tools/j/tool.json: `input_schema` must be an object",
        "tools/k/tool.json: `name` must be a string",
    };
    check_errors(&s, errors, ARRAY_LEN(errors));
    unload(&s);
}

static void test_programs(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    put_script(&s, "tools/echo/run", "#!/bin/sh\ncat; echo; pwd; echo \"$TRIVET_TOOL_DIR\" >&2\n");
    scene_put(&s, "tools/echo/tool.json",
              "{\"name\":\"echo\",\"description\":\"Says it again.\",\"command\":[\"./run\"],"
              "\"input_schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
              "\"required\":[\"n\"]}}");
    put_script(&s, "tools/ok/run",
               "#!/bin/sh\necho '{\"ok\":true,\"output\":{\"a\":[1]},\"x\":0}'\n");
    scene_put(&s, "tools/ok/tool.json", "{\"name\":\"ok\",\"command\":\"./run\"}");
    scene_put(&s, "tools/no/tool.json",
              "{\"name\":\"no\",\"command\":[\"sh\",\"-c\",\"echo "
              "'{\\\"ok\\\":false,\\\"error\\\":\\\"why\\\"}'\"]}");
    scene_put(&s, "tools/exit/tool.json",
              "{\"name\":\"exit\",\"command\":[\"sh\",\"-c\",\"echo out; echo err >&2; exit 3\"]}");
    scene_put(&s, "tools/dots/tool.json", "{\"name\":\"a.b:c\",\"command\":\"true\"}");
    scene_put(&s, "tools/gone/tool.json", "{\"name\":\"gone\",\"command\":\"./missing\"}");
    scene_put(&s, "tools/slow/tool.json",
              "{\"name\":\"slow\",\"command\":[\"sleep\",\"60\"],\"timeout_seconds\":1}");
    load(&s, &toolset_loaf);
    check_errors(&s, NULL, 0);
    AUTO(buf) struct buf want = BUF_INIT;
    buf_addf(&want, "{\"n\":5}\n%s\n", s.dir);
    check_call(&s, "echo", "{\"n\":5}", want.p, NULL, false);
    check_call(&s, "echo", "{}", "`n` is missing", "{\"tool\":\"echo\",\"status\":\"error\"}",
               true);
    check_call(&s, "echo", "{\"n\":\"x\"}", "`n` must be of type integer", NULL, true);
    check_call(&s, "a_b_c", "{}", "", "\"\"", false); /* as a model calls it */
    check_call(&s, "ok", "{}", "{\"a\":[1]}", "{\"a\":[1]}", false);
    check_call(&s, "no", "{}", "why", "{\"tool\":\"no\",\"status\":\"error\"}", true);
    check_call(&s, "exit", "{}", "exit status 3: err\nout\n", "\"out\\n\"", true);
    check_call(&s, "slow", "{}", "timed out after 1 seconds", NULL, true);
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(call(&s, "gone", "{}", &r));
    assert_true(r.is_error);
    const struct tool *f = custom_find(s.cx.custom, STR("echo"));
    assert_string_equal(f->about, "Says it again.");
    assert_has(f->schema, "\"required\":[\"n\"]");
    assert_has(custom_find(s.cx.custom, STR("ok"))->schema, "\"properties\":{}");
    unload(&s);
}

static void test_errors_of_kward(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "tools/x/tool.json", "{\"name\":\"x\",\"command\":\"false\"}");
    load(&s, &toolset_kward);
    check_call(&s, "x", "{}", "Error: exit status 1", NULL, true);
    unload(&s);
}

static void test_cancel(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    scene_put(
        &s, "tools/x/tool.json",
        "{\"name\":\"x\",\"command\":[\"sh\",\"-c\",\"echo so far; touch begun; sleep 60\"]}");
    load(&s, &toolset_loaf);
    s.cancel_file = "begun";
    assert_false(call(&s, "x", "{}", &r));
    assert_string_equal(r.text.p, "so far\n");
    unload(&s);
}

static const char js_tools[] =
    "export default { name: 'add', description: 'Adds.',\n"
    "  args: { type: 'object', properties: { a: { type: 'number' } } },\n"
    "  run: async (input, { now, signal }) => {\n"
    "    console.log('noise'); return { sum: input.a + 1, ok2: now instanceof Date && "
    "!signal.aborted };\n"
    "  } };\n";

static void test_javascript(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    if (!js_is_there(&s.cx)) {
        scene_close(&s);
        skip();
    }
    scene_put(&s, "tools/add.mjs", js_tools);
    scene_put(&s, "tools/meta.mjs",
              "export const meta = { name: 'meta', args: { type: 'object' } };\n"
              "export default (input) => 'hello ' + input.who;\n");
    scene_put(&s, "tools/deep/old.cjs",
              "module.exports.one = { name: 'one', run() { throw new "
              "Error('no way'); } };\n"
              "module.exports.two = { name: 'two', run: () => ({ ok: false,"
              " output: { code: 7 }, error: 'seven' }) };\n");
    scene_put(&s, "tools/named.mjs",
              "export const tool = { name: 'named', run: () => undefined };\n");
    scene_put(&s, "tools/broken.mjs", "this is no JavaScript\n");
    scene_put(&s, "tools/empty.mjs", "export const x = 1;\n");
    scene_put(&s, "tools/taken.mjs", "export default { name: 'bash', run() {} };\n");
    scene_put(&s, "tools/exits.mjs",
              "export default { name: 'exits', run() { process.exit(4); } };\n");
    scene_put(&s, "tools/node_modules/m.mjs", "throw new Error('never');\n");
    scene_put(&s, "tools/prog/tool.json", "{\"name\":\"prog\",\"command\":\"true\"}");
    scene_put(&s, "tools/prog/main.mjs", "throw new Error('never');\n");
    scene_put(&s, "tools/readme.txt", "x");
    load(&s, &toolset_loaf);
    check_names(&s, "prog add one two exits meta named ");
    static const char *const errors[] = {"broken.mjs: ", "empty.mjs: exports no tool",
                                         "taken.mjs: there is a tool called bash already"};
    check_errors(&s, errors, ARRAY_LEN(errors));
    check_call(&s, "add", "{\"a\":2}", "{\"sum\":3,\"ok2\":true}", "{\"sum\":3,\"ok2\":true}",
               false);
    check_call(&s, "meta", "{\"who\":\"you\"}", "hello you", "\"hello you\"", false);
    check_call(&s, "one", "{}", "no way", "{\"tool\":\"one\",\"status\":\"error\"}", true);
    check_call(&s, "two", "{}", "seven\n{\"code\":7}", "{\"code\":7}", true);
    check_call(&s, "named", "{}", "", "null", false);
    check_call(&s, "exits", "{}", "the tool ended without a result", NULL, true);
    assert_has(custom_find(s.cx.custom, STR("add"))->schema, "\"number\"");
    unload(&s);
}

static void test_nothing(void **state)
{
    (void)state;
    struct scene s;
    size_t n;
    scene_open(&s);
    load(&s, &toolset_loaf); /* the directory does not exist */
    check_names(&s, "");
    check_errors(&s, NULL, 0);
    custom_tools(NULL, &n);
    assert_int_equal(n, 0);
    unload(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manifests),       cmocka_unit_test(test_programs),
        cmocka_unit_test(test_errors_of_kward), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_javascript),      cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
