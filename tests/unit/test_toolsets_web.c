/* SPDX-License-Identifier: MIT */
/* Tools that reach out: search_web, the JavaScript tools and create_persistent_tool of loaf; the
 * gadgets of ScaiFlux; web_search and read_skill of Kward.  A normal call, a limit, an error each.
 * Numbers are sections of the protocol documents. */
#include "context/skill_store.h"
#include "tools/background.h"
#include "tools/js.h"
#include "tools/todo.h"
#include "toolsets/custom.h"
#include "web_scene.h"

#define LOAF &toolset_loaf
#define FLUX &toolset_scaiflux
#define KWARD &toolset_kward

/* The member of a result that is a JSON object. */
static struct str member(struct json *doc, const struct tool_result *r, const char *name)
{
    struct error err;
    json_clear(doc);
    if (!json_parse(buf_str(&r->value), 0, 64, doc, &err))
        fail_msg("%.*s: %s", STR_FMT(buf_str(&r->value)), err.text);
    return json_get_str(doc->root, name);
}

static void check_refused(struct scene *s, const char *tool, const char *json, const char *message)
{
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    assert_true(scene_call(s, LOAF, tool, json, &r));
    assert_true(str_is(member(&doc, &r, "status"), "invalid_input"));
    assert_string_equal(member(&doc, &r, "message").p, message);
    assert_string_equal(r.error.p, message);
    assert_true(r.is_error);
}

static void check_offered(const struct toolset *set, const char *name, const struct tool_cx *cx,
                          const char *const *gadgets, bool is_offered)
{
    assert_int_equal(tool_is_offered(toolset_find(set, str_of(name)), cx, gadgets), is_offered);
}

/* ---- loaf ---- */

static void test_loaf_search(void **state)
{
    (void)state;
    struct scene s;
    struct web web;
    if (!web_has_net())
        skip();
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf log = BUF_INIT;
    scene_open(&s);
    web_open(&web, &s);
    assert_true(scene_call(&s, LOAF, "search_web",
                           "{\"query\":\" cats \",\"type\":\"FAST\",\"num_results\":99,"
                           "\"include_text\":true,\"include_domains\":[\"a.org\"]}",
                           &r));
    assert_false(r.is_error);
    assert_true(str_is(member(&doc, &r, "status"), "ok"));
    assert_true(str_is(member(&doc, &r, "query"), "cats"));
    assert_true(str_is(member(&doc, &r, "request_id"), "rq-1"));
    assert_int_equal(json_get_int(doc.root, "num_results", 0), 25);
    assert_int_equal(json_get_int(doc.root, "total_results", 0), 2);
    yyjson_val *first = yyjson_arr_get(json_get(doc.root, "results"), 0);
    assert_int_equal(json_get_str(first, "text").n, 2000);
    assert_int_equal(json_str(yyjson_arr_get(json_get(first, "highlights"), 0)).n, 400);
    assert_true(str_is(json_get_str(first, "published_date"), "2026-01-02T00:00:00.000Z"));
    assert_non_null(json_get(first, "highlight_scores"));
    web_log(&web, &log);
    assert_has(buf_str(&log), "\"numResults\":25,\"contents\":{\"text\":true,\"highlights\":{");
    assert_has(buf_str(&log), "\"type\":\"fast\"");
    assert_has(buf_str(&log), "\"highlightsPerUrl\":3}},\"highlights\":{\"query\":\"cats\","
                              "\"numSentences\":2,\"highlightsPerUrl\":3},"
                              "\"includeDomains\":[\"a.org\"]}");
    tool_result_clear(&r);
    /* covers: providers 52 (the server sends two) */
    assert_true(scene_call(&s, LOAF, "search_web", "{\"query\":\"cats\",\"num_results\":1}", &r));
    member(&doc, &r, "status");
    assert_int_equal(yyjson_arr_size(json_get(doc.root, "results")), 1);
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "search_web", "{\"query\":\"odd\"}", &r));
    assert_false(r.is_error);
    member(&doc, &r, "status");
    assert_int_equal(json_get_int(doc.root, "total_results", 0), 1);
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "search_web", "{\"query\":\"refuse\"}", &r));
    assert_string_equal(r.error.p, "exa search failed (429): Slow down");
    assert_true(r.is_error && str_is(member(&doc, &r, "status"), "error"));
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "search_web", "{\"query\":\"broken\"}", &r));
    assert_has(buf_str(&r.error), "exa search failed: ");
    s.cx.search_key = STR("exa-bad");
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "search_web", "{\"query\":\"x\"}", &r));
    assert_string_equal(r.error.p, "exa search failed (401): Invalid API key");
    check_refused(&s, "search_web", "{}", "search_web requires a non-empty `query` string.");
    check_refused(&s, "search_web", "{\"query\":\"x\",\"include_domains\":[\"a.org\",5]}",
                  "search_web `include_domains[1]` must be a string");
    check_refused(&s, "search_web", "{\"query\":5}",
                  "search_web requires a non-empty `query` string.");
    s.cx.search_key = STR_NONE; /* covers: providers 51 (nobody is asked) */
    buf_reset(&log);
    web_log(&web, &log);
    size_t asked = log.n;
    check_refused(&s, "search_web", "{\"query\":\"x\"}",
                  "search_web unavailable: missing exa api key. run /onboarding to set one.");
    buf_reset(&log);
    web_log(&web, &log);
    assert_int_equal(log.n, asked);
    web_close(&web, &s);
    scene_close(&s);
}

