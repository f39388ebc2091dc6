/* SPDX-License-Identifier: MIT */
/* Readers and writers on inherited descriptors.
 *
 * Such a descriptor may be shared with a shell, a parent or a sibling, so O_NONBLOCK must not be
 * set on it.  How each kind is kept from blocking the loop:
 *
 *     pipe, terminal   reopened through /proc: a separate file description, non-blocking
 *     socket           MSG_DONTWAIT with every call
 *     other pollable   (or when reopening failed) one small call after each poll that allows it
 *     not pollable     regular files and the like: plain calls, input in chunks, one per round
 *
 * Callbacks are called from the loop only, never from inside a function of this file; without a
 * descriptor event, from the ready list.
 */
#include "loop/io.h"

#include "base/buf.h"
#include "loop/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 << 10,
    KEEP_BYTES = 256 << 10,      /* of an empty queue */
    KEEP_SOCKET_BYTES = 4 << 10, /* the same for sockets, of which there may be thousands */
};

enum kind { KIND_OWN, KIND_SOCKET, KIND_SHARED, KIND_PLAIN };

/* --- standard input and output --- */

static int must(int fd)
{
    if (fd < 0)
        die("cannot set up standard input and output: %s", strerror(errno));
    return fd;
}

void io_claim_stdio(int *ret_in, int *ret_out)
{
    signal(SIGPIPE, SIG_IGN); /* a closed read end makes write fail and does not end the process */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            must(open("/dev/null", O_RDWR)); /* takes the lowest free number: fd */
    *ret_in = must(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    *ret_out = must(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    int null = must(open("/dev/null", O_RDONLY | O_CLOEXEC));
    must(dup2(null, STDIN_FILENO));
    must(dup2(STDERR_FILENO, STDOUT_FILENO));
    close(null);
}

/* --- shared by both directions --- */

/* Finds the kind of *fd, which is replaced when it can be reopened. */
static enum kind kind_find(int *fd)
{
    struct stat st;
    if (fstat(*fd, &st) != 0)
        return KIND_SHARED; /* watch_try finds out if it is not pollable */
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
        return KIND_PLAIN;
    if (S_ISSOCK(st.st_mode))
        return KIND_SOCKET;
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        return KIND_SHARED;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    int mode = fcntl(*fd, F_GETFL) & O_ACCMODE;
    int own = open(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (own < 0)
        return KIND_SHARED;
    close(*fd);
    *fd = own;
    return KIND_OWN;
}

/* A watch for fd, or NULL when epoll does not support it; then *kind is KIND_PLAIN.  When the
 * kernel lacks resources, reading without a watch would block the loop, so the process exits. */
static struct watch *watch_try(struct loop *l, int fd, enum kind *kind, watch_fn *fn, void *arg)
{
    struct error err;
    struct watch *w = *kind == KIND_PLAIN ? NULL : watch_new(l, fd, fn, arg, &err);
    if (!w && *kind != KIND_PLAIN && err.code == ERR_LIMIT)
        die("%s", err.text);
    if (!w)
        *kind = KIND_PLAIN;
    return w;
}

static bool must_wait(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* Both directions of a socket by one descriptor and one watch. */
struct duplex {
    int fd;
    struct watch *watch;
    int wanted[2]; /* events of the reader and of the writer */
    struct reader *reader;
    struct writer *writer;
    bool is_inside;
};

/* side: 0 for the reader, 1 for the writer. */
static inline void arm(struct watch *watch, struct duplex *d, int side, int events)
{
    if (d) {
        d->wanted[side] = events;
        events = d->wanted[0] | d->wanted[1];
    }
    watch_set(watch, events);
}

static void duplex_check(struct duplex *d)
{
    if (d->reader || d->writer || d->is_inside)
        return;
    watch_free(d->watch);
    close(d->fd);
    free(d);
}

/* --- reader --- */

struct reader {
    struct loop *l;
    int fd;
    enum kind kind;
    struct watch *watch; /* NULL for KIND_PLAIN */
    struct duplex *duplex;
    struct ready *soon; /* KIND_PLAIN: the next chunk */
    reader_fn *fn;
    void *arg;
    bool is_paused;
    bool is_over;   /* the end was reported */
    bool is_inside; /* fn is running; freed after it returns */
    bool is_dead;
};

static void on_reader_soon(void *arg);

static void reader_arm(struct reader *r)
{
    bool is_on = !r->is_paused && !r->is_over;
    if (r->watch)
        arm(r->watch, r->duplex, 0, is_on ? WATCH_IN : 0);
    else if (is_on && !r->soon)
        r->soon = loop_soon(r->l, on_reader_soon, r);
    else if (!is_on)
        loop_take_back(take(&r->soon));
}

static void reader_tell(struct reader *r, struct str bytes)
{
    r->is_over = bytes.n == 0;
    reader_arm(r);
    r->is_inside = true;
    r->fn(r->arg, bytes);
    r->is_inside = false;
    if (r->is_dead)
        free(r);
}

/* All readers of a loop share one buffer, so that an idle one needs none: reads happen only in
 * callbacks of the loop, one after the other. */
static void reader_read(struct reader *r)
{
    struct loop *l = r->l;
    if (!l->read_bytes)
        l->read_bytes = xmalloc(READ_BYTES); /* not cleared: untouched pages need no memory */
    ssize_t n = r->kind == KIND_SOCKET ? recv(r->fd, l->read_bytes, READ_BYTES, MSG_DONTWAIT)
                                       : read(r->fd, l->read_bytes, READ_BYTES);
    if (must_wait(n))
        reader_arm(r);
    else
        reader_tell(r, str_n(l->read_bytes, n > 0 ? (size_t)n : 0));
}

static void on_reader_watch(void *arg, int events)
{
    (void)events;
    reader_read(arg);
}

static void on_reader_soon(void *arg)
{
    struct reader *r = arg;
    r->soon = NULL;
    reader_read(r);
}

struct reader *reader_new(struct loop *l, int fd, reader_fn *fn, void *arg)
{
    struct reader *r = xnew(struct reader);
    *r = (struct reader){.l = l, .fn = fn, .arg = arg, .kind = kind_find(&fd)};
    r->fd = fd;
    r->watch = watch_try(l, fd, &r->kind, on_reader_watch, r);
    reader_arm(r);
    return r;
}

void reader_pause(struct reader *r, bool paused)
{
    r->is_paused = paused;
    reader_arm(r);
}

void reader_free(struct reader *r)
{
    if (!r || r->is_dead)
        return;
    loop_take_back(r->soon);
    if (r->duplex) {
        arm(r->watch, r->duplex, 0, 0);
        r->duplex->reader = NULL;
        duplex_check(r->duplex);
    } else {
        watch_free(r->watch);
        close(r->fd);
    }
    r->is_dead = true;
    if (!r->is_inside)
        free(r);
}

/* --- writer --- */

/* A queued piece of output: own bytes, or a blob. */
struct waiting {
    struct waiting *next;
    struct buf own;
    struct blob *blob;
};

struct writer {
    struct loop *l;
    int fd;
    enum kind kind;
    struct watch *watch; /* NULL for KIND_PLAIN */
    struct duplex *duplex;
    struct ready *soon; /* pending callback from the ready list */
    struct waiting *first, *last;
    size_t sent;      /* bytes of the first already written */
    size_t queued;    /* unsent bytes of the whole queue */
    uint64_t written; /* bytes of all times */
    writer_fn *fn;
    void *arg;
    bool is_held;
    bool minds_reader; /* writer_mind_reader */
    bool is_broken;
    int cause;        /* errno of the failure */
    bool is_reported; /* the failure was reported */
    bool is_inside;
    bool is_dead;
};

static ssize_t write_some(struct writer *w, struct str bytes)
{
    switch (w->kind) {
    case KIND_SOCKET:
        return send(w->fd, bytes.p, bytes.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    case KIND_SHARED: /* this many bytes never block after a poll */
        return write(w->fd, bytes.p, MIN(bytes.n, (size_t)PIPE_BUF));
    default:
        return write(w->fd, bytes.p, bytes.n);
    }
}

static struct str waiting_str(const struct waiting *q)
{
    return buf_str(q->blob ? &q->blob->bytes : &q->own);
}

static void drop_first(struct writer *w)
{
    struct waiting *q = w->first;
    w->first = q->next;
    if (!w->first)
        w->last = NULL;
    w->sent = 0;
    buf_clear(&q->own);
    blob_release(q->blob);
    free(q);
}

static void drop_all(struct writer *w)
{
    while (w->first)
        drop_first(w);
    w->queued = 0;
}

static void writer_break(struct writer *w, int cause)
{
    w->is_broken = true;
    w->cause = cause;
    drop_all(w);
}

static struct waiting *add_waiting(struct writer *w)
{
    struct waiting *q = xnew(struct waiting);
    if (w->last)
        w->last->next = q;
    else
        w->first = q;
    w->last = q;
    return q;
}

/* Writes without blocking; returns how many bytes were written. */
static size_t write_try(struct writer *w, struct str bytes)
{
    size_t done = 0;
    while (done < bytes.n) {
        ssize_t n = write_some(w, str_from(bytes, done));
        if (n < 0 && errno == EINTR)
            continue;
        if (must_wait(n))
            break;
        if (n <= 0) {
            writer_break(w, n < 0 ? errno : EIO);
            break;
        }
        done += (size_t)n;
        w->written += (uint64_t)n;
        if (w->kind != KIND_PLAIN)
            break; /* a short write: the rest would block, wait for the poll */
    }
    return done;
}

/* Some bytes of the first are written; true when that was all of it. */
static bool first_sent(struct writer *w, size_t n)
{
    struct waiting *q = w->first;
    w->sent += n;
    w->queued -= n;
    if (w->sent < waiting_str(q).n) {
        if (!q->blob && w->sent > KEEP_BYTES && w->sent > q->own.n / 2) {
            buf_drop(&q->own, w->sent); /* moves fewer bytes than were sent, so each byte about
                                         * once */
            w->sent = 0;
        }
        return false;
    }
    size_t keep = w->kind == KIND_SOCKET ? KEEP_SOCKET_BYTES : KEEP_BYTES;
    if (q->next || q->blob || q->own.capacity > keep) {
        drop_first(w);
    } else { /* the last one is kept for the next bytes */
        buf_reset(&q->own);
        w->sent = 0;
    }
    return true;
}

static void flush(struct writer *w)
{
    while (writer_queued(w) > 0) {
        size_t n = write_try(w, str_from(waiting_str(w->first), w->sent));
        if (w->is_broken || !first_sent(w, n))
            return;
    }
}

static void writer_arm(struct writer *w)
{
    int idle = w->minds_reader && !w->is_broken ? WATCH_GONE : 0;
    if (w->watch)
        arm(w->watch, w->duplex, 1, writer_queued(w) > 0 && !w->is_held ? WATCH_OUT : idle);
}

static void tell(struct writer *w)
{
    if (w->is_reported)
        return;
    w->is_reported = w->is_broken;
    w->is_inside = true;
    w->fn(w->arg, w->is_broken);
    w->is_inside = false;
    if (w->is_dead)
        free(w);
}

static void on_writer_soon(void *arg)
{
    struct writer *w = arg;
    w->soon = NULL;
    if (w->is_broken || writer_queued(w) == 0)
        tell(w);
}

static void tell_soon(struct writer *w)
{
    if (!w->soon)
        w->soon = loop_soon(w->l, on_writer_soon, w);
}

static bool has_lost_reader(const struct writer *w)
{
    struct pollfd p = {.fd = w->fd};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

static void on_writer_watch(void *arg, int events)
{
    (void)events;
    struct writer *w = arg;
    if (w->minds_reader && has_lost_reader(w))
        writer_break(w, EPIPE);
    flush(w);
    writer_arm(w);
    if (w->is_broken || writer_queued(w) == 0)
        tell(w);
}

struct writer *writer_new(struct loop *l, int fd, writer_fn *fn, void *arg)
{
    struct writer *w = xnew(struct writer);
    w->l = l;
    w->fn = fn;
    w->arg = arg;
    w->kind = kind_find(&fd);
    w->fd = fd;
    w->watch = watch_try(l, fd, &w->kind, on_writer_watch, w);
    return w;
}

struct writer *writer_new_own(struct loop *l, int fd, writer_fn *fn, void *arg, struct error *err)
{
    struct writer *w = xnew(struct writer);
    *w = (struct writer){.l = l, .fd = fd, .fn = fn, .arg = arg, .kind = KIND_OWN};
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if ((w->watch = watch_new(l, fd, on_writer_watch, w, err)))
        return w;
    writer_free(w);
    return NULL;
}

void writer_put(struct writer *w, struct str bytes)
{
    if (w->is_broken)
        return;
    if (writer_queued(w) == 0 && !w->is_held && w->kind != KIND_SHARED)
        bytes = str_from(bytes, write_try(w, bytes));
    if (w->is_broken) {
        tell_soon(w);
    } else if (bytes.n > 0) {
        bool can_grow = w->last && !w->last->blob && w->last->own.n < KEEP_BYTES;
        buf_add(&(can_grow ? w->last : add_waiting(w))->own, bytes);
        w->queued += bytes.n;
    }
    if (!w->is_held) /* else it is armed at the end of the hold */
        writer_arm(w);
}

/* The last piece is only queued: it is written as soon as the descriptor is writable. */
static void queue_last(struct writer *w)
{
    w->queued += waiting_str(w->last).n;
    if (!w->is_held && w->kind != KIND_SHARED) {
        flush(w);
        if (w->is_broken || writer_queued(w) == 0)
            tell_soon(w);
    }
    writer_arm(w);
}

void writer_give(struct writer *w, struct buf *bytes)
{
    if (w->is_broken || bytes->n == 0) {
        buf_clear(bytes);
        return;
    }
    add_waiting(w)->own = take(bytes);
    queue_last(w);
}

void writer_share(struct writer *w, struct blob *b)
{
    if (w->is_broken || b->bytes.n == 0)
        return;
    add_waiting(w)->blob = blob_hold(b);
    queue_last(w);
}

void writer_hold(struct writer *w, bool held)
{
    w->is_held = held;
    if (!held && writer_queued(w) > 0 && w->kind != KIND_SHARED) {
        flush(w);
        if (w->is_broken || writer_queued(w) == 0)
            tell_soon(w);
    }
    writer_arm(w);
}

void writer_mind_reader(struct writer *w)
{
    w->minds_reader = true;
    writer_arm(w);
}

void writer_abandon(struct writer *w)
{
    writer_break(w, EPIPE);
    w->is_reported = true;
    writer_arm(w);
}

uint64_t writer_written(const struct writer *w)
{
    return w->written;
}

size_t writer_queued(const struct writer *w)
{
    return w->queued;
}

bool writer_is_broken(const struct writer *w)
{
    return w->is_broken;
}

int writer_cause(const struct writer *w)
{
    return w->cause;
}

void writer_free(struct writer *w)
{
    if (!w || w->is_dead)
        return;
    loop_take_back(w->soon);
    if (w->duplex) {
        arm(w->watch, w->duplex, 1, 0);
        w->duplex->writer = NULL;
        duplex_check(w->duplex);
    } else {
        watch_free(w->watch);
        close(w->fd);
    }
    drop_all(w);
    w->is_dead = true;
    if (!w->is_inside)
        free(w);
}

/* --- both directions --- */

static void on_duplex_watch(void *arg, int events)
{
    struct duplex *d = arg;
    d->is_inside = true;
    if ((events & WATCH_IN) && d->reader && d->wanted[0])
        reader_read(d->reader);
    if ((events & (WATCH_OUT | WATCH_GONE)) && d->writer && d->wanted[1])
        on_writer_watch(d->writer, events);
    d->is_inside = false;
    duplex_check(d);
}

bool duplex_new(struct loop *l, int fd, const struct duplex_calls *calls,
                struct reader **ret_reader, struct writer **ret_writer, struct error *err)
{
    struct duplex *d = xnew(struct duplex);
    d->fd = fd;
    d->watch = watch_new(l, fd, on_duplex_watch, d, err);
    if (!d->watch) {
        close(fd);
        free(d);
        return false;
    }
    d->reader = xnew(struct reader);
    *d->reader = (struct reader){.l = l,
                                 .fd = fd,
                                 .kind = KIND_SOCKET,
                                 .watch = d->watch,
                                 .duplex = d,
                                 .fn = calls->on_bytes,
                                 .arg = calls->arg};
    d->writer = xnew(struct writer);
    *d->writer = (struct writer){.l = l,
                                 .fd = fd,
                                 .kind = KIND_SOCKET,
                                 .watch = d->watch,
                                 .duplex = d,
                                 .fn = calls->on_written,
                                 .arg = calls->arg};
    *ret_reader = d->reader;
    *ret_writer = d->writer;
    reader_arm(d->reader);
    return true;
}
