/* SPDX-License-Identifier: MIT */
/* Fibers: stories with many waits, told from top to bottom on the loop's thread.
 *
 * A fiber runs until it awaits; a callback wakes it by putting it on the loop's ready list, which
 * is drained once per round in the order of the wakes.  Only functions named *_await and *_fiber
 * may await.
 *
 * Cancel is a sticky flag.  Every cancelable await looks at it before it starts and fails with
 * ERR_CANCELED; a sleeping one is woken.  An operation that completed before the cancel arrived
 * still counts as completed.  Clean-up that must wait uses the *_through_await forms, which
 * cannot be canceled.
 */
#ifndef TRIVET_LOOP_FIBER_H
#define TRIVET_LOOP_FIBER_H

#include "loop/loop.h"

#include <stdatomic.h>

struct fiber;

/* Starts fn(arg) in the next drain.  The fiber frees itself when fn returns: whoever keeps the
 * pointer clears it at the end of fn. */
struct fiber *fiber_start(struct loop *l, const char *name, loop_fn *fn, void *arg);
struct fiber *fiber_self(void); /* NULL outside of fibers */
struct loop *fiber_loop(void);  /* of the running fiber */
void fiber_cancel(struct fiber *f);
bool fiber_is_canceled(void); /* of the running fiber */
/* Fibers alive on this loop. */
unsigned fiber_count(const struct loop *l);
/* Cancels every fiber of the loop. */
void fiber_cancel_all(struct loop *l);

/* One thing to wait for.  Lives where the operation lives; wake it once per await. */
struct wait {
    struct fiber *who; /* the sleeper, forgotten at the wake */
    bool is_done;
};
#define WAIT_INIT ((struct wait){0})

void wait_wake(struct wait *w);  /* also before anybody waits; repeated wakes are one */
void wait_reset(struct wait *w); /* for the next use */
bool wait_await(struct wait *w, struct error *err);
void wait_through_await(struct wait *w);
/* Waits at most ms: false with ERR_TIMEOUT or ERR_CANCELED. */
bool wait_timed_await(struct loop *l, struct wait *w, int64_t ms, struct error *err);

bool sleep_await(struct loop *l, int64_t ms, struct error *err);
/* Lets everything else that is ready run first. */
bool yield_await(struct loop *l, struct error *err);

/* fn(arg) on the thread pool.  On cancel *stop (may be NULL) is set and the end is waited for;
 * then false with ERR_CANCELED. */
bool work_await(struct loop *l, loop_fn *fn, void *arg, atomic_bool *stop, struct error *err);
void work_through_await(struct loop *l, loop_fn *fn, void *arg);
/* The same on a thread that only waits for disks. */
void disk_through_await(struct loop *l, loop_fn *fn, void *arg);
/* fn(arg) on n threads of the pool at once, as far as they are free: when one of them returns, all
 * is done, and those that have not begun never do.  Else like work_await. */
bool work_crew_await(struct loop *l, loop_fn *fn, void *arg, unsigned n, atomic_bool *stop,
                     struct error *err);

/* Tests: called at the start of every cancelable await with its number, counted from 1. */
void fiber_watch_awaits(void (*fn)(unsigned long number, void *arg), void *arg);

#endif
