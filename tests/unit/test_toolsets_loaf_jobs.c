/* SPDX-License-Identifier: MIT */
/* loaf's background shells (loaf 185-190): every tool with a normal call, its limits, its errors.
 * Checklist items 189 and 190. */
#include "tool_scene.h"

#include "base/time.h"
#include "tools/background.h"

#include <signal.h>

#define LOAF &toolset_loaf

struct talk {
    struct scene s;
    struct tool_result r;
    struct json doc;
    char id[80]; /* of the job that was started last */
};

static void talk_open(struct talk *t)
{
    *t = (struct talk){0};
    scene_open(&t->s);
    t->s.cx.shell = &t->s.shell;
    t->s.cx.background = background_new(t->s.loop);
}

static void talk_close(struct talk *t)
{
    background_free(t->s.cx.background);
    tool_result_clear(&t->r);
    json_clear(&t->doc);
    scene_close(&t->s);
}

/* Calls a tool; its output. */
static yyjson_val *call(struct talk *t, const char *name, const char *json)
{
    struct error err;
    tool_result_clear(&t->r);
    json_clear(&t->doc);
    assert_true(scene_call(&t->s, LOAF, name, json, &t->r));
    if (!json_parse(buf_str(&t->r.value), 0, 16, &t->doc, &err))
        fail_msg("%s: %.*s", err.text, STR_FMT(buf_str(&t->r.value)));
    assert_true(str_eq(buf_str(&t->r.text), buf_str(&t->r.value)));
    assert_int_equal(t->r.is_error, t->r.error.n > 0);
    return t->doc.root;
}

/* The same for the job that was started last; args are further members with a comma before. */
static yyjson_val *call_job(struct talk *t, const char *name, const char *args)
{
    char json[2000];
    snprintf(json, sizeof json, "{\"session_id\":\"%s\"%s}", t->id, args);
    return call(t, name, json);
}

static void assert_str(yyjson_val *v, const char *name, const char *want)
{
    struct str s = json_get_str(v, name);
    if (!str_is(s, want))
        fail_msg("%s is `%.*s`, not `%s`", name, STR_FMT(s), want);
}

static yyjson_val *start(struct talk *t, const char *json)
{
    yyjson_val *v = call(t, "bash", json);
    if (t->r.is_error)
        fail_msg("%s", t->r.error.p);
    snprintf(t->id, sizeof t->id, "%.*s", STR_FMT(json_get_str(v, "session_id")));
    return v;
}

/* Peeks until stdout ends with the words. */
static yyjson_val *hear(struct talk *t, const char *words)
{
    int64_t end = time_mono_us() + 20000000;
    for (;;) {
        yyjson_val *v = call_job(t, "read_background_bash", ",\"peek\":true,\"max_chars\":120000");
        struct str out = json_get_str(v, "stdout");
        if (str_ends(out, str_of(words)))
            return v;
        if (time_mono_us() > end)
            fail_msg("`%s` did not come: `%.*s`", words, STR_FMT(out));
        usleep(1000);
        loop_step(t->s.loop, false);
    }
}

static void await_end(struct talk *t)
{
    struct background_job *j = background_find(t->s.cx.background, str_of(t->id));
    while (j->is_running)
        loop_step(t->s.loop, true);
}

static void assert_refused(struct talk *t, const char *name, const char *json, const char *message)
{
    yyjson_val *v = call(t, name, json);
    assert_str(v, "status", "invalid_input");
    assert_str(v, "message", message);
    assert_string_equal(t->r.error.p, message);
}

