/* SPDX-License-Identifier: MIT */
/* The ScaiFlux dialect: its descriptor, start, the turns of its one session, end.
 *
 * RUNNING lasts from the line that brought the prompt to the terminal event.  The engine starts
 * the turn later, when it writes the prompt to disk.  Lines read in between are queued, so that
 * turn_started precedes every answer to them; a signal is stored, and the end of input waits for
 * the turn.
 */
#include "dialects/scaiflux/scaiflux.h"
#include "context/guide.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/log.h"
#include "base/shown.h"
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/workspace.h"

#include <stdio.h>
#include <unistd.h>

static const char usage[] =
    "scaiflux serve: one session for one controller, JSON lines on stdin and stdout\n"
    "\n"
    "  --model, -m SLUG          model as provider/model-id (default: the resumed session's,\n"
    "                            TRIVET_MODEL, `model` in .scaiflux.json of the workspace or\n"
    "                            in ~/.scaiflux/config.json)\n"
    "  --max-tokens N            output cap of a model request (default: from the context window)\n"
    "  --workspace, -w DIR       where tools work (default: .)\n"
    "  --permission-mode MODE    read-only, workspace-write, danger-full-access, prompt or plan:\n"
    "                            only reported, every call is asked (default: danger-full-access)\n"
    "  --max-iterations N        rounds of tool calls in a turn (default: 20)\n"
    "  --resume ID|latest|PATH   go on with an earlier session\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 after shutdown or end of input, 1 when it could not start or its output was closed,\n"
    "2 for wrong arguments, 128+n after signal n.\n";

static const char instruction[] =
    "You are a coding agent. You work in the workspace named below, with the tools you are given.\n"
    "\n# Tools\n"
    "- read_file, glob_search and grep_search look around; edit_file changes a part of a file, "
    "write_file makes a new one; bash is for everything else: tests, builds, git.\n"
    "- Every call needs a permission, which may be refused; a refusal comes back as the result, "
    "with the reason. Do not repeat a refused call: find another way or say what you would need." GUIDE_WORK
        GUIDE_CARE GUIDE_END;

const char *const flux_instructions[] = {"SCAIFLUX.md", "AGENTS.md", NULL};

/* ---- the course of a turn ---- */

struct prompt_write { /* being written to disk */
    struct flux *flux;
    struct buf text;
};

static void turn_over(struct flux *f)
{
    f->is_running = f->wants_interrupt = false;
    flux_leave_if_done(f);
}

/* Back on the loop: handles the lines that came before turn_started. */
static void on_started(void *arg)
{
    struct flux *f = arg;
    f->started = NULL;
    conn_hold(f->conn, false);
}

static void on_event(void *arg, struct session *s, const struct event *e)
{
    struct flux *f = arg;
    flux_put_event(f, e);
    if (e->kind == EV_TURN_QUEUED)
        f->started = loop_soon(f->sv->loop, on_started, f);
    if (e->kind == EV_TURN_QUEUED && f->wants_interrupt)
        session_interrupt(s);
    if (e->kind == EV_TURN_ENDED)
        turn_over(f);
}

/* The engine refused the prompt after the dialect had accepted it: the client gets turn_started and
 * the end of a turn that the engine does not have. */
static void end_refused_prompt(struct flux *f, const struct error *err)
{
    flux_put_refused_turn(f, err);
    f->started = loop_soon(f->sv->loop, on_started, f);
    turn_over(f);
}

static void prompt_fiber(void *arg)
{
    struct prompt_write *p = arg;
    char turn_id[UUID_LEN + 1];
    struct error err;
    struct input in = {.text = buf_str(&p->text)};
    if (!session_send_await(p->flux->session, &in, SEND_NEW, turn_id, &err))
        end_refused_prompt(p->flux, &err);
    buf_clear(&p->text);
    free(p);
}

void flux_prompt(struct flux *f, struct str text)
{
    struct prompt_write *p = xnew(struct prompt_write);
    p->flux = f;
    buf_add(&p->text, text);
    f->is_running = true;
    conn_hold(f->conn, true);
    fiber_start(f->sv->loop, "prompt", prompt_fiber, p);
}

void flux_interrupt(struct flux *f)
{
    if (f->is_running && !session_interrupt(f->session))
        f->wants_interrupt = true;
}

/* ---- the end ---- */

