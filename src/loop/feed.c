/* SPDX-License-Identifier: MIT */
#include "loop/feed.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct feed {
    int fd;
    struct watch *watch;
    struct buf queue;
    size_t sent; /* bytes of the queue already written */
    bool is_broken;
    loop_fn *on_rest;
    void *arg;
};

/* Writes without blocking; returns how many bytes were written. */
static size_t write_try(struct feed *f, struct str bytes)
{
    size_t done = 0;
    while (done < bytes.n) {
        ssize_t n = write(f->fd, bytes.p + done, bytes.n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            f->is_broken = true;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

static void flush(struct feed *f)
{
    f->sent += write_try(f, str_from(buf_str(&f->queue), f->sent));
    if (f->is_broken || f->sent == f->queue.n) {
        buf_clear(&f->queue);
        f->sent = 0;
    } else if (f->sent > f->queue.n / 2) { /* moves fewer bytes than were sent */
        buf_drop(&f->queue, f->sent);
        f->sent = 0;
    }
}

static void on_watch(void *arg, int events)
{
    (void)events;
    struct feed *f = arg;
    flush(f);
    if (f->queue.n)
        return;
    watch_set(f->watch, 0);
    f->on_rest(f->arg); /* last: it may free f */
}

struct feed *feed_new(struct loop *l, int fd, loop_fn *on_rest, void *arg, struct error *err)
{
    struct feed *f = xnew(struct feed);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    *f = (struct feed){.fd = fd, .on_rest = on_rest, .arg = arg};
    f->watch = watch_new(l, fd, on_watch, f, err);
    if (f->watch)
        return f;
    feed_free(f);
    return NULL;
}

void feed_put(struct feed *f, struct str bytes)
{
    if (f->queue.n == 0 && !f->is_broken)
        bytes = str_from(bytes, write_try(f, bytes));
    if (f->is_broken || bytes.n == 0)
        return;
    buf_add(&f->queue, bytes);
    watch_set(f->watch, WATCH_OUT);
}

size_t feed_queued(const struct feed *f)
{
    return f->queue.n - f->sent;
}

bool feed_is_broken(const struct feed *f)
{
    return f->is_broken;
}

void feed_free(struct feed *f)
{
    if (!f)
        return;
    watch_free(f->watch);
    close(f->fd);
    buf_clear(&f->queue);
    free(f);
}