static void test_started(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    yyjson_val *v = start(&t, "{\"command\":\"sleep 1000\",\"run_in_background\":true}");
    static const char *const members[] = {
        "status",        "session_id",    "session_name",    "mode",         "shell",
        "shell_command", "shell_args",    "command",         "pid",          "cwd",
        "created_at",    "updated_at",    "session_updated", "cwd_before",   "cwd_after",
        "transport",     "full_terminal", "terminal_cols",   "terminal_rows"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (!json_get(v, members[i]))
            fail_msg("%s is missing", members[i]);
    assert_int_equal(yyjson_obj_size(v), ARRAY_LEN(members));
    assert_str(v, "status", "started");
    assert_true(str_starts(json_get_str(v, "session_id"), STR("bg-bash-1")));
    assert_str(v, "session_name", "background-bash");
    assert_str(v, "command", "sleep 1000");
    assert_str(v, "cwd", t.s.dir);
    assert_str(v, "transport", "pty");
    assert_true(json_get_bool(v, "full_terminal", false));
    assert_int_equal(json_get_int(v, "terminal_cols", 0), 120);
    assert_int_equal(json_get_int(v, "terminal_rows", 0), 36);
    assert_int_equal(kill((pid_t)json_get_int(v, "pid", -1), 0), 0);
    int64_t ms;
    assert_true(time_from_iso(json_get_str(v, "created_at"), &ms));

    v = start(&t, "{\"command\":\"stty size; echo $TERM; sleep 1000\",\"run_in_background\":true,"
                  "\"session_name\":\" small \",\"terminal_cols\":1,\"terminal_rows\":1}");
    assert_str(v, "session_name", "small");
    assert_int_equal(json_get_int(v, "terminal_cols", 0), 40);
    assert_int_equal(json_get_int(v, "terminal_rows", 0), 10);
    hear(&t, "10 40\nxterm-color\n");
    v = start(&t, "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"terminal_cols\":1e9,"
                  "\"terminal_rows\":1e9}");
    assert_int_equal(json_get_int(v, "terminal_cols", 0), 400);
    assert_int_equal(json_get_int(v, "terminal_rows", 0), 200);
    v = start(&t,
              "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"full_terminal\":false}");
    assert_str(v, "transport", "pipe");
    assert_false(json_get_bool(v, "full_terminal", true));
    assert_true(yyjson_is_null(json_get(v, "terminal_cols")));
    talk_close(&t);
}

static void test_directory_and_variables(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    assert_int_equal(mkdir(scene_path(&t.s, "sub"), 0755), 0);
    yyjson_val *v = start(&t, "{\"command\":\"pwd; echo $COLOUR; sleep 1000\",\"cwd\":\"sub\","
                              "\"run_in_background\":true,\"env\":{\"COLOUR\":\"red\"}}");
    assert_str(v, "cwd", scene_path(&t.s, "sub"));
    assert_str(v, "cwd_after", scene_path(&t.s, "sub"));
    char want[9000];
    snprintf(want, sizeof want, "%s\nred\n", scene_path(&t.s, "sub"));
    hear(&t, want);
    /* They are the base of what follows. */
    v = call(&t, "bash", "{\"command\":\"printf \\\"$PWD\\n$COLOUR\\n.\\\"\"}");
    assert_true(str_starts(json_get_str(v, "stdout"), str_of(want)));
    v = call(&t, "bash", "{\"command\":\"true\",\"run_in_background\":true,\"cwd\":\"/no/such\"}");
    assert_str(v, "status", "error");
    assert_string_equal(t.r.error.p, "no such directory: /no/such");
    v = call(&t, "bash", "{\"command\":\"printf $PWD\"}");
    assert_str(v, "stdout", scene_path(&t.s, "sub"));
    talk_close(&t);
}

static void test_reused(void **state) /* 190 */
{
    (void)state;
    struct talk t;
    talk_open(&t);
    const char *named = "{\"command\":\"sleep 1000\",\"run_in_background\":true,"
                        "\"session_name\":\"web\"}";
    char first[80];
    start(&t, named);
    strcpy(first, t.id);
    yyjson_val *v = start(&t, "{\"command\":\"echo other\",\"run_in_background\":true,"
                              "\"session_name\":\"web\"}");
    assert_str(v, "status", "reused");
    assert_str(v, "session_id", first);
    assert_str(v, "command", "sleep 1000");
    static const char *const others[] = {
        /* another directory, terminal, name; not wanted */
        "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"session_name\":\"web\","
        "\"cwd\":\"/\"}",
        "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"session_name\":\"web\","
        "\"full_terminal\":false,\"reset_session\":true}",
        "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"session_name\":\"wet\"}",
        "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"session_name\":\"web\","
        "\"reuse_session\":false}",
        "{\"command\":\"sleep 1000\",\"run_in_background\":true}",
        "{\"command\":\"sleep 1000\",\"run_in_background\":true}"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        v = start(&t, others[i]);
        assert_str(v, "status", "started");
    }
    v = call(&t, "list_background_bash", "{}");
    assert_int_equal(json_get_int(v, "count", 0), 7);
    for (size_t i = 0; i < 2; i++) { /* an ended one is not taken: the newest, then the first */
        v = start(&t, named);
        assert_str(v, "status", "reused");
        v = call_job(&t, "stop_background_bash", ",\"force\":true");
        await_end(&t);
    }
    v = start(&t, named);
    assert_str(v, "status", "started");
    talk_close(&t);
}

static void test_read(void **state) /* 189 */
{
    (void)state;
    struct talk t;
    talk_open(&t);
    start(&t, "{\"command\":\"printf no >&2; printf 'one\\\\ntwo\\\\n'; read x; printf '%s\\\\n' "
              "\\\"\\u001b[1m$x\\u001b[0m\\\"; exit 4\",\"run_in_background\":true,"
              "\"full_terminal\":false}");
    hear(&t, "two\n");
    yyjson_val *v = call_job(&t, "read_background_bash", ",\"max_chars\":4");
    assert_str(v, "status", "ok");
    assert_str(v, "session_name", "background-bash");
    assert_str(v, "stdout", "one\n");
    assert_str(v, "stderr", "no");
    assert_int_equal(json_get_int(v, "stdout_cursor", 0), 4);
    assert_int_equal(json_get_int(v, "stderr_cursor", 0), 2);
    assert_true(json_get_bool(v, "stdout_has_more", false));
    assert_false(json_get_bool(v, "stderr_has_more", true));
    assert_false(json_get_bool(v, "stdout_dropped", true));
    assert_true(json_get_bool(v, "running", false));
    assert_true(yyjson_is_null(json_get(v, "exit_code")));
    assert_true(yyjson_is_null(json_get(v, "signal")));
    v = call_job(&t, "read_background_bash", ",\"stream\":\"stderr\"");
    assert_str(v, "stdout", "");
    assert_true(json_get_bool(v, "stdout_has_more", false));
    v = call_job(&t, "read_background_bash", ",\"stream\":\"stdout\",\"max_chars\":-5");
    assert_str(v, "stdout", "t");
    v = call_job(&t, "read_background_bash", "");
    assert_str(v, "stdout", "wo\n");
    v = call_job(&t, "write_background_bash", ",\"input\":\"loud\"");
    assert_str(v, "status", "ok");
    assert_int_equal(json_get_int(v, "bytes_written", 0), 5);
    assert_str(v, "transport", "pipe");
    await_end(&t);
    v = call_job(&t, "read_background_bash", "");
    assert_str(v, "stdout", "loud\n"); /* plain */
    assert_false(json_get_bool(v, "running", true));
    assert_int_equal(json_get_int(v, "exit_code", 0), 4);
    talk_close(&t);
}

static void test_read_limits(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    start(&t, "{\"command\":\"head -c 400000 /dev/zero | tr '\\\\0' x\",\"run_in_background\":true,"
              "\"full_terminal\":false}");
    await_end(&t);
    yyjson_val *v = call(&t, "list_background_bash", "{\"include_exited\":true}");
    v = yyjson_arr_get_first(json_get(v, "sessions"));
    assert_int_equal(json_get_int(v, "unread_stdout_chars", 0), 300000);
    v = call_job(&t, "read_background_bash", "");
    assert_int_equal(json_get_str(v, "stdout").n, 8000);
    assert_int_equal(json_get_int(v, "stdout_cursor", 0), 108000);
    assert_true(json_get_bool(v, "stdout_dropped", false));
    v = call_job(&t, "read_background_bash", ",\"max_chars\":1e9");
    assert_int_equal(json_get_str(v, "stdout").n, 120000);
    assert_false(json_get_bool(v, "stdout_dropped", true));
    talk_close(&t);
}

static void test_terminal(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    /* A shell that waits for a child which does not mind ctrl+c does not mind it either. */
    start(&t, "{\"command\":\"trap 'stty size; echo set; exec sleep 1000' WINCH; echo out; "
              "echo err >&2; while :; do sleep 0.02; done\",\"run_in_background\":true}");
    yyjson_val *v = hear(&t, "out\nerr\n"); /* both on stdout, CRLF gone */
    assert_str(v, "stderr", "");
    v = call_job(&t, "resize_background_bash", ",\"cols\":100,\"rows\":3");
    assert_str(v, "status", "ok");
    assert_int_equal(json_get_int(v, "terminal_cols", 0), 100);
    assert_int_equal(json_get_int(v, "terminal_rows", 0), 10);
    hear(&t, "10 100\nset\n");
    v = call_job(&t, "write_background_bash", ",\"key\":\"Ctrl+C\",\"input\":\"x\"");
    assert_int_equal(json_get_int(v, "bytes_written", 0), 1);
    assert_str(v, "transport", "pty");
    await_end(&t);
    v = call_job(&t, "read_background_bash", "");
    assert_str(v, "signal", "SIGINT");
    v = call_job(&t, "resize_background_bash", ",\"cols\":100,\"rows\":50");
    assert_str(v, "status", "not_running");
    v = call_job(&t, "write_background_bash", ",\"input\":\"x\"");
    assert_str(v, "status", "not_running");
    assert_str(v, "signal", "SIGINT");
    assert_int_equal(json_get_int(v, "bytes_written", 9), 0);
    assert_true(t.r.is_error);
    talk_close(&t);
}

static void test_keys(void **state)
{
    (void)state;
    static const struct {
        const char *args, *hex;
    } keys[] = {
        {",\"key\":\"enter\"", "0d"},
        {",\"key\":\"tab\"", "09"},
        {",\"key\":\"esc\"", "1b"},
        {",\"key\":\"up\"", "1b5b41"},
        {",\"key\":\"down\"", "1b5b42"},
        {",\"key\":\"right\"", "1b5b43"},
        {",\"key\":\"left\"", "1b5b44"},
        {",\"key\":\"home\"", "1b5b48"},
        {",\"key\":\"end\"", "1b5b46"},
        {",\"key\":\"pgup\"", "1b5b357e"},
        {",\"key\":\"pgdown\"", "1b5b367e"},
        {",\"key\":\"backspace\"", "7f"},
        {",\"key\":\"delete\"", "1b5b337e"},
        {",\"key\":\"ctrl+c\"", "03"},
        {",\"key\":\"ctrl+d\"", "04"},
        {",\"key\":\"ctrl+z\",\"repeat\":0", "1a"},
        {",\"key\":\"up\",\"repeat\":2", "1b5b411b5b41"},
        {",\"input\":\"a\"", "610a"},
        {",\"input\":\"b\",\"append_newline\":false", "62"},
        {",\"key\":\"tab\",\"repeat\":1000", NULL},
    };
    struct talk t;
    AUTO(buf) struct buf want = BUF_INIT;
    talk_open(&t);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        buf_addz(&want, keys[i].hex ? keys[i].hex : "");
    for (int i = 0; i < 100; i++)
        buf_addz(&want, "09");
    char json[300];
    snprintf(json, sizeof json,
             "{\"command\":\"stty raw -echo; echo ready; head -c %zu | od -An -v "
             "-tx1 | tr -d ' \\\\n'; sleep 1000\",\"run_in_background\":true}",
             want.n / 2);
    start(&t, json);
    hear(&t, "ready\n");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        yyjson_val *v = call_job(&t, "write_background_bash", keys[i].args);
        size_t n = keys[i].hex ? strlen(keys[i].hex) / 2 : 100;
        assert_int_equal(json_get_int(v, "bytes_written", 0), n);
    }
    hear(&t, want.p);
    talk_close(&t);
}

