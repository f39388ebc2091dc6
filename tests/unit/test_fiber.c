/* SPDX-License-Identifier: MIT */
/* Fibers: order of wakes, and every way a cancel can meet an await. */
#include "base/buf.h"
#include "base/time.h"
#include "loop/fiber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* One actor: what it does is its fiber function, what happened is seen here. */
struct actor {
    struct loop *l;
    struct fiber *self;
    struct wait wait, other;
    struct buf *log;
    const char *text;
    struct error err;
    bool ok;
    bool is_over;
    int count;
    atomic_bool stop;
    atomic_int progress;
    struct timer *timer;
};

static void actor_start(struct actor *a, struct loop *l, loop_fn *fn)
{
    a->l = l;
    a->self = fiber_start(l, "actor", fn, a);
}

static void wait_fiber(void *arg)
{
    struct actor *a = arg;
    a->ok = wait_await(&a->wait, &a->err);
    if (a->log)
        buf_addz(a->log, a->text);
    a->is_over = true;
}

static void test_wakes_keep_order(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf log = BUF_INIT;
    struct actor a = {.log = &log, .text = "a"}, b = {.log = &log, .text = "b"};
    struct actor c = {.log = &log, .text = "c"};
    actor_start(&a, l, wait_fiber);
    actor_start(&b, l, wait_fiber);
    actor_start(&c, l, wait_fiber);
    assert_null(a.wait.fiber); /* nobody runs before the drain */
    loop_step(l, false);
    assert_ptr_equal(a.wait.fiber, a.self);
    assert_int_equal(fiber_count(l), 3);
    wait_wake(&c.wait);
    wait_wake(&a.wait);
    wait_wake(&c.wait); /* repeated wakes are one */
    wait_wake(&b.wait);
    assert_null(a.wait.fiber); /* forgotten at the wake */
    assert_int_equal(log.n, 0);
    loop_run(l);
    assert_string_equal(log.p, "cab");
    assert_true(a.ok && b.ok && c.ok);
    assert_int_equal(fiber_count(l), 0);
    loop_free(l);
}

static void test_wake_before_wait(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    wait_wake(&a.wait);
    actor_start(&a, l, wait_fiber);
    loop_step(l, false);
    assert_true(a.is_over && a.ok);
    assert_null(fiber_self());
    loop_free(l);
}

static void test_cancel_before_start(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    actor_start(&a, l, wait_fiber);
    fiber_cancel(a.self);
    loop_run(l);
    assert_true(a.is_over);
    assert_false(a.ok);
    assert_int_equal(a.err.code, ERR_CANCELED);
    loop_free(l);
}

static void test_cancel_asleep(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    actor_start(&a, l, wait_fiber);
    loop_step(l, false);
    fiber_cancel(a.self);
    fiber_cancel(a.self);
    assert_null(a.wait.fiber);
    loop_run(l);
    assert_true(a.is_over);
    assert_int_equal(a.err.code, ERR_CANCELED);
    loop_free(l);
}

static void test_cancel_after_wake_counts_as_done(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    actor_start(&a, l, wait_fiber);
    loop_step(l, false);
    wait_wake(&a.wait);
    fiber_cancel(a.self);
    loop_run(l);
    assert_true(a.is_over && a.ok);
    assert_int_equal(a.err.code, ERR_NONE); /* success never touches err */
    loop_free(l);
}

static void sticky_fiber(void *arg)
{
    struct actor *a = arg;
    struct error err;
    assert_false(fiber_is_canceled());
    assert_false(wait_await(&a->wait, &err));
    assert_true(fiber_is_canceled());
    wait_wake(&a->other);
    assert_false(wait_await(&a->other, &err)); /* looks at the flag before it starts */
    assert_int_equal(err.code, ERR_CANCELED);
    assert_false(sleep_await(a->l, 100000, &err));
    assert_int_equal(err.code, ERR_CANCELED);
    assert_false(wait_timed_await(a->l, &a->wait, 100000, &err));
    assert_int_equal(err.code, ERR_CANCELED);
    assert_false(yield_await(a->l, &err));
    assert_int_equal(err.code, ERR_CANCELED);
    a->is_over = true;
}

