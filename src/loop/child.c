/* SPDX-License-Identifier: MIT */
/* The pipes and timers of a command in the engine's process; the holder manages its processes.
 *
 * What must be true before on_end is called:
 *
 *     the command has ended        its status arrived, or the holder died without one
 *     its output is at its end     or linger_ms is over; not while paused with output left
 *     its tree is gone             only when it was killed; else background processes go on
 *
 * Output that was written before linger_ms ended is delivered: at the end each pipe is read once
 * more, up to the bytes it holds at that moment.
 */
#include "loop/child.h"

#include "base/time.h"
#include "base/limits.h"
#include "loop/io.h"
#include "loop/room.h"
#include "loop/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10, N_STREAMS = 3 };

struct child_stream {
    struct child *c;
    int number; /* 1, 2 or 3 */
    int fd;     /* -1 when closed */
    struct watch *watch;
};

struct child {
    struct holder *holder; /* NULL when the tree is gone */
    struct child_stream streams[N_STREAMS];
    struct writer *input; /* NULL when closed: all is written, or the read end is closed */
    bool keeps_input;     /* the input stays open until the command ends */
    bool has_terminal;    /* stream 1 is the master of its terminal */
    struct timer *timeout, *linger;
    int64_t linger_ms;
    int64_t started_us;
    struct child_end end;
    child_output_fn *on_output;
    void *output_arg;
    child_pid_fn *on_pid;
    child_end_fn *on_end;
    void *end_arg;
    bool has_ended;   /* the command itself */
    bool is_lingered; /* linger_ms is over */
    bool is_killing;  /* wait for the end of the whole tree */
    bool is_paused;
    bool is_reported; /* on_end was called */
    int n_inside;     /* running callbacks; freed after they return */
    bool is_dead;
    char bytes[]; /* READ_BYTES, not cleared */
};

/* --- callbacks --- */

/* After a callback: false when the child was freed in it. */
static bool inside_leave(struct child *c)
{
    c->n_inside--;
    if (!c->is_dead)
        return true;
    if (c->n_inside == 0)
        free(c);
    return false;
}

static bool emit(struct child *c, int number, size_t n)
{
    if (!c->on_output)
        return true;
    c->n_inside++;
    c->on_output(c->output_arg, number, str_n(c->bytes, n));
    return inside_leave(c);
}

/* --- streams --- */

static void stream_close(struct child_stream *s)
{
    if (s->fd < 0)
        return;
    watch_free(take(&s->watch));
    close(s->fd);
    s->fd = -1;
}

static bool has_output_left(const struct child *c)
{
    return c->streams[0].fd >= 0 || c->streams[1].fd >= 0 || c->streams[2].fd >= 0;
}

/* Reads only what is in the pipe now: a process may go on writing forever. */
static bool stream_drain(struct child_stream *s)
{
    struct child *c = s->c;
    int left = READ_BYTES; /* more than the buffer of a terminal */
    if (s->fd < 0 || (!c->has_terminal && ioctl(s->fd, FIONREAD, &left) != 0))
        return true;
    while (left > 0) {
        ssize_t n = read(s->fd, c->bytes, (size_t)MIN(left, READ_BYTES));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (!emit(c, s->number, (size_t)n))
            return false;
        left -= (int)n;
    }
    return true;
}

/* --- the end --- */

static void close_all(struct child *c)
{
    for (int i = 0; i < N_STREAMS; i++)
        stream_close(&c->streams[i]);
    writer_free(take(&c->input));
    timer_free(take(&c->timeout));
    timer_free(take(&c->linger));
}

static void finish(struct child *c)
{
    c->is_reported = true;
    c->n_inside++; /* callbacks of stream_drain may free the child */
    for (int i = 0; i < N_STREAMS && !c->is_dead; i++)
        stream_drain(&c->streams[i]);
    if (!c->is_dead) {
        close_all(c);
        if (c->on_end)
            c->on_end(c->end_arg, &c->end);
    }
    inside_leave(c);
}

/* Calls on_end if all conditions hold.  Afterwards the child may be freed. */
static void check_end(struct child *c)
{
    if (c->is_reported || !c->has_ended || (c->is_killing && c->holder))
        return;
    if (has_output_left(c) && (c->is_paused || !c->is_lingered))
        return;
    finish(c);
}

static void on_linger(void *arg)
{
    struct child *c = arg;
    c->is_lingered = true;
    check_end(c);
}

static void set_ended(struct child *c, int status)
{
    c->has_ended = true;
    c->end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    c->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    c->end.duration_us = time_mono_us() - c->started_us;
    timer_stop(c->timeout);
    timer_start(c->linger, c->linger_ms);
}

