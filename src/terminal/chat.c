/* SPDX-License-Identifier: MIT */
/* The chat: a client of the engine like every dialect, with a person at the other end. */
#include "terminal/chat.h"

#include "base/path.h"
#include "base/shown.h"
#include "base/time.h"
#include "loop/process.h"
#include "terminal/bell.h"
#include "terminal/complete.h"
#include "terminal/finder.h"
#include "terminal/internal.h"
#include "terminal/slash.h"
#include "terminal/tty.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    FRAME_MS = 45,
    HOLD_MS = 300,           /* after a resize: more may come, some with a delay */
    ESCAPE_MS = 30,          /* an escape byte that is alone so long is the key */
    QUEUE_BYTES = 256 << 10, /* more waiting for a slow terminal pauses the model */
};

/* ---- frames ---- */

static void show_errors(struct chat *c)
{
    AUTO(buf) struct buf text = BUF_INIT;
    tty_take_stderr(&text);
    struct str rest = buf_str(&text), line;
    while (str_line(&rest, &line))
        if (line.n)
            view_notice(c, STYLE_YELLOW, "%.*s", STR_FMT(line));
}

/* A terminal that was resized has moved all rows; what is drawn before this is known would be drawn
 * over other text.  tmux reports a second resize up to 250 ms later.  False: more may come. */
static bool look_at_size(struct chat *c, bool waits)
{
    int cols, lines;
    tty_size(c->out_fd, &cols, &lines);
    if (cols != c->seen_cols || lines != c->seen_lines)
        c->resized_us = time_mono_us();
    c->seen_cols = cols;
    c->seen_lines = lines;
    if (waits && time_mono_us() - c->resized_us < HOLD_MS * 1000LL) {
        timer_start(c->frame, HOLD_MS);
        return false;
    }
    if (cols != c->screen.cols || lines != c->screen.lines)
        screen_resize(&c->screen, cols, lines);
    return true;
}

/* A terminal that takes nothing pauses the model. */
static void hold_back(struct chat *c)
{
    size_t waiting = c->screen.pending.n + (c->out ? writer_queued(c->out) : 0);
    if (c->launch.session && c->launch.session == c->heard)
        listener_set_full(c->launch.session, &c->listener, waiting > QUEUE_BYTES && !c->is_away);
}

void chat_draw(struct chat *c)
{
    timer_stop(c->frame);
    if (!c->out || c->is_away || writer_queued(c->out)) {
        hold_back(c);
        return; /* on_written draws */
    }
    show_errors(c);
    c->drawn_us = time_mono_us();
    if (!look_at_size(c, !c->is_quitting)) {
        hold_back(c);
        return;
    }
    if (!c->screen.is_plain && !c->is_quitting)
        live_draw(c);
    bell_title(c);
    screen_frame(&c->screen);
    if (!c->screen.out.n)
        return;
    writer_put(c->out, buf_str(&c->screen.out));
    buf_shrink(&c->screen.out, 1 << 16);
    hold_back(c);
}

static void on_frame(void *arg)
{
    chat_draw(arg);
}

void chat_dirty(struct chat *c)
{
    int64_t since_ms = (time_mono_us() - c->drawn_us) / 1000;
    if (since_ms >= FRAME_MS)
        timer_start(c->frame, 1);
    else if (screen_has_text(&c->screen) || c->is_busy)
        timer_start(c->frame, FRAME_MS - since_ms);
    else
        timer_start(c->frame, 1);
}

static void on_written(void *arg, bool is_broken)
{
    struct chat *c = arg;
    wait_wake(&c->written);
    if (is_broken) {
        chat_quit(c);
        return;
    }
    chat_dirty(c);
}

/* The running time in the status line. */
static void on_second(void *arg)
{
    struct chat *c = arg;
    if (c->is_busy && !c->screen.is_plain)
        chat_draw(c);
    timer_start(c->second, 1000);
}

void chat_set_pane(struct chat *c, const struct pane *pane)
{
    if (c->pane && c->pane != pane && c->pane->close)
        c->pane->close(c);
    c->pane = pane;
    if (c->screen.is_plain && pane != &pane_edit) { /* a pane is printed as text instead */
        pane->draw(c);
        for (int i = 0; i < c->screen.next.n; i++)
            screen_print(&c->screen, 0, "%s\n", c->screen.next.rows[i].text.p);
        c->screen.next.n = 0;
    }
    chat_dirty(c);
}

/* ---- the end ---- */

/* Only the text stays on the screen. */
static void put_last_frame(struct chat *c)
{
    look_at_size(c, false);
    screen_frame(&c->screen);
    screen_leave(&c->screen);
    writer_put(c->out, buf_str(&c->screen.out));
    buf_reset(&c->screen.out);
}

