/* SPDX-License-Identifier: MIT */
/* Work on libuv's thread pool.
 *
 * libuv aborts when a thread of its pool cannot be created.  So before the first work, trivet tries
 * to create that many threads and sets the size of the pool to the number that worked; with none,
 * the loop's thread does the work itself.
 */
#include "loop/internal.h"

#include "base/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { POOL_THREADS = 4, POOL_MAX = 64, STACK_BYTES = 8 << 20 }; /* the first two as in libuv */

struct work {
    uv_work_t request;  /* first: libuv passes a pointer to it */
    struct ready *soon; /* without threads: the pending call; NULL afterwards */
    loop_fn *fn, *done;
    void *arg;
    bool is_dropped; /* without threads */
};

/* --- number of threads --- */

static void wait_for_trial(void *arg)
{
    uv_mutex_t *trial = arg;
    uv_mutex_lock(trial);
    uv_mutex_unlock(trial);
}

static unsigned try_threads(unsigned n)
{
    const uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE,
                                         .stack_size = STACK_BYTES};
    uv_thread_t threads[POOL_MAX];
    uv_mutex_t trial;
    unsigned n_made = 0;
    uv_mutex_init(&trial);
    uv_mutex_lock(&trial);
    while (n_made < n &&
           uv_thread_create_ex(&threads[n_made], &options, wait_for_trial, &trial) == 0)
        n_made++;
    uv_mutex_unlock(&trial);
    for (unsigned i = 0; i < n_made; i++)
        uv_thread_join(&threads[i]);
    uv_mutex_destroy(&trial);
    return n_made;
}

/* Sets the size of the pool, which the first work creates. */
static unsigned find_pool_size(void)
{
    static const char name[] = "UV_THREADPOOL_SIZE";
    char size[16];
    int64_t wanted = POOL_THREADS;
    const char *given = getenv(name);
    if (given && (!str_int(str_of(given), &wanted) || wanted < 1))
        wanted = 1;
    unsigned n = try_threads((unsigned)MIN(wanted, POOL_MAX));
    snprintf(size, sizeof size, "%u", n);
    if (n > 0 && (int64_t)n < wanted)
        setenv(name, size, 1);
    if (n == 0)
        log_warn("no thread can be created; work with files blocks everything else");
    return n;
}

/* --- running work --- */

static void on_work(uv_work_t *request)
{
    struct work *w = (struct work *)request;
    w->fn(w->arg);
}

static void on_work_done(uv_work_t *request, int status)
{
    (void)status;
    struct work *w = (struct work *)request;
    if (w->done)
        w->done(w->arg);
    free(w);
}

static void on_soon(void *arg)
{
    struct work *w = arg;
    w->soon = NULL;
    if (!w->is_dropped)
        w->fn(w->arg);
    on_work_done(&w->request, 0);
}

/* The threads are created by the first work, with all signals blocked. */
static void queue_work(struct loop *l, struct work *w)
{
    static bool has_pool, has_threads;
    sigset_t all, old;
    sigfillset(&all);
    if (!has_pool) {
        pthread_sigmask(SIG_SETMASK, &all, &old);
        has_threads = find_pool_size() > 0;
    }
    if (has_threads)
        uv_queue_work(&l->uv, &w->request, on_work, on_work_done);
    else
        w->soon = loop_soon(l, on_soon, w);
    if (!has_pool)
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    has_pool = true;
}

struct work *work_start(struct loop *l, loop_fn *fn, loop_fn *done, void *arg)
{
    struct work *w = xnew(struct work);
    w->fn = fn;
    w->done = done;
    w->arg = arg;
    queue_work(l, w);
    return w;
}

void work_drop(struct work *w)
{
    w->is_dropped = true;
    if (!w->soon)
        uv_cancel((uv_req_t *)&w->request); /* fails when the work has started, which is fine */
}

unsigned work_width(void)
{
    return MIN(MAX(uv_available_parallelism(), 1), (unsigned)POOL_THREADS);
}
