/* SPDX-License-Identifier: MIT */
/* The question before a call that the mode does not cover, or that a rule wants asked.
 *
 *     y once   a always in this workspace   w the same, wider   s for this session
 *     e edit the rule   n no   r no, with a reason
 *
 * The rules that an answer would make are shown before it is given.  `a` and `w` write to the
 * user's own file below the name of the workspace, never into the workspace.
 *
 * A command that asks to leave the sandbox is answered by a word in full instead (outside.h).
 */
#include "base/shown.h"
#include "base/tty_question.h"
#include "terminal/bell.h"
#include "terminal/outside.h"
#include "terminal/question.h"
#include "terminal/width.h"

#include <stdio.h>

enum { TEXT_ROWS = 4 };
static const char blanks[] = "                ";

enum typing { ENTRY_NONE, ENTRY_WORD, ENTRY_RULE, ENTRY_REASON }; /* what is being typed */

struct asked {
    struct arena arena;
    struct str request_id;
    struct rule_offer offer;
    bool is_outside;
    struct tty_question question; /* since it is on the screen */
    enum typing entry;
    struct editor editor;
    char trouble[520]; /* why the typed rule is none */
};

/* ---- answering ---- */

static void answer(struct chat *c, bool allow, struct str reason)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str id = arena_str(&a, c->asked->request_id), why = arena_str(&a, reason);
    ask_close(c);
    session_permit(c->launch.session, id, allow, why, STR_NONE);
}

struct saving {
    struct chat *c;
    char *rule;
};

static void save_fiber(void *arg)
{
    struct saving *s = arg;
    AUTO(buf) struct buf path = BUF_INIT;
    struct error err;
    profile_rules_path(&path);
    if (!rules_save_await(buf_str(&path), s->c->launch.workspace, str_of(s->rule), &err))
        view_notice(s->c, STYLE_RED, "the rule holds for this session only: %s", err.text);
    chat_dirty(s->c);
    free(s->rule);
    free(s);
}

/* The rule counts from now on, in the file too when it is to stay. */
static bool add_rule(struct chat *c, struct str rule, bool is_kept, struct error *err)
{
    if (!rules_add(&c->launch.rules, VERDICT_ALLOW, rule, err))
        return false;
    view_notice(c, STYLE_DIM, "%s: %.*s", is_kept ? "always here" : "this session", STR_FMT(rule));
    if (is_kept) {
        struct saving *s = xnew(struct saving);
        *s = (struct saving){c, str_dup(rule)};
        fiber_start(c->loop, "save rule", save_fiber, s);
    }
    return true;
}

static void allow_like(struct chat *c, bool is_wide, bool is_kept)
{
    const struct rule_offer *o = &c->asked->offer;
    struct error err;
    size_t n = is_wide ? o->wide.p != NULL : o->n;
    if (!n)
        return;
    for (size_t i = 0; i < n; i++)
        if (!add_rule(c, is_wide ? o->wide : o->rules[i], is_kept, &err)) {
            snprintf(c->asked->trouble, sizeof c->asked->trouble, "%s", err.text);
            return;
        }
    answer(c, true, STR_NONE);
}

static void begin_entry(struct chat *c, enum typing entry)
{
    struct asked *q = c->asked;
    q->entry = entry;
    q->trouble[0] = '\0';
    editor_set(&q->editor, entry == ENTRY_RULE && q->offer.n ? q->offer.rules[0] : STR(""));
    if (c->screen.is_plain) {
        screen_print(&c->screen, 0, "%s: ", entry == ENTRY_RULE ? "rule" : "reason");
        c->screen.is_whole = true;
    }
}

/* On whether the command may leave the sandbox. */
static void end_word(struct chat *c, struct str word)
{
    struct asked *q = c->asked;
    switch (outside_answer(word, q->offer.n)) {
    case OUTSIDE_ONCE:
        answer(c, true, STR_NONE);
        break;
    case OUTSIDE_ALWAYS:
        allow_like(c, false, true);
        break;
    case OUTSIDE_AGAIN:
        snprintf(q->trouble, sizeof q->trouble, "%s", OUTSIDE_AGAIN_TEXT);
        if (c->screen.is_plain)
            screen_print(&c->screen, 0, "%s", q->trouble);
        break;
    case OUTSIDE_NO:
        if (str_is(word, "r"))
            begin_entry(c, ENTRY_REASON);
        else
            answer(c, false, STR("the user refused this call"));
    }
}

static void end_entry(struct chat *c)
{
    struct asked *q = c->asked;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    editor_take(&q->editor, &text);
    struct str typed = str_trim(buf_str(&text));
    if (q->entry == ENTRY_WORD) {
        end_word(c, typed);
    } else if (q->entry == ENTRY_REASON) {
        AUTO(buf) struct buf words = BUF_INIT;
        buf_addz(&words, "the user refused this call");
        if (typed.n)
            buf_addf(&words, ": %.*s", STR_FMT(typed));
        answer(c, false, buf_str(&words));
    } else if (!add_rule(c, typed, true, &err)) {
        snprintf(q->trouble, sizeof q->trouble, "%s", err.text);
        editor_set(&q->editor, typed);
    } else {
        answer(c, true, STR_NONE);
    }
}

