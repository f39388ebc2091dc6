/* SPDX-License-Identifier: MIT */
/* `trivet run PROMPT`: a session, a turn, the end.  The answer goes to stdout as it comes, what
 * tools do goes to stderr, so that `trivet run ... > answer` holds the answer alone.
 *
 * What a call may do is decided by rules and mode (terminal/launch.h).  A question goes to the
 * terminal; without one it is denied.
 */
#include "cli/once.h"

#include "base/log.h"
#include "base/path.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "loop/io.h"
#include "loop/process.h"
#include "terminal/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { QUEUE_BYTES = 256 << 10 }; /* more waiting for a slow reader pauses the model */

struct once {
    struct run_options options;
    struct loop *loop;
    struct engine *engine;
    struct launch launch;
    struct listener listener;
    int out_fd;
    struct writer *out;
    struct wait drained;   /* everything was written */
    struct reader *tty;    /* while a question is open */
    struct buf reply;      /* what was typed so far */
    struct str request_id; /* of the question, in the arena */
    char *always;          /* the rule that an answer for good adds; NULL: there is none */
    bool owes_return;      /* a \r of the answer is not written yet */
    bool ends_line;        /* the last thing on stdout was a line end, or nothing yet */
    int exit_code;
};

/* ---- telling ---- */

/* A \r at the end of a piece waits for the \n that may follow. */
static void put(struct once *o, struct str text)
{
    AUTO(buf) struct buf whole = BUF_INIT, shown = BUF_INIT;
    buf_addz(&whole, o->owes_return ? "\r" : "");
    buf_add(&whole, text);
    o->owes_return = str_ends(buf_str(&whole), STR("\r"));
    shown_add(&shown, str_cut(buf_str(&whole), whole.n - o->owes_return), true);
    if (shown.n) {
        writer_put(o->out, buf_str(&shown));
        if (writer_queued(o->out) > QUEUE_BYTES)
            listener_set_full(o->launch.session, &o->listener, true);
        o->ends_line = shown.p[shown.n - 1] == '\n';
    }
}

static void end_line(struct once *o)
{
    if (!o->ends_line || o->owes_return)
        put(o, STR("\n"));
}

static void tell_call(struct once *o, const struct event_call *c)
{
    end_line(o);
    shown_line(stderr, "> %.*s %.*s", STR_FMT(c->name), STR_FMT(utf8_cut(c->args, 160)));
}

/* The first line of what went wrong; what went well needs no words. */
static void tell_result(const struct event_result *r)
{
    struct str line, rest = r->text;
    if (r->is_error && str_line(&rest, &line))
        shown_line(stderr, "  failed: %.*s", STR_FMT(utf8_cut(line, 160)));
}

/* ---- asking ---- */

static void answer(struct once *o, bool allow, const char *reason)
{
    reader_free(take(&o->tty));
    session_permit(o->launch.session, o->request_id, allow, str_of(reason));
}

static void on_typed(void *arg, struct str bytes)
{
    struct once *o = arg;
    struct error ignored;
    buf_add(&o->reply, bytes);
    if (bytes.n && str_chr(buf_str(&o->reply), '\n') == SIZE_MAX)
        return;
    struct str word = str_trim(buf_str(&o->reply));
    bool is_always = o->always && (str_ieq(word, STR("a")) || str_ieq(word, STR("always")));
    bool is_yes = is_always || str_ieq(word, STR("y")) || str_ieq(word, STR("yes"));
    if (is_always)
        rules_add(&o->launch.rules, VERDICT_ALLOW, str_of(o->always), &ignored);
    buf_reset(&o->reply);
    answer(o, is_yes, is_yes ? NULL : "the user refused this call");
}

/* The whole call: nobody shall allow what they did not see. */
static void put_question(int fd, const struct event *e)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, "? ");
    shown_add(&text, e->call->name, false);
    buf_addc(&text, ' ');
    shown_add(&text, e->call->args, false);
    buf_addz(&text, "\n  ");
    shown_add(&text, e->permission->reason, false);
    dprintf(fd, "%.*s%s[y]es, [N]o", STR_FMT(buf_str(&text)),
            e->permission->reason.n ? "\n  " : "");
    struct str always = e->permission->always;
    if (e->permission->is_outside && always.p)
        dprintf(fd, ", [a]lways, by the rule %.*s: ", STR_FMT(always));
    else
        dprintf(fd, "%s: ", always.p ? ", [a]lways for this tool" : "");
}

static const char nobody[] =
    "not permitted: nobody is there to ask; an allow rule or another mode would permit it";
static const char nobody_outside[] =
    "not permitted: only the user can let a command out of the sandbox, and nobody is there to ask; "
    "the user can start trivet exec on a terminal, or with --allow 'outside(COMMAND)' for commands "
    "that begin so. Go on inside of the sandbox, or say what you would need.";

static void ask(struct once *o, const struct event *e)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    o->request_id = arena_str(&o->launch.arena, e->request_id);
    if (fd < 0) {
        answer(o, false, e->permission->is_outside ? nobody_outside : nobody);
        return;
    }
    free(take(&o->always));
    if (e->permission->always.p)
        o->always = str_dup(e->permission->always);
    put_question(fd, e);
    o->tty = reader_new(o->loop, fd, on_typed, o);
}