/* A terminal that takes nothing for a second (Ctrl-S) is given up. */
static void write_rest_await(struct chat *c)
{
    enum { PATIENCE_MS = 1000 };
    struct error ignored;
    uint64_t before;
    AUTO(buf) struct buf hint = BUF_INIT;
    view_end_text(c);
    put_last_frame(c);
    if (c->launch.session && !session_is_unused(c->launch.session) && !c->options.is_ephemeral)
        buf_addf(&hint, "to go on: trivet chat -r %.8s\n", c->launch.name.p);
    writer_put(c->out, buf_str(&hint));
    do {
        before = writer_written(c->out);
        wait_reset(&c->written);
        if (writer_queued(c->out) && !writer_is_broken(c->out))
            wait_timed_await(c->loop, &c->written, PATIENCE_MS, &ignored);
    } while (writer_written(c->out) != before);
}

static void quit_fiber(void *arg)
{
    struct chat *c = arg;
    struct error ignored;
    engine_stop(c->engine);
    while (c->signing || c->finder.fiber) {
        if (c->signing)
            fiber_cancel(c->signing);
        if (c->finder.fiber)
            fiber_cancel(c->finder.fiber);
        yield_await(c->loop, &ignored);
    }
    engine_drain_through_await(c->engine);
    write_rest_await(c);
    loop_stop(c->loop);
}

void chat_quit(struct chat *c)
{
    if (c->is_quitting)
        _exit(130);
    c->is_quitting = true;
    if (!c->is_started) { /* SIGTERM while the session is opened */
        tty_leave();
        _exit(c->exit_code);
    }
    fiber_start(c->loop, "quit", quit_fiber, c);
}

static void on_term(void *arg)
{
    struct chat *c = arg;
    c->exit_code = 143;
    chat_quit(c);
}

static void on_interrupt(void *arg)
{
    struct chat *c = arg;
    if (!c->launch.session) { /* it is being opened */
        c->exit_code = 130;
        chat_quit(c);
        return;
    }
    input_key(c, &(struct key){'c', MOD_CTRL, STR_NONE});
}

static void on_resize(void *arg)
{
    chat_draw(arg);
}

/* ---- programs on the terminal ---- */

/* False: the terminal has not taken all that was written, so no program can write there yet. */
static bool leave_terminal(struct chat *c)
{
    if (!writer_queued(c->out))
        put_last_frame(c);
    if (writer_queued(c->out))
        return false;
    bell_forget_title(c);
    tty_leave();
    return true;
}

static void take_terminal(struct chat *c)
{
    if (!c->screen.is_plain)
        tty_enter(c->in_fd);
    screen_forget(&c->screen);
    chat_draw(c);
}

bool chat_go_away(struct chat *c)
{
    if (!leave_terminal(c)) {
        c->hint = "the terminal has not taken all output yet";
        return false;
    }
    reader_pause(c->in, true);
    c->is_away = true;
    return true;
}

void chat_come_back(struct chat *c)
{
    c->is_away = false;
    reader_pause(c->in, false);
    take_terminal(c);
}

void chat_suspend(struct chat *c)
{
    leave_terminal(c);
    tty_suspend();
    take_terminal(c);
}

/* ---- bytes ---- */

static void on_key(void *arg, const struct key *k)
{
    struct chat *c = arg;
    if (!c->is_quitting)
        input_key(c, k);
}

static void on_bytes(void *arg, struct str bytes)
{
    struct chat *c = arg;
    if (!bytes.n) {
        chat_quit(c);
        return;
    }
    timer_stop(c->escape);
    if (keys_add(&c->keys, bytes, on_key, c))
        timer_start(c->escape, ESCAPE_MS);
    if (!c->is_quitting)
        chat_draw(c);
}

static void on_escape(void *arg)
{
    struct chat *c = arg;
    keys_settle(&c->keys, on_key, c);
    if (!c->is_quitting)
        chat_draw(c);
}

void chat_hold_keys(struct chat *c, bool is_held)
{
    c->keys.is_held = is_held;
    if (!is_held && keys_add(&c->keys, STR(""), on_key, c))
        timer_start(c->escape, ESCAPE_MS);
}

/* ---- the session ---- */

static void on_event(void *arg, struct session *s, const struct event *e)
{
    struct chat *c = arg;
    (void)s;
    view_event(c, e);
    chat_dirty(c);
}

