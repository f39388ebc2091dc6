/* SPDX-License-Identifier: MIT */
/* Keys while text is typed, and what becomes of the text: sent, steering, queued. */
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "terminal/complete.h"
#include "terminal/slash.h"
#include "terminal/width.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { TWICE_US = 2 * 1000000, HISTORY_BYTES = 4 << 20, HISTORY_ENTRY = 64 << 10 };

/* ---- what waits ---- */

struct waiting_text *input_find_waiting(struct chat *c, struct str turn, bool is_steer)
{
    for (struct waiting_text *w = c->waiting; w; w = w->next)
        if (w->is_steer == is_steer && str_is(turn, w->turn))
            return w;
    return NULL;
}

static struct waiting_text *add_waiting(struct chat *c, struct str text)
{
    struct waiting_text **at = &c->waiting;
    while (*at)
        at = &(*at)->next;
    *at = xnew(struct waiting_text);
    (*at)->text = str_dup(text);
    return *at;
}

void input_drop_waiting(struct chat *c, struct waiting_text *w)
{
    for (struct waiting_text **at = &c->waiting; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            free(w->text);
            free(w);
            return;
        }
}

void input_return_waiting(struct chat *c, bool steers)
{
    AUTO(buf) struct buf text = BUF_INIT, typed = BUF_INIT;
    for (struct waiting_text *w = c->waiting, *next; w; w = next) {
        next = w->next;
        if (w->is_steer && !steers)
            continue;
        buf_addf(&text, "%s%s", text.n ? "\n" : "", w->text);
        if (w->is_withdrawn)
            *w->is_withdrawn = true;
        input_drop_waiting(c, w);
    }
    if (!text.n)
        return;
    editor_take(&c->editor, &typed);
    if (typed.n)
        buf_addf(&text, "\n%s", typed.p);
    editor_set(&c->editor, buf_str(&text));
}

/* ---- sending ---- */

struct sending {
    struct chat *c;
    struct session *session;
    enum send_how how;
    struct waiting_text *w; /* looked up again behind the wait */
    char *text;
    bool is_withdrawn; /* taken back before it was accepted */
};

/* The turn that was named while this one waited may have begun already. */
static bool is_waiting(const struct chat *c, const struct waiting_text *w)
{
    for (const struct waiting_text *at = c->waiting; at; at = at->next)
        if (at == w)
            return true;
    return false;
}

static void send_fiber(void *arg)
{
    struct sending *s = arg;
    struct chat *c = s->c;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct input in = {.text = str_of(s->text)};
    char turn[UUID_LEN + 1];
    struct error err;
    input_images(c, in.text, &a, &in);
    bool ok = session_send_await(s->session, &in, s->how, turn, &err);
    if (is_waiting(c, s->w))
        s->w->is_withdrawn = NULL;
    if (ok && s->is_withdrawn)
        engine_cancel_turn(c->engine, str_of(turn), &err);
    if (!ok) {
        if (is_waiting(c, s->w))
            input_drop_waiting(c, s->w);
        if (err.code != ERR_CANCELED) {
            view_notice(c, STYLE_RED, "trivet: %s", err.text);
            if (editor_is_empty(&c->editor))
                editor_set(&c->editor, str_of(s->text));
        }
        chat_dirty(c);
    }
    free(s->text);
    free(s);
}

/* The engine names the turn in EV_TURN_QUEUED, before the send returns. */
void input_named(struct chat *c, const struct event *e)
{
    for (struct waiting_text *w = c->waiting; w; w = w->next)
        if (!w->turn[0] && str_is(e->text, w->text)) {
            snprintf(w->turn, sizeof w->turn, "%.*s", STR_FMT(e->turn_id));
            w->is_steer = e->kind == EV_STEERED;
            return;
        }
}

