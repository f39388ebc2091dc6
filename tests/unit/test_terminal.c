/* SPDX-License-Identifier: MIT */
/* Commands that are spoken to while they run: in a terminal, and through a pipe that stays open.
 *
 * This program is its own holder, as in test_child.c.
 */
#include "base/buf.h"
#include "base/limits.h"
#include "base/time.h"
#include "loop/child.h"
#include "loop/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    struct loop *l;
    struct child *c;
    const char *argv[4];
    struct child_options o;
    struct buf out[4]; /* by stream */
    struct child_end end;
    int pid;
    bool has_ended;
    struct error err;
};

static void on_output(void *arg, int stream, struct str bytes)
{
    struct job *j = arg;
    buf_add(&j->out[stream], bytes);
}

static void on_pid(void *arg, int pid)
{
    struct job *j = arg;
    assert_int_equal(j->pid, 0);
    j->pid = pid;
}

static void on_end(void *arg, const struct child_end *end)
{
    struct job *j = arg;
    j->end = *end;
    j->has_ended = true;
}

static void job_start(struct job *j, const char *script, bool has_terminal)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm", NULL};
    *j = (struct job){.l = loop_new(), .argv = {"sh", "-c", script, NULL}};
    j->o = (struct child_options){
        .argv = j->argv,
        .env = env,
        .keeps_input = true,
        .has_terminal = has_terminal,
        .cols = 120,
        .rows = 36,
        .grace_ms = 300,
        .linger_ms = 200,
        .on_output = on_output,
        .on_pid = on_pid,
        .on_end = on_end,
        .arg = j,
    };
    j->c = child_start(j->l, &j->o, &j->err);
    assert_non_null(j->c);
}

static const char *text(const struct job *j, int stream)
{
    return buf_str(&j->out[stream]).p;
}

/* Until it has said this. */
static void job_hear(struct job *j, const char *words)
{
    int64_t end = time_mono_us() + 20000000;
    while (!strstr(text(j, 1), words)) {
        if (j->has_ended || time_mono_us() > end)
            fail_msg("`%s` did not come: `%s` `%s`", words, text(j, 1), text(j, 2));
        loop_step(j->l, true);
    }
}

static void job_say(struct job *j, const char *words)
{
    if (!child_write(j->c, str_of(words), &j->err))
        fail_msg("%s", j->err.text);
}

static void job_finish(struct job *j)
{
    while (!j->has_ended)
        loop_step(j->l, true);
}

