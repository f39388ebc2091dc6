/* SPDX-License-Identifier: MIT */
/* The loop: order of later calls, timers, watches, signals, work, and freeing inside callbacks. */
#include "base/buf.h"
#include "base/time.h"
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct note {
    struct loop *l;
    struct buf *log;
    const char *text;
    struct timer *timer;
    struct watch *watch;
    int fd;
    int events;
    int count;
};

static void add_note(void *arg)
{
    struct note *n = arg;
    n->count++;
    buf_addz(n->log, n->text);
}

static void later_again(void *arg)
{
    struct note *n = arg;
    add_note(n);
    if (n->count < 3)
        loop_later(n->l, later_again, n);
}

static void test_later_keeps_order(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf log = BUF_INIT;
    struct note a = {.l = l, .log = &log, .text = "a"}, b = {.l = l, .log = &log, .text = "b"};
    loop_later(l, later_again, &a);
    loop_later(l, add_note, &b);
    assert_int_equal(log.n, 0); /* never at once */
    loop_run(l);
    assert_string_equal(log.p, "abaa");
    loop_run(l); /* nothing active: returns */
    loop_later(l, add_note, &b);
    loop_free(l); /* what was not called is dropped */
    assert_string_equal(log.p, "abaa");
}

static void test_one_drain_per_step(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf log = BUF_INIT;
    struct note a = {.l = l, .log = &log, .text = "a"};
    loop_later(l, later_again, &a);
    loop_step(l, false);
    assert_int_equal(a.count, 1);
    loop_step(l, true); /* does not wait while something is ready */
    assert_int_equal(a.count, 2);
    loop_free(l);
}

static void free_own_timer(void *arg)
{
    struct note *n = arg;
    add_note(n);
    timer_free(n->timer);
}

static void test_timers(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf log = BUF_INIT;
    struct note a = {.l = l, .log = &log, .text = "a"}, b = {.l = l, .log = &log, .text = "b"};
    struct note c = {.l = l, .log = &log, .text = "c"};
    a.timer = timer_new(l, free_own_timer, &a);
    b.timer = timer_new(l, free_own_timer, &b);
    c.timer = timer_new(l, free_own_timer, &c);
    int64_t start = time_mono_us();
    timer_start(a.timer, 1);
    timer_start(a.timer, 30); /* moved behind b */
    timer_start(b.timer, 10);
    timer_start(c.timer, 5);
    timer_stop(c.timer);
    loop_run(l);
    assert_string_equal(log.p, "ba");
    assert_true(time_mono_us() - start >= 28000);
    timer_start(c.timer, -5); /* at once */
    loop_run(l);
    assert_string_equal(log.p, "bac");
    timer_free(NULL);
    loop_free(l);
}

static void on_readable(void *arg, int events)
{
    struct note *n = arg;
    char byte;
    n->events = events;
    n->count++;
    if (read(n->fd, &byte, 1) <= 0)
        watch_set(n->watch, 0);
}

static void test_watch_pipe(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    int p[2];
    assert_int_equal(pipe(p), 0);
    struct note n = {.l = l, .fd = p[0]};
    n.watch = watch_new(l, p[0], on_readable, &n, &err);
    assert_non_null(n.watch);
    assert_int_equal(fcntl(p[0], F_GETFL) & O_NONBLOCK, 0); /* flags are not ours to change */
    watch_set(n.watch, WATCH_IN);
    assert_int_equal(write(p[1], "xy", 2), 2);
    loop_step(l, false);
    loop_step(l, false);
    assert_int_equal(n.count, 2); /* level-triggered */
    loop_step(l, false);
    assert_int_equal(n.count, 2);
    assert_int_equal(write(p[1], "z", 1), 1);
    watch_set(n.watch, 0);
    loop_step(l, false);
    assert_int_equal(n.count, 2); /* stopped */
    watch_set(n.watch, WATCH_IN);
    close(p[1]);
    loop_run(l); /* z, then the end, which stops the watch */
    assert_int_equal(n.count, 4);
    assert_int_equal(n.events, WATCH_IN);
    watch_free(n.watch);
    close(p[0]);
    loop_free(l);
}

static void on_error_event(void *arg, int events)
{
    struct note *n = arg;
    n->events = events;
    if (++n->count == 2)
        watch_free(n->watch);
}

static void test_watch_reports_broken_pipe(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    int p[2];
    assert_int_equal(pipe(p), 0);
    close(p[0]);
    struct note n = {.l = l};
    n.watch = watch_new(l, p[1], on_error_event, &n, &err);
    assert_non_null(n.watch);
    watch_set(n.watch, WATCH_OUT);
    loop_run(l); /* told again and again until somebody acts */
    assert_int_equal(n.count, 2);
    assert_int_equal(n.events, WATCH_OUT);
    close(p[1]);
    loop_free(l);
}

static void test_watch_refuses_file(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err = ERROR_INIT;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_null(watch_new(l, fd, on_readable, NULL, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_true(err.text[0] != '\0');
    close(fd);
    loop_free(l);
}

static void on_usr1(void *arg)
{
    struct note *n = arg;
    n->count++;
    loop_stop(n->l);
}

static void test_signal(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct note n = {.l = l};
    loop_on_signal(l, SIGUSR1, on_usr1, &n);
    loop_run(l); /* a signal alone keeps nobody awake */
    struct timer *t = timer_new(l, on_usr1, &n);
    timer_start(t, 5000);
    raise(SIGUSR1);
    loop_run(l);
    assert_int_equal(n.count, 1);
    raise(SIGUSR1);
    loop_run(l);
    assert_int_equal(n.count, 2);
    loop_free(l); /* closes timer and signal */
}

struct work_note {
    pthread_t worker, done;
    int value;
};

static void work_run(void *arg)
{
    struct work_note *n = arg;
    n->worker = pthread_self();
    n->value = 41;
}

static void on_work_end(void *arg)
{
    struct work_note *n = arg;
    n->done = pthread_self();
    n->value++;
}

static void test_work(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct work_note n = {0}, quiet = {0};
    work_start(l, work_run, on_work_end, &n);
    work_start(l, work_run, NULL, &quiet);
    loop_run(l);
    assert_int_equal(n.value, 42);
    assert_false(pthread_equal(n.worker, pthread_self()));
    assert_true(pthread_equal(n.done, pthread_self()));
    assert_int_equal(quiet.value, 41);
    work_start(l, work_run, on_work_end, &n);
    loop_free(l); /* waits for it */
    assert_int_equal(n.value, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_keeps_order),
        cmocka_unit_test(test_one_drain_per_step),
        cmocka_unit_test(test_timers),
        cmocka_unit_test(test_watch_pipe),
        cmocka_unit_test(test_watch_reports_broken_pipe),
        cmocka_unit_test(test_watch_refuses_file),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