/* The last message is NULL; one about the end is missing when the holder was killed. */
static void on_note(void *arg, const struct command_note *note)
{
    struct child *c = arg;
    c->n_inside++; /* on_pid may free the child */
    if (!note)
        c->holder = NULL;
    if (note && note->kind == NOTE_STARTED && c->on_pid)
        c->on_pid(c->output_arg, note->value);
    else if (note && note->kind == NOTE_LIMIT)
        c->end.limit = (enum child_limit)note->value;
    else if (note && note->kind == NOTE_FINDING)
        memcpy(c->end.finding, note->text, sizeof c->end.finding);
    else if (!c->has_ended && (!note || note->kind == NOTE_ENDED))
        set_ended(c, note ? note->value : SIGKILL);
    if (inside_leave(c))
        check_end(c);
}

static void on_stream(void *arg, int events)
{
    (void)events;
    struct child_stream *s = arg;
    struct child *c = s->c;
    ssize_t n = read(s->fd, c->bytes, READ_BYTES);
    if (n > 0) {
        emit(c, s->number, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        stream_close(s);
        check_end(c);
    }
}

/* --- killing --- */

/* The holder that can end the tree; NULL when it is gone or on_end was called. */
static struct holder *ending(struct child *c)
{
    if (c->is_reported)
        return NULL;
    if (!c->has_ended)
        c->end.was_killed = true;
    c->is_killing = true;
    return c->holder;
}

void child_kill(struct child *c)
{
    struct holder *h = ending(c);
    if (h)
        holder_term(h);
}

void child_term(struct child *c)
{
    struct holder *h = ending(c);
    if (h)
        holder_ask(h);
}

void child_kill_now(struct child *c)
{
    struct holder *h = ending(c);
    if (h)
        holder_kill(h);
}

static void on_timeout(void *arg)
{
    struct child *c = arg;
    c->end.timed_out = true;
    c->is_killing = true;
    if (c->holder)
        holder_term(c->holder);
}

/* --- input --- */

static void on_input(void *arg, bool is_broken)
{
    struct child *c = arg;
    if (!c->keeps_input || is_broken) /* a command need not read its input */
        writer_free(take(&c->input));
}

bool child_write(struct child *c, struct str bytes, struct error *err)
{
    if (!c->keeps_input || !c->input || writer_is_broken(c->input))
        return error_set(err, ERR_IO, "the command has closed its input");
    if (writer_queued(c->input) + bytes.n > LIMIT_CHILD_INPUT_BYTES)
        return error_set(err, ERR_LIMIT,
                         "the command does not read its input: %zu bytes are queued",
                         writer_queued(c->input));
    writer_put(c->input, bytes);
    return true;
}

void child_end_input(struct child *c)
{
    if (!c->has_terminal)
        writer_free(take(&c->input));
}

bool child_resize(struct child *c, int cols, int rows, struct error *err)
{
    if (!c->has_terminal || c->streams[0].fd < 0)
        return error_set(err, ERR_IO, "the command has no terminal");
    return terminal_resize(c->streams[0].fd, cols, rows, err);
}

/* --- back-pressure, freeing --- */

void child_pause(struct child *c, bool paused)
{
    if (c->is_paused == paused || c->is_reported)
        return;
    c->is_paused = paused;
    for (int i = 0; i < N_STREAMS; i++)
        if (c->streams[i].watch)
            watch_set(c->streams[i].watch, paused ? 0 : WATCH_IN);
    if (!paused && c->has_ended && c->is_lingered)
        timer_start(c->linger, 0); /* on_end was delayed by the pause; call it from the loop */
}

void child_hand_over(struct child *c, child_output_fn *on_output, child_end_fn *on_end, void *arg)
{
    c->on_output = on_output;
    c->on_pid = NULL;
    c->on_end = on_end;
    c->output_arg = c->end_arg = arg;
}

void child_free(struct child *c)
{
    if (!c || c->is_dead)
        return;
    close_all(c);
    if (c->holder) {
        holder_leave(c->holder);
        if (!c->has_ended || c->is_killing)
            holder_kill(c->holder);
    }
    c->is_dead = true;
    if (c->n_inside == 0)
        free(c);
}

/* --- starting --- */

static bool pipe_open(int *ret_read, int *ret_write, struct error *err)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC) != 0)
        return error_errno(err, errno, "cannot make a pipe");
    *ret_read = p[0];
    *ret_write = p[1];
    return true;
}

static bool stream_watch(struct loop *l, struct child_stream *s, struct error *err)
{
    s->watch = watch_new(l, s->fd, on_stream, s, err);
    return s->watch != NULL;
}

/* Makes a pipe from the command to the engine. */
static bool stream_open(struct loop *l, struct child_stream *s, int *ret_write, struct error *err)
{
    if (!pipe_open(&s->fd, ret_write, err))
        return false;
    fcntl(s->fd, F_SETFL, O_NONBLOCK); /* only the read end; the write end has its own file
                                        * description */
    return stream_watch(l, s, err);
}

static bool input_open(struct loop *l, struct child *c, struct str input, int *ret_read,
                       struct error *err)
{
    int write_end = -1;
    if (input.n == 0 && !c->keeps_input)
        return true; /* the room has /dev/null */
    if (!pipe_open(ret_read, &write_end, err))
        return false;
    c->input = writer_new_own(l, write_end, on_input, c, err);
    return c->input != NULL;
}