/* The name of the checked-out branch, without asking git. */
static void find_branch(struct chat *c)
{
    AUTO(buf) struct buf head = BUF_INIT, path = BUF_INIT;
    struct error ignored;
    buf_addf(&path, "%.*s/.git/HEAD", STR_FMT(c->launch.workspace));
    c->branch[0] = '\0';
    if (!path_read(&head, buf_str(&path), 4096, &ignored))
        return;
    struct str line = str_trim(buf_str(&head)), prefix = STR("ref: refs/heads/");
    if (str_starts(line, prefix))
        snprintf(c->branch, sizeof c->branch, "%.*s", STR_FMT(str_from(line, prefix.n)));
}

static void listen(struct chat *c)
{
    struct session_info info;
    c->listener = (struct listener){.on_event = on_event, .arg = c};
    session_listen(c->launch.session, &c->listener);
    c->heard = c->launch.session;
    find_branch(c);
    session_info(c->launch.session, &info);
    c->context = info.context_tokens;
    c->window = session_window(c->launch.session);
    c->is_busy = false;
}

static void leave_session(struct chat *c)
{
    if (!c->launch.session)
        return;
    view_end_text(c);
    c->heard = NULL;
    session_unlisten(c->launch.session, &c->listener);
    launch_close(&c->launch);
    while (c->waiting)
        input_drop_waiting(c, c->waiting);
    ask_close(c);
    c->is_busy = c->is_stopping = false;
}

/* This one instead of the one that is shown. */
static bool show_session(struct chat *c, struct session *fresh, struct error *err)
{
    struct session *old = c->launch.session;
    struct str name = c->launch.name;
    if (!launch_use(&c->launch, fresh, err)) {
        c->launch.session = old;
        c->launch.name = name;
        return false;
    }
    struct str fresh_name = c->launch.name;
    c->launch.session = old;
    leave_session(c);
    c->launch.session = fresh;
    c->launch.name = fresh_name;
    listen(c);
    return true;
}

bool chat_renew(struct chat *c, struct error *err)
{
    struct session *s = launch_new(&c->launch, err);
    return s && show_session(c, s, err);
}

bool chat_resume_await(struct chat *c, struct str path, struct error *err)
{
    struct session *s = launch_resume_await(&c->launch, path, err);
    return s && show_session(c, s, err);
}

bool chat_fork_await(struct chat *c, struct error *err)
{
    struct session *s = launch_copy_await(&c->launch, c->launch.session, err);
    return s && show_session(c, s, err);
}

static void set_chat_settings(struct chat *c)
{
    c->launch.settings.asks_beyond_mode = true;
    c->launch.settings.sends_output = true;
}

/* The sandbox of a session is made once, so that another mode needs it opened anew.  Its lock is
 * free only when it is closed. */
static void mode_fiber(void *arg)
{
    struct chat *c = arg;
    struct error err;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_info info;
    session_info(c->launch.session, &info);
    struct str path = session_is_unused(c->launch.session) ? STR_NONE : arena_str(&a, info.path);
    leave_session(c);
    launch_refill(&c->launch);
    set_chat_settings(c);
    struct session *s = path.p ? launch_resume_await(&c->launch, path, &err) : NULL;
    if (!s)
        s = launch_new(&c->launch, &err);
    if (s && launch_use(&c->launch, s, &err)) {
        listen(c);
    } else {
        view_notice(c, STYLE_RED, "trivet: %s", err.text);
        chat_quit(c);
    }
    chat_hold_keys(c, false);
    chat_draw(c);
}

void chat_set_mode(struct chat *c, const struct run_mode *mode)
{
    c->options.mode = mode;
    chat_hold_keys(c, true);
    fiber_start(c->loop, "mode", mode_fiber, c);
}

/* ---- the start ---- */

static bool open_chat_await(struct chat *c, struct error *err)
{
    c->launch.engine = c->engine;
    c->launch.options = &c->options;
    if (!launch_prepare(&c->launch, err))
        return false;
    set_chat_settings(c);
    bool is_new = !c->options.resume.p && !c->options.continues;
    if (!c->options.model.p && is_new && !engine_default_model(c->engine).p)
        c->options.model = profile_stored_model(&c->launch.arena);
    if (!launch_find_await(&c->launch, err) || !launch_open_await(&c->launch, err))
        return false;
    listen(c);
    return true;
}

/* What an earlier chat said, or the question which model shall answer. */
static void begin_session(struct chat *c)
{
    struct session_info info;
    session_info(c->launch.session, &info);
    if (c->options.resume.p || c->options.continues)
        view_history(c);
    if (!info.model.p)
        models_first(c);
}

