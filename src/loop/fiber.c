/* SPDX-License-Identifier: MIT */
/* Each fiber has its own stack; the loop's drain switches to it (switch.h), an await switches back.
 *
 *     drain: resume ----> fn(arg) ... wait_await: suspend
 *                <-------------------------'
 *     wait_wake: push on the ready list; the next drain resumes
 *
 * Stacks are mapped with a guard page below, so that a stack overflow faults and does not overwrite
 * other data; a few are kept for the next fibers.  Sanitizers and valgrind are notified of every
 * switch.
 */
#include "loop/fiber.h"

#include "base/limits.h"
#include "base/time.h"
#include "loop/internal.h"
#include "loop/switch.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#ifndef FIBER_ASAN
#define FIBER_ASAN 0
#endif

#if FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif
#ifndef FIBER_TSAN
#define FIBER_TSAN 0
#endif

#ifdef TRIVET_VALGRIND
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) 0
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

enum {
    GUARD_BYTES = 4096,
    STACK_BYTES = LIMIT_STACK_BYTES *
                  (FIBER_ASAN || FIBER_TSAN ? 4 : 1), /* instrumented frames are larger */
};

struct fiber {
    struct ready ready; /* its place on the ready list */
    struct loop *l;
    struct fiber *next, **link; /* all fibers of the loop */
    const char *name;
    loop_fn *fn;
    void *arg;
    char *stack; /* GUARD_BYTES below it belong to the mapping */
    unsigned valgrind_id;
#if FIBER_TSAN
    void *tsan_here, *tsan_back;
#endif
    struct stack_place here, back; /* saved places of the fiber and of its resumer */
    struct wait *wait;             /* the cancelable wait it is suspended in */
    bool is_canceled;
    bool is_over;
    const void *back_stack; /* the resumer's, for the sanitizer */
    size_t back_bytes;
};

static struct fiber *current;

static struct {
    void (*fn)(unsigned long number, void *arg);
    void *arg;
    unsigned long number;
} awaits; /* fiber_watch_awaits */

/* --- stacks --- */

static char *stack_take(struct loop *l)
{
    if (l->n_stacks > 0)
        return l->stacks[--l->n_stacks];
    char *low = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (low == MAP_FAILED || mprotect(low, GUARD_BYTES, PROT_NONE) != 0)
        die("out of memory");
    return low + GUARD_BYTES;
}

static void stack_unmap(char *stack)
{
    munmap(stack - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
}

static void stack_give(struct loop *l, char *stack)
{
#if FIBER_ASAN
    __asan_unpoison_memory_region(stack, STACK_BYTES);
#endif
    if (l->n_stacks < LOOP_KEPT_STACKS)
        l->stacks[l->n_stacks++] = stack;
    else
        stack_unmap(stack);
}

void fiber_drop_stacks(struct loop *l)
{
    while (l->n_stacks > 0)
        stack_unmap(l->stacks[--l->n_stacks]);
}

/* --- switching --- */

static void suspend(struct fiber *f)
{
#if FIBER_ASAN
    void *fake = NULL;
    __sanitizer_start_switch_fiber(f->is_over ? NULL : &fake, f->back_stack, f->back_bytes);
#endif
#if FIBER_TSAN
    __tsan_switch_to_fiber(f->tsan_back, 0);
#endif
    stack_switch(&f->here, &f->back);
#if FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, &f->back_stack, &f->back_bytes);
#endif
}

static void on_first_switch(void)
{
    struct fiber *f = current;
#if FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &f->back_stack, &f->back_bytes);
#endif
    f->fn(f->arg);
    f->is_over = true;
    suspend(f);
    BUG("fiber %s was resumed after its end", f->name);
}

static void fiber_free(struct fiber *f)
{
    *f->link = f->next;
    if (f->next)
        f->next->link = f->link;
    else
        f->l->fibers_end = f->link;
    f->l->n_fibers--;
    VALGRIND_STACK_DEREGISTER(f->valgrind_id);
#if FIBER_TSAN
    __tsan_destroy_fiber(f->tsan_here);
#endif
    stack_give(f->l, f->stack);
    free(f);
}

static void resume(void *arg)
{
    struct fiber *f = arg;
    if (current)
        BUG("fiber %s would run inside fiber %s", f->name, current->name);
    struct loop *l = f->l;
    int64_t began_us = l->rounds ? time_mono_us() : 0;
    current = f;
#if FIBER_ASAN
    void *fake = NULL;
    __sanitizer_start_switch_fiber(&fake, f->stack, STACK_BYTES);
#endif
#if FIBER_TSAN
    f->tsan_back = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->tsan_here, 0);
#endif
    stack_switch(&f->back, &f->here);
#if FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
    current = NULL;
    if (l->rounds)
        rounds_note(l->rounds, f->name, began_us);
    if (f->is_over)
        fiber_free(f);
}

