/* SPDX-License-Identifier: MIT */
/* `trivet exec PROMPT`: a session, a turn, the end.  stdout gets the answer alone, so that
 * `trivet exec ... > answer` holds it; what tools do and say goes to stderr.
 *
 *     options --> session (new, or found) --> turn --> answer --> schema fits? --> result, exit
 *                                              ^                      | no, at most twice
 *                                              +---- "not valid: ..." +
 *
 * A question goes to the terminal; without one it is denied, so that the command never hangs.
 */
#include "terminal/exec.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/schema.h"
#include "base/shown.h"
#include "base/time.h"
#include "base/utf8.h"
#include "context/export.h"
#include "dialects/undone.h"
#include "loop/process.h"
#include "terminal/exec_impl.h"
#include "terminal/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAX_REPAIRS = 2, SCHEMA_BYTES = 1 << 20 };

/* ---- the end ---- */

bool exec_keeps_session(const struct exec *x)
{
    return x->launch.session && (x->launch.path.p || x->has_asked);
}

static void quit_fiber(void *arg)
{
    struct exec *x = arg;
    struct error ignored;
    if (x->launch.session && !exec_keeps_session(x)) {
        session_unlisten(x->launch.session, &x->listener);
        session_delete(take(&x->launch.session), &ignored);
    }
    engine_drain_through_await(x->engine);
    while (writer_queued(x->out) && !writer_is_broken(x->out)) {
        wait_reset(&x->drained);
        wait_through_await(&x->drained);
    }
    loop_stop(x->loop);
}

static void set_status(struct exec *x, enum exec_status status, int exit_code)
{
    x->status = status;
    x->exit_code = exit_code;
}

/* What a failure means to a script. */
static void set_failure(struct exec *x, const struct error *err)
{
    x->error = *err;
    switch (err->code) {
    case ERR_NO_MODEL:
    case ERR_NO_KEY:
    case ERR_AUTH:
        set_status(x, EXEC_FAILED, EXIT_NO_MODEL);
        break;
    case ERR_OVERFLOW:
        set_status(x, EXEC_UNFINISHED, EXIT_UNFINISHED);
        break;
    case ERR_LOCKED:
        set_status(x, EXEC_FAILED, EXIT_LOCKED);
        break;
    default:
        set_status(x, EXEC_FAILED, EXIT_FAILED);
    }
}

/* --output: the answer as the model gave it. */
static void keep_answer(struct exec *x)
{
    if (x->answer_fd < 0 || !x->has_answer)
        return;
    bool ok = ftruncate(x->answer_fd, 0) == 0 || errno == EINVAL; /* a pipe or device */
    ok = ok && path_write_all(x->answer_fd, buf_str(&x->answer)) &&
         (!x->answer.n || str_ends(buf_str(&x->answer), STR("\n")) ||
          path_write_all(x->answer_fd, STR("\n")));
    if (ok)
        return;
    error_errno(&x->error, errno, "--output %.*s", STR_FMT(x->options.output_file));
    set_status(x, EXEC_FAILED, EXIT_OUTPUT);
}

/* Writes the result, once, and lets the loop stop. */
static void finish(struct exec *x)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (x->is_ending)
        return;
    x->is_ending = true;
    keep_answer(x);
    if (x->tty)
        reader_free(take(&x->tty));
    if (x->options.as_json || x->options.as_stream) {
        exec_result_json(x, &line);
        buf_addc(&line, '\n');
        exec_put_json(x, buf_str(&line));
    } else if (!x->is_streaming && x->has_answer) {
        exec_put_text(x, buf_str(&x->answer));
    }
    if (!x->options.as_json && !x->options.as_stream)
        exec_end_line(x);
    exec_show_end(x);
    fiber_start(x->loop, "quit", quit_fiber, x);
}

static void fail(struct exec *x, const struct error *err)
{
    set_failure(x, err);
    finish(x);
}

/* ---- the answer ---- */

