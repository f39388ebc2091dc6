/* SPDX-License-Identifier: MIT */
/* The loop over libuv: thin objects whose first member is the libuv handle.
 *
 * Handles are created on demand, so an idle program has an epoll descriptor and little else.  A
 * handle's memory is freed in its close callback; since the handle is the first member of its
 * object, freeing the handle frees the object.
 */
#include "loop/internal.h"

#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

/* --- the loop and its ready list --- */

static void on_idle(uv_idle_t *h)
{
    struct loop *l = h->data;
    struct ready *r = l->first;
    l->first = NULL;
    l->last = &l->first;
    while (r) {
        struct ready *next = r->next;
        struct ready call = *r;
        if (call.is_later)
            free(r);
        if (call.run)
            call.run(call.arg);
        r = next;
    }
    if (!l->first)
        uv_idle_stop(&l->idle);
}

void loop_push(struct loop *l, struct ready *r)
{
    r->next = NULL;
    *l->last = r;
    l->last = &r->next;
    if (!uv_is_active((uv_handle_t *)&l->idle))
        uv_idle_start(&l->idle, on_idle);
}

struct ready *loop_soon(struct loop *l, loop_fn *fn, void *arg)
{
    struct ready *r = xnew(struct ready);
    r->run = fn;
    r->arg = arg;
    r->is_later = true;
    loop_push(l, r);
    return r;
}

void loop_take_back(struct ready *r)
{
    if (r)
        r->run = NULL;
}

void loop_later(struct loop *l, loop_fn *fn, void *arg)
{
    loop_soon(l, fn, arg);
}

struct loop *loop_new(void)
{
    struct loop *l = xnew(struct loop);
    int rc = uv_loop_init(&l->uv);
    if (rc != 0)
        die("cannot make an event loop: %s", uv_strerror(rc));
    uv_idle_init(&l->uv, &l->idle);
    l->idle.data = l;
    l->last = &l->first;
    l->fibers_end = &l->fibers;
    rounds_begin(l);
    return l;
}

static void on_handle_closed(uv_handle_t *h)
{
    free(h);
}

static void mask_signal(int how, int signo)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signo);
    pthread_sigmask(how, &set, NULL);
}

static void close_handle(uv_handle_t *h, void *arg)
{
    struct loop *l = arg;
    /* Closing restores the default action, which would end the process. */
    if (uv_handle_get_type(h) == UV_SIGNAL)
        mask_signal(SIG_BLOCK, ((uv_signal_t *)h)->signum);
    if (!uv_is_closing(h))
        uv_close(h, h == (uv_handle_t *)&l->idle ? NULL : on_handle_closed);
}

static void drop_ready(struct loop *l)
{
    while (l->first) {
        struct ready *r = l->first;
        l->first = r->next;
        if (r->is_later)
            free(r);
    }
    l->last = &l->first;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    if (l->n_fibers > 0)
        log_error("the loop ends with %u suspended fibers", l->n_fibers);
    if (l->children)
        l->children_free(l->children);
    work_end(l);
    rounds_end(l);
    uv_walk(&l->uv, close_handle, l);
    /* Callbacks may have created handles and work. */
    while (uv_loop_close(&l->uv) == UV_EBUSY) {
        uv_run(&l->uv, UV_RUN_DEFAULT);
        work_end(l);
        uv_walk(&l->uv, close_handle, l);
    }
    drop_ready(l);
    fiber_drop_stacks(l);
    free(l->read_bytes);
    free(l);
}

void loop_run(struct loop *l)
{
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *l)
{
    uv_stop(&l->uv);
}

