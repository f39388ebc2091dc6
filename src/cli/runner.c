/* SPDX-License-Identifier: MIT */
#include "cli/runner.h"

#include "base/path.h"
#include "base/shown.h"
#include "loop/child.h"
#include "loop/process.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

enum { END_ROUNDS = 200 };

struct run {
    struct runner r;
    runner_fn *fn_await;
    void *state;
    struct fiber *fiber;
    int signo;
};

/* A fiber of its own: that of the command may be canceled. */
static void end_fiber(void *arg)
{
    struct runner *r = arg;
    struct error ignored;
    engine_drain_through_await(r->engine);
    for (int i = 0; i < END_ROUNDS && fiber_count(r->loop) > 1; i++)
        sleep_await(r->loop, 1, &ignored); /* a canceled sign-in ends its request */
    loop_stop(r->loop);
}

static void command_fiber(void *arg)
{
    struct run *run = arg;
    struct runner *r = &run->r;
    struct error err;
    bool ok = run->fn_await(r, run->state, &err);
    run->fiber = NULL;
    if (!ok && !run->signo)
        shown_line(stderr, "trivet %s: %s", r->row->name, err.text);
    if (!ok && !r->exit_code)
        r->exit_code = 1;
    if (run->signo)
        r->exit_code = 128 + run->signo;
    fiber_start(r->loop, "end", end_fiber, r);
}

static void stop(struct run *run, int signo)
{
    run->signo = signo;
    if (run->fiber)
        fiber_cancel(run->fiber);
}

static void on_int(void *arg)
{
    stop(arg, SIGINT);
}

static void on_term(void *arg)
{
    stop(arg, SIGTERM);
}

int runner_run(const struct command_row *row, runner_fn *fn_await, void *state)
{
    struct run run = {.r = {.row = row}, .fn_await = fn_await, .state = state};
    struct runner *r = &run.r;
    process_begin();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* as in server_run: keys stand in our environment */
    engine_hide_environment();
    r->loop = loop_new();
    r->engine = engine_new(r->loop, program_providers, program_n_providers);
    loop_on_signal(r->loop, SIGINT, on_int, &run);
    loop_on_signal(r->loop, SIGTERM, on_term, &run);
    run.fiber = fiber_start(r->loop, row->name, command_fiber, &run);
    loop_run(r->loop);
    child_end_all(r->loop);
    engine_free(r->engine);
    loop_free(r->loop);
    int status = command_print(buf_str(&r->out));
    buf_clear(&r->out);
    arena_clear(&r->arena);
    return r->exit_code ? r->exit_code : status;
}
