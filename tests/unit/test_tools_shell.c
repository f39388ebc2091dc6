/* SPDX-License-Identifier: MIT */
/* Shell commands: output, ends, limits, the state they leave, cancel. */
#include "tool_scene.h"

#include "base/time.h"
#include "tools/shell.h"

#include <signal.h>

struct running {
    struct scene *s;
    struct shell_options o;
    struct shell_run run;
    struct error err;
    bool ok;
};

static void shell_fiber(void *arg)
{
    struct running *r = arg;
    r->ok = shell_await(&r->s->cx, &r->o, &r->run, &r->err);
}

static void run(struct running *r, struct scene *s, const char *command)
{
    r->s = s;
    r->o.shell = r->o.shell ? r->o.shell : "sh";
    r->o.flags = "-c";
    r->o.command = str_of(command);
    r->o.cwd = s->dir;
    r->o.env = r->o.env ? r->o.env : s->cx.env;
    r->o.head_max = r->o.head_max ? r->o.head_max : 1000;
    r->run = SHELL_RUN_INIT;
    scene_run(s, shell_fiber, r);
}

static void check_out(struct running *r, const char *out, const char *err)
{
    AUTO(buf) struct buf b = BUF_INIT;
    if (!r->ok)
        fail_msg("%s", r->err.text);
    ring_put(&r->run.out, &b);
    assert_string_equal(buf_str(&b).p, out);
    buf_reset(&b);
    ring_put(&r->run.err, &b);
    assert_string_equal(buf_str(&b).p, err);
}

static void test_output_and_status(void **state)
{
    (void)state;
    struct scene s;
    struct running r = {0};
    scene_open(&s);
    run(&r, &s, "echo out; echo err >&2; exit 3");
    check_out(&r, "out\n", "err\n");
    assert_int_equal(r.run.end.exit_code, 3);
    shell_run_clear(&r.run);
    run(&r, &s, "pwd; cat; test -e /proc/self/fd/3 && echo open");
    AUTO(buf) struct buf want = BUF_INIT;
    buf_addf(&want, "%s\n", s.dir);
    check_out(&r, want.p, "");
    shell_run_clear(&r.run);
    run(&r, &s, "kill -KILL $$");
    assert_true(r.ok);
    assert_int_equal(r.run.end.exit_code, -1);
    assert_int_equal(r.run.end.signal, SIGKILL);
    shell_run_clear(&r.run);
    scene_close(&s);
}

static void test_environment_is_what_was_given(void **state)
{
    (void)state;
    struct scene s;
    const char *const env[] = {"PATH=/usr/bin:/bin", "COLOUR=blue", NULL};
    struct running r = {.o.env = env};
    scene_open(&s);
    setenv("SECRET_OF_TEST", "x", 1);
    run(&r, &s, "echo $COLOUR $SECRET_OF_TEST");
    check_out(&r, "blue\n", "");
    shell_run_clear(&r.run);
    unsetenv("SECRET_OF_TEST");
    scene_close(&s);
}

static void test_output_is_bounded(void **state)
{
    (void)state;
    struct scene s;
    struct running r = {.o = {.head_max = 10, .tail_max = 10}};
    scene_open(&s);
    run(&r, &s, "head -c 5000000 /dev/zero | tr '\\0' x; echo END");
    assert_true(r.ok);
    assert_int_equal(r.run.out.total, 5000004);
    check_out(&r, "xxxxxxxxxx\n[... 4999984 bytes left out ...]\nxxxxxxEND\n", "");
    assert_true(r.run.out.head.capacity + r.run.out.tail.capacity < 200000);
    shell_run_clear(&r.run);
    scene_close(&s);
}

