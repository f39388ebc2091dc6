/* SPDX-License-Identifier: MIT */
/* `trivet run PROMPT`: a session, a turn, the end.  The answer goes to stdout as it comes, what
 * tools do goes to stderr, so that `trivet run ... > answer` holds the answer alone.
 *
 * Unlike the protocols this command confines its tools by default, and it decides by rules and by
 * mode (toolsets/rules.h) who may do what.  A question goes to the terminal; without one it is
 * denied.
 *
 *     mode                  may                                   sandbox
 *     read-only, plan       look                                  read-only
 *     workspace-write       change the workspace (default)        workspace-write
 *     prompt                look; asks for everything else        workspace-write
 *     danger-full-access    everything                            off
 */
#include "cli/once.h"

#include "base/log.h"
#include "base/path.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "cli/once_options.h"
#include "engine/session.h"
#include "loop/io.h"
#include "loop/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { QUEUE_BYTES = 256 << 10 }; /* more waiting for a slow reader pauses the model */

struct once {
    struct once_options options;
    struct loop *loop;
    struct engine *engine;
    struct session *session;
    struct session_settings settings;
    struct listener listener;
    struct rules rules;
    struct arena arena;
    struct str workspace;
    int out_fd;
    struct writer *out;
    struct wait drained;   /* everything was written */
    struct reader *tty;    /* while a question is open */
    struct buf reply;      /* what was typed so far */
    struct str request_id; /* of the question, in the arena */
    char *asked_tool;
    bool owes_return; /* a \r of the answer is not written yet */
    bool ends_line;   /* the last thing on stdout was a line end, or nothing yet */
    int exit_code;
};

static const char instruction[] =
    "You are a coding agent. You work in the workspace named below, with the tools you are given. "
    "Look before you change: read the files and search the code that matter. Make the smallest "
    "change that does the whole job and check it, with a command where that is possible. Commands "
    "may be confined to the workspace and cut off from the network; a refusal comes back as the "
    "result, with the reason: find another way or say what you would need. Answer briefly and say "
    "plainly what you did and what you did not.";
static const char plan_words[] =
    "\n\nYou are planning: look at everything you need, change nothing, and answer with a plan of "
    "concrete steps.";

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
            listener_set_full(o->session, &o->listener, true);
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
    session_permit(o->session, o->request_id, allow, str_of(reason));
}

static void on_typed(void *arg, struct str bytes)
{
    struct once *o = arg;
    struct error ignored;
    buf_add(&o->reply, bytes);
    if (bytes.n && str_chr(buf_str(&o->reply), '\n') == SIZE_MAX)
        return;
    struct str word = str_trim(buf_str(&o->reply));
    bool is_always = str_ieq(word, STR("a")) || str_ieq(word, STR("always"));
    bool is_yes = is_always || str_ieq(word, STR("y")) || str_ieq(word, STR("yes"));
    if (is_always)
        rules_add(&o->rules, VERDICT_ALLOW, str_of(o->asked_tool), &ignored);
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
    dprintf(fd, "%.*s%s[y]es, [N]o, [a]lways for this tool: ", STR_FMT(buf_str(&text)),
            e->permission->reason.n ? "\n  " : "");
}

static void ask(struct once *o, const struct event *e)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    o->request_id = arena_str(&o->arena, e->request_id);
    if (fd < 0) {
        answer(o, false,
               "not permitted: nobody is there to ask; an allow rule or another mode "
               "would permit it");
        return;
    }
    free(o->asked_tool);
    o->asked_tool = str_dup(e->call->name);
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
        shown_line(stderr, "trivet run: %s", e->error ? e->error->text : "the turn failed");
    else if (e->end->state == TURN_CANCELED)
        fputs("trivet run: interrupted\n", stderr);
    else if (strcmp(e->end->stop, "end_turn") != 0)
        shown_line(stderr, "trivet run: stopped early: %s", e->end->stop);
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
    listener_set_full(o->session, &o->listener, false);
    wait_wake(&o->drained);
    if (is_broken)
        session_interrupt(o->session);
}

static void prompt_fiber(void *arg)
{
    struct once *o = arg;
    struct input in = {.text = buf_str(&o->options.prompt)};
    char turn[UUID_LEN + 1];
    struct error err;
    if (session_send_await(o->session, &in, SEND_NEW, turn, &err))
        return;
    shown_line(stderr, "trivet run: %s", err.text);
    finish(o, 1);
}

static void on_interrupt(void *arg)
{
    struct once *o = arg;
    static bool was_here;
    if (was_here)
        _exit(130);
    was_here = true;
    session_interrupt(o->session);
}

/* ---- the start ---- */

static bool load_rules(struct once *o, struct error *err)
{
    AUTO(buf) struct buf user = BUF_INIT;
    path_xdg(&user, "XDG_CONFIG_HOME", ".config");
    buf_addz(&user, "/trivet/permissions.json");
    struct str project = arena_fmt(&o->arena, "%.*s/.trivet/permissions.json",
                                   STR_FMT(o->workspace));
    o->rules.tools = &toolset_scaiflux;
    for (size_t i = 0; i < o->options.n_rules; i++)
        if (!rules_add(&o->rules, o->options.rules[i].verdict, o->options.rules[i].text, err)) {
            o->exit_code = 2; /* a wrong argument */
            return false;
        }
    return rules_load(&o->rules, buf_str(&user), STR_NONE, err) &&
           rules_load(&o->rules, project, o->workspace, err);
}