static void test_enter_in_a_pipe(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    start(&t, "{\"command\":\"read x; echo \\\"<$x>\\\"\",\"run_in_background\":true,"
              "\"full_terminal\":false}");
    call_job(&t, "write_background_bash", ",\"input\":\"y\",\"append_newline\":false");
    call_job(&t, "write_background_bash", ",\"key\":\"enter\"");
    hear(&t, "<y>\n");
    talk_close(&t);
}

static void test_stop(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    start(&t, "{\"command\":\"trap '' TERM; echo go; while :; do sleep 0.02; done\","
              "\"run_in_background\":true}");
    hear(&t, "go\n");
    yyjson_val *v = call_job(&t, "stop_background_bash", "");
    assert_str(v, "status", "stop_requested");
    assert_str(v, "signal", "SIGTERM");
    assert_true(json_get_bool(v, "running", false));
    assert_true(yyjson_is_null(json_get(v, "exit_code")));
    v = call_job(&t, "stop_background_bash", ",\"force\":true");
    assert_str(v, "status", "stop_requested");
    assert_str(v, "signal", "SIGKILL");
    await_end(&t);
    v = call_job(&t, "stop_background_bash", "");
    assert_str(v, "status", "already_stopped");
    assert_str(v, "signal", "SIGKILL");
    assert_false(t.r.is_error);
    start(&t, "{\"command\":\"trap 'exit 6' TERM; echo go; while :; do sleep 0.02; done\","
              "\"run_in_background\":true}");
    hear(&t, "go\n");
    v = call_job(&t, "stop_background_bash", "");
    assert_str(v, "status", "stop_requested");
    await_end(&t);
    v = call_job(&t, "stop_background_bash", "");
    assert_int_equal(json_get_int(v, "exit_code", 0), 6);
    talk_close(&t);
}

