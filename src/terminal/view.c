/* SPDX-License-Identifier: MIT */
/* Engine events into the scrollback.  Everything that comes from a model, a tool or a file passes
 * base/shown.h before it is printed. */
#include "base/limits.h"
#include "base/path.h"
#include "base/shown.h"
#include "base/time.h"
#include "terminal/bell.h"
#include "terminal/width.h"
#include "toolsets/todo.h"

#include <stdarg.h>
#include <stdio.h>

enum { GIST_COLUMNS = 200, OUTPUT_LINES = 3, DIFF_LINES = 24, KEPT_BYTES = 4 << 20 };

void view_notice(struct chat *c, unsigned style, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT, shown = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    view_end_text(c);
    shown_add(&shown, buf_str(&text), true);
    screen_text(&c->screen, style, buf_str(&shown));
    screen_fresh(&c->screen);
}

/* ---- text ---- */

void view_end_text(struct chat *c)
{
    if (c->in_answer)
        markdown_end(&c->markdown);
    c->in_answer = c->is_thinking = false;
    screen_fresh(&c->screen);
}

/* A piece of the answer. */
static void add_text(struct chat *c, struct str text)
{
    if (!c->in_answer) {
        view_end_text(c);
        screen_paragraph(&c->screen);
        c->in_answer = true;
        c->has_called = false;
    }
    markdown_add(&c->markdown, text);
}

static void add_thinking(struct chat *c, struct str text)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    if (!c->shows_thinking)
        return;
    if (!c->is_thinking) {
        view_end_text(c);
        screen_paragraph(&c->screen);
        c->is_thinking = true;
        c->has_called = false;
    }
    shown_add(&shown, text, true);
    screen_text(&c->screen, STYLE_DIM | STYLE_ITALIC, buf_str(&shown));
}

void view_prompt(struct chat *c, struct str text)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    view_end_text(c);
    screen_paragraph(&c->screen);
    shown_add(&shown, text, true);
    if (!c->screen.is_plain || c->options.prompt.n)
        screen_text(&c->screen, STYLE_BOLD | STYLE_GREEN, STR("> "));
    screen_text(&c->screen, STYLE_BOLD, buf_str(&shown));
    screen_fresh(&c->screen);
    free(c->last_prompt);
    c->last_prompt = str_dup(text);
}

/* ---- calls ---- */

void view_gist(struct str args_json, struct buf *out)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf shown = BUF_INIT, ignored_list = BUF_INIT;
    struct error ignored;
    struct str gist = args_json;
    if (todo_text(args_json, out, &ignored_list))
        return;
    if (json_parse(args_json, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored))
        gist = profile_gist(j.root, args_json);
    gist = str_trim(gist);
    size_t end = str_chr(gist, '\n');
    shown_add(&shown, str_cut(gist, end), false);
    struct str cut = width_cut(buf_str(&shown), GIST_COLUMNS);
    buf_add(out, cut);
    buf_addz(out, cut.n < shown.n || end != SIZE_MAX ? " ..." : "");
}

static void put_seconds(struct screen *s, int64_t us)
{
    if (us >= 60 * 1000000LL)
        screen_print(s, STYLE_DIM, "  %lldm%02llds", (long long)(us / 60000000),
                     (long long)(us / 1000000 % 60));
    else if (us >= 100000)
        screen_print(s, STYLE_DIM, "  %.1fs", (double)us / 1e6);
}

/* The last lines of a command's output. */
static void print_output(struct screen *s, struct str text)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    size_t n = 0;
    struct str line, rest = str_trim(text);
    while (str_line(&rest, &line))
        n++;
    rest = str_trim(text);
    size_t skip = n > OUTPUT_LINES ? n - OUTPUT_LINES : 0;
    if (skip)
        screen_print(s, STYLE_DIM, "  ... %zu more %s (ctrl-o)\n", skip,
                     skip == 1 ? "line" : "lines");
    for (size_t i = 0; str_line(&rest, &line); i++) {
        if (i < skip)
            continue;
        buf_reset(&shown);
        shown_add(&shown, line, false);
        screen_code(s, STYLE_DIM, STR("  "));
        screen_code(s, STYLE_DIM, width_cut(buf_str(&shown), 2 * s->cols));
        screen_code(s, 0, STR("\n"));
    }
}

void view_output(struct chat *c, struct str text)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    view_end_text(c);
    shown_add(&shown, text, true);
    screen_code(&c->screen, 0, buf_str(&shown));
    screen_fresh(&c->screen);
}