/* The JSON in an answer: all of it, or what stands in its only fenced block. */
static struct str json_part(struct str answer)
{
    struct str text = str_trim(answer);
    size_t open = str_find(text, STR("```"));
    if (!text.n || text.p[0] == '{' || text.p[0] == '[' || open == SIZE_MAX)
        return text;
    struct str line, rest = str_from(text, open);
    str_line(&rest, &line);
    size_t close = str_find(rest, STR("```"));
    return close == SIZE_MAX ? text : str_trim(str_cut(rest, close));
}

static bool fits_schema(struct exec *x, struct error *err)
{
    json_clear(&x->output);
    if (!json_parse(json_part(buf_str(&x->answer)), 0, LIMIT_JSON_DEPTH, &x->output, err))
        return error_prefix(err, "the answer is not JSON");
    if (schema_check(x->schema.root, x->output.root, err)) {
        AUTO(buf) struct buf bare = BUF_INIT;
        buf_add(&bare, json_part(buf_str(&x->answer)));
        buf_clear(&x->answer);
        x->answer = take(&bare);
        return true;
    }
    json_clear(&x->output);
    return false;
}

static bool send_await(struct exec *x, struct str text, struct error *err)
{
    struct input in = {.text = text, .images = x->images};
    char turn[UUID_LEN + 1];
    in.n_images = x->n_repairs ? 0 : x->options.images.n;
    return session_send_await(x->launch.session, &in, SEND_QUEUE, turn, err);
}

static void repair_fiber(void *arg)
{
    struct exec *x = arg;
    struct error err;
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text,
             "Your answer does not fit the JSON Schema: %s. Answer again with the corrected JSON "
             "and nothing else.",
             x->error.text);
    x->error.code = ERR_NONE;
    if (!send_await(x, buf_str(&text), &err))
        fail(x, &err);
}

/* True: the answer stands.  False: the model is asked once more, or the schema is not met. */
static bool accept_answer(struct exec *x)
{
    if (!x->schema.root || fits_schema(x, &x->error))
        return true;
    if (x->n_repairs == MAX_REPAIRS) {
        set_status(x, EXEC_SCHEMA, EXIT_SCHEMA);
        finish(x);
        return false;
    }
    x->n_repairs++;
    buf_reset(&x->text);
    buf_reset(&x->answer);
    x->has_answer = false;
    fiber_start(x->loop, "repair", repair_fiber, x);
    return false;
}

