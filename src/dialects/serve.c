/* SPDX-License-Identifier: MIT */
/* Start, signals and end of a server process on stdio. */
#include "dialects/dialect.h"

#include "loop/child.h"
#include "loop/process.h"

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Blocks of this size are returned to the system when freed.  By default glibc raises this limit
 * after every large block, so memory used for one long output would stay allocated. */
enum { LARGE_BYTES = 128 << 10 };

/* Ends turns, output and loop, in this order. */
static void quit_fiber(void *arg)
{
    struct server *sv = arg;
    engine_drain_through_await(sv->engine);
    conn_flush_through_await(sv->dialect->conn(sv));
    loop_stop(sv->loop);
}

void server_quit(struct server *sv, int exit_code, bool stop_turns)
{
    if (stop_turns)
        engine_stop(sv->engine);
    if (sv->is_quitting)
        return;
    sv->is_quitting = true;
    sv->exit_code = exit_code;
    fiber_start(sv->loop, "quit", quit_fiber, sv);
}

/* ---- a client that does not read ---- */

enum { LOOK_MS = 400, LOOKS = 3 }; /* without any progress in this time output is dropped */

struct patience { /* timer that a signal or a dialect starts */
    struct server *sv;
    struct timer *timer;
    uint64_t written;
    int n_looks;
};

static void on_look(void *arg)
{
    struct patience *p = arg;
    struct conn *c = p->sv->dialect->conn(p->sv);
    bool is_stuck = !conn_is_flushed(c) && conn_written(c) == p->written;
    p->n_looks = is_stuck ? p->n_looks + 1 : 0;
    p->written = conn_written(c);
    if (p->n_looks >= LOOKS)
        conn_abandon(c);
    else
        timer_start(p->timer, LOOK_MS);
}

void server_limit_flush(struct server *sv)
{
    static struct patience p;
    if (p.timer)
        return;
    p = (struct patience){.sv = sv, .timer = timer_new(sv->loop, on_look, &p)};
    p.written = conn_written(sv->dialect->conn(sv));
    timer_start(p.timer, LOOK_MS);
}

/* ---- signals ---- */

static void take_signal(struct server *sv, int signo)
{
    static bool was_here; /* a second signal must work even if the first one hangs */
    if (was_here)
        _exit(128 + signo);
    if (!sv->is_started) {
        sv->early_signal = signo;
        return;
    }
    was_here = true;
    server_limit_flush(sv);
    sv->dialect->on_signal(sv, signo);
}

static void on_term(void *arg)
{
    take_signal(arg, SIGTERM);
}

static void on_int(void *arg)
{
    take_signal(arg, SIGINT);
}

static void on_hangup(void *arg)
{
    take_signal(arg, SIGHUP);
}

int server_run(const struct dialect *d, const struct server_tables *t, int argc, char **argv)
{
    struct server sv = {.dialect = d,
                        .dialects = t->dialects,
                        .n_dialects = t->n_dialects,
                        .version = t->version,
                        .argc = argc,
                        .argv = argv};
    /* The environment holds keys: tools of the same user must not read them from /proc or from a
     * core file. */
    process_begin();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    engine_hide_environment();
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
    io_claim_stdio(&sv.in_fd, &sv.out_fd);
    sv.loop = loop_new();
    sv.engine = engine_new(sv.loop, t->providers, t->n_providers);
    /* A signal during the start is handled after it. */
    loop_on_signal(sv.loop, SIGTERM, on_term, &sv);
    loop_on_signal(sv.loop, SIGINT, on_int, &sv);
    loop_on_signal(sv.loop, SIGHUP, on_hangup, &sv);
    if (d->start(&sv)) {
        sv.is_started = true;
        if (sv.early_signal)
            take_signal(&sv, sv.early_signal);
        loop_run(sv.loop);
        child_end_all(sv.loop);
        d->free(&sv);
    }
    engine_free(sv.engine);
    loop_free(sv.loop);
    return sv.exit_code;
}
