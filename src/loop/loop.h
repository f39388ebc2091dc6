/* SPDX-License-Identifier: MIT */
/* The event loop: one thread, timers, descriptors, signals, background work.  Only src/loop uses
 * libuv; no uv_* name appears elsewhere.
 *
 * Callbacks are short: they store a result and wake a fiber.  An object may be freed inside its own
 * callback; its memory is released when libuv has closed the handle.
 */
#ifndef TRIVET_LOOP_LOOP_H
#define TRIVET_LOOP_LOOP_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct loop;
typedef void loop_fn(void *arg);

struct loop *loop_new(void);
/* Closes remaining handles and frees the loop.  No fiber may be left. */
void loop_free(struct loop *l);
/* Runs until loop_stop was called, or until nothing is active. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* One round: handles what is ready; waits for something when may_wait.  For tests. */
void loop_step(struct loop *l, bool may_wait);
/* Calls fn once from the loop's next round; in the order of the calls. */
void loop_later(struct loop *l, loop_fn *fn, void *arg);
/* The same, but can be canceled until it is called. */
struct ready;
struct ready *loop_soon(struct loop *l, loop_fn *fn, void *arg);
void loop_take_back(struct ready *r); /* NULL is fine */

struct timer;
struct timer *timer_new(struct loop *l, loop_fn *fn, void *arg);
void timer_start(struct timer *t, int64_t ms); /* fires once; starting again resets it */
void timer_stop(struct timer *t);
void timer_free(struct timer *t);

/* WATCH_GONE: only errors and hang-ups, which the other events report too. */
enum { WATCH_IN = 1, WATCH_OUT = 2, WATCH_GONE = 4 };
typedef void watch_fn(void *arg, int events);
struct watch;
/* Watches a descriptor that epoll supports (pipe, socket, tty, pidfd, eventfd); NULL and err for a
 * regular file, with ERR_LIMIT when the kernel has no resources for it.  The caller keeps the
 * descriptor. */
struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg, struct error *err);
void watch_set(struct watch *w, int events); /* 0 stops */
void watch_free(struct watch *w);

/* Calls fn whenever the signal arrives, until the loop is freed; from then on it is blocked, so
 * that a late signal does not interrupt the shutdown. */
void loop_on_signal(struct loop *l, int signo, loop_fn *fn, void *arg);

/* Runs fn(arg) on the thread pool and done(arg) on the loop afterwards.  Where no thread can be
 * started, fn runs on the loop's thread and blocks it. */
struct work;
struct work *work_start(struct loop *l, loop_fn *fn, loop_fn *done, void *arg);
/* If fn has not started it is not called; done is called in any case.  Must not be called after
 * done. */
void work_drop(struct work *w);
/* Clears the arena, a large one on the thread pool (200 MB take 28 ms): false, it is not done yet.
 */
struct arena;
bool loop_clear_arena(struct loop *l, struct arena *a);
/* The same as work_start on a thread for disk syncs, so that they never wait for searches in the
 * pool. */
void disk_start(struct loop *l, loop_fn *fn, loop_fn *done, void *arg);
/* How many threads can work in parallel: usable processors, at most the size of the pool. */
unsigned work_width(void);

#endif