static void test_list(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    yyjson_val *v = call(&t, "list_background_bash", "{}");
    assert_int_equal(json_get_int(v, "count", 9), 0);
    assert_str(v, "status", "ok");
    start(&t, "{\"command\":\"exit 0\",\"run_in_background\":true,\"session_name\":\"a\"}");
    await_end(&t);
    start(&t, "{\"command\":\"echo hi; sleep 1000\",\"run_in_background\":true,"
              "\"session_name\":\"b\"}");
    hear(&t, "hi\n");
    start(&t, "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"session_name\":\"c\","
              "\"full_terminal\":false}");
    v = call(&t, "list_background_bash", "{}");
    assert_int_equal(json_get_int(v, "count", 0), 2);
    yyjson_val *item = yyjson_arr_get(json_get(v, "sessions"), 0);
    assert_str(item, "session_name", "c");
    item = yyjson_arr_get(json_get(v, "sessions"), 1);
    assert_int_equal(yyjson_obj_size(item), 15);
    assert_str(item, "status", "running");
    assert_int_equal(json_get_int(item, "unread_stdout_chars", 0), 4);
    assert_int_equal(json_get_int(item, "unread_stderr_chars", 9), 0);
    v = call(&t, "list_background_bash", "{\"include_exited\":true}");
    assert_int_equal(json_get_int(v, "count", 0), 3);
    item = yyjson_arr_get(json_get(v, "sessions"), 2);
    assert_str(item, "status", "exited");
    assert_false(json_get_bool(item, "running", true));
    talk_close(&t);
}

