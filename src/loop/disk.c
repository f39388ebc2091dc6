/* SPDX-License-Identifier: MIT */
/* Threads that wait for disks.
 *
 * A sync may take half a second and delays the acknowledgement of an input.  The thread pool can be
 * full of searches at that moment, so syncs have threads of their own, started on demand.  Where no
 * thread can be started, the loop's thread does the work.
 *
 *     disk_start --> to_do --> a thread: fn --> over --> the loop: done
 */
#include "loop/internal.h"

#include <pthread.h>
#include <signal.h>

enum { DISK_THREADS = 4 };

struct disk_job {
    struct disk_job *next;
    loop_fn *fn, *done;
    void *arg;
};

struct disk_queue {
    struct disk_job *first, **last;
};

struct disk {
    uv_async_t async; /* first: the loop frees it when the handle is closed */
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct disk_queue to_do, over;
    pthread_t threads[DISK_THREADS];
    unsigned n_threads, n_idle, n_to_do;
    unsigned n_open; /* unfinished jobs; used by the loop's thread only */
    bool is_ending;
};

static void push(struct disk_queue *q, struct disk_job *j)
{
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

static struct disk_job *pop(struct disk_queue *q)
{
    struct disk_job *j = q->first;
    if (j && !(q->first = j->next))
        q->last = &q->first;
    return j;
}

static void *thread_run(void *arg)
{
    struct disk *d = arg;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        struct disk_job *j = pop(&d->to_do);
        if (j) {
            d->n_to_do--;
            pthread_mutex_unlock(&d->lock);
            j->fn(j->arg);
            pthread_mutex_lock(&d->lock);
            push(&d->over, j);
            uv_async_send(&d->async);
        } else if (d->is_ending) {
            break;
        } else {
            d->n_idle++;
            pthread_cond_wait(&d->more, &d->lock);
            d->n_idle--;
        }
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void finish_jobs(struct disk *d)
{
    for (;;) {
        pthread_mutex_lock(&d->lock);
        struct disk_job *j = pop(&d->over);
        pthread_mutex_unlock(&d->lock);
        if (!j)
            return;
        if (--d->n_open == 0)
            uv_unref((uv_handle_t *)&d->async); /* idle threads do not keep loop_run going */
        j->done(j->arg);
        free(j);
    }
}

static void on_async(uv_async_t *h)
{
    finish_jobs((struct disk *)h);
}

static struct disk *disk_of(struct loop *l)
{
    if (l->disk)
        return l->disk;
    struct disk *d = l->disk = xnew(struct disk);
    uv_async_init(&l->uv, &d->async, on_async);
    uv_unref((uv_handle_t *)&d->async);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->more, NULL);
    d->to_do.last = &d->to_do.first;
    d->over.last = &d->over.first;
    return d;
}

/* Where no thread can be started, the loop's thread does the job. */
static void do_here(void *arg)
{
    struct loop *l = arg;
    struct disk *d = l->disk;
    struct disk_job *j = d ? pop(&d->to_do) : NULL;
    if (!j)
        return;
    d->n_to_do--;
    j->fn(j->arg);
    push(&d->over, j);
    finish_jobs(d);
}

/* Call with the lock held.  Signals are blocked in the threads.  False: no thread could be
 * started. */
static bool need_thread(struct disk *d)
{
    sigset_t all, old;
    if (d->n_idle >= d->n_to_do || d->n_threads == DISK_THREADS)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&d->threads[d->n_threads], NULL, thread_run, d) == 0)
        d->n_threads++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return d->n_threads > 0;
}

void disk_start(struct loop *l, loop_fn *fn, loop_fn *done, void *arg)
{
    struct disk *d = disk_of(l);
    struct disk_job *j = xnew(struct disk_job);
    j->fn = fn;
    j->done = done;
    j->arg = arg;
    if (d->n_open++ == 0)
        uv_ref((uv_handle_t *)&d->async);
    pthread_mutex_lock(&d->lock);
    push(&d->to_do, j);
    d->n_to_do++;
    if (!need_thread(d))
        loop_later(l, do_here, l);
    pthread_cond_signal(&d->more);
    pthread_mutex_unlock(&d->lock);
}

void disk_end(struct loop *l)
{
    struct disk *d = l->disk;
    if (!d)
        return;
    while (d->n_threads == 0 && d->to_do.first)
        do_here(l);
    pthread_mutex_lock(&d->lock);
    d->is_ending = true;
    pthread_cond_broadcast(&d->more);
    pthread_mutex_unlock(&d->lock);
    for (unsigned i = 0; i < d->n_threads; i++)
        pthread_join(d->threads[i], NULL);
    l->disk = NULL;
    finish_jobs(d);
    pthread_cond_destroy(&d->more);
    pthread_mutex_destroy(&d->lock);
}
