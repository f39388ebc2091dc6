/* SPDX-License-Identifier: MIT */
/* Fibers: stackful coroutines on the loop's thread, for sequential code with many waits.
 *
 * A fiber runs until it awaits; a callback wakes it by putting it on the loop's ready list, which
 * is drained once per round in the order of the wakes.  Only functions named *_await and *_fiber
 * may await.
 *
 * Cancel is a sticky flag.  Every cancelable await checks it first and fails with ERR_CANCELED; a
 * suspended one is woken.  An operation that completed before the cancel arrived still counts as
 * completed.  Clean-up that must wait uses the *_through_await forms, which cannot be canceled.
 */
#ifndef TRIVET_LOOP_FIBER_H
#define TRIVET_LOOP_FIBER_H

#include "loop/loop.h"

#include <stdatomic.h>

struct fiber;

/* Starts fn(arg) in the next drain.  The fiber frees itself when fn returns: kept pointers to it
 * must be cleared at the end of fn. */
struct fiber *fiber_start(struct loop *l, const char *name, loop_fn *fn, void *arg);
struct fiber *fiber_self(void); /* NULL outside of fibers */
struct loop *fiber_loop(void);  /* of the running fiber */
void fiber_cancel(struct fiber *f);
bool fiber_is_canceled(void); /* of the running fiber */
/* Number of fibers of this loop. */
unsigned fiber_count(const struct loop *l);
/* Cancels every fiber of the loop. */
void fiber_cancel_all(struct loop *l);
/* Cancels them and runs the loop until they have ended. */
void fiber_end_all(struct loop *l);

/* A one-shot event that one fiber can await.  Part of the operation's struct; wake it once per
 * await. */
struct wait {
    struct fiber *fiber; /* the waiting fiber; cleared by the wake */
    bool is_done;
};
#define WAIT_INIT ((struct wait){0})

void wait_wake(struct wait *w);  /* also before the await; repeated wakes count as one */
void wait_reset(struct wait *w); /* for the next use */
bool wait_await(struct wait *w, struct error *err);
void wait_through_await(struct wait *w);
/* Waits at most ms: false with ERR_TIMEOUT or ERR_CANCELED. */
bool wait_timed_await(struct loop *l, struct wait *w, int64_t ms, struct error *err);

bool sleep_await(struct loop *l, int64_t ms, struct error *err);
/* Suspends until everything else that is ready has run. */
bool yield_await(struct loop *l, struct error *err);

/* Runs fn(arg) on the thread pool.  On cancel, sets *stop (may be NULL), waits for fn to return,
 * then fails with ERR_CANCELED. */
bool work_await(struct loop *l, loop_fn *fn, void *arg, atomic_bool *stop, struct error *err);
void work_through_await(struct loop *l, loop_fn *fn, void *arg);
/* The same on a thread for disk syncs; not cancelable. */
void disk_through_await(struct loop *l, loop_fn *fn, void *arg);
/* Runs fn(arg) on up to n free threads of the pool in parallel.  When the first call returns, the
 * work is done: calls not yet started are dropped.  Otherwise like work_await. */
bool work_crew_await(struct loop *l, loop_fn *fn, void *arg, unsigned n, atomic_bool *stop,
                     struct error *err);

/* Tests: called at the start of every cancelable await with its number, counted from 1. */
void fiber_watch_awaits(void (*fn)(unsigned long number, void *arg), void *arg);

#endif