static void test_errors(void **state)
{
    (void)state;
    struct talk t;
    talk_open(&t);
    static const char *const tools[] = {"read_background_bash", "write_background_bash",
                                        "resize_background_bash", "stop_background_bash"};
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        char message[100];
        snprintf(message, sizeof message, "%s requires a valid `session_id`.", tools[i]);
        assert_refused(&t, tools[i], "{}", message);
        bool is_sized = strcmp(tools[i], "resize_background_bash") == 0;
        const char *size = is_sized ? ",\"cols\":1,\"rows\":1" : "";
        char json[100];
        snprintf(json, sizeof json, "{\"session_id\":5%s}", size);
        assert_refused(&t, tools[i], json, message);
        snprintf(json, sizeof json, "{\"session_id\":\"bg-bash-1-2\"%s}", size);
        assert_refused(&t, tools[i], json, message);
        snprintf(message, sizeof message, "%s `session_id` must not hold a NUL byte", tools[i]);
        snprintf(json, sizeof json, "{\"session_id\":\"\\u0000\"%s}", size);
        assert_refused(&t, tools[i], json, message);
    }
    start(&t, "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"full_terminal\":false}");
    char json[200];
    snprintf(json, sizeof json, "{\"session_id\":\"%s\"}", t.id);
    assert_refused(&t, "write_background_bash", json,
                   "write_background_bash requires either `input` text or `key`.");
    assert_refused(&t, "resize_background_bash", json,
                   "resize_background_bash requires `cols` and `rows`.");
    snprintf(json, sizeof json, "{\"session_id\":\"%s\",\"cols\":\"one\",\"rows\":1}", t.id);
    assert_refused(&t, "resize_background_bash", json,
                   "resize_background_bash requires `cols` and `rows`.");
    call_job(&t, "write_background_bash", ",\"key\":\"f1\"");
    assert_true(str_starts(buf_str(&t.r.error), STR("unknown `key`. valid keys: enter, ")));
    yyjson_val *v = call_job(&t, "resize_background_bash", ",\"cols\":100,\"rows\":50");
    assert_str(v, "status", "unsupported");
    assert_true(t.r.is_error);
    assert_refused(&t, "bash",
                   "{\"command\":\"true\",\"run_in_background\":true,"
                   "\"session_name\":\"a\\u0000\"}",
                   "bash `session_name` must not hold a NUL byte");
    struct background *b = take(&t.s.cx.background);
    assert_refused(&t, "list_background_bash", "{}", "background jobs are not available here");
    assert_refused(&t, "bash", "{\"command\":\"true\",\"run_in_background\":true}",
                   "background jobs are not available here");
    assert_refused(&t, "stop_background_bash", "{\"session_id\":\"bg-bash-1-2\"}",
                   "stop_background_bash requires a valid `session_id`.");
    t.s.cx.background = b;
    talk_close(&t);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_started),     cmocka_unit_test(test_directory_and_variables),
        cmocka_unit_test(test_reused),      cmocka_unit_test(test_read),
        cmocka_unit_test(test_read_limits), cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_keys),        cmocka_unit_test(test_enter_in_a_pipe),
        cmocka_unit_test(test_stop),        cmocka_unit_test(test_list),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