static void test_loaf_js(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    s.cx.config_dir = str_of(s.dir);
    if (!js_is_there(&s.cx)) {
        scene_close(&s);
        skip();
    }
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    assert_true(scene_call(&s, LOAF, "run_js",
                           "{\"code\":\"console.log(process.argv.slice(2).join('+')); "
                           "console.error(process.cwd());\",\"args\":[\"a\",\"b c\"]}",
                           &r));
    assert_true(str_is(member(&doc, &r, "stdout"), "a+b c\n"));
    assert_has(json_get_str(doc.root, "stderr"), s.dir);
    assert_true(str_is(json_get_str(doc.root, "format"), "module"));
    assert_int_equal(json_get_int(doc.root, "exit_code", -1), 0);
    assert_has(json_get_str(doc.root, "scriptPath"), "/js-runtime/runs/run-");
    assert_false(path_exists(json_get_str(doc.root, "scriptPath")));
    assert_false(r.is_error);
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "run_js",
                           "{\"code\":\"require('fs'); process.exit(3)\",\"format\":\"cjs\","
                           "\"keep_script\":true}",
                           &r));
    assert_string_equal(r.error.p, "process failed (exit code 3)");
    assert_true(str_ends(member(&doc, &r, "scriptPath"), STR(".cjs")));
    assert_true(path_exists(json_get_str(doc.root, "scriptPath")));
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "run_js",
                           "{\"code\":\"setTimeout(() => {}, 60000)\",\"timeout_seconds\":1}", &r));
    assert_string_equal(r.error.p, "process timed out (no exit code)");
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "run_js", "{\"code\":\"1\",\"cwd\":\"/no/such/place\"}", &r));
    assert_string_equal(r.error.p, "process failed (no exit code)");
    check_refused(&s, "run_js", "{}", "run_js requires a non-empty `code` string.");
    check_refused(&s, "run_js", "{\"code\":\" \"}", "run_js requires a non-empty `code` string.");
    check_refused(&s, "run_js", "{\"code\":\"1\",\"runtime\":\"deno\"}",
                  "run_js `runtime` is not installed.");
    check_refused(&s, "run_js", "{\"code\":\"1\",\"args\":[1]}",
                  "run_js `args[0]` must be a string");
    scene_close(&s);
}

