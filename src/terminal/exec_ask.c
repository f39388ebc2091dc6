/* SPDX-License-Identifier: MIT */
#include "base/shown.h"
#include "terminal/exec_impl.h"
#include "terminal/outside.h"
#include "terminal/question.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int open_terminal(void)
{
    return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

static void answer(struct exec *x, bool allow, const char *reason)
{
    reader_free(take(&x->tty));
    session_permit(x->launch.session, x->request_id, allow, str_of(reason), STR_NONE);
}

static void ask_again(struct exec *x, const char *text)
{
    int fd = open_terminal();
    buf_reset(&x->reply);
    if (fd >= 0) {
        dprintf(fd, "%s", text);
        close(fd);
    }
}

static void on_typed(void *arg, struct str bytes)
{
    struct exec *x = arg;
    struct error ignored;
    buf_add(&x->reply, bytes);
    if (bytes.n && str_chr(buf_str(&x->reply), '\n') == SIZE_MAX)
        return;
    if (bytes.n && tty_question_is_early(&x->question)) {
        ask_again(x, tty_question_too_early);
        return;
    }
    struct str word = str_trim(buf_str(&x->reply));
    bool says_yes = str_ieq(word, STR("y")) || str_ieq(word, STR("yes"));
    bool is_for_all = x->offer.n && (str_ieq(word, STR("s")) || str_ieq(word, STR("session")));
    if (x->is_outside) {
        enum outside_answer said = outside_answer(word, x->offer.n);
        is_for_all = said == OUTSIDE_ALWAYS;
        says_yes = said == OUTSIDE_ONCE;
        if (said == OUTSIDE_AGAIN) {
            ask_again(x, OUTSIDE_AGAIN_TEXT);
            return;
        }
    }
    bool is_yes = is_for_all || says_yes;
    for (size_t i = 0; is_for_all && i < x->offer.n; i++)
        rules_add(&x->launch.rules, VERDICT_ALLOW, x->offer.rules[i], &ignored);
    buf_reset(&x->reply);
    answer(x, is_yes, is_yes ? NULL : "the user refused this call");
}

static void on_line(void *arg, enum question_part part, struct str line)
{
    (void)part;
    buf_addf(arg, "%.*s\n", STR_FMT(line));
}

static void put_rules(const struct rule_offer *o, struct buf *out)
{
    AUTO(buf) struct buf rules = BUF_INIT;
    for (size_t i = 0; i < o->n; i++)
        buf_addf(&rules, "%s%.*s", i ? ", " : "", STR_FMT(o->rules[i]));
    shown_add(out, buf_str(&rules), false);
}

static void put_question(struct exec *x, int fd, const struct event *e)
{
    AUTO(buf) struct buf text = BUF_INIT;
    question_put(&x->launch.rules, e, &x->offer, on_line, &text);
    if (e->permission->is_outside) {
        buf_addz(&text, OUTSIDE_ONCE_TEXT);
        if (x->offer.n)
            buf_addz(&text, ", " OUTSIDE_ALWAYS_TEXT);
        put_rules(&x->offer, &text);
        buf_addz(&text, "; " OUTSIDE_ELSE_TEXT);
    } else {
        buf_addz(&text, x->offer.n ? "y  once   s  this session: " : "y  once");
        put_rules(&x->offer, &text);
        buf_addz(&text, "   n  no: ");
    }
    dprintf(fd, "%.*s", STR_FMT(buf_str(&text)));
}

static const char no_terminal[] =
    "not permitted: there is no terminal to ask on; an allow rule or another mode would permit it";
static const char no_terminal_outside[] =
    "not permitted: only the user can let a command out of the sandbox, and there is no terminal to "
    "ask on; the user can start trivet exec on a terminal, or with --allow 'outside(COMMAND)' for "
    "commands that begin so. Go on inside of the sandbox, or say what you would need.";

static void note_denied(struct exec *x, const struct event_call *c)
{
    struct arena *a = &x->launch.arena;
    struct exec_denied *more = arena_array(a, struct exec_denied, x->n_denied + 1);
    if (x->n_denied)
        memcpy(more, x->denied, x->n_denied * sizeof *more);
    more[x->n_denied++] = (struct exec_denied){arena_str(a, c->name), arena_str(a, c->args)};
    x->denied = more;
}

void exec_ask(struct exec *x, const struct event *e)
{
    int fd = open_terminal();
    x->is_outside = e->permission->is_outside;
    x->request_id = arena_str(&x->launch.arena, e->request_id);
    if (fd < 0) {
        exec_show_call(x);
        note_denied(x, e->call);
        answer(x, false, e->permission->is_outside ? no_terminal_outside : no_terminal);
        return;
    }
    profile_offer(&x->launch.rules, x->launch.workspace, e, &x->launch.arena, &x->offer);
    exec_drop_call(x);
    put_question(x, fd, e);
    buf_reset(&x->reply);
    tty_question_ask(&x->question, fd);
    x->tty = reader_new(x->loop, fd, on_typed, x);
}