#define TRANSIENT                                                                                  \
    {                                                                                              \
        .attempts = 4, .first_ms = 500, .max_ms = 8000, .less_percent = 20, .more_percent = 20     \
    }

static const struct retry_rules retry = {
    .rules = {[RETRY_NETWORK] = TRANSIENT,
              [RETRY_STATUS] = TRANSIENT,
              [RETRY_RATE] = TRANSIENT,
              [RETRY_REPORTED] = TRANSIENT,
              [RETRY_REPORTED_RATE] = TRANSIENT,
              [RETRY_CUT] = TRANSIENT,
              [RETRY_STALLED] = TRANSIENT},
    .statuses = {{408, 409}, {500, 599}},
    .max_retry_after_ms = 60000,
};

static void fill_settings(struct once *o)
{
    const struct once_mode *mode = o->options.mode;
    const char *system = instruction;
    if (mode->is_plan)
        system = arena_fmt(&o->arena, "%s%s", instruction, plan_words).p;
    o->settings = (struct session_settings){
        .toolset = &toolset_scaiflux,
        .permit = PERMIT_RULES,
        .rules = &o->rules,
        .asks_beyond_mode = mode->asks || o->options.asks,
        .sandbox = mode->sandbox,
        .network = o->options.network,
        .retry = retry,
        .compact = {.is_enabled = true,
                    .reserve_percent = 10,
                    .reserve_tokens = 16384,
                    .keep_recent_tokens = 20000},
        .max_rounds = 200,
        .max_rounds_is_stop = true,
        .stall_ms = 120000,
        .kill_grace_ms = 500,
        .locks_at_open = true,
        .file_at_first_input = true,
        .canceled_text = "interrupted",
        .system = system,
    };
    retry_rules_from_env(&o->settings.retry);
}

static bool open_session(struct once *o, struct error *err)
{
    char id[UUID_LEN + 1];
    AUTO(buf) struct buf state = BUF_INIT;
    path_xdg(&state, "XDG_STATE_HOME", ".local/state");
    struct str resumed = o->options.resume, model = o->options.model;
    struct session_report report;
    id_uuid(id);
    struct session_spec spec = {
        .workspace = o->workspace,
        .is_workspace_fixed = true,
        .id = str_of(id),
        .model = model.p || resumed.p ? model : engine_default_model(o->engine),
        .mode = o->options.mode->covers,
        .settings = &o->settings,
    };
    spec.path = resumed.p && str_chr(resumed, '/') != SIZE_MAX
                    ? resumed
                    : arena_fmt(&o->arena, "%.*s/trivet/sessions/%.*s.jsonl",
                                STR_FMT(buf_str(&state)),
                                STR_FMT(resumed.p ? resumed : str_of(id)));
    o->session = resumed.p ? session_open(o->engine, &spec, &report, err)
                           : session_new(o->engine, &spec, err);
    if (o->session && resumed.p)
        session_clear_queue(o->session); /* what never ran was asked for another time */
    if (o->session && !o->options.is_quiet)
        shown_line(stderr, "session %.*s", STR_FMT(resumed.p ? resumed : str_of(id)));
    return o->session != NULL;
}

static bool begin(struct once *o, struct error *err)
{
    if (!engine_find_workspace(o->engine, o->options.workspace, &o->arena, &o->workspace, err) ||
        !load_rules(o, err))
        return false;
    fill_settings(o);
    if (!open_session(o, err))
        return false;
    o->listener = (struct listener){.on_event = on_event, .arg = o};
    session_listen(o->session, &o->listener);
    o->out = writer_new(o->loop, o->out_fd, on_written, o);
    loop_on_signal(o->loop, SIGINT, on_interrupt, o);
    loop_on_signal(o->loop, SIGTERM, on_interrupt, o);
    fiber_start(o->loop, "prompt", prompt_fiber, o);
    return true;
}

static void clear(struct once *o)
{
    if (o->session) {
        session_unlisten(o->session, &o->listener);
        session_close(o->session);
    }
    if (o->out)
        writer_free(o->out);
    rules_clear(&o->rules);
    buf_clear(&o->reply);
    once_options_clear(&o->options);
    free(o->asked_tool);
    engine_free(o->engine);
    loop_free(o->loop);
    arena_clear(&o->arena);
}

int once_run(const struct provider *const *providers, size_t n, int argc, char **argv)
{
    struct once o = {.ends_line = true};
    struct error err;
    int in_fd;
    if (!once_read_options(argc, argv, &o.options, &err)) {
        shown_line(stderr, "trivet run: %s", err.text);
        fputs("(trivet run --help)\n", stderr);
        once_options_clear(&o.options);
        return 2;
    }
    if (o.options.asks_help) {
        fputs(once_usage, stdout);
        once_options_clear(&o.options);
        return 0;
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
    else {
        shown_line(stderr, "trivet run: %s", err.text);
        o.exit_code = o.exit_code ? o.exit_code : 1;
    }
    child_end_all(o.loop);
    clear(&o);
    return o.exit_code;
}