void loop_step(struct loop *l, bool may_wait)
{
    uv_run(&l->uv, may_wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

/* --- timers --- */

struct timer {
    uv_timer_t handle;
    loop_fn *fn;
    void *arg;
};

static void on_timer(uv_timer_t *h)
{
    struct timer *t = (struct timer *)h;
    t->fn(t->arg);
}

struct timer *timer_new(struct loop *l, loop_fn *fn, void *arg)
{
    struct timer *t = xnew(struct timer);
    uv_timer_init(&l->uv, &t->handle);
    t->fn = fn;
    t->arg = arg;
    return t;
}

void timer_start(struct timer *t, int64_t ms)
{
    /* libuv's time is that of the start of the round; the timer must start from now. */
    uv_update_time(t->handle.loop);
    /* At least 1 ms: a timer of 0 ms that restarts itself would fire in the same round forever. */
    uv_timer_start(&t->handle, on_timer, ms > 0 ? (uint64_t)ms : 1, 0);
}

void timer_stop(struct timer *t)
{
    uv_timer_stop(&t->handle);
}

void timer_unref(struct timer *t)
{
    uv_unref((uv_handle_t *)&t->handle);
}

void timer_free(struct timer *t)
{
    if (t)
        uv_close((uv_handle_t *)&t->handle, on_handle_closed);
}

/* --- watches --- */

struct watch {
    uv_poll_t handle;
    int events; /* requested events */
    watch_fn *fn;
    void *arg;
};

static void on_poll(uv_poll_t *h, int status, int events);

static void poll_start(struct watch *w)
{
    int want = (w->events & WATCH_IN ? UV_READABLE : 0) |
               (w->events & WATCH_OUT ? UV_WRITABLE : 0) |
               (w->events & WATCH_GONE ? UV_PRIORITIZED : 0); /* a flag that pipes and sockets never
                                                               * report */
    uv_poll_start(&w->handle, want, on_poll);
}

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct watch *w = (struct watch *)h;
    if (status < 0) {
        /* libuv stops polling at a descriptor error.  All requested events are reported: reading or
         * writing then returns the error. */
        poll_start(w);
        w->fn(w->arg, w->events);
        return;
    }
    w->fn(w->arg, (events & UV_READABLE ? WATCH_IN : 0) | (events & UV_WRITABLE ? WATCH_OUT : 0) |
                      (events & UV_PRIORITIZED ? WATCH_GONE : 0));
}

struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg, struct error *err)
{
    struct watch *w = xnew(struct watch);
    int flags = fcntl(fd, F_GETFL);
    int rc = uv_poll_init(&l->uv, &w->handle, fd);
    if (rc != 0) {
        free(w);
        bool is_short = rc == UV_ENOSPC || rc == UV_ENOMEM;
        error_set(err, is_short ? ERR_LIMIT : ERR_IO, "cannot watch descriptor %d: %s", fd,
                  uv_strerror(rc));
        return NULL;
    }
    /* libuv makes the descriptor non-blocking; restore the owner's flags. */
    if (flags >= 0 && !(flags & O_NONBLOCK))
        fcntl(fd, F_SETFL, flags);
    w->fn = fn;
    w->arg = arg;
    return w;
}

void watch_set(struct watch *w, int events)
{
    if (events == w->events)
        return;
    w->events = events;
    if (events)
        poll_start(w);
    else
        uv_poll_stop(&w->handle);
}

void watch_unref(struct watch *w)
{
    uv_unref((uv_handle_t *)&w->handle);
}

void watch_free(struct watch *w)
{
    if (w)
        uv_close((uv_handle_t *)&w->handle, on_handle_closed);
}

/* --- signals --- */

struct signal_watch {
    uv_signal_t handle;
    struct loop *l;
    loop_fn *fn;
    void *arg;
};

static void on_signal(uv_signal_t *h, int signo)
{
    (void)signo;
    struct signal_watch *s = (struct signal_watch *)h;
    if (s->l->rounds)
        rounds_signalled(s->l->rounds);
    s->fn(s->arg);
}

void loop_on_signal(struct loop *l, int signo, loop_fn *fn, void *arg)
{
    struct signal_watch *s = xnew(struct signal_watch);
    s->l = l;
    s->fn = fn;
    s->arg = arg;
    mask_signal(SIG_UNBLOCK, signo);
    uv_signal_init(&l->uv, &s->handle);
    int rc = uv_signal_start(&s->handle, on_signal, signo);
    if (rc != 0)
        die("cannot watch signal %d: %s", signo, uv_strerror(rc));
    uv_unref((uv_handle_t *)&s->handle); /* a signal watcher does not keep loop_run going */
}