/* ---- keys ---- */

static void press_once(struct chat *c)
{
    answer(c, true, STR_NONE);
}

static void press_always(struct chat *c)
{
    allow_like(c, false, true);
}

static void press_wider(struct chat *c)
{
    allow_like(c, true, true);
}

static void press_session(struct chat *c)
{
    allow_like(c, false, false);
}

static void press_edit(struct chat *c)
{
    if (c->asked->offer.n)
        begin_entry(c, ENTRY_RULE);
}

static void press_no(struct chat *c)
{
    answer(c, false, STR("the user refused this call"));
}

static void press_reason(struct chat *c)
{
    begin_entry(c, ENTRY_REASON);
}

static void press_help(struct chat *c)
{
    view_notice(
        c, STYLE_DIM,
        "A rule names a tool and, in brackets, what its calls are about: bash(npm test) fits "
        "commands that begin with these words, write_file(src/**) files below src. Rules that "
        "are kept stand in ~/.config/trivet/permissions.json below the name of this workspace; "
        "/permissions lists them.");
}

static const struct {
    char key;
    void (*press)(struct chat *c);
    const char *about;
} answers[] = {
    {'y', press_once, "let this call run"},
    {'a', press_always, "and every call that the shown rule fits, in this workspace, from now on"},
    {'w', press_wider, "the same with the wider rule"},
    {'s', press_session, "the same for this session only"},
    {'e', press_edit, "edit the rule first"},
    {'n', press_no, "do not run it; the model gets a refusal"},
    {'r', press_reason, "do not run it, and say why"},
    {'?', press_help, "what a rule is"},
};

static void stop_asking(struct chat *c)
{
    answer(c, false, STR("the user refused this call"));
    session_interrupt(c->launch.session);
}

static bool is_ctrl_c(const struct key *k)
{
    return (k->mods & MOD_CTRL) && k->code == 'c';
}

/* What is typed while the question appears was meant for the line. */
static void keep_early(struct chat *c, const struct key *k)
{
    bool is_text = k->code == KEY_PASTE || (k->code < KEY_ESC && !(k->mods & ~MOD_SHIFT));
    c->hint = "typed before the question could be read: it is no answer";
    if (c->screen.is_plain && k->code == KEY_ENTER)
        screen_print(&c->screen, 0, "%s", tty_question_too_early);
    else if (is_text && !c->screen.is_plain)
        editor_key(&c->editor, k);
}

static void ask_key(struct chat *c, const struct key *k)
{
    struct asked *q = c->asked;
    bool is_first = q->entry == ENTRY_NONE ||
                    (q->entry == ENTRY_WORD && editor_is_empty(&q->editor));
    if (is_first && !is_ctrl_c(k) && tty_question_is_early(&q->question)) {
        keep_early(c, k);
        return;
    }
    bool is_stop = k->code == KEY_ESC || is_ctrl_c(k);
    if (q->entry != ENTRY_NONE && k->code == KEY_ENTER) {
        end_entry(c);
    } else if (q->entry > ENTRY_WORD && is_stop) {
        q->entry = q->is_outside ? ENTRY_WORD : ENTRY_NONE;
        editor_set(&q->editor, STR(""));
        q->trouble[0] = '\0';
    } else if (is_stop) {
        stop_asking(c);
    } else if (q->entry != ENTRY_NONE) {
        editor_key(&q->editor, k);
    } else if (!k->mods) {
        for (size_t i = 0; i < ARRAY_LEN(answers); i++)
            if (k->code == (uint32_t)answers[i].key) {
                answers[i].press(c);
                return;
            }
    }
}

/* ---- drawing ---- */

static void put_row(struct chat *c, unsigned style, const char *head, struct str text)
{
    struct screen *s = &c->screen;
    live_row(s);
    live_print(s, 0, "%s", head);
    live_put(s, style, width_cut(text, live_left(s, LIVE_COLUMNS)));
}

/* In as many rows as it takes, but not in the whole window. */
static void put_rows(struct chat *c, unsigned style, const char *head, struct str text)
{
    enum { INDENT = 16 };
    AUTO(buf) struct buf shown = BUF_INIT;
    struct screen *s = &c->screen;
    shown_add(&shown, text, false);
    struct str rest = buf_str(&shown);
    for (int n = 0; n == 0 || (rest.n && n < TEXT_ROWS); n++) {
        live_row(s);
        live_print(s, 0, "%.*s", n ? MIN(INDENT, (int)strlen(head)) : 100, n ? blanks : head);
        struct str line = width_cut(rest, live_left(s, LIVE_COLUMNS));
        size_t blank = line.n < rest.n ? str_rchr(line, ' ') : SIZE_MAX;
        line = str_cut(line, blank == SIZE_MAX ? line.n : blank + 1);
        live_put(s, style, line);
        rest = str_from(rest, line.n);
    }
    if (rest.n)
        live_print(s, STYLE_DIM, "...");
}