/* ---- the course ---- */

static void quit_fiber(void *arg)
{
    struct once *o = arg;
    engine_drain_through_await(o->engine);
    while (writer_queued(o->out) && !writer_is_broken(o->out)) {
        wait_reset(&o->drained);
        wait_through_await(&o->drained);
    }
    loop_stop(o->loop);
}

static void finish(struct once *o, int exit_code)
{
    o->exit_code = exit_code;
    fiber_start(o->loop, "quit", quit_fiber, o);
}

static void tell_end(struct once *o, const struct event *e)
{
    end_line(o);
    if (o->tty)
        reader_free(take(&o->tty));
    if (e->end->state == TURN_FAILED)
        shown_line(stderr, "trivet exec: %s", e->error ? e->error->text : "the turn failed");
    else if (e->end->state == TURN_CANCELED)
        fputs("trivet exec: interrupted\n", stderr);
    else if (strcmp(e->end->stop, "end_turn") != 0)
        shown_line(stderr, "trivet exec: stopped early: %s", e->end->stop);
    finish(o, e->end->state == TURN_COMPLETED ? 0 : e->end->state == TURN_CANCELED ? 130 : 1);
}

static void on_event(void *arg, struct session *s, const struct event *e)
{
    struct once *o = arg;
    (void)s;
    switch (e->kind) {
    case EV_TEXT:
        put(o, e->text);
        break;
    case EV_CALL_STARTED:
        tell_call(o, e->call);
        break;
    case EV_CALL_DONE:
        tell_result(e->result);
        break;
    case EV_PERMISSION_ASKED:
        ask(o, e);
        break;
    case EV_RETRY_WAITING:
        shown_line(stderr, "  %.*s; again in %lld ms", STR_FMT(e->text),
                   (long long)e->retry->delay_ms);
        break;
    case EV_TURN_ENDED:
        tell_end(o, e);
        break;
    default:
        break;
    }
}

static void on_written(void *arg, bool is_broken)
{
    struct once *o = arg;
    listener_set_full(o->launch.session, &o->listener, false);
    wait_wake(&o->drained);
    if (is_broken)
        session_interrupt(o->launch.session);
}

static void prompt_fiber(void *arg)
{
    struct once *o = arg;
    struct input in = {.text = buf_str(&o->options.prompt)};
    char turn[UUID_LEN + 1];
    struct error err;
    if (session_send_await(o->launch.session, &in, SEND_NEW, turn, &err))
        return;
    shown_line(stderr, "trivet exec: %s", err.text);
    finish(o, 1);
}

static void on_interrupt(void *arg)
{
    struct once *o = arg;
    static bool was_here;
    if (was_here)
        _exit(130);
    was_here = true;
    session_interrupt(o->launch.session);
}

/* ---- the start ---- */

static bool begin(struct once *o, struct error *err)
{
    o->launch.engine = o->engine;
    o->launch.options = &o->options;
    if (!launch_prepare(&o->launch, err) || !launch_open(&o->launch, o->options.resume, err)) {
        o->exit_code = o->launch.is_usage ? 2 : 1;
        return false;
    }
    if (!o->options.is_quiet)
        shown_line(stderr, "session %.*s", STR_FMT(o->launch.name));
    o->listener = (struct listener){.on_event = on_event, .arg = o};
    session_listen(o->launch.session, &o->listener);
    o->out = writer_new(o->loop, o->out_fd, on_written, o);
    loop_on_signal(o->loop, SIGINT, on_interrupt, o);
    loop_on_signal(o->loop, SIGTERM, on_interrupt, o);
    fiber_start(o->loop, "prompt", prompt_fiber, o);
    return true;
}

static void clear(struct once *o)
{
    if (o->launch.session)
        session_unlisten(o->launch.session, &o->listener);
    launch_close(&o->launch);
    if (o->out)
        writer_free(o->out);
    buf_clear(&o->reply);
    run_options_clear(&o->options);
    free(o->always);
    engine_free(o->engine);
    loop_free(o->loop);
    launch_clear(&o->launch);
}

int once_run(const struct provider *const *providers, size_t n, int argc, char **argv)
{
    struct once o = {.ends_line = true};
    struct error err;
    int in_fd;
    if (!run_options_read(argc, argv, &o.options, &err)) {
        shown_line(stderr, "trivet exec: %s", err.text);
        fputs("(trivet exec --help)\n", stderr);
        run_options_clear(&o.options);
        return 2;
    }
    if (o.options.asks_help) {
        AUTO(buf) struct buf text = BUF_INIT;
        run_options_usage(&text);
        run_options_clear(&o.options);
        return path_write_all(STDOUT_FILENO, buf_str(&text)) ? 0 : 1;
    }
    process_begin();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* as in server_run: keys stand in our environment */
    engine_hide_environment();
    io_claim_stdio(&in_fd, &o.out_fd);
    close(in_fd);
    o.loop = loop_new();
    o.engine = engine_new(o.loop, providers, n);
    if (begin(&o, &err))
        loop_run(o.loop);
    else
        shown_line(stderr, "trivet exec: %s", err.text);
    child_end_all(o.loop);
    clear(&o);
    return o.exit_code;
}
