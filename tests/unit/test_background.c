/* SPDX-License-Identifier: MIT */
/* Background jobs: their life in the set, and that none outlives it. */
#include "tool_scene.h"

#include "base/time.h"
#include "tools/background.h"

#include <signal.h>
#include <sys/wait.h>

struct start {
    struct background *b;
    struct background_options o;
    struct background_job *job;
    struct error err;
    bool ok;
};

static void start_fiber(void *arg)
{
    struct start *s = arg;
    s->ok = background_start_await(s->b, &s->o, &s->job, &s->err);
}

static bool try_start(struct scene *s, struct background *b, const char *name, const char *command,
                      bool has_terminal, struct start *ret)
{
    *ret = (struct start){.b = b};
    ret->o = (struct background_options){
        .name = str_of(name),
        .prefix = "bg-test",
        .shell = "sh",
        .flags = "-c",
        .command = str_of(command),
        .cwd = s->dir,
        .env = s->cx.env,
        .has_terminal = has_terminal,
        .cols = 80,
        .rows = 24,
        .keep_chars = 1000,
    };
    scene_run(s, start_fiber, ret);
    return ret->ok;
}

static struct background_job *start(struct scene *s, struct background *b, const char *name,
                                    const char *command, bool has_terminal)
{
    struct start st;
    if (!try_start(s, b, name, command, has_terminal, &st))
        fail_msg("%s", st.err.text);
    return st.job;
}

struct stop {
    struct background_job *job;
    bool is_forced, ok;
    int64_t wait_ms;
    struct error err;
};

static void stop_fiber(void *arg)
{
    struct stop *s = arg;
    s->ok = background_stop_await(s->job, s->is_forced, s->wait_ms, &s->err);
}

static bool stop(struct scene *s, struct background_job *j, bool is_forced, int64_t wait_ms)
{
    struct stop st = {.job = j, .is_forced = is_forced, .wait_ms = wait_ms};
    scene_run(s, stop_fiber, &st);
    return st.ok;
}

/* Until the stream holds the words. */
static void hear(struct scene *s, struct tape *t, const char *words)
{
    int64_t end = time_mono_us() + 20000000;
    while (str_find(buf_str(&t->text), str_of(words)) == SIZE_MAX) {
        if (time_mono_us() > end)
            fail_msg("`%s` did not come: `%.*s`", words, STR_FMT(buf_str(&t->text)));
        loop_step(s->loop, true);
    }
}

static void finish(struct scene *s, struct background_job *j)
{
    while (j->is_running)
        loop_step(s->loop, true);
}

static bool is_alive(int pid)
{
    return kill(pid, 0) == 0;
}

static void test_pipes(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    scene_open(&s);
    struct background *b = background_new(s.loop);
    struct background_job *j = start(&s, b, "echo",
                                     "echo $$; echo no >&2; read x; echo \"<$x>\";"
                                     "exit 3",
                                     false);
    char pid[20];
    snprintf(pid, sizeof pid, "%d\n", j->pid);
    hear(&s, &j->out, pid);
    hear(&s, &j->err, "no\n");
    assert_true(str_starts(str_of(j->id), STR("bg-test-")));
    assert_true(j->is_running);
    assert_ptr_equal(background_find(b, str_of(j->id)), j);
    assert_null(background_find(b, STR("bg-test-1-2")));
    assert_ptr_equal(background_find_like(b, STR("echo"), s.dir, false), j);
    assert_null(background_find_like(b, STR("echo"), s.dir, true));
    assert_null(background_find_like(b, STR("echo"), "/", false));
    assert_null(background_find_like(b, STR("ech"), s.dir, false));
    assert_true(background_write(j, STR("hi\n"), &err));
    hear(&s, &j->out, "<hi>\n");
    finish(&s, j);
    assert_int_equal(j->end.exit_code, 3);
    assert_null(background_find_like(b, STR("echo"), s.dir, false));
    assert_false(background_write(j, STR("late\n"), &err));
    assert_int_equal(err.code, ERR_IO);
    assert_true(stop(&s, j, false, 1000));
    background_free(b);
    scene_close(&s);
}

static void test_terminal(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    scene_open(&s);
    struct background *b = background_new(s.loop);
    struct background_job *j = start(
        &s, b, "t", "trap 'stty size' WINCH; stty size; while :; do sleep 0.02; done", true);
    hear(&s, &j->out, "24 80\r\n");
    assert_true(background_resize(j, 100, 50, &err));
    hear(&s, &j->out, "50 100\r\n");
    assert_int_equal(j->cols, 100);
    assert_true(background_write(j, STR("\x03"), &err));
    finish(&s, j);
    assert_int_equal(j->end.signal, SIGINT);
    assert_false(background_resize(j, 80, 24, &err));
    background_free(b);
    scene_close(&s);
}