static void add_files(struct exec *x, struct str mutations)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    struct arena *a = &x->launch.arena;
    size_t i, max;
    yyjson_val *pair;
    if (!mutations.n || !json_parse(mutations, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    struct str *all = arena_array(a, struct str, x->n_files + yyjson_arr_size(j.root) + 1);
    if (x->n_files)
        memcpy(all, x->files, x->n_files * sizeof *all);
    x->files = all;
    yyjson_arr_foreach(j.root, i, max, pair) {
        struct str path = json_str(yyjson_arr_get(pair, 1));
        bool is_known = !path.n;
        for (size_t k = 0; k < x->n_files && !is_known; k++)
            is_known = str_eq(all[k], path);
        if (!is_known)
            all[x->n_files++] = arena_str(a, path);
    }
}

/* What an interrupted turn has said: of its last reply, or before that. */
static void take_so_far(struct exec *x)
{
    const struct buf *so_far = x->text.n ? &x->text : &x->said;
    if (!so_far->n)
        return;
    buf_reset(&x->answer);
    buf_add(&x->answer, buf_str(so_far));
    x->has_answer = true;
}

static void end_turn(struct exec *x, const struct event *e)
{
    usage_add(&x->usage, &e->end->usage);
    x->has_asked |= e->end->requests > 0;
    if (e->end->state == TURN_CANCELED || str_is(str_of(e->end->stop), "max_time"))
        take_so_far(x);
    x->n_rounds += e->end->iterations;
    x->stop = arena_strz(&x->launch.arena, str_of(e->end->stop));
    add_files(x, e->end->mutations);
    if (x->is_late)
        set_status(x, EXEC_TIMEOUT, EXIT_TIMEOUT);
    else if (x->signo)
        set_status(x, EXEC_INTERRUPTED, 128 + x->signo);
    else if (x->exit_code == EXIT_CLOSED)
        set_status(x, EXEC_INTERRUPTED, EXIT_CLOSED);
    else if (x->exit_code == EXIT_OUTPUT)
        set_status(x, EXEC_FAILED, EXIT_OUTPUT);
    else if (e->end->state == TURN_FAILED && e->error)
        set_failure(x, e->error);
    else if (e->end->state != TURN_COMPLETED)
        set_status(x, EXEC_INTERRUPTED, EXIT_INTERRUPTED);
    else if (strcmp(e->end->stop, "end_turn") != 0)
        set_status(x, EXEC_UNFINISHED, EXIT_UNFINISHED);
    else if (!accept_answer(x))
        return;
    else if (x->n_denied)
        set_status(x, EXEC_DENIED, EXIT_DENIED);
    finish(x);
}

static void on_event(void *arg, struct session *s, const struct event *e)
{
    struct exec *x = arg;
    (void)s;
    if (x->is_ending) /* the result is the last line */
        return;
    if (x->options.as_stream)
        exec_put_event(x, e);
    if (e->kind == EV_TEXT)
        exec_add_text(x, e->text);
    x->is_text_whole |= e->kind == EV_REPLY_DONE;
    exec_show_event(x, e);
    if (e->kind == EV_PERMISSION_ASKED) {
        exec_ask(x, e);
    } else if (e->kind == EV_QUESTION_ASKED) {
        session_answer(x->launch.session, e->request_id, STR_NONE, STR_NONE);
    } else if (e->kind == EV_ANSWER) {
        buf_reset(&x->answer);
        buf_add(&x->answer, e->text);
        x->has_answer = true;
    } else if (e->kind == EV_TURN_ENDED && strcmp(e->end->stop, "continued") != 0) {
        end_turn(x, e);
    }
}

/* ---- interruptions ---- */

/* The process that reads stdout has gone, or the disk behind it is full: nothing more is of use. */
static void on_written(void *arg, bool is_broken)
{
    struct exec *x = arg;
    if (x->launch.session)
        listener_set_full(x->launch.session, &x->listener, false);
    wait_wake(&x->drained);
    if (!is_broken)
        return;
    x->exit_code = EXIT_CLOSED;
    if (writer_cause(x->out) != EPIPE) {
        error_errno(&x->error, writer_cause(x->out), "stdout");
        set_status(x, EXEC_FAILED, EXIT_OUTPUT);
        if (x->is_ending) /* this error is not shown yet */
            shown_line(stderr, "trivet exec: %s", x->error.text);
    }
    if (x->launch.session)
        session_interrupt(x->launch.session);
}

static void stop(struct exec *x)
{
    if (x->launch.session && session_interrupt(x->launch.session))
        return;
    if (!x->is_ending) {
        x->status = x->is_late ? EXEC_TIMEOUT : EXEC_INTERRUPTED;
        x->exit_code = x->is_late ? EXIT_TIMEOUT : 128 + x->signo;
        finish(x);
    }
}

static void on_signal(struct exec *x, int signo)
{
    if (x->signo)
        _exit(128 + signo); /* the second one: at once */
    x->signo = signo;
    stop(x);
}

static void on_sigint(void *arg)
{
    on_signal(arg, SIGINT);
}

static void on_sigterm(void *arg)
{
    on_signal(arg, SIGTERM);
}

static void on_timeout(void *arg)
{
    struct exec *x = arg;
    x->is_late = true;
    stop(x);
}

/* ---- the start ---- */

static bool load_schema(struct exec *x, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str path = x->options.schema_file;
    if (!path.p)
        return true;
    int fd = path_open_file(STR_NONE, path, err);
    bool ok = fd >= 0 && path_read_fd(&text, fd, path, SCHEMA_BYTES, err) &&
              json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &x->schema, err) &&
              schema_is_usable(x->schema.root, err);
    if (fd >= 0)
        close(fd);
    if (!ok)
        return error_prefix(err, "--output-schema %.*s", STR_FMT(path));
    buf_addf(&x->options.prompt,
             "\n\nAnswer at the end with JSON alone, without a code fence, that fits this JSON "
             "Schema:\n%.*s",
             STR_FMT(str_trim(buf_str(&text))));
    return true;
}