static void test_cancel_is_sticky(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    actor_start(&a, l, sticky_fiber);
    loop_step(l, false);
    fiber_cancel(a.self);
    loop_run(l);
    assert_true(a.is_over);
    loop_free(l);
}

static void through_fiber(void *arg)
{
    struct actor *a = arg;
    wait_through_await(&a->wait);
    a->ok = fiber_is_canceled();
    wait_through_await(&a->wait); /* already done: does not sleep */
    a->is_over = true;
}

static void test_through_is_not_cancelable(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    actor_start(&a, l, through_fiber);
    loop_step(l, false);
    fiber_cancel(a.self);
    loop_run(l);
    assert_false(a.is_over);
    wait_wake(&a.wait);
    loop_run(l);
    assert_true(a.is_over && a.ok);
    loop_free(l);
}

static void timed_fiber(void *arg)
{
    struct actor *a = arg;
    a->ok = wait_timed_await(a->l, &a->wait, a->count, &a->err);
    a->is_over = true;
}

static void on_wake_timer(void *arg)
{
    wait_wake(arg);
}

static void test_timed_wait(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor late = {.count = 15}, soon = {.count = 60000}, canceled = {.count = 60000};
    actor_start(&late, l, timed_fiber);
    actor_start(&soon, l, timed_fiber);
    actor_start(&canceled, l, timed_fiber);
    int64_t start = time_mono_us(); /* before the step, in which the clocks begin to run */
    loop_step(l, false);
    struct timer *t = timer_new(l, on_wake_timer, &soon.wait);
    timer_start(t, 5);
    fiber_cancel(canceled.self);
    loop_run(l);
    assert_in_range(time_mono_us() - start, 13000, 5000000);
    assert_true(late.is_over && soon.is_over && canceled.is_over);
    assert_false(late.ok);
    assert_int_equal(late.err.code, ERR_TIMEOUT);
    assert_null(late.wait.fiber);
    assert_true(soon.ok);
    assert_int_equal(canceled.err.code, ERR_CANCELED);
    timer_free(t);
    loop_free(l);
}

static void sleep_fiber(void *arg)
{
    struct actor *a = arg;
    a->ok = sleep_await(a->l, a->count, &a->err);
    buf_addz(a->log, a->text);
}

static void test_sleep(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf log = BUF_INIT;
    struct actor a = {.log = &log, .text = "a", .count = 20}, b = {.log = &log, .text = "b"};
    actor_start(&a, l, sleep_fiber);
    actor_start(&b, l, sleep_fiber);
    loop_run(l);
    assert_string_equal(log.p, "ba");
    assert_true(a.ok && b.ok);
    loop_free(l);
}

static void yield_fiber(void *arg)
{
    struct actor *a = arg;
    for (int i = 0; i < 3; i++) {
        buf_addz(a->log, a->text);
        if (!yield_await(a->l, &a->err))
            return;
    }
    a->is_over = true;
}

static void test_yield_takes_turns(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf log = BUF_INIT;
    struct actor a = {.log = &log, .text = "a"}, b = {.log = &log, .text = "b"};
    struct actor c = {.log = &log, .text = "c"};
    actor_start(&a, l, yield_fiber);
    actor_start(&b, l, yield_fiber);
    actor_start(&c, l, yield_fiber);
    loop_step(l, false);
    fiber_cancel(c.self); /* it is on the ready list: must not be there twice */
    loop_run(l);
    assert_string_equal(log.p, "abcabab");
    assert_true(a.is_over && b.is_over && !c.is_over);
    assert_int_equal(c.err.code, ERR_CANCELED);
    loop_free(l);
}

static void job_count(void *arg) /* on a thread */
{
    struct actor *a = arg;
    atomic_fetch_add(&a->progress, 1);
}

static void job_until_stop(void *arg)
{
    struct actor *a = arg;
    while (!atomic_load(&a->stop))
        usleep(1000);
    usleep(10000);
    atomic_fetch_add(&a->progress, 1);
}