/* The list that a call has set; false: it sets none. */
static bool print_todos(struct screen *s, struct str args)
{
    AUTO(buf) struct buf gist = BUF_INIT, list = BUF_INIT;
    struct str line;
    if (!todo_text(args, &gist, &list))
        return false;
    for (struct str rest = buf_str(&list); str_line(&rest, &line) && line.n > 4;) {
        AUTO(buf) struct buf shown = BUF_INIT;
        char state = line.p[1];
        unsigned style = state == 'x' ? STYLE_DIM : state == '~' ? STYLE_BOLD : 0;
        struct str mark = s->is_plain    ? str_cut(line, 3)
                          : state == 'x' ? STR("\u2611")
                          : state == '~' ? STR("\u25b8")
                                         : STR("\u2610");
        shown_add(&shown, str_from(line, 4), false);
        s->hang = 4;
        screen_text(s, style, STR("  "));
        screen_text(s, style, mark);
        screen_text(s, style, STR(" "));
        screen_text(s, style, buf_str(&shown));
        s->hang = 0;
        screen_text(s, 0, STR("\n"));
    }
    return true;
}

/* Reads "@@ -41,3 +41,3 @@": the line numbers of both sides. */
static void hunk_lines(struct str line, int *ret_old, int *ret_new)
{
    AUTO_FREE char *text = str_dup(line);
    int old = 0, now = 0;
    const char *plus = strchr(text, '+');
    if (sscanf(text, "@@ -%d", &old) == 1 && plus)
        sscanf(plus, "+%d", &now);
    *ret_old = old;
    *ret_new = now;
}

void view_diff(struct screen *s, struct str diff, size_t max_lines)
{
    struct str line;
    int old = 0, now = 0;
    size_t n = 0, left = 0;
    while (str_line(&diff, &line)) {
        char c = line.n ? line.p[0] : ' ';
        if (str_starts(line, STR("---")) || str_starts(line, STR("+++")))
            continue;
        if (c == '@') {
            hunk_lines(line, &old, &now);
            continue;
        }
        if (n++ >= max_lines) {
            left++;
            continue;
        }
        AUTO(buf) struct buf shown = BUF_INIT;
        shown_add(&shown, str_from(line, 1), true);
        unsigned style = c == '+' ? STYLE_GREEN : c == '-' ? STYLE_RED : STYLE_DIM;
        AUTO(buf) struct buf head = BUF_INIT;
        buf_addf(&head, "  %4d %c ", c == '-' ? old : now, c);
        screen_code(s, style, buf_str(&head));
        screen_code(s, style, buf_str(&shown));
        screen_code(s, 0, STR("\n"));
        old += c != '+';
        now += c != '-';
    }
    if (left)
        screen_print(s, STYLE_DIM, "  ... %zu more lines (ctrl-o)\n", left);
}

static void count_changes(struct str diff, size_t *ret_more, size_t *ret_less)
{
    struct str line;
    *ret_more = *ret_less = 0;
    while (str_line(&diff, &line)) {
        bool is_head = str_starts(line, STR("---")) || str_starts(line, STR("+++"));
        *ret_more += !is_head && str_starts(line, STR("+"));
        *ret_less += !is_head && str_starts(line, STR("-"));
    }
}

/* What the last line of a failed command says, "exit status 3"; STR_NONE when it says nothing. */
static struct str take_status(struct str *text)
{
    struct str t = str_trim(*text);
    size_t at = str_rchr(t, '\n');
    struct str last = at == SIZE_MAX ? t : str_from(t, at + 1);
    bool is_one = str_starts(last, STR("exit status ")) || str_starts(last, STR("timed out")) ||
                  str_starts(last, STR("ended by signal"));
    if (!is_one)
        return STR_NONE;
    *text = str_cut(t, at == SIZE_MAX ? 0 : at);
    return last;
}

static void print_call_line(struct chat *c, const struct event *e, struct str status)
{
    struct screen *s = &c->screen;
    AUTO(buf) struct buf name = BUF_INIT, gist = BUF_INIT;
    size_t more, less;
    shown_add(&name, e->call->name, false);
    view_gist(e->call->args, &gist);
    screen_text(s, e->result->is_error ? STYLE_RED : STYLE_GREEN, STR("* "));
    screen_text(s, STYLE_BOLD, buf_str(&name));
    screen_print(s, 0, "  %s", gist.p ? gist.p : "");
    if (e->result->diff.n) {
        count_changes(e->result->diff, &more, &less);
        screen_print(s, STYLE_GREEN, "  +%zu", more);
        screen_print(s, STYLE_RED, " -%zu", less);
    }
    put_seconds(s, e->result->duration_us);
    if (status.n)
        screen_print(s, STYLE_RED, "  %.*s", STR_FMT(status));
    screen_text(s, 0, STR("\n"));
}