static void test_timeout(void **state)
{
    (void)state;
    struct scene s;
    struct running r = {.o.timeout_ms = 100};
    scene_open(&s);
    int64_t start = time_mono_us();
    run(&r, &s, "echo before; sleep 30; echo after");
    assert_true(r.ok);
    assert_true(r.run.end.timed_out);
    check_out(&r, "before\n", "");
    assert_true(time_mono_us() - start < 5000000);
    shell_run_clear(&r.run);
    scene_close(&s);
}

/* Cancel: the output so far is there, and so is nobody, also not who called setsid. */
static void test_cancel(void **state)
{
    (void)state;
    struct scene s;
    struct running r = {0};
    scene_open(&s);
    s.cancel_file = "flag";
    run(&r, &s, "echo begun; setsid sh -c 'echo $$ > pid; touch flag; exec sleep 300' & sleep 300");
    assert_false(r.ok);
    assert_int_equal(r.err.code, ERR_CANCELED);
    assert_true(str_is(buf_str(&r.run.out.head), "begun\n"));
    AUTO(buf) struct buf pid = BUF_INIT;
    assert_true(path_read(&pid, str_of(scene_path(&s, "pid")), 100, &r.err));
    assert_int_equal(kill((pid_t)strtol(pid.p, NULL, 10), 0), -1);
    shell_run_clear(&r.run);
    scene_close(&s);
}

static const char *kept(const struct running *r, const char *name)
{
    size_t n = strlen(name);
    for (char **e = r->run.state.env; e && *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

static void check_state(const char *shell)
{
    struct scene s;
    struct running r = {.o = {.wants_state = true, .shell = shell}};
    scene_open(&s);
    scene_put(&s, "sub dir/x", "");
    /* The last output has no newline, the command has quotes and a comment at its end. */
    run(&r, &s, "cd 'sub dir'; export A='1\n2' B=; C=no; printf 'x\"y'; false # comment");
    check_out(&r, "x\"y", "");
    assert_int_equal(r.run.end.exit_code, 1);
    assert_true(r.run.has_state);
    assert_string_equal(r.run.state.cwd, scene_path(&s, "sub dir"));
    assert_string_equal(kept(&r, "A"), "1\n2");
    assert_string_equal(kept(&r, "B"), "");
    assert_null(kept(&r, "C"));
    assert_null(kept(&r, "_"));
    shell_run_clear(&r.run);
    run(&r, &s, "echo $#; test -e /proc/self/fd/3 && echo open; exit 4");
    check_out(&r, "0\n", ""); /* neither the arguments nor the descriptor of the wrapper are seen */
    assert_int_equal(r.run.end.exit_code, 4);
    assert_false(r.run.has_state);
    shell_run_clear(&r.run);
    run(&r, &s, "echo 'not closed");
    assert_true(r.ok);
    assert_true(r.run.end.exit_code > 0);
    shell_run_clear(&r.run);
    run(&r, &s, "sleep 300 & echo done"); /* nobody waits for what is left behind */
    check_out(&r, "done\n", "");
    assert_true(r.run.has_state);
    shell_run_clear(&r.run);
    scene_close(&s);
}

static void test_state(void **state)
{
    (void)state;
    check_state("sh");
    check_state("bash");
}

static void test_cannot_start(void **state)
{
    (void)state;
    struct scene s;
    struct running r = {.o.shell = "no-such-shell-here"};
    scene_open(&s);
    run(&r, &s, "true");
    assert_true(!r.ok || r.run.end.exit_code != 0);
    shell_run_clear(&r.run);
    scene_close(&s);
}

static void test_pick(void **state)
{
    (void)state;
    const char *const names[] = {"no-such-shell-here", "sh", "never", NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", NULL}, *const none[] = {"PATH=/nowhere", NULL};
    assert_string_equal(shell_pick(names, env), "sh");
    assert_string_equal(shell_pick(names, none), "never");
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_status),
        cmocka_unit_test(test_environment_is_what_was_given),
        cmocka_unit_test(test_output_is_bounded),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_cannot_start),
        cmocka_unit_test(test_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