/* --- life --- */

struct fiber *fiber_start(struct loop *l, const char *name, loop_fn *fn, void *arg)
{
    struct fiber *f = xnew(struct fiber);
    f->l = l;
    f->name = name;
    f->fn = fn;
    f->arg = arg;
    f->ready.run = resume;
    f->ready.arg = f;
    f->stack = stack_take(l);
    f->valgrind_id = VALGRIND_STACK_REGISTER(f->stack, f->stack + STACK_BYTES);
#if FIBER_TSAN
    f->tsan_here = __tsan_create_fiber(0);
#endif
    stack_begin(&f->here, f->stack, STACK_BYTES, on_first_switch);
    f->link = l->fibers_end;
    *f->link = f;
    l->fibers_end = &f->next;
    l->n_fibers++;
    loop_push(l, &f->ready);
    return f;
}

struct fiber *fiber_self(void)
{
    return current;
}

static struct fiber *self_needed(void)
{
    if (!current)
        BUG("an await outside of a fiber");
    return current;
}

struct loop *fiber_loop(void)
{
    return self_needed()->l;
}

void fiber_cancel(struct fiber *f)
{
    f->is_canceled = true;
    if (!f->wait)
        return;
    f->wait->fiber = NULL;
    f->wait = NULL;
    loop_push(f->l, &f->ready);
}

bool fiber_is_canceled(void)
{
    return self_needed()->is_canceled;
}

unsigned fiber_count(const struct loop *l)
{
    return l->n_fibers;
}

void fiber_cancel_all(struct loop *l)
{
    for (struct fiber *f = l->fibers; f; f = f->next)
        fiber_cancel(f);
}

void fiber_end_all(struct loop *l)
{
    fiber_cancel_all(l);
    while (l->n_fibers)
        loop_step(l, true);
}

void fiber_watch_awaits(void (*fn)(unsigned long number, void *arg), void *arg)
{
    awaits.fn = fn;
    awaits.arg = arg;
    awaits.number = 0;
}

/* --- waiting --- */

static bool fail_canceled(struct error *err)
{
    return error_set(err, ERR_CANCELED, "canceled");
}

/* The start of every cancelable await: false when the fiber is canceled already. */
static bool await_begin(struct error *err)
{
    struct fiber *f = self_needed();
    if (awaits.fn)
        awaits.fn(++awaits.number, awaits.arg);
    return !f->is_canceled || fail_canceled(err);
}

/* Detaches the waiting fiber and puts it on the ready list. */
static void make_ready(struct wait *w)
{
    struct fiber *f = w->fiber;
    if (!f)
        return;
    w->fiber = NULL;
    f->wait = NULL;
    loop_push(f->l, &f->ready);
}

static void sleep_on(struct wait *w, bool is_cancelable)
{
    struct fiber *f = self_needed();
    if (w->fiber)
        BUG("fibers %s and %s await the same wait", w->fiber->name, f->name);
    w->fiber = f;
    f->wait = is_cancelable ? w : NULL;
    suspend(f);
}

void wait_wake(struct wait *w)
{
    w->is_done = true;
    make_ready(w);
}

void wait_reset(struct wait *w)
{
    if (w->fiber)
        BUG("fiber %s is still waiting", w->fiber->name);
    w->is_done = false;
}