void input_send(struct chat *c, struct str text, bool queues)
{
    struct sending *s = xnew(struct sending);
    *s = (struct sending){.c = c, .session = c->launch.session, .text = str_dup(text)};
    s->w = add_waiting(c, text);
    s->w->is_steer = c->is_busy && !queues;
    s->w->is_late = c->is_busy;
    s->w->is_withdrawn = &s->is_withdrawn;
    s->how = queues ? SEND_QUEUE : SEND_STEER_OR_QUEUE;
    fiber_start(c->loop, "send", send_fiber, s);
}

/* The turn is over: steering that found no round is sent again, or comes back to be edited. */
void input_settle(struct chat *c, bool is_completed)
{
    struct waiting_text *late = c->waiting, *next;
    if (!is_completed) {
        input_return_waiting(c, true);
        return;
    }
    for (; late; late = next) {
        next = late->next;
        if (!late->is_steer || !late->turn[0])
            continue;
        AUTO_FREE char *text = xstrdup(late->text);
        input_drop_waiting(c, late);
        input_send(c, str_of(text), true);
    }
}

/* Stops the turn; what waits comes back into the editor. */
static void stop(struct chat *c)
{
    input_return_waiting(c, true);
    session_clear_queue(c->launch.session);
    c->is_stopping = session_interrupt(c->launch.session) || c->is_stopping;
}

/* ---- the history file ---- */

static void put_history_path(struct buf *out)
{
    path_xdg(out, "XDG_STATE_HOME", ".local/state");
    buf_addz(out, "/trivet/history");
}

void input_load_history(struct chat *c)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct error ignored;
    put_history_path(&path);
    if (!path_read(&text, buf_str(&path), HISTORY_BYTES, &ignored))
        return;
    struct str rest = buf_str(&text), line;
    while (str_line(&rest, &line)) {
        AUTO(json) struct json j = JSON_INIT;
        if (json_parse(line, JSON_FIX_UTF8, 4, &j, &ignored) && json_str(j.root).n)
            editor_remember(&c->editor, json_str(j.root));
    }
}