static void job_clear(struct job *j)
{
    child_free(j->c);
    for (int i = 0; i < 4; i++)
        buf_clear(&j->out[i]);
    loop_free(j->l);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

static void job_run(struct job *j, const char *script)
{
    job_start(j, script, true);
    job_finish(j);
}

static void test_is_a_terminal(void **state)
{
    (void)state;
    struct job j;
    job_run(&j, "test -t 0 && test -t 1 && test -t 2 && stty size && echo own >/dev/tty;"
                "echo err >&2; echo $$; for f in /proc/$$/fd/*; do echo fd ${f##*/}; done; exit 7");
    assert_non_null(strstr(text(&j, 1), "36 120\r\nown\r\nerr\r\n"));
    assert_int_equal(j.out[2].n, 0);
    assert_int_equal(j.end.exit_code, 7);
    char line[40];
    snprintf(line, sizeof line, "\n%d\r\n", j.pid);
    assert_non_null(strstr(text(&j, 1), line));
    for (struct str rest = buf_str(&j.out[1]), s; str_line(&rest, &s);)
        assert_false(str_starts(s, STR("fd ")) && !str_is(s, "fd 0\r") && !str_is(s, "fd 1\r") &&
                     !str_is(s, "fd 2\r") && !str_is(s, "fd 3\r") && !str_is(s, "fd 10\r"));
    job_clear(&j);
}

static void test_all_output_comes(void **state)
{
    (void)state;
    struct job j;
    job_run(&j, "seq 1 30000");
    assert_true(str_ends(buf_str(&j.out[1]), STR("\n30000\r\n")));
    assert_int_equal(j.out[1].n, 30000 * 2 + 9 + 90 * 2 + 900 * 3 + 9000 * 4 + 20001 * 5);
    job_clear(&j);
}

static void test_speaking(void **state)
{
    (void)state;
    struct job j;
    job_start(&j, "echo name; read x; echo \"hello $x\"; cat; echo over", true);
    job_hear(&j, "name");
    job_say(&j, "you\n");
    job_hear(&j, "hello you");
    assert_non_null(strstr(text(&j, 1), "you\r\nhello you\r\n")); /* the echo stands before it */
    job_say(&j, "\x04");                                          /* ctrl+d */
    job_finish(&j);
    assert_true(str_ends(buf_str(&j.out[1]), STR("over\r\n")));
    assert_false(child_write(j.c, STR("late"), &j.err));
    assert_int_equal(j.err.code, ERR_IO);
    job_clear(&j);
}

static void test_ctrl_c(void **state)
{
    (void)state;
    struct job j;
    job_start(&j, "echo go; exec sleep 1000", true);
    job_hear(&j, "go");
    job_say(&j, "\x03");
    job_finish(&j);
    assert_int_equal(j.end.signal, SIGINT);
    assert_false(j.end.was_killed);
    job_clear(&j);
}

static void test_resize(void **state)
{
    (void)state;
    struct job j;
    job_start(&j, "trap 'stty size; exit 3' WINCH; echo go; while :; do sleep 0.02; done", true);
    job_hear(&j, "go");
    assert_true(child_resize(j.c, 100, 50, &j.err));
    job_finish(&j);
    assert_non_null(strstr(text(&j, 1), "50 100\r\n"));
    assert_false(child_resize(j.c, 80, 24, &j.err));
    job_clear(&j);
    job_start(&j, "read x", false);
    assert_false(child_resize(j.c, 80, 24, &j.err));
    assert_int_equal(j.err.code, ERR_IO);
    job_clear(&j);
}

static void test_pipe_stays_open(void **state)
{
    (void)state;
    struct job j;
    job_start(&j, "while read x; do echo \"<$x>\"; done; echo never", false);
    job_say(&j, "one\n");
    job_hear(&j, "<one>");
    job_say(&j, "two\nthree\n");
    job_hear(&j, "<three>");
    child_kill(j.c);
    job_finish(&j);
    assert_string_equal(text(&j, 1), "<one>\n<two>\n<three>\n");
    assert_true(j.end.was_killed);
    job_clear(&j);
}

static void test_input_is_bounded(void **state)
{
    (void)state;
    struct job j;
    AUTO(buf) struct buf big = BUF_INIT;
    while (big.n < LIMIT_CHILD_INPUT_BYTES / 2)
        buf_addz(&big, "0123456789abcdef");
    job_start(&j, "read x; head -c 600000 | wc -c; sleep 1000", false);
    int n = 0;
    while (n < 5 && child_write(j.c, buf_str(&big), &j.err))
        n++;
    assert_in_range(n, 2, 3); /* the pipe itself takes some */
    assert_int_equal(j.err.code, ERR_LIMIT);
    child_kill_now(j.c);
    job_finish(&j);
    job_clear(&j);
    job_start(&j, "head -c 1000000 | wc -c", false); /* all of it comes, piece by piece */
    job_say(&j, big.p);
    job_say(&j, big.p);
    job_finish(&j);
    assert_non_null(strstr(text(&j, 1), "1000000\n"));
    job_clear(&j);
}

static void test_term_alone(void **state)
{
    (void)state;
    struct job j;
    job_start(&j, "trap 'echo no' TERM; echo go; while :; do sleep 0.02; done", true);
    job_hear(&j, "go");
    child_term(j.c);
    job_hear(&j, "no");
    buf_reset(&j.out[1]);
    child_term(j.c); /* every time */
    job_hear(&j, "no");
    for (int i = 0; i < 40; i++) { /* longer than the grace */
        usleep(10000);
        loop_step(j.l, false);
    }
    assert_false(j.has_ended);
    child_kill_now(j.c);
    job_finish(&j);
    assert_int_equal(j.end.signal, SIGKILL);
    job_clear(&j);
}

static void test_term_waits_for_the_tree(void **state)
{
    (void)state;
    struct job j;
    job_start(&j, "(trap '' TERM HUP; echo go; while :; do sleep 0.02; done) & wait", true);
    job_hear(&j, "go");
    child_term(j.c);
    for (int i = 0; i < 50; i++) { /* longer than the linger */
        usleep(10000);
        loop_step(j.l, false);
    }
    assert_false(j.has_ended);
    child_kill_now(j.c);
    job_finish(&j);
    assert_int_equal(j.end.signal, SIGTERM); /* the command's own end */
    job_clear(&j);
}

static void test_free_while_running(void **state)
{
    (void)state;
    struct job j;
    job_start(&j, "trap '' HUP TERM; echo go; sleep 1000", true);
    job_hear(&j, "go");
    job_clear(&j);
}

/* Runs out of descriptors at every place where one is needed, until there are enough. */
static void test_start_fails(void **state)
{
    (void)state;
    struct rlimit before, less;
    struct job j;
    bool ok = false;
    int n_failures = 0;
    job_start(&j, "exit 0", true);
    job_finish(&j);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    less = before;
    for (less.rlim_cur = 3; !ok && less.rlim_cur < 100; less.rlim_cur++) {
        child_free(take(&j.c));
        setrlimit(RLIMIT_NOFILE, &less);
        j.c = child_start(j.l, &j.o, &j.err);
        setrlimit(RLIMIT_NOFILE, &before);
        ok = j.c != NULL;
        n_failures += !ok;
        assert_true(ok || j.err.code == ERR_IO);
    }
    assert_true(ok && n_failures > 5);
    j.has_ended = false;
    j.pid = 0;
    job_finish(&j);
    assert_int_equal(j.end.exit_code, 0);
    job_clear(&j);
}

static void test_open(void **state)
{
    (void)state;
    int master, slave;
    struct error err;
    assert_true(terminal_open(80, 24, &master, &slave, &err));
    assert_true(isatty(slave));
    assert_true(fcntl(master, F_GETFD) & fcntl(slave, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(master, F_GETFL) & O_NONBLOCK);
    close(slave);
    close(master);
    assert_false(terminal_resize(master, 1, 1, &err));
}

static void on_front_over(void *arg)
{
    *(bool *)arg = true;
}

/* Where there is no pidfd, as without descriptors, the loop does not wait for the program. */
static void a_program_without_a_pidfd_is_not_waited_for(void **state)
{
    (void)state;
    static const char *const argv[] = {"cat", NULL};
    struct loop *l = loop_new();
    struct rlimit old, none;
    struct error err;
    int ends[2];
    bool is_over = false;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)null + 1, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct terminal_program p = {argv, ends[0], null, on_front_over, &is_over};
    alarm(20); /* a loop that waits would never get further */
    assert_true(terminal_run(l, &p, &err));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    loop_step(l, false);
    assert_false(is_over);
    close(ends[1]);
    while (!is_over)
        loop_step(l, true);
    alarm(0);
    close(ends[0]);
    close(null);
    loop_free(l);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_a_pidfd_is_not_waited_for),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_is_a_terminal),
        cmocka_unit_test(test_all_output_comes),
        cmocka_unit_test(test_speaking),
        cmocka_unit_test(test_ctrl_c),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_pipe_stays_open),
        cmocka_unit_test(test_input_is_bounded),
        cmocka_unit_test(test_term_alone),
        cmocka_unit_test(test_term_waits_for_the_tree),
        cmocka_unit_test(test_free_while_running),
        cmocka_unit_test(test_start_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