bool wait_await(struct wait *w, struct error *err)
{
    if (!await_begin(err))
        return false;
    if (!w->is_done)
        sleep_on(w, true);
    return w->is_done || fail_canceled(err);
}

void wait_through_await(struct wait *w)
{
    self_needed();
    if (!w->is_done)
        sleep_on(w, false);
}

static void on_timeout(void *arg)
{
    make_ready(arg);
}

bool wait_timed_await(struct loop *l, struct wait *w, int64_t ms, struct error *err)
{
    if (!await_begin(err))
        return false;
    if (w->is_done)
        return true;
    struct timer *t = timer_new(l, on_timeout, w);
    timer_start(t, ms);
    sleep_on(w, true);
    timer_free(t);
    if (w->is_done)
        return true;
    if (self_needed()->is_canceled)
        return fail_canceled(err);
    return error_set(err, ERR_TIMEOUT, "nothing happened within %lld ms", (long long)ms);
}

static void on_wake(void *arg)
{
    wait_wake(arg);
}

bool sleep_await(struct loop *l, int64_t ms, struct error *err)
{
    struct wait w = WAIT_INIT;
    struct timer *t = timer_new(l, on_wake, &w);
    timer_start(t, ms);
    bool ok = wait_await(&w, err);
    timer_free(t);
    return ok;
}

bool yield_await(struct loop *l, struct error *err)
{
    if (!await_begin(err))
        return false;
    struct fiber *f = self_needed();
    loop_push(l, &f->ready);
    suspend(f);
    return !f->is_canceled || fail_canceled(err);
}

/* --- work --- */

struct through {
    loop_fn *fn;
    void *arg;
    struct wait wait;
};

static void through_run(void *arg) /* on a thread */
{
    struct through *t = arg;
    t->fn(t->arg);
}

static void on_through_done(void *arg)
{
    struct through *t = arg;
    wait_wake(&t->wait);
}

void work_through_await(struct loop *l, loop_fn *fn, void *arg)
{
    struct through t = {.fn = fn, .arg = arg, .wait = WAIT_INIT};
    work_start(l, through_run, on_through_done, &t);
    wait_through_await(&t.wait);
}

void disk_through_await(struct loop *l, loop_fn *fn, void *arg)
{
    struct through t = {.fn = fn, .arg = arg, .wait = WAIT_INIT};
    disk_start(l, through_run, on_through_done, &t);
    wait_through_await(&t.wait);
}

enum { MAX_CREW = 16 };

struct crew {
    loop_fn *fn;
    void *arg;
    unsigned n, n_left;
    struct wait wait;
    struct member {
        struct crew *crew;
        struct work *work; /* NULL when it is over */
    } members[MAX_CREW];
};

static void member_run(void *arg) /* on the thread pool */
{
    struct member *m = arg;
    m->crew->fn(m->crew->arg);
}

static void on_member_done(void *arg)
{
    struct member *m = arg;
    struct crew *c = m->crew;
    m->work = NULL;
    for (unsigned i = 0; i < c->n; i++)
        if (c->members[i].work)
            work_drop(c->members[i].work);
    if (--c->n_left == 0)
        wait_wake(&c->wait);
}

bool work_crew_await(struct loop *l, loop_fn *fn, void *arg, unsigned n, atomic_bool *stop,
                     struct error *err)
{
    if (fiber_is_canceled())
        return fail_canceled(err);
    struct crew c = {.fn = fn, .arg = arg, .n = MIN(n, (unsigned)MAX_CREW), .wait = WAIT_INIT};
    c.n_left = c.n;
    for (unsigned i = 0; i < c.n; i++) {
        c.members[i].crew = &c;
        c.members[i].work = work_start(l, member_run, on_member_done, &c.members[i]);
    }
    if (wait_await(&c.wait, err))
        return true;
    if (stop)
        atomic_store(stop, true);
    wait_through_await(&c.wait); /* struct crew is on this stack */
    return false;
}

bool work_await(struct loop *l, loop_fn *fn, void *arg, atomic_bool *stop, struct error *err)
{
    return work_crew_await(l, fn, arg, 1, stop, err);
}