/* The reader is paused until there is a session that keys can be for. */
static void open_fiber(void *arg)
{
    struct chat *c = arg;
    struct error err;
    if (!open_chat_await(c, &err)) {
        c->exit_code = c->launch.is_usage ? 2 : 1;
        shown_line(stderr, "trivet: %s", err.text);
        write_rest_await(c);
        loop_stop(c->loop);
        return;
    }
    input_load_history(c);
    c->is_started = true;
    begin_session(c);
    if (c->options.prompt.n)
        input_send(c, buf_str(&c->options.prompt), false);
    reader_pause(c->in, false);
    chat_draw(c);
}

static bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return !term || !*term || strcmp(term, "dumb") == 0;
}

static void begin_screen(struct chat *c)
{
    int cols, lines;
    const char *no_colour = getenv("NO_COLOR");
    bool is_plain = c->options.is_plain;
    tty_size(c->out_fd, &cols, &lines);
    c->seen_cols = cols;
    c->seen_lines = lines;
    screen_init(&c->screen, cols, lines, is_plain, !(no_colour && *no_colour));
    c->markdown.screen = &c->screen;
    c->screen.has_links = c->has_links;
    c->keys.is_plain = is_plain;
    c->shows_thinking = true;
    if (!is_plain)
        tty_enter(c->in_fd);
    c->pane = &pane_edit;
}

static void begin_loop(struct chat *c)
{
    c->frame = timer_new(c->loop, on_frame, c);
    c->second = timer_new(c->loop, on_second, c);
    c->escape = timer_new(c->loop, on_escape, c);
    c->in = reader_new(c->loop, dup(c->in_fd), on_bytes, c);
    c->out = writer_new(c->loop, dup(c->out_fd), on_written, c);
    loop_on_signal(c->loop, SIGTERM, on_term, c);
    loop_on_signal(c->loop, SIGHUP, on_term, c);
    loop_on_signal(c->loop, SIGINT, on_interrupt, c);
    loop_on_signal(c->loop, SIGWINCH, on_resize, c);
    timer_start(c->second, 1000);
}

static void clear(struct chat *c)
{
    leave_session(c);
    c->out = (writer_free(c->out), NULL);
    reader_free(c->in);
    timer_free(c->frame);
    timer_free(c->second);
    timer_free(c->escape);
    chat_set_pane(c, &pane_edit);
    complete_clear(c);
    finder_clear(&c->finder);
    engine_free(c->engine);
    loop_free(c->loop);
    launch_clear(&c->launch);
    run_options_clear(&c->options);
    screen_clear(&c->screen);
    editor_clear(&c->editor);
    keys_clear(&c->keys);
    markdown_clear(&c->markdown);
    buf_clear(&c->search);
    buf_clear(&c->last_output);
    bell_forget_title(c);
    free(c->doing);
    free(c->last_prompt);
    free(c->progress);
}

/* Everything behind the options, in the process that draws. */
static int run(struct chat *c, const struct provider *const *providers, size_t n)
{
    process_begin();
    tty_guard_crash();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* as in server_run: keys stand in our environment */
    engine_hide_environment();
    io_claim_stdio(&c->in_fd, &c->out_fd);
    begin_screen(c);
    c->loop = loop_new();
    begin_loop(c);
    view_welcome(c);
    chat_draw(c); /* before all that takes longer: the sandbox tries what the kernel can do */
    c->engine = engine_new(c->loop, providers, n);
    reader_pause(c->in, true);
    fiber_start(c->loop, "open", open_fiber, c);
    loop_run(c->loop);
    tty_leave();
    child_end_all(c->loop);
    clear(c);
    return c->exit_code;
}

void chat_describe(struct buf *out)
{
    buf_addz(out, "## Keys\n\n");
    input_describe(out);
    buf_addz(out, "\n## Answers to a question\n\n");
    ask_describe(out);
    buf_addz(out, "\n## Commands\n\n");
    slash_describe(out);
}

int chat_run(const struct provider *const *providers, size_t n, int argc, char **argv)
{
    static struct chat c; /* large, and one of a process */
    struct error err;
    if (!chat_options_read(argc, argv, &c.options, &err)) {
        shown_line(stderr, "trivet chat: %s", err.text);
        fputs("(trivet chat --help)\n", stderr);
        run_options_clear(&c.options);
        return 2;
    }
    if (c.options.asks_help) {
        AUTO(buf) struct buf usage = BUF_INIT;
        chat_options_usage(&usage);
        run_options_clear(&c.options);
        return path_write_all(STDOUT_FILENO, buf_str(&usage)) ? 0 : 1;
    }
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        fputs("trivet chat: this is not a terminal; trivet exec takes a prompt without one\n",
              stderr);
        run_options_clear(&c.options);
        return 2;
    }
    c.options.is_plain = c.options.is_plain || is_dumb();
    bell_begin(&c);
    tty_guard();
    return run(&c, providers, n);
}