static bool load_images(struct exec *x, struct error *err)
{
    struct arena *a = &x->launch.arena;
    const struct str_list *list = &x->options.images;
    x->images = arena_array(a, struct block, list->n + 1);
    for (size_t i = 0; i < list->n; i++)
        if (!picture_read(a, list->v[i], &x->images[i], err))
            return error_prefix(err, "--image");
    return true;
}

static bool open_output(struct exec *x, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    if (!x->options.output_file.p)
        return true;
    path_absolute(&path, path_cwd(), x->options.output_file);
    x->answer_fd = export_open(buf_str(&path), x->launch.workspace, err);
    if (x->answer_fd >= 0)
        return true;
    x->exit_code = EXIT_OUTPUT;
    return error_prefix(err, "--output");
}

/* False with the exit status of the failure in x->exit_code, or 0 where its kind decides. */
static bool begin_await(struct exec *x, struct error *err)
{
    x->exit_code = EXIT_USAGE;
    if (!load_schema(x, err) || !load_images(x, err))
        return false;
    x->exit_code = 0;
    if (!launch_prepare(&x->launch, err)) {
        x->exit_code = x->launch.is_usage ? EXIT_USAGE : 0;
        return false;
    }
    x->exit_code = EXIT_NO_SESSION;
    if (!launch_find_await(&x->launch, err))
        return false;
    x->exit_code = 0;
    return launch_open_await(&x->launch, err) && open_output(x, err);
}

/* --undo: the report is the answer. */
static void undo_await(struct exec *x)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct undo_report report;
    struct error err;
    if (!session_undo_await(x->launch.session, &a, &report, &err)) {
        fail(x, &err);
        return;
    }
    undone_put_text(&report, &x->answer);
    x->has_answer = true;
    for (size_t i = 0; i < report.n; i++)
        if (report.files[i].outcome > UNDO_REMOVED) {
            set_status(x, EXEC_UNFINISHED, EXIT_UNFINISHED);
            error_set(&x->error, ERR_BUSY, "not every file could be taken back");
        }
    if (x->is_streaming)
        exec_put_text(x, buf_str(&x->answer));
    finish(x);
}

static void exec_fiber(void *arg)
{
    struct exec *x = arg;
    struct error err;
    if (!begin_await(x, &err)) {
        int known = x->exit_code;
        set_failure(x, &err);
        x->exit_code = known ? known : x->exit_code;
        finish(x);
        return;
    }
    if (!x->options.is_quiet)
        shown_line(stderr, "session %.*s", STR_FMT(x->launch.name));
    session_listen(x->launch.session, &x->listener);
    if (x->options.as_stream)
        exec_put_session(x);
    if (x->signo || x->is_late)
        stop(x);
    else if (x->options.undoes)
        undo_await(x);
    else if (!send_await(x, buf_str(&x->options.prompt), &err))
        fail(x, &err);
}

static bool wants_color(const struct run_options *o)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (str_is(o->color, "always"))
        return true;
    return !str_is(o->color, "never") && isatty(STDERR_FILENO) && !(no && *no) && term &&
           strcmp(term, "dumb") != 0;
}