static bool dup_open(int fd, int *ret, struct error *err)
{
    *ret = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *ret >= 0 || error_errno(err, errno, "cannot copy a descriptor");
}

/* The slave as descriptors 0 to 2, the master for reading and a duplicate of it for writing. */
static bool open_terminal(struct loop *l, struct child *c, const struct child_options *o,
                          int fds[COMMAND_N_FDS], struct error *err)
{
    struct child_stream *s = &c->streams[0];
    int write_end;
    if (!terminal_open(o->cols, o->rows, &s->fd, &fds[COMMAND_IN], err) ||
        !stream_watch(l, s, err) || !dup_open(fds[COMMAND_IN], &fds[COMMAND_OUT], err) ||
        !dup_open(fds[COMMAND_IN], &fds[COMMAND_ERR], err) || !dup_open(s->fd, &write_end, err))
        return false;
    c->input = writer_new_own(l, write_end, on_input, c, err);
    return c->input != NULL;
}

static bool open_pipes(struct loop *l, struct child *c, const struct child_options *o,
                       int fds[COMMAND_N_FDS], struct error *err)
{
    return input_open(l, c, o->input, &fds[COMMAND_IN], err) &&
           stream_open(l, &c->streams[0], &fds[COMMAND_OUT], err) &&
           stream_open(l, &c->streams[1], &fds[COMMAND_ERR], err);
}

static bool open_all(struct loop *l, struct child *c, const struct child_options *o,
                     int fds[COMMAND_N_FDS], struct error *err)
{
    return (o->has_terminal ? open_terminal : open_pipes)(l, c, o, fds, err) &&
           (!o->has_extra || stream_open(l, &c->streams[2], &fds[COMMAND_EXTRA], err));
}

static struct child *child_new(struct loop *l, const struct child_options *o)
{
    struct child *c = xmalloc(sizeof *c + READ_BYTES);
    *c = (struct child){0};
    for (int i = 0; i < N_STREAMS; i++)
        c->streams[i] = (struct child_stream){.c = c, .number = i + 1, .fd = -1};
    c->timeout = timer_new(l, on_timeout, c);
    c->linger = timer_new(l, on_linger, c);
    c->linger_ms = o->linger_ms;
    c->started_us = time_mono_us();
    c->end.exit_code = -1;
    c->has_terminal = o->has_terminal;
    c->keeps_input = o->keeps_input || o->has_terminal;
    c->on_output = o->on_output;
    c->on_pid = o->on_pid;
    c->output_arg = o->arg;
    return c;
}

static void child_go(struct child *c, const struct child_options *o)
{
    for (int i = 0; i < N_STREAMS; i++)
        if (c->streams[i].watch)
            watch_set(c->streams[i].watch, WATCH_IN);
    if (o->timeout_ms > 0)
        timer_start(c->timeout, o->timeout_ms);
    if (!c->input)
        return;
    writer_put(c->input, o->input);
    if (writer_queued(c->input) == 0 && !c->keeps_input)
        writer_free(take(&c->input));
}

static struct child *start(struct loop *l, const struct child_options *o, child_end_fn *on_end,
                           void *end_arg, struct error *err)
{
    struct child *c = child_new(l, o);
    int fds[COMMAND_N_FDS] = {-1, -1, -1, -1, -1};
    c->on_end = on_end;
    c->end_arg = end_arg;
    if (open_all(l, c, o, fds, err))
        c->holder = holder_start(l, o, fds, on_note, c, err);
    for (int i = 0; i < COMMAND_N_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (!c->holder) {
        child_free(c);
        return NULL;
    }
    child_go(c, o);
    return c;
}

struct child *child_start(struct loop *l, const struct child_options *o, struct error *err)
{
    return start(l, o, o->on_end, o->arg, err);
}

/* --- for fibers --- */

struct run {
    struct wait wait;
    struct child_end end;
};

static void on_run_end(void *arg, const struct child_end *end)
{
    struct run *run = arg;
    run->end = *end;
    wait_wake(&run->wait);
}

bool child_run_await(struct loop *l, const struct child_options *o, struct child **slot,
                     struct child_end *ret_end, struct error *err)
{
    struct run run = {.wait = WAIT_INIT};
    if (fiber_is_canceled()) {
        *ret_end = (struct child_end){.exit_code = -1};
        return error_set(err, ERR_CANCELED, "canceled");
    }
    struct child *c = start(l, o, on_run_end, &run, err);
    if (!c)
        return false;
    if (slot)
        *slot = c;
    bool ok = wait_await(&run.wait, err);
    if (slot)
        *slot = NULL; /* child_pause is no longer allowed */
    if (!ok) {
        child_pause(c, false);
        child_kill(c);
        wait_through_await(&run.wait);
    }
    *ret_end = run.end;
    child_free(c);
    return ok;
}