static void draw_rules(struct chat *c)
{
    const struct rule_offer *o = &c->asked->offer;
    for (size_t i = 0; i < o->n; i++)
        put_rows(c, STYLE_BOLD, i ? blanks : "a  always here: ", o->rules[i]);
    if (o->wide.p)
        put_rows(c, STYLE_BOLD, "w  wider:       ", o->wide);
}

/* The other answers, in one row where it is wide enough. */
static void draw_answers(struct chat *c)
{
    static const char *const answers_of[] = {"s  this session   ", "e  edit the rule   ",
                                             "n  no   ", "r  no, and why "};
    struct screen *s = &c->screen;
    bool has_rules = c->asked->offer.n > 0;
    live_row(s);
    for (size_t i = has_rules ? 0 : 2; i < ARRAY_LEN(answers_of); i++) {
        if ((int)strlen(answers_of[i]) > live_left(s, LIVE_COLUMNS))
            live_row(s);
        live_print(s, 0, "%s", answers_of[i]);
    }
    live_cursor(s);
}

static void on_entry_row(void *arg, struct str shown, bool has_cursor, int col)
{
    static const char *const heads[] = {"", OUTSIDE_ELSE_TEXT, "rule> ", "why> "};
    struct chat *c = arg;
    const char *head = heads[c->asked->entry];
    put_row(c, 0, head, shown);
    if (has_cursor) {
        live_cursor(&c->screen);
        c->screen.next.cursor_col = (int)strlen(head) + col;
    }
}

static void ask_draw(struct chat *c)
{
    struct asked *q = c->asked;
    if (!q->question.asked_us)
        tty_question_ask(&q->question, -1);
    if (q->trouble[0])
        put_rows(c, STYLE_RED, "", str_of(q->trouble));
    if (q->entry == ENTRY_WORD) {
        put_rows(c, 0, "", STR(OUTSIDE_ONCE_TEXT ", r to say why not"));
        if (q->offer.n)
            put_rows(c, STYLE_BOLD, OUTSIDE_ALWAYS_TEXT, q->offer.rules[0]);
    }
    if (q->entry != ENTRY_NONE) {
        q->editor.width = LIVE_COLUMNS - (int)sizeof OUTSIDE_ELSE_TEXT;
        editor_rows(&q->editor, on_entry_row, c);
        return;
    }
    put_row(c, 0, "y  once", STR(""));
    draw_rules(c);
    draw_answers(c);
}

const struct pane pane_ask = {.draw = ask_draw, .key = ask_key, .has_popup = true};

/* ---- the question ---- */

/* Into the scrollback: what is allowed must have been seen. */
static void on_line(void *arg, enum question_part part, struct str line)
{
    static const unsigned styles[] = {[QUESTION_HEAD] = STYLE_YELLOW | STYLE_BOLD,
                                      [QUESTION_OLD] = STYLE_RED,
                                      [QUESTION_NEW] = STYLE_GREEN,
                                      [QUESTION_NOTE] = STYLE_DIM};
    struct chat *c = arg;
    bool is_ours = part == QUESTION_HEAD || part == QUESTION_NOTE;
    (is_ours ? screen_text : screen_code)(&c->screen, styles[part], line);
    screen_code(&c->screen, 0, STR("\n"));
}

void ask_open(struct chat *c, const struct event *e)
{
    ask_close(c);
    struct asked *q = c->asked = xnew(struct asked);
    const struct rules *rules = &c->launch.rules;
    q->request_id = arena_str(&q->arena, e->request_id);
    q->is_outside = e->permission->is_outside;
    q->entry = q->is_outside ? ENTRY_WORD : ENTRY_NONE;
    profile_offer(rules, c->launch.workspace, e, &q->arena, &q->offer);
    view_end_text(c);
    screen_paragraph(&c->screen);
    question_put(rules, e, &q->offer, on_line, c);
    screen_fresh(&c->screen);
    chat_set_pane(c, &pane_ask);
    bell_ring(c, "%.*s waits for an answer", STR_FMT(e->call->name));
}

void ask_close(struct chat *c)
{
    struct asked *old = c->asked;
    if (!old)
        return;
    c->asked = NULL;
    editor_clear(&old->editor);
    arena_clear(&old->arena);
    free(old);
    if (c->pane == &pane_ask)
        chat_set_pane(c, &pane_edit);
}

void ask_describe(struct buf *out)
{
    buf_addz(out, "| answer | meaning |\n|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        buf_addf(out, "| %c | %s |\n", answers[i].key, answers[i].about);
}