static void start(struct exec *x)
{
    x->launch.engine = x->engine;
    x->launch.options = &x->options;
    x->launch.is_headless = true;
    x->listener = (struct listener){.on_event = on_event, .arg = x};
    x->out = writer_new(x->loop, x->out_fd, on_written, x);
    writer_mind_reader(x->out);
    loop_on_signal(x->loop, SIGINT, on_sigint, x);
    loop_on_signal(x->loop, SIGTERM, on_sigterm, x);
    loop_on_signal(x->loop, SIGHUP, on_sigterm, x);
    if (x->options.timeout_ms) {
        x->timer = timer_new(x->loop, on_timeout, x);
        timer_start(x->timer, x->options.timeout_ms);
    }
    fiber_start(x->loop, "exec", exec_fiber, x);
}

static void clear(struct exec *x)
{
    if (x->launch.session)
        session_unlisten(x->launch.session, &x->listener);
    launch_close(&x->launch);
    if (x->timer)
        timer_free(x->timer);
    if (x->answer_fd >= 0)
        close(x->answer_fd);
    writer_free(x->out);
    exec_drop_call(x);
    buf_clear(&x->reply);
    buf_clear(&x->text);
    buf_clear(&x->said);
    buf_clear(&x->answer);
    json_clear(&x->schema);
    json_clear(&x->output);
    run_options_clear(&x->options);
    engine_free(x->engine);
    loop_free(x->loop);
    launch_clear(&x->launch);
}

/* A script that reads JSON gets its result for wrong arguments, too. */
static int refuse(struct exec *x, int argc, char **argv, const struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT, shown = BUF_INIT;
    set_failure(x, err);
    x->exit_code = EXIT_USAGE;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!line.n && (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--stream-json") == 0)) {
            exec_result_json(x, &line);
            buf_addc(&line, '\n');
        }
    exec_show_end(x);
    if (isatty(STDOUT_FILENO))
        shown_add(&shown, buf_str(&line), true);
    path_write_all(STDOUT_FILENO, buf_str(shown.n ? &shown : &line));
    run_options_clear(&x->options);
    return EXIT_USAGE;
}

static int print_usage(struct exec *x)
{
    AUTO(buf) struct buf text = BUF_INIT;
    run_options_usage(&text);
    run_options_clear(&x->options);
    return path_write_all(STDOUT_FILENO, buf_str(&text)) ? EXIT_OK : EXIT_OUTPUT;
}

int exec_run(const struct provider *const *providers, size_t n, int argc, char **argv)
{
    struct exec x = {.ends_line = true, .answer_fd = -1, .began_us = time_mono_us()};
    struct error err;
    int in_fd;
    if (fcntl(STDOUT_FILENO, F_GETFD) < 0) { /* a file opened later would take its place */
        fputs("trivet exec: stdout is closed\n", stderr);
        return EXIT_OUTPUT;
    }
    char **words = xcalloc((size_t)argc + 1, sizeof *words); /* reading options moves them */
    memcpy(words, argv, (size_t)argc * sizeof *words);
    bool ok = run_options_read(argc, words, &x.options, &err);
    free(words);
    if (!ok)
        return refuse(&x, argc, argv, &err);
    if (x.options.asks_help)
        return print_usage(&x);
    x.is_live = isatty(STDOUT_FILENO);
    x.is_streaming = x.is_live && !x.options.as_json && !x.options.as_stream &&
                     !x.options.schema_file.p; /* whose JSON is taken out of the text */
    x.has_color = wants_color(&x.options);
    process_begin();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* as in server_run: keys stand in our environment */
    engine_hide_environment();
    io_claim_stdio(&in_fd, &x.out_fd);
    close(in_fd);
    x.loop = loop_new();
    x.engine = engine_new(x.loop, providers, n);
    start(&x);
    loop_run(x.loop);
    bool is_lost = writer_is_broken(x.out);
    int exit_code = is_lost && x.exit_code == EXIT_OK ? EXIT_OUTPUT : x.exit_code;
    child_end_all(x.loop);
    clear(&x);
    return exit_code;
}