static void test_stop(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    struct background *b = background_new(s.loop);
    struct background_job *j = start(
        &s, b, "a", "trap 'exit 9' TERM; sleep 1000 & sleep 0.3; echo go; wait", false);
    hear(&s, &j->out, "go");
    assert_true(stop(&s, j, false, 5000));
    assert_false(j->is_running);
    assert_int_equal(j->end.exit_code, 9);
    assert_false(is_alive(j->pid));

    j = start(&s, b, "b", "trap '' TERM; echo go; sleep 1000; sleep 1000", true);
    hear(&s, &j->out, "go");
    int64_t before = time_mono_us();
    assert_true(stop(&s, j, false, 100));
    assert_true(j->is_running);
    assert_in_range(time_mono_us() - before, 95000, 5000000);
    assert_true(stop(&s, j, true, 5000));
    assert_int_equal(j->end.signal, SIGKILL);

    /* An interrupt ends the waiting, not the job. */
    j = start(&s, b, "c", "trap '' TERM; echo go; sleep 1000; sleep 1000", true);
    hear(&s, &j->out, "go");
    s.cancel_after_ms = 50;
    assert_false(stop(&s, j, false, 60000));
    s.cancel_after_ms = 0;
    assert_true(j->is_running);
    int pid = j->pid;
    background_free(b); /* kills it */
    scene_close(&s);
    assert_false(is_alive(pid));
}

static void test_limit(void **state)
{
    (void)state;
    struct scene s;
    struct start st;
    scene_open(&s);
    struct background *b = background_new(s.loop);
    struct background_job *short_one = start(&s, b, "short", "exit 0", false);
    char first_id[60];
    strcpy(first_id, short_one->id);
    finish(&s, short_one);
    for (int i = 1; i < LIMIT_BACKGROUND_JOBS; i++)
        start(&s, b, "long", "exec sleep 1000", false);
    assert_non_null(background_find(b, str_of(first_id)));
    struct background_job *last = start(&s, b, "one more", "exec sleep 1000", false);
    assert_null(background_find(b, str_of(first_id))); /* had ended: forgotten */
    assert_ptr_equal(background_first(b), last);
    assert_false(try_start(&s, b, "too many", "true", false, &st));
    assert_int_equal(st.err.code, ERR_LIMIT);
    int n = 0;
    for (struct background_job *j = background_first(b); j; j = j->next)
        n++;
    assert_int_equal(n, LIMIT_BACKGROUND_JOBS);
    background_free(b);
    scene_close(&s);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

struct end {
    struct background *b;
    int64_t wait_ms;
};

static void end_fiber(void *arg)
{
    struct end *e = arg;
    background_end_through_await(e->b, e->wait_ms);
}

static void test_end(void **state)
{
    (void)state;
    struct scene s;
    struct start st;
    scene_open(&s);
    struct background *b = background_new(s.loop);
    struct background_job *polite = start(
        &s, b, "polite", "trap 'echo bye; exit 0' TERM; sleep 1000 & sleep 0.3; echo go; wait",
        true);
    hear(&s, &polite->out, "go");
    int64_t before = time_mono_us();
    scene_run(&s, end_fiber, &(struct end){b, 20000});
    assert_true(time_mono_us() - before < 10000000); /* not until the time is over */
    assert_false(polite->is_running);
    hear(&s, &polite->out, "bye");
    assert_false(try_start(&s, b, "late", "true", false, &st));
    assert_int_equal(st.err.code, ERR_BUSY);
    background_free(b);

    b = background_new(s.loop);
    struct background_job *rude = start(&s, b, "rude",
                                        "trap '' TERM HUP; echo go; while :; do "
                                        "sleep 0.02; done",
                                        true);
    hear(&s, &rude->out, "go");
    int pid = rude->pid;
    scene_run(&s, end_fiber, &(struct end){b, 100});
    assert_true(rude->is_running);
    background_free(b);
    scene_close(&s);
    assert_false(is_alive(pid));
    background_free(NULL);
}

static void test_start_fails(void **state)
{
    (void)state;
    struct scene s;
    struct start st;
    scene_open(&s);
    struct background *b = background_new(s.loop);
    AUTO(buf) struct buf huge = BUF_INIT; /* more than one argument can be */
    while (huge.n < 200000)
        buf_addz(&huge, "true; ");
    assert_false(try_start(&s, b, "huge", huge.p, true, &st));
    assert_non_null(strstr(st.err.text, "Argument list too long"));
    assert_null(background_first(b));

    s.cancel_after_ms = 1;
    int n_canceled = 0;
    for (int i = 0; i < 20; i++)
        n_canceled += !try_start(&s, b, "canceled", "exec sleep 1000", false, &st) &&
                      st.err.code == ERR_CANCELED;
    s.cancel_after_ms = 0;
    int n = 0;
    for (struct background_job *j = background_first(b); j; j = j->next)
        n++;
    assert_int_equal(n + n_canceled, 20); /* known or gone */
    background_free(b);
    scene_close(&s);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* A writer that never stops costs no more memory than one that does. */
static void test_endless(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    struct background *b = background_new(s.loop);
    struct background_job *j = start(&s, b, "yes", "yes", false);
    while (j->out.end < 5000000)
        loop_step(s.loop, true);
    assert_true(j->out.text.capacity < 300000);
    assert_int_equal(tape_unread(&j->out), 1000);
    assert_true(stop(&s, j, true, 10000));
    assert_false(j->is_running);
    background_free(b);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipes),   cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_stop),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_end),     cmocka_unit_test(test_start_fails),
        cmocka_unit_test(test_endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
