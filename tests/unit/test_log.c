/* SPDX-License-Identifier: MIT */
/* The log: levels per folder, text and JSON lines, keys taken out, a file that cannot be opened.
 * Each case runs in a child, because the settings are those of a process. */
#include "base/log.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char place[] = "/tmp/trivet-log-XXXXXX";

static char *place_of(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", place, name);
    return path;
}

static void say_all(void)
{
    static const char *const sources[] = {"../src/engine/turn.c", "src/store/log.c",
                                          "../src/providers/openai/put.c"};
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        for (enum log_level l = LOG_DEBUG; l <= LOG_ERROR; l++)
            log_write(&(struct log_entry){.level = l, .source = sources[i]}, "said");
    log_write(&(struct log_entry){.level = LOG_INFO,
                                  .source = "../src/engine/turn.c",
                                  .what = "turn",
                                  .us = 1500,
                                  .session = STR("s1"),
                                  .turn = STR("t1")},
              "two\nlines, \033[31m, \"quoted\" and my-own-key-12345");
}

/* What a process with these settings writes to stderr; the file is read by the caller. */
static struct buf run(const char *levels, const char *file, const char *format)
{
    struct buf out = BUF_INIT;
    struct error err;
    char *to = str_dup(str_of(place_of("stderr")));
    pid_t pid = fork();
    if (pid == 0) {
        setenv("TRIVET_LOG", levels, 1);
        setenv("TRIVET_LOG_FILE", file, 1);
        setenv("TRIVET_LOG_FORMAT", format, 1);
        secret_learn(STR("my-own-key-12345"));
        if (!freopen(to, "w", stderr) || !log_open(&err))
            _exit(1);
        say_all();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(path_read(&out, str_of(to), 1 << 20, &err));
    free(to);
    return out;
}

static size_t count(const struct buf *b, const char *word)
{
    size_t n = 0, at;
    struct str rest = buf_str(b);
    while ((at = str_find(rest, str_of(word))) != SIZE_MAX) {
        rest = str_from(rest, at + strlen(word));
        n++;
    }
    return n;
}

static void test_levels(void **state)
{
    (void)state;
    static const struct {
        const char *levels;
        size_t engine, store, openai; /* lines */
    } cases[] = {
        {"", 2, 2, 2},
        {"silent", 0, 0, 0},
        {"error", 1, 1, 1},
        {"debug", 5, 4, 4},
        {"info", 4, 3, 3},
        {"engine=debug", 5, 2, 2},
        {"silent,store=info", 0, 3, 0},
        {"error, providers=debug ,providers/openai=warn", 1, 1, 2},
        {"providers=debug", 2, 2, 4},
        {"provid=debug", 2, 2, 2},
        {"silent,engine=loud", 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf out = run(cases[i].levels, "", "");
        assert_int_equal(count(&out, " engine: "), cases[i].engine);
        assert_int_equal(count(&out, " store: "), cases[i].store);
        assert_int_equal(count(&out, " providers/openai: "), cases[i].openai);
    }
    AUTO(buf) struct buf bad = run("info,engine=loud", "", "xml");
    assert_int_equal(count(&bad, "engine=loud is neither"), 1);
    assert_int_equal(count(&bad, "TRIVET_LOG_FORMAT is plain or json"), 1);
}

static void test_plain(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = run("info,store=silent,providers=silent", "", "");
    assert_int_equal(count(&out, "\n"), 4);
    assert_int_equal(count(&out, "turn 1.500 ms, two lines"), 1);
    assert_int_equal(count(&out, " session=s1 turn=t1\n"), 1);
    assert_int_equal(count(&out, "my-own-key-12345") + count(&out, "\033"), 0);
}

static void test_json(void **state)
{
    (void)state;
    char *file = str_dup(str_of(place_of("x.jsonl")));
    AUTO(buf) struct buf out = run("", file, ""), log = BUF_INIT;
    struct error err;
    struct str line;
    size_t n = 0, n_turns = 0;
    assert_int_equal(count(&out, "\n"), 6); /* warnings and errors, as ever */
    assert_true(path_read(&log, str_of(file), 1 << 20, &err));
    assert_int_equal(count(&log, "my-own-key-12345"), 0);
    for (struct str rest = buf_str(&log); str_line(&rest, &line); n++) {
        AUTO(json) struct json j = JSON_INIT;
        assert_true(json_parse(line, 0, LIMIT_JSON_DEPTH, &j, &err));
        assert_true(json_get_str(j.root, "time").n == 24 && json_get_str(j.root, "level").n);
        if (!str_is(json_get_str(j.root, "what"), "turn"))
            continue;
        n_turns++;
        assert_true(json_get_num(j.root, "ms", 0) == 1.5);
        assert_true(str_is(json_get_str(j.root, "folder"), "engine"));
        assert_true(str_is(json_get_str(j.root, "session"), "s1"));
        assert_true(str_is(json_get_str(j.root, "turn"), "t1"));
    }
    assert_int_equal(n, 10);
    assert_int_equal(n_turns, 1);
    buf_clear(&log);
    log = run("debug", file, "plain"); /* appended, as text */
    buf_clear(&log);
    log = BUF_INIT;
    assert_true(path_read(&log, str_of(file), 1 << 20, &err));
    assert_int_equal(count(&log, "\n"), 10 + 13);
    assert_int_equal(count(&log, " providers/openai: "), 4);
    free(file);
}

static void test_bad_file(void **state)
{
    (void)state;
    struct error err;
    setenv("TRIVET_LOG_FILE", place_of("none/x"), 1);
    assert_false(log_open(&err));
    assert_non_null(strstr(err.text, "cannot open the log file"));
    unsetenv("TRIVET_LOG_FILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_bad_file),
    };
    if (!mkdtemp(place))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(place_of("x.jsonl"));
    unlink(place_of("stderr"));
    rmdir(place);
    return failed;
}