/* Package managers are played by a script that prints its arguments. */
static void test_loaf_packages(void **state)
{
    (void)state;
    struct scene s;
    char path[8300];
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    scene_open(&s);
    snprintf(path, sizeof path, "PATH=%s/bin:/usr/bin:/bin", s.dir);
    const char *const env[] = {path, NULL};
    s.cx.env = env;
    scene_put(&s, "bin/pnpm", "#!/bin/sh\necho pnpm \"$@\"\n");
    assert_int_equal(chmod(scene_path(&s, "bin/pnpm"), 0755), 0);
    assert_true(scene_call(&s, LOAF, "install_js_packages",
                           "{\"packages\":[\"a\",\"b@1\"],\"dev\":true,\"args\":[\"--offline\"],"
                           "\"package_manager\":\"pnpm\"}",
                           &r));
    assert_true(str_is(member(&doc, &r, "stdout"), "pnpm add -D a b@1 --offline\n"));
    assert_true(str_is(json_get_str(doc.root, "package_manager"), "pnpm"));
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "run_js_module",
                           "{\"module\":\"cowsay\",\"args\":[\"hi\"],"
                           "\"package_manager\":\"pnpm\"}",
                           &r));
    assert_true(str_is(member(&doc, &r, "stdout"), "pnpm dlx cowsay hi\n"));
    check_refused(&s, "run_js_module", "{\"module\":\"--evil\"}",
                  "run_js_module requires a non-empty `module` string.");
    check_refused(&s, "run_js_module", "{\"module\":\"x\",\"package_manager\":\"cargo\"}",
                  "run_js_module `package_manager` is not installed.");
    check_refused(&s, "install_js_packages", "{\"packages\":[]}",
                  "install_js_packages requires at least one package name in `packages`.");
    check_refused(&s, "install_js_packages", "{\"packages\":[\"-g\"]}",
                  "install_js_packages `packages` must be a list of package names.");
    const char *const bare[] = {"PATH=/nowhere", NULL};
    s.cx.env = bare;
    check_offered(LOAF, "run_js", &s.cx, NULL, false);
    check_offered(LOAF, "run_js_module", &s.cx, NULL, false);
    check_offered(LOAF, "create_persistent_tool", &s.cx, NULL, false);
    check_offered(LOAF, "search_web", &s.cx, NULL, true); /* even without a key */
    scene_close(&s);
}