void flux_leave_if_done(struct flux *f)
{
    if (f->is_ending && !f->is_running && !f->slow)
        server_quit(f->sv, f->exit_code, false);
}

void flux_end(struct flux *f, int exit_code)
{
    if (exit_code)
        f->exit_code = f->sv->exit_code =
            exit_code; /* a signal after the end of input sets the status */
    if (f->is_ending)
        return;
    f->is_ending = true;
    conn_stop_reading(f->conn);
    session_deny_all(f->session, "controller disconnected before responding");
    flux_leave_if_done(f);
}

static void on_eof(void *arg)
{
    struct flux *f = arg;
    f->has_eof = true;
    if (!f->slow)
        flux_end(f, 0);
}

static void on_full(void *arg, bool is_full)
{
    struct flux *f = arg;
    listener_set_full(f->session, &f->listener, is_full);
}

static void stop_all(struct flux *f, int exit_code)
{
    if (f->slow)
        fiber_cancel(f->slow);
    flux_interrupt(f);
    flux_end(f, exit_code);
}

/* The output was closed. */
static void on_broken(void *arg)
{
    stop_all(arg, 1);
}

static void on_signal(struct server *sv, int signo)
{
    stop_all(sv->state, 128 + signo);
}

static struct conn *get_conn(struct server *sv)
{
    return ((struct flux *)sv->state)->conn;
}

static void flux_free(struct server *sv)
{
    struct flux *f = sv->state;
    if (f->session) {
        session_unlisten(f->session, &f->listener);
        session_close(f->session);
    }
    loop_take_back(f->started);
    conn_free(f->conn);
    flux_config_clear(&f->config);
    buf_clear(&f->line);
    buf_clear(&f->waiting);
    arena_clear(&f->arena);
    free(f);
    sv->state = NULL;
}

/* ---- the start ---- */

void flux_fit_model(struct flux *f)
{
    f->settings.context_window = f->config.context_window;
    int64_t window = session_window(f->session);
    f->window = window > 0 ? window : FLUX_WINDOW;
    f->settings.context_window = f->window; /* the same value as in the events */
    f->max_tokens = f->options.max_tokens;
    if (!f->max_tokens)
        f->max_tokens = MAX(1, MIN(16384, f->window / 4));
    session_set_max_tokens(f->session, f->max_tokens);
    f->settings.compact.keep_recent_tokens = MIN(20000, f->window / 4);
}

/* scaiflux 134-139: errors inside a response and timeouts are not retried.  520 to 529, used by
 * Cloudflare and Anthropic like 503 (providers 53-56), are. */
#define BACKED_OFF                                                                                 \
    {                                                                                              \
        .attempts = 4, .first_ms = 500, .max_ms = 2000, .less_percent = 20, .more_percent = 20     \
    }

static const struct retry_rules retry = {
    .rules = {[RETRY_NETWORK] = BACKED_OFF,
              [RETRY_STATUS] = BACKED_OFF,
              [RETRY_RATE] = BACKED_OFF,
              [RETRY_CUT] = BACKED_OFF},
    .statuses = {{408, 409}, {500, 500}, {502, 504}, {520, 529}},
    .max_retry_after_ms = 30000,
};

static void fill_settings(struct flux *f)
{
    int64_t stall_ms;
    if (!str_int(str_of(getenv("TRIVET_STALL_MS")), &stall_ms) || stall_ms < 1)
        stall_ms = 120000;
    f->settings = (struct session_settings){
        .toolset = &toolset_scaiflux,
        .permit = PERMIT_ASK,
        .retry = retry,
        .compact = {.is_enabled = true},
        .max_rounds = (int)f->options.max_iterations,
        .max_rounds_is_stop = true,
        .stall_ms = stall_ms,
        .kill_grace_ms = 500,
        .file_at_first_input = true,
        .locks_at_open = true,
        .canceled_text = "interrupted",
        .denied_text = "denied by remote controller",
        .system = instruction,
        .instructions = flux_instructions,
        .keeps_undo = true,
        .sends_surroundings = true,
        .put_context_await = flux_put_skills_await,
        .context_arg = f,
    };
    retry_rules_from_env(&f->settings.retry);
}