/* One JSON string a line, appended: several chats may write. */
static void keep_history(struct chat *c, struct str text)
{
    AUTO(buf) struct buf path = BUF_INIT, line = BUF_INIT;
    struct error ignored;
    struct jw w = JW(&line);
    editor_remember(&c->editor, text);
    if (text.n > HISTORY_ENTRY)
        return;
    put_history_path(&path);
    jw_str(&w, text);
    buf_addc(&line, '\n');
    if (!path_make_dirs(path_dir(buf_str(&path)), 0700, &ignored))
        return;
    int fd = open(path.p, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    path_write_all(fd, buf_str(&line));
    close(fd);
}

/* ---- keys ---- */

static bool ends_with_backslash(const struct editor *e)
{
    return e->at == e->text.n && e->text.n && e->text.p[e->text.n - 1] == '\\';
}

/* Plain lines need a new prompt behind what a command printed. */
static void end_command(struct chat *c)
{
    if (!c->screen.is_plain || c->pane != &pane_edit || c->is_busy)
        return;
    screen_text(&c->screen, 0, STR("> "));
    c->screen.is_whole = true;
}

static void submit(struct chat *c, bool queues)
{
    AUTO(buf) struct buf text = BUF_INIT;
    if (ends_with_backslash(&c->editor)) {
        editor_replace(&c->editor, c->editor.at - 1, STR("\n"));
        return;
    }
    editor_take(&c->editor, &text);
    struct str typed = str_trim(buf_str(&text));
    if (!typed.n) {
        if (c->screen.is_plain && !c->is_busy)
            screen_text(&c->screen, 0, STR("> ")), c->screen.is_whole = true;
        return;
    }
    keep_history(c, typed);
    if (typed.p[0] == '/' && slash_run(c, typed))
        end_command(c);
    else if (typed.p[0] == '!' && typed.n > 1)
        program_shell(c, str_trim(str_from(typed, 1)));
    else
        input_send(c, typed, queues && c->is_busy);
}

static void press_interrupt(struct chat *c)
{
    bool is_twice = time_mono_us() - c->stop_us < TWICE_US;
    c->stop_us = time_mono_us();
    if (is_twice) {
        chat_quit(c);
    } else if (c->is_busy) {
        stop(c);
        c->hint = "ctrl-c again quits";
    } else {
        AUTO(buf) struct buf dropped = BUF_INIT;
        editor_take(&c->editor, &dropped);
        c->hint = "ctrl-c again quits";
    }
}

static void press_escape(struct chat *c)
{
    bool is_twice = time_mono_us() - c->escape_us < TWICE_US;
    c->escape_us = time_mono_us();
    if (c->complete) {
        complete_clear(c);
        c->is_settled = true;
    } else if (c->is_busy) {
        stop(c);
    } else if (is_twice && c->last_prompt && editor_is_empty(&c->editor)) {
        editor_set(&c->editor, str_of(c->last_prompt));
        c->escape_us = 0;
    }
}

static void press_end(struct chat *c)
{
    if (editor_is_empty(&c->editor))
        chat_quit(c);
    else
        editor_key(&c->editor, &(struct key){'d', MOD_CTRL, STR_NONE});
}

static void press_enter(struct chat *c)
{
    submit(c, false);
}

static void press_queue(struct chat *c)
{
    submit(c, true);
}

static void press_newline(struct chat *c)
{
    editor_insert(&c->editor, STR("\n"));
}

static void press_tab(struct chat *c)
{
    if (!complete_accept(c) && c->is_busy)
        submit(c, true);
}

static void press_mode(struct chat *c)
{
    if (c->is_busy)
        c->hint = "not while it works; esc stops the turn";
    else
        chat_set_mode(c, run_mode_next(c->options.mode));
}

static void press_search(struct chat *c)
{
    buf_reset(&c->search);
    c->found = SIZE_MAX;
    chat_set_pane(c, &pane_search);
}

static void press_up(struct chat *c)
{
    if (complete_move(c, -1)) {
        c->is_settled = true;
        return;
    }
    if (c->waiting && editor_is_empty(&c->editor)) {
        input_return_waiting(c, false);
        session_clear_queue(c->launch.session);
        return;
    }
    editor_move_row(&c->editor, -1);
}

static void press_down(struct chat *c)
{
    if (complete_move(c, 1)) {
        c->is_settled = true;
        return;
    }
    editor_move_row(&c->editor, 1);
}

static void press_redraw(struct chat *c)
{
    screen_leave(&c->screen);
}

static void press_thinking(struct chat *c)
{
    c->shows_thinking = !c->shows_thinking;
    c->hint = c->shows_thinking ? "reasoning is shown" : "reasoning is not shown";
}

static const struct key_row {
    const char *name; /* as people write it */
    uint32_t code;
    unsigned mods;
    void (*press)(struct chat *c);
    const char *idle, *working;
} key_rows[] = {
    {"Enter", KEY_ENTER, 0, press_enter, "send", "give it to the running turn"},
    {"Alt-Enter", KEY_ENTER, MOD_ALT, press_queue, "send", "queue it as the next turn"},
    {"Tab", KEY_TAB, 0, press_tab, "complete", "complete, or queue it as the next turn"},
    {"Ctrl-J", 'j', MOD_CTRL, press_newline, "new line (also `\\` Enter)", "the same"},
    {"Shift-Enter", KEY_ENTER, MOD_SHIFT, press_newline, "new line", "the same"},
    {"Esc", KEY_ESC, 0, press_escape, "twice: edit the last prompt",
     "stop; what waits comes back to be edited"},
    {"Ctrl-C", 'c', MOD_CTRL, press_interrupt, "clear the line; twice: quit", "stop; twice: quit"},
    {"Ctrl-D", 'd', MOD_CTRL, press_end, "quit when the line is empty", "the same"},
    {"Ctrl-Z", 'z', MOD_CTRL, chat_suspend, "suspend; fg goes on", "the same; the turn waits too"},
    {"Ctrl-R", 'r', MOD_CTRL, press_search, "search earlier prompts", "the same"},
    {"Up", KEY_UP, 0, press_up, "row above, earlier prompts", "take back what waits"},
    {"Down", KEY_DOWN, 0, press_down, "row below, later prompts", "the same"},
    {"Ctrl-P", 'p', MOD_CTRL, press_up, "like Up", "the same"},
    {"Ctrl-N", 'n', MOD_CTRL, press_down, "like Down", "the same"},
    {"Ctrl-T", 't', MOD_CTRL, press_thinking, "reasoning on or off", "the same"},
    {"Ctrl-O", 'o', MOD_CTRL, program_page, "last output or diff in `$PAGER`", "the same"},
    {"Ctrl-G", 'g', MOD_CTRL, program_edit, "edit the text in `$VISUAL`", "the same"},
    {"Shift-Tab", KEY_TAB, MOD_SHIFT, press_mode, "next mode", "-"},
    {"Ctrl-L", 'l', MOD_CTRL, press_redraw, "draw the lower rows again", "the same"},
};

/* The keys, where a line would begin with it. */
static void show_keys(struct chat *c)
{
    AUTO(buf) struct buf out = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(key_rows); i++) {
        buf_addf(&out, "%-12s ", key_rows[i].name);
        for (const char *p = key_rows[i].idle; *p; p++)
            if (*p != '`') /* they are for docs/chat.md */
                buf_addc(&out, *p);
        buf_addc(&out, '\n');
    }
    screen_paragraph(&c->screen);
    view_notice(c, 0, "%s", out.p);
}