static void test_loaf_persist(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    s.cx.config_dir = str_of(s.dir);
    if (!js_is_there(&s.cx)) {
        scene_close(&s);
        skip();
    }
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    s.cx.custom = custom_new(str_of(scene_path(&s, "tools")));
    static const char json[] =
        "{\"name\":\"twice\",\"description\":\"Doubles.\",\"handler_code\":\"return input.n * 2;\","
        "\"args_schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}}";
    assert_true(scene_call(&s, LOAF, "create_persistent_tool", json, &r));
    assert_false(r.is_error);
    assert_true(str_is(member(&doc, &r, "tool_name"), "twice"));
    assert_true(path_exists(json_get_str(doc.root, "path")));
    const struct tool *f = custom_find(s.cx.custom, STR("twice"));
    assert_non_null(f);
    AUTO(tool_result) struct tool_result called = TOOL_RESULT_INIT;
    struct scene_call c = {.scene = &s, .tool = f, .ret = &called, .args = &s};
    s.cx.self = f->self;
    s.cx.arguments = STR("{\"n\":21}");
    scene_run(&s, scene_call_fiber, &c);
    assert_string_equal(called.text.p, "42");
    AUTO(buf) struct buf exists = BUF_INIT;
    buf_addf(&exists,
             "tool file already exists: %s/tools/twice.mjs. set overwrite=true to replace.", s.dir);
    check_refused(&s, "create_persistent_tool", json, exists.p);
    check_refused(&s, "create_persistent_tool",
                  "{\"name\":\"twice\",\"description\":\"d\",\"handler_code\":\"1\","
                  "\"filename\":\"other\"}",
                  "tool already registered: twice. set overwrite=true to replace.");
    tool_result_clear(&r);
    assert_true(
        scene_call(&s, LOAF, "create_persistent_tool",
                   "{\"name\":\"twice\",\"description\":\"d\",\"handler_code\":\"return 1\","
                   "\"overwrite\":true}",
                   &r));
    member(&doc, &r, "status");
    assert_true(json_get_bool(doc.root, "overwritten", false));
    check_refused(&s, "create_persistent_tool",
                  "{\"name\":\"bash\",\"description\":\"d\",\"handler_code\":\"1\"}",
                  "cannot overwrite built-in tool: bash");
    check_refused(&s, "create_persistent_tool",
                  "{\"name\":\"a b\",\"description\":\"d\",\"handler_code\":\"1\"}",
                  "create_persistent_tool requires a valid `name` matching [a-zA-Z0-9_.:-]+.");
    check_refused(&s, "create_persistent_tool",
                  "{\"name\":\"x\",\"description\":\"d\",\"handler_code\":\"1\","
                  "\"filename\":\"../x\"}",
                  "invalid `filename` (use letters, numbers, ., _, - and .js/.mjs/.cjs).");
    check_refused(
        &s, "create_persistent_tool",
        "{\"name\":\"x\",\"description\":\"d\",\"handler_code\":\"1\","
        "\"args_schema\":{}}",
        "`args_schema` must be an object schema with `type: \"object\"` and `properties`.");
    check_refused(&s, "create_persistent_tool", "{\"name\":\"x\"}",
                  "create_persistent_tool requires a non-empty `description`.");
    tool_result_clear(&r);
    assert_true(scene_call(&s, LOAF, "create_persistent_tool",
                           "{\"name\":\"bad\",\"description\":\"d\",\"handler_code\":\"return (\"}",
                           &r));
    assert_has(buf_str(&r.error), "tool file written, but autoload failed: ");
    custom_free(s.cx.custom);
    scene_close(&s);
}

/* Calls a tool and takes its output apart. */
static yyjson_val *call(struct scene *s, const char *tool, const char *json, struct json *doc,
                        struct tool_result *r)
{
    tool_result_clear(r);
    assert_true(scene_call(s, LOAF, tool, json, r));
    member(doc, r, "status");
    return doc->root;
}

