/* SPDX-License-Identifier: MIT */
/* A program that a dialect wants to run in the workspace, for itself and not for the model. */
#include "tools/program.h"

#include "engine/session_impl.h"

void program_output_clear(struct program_output *o)
{
    buf_clear(&o->out);
    buf_clear(&o->err);
}

bool session_program_await(struct session *s, const struct session_program *p,
                           struct program_output *ret, struct error *err)
{
    AUTO(program_run) struct program_run run = PROGRAM_RUN_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO_FREE char *cwd = str_dup(str_of(s->workspace));
    struct tool_cx cx;
    engine_fill_cx(s->engine, s->settings, str_of(s->workspace), &cx);
    cx.sandbox = session_sandbox(s);
    cx.room = session_room(s);
    if (!program_find(p->argv[0], cx.env, &path))
        return error_set(err, ERR_NOT_FOUND, "there is no program %s", p->argv[0]);
    struct program_options o = {
        .argv = p->argv,
        .env = cx.env,
        .cwd = cwd,
        .input = p->input,
        .timeout_ms = p->timeout_ms,
        .head_max = p->max,
    };
    session_hold(s);
    bool ok = program_await(&cx, &o, &run, err);
    session_release(s);
    if (!ok)
        return false;
    *ret = (struct program_output){
        .exit_code = run.end.signal ? 128 + run.end.signal : run.end.exit_code,
        .timed_out = run.end.timed_out,
        .is_cut = ring_is_cut(&run.out),
    };
    buf_add(&ret->out, buf_str(&run.out.head));
    buf_add(&ret->err, buf_str(&run.err.head));
    return true;
}