static void work_fiber(void *arg)
{
    struct actor *a = arg;
    for (int i = 0; i < 5; i++)
        assert_true(work_await(a->l, job_count, a, NULL, &a->err));
    a->ok = work_await(a->l, job_until_stop, a, &a->stop, &a->err);
    a->count = atomic_load(&a->progress); /* the end was waited for */
    assert_false(work_await(a->l, job_count, a, NULL, &a->err));
    work_through_await(a->l, job_count, a);
    a->is_over = true;
}

static void on_cancel_timer(void *arg)
{
    struct actor *a = arg;
    if (atomic_load(&a->progress) < 5)
        timer_start(a->timer, 20); /* a slow machine: the first jobs are not done yet */
    else
        fiber_cancel(a->self);
}

static void test_work(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    actor_start(&a, l, work_fiber);
    struct timer *t = a.timer = timer_new(l, on_cancel_timer, &a);
    timer_start(t, 300);
    loop_run(l);
    assert_true(a.is_over);
    assert_false(a.ok);
    assert_int_equal(a.err.code, ERR_CANCELED);
    assert_int_equal(a.count, 6);
    assert_int_equal(atomic_load(&a.progress), 7); /* the canceled one did not start */
    timer_free(t);
    loop_free(l);
}

/* More members than the pool has threads: each that begins is counted once, and when one has
 * returned, those that have not begun never do. */
static void crew_fiber(void *arg)
{
    struct actor *a = arg;
    a->ok = work_crew_await(a->l, job_count, a, 12, NULL, &a->err);
    a->count = atomic_load(&a->progress);
    a->is_over = !work_crew_await(a->l, job_until_stop, a, 3, &a->stop, &a->err);
}

static void test_crew(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    actor_start(&a, l, crew_fiber);
    while (!a.count)
        loop_step(l, true);
    assert_true(a.ok);
    assert_in_range(a.count, 1, 12);
    fiber_cancel(a.self); /* all members end before the fiber goes on */
    loop_run(l);
    assert_true(a.is_over);
    assert_int_equal(a.err.code, ERR_CANCELED);
    assert_in_range(atomic_load(&a.progress), a.count, a.count + 3);
    assert_in_range(work_width(), 1, 4);
    loop_free(l);
}

static bool nested_await(struct actor *a, int depth)
{
    char frame[2000];
    memset(frame, depth, sizeof frame);
    if (depth > 0 && !nested_await(a, depth - 1))
        return false;
    return work_await(a->l, job_count, a, NULL, &a->err) && yield_await(a->l, &a->err) &&
           frame[1999] == depth;
}

static void nested_fiber(void *arg)
{
    struct actor *a = arg;
    a->ok = nested_await(a, 30);
}

static void test_nested_work(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0}, b = {0};
    actor_start(&a, l, nested_fiber);
    actor_start(&b, l, nested_fiber);
    loop_run(l);
    assert_true(a.ok && b.ok);
    assert_int_equal(atomic_load(&a.progress), 31);
    assert_int_equal(atomic_load(&b.progress), 31);
    loop_free(l);
}

static void starter_fiber(void *arg)
{
    struct actor *a = arg;
    struct actor *inner = a + 1;
    actor_start(inner, a->l, wait_fiber);
    assert_true(yield_await(a->l, &a->err));
    wait_wake(&inner->wait); /* from fiber to fiber */
    a->ok = true;
}

static void test_fiber_starts_and_wakes_fiber(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor pair[2] = {0};
    actor_start(&pair[0], l, starter_fiber);
    loop_run(l);
    assert_true(pair[0].ok && pair[1].ok);
    loop_free(l);
}