static void test_loaf_js_jobs(void **state) /* loaf 185-190 */
{
    (void)state;
    struct scene s;
    scene_open(&s);
    s.cx.config_dir = str_of(s.dir);
    if (!js_is_there(&s.cx)) {
        scene_close(&s);
        skip();
    }
    s.cx.background = background_new(s.loop);
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf out = BUF_INIT, script = BUF_INIT;
    char id[80], json[400];
    yyjson_val *v = call(&s, "start_background_js",
                         "{\"code\":\"process.stdin.on('data', (d) => console.log('got ' + d + "
                         "process.argv[2])); console.log('up')\",\"args\":[\"it's\"],"
                         "\"session_name\":\"srv\"}",
                         &doc, &r);
    assert_true(str_is(json_get_str(v, "status"), "started"));
    assert_false(str_starts(json_get_str(v, "session_id"), STR("bg-bash-")));
    snprintf(id, sizeof id, "%.*s", STR_FMT(json_get_str(v, "session_id")));
    buf_add(&script, json_get_str(v, "scriptPath"));
    assert_has(buf_str(&script), "/js-runtime/background/");
    v = call(&s, "start_background_js", "{\"code\":\"1\",\"session_name\":\"srv\"}", &doc, &r);
    assert_true(str_is(json_get_str(v, "status"), "reused"));
    snprintf(json, sizeof json, "{\"session_id\":\"%s\",\"input\":\"x\"}", id);
    v = call(&s, "write_background_js", json, &doc, &r);
    assert_int_equal(json_get_int(v, "bytes_written", 0), 2);
    snprintf(json, sizeof json, "{\"session_id\":\"%s\"}", id);
    for (int i = 0; i < 1000 && str_find(buf_str(&out), STR("it's")) == SIZE_MAX; i++) {
        usleep(10000);
        loop_step(s.loop, false);
        v = call(&s, "read_background_js", json, &doc, &r);
        buf_add(&out, json_get_str(v, "stdout"));
    }
    assert_string_equal(out.p, "up\ngot x\nit's\n");
    v = call(&s, "list_background_js", "{}", &doc, &r);
    assert_int_equal(json_get_int(v, "count", 0), 1);
    v = call(&s, "list_background_bash", "{}", &doc, &r); /* not one of those */
    assert_int_equal(json_get_int(v, "count", 9), 0);
    check_refused(&s, "read_background_bash", json,
                  "read_background_bash requires a valid `session_id`.");
    check_refused(&s, "read_background_js", "{\"session_id\":\"bg-1-2\"}",
                  "read_background_js requires a valid `session_id`.");
    check_refused(&s, "write_background_js", json,
                  "write_background_js requires `input` as a string.");
    v = call(&s, "stop_background_js", json, &doc, &r);
    assert_true(str_is(json_get_str(v, "status"), "stop_requested"));
    check_refused(&s, "start_background_js", "{}",
                  "start_background_js requires a non-empty `code` string.");
    check_refused(&s, "start_background_js", "{\"code\":\"1\",\"args\":[1]}",
                  "start_background_js `args[0]` must be a string");
    v = call(&s, "start_background_js", "{\"code\":\"1\",\"cwd\":\"/no/place\"}", &doc, &r);
    assert_true(r.is_error && str_is(json_get_str(v, "status"), "error"));
    background_free(s.cx.background);
    scene_close(&s);
}

/* ---- ScaiFlux ---- */

static void test_scaiflux_web(void **state) /* scaiflux 73-103 */
{
    (void)state;
    struct scene s;
    struct web web;
    if (!web_has_net())
        skip();
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf json = BUF_INIT, want = BUF_INIT;
    scene_open(&s);
    web_open(&web, &s);
    buf_addf(&json, "{\"url\":\"%s/page\",\"prompt\":\"what\"}", web.root);
    buf_addf(&want, "%s/page\nA & B\n\n# Head\n", web.root);
    assert_true(scene_call(&s, FLUX, "WebFetch", json.p, &r));
    assert_false(r.is_error);
    assert_true(str_starts(buf_str(&r.text), buf_str(&want)));
    buf_reset(&json);
    buf_addf(&json, "{\"url\":\"%s/wide\",\"prompt\":\"\"}", web.root);
    tool_result_clear(&r);
    assert_true(scene_call(&s, FLUX, "WebFetch", json.p, &r));
    assert_has(buf_str(&r.text), "only its first 102400 bytes are shown]");
    buf_reset(&json);
    buf_addf(&json, "{\"url\":\"%s/missing\",\"prompt\":\"\"}", web.root);
    tool_result_clear(&r);
    assert_true(scene_call(&s, FLUX, "WebFetch", json.p, &r));
    assert_has(buf_str(&r.text), "status 404\n");
    assert_true(r.is_error);
    assert_call_fails(&s, FLUX, "WebFetch", "{\"url\":\"file:///etc/passwd\",\"prompt\":\"\"}",
                      "cannot fetch file:///etc/passwd: the address must begin with http:// or "
                      "https://");
    assert_call_fails(&s, FLUX, "WebFetch", "{\"url\":\"http://e.org\"}",
                      "invalid arguments for WebFetch: `prompt` is missing");
    assert_call(&s, FLUX, "WebSearch", "{\"query\":\"odd\"}",
                "1. https://ok.example\n   https://ok.example\n   - fine\n");
    assert_call_fails(&s, FLUX, "WebSearch", "{\"query\":\"refuse\"}",
                      "the search failed: Slow down");
    assert_call_fails(&s, FLUX, "WebSearch", "{\"query\":\"x\",\"allowed_domains\":[1]}",
                      "invalid arguments for WebSearch: `allowed_domains[0]` must be a string");
    s.cx.search_key = STR_NONE;
    assert_call_fails(&s, FLUX, "WebSearch", "{\"query\":\"x\"}",
                      "the search failed: no API key for Exa; set EXA_API_KEY");
    web_close(&web, &s);
    scene_close(&s);
}