/* The last line that a running command has printed. */
static void set_progress(struct chat *c, struct str text)
{
    struct str t = str_trim(text);
    size_t at = str_rchr(t, '\n');
    free(c->progress);
    c->progress = t.n ? str_dup(at == SIZE_MAX ? t : str_from(t, at + 1)) : NULL;
}

static void end_call(struct chat *c, const struct event *e)
{
    const struct event_result *r = e->result;
    struct str text = r->text;
    struct str status = r->is_error ? take_status(&text) : STR_NONE;
    bool is_command = str_is(e->call->name, "bash");
    view_end_text(c);
    if (!c->has_called)
        screen_paragraph(&c->screen);
    c->has_called = true; /* calls that follow each other stand together */
    print_call_line(c, e, status);
    if (r->diff.n)
        view_diff(&c->screen, r->diff, DIFF_LINES);
    else if (!r->is_error && print_todos(&c->screen, e->call->args))
        ;
    else if (is_command || r->is_error)
        print_output(&c->screen, text);
    screen_fresh(&c->screen);
    buf_reset(&c->last_output);
    shown_add(&c->last_output, str_cut(r->diff.n ? r->diff : r->text, KEPT_BYTES), true);
    free(c->doing);
    c->doing = NULL;
    set_progress(c, STR(""));
}

static void begin_call(struct chat *c, const struct event_call *call)
{
    AUTO(buf) struct buf gist = BUF_INIT, name = BUF_INIT;
    shown_add(&name, call->name, false);
    view_gist(call->args, &gist);
    free(c->doing);
    buf_addc(&name, ' ');
    buf_add(&name, buf_str(&gist));
    c->doing = str_dup(buf_str(&name));
    view_end_text(c);
}

/* ---- turns ---- */

static void begin_turn(struct chat *c, const struct event *e)
{
    struct waiting_text *w = input_find_waiting(c, e->turn_id, false);
    c->is_busy = true;
    snprintf(c->turn, sizeof c->turn, "%.*s", STR_FMT(e->turn_id));
    c->is_stopping = c->has_called = false;
    c->started_us = time_mono_us();
    if (w) {
        if (!c->screen.is_plain || w->is_late)
            view_prompt(c, str_of(w->text));
        input_drop_waiting(c, w);
    }
}

/* How a failed turn can be gone on from. */
static const char *way_out(const struct error *err)
{
    switch (err->code) {
    case ERR_NO_KEY:
    case ERR_AUTH:
        return "  try: /login to enter another key, /model to choose another model";
    case ERR_NO_MODEL:
        return "  try: /model to choose a model";
    case ERR_NETWORK:
        return "  try: trivet doctor, to see which servers can be reached";
    case ERR_OVERFLOW:
        return "  try: /compact to make the conversation shorter, /new for a new one";
    case ERR_RATE:
    case ERR_QUOTA:
        return "  try: again later, or /model to choose another model";
    default:
        return NULL;
    }
}

static void show_failure(struct chat *c, const struct error *err)
{
    if (!err)
        return;
    view_notice(c, STYLE_RED, "trivet: %s", err->text);
    if (way_out(err))
        view_notice(c, 0, "%s", way_out(err));
}

static void end_turn(struct chat *c, const struct event *e)
{
    struct waiting_text *queued = input_find_waiting(c, e->turn_id, false);
    if (queued)
        input_drop_waiting(c, queued);
    if (!str_is(e->turn_id, c->turn))
        return; /* it never ran */
    int64_t took_us = time_mono_us() - c->started_us;
    view_end_text(c);
    c->is_busy = c->is_stopping = false;
    free(c->doing);
    c->doing = NULL;
    set_progress(c, STR(""));
    ask_close(c);
    if (e->end->state == TURN_FAILED)
        show_failure(c, e->error);
    else if (e->end->state == TURN_CANCELED && strcmp(e->end->stop, "continued") != 0)
        view_notice(c, STYLE_YELLOW, "stopped");
    else if (strcmp(e->end->stop, "end_turn") != 0 && strcmp(e->end->stop, "continued") != 0)
        view_notice(c, STYLE_YELLOW, "the answer is not complete: %s", e->end->stop);
    input_settle(c, e->end->state == TURN_COMPLETED);
    if (c->screen.is_plain)
        screen_text(&c->screen, 0, STR("\n> ")), c->screen.is_whole = true;
    else if (took_us > 10 * 1000000LL) /* the user may have looked away */
        bell_ring(c, "the turn %s after %lld s",
                  e->end->state == TURN_FAILED     ? "failed"
                  : e->end->state == TURN_CANCELED ? "was stopped"
                                                   : "is over",
                  (long long)(took_us / 1000000));
}