static void test_thousand(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf log = BUF_INIT;
    struct actor *many = xcalloc(1000, sizeof *many);
    for (int i = 0; i < 1000; i++) {
        many[i].log = &log;
        many[i].text = "x";
        actor_start(&many[i], l, wait_fiber);
    }
    loop_step(l, false);
    assert_int_equal(fiber_count(l), 1000);
    for (int i = 0; i < 500; i++)
        wait_wake(&many[i * 2].wait);
    loop_run(l);
    assert_int_equal(fiber_count(l), 500);
    assert_int_equal(log.n, 500);
    fiber_cancel_all(l);
    loop_run(l);
    assert_int_equal(fiber_count(l), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(many[i].ok, i % 2 == 0);
        assert_int_equal(many[i].err.code, i % 2 ? ERR_CANCELED : ERR_NONE);
    }
    free(many);
    loop_free(l);
}

static void test_wait_can_be_used_again(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct actor a = {0};
    for (int i = 0; i < 40; i++) { /* also reuses stacks */
        wait_reset(&a.wait);
        a.is_over = false;
        actor_start(&a, l, wait_fiber);
        loop_run(l);
        assert_false(a.is_over);
        wait_wake(&a.wait);
        loop_run(l);
        assert_true(a.is_over && a.ok);
    }
    loop_free(l);
}

/* The cancel sweep in small: cancel at the n-th await, for every n. */
struct sweep {
    struct actor *a;
    unsigned long at, seen;
};

static void on_await(unsigned long number, void *arg)
{
    struct sweep *s = arg;
    s->seen = number;
    if (number == s->at)
        fiber_cancel(fiber_self());
}

static void sequence_fiber(void *arg)
{
    struct actor *a = arg;
    wait_wake(&a->wait);
    a->ok = sleep_await(a->l, 1, &a->err) && yield_await(a->l, &a->err) &&
            work_await(a->l, job_count, a, NULL, &a->err) && wait_await(&a->wait, &a->err) &&
            wait_timed_await(a->l, &a->wait, 10, &a->err);
    a->is_over = true;
}

static void test_sweep(void **state)
{
    (void)state;
    for (unsigned long at = 1; at <= 6; at++) {
        struct loop *l = loop_new();
        struct actor a = {0};
        struct sweep s = {.a = &a, .at = at};
        fiber_watch_awaits(on_await, &s);
        actor_start(&a, l, sequence_fiber);
        loop_run(l);
        assert_true(a.is_over);
        assert_int_equal(a.ok, at == 6);
        assert_int_equal(a.err.code, at == 6 ? ERR_NONE : ERR_CANCELED);
        assert_int_equal(s.seen, MIN(at, 5));
        loop_free(l);
    }
    fiber_watch_awaits(NULL, NULL);
}

/* Our own mistakes abort; each is tried in a process of its own. */
static void outside_await(void)
{
    struct wait w = WAIT_INIT;
    struct error err;
    wait_await(&w, &err);
}

static void deep_fiber(void *arg)
{
    char frame[8000];
    memset(frame, 1, sizeof frame);
    volatile char *p = frame;
    p[0] = *(char *)arg;
    if (p[7] == 1)
        deep_fiber((char *)p);
    p[1] = 0;
}

static void too_deep(void)
{
    struct loop *l = loop_new();
    char zero = 0;
    fiber_start(l, "deep", deep_fiber, &zero);
    loop_run(l);
}

static bool dies(void (*fn)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        signal(SIGSEGV, SIG_DFL); /* the test runner listens to these */
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static void test_mistakes_abort(void **state)
{
    (void)state;
    assert_true(dies(outside_await));
    assert_true(dies(too_deep)); /* the guard page */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wakes_keep_order),
        cmocka_unit_test(test_wake_before_wait),
        cmocka_unit_test(test_cancel_before_start),
        cmocka_unit_test(test_cancel_asleep),
        cmocka_unit_test(test_cancel_after_wake_counts_as_done),
        cmocka_unit_test(test_cancel_is_sticky),
        cmocka_unit_test(test_through_is_not_cancelable),
        cmocka_unit_test(test_timed_wait),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_yield_takes_turns),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_nested_work),
        cmocka_unit_test(test_fiber_starts_and_wakes_fiber),
        cmocka_unit_test(test_thousand),
        cmocka_unit_test(test_wait_can_be_used_again),
        cmocka_unit_test(test_crew),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_mistakes_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