static void test_scaiflux_todo(void **state)
{
    (void)state;
    struct scene s;
    AUTO(todo_list) struct todo_list todos = TODO_LIST_INIT;
    scene_open(&s);
    s.cx.todos = &todos;
    assert_call(&s, FLUX, "TodoWrite",
                "{\"todos\":[{\"content\":\"a\",\"activeForm\":\"doing a\",\"status\":"
                "\"in_progress\"},{\"content\":\"b\",\"activeForm\":\"doing b\",\"status\":"
                "\"pending\"}]}",
                "1 to do, 1 in progress, 0 done\n[~] doing a\n[ ] b\n");
    assert_call_fails(&s, FLUX, "TodoWrite", "{\"todos\":[{\"content\":\"a\"}]}",
                      "invalid arguments for TodoWrite: `todos[0].activeForm` is missing");
    assert_int_equal(todos.n, 2);
    assert_call(&s, FLUX, "TodoWrite", "{\"todos\":[]}", "0 to do, 0 in progress, 0 done\n");
    scene_close(&s);
}

static void test_scaiflux_skill(void **state)
{
    (void)state;
    struct scene s;
    AUTO(buf) struct buf want = BUF_INIT;
    scene_open(&s);
    s.cx.skills = skill_store_new(s.loop);
    check_offered(FLUX, "Skill", &s.cx, (const char *const[]){"skills", NULL}, false);
    scene_put(&s, ".agents/skills/deploy/SKILL.md", "# How\nPush.\n");
    buf_addf(&want,
             "Skill deploy; its files lie in %s/.agents/skills/deploy\nApply it to: staging\n\n"
             "# How\nPush.\n",
             s.dir);
    assert_call(&s, FLUX, "Skill", "{\"skill\":\"deploy\",\"args\":\"staging\"}", want.p);
    assert_call_fails(&s, FLUX, "Skill", "{\"skill\":\"none\"}", "unknown skill: none");
    check_offered(FLUX, "Skill", &s.cx, (const char *const[]){"skills", NULL}, true);
    check_offered(FLUX, "Skill", &s.cx, NULL, false);
    check_offered(FLUX, "WebFetch", &s.cx, (const char *const[]){"todo", NULL}, false);
    check_offered(FLUX, "TodoWrite", &s.cx, (const char *const[]){"todo", NULL}, true);
    check_offered(FLUX, "bash", &s.cx, NULL, true);
    skill_store_free(s.cx.skills);
    scene_close(&s);
}

/* ---- Kward ---- */