static void edit_key(struct chat *c, const struct key *k)
{
    for (size_t i = 0; i < ARRAY_LEN(key_rows); i++)
        if (key_rows[i].code == k->code && key_rows[i].mods == k->mods) {
            key_rows[i].press(c);
            return;
        }
    if (k->code == '?' && !k->mods && editor_is_empty(&c->editor))
        show_keys(c);
    else
        editor_key(&c->editor, k);
}

void input_edit_key(struct chat *c, const struct key *k)
{
    c->is_settled = false;
    edit_key(c, k);
    if (c->pane == &pane_edit && !c->is_settled)
        complete_update(c);
}

static void find(struct chat *c, size_t before)
{
    size_t found = c->search.n ? editor_search(&c->editor, buf_str(&c->search), before) : SIZE_MAX;
    if (found != SIZE_MAX || before == SIZE_MAX)
        c->found = found;
}

static void leave_search(struct chat *c, bool takes)
{
    if (takes && c->found != SIZE_MAX)
        editor_set(&c->editor, str_of(c->editor.history[c->found]));
    chat_set_pane(c, &pane_edit);
}

void input_search_key(struct chat *c, const struct key *k)
{
    bool is_control = k->mods & MOD_CTRL;
    if (is_control && k->code == 'r') {
        find(c, c->found == SIZE_MAX ? SIZE_MAX : c->found);
    } else if (k->code == KEY_BACKSPACE) {
        buf_cut(&c->search, c->search.n - cluster_last(buf_str(&c->search)));
        find(c, SIZE_MAX);
    } else if (k->code == KEY_ESC || (is_control && (k->code == 'c' || k->code == 'g'))) {
        leave_search(c, false);
    } else if (k->code >= KEY_ESC || k->mods) {
        leave_search(c, true);
    } else {
        utf8_put(&c->search, k->code);
        find(c, SIZE_MAX);
    }
}

void input_key(struct chat *c, const struct key *k)
{
    c->hint = NULL;
    c->pane->key(c, k);
}

void input_describe(struct buf *out)
{
    buf_addz(out, "| key | idle | while it works |\n|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(key_rows); i++)
        buf_addf(out, "| %s | %s | %s |\n", key_rows[i].name, key_rows[i].idle,
                 key_rows[i].working);
}