static void show_retry(struct chat *c, const struct event *e)
{
    view_notice(c, STYLE_YELLOW, "%.*s; attempt %d of %d in %.1f s", STR_FMT(e->text),
                e->retry->attempt, e->retry->max_attempts, (double)e->retry->delay_ms / 1000);
}

static void show_compaction(struct chat *c, const struct event *e)
{
    if (e->error && strcmp(e->compaction->reason, "manual") == 0)
        return; /* /compact says it */
    if (e->error)
        view_notice(c, STYLE_RED, "compaction failed: %s", e->error->text);
    else
        view_notice(c, STYLE_DIM, "the conversation was summed up: %lld tokens became %lld",
                    (long long)e->compaction->tokens_before,
                    (long long)e->compaction->tokens_after);
}

static void apply_steer(struct chat *c, const struct event *e)
{
    for (struct waiting_text *w = c->waiting; w; w = w->next)
        if (w->is_steer && str_is(e->text, w->text)) {
            view_prompt(c, e->text);
            input_drop_waiting(c, w);
            return;
        }
}

void view_event(struct chat *c, const struct event *e)
{
    switch (e->kind) {
    case EV_TURN_QUEUED:
    case EV_STEERED:
        input_named(c, e);
        break;
    case EV_TURN_STARTED:
        begin_turn(c, e);
        break;
    case EV_STEER_APPLIED:
        apply_steer(c, e);
        break;
    case EV_TEXT:
        add_text(c, e->text);
        break;
    case EV_REASONING:
        add_thinking(c, e->text);
        break;
    case EV_REPLY_DONE:
        view_end_text(c);
        break;
    case EV_CALL_STARTED:
        begin_call(c, e->call);
        break;
    case EV_PERMISSION_ASKED:
        ask_open(c, e);
        break;
    case EV_CALL_OUTPUT:
        set_progress(c, e->text);
        break;
    case EV_CALL_DONE:
        end_call(c, e);
        break;
    case EV_RETRY_WAITING:
        show_retry(c, e);
        break;
    case EV_COMPACTION_DONE:
        show_compaction(c, e);
        break;
    case EV_NOTICE:
        view_notice(c, STYLE_YELLOW, "%.*s", STR_FMT(e->text));
        break;
    case EV_USAGE_CHANGED:
        c->context = e->count;
        c->window = e->window;
        break;
    case EV_TURN_ENDED:
        end_turn(c, e);
        break;
    default:
        break;
    }
}

/* ---- the start ---- */

void view_welcome(struct chat *c)
{
    struct screen *s = &c->screen;
    screen_text(s, STYLE_BOLD, STR("trivet " TRIVET_VERSION));
    screen_text(s, STYLE_DIM, STR("  ? keys  /help commands  ctrl-d quits\n"));
    if (s->is_plain && !c->options.prompt.n)
        screen_text(s, 0, STR("> "));
    s->is_whole = true;
}

static void show_message(struct chat *c, struct arena *a, const struct message *m)
{
    struct str text = m->display.p ? m->display : message_text_of(a, m);
    if (message_is_typed(m))
        view_prompt(c, text);
    if (m->role == ROLE_SUMMARY)
        view_notice(c, STYLE_DIM, "(earlier messages were summed up)");
    if (m->role != ROLE_ASSISTANT)
        return;
    if (!str_is_blank(text)) {
        add_text(c, text);
        view_end_text(c);
    }
    for (size_t i = 0; i < m->n_blocks; i++) {
        AUTO(buf) struct buf gist = BUF_INIT;
        if (m->blocks[i].kind != BLOCK_CALL)
            continue;
        view_gist(m->blocks[i].arguments, &gist);
        view_notice(c, STYLE_DIM, "* %.*s  %s", STR_FMT(m->blocks[i].name), gist.p ? gist.p : "");
    }
}

void view_history(struct chat *c)
{
    enum { SHOWN = 20 };
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct message *m = session_messages(c->launch.session, &a, &n);
    size_t first = n > SHOWN ? n - SHOWN : 0;
    if (first)
        view_notice(c, STYLE_DIM, "(%zu earlier messages)", first);
    for (size_t i = first; i < n; i++)
        show_message(c, &a, &m[i]);
    view_end_text(c);
}