static void test_kward_search(void **state) /* kward 309-317 */
{
    (void)state;
    struct scene s;
    struct web web;
    if (!web_has_net())
        skip();
    AUTO(buf) struct buf log = BUF_INIT;
    scene_open(&s);
    web_open(&web, &s);
    assert_call(&s, KWARD, "web_search",
                "{\"queries\":[\"odd\",\"odd\"],\"max_results\":3,\"recency_filter\":\"week\","
                "\"domain_filter\":[\"a.org\",\"-b.org\"]}",
                "Results for: odd\n\n1. https://ok.example\n   https://ok.example\n   - fine\n\n"
                "Results for: odd\n\n1. https://ok.example\n   https://ok.example\n   - fine\n");
    web_log(&web, &log);
    assert_has(buf_str(&log), "\"numResults\":3");
    assert_has(buf_str(&log), "\"includeDomains\":[\"a.org\"],\"excludeDomains\":[\"b.org\"],"
                              "\"startPublishedDate\":\"2");
    assert_call_fails(&s, KWARD, "web_search", "{}", "Error: queries is required");
    assert_call_fails(&s, KWARD, "web_search", "{\"queries\":[]}",
                      "Error: `queries` must be a list of at least 1 items");
    assert_call_fails(&s, KWARD, "web_search", "{\"queries\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}",
                      "Error: `queries` must have at most 4 items");
    assert_call_fails(&s, KWARD, "web_search", "{\"queries\":[\" \"]}",
                      "Error: queries[0] is required");
    assert_call_fails(&s, KWARD, "web_search", "{\"queries\":[\"x\"],\"max_results\":0}",
                      "Error: `max_results` must be at least 1");
    assert_call_fails(&s, KWARD, "web_search", "{\"queries\":[\"x\"],\"provider\":\"ask\"}",
                      "Error: `provider` must be one of auto, exa");
    assert_call_fails(&s, KWARD, "web_search", "{\"queries\":[\"refuse\"]}",
                      "Error: web search failed: Slow down");
    web_close(&web, &s);
    scene_close(&s);
}

static void test_kward_skill(void **state) /* kward 309-317 */
{
    (void)state;
    struct scene s;
    AUTO(buf) struct buf big = BUF_INIT;
    scene_open(&s);
    s.cx.config_dir = str_of(s.dir);
    s.cx.skills = skill_store_new(s.loop);
    check_offered(KWARD, "read_skill", &s.cx, NULL, false);
    scene_put(&s, "skills/x/SKILL.md", "---\nname: deploy\n---\nPush.\n");
    scene_put(&s, "skills/x/more.md", "More.\n");
    for (int i = 0; i < 100001; i++)
        buf_addc(&big, 'x');
    scene_put_bytes(&s, "skills/x/big.md", buf_str(&big));
    assert_call(&s, KWARD, "read_skill", "{\"name\":\"deploy\"}",
                "---\nname: deploy\n---\nPush.\n");
    check_offered(KWARD, "read_skill", &s.cx, NULL, true);
    assert_call(&s, KWARD, "read_skill", "{\"name\":\"deploy\",\"path\":\"more.md\"}", "More.\n");
    assert_call_fails(&s, KWARD, "read_skill", "{}", "Error: name is required");
    assert_call_fails(&s, KWARD, "read_skill", "{\"name\":\"x\"}", "Error: unknown skill: x");
    assert_call_fails(&s, KWARD, "read_skill", "{\"name\":\"deploy\",\"path\":\"/etc/passwd\"}",
                      "Error: path must be relative to the skill: /etc/passwd");
    assert_call_fails(&s, KWARD, "read_skill", "{\"name\":\"deploy\",\"path\":\"../y\"}",
                      "Error: path outside of the skill: ../y");
    assert_call_fails(&s, KWARD, "read_skill", "{\"name\":\"deploy\",\"path\":\"none\"}",
                      "Error: skill file not found: none");
    assert_call_fails(&s, KWARD, "read_skill", "{\"name\":\"deploy\",\"path\":\"big.md\"}",
                      "Error: skill file too large: big.md is 100001 bytes; limit is 100000");
    skill_store_free(s.cx.skills);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaf_search),   cmocka_unit_test(test_loaf_js),
        cmocka_unit_test(test_loaf_packages), cmocka_unit_test(test_loaf_persist),
        cmocka_unit_test(test_loaf_js_jobs),  cmocka_unit_test(test_scaiflux_web),
        cmocka_unit_test(test_scaiflux_todo), cmocka_unit_test(test_scaiflux_skill),
        cmocka_unit_test(test_kward_search),  cmocka_unit_test(test_kward_skill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