/* After the flag and the resumed session. */
static bool settle_model(struct flux *f, struct error *err)
{
    struct session_info info;
    session_info(f->session, &info);
    if (info.model.n)
        return true;
    struct str slug = engine_default_model(f->sv->engine);
    if (!slug.p)
        slug = f->config.model;
    if (!slug.p)
        return error_set(err, ERR_NO_MODEL,
                         "no model: use --model, TRIVET_MODEL or `model` in .scaiflux.json");
    return session_set_model(f->session, slug, err);
}

/* NULL, or the error code. */
static const char *boot_await(struct flux *f, struct error *err)
{
    if (!engine_find_workspace(f->options.workspace, &f->arena, &f->workspace, err))
        return "workspace_invalid";
    if (!flux_config_read(f, &f->config, err))
        return "config_invalid";
    const char *code = flux_open_session_await(f, err);
    if (code)
        return code;
    if (!settle_model(f, err))
        return "model_unresolved";
    flux_fit_model(f);
    flux_start_gadgets(f);
    return NULL;
}

struct boot {
    struct flux *flux;
    const char *code;
    struct error err;
    bool is_over;
};

static void boot_fiber(void *arg)
{
    struct boot *b = arg;
    b->code = boot_await(b->flux, &b->err);
    b->is_over = true;
}

static const char *boot(struct flux *f, struct error *err)
{
    struct boot b = {.flux = f};
    fiber_start(f->sv->loop, "start", boot_fiber, &b);
    while (!b.is_over)
        loop_step(f->sv->loop, true);
    if (b.code)
        *err = b.err;
    return b.code;
}

static const struct conn_ops conn_ops = {
    .framing = FRAME_LINES,
    .limit = LIMIT_SCAIFLUX_LINE_BYTES,
    .queue = LIMIT_SCAIFLUX_QUEUE_BYTES,
    .on_message = flux_take_line,
    .on_fault = flux_take_fault,
    .on_eof = on_eof,
    .on_full = on_full,
    .on_broken = on_broken,
};

/* Before the loop runs; output that cannot be written at once is dropped. */
static void write_now(struct server *sv, struct str text)
{
    (void)path_write_all(sv->out_fd, text);
}

static bool refuse_start(struct server *sv, const char *code, const struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    flux_write_error(
        &line, &(struct flux_error){.code = code, .origin = "local", .message = error_str(err)});
    buf_addc(&line, '\n');
    write_now(sv, buf_str(&line));
    log_error("%s: %s", code, err->text);
    flux_free(sv);
    sv->exit_code = 1;
    return false;
}

/* Wrong arguments, --help, --version: nothing is served. */
static bool leave(struct server *sv, int exit_code)
{
    flux_free(sv);
    sv->exit_code = exit_code;
    return false;
}

static bool start(struct server *sv)
{
    struct flux *f = xnew(struct flux);
    struct error err;
    f->sv = sv;
    sv->state = f;
    if (!flux_read_options(sv->argc, sv->argv, &f->options, &err)) {
        shown_line(stderr, "scaiflux serve: %s", err.text);
        fprintf(stderr, "\n%s", usage);
        return leave(sv, 2);
    }
    if (f->options.asks_help) {
        write_now(sv, str_of(usage));
        return leave(sv, 0);
    }
    if (f->options.asks_version) {
        write_now(sv, arena_fmt(&f->arena, "trivet %s\n", sv->version));
        return leave(sv, 0);
    }
    f->mode = f->options.mode;
    fill_settings(f);
    const char *code = boot(f, &err);
    if (code)
        return refuse_start(sv, code, &err);
    f->listener = (struct listener){.on_event = on_event, .arg = f};
    session_listen(f->session, &f->listener);
    f->conn = conn_new(sv->loop, sv->in_fd, sv->out_fd, &conn_ops, f);
    flux_put_ready(f);
    return true;
}

const struct dialect dialect_scaiflux = {
    .name = "scaiflux",
    .verb = "serve",
    .about = "one session per process, JSON lines on stdio, every tool call asked for",
    .usage = usage,
    .usage_exit_code = 2,
    .start = start,
    .conn = get_conn,
    .on_signal = on_signal,
    .free = flux_free,
    .methods = flux_methods,
    .n_methods = FLUX_N_METHODS,
    .events = flux_events,
    .errors = flux_errors,
    .put_schema = flux_put_schema,
    .toolset = &toolset_scaiflux,
    .session_dirs = flux_session_dirs,
};
