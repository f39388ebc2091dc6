/* SPDX-License-Identifier: MIT */
/* Two pools of threads, started on demand.
 *
 *     work_start --> to_do --> a thread: fn --> over --> the loop: done
 *
 * A sync may take half a second and delays the acknowledgement of an input.  The first pool can be
 * full of searches at that moment, so syncs have one of their own.  libuv's pool is not used: it
 * aborts where a thread cannot be created.  Here the loop's thread does the work then.
 */
#include "base/arena.h"
#include "loop/internal.h"

#include "base/log.h"

#include <pthread.h>
#include <signal.h>

enum { POOL_THREADS = 4, STACK_BYTES = 8 << 20 };

struct work {
    struct work *next;
    struct pool *pool;
    loop_fn *fn, *done;
    void *arg;
    bool is_dropped;
};

struct queue {
    struct work *first, **last;
};

struct pool {
    uv_async_t async; /* first: the loop frees it when the handle is closed */
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct queue to_do, over;
    pthread_t threads[POOL_THREADS];
    unsigned n_threads, n_idle, n_to_do;
    unsigned n_open; /* unfinished work; used by the loop's thread only */
    bool is_ending;
};

static void push(struct queue *q, struct work *w)
{
    w->next = NULL;
    *q->last = w;
    q->last = &w->next;
}

static struct work *pop(struct queue *q)
{
    struct work *w = q->first;
    if (w && !(q->first = w->next))
        q->last = &q->first;
    return w;
}

/* With the lock held.  False: there is nothing to do. */
static bool work_one(struct pool *p)
{
    struct work *w = pop(&p->to_do);
    if (!w)
        return false;
    p->n_to_do--;
    bool is_dropped = w->is_dropped;
    pthread_mutex_unlock(&p->lock);
    if (!is_dropped)
        w->fn(w->arg);
    pthread_mutex_lock(&p->lock);
    push(&p->over, w);
    return true;
}

static void *thread_run(void *arg)
{
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        if (work_one(p)) {
            uv_async_send(&p->async);
        } else if (p->is_ending) {
            break;
        } else {
            p->n_idle++;
            pthread_cond_wait(&p->more, &p->lock);
            p->n_idle--;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void finish(struct pool *p)
{
    for (;;) {
        pthread_mutex_lock(&p->lock);
        struct work *w = pop(&p->over);
        pthread_mutex_unlock(&p->lock);
        if (!w)
            return;
        if (--p->n_open == 0)
            uv_unref((uv_handle_t *)&p->async); /* idle threads do not keep loop_run going */
        if (w->done)
            w->done(w->arg);
        free(w);
    }
}

static void on_async(uv_async_t *h)
{
    finish((struct pool *)h);
}

static struct pool *pool_of(struct loop *l, enum loop_pool which)
{
    if (l->pools[which])
        return l->pools[which];
    struct pool *p = l->pools[which] = xnew(struct pool);
    uv_async_init(&l->uv, &p->async, on_async);
    uv_unref((uv_handle_t *)&p->async);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    p->to_do.last = &p->to_do.first;
    p->over.last = &p->over.first;
    return p;
}

static void work_here(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    work_one(p);
    pthread_mutex_unlock(&p->lock);
    finish(p);
}

static void on_later(void *arg)
{
    struct loop *l = arg;
    for (int i = 0; i < LOOP_POOLS; i++)
        if (l->pools[i] && l->pools[i]->n_threads == 0)
            work_here(l->pools[i]);
}

/* Signals are blocked in the threads. */
static void start_thread(struct pool *p)
{
    static bool has_warned;
    pthread_attr_t attr;
    sigset_t all, old;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&p->threads[p->n_threads], &attr, thread_run, p) == 0)
        p->n_threads++;
    else if (p->n_threads == 0 && !has_warned)
        log_warn("no thread can be created; work with files blocks everything else");
    has_warned |= p->n_threads == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

static struct work *start(struct loop *l, enum loop_pool which, loop_fn *fn, loop_fn *done,
                          void *arg)
{
    struct pool *p = pool_of(l, which);
    struct work *w = xnew(struct work);
    *w = (struct work){.pool = p, .fn = fn, .done = done, .arg = arg};
    if (p->n_open++ == 0)
        uv_ref((uv_handle_t *)&p->async);
    pthread_mutex_lock(&p->lock);
    push(&p->to_do, w);
    if (p->n_idle < ++p->n_to_do && p->n_threads < POOL_THREADS)
        start_thread(p);
    if (p->n_threads == 0)
        loop_later(l, on_later, l);
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
    return w;
}

struct work *work_start(struct loop *l, loop_fn *fn, loop_fn *done, void *arg)
{
    return start(l, LOOP_WORK, fn, done, arg);
}

static void clear_arena(void *arg)
{
    arena_clear(arg);
    mem_trim();
}

bool loop_clear_arena(struct loop *l, struct arena *a)
{
    enum { LARGE = 8 << 20 };
    if (a->used < LARGE) {
        arena_clear(a);
        return true;
    }
    struct arena *moved = xnew(struct arena);
    *moved = take(a);
    work_start(l, clear_arena, free, moved);
    return false;
}

void disk_start(struct loop *l, loop_fn *fn, loop_fn *done, void *arg)
{
    start(l, LOOP_DISK, fn, done, arg);
}

void work_drop(struct work *w)
{
    pthread_mutex_lock(&w->pool->lock);
    w->is_dropped = true;
    pthread_mutex_unlock(&w->pool->lock);
}

unsigned work_width(void)
{
    return MIN(MAX(uv_available_parallelism(), 1), (unsigned)POOL_THREADS);
}

static void pool_end(struct pool *p)
{
    while (p->n_threads == 0 && p->to_do.first)
        work_here(p);
    pthread_mutex_lock(&p->lock);
    p->is_ending = true;
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    finish(p);
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
}

void work_end(struct loop *l)
{
    for (int i = 0; i < LOOP_POOLS; i++)
        if (l->pools[i])
            pool_end(take(&l->pools[i]));
}
