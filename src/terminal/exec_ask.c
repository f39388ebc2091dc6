/* SPDX-License-Identifier: MIT */
#include "base/shown.h"
#include "terminal/exec_impl.h"
#include "terminal/outside.h"

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
    bool is_always = x->always && (str_ieq(word, STR("a")) || str_ieq(word, STR("always")));
    if (x->is_outside) {
        enum outside_answer said = outside_answer(word, x->always);
        is_always = said == OUTSIDE_ALWAYS;
        says_yes = said == OUTSIDE_ONCE;
        if (said == OUTSIDE_AGAIN) {
            ask_again(x, OUTSIDE_AGAIN_TEXT);
            return;
        }
    }
    bool is_yes = is_always || says_yes;
    if (is_always)
        rules_add(&x->launch.rules, VERDICT_ALLOW, str_of(x->always), &ignored);
    buf_reset(&x->reply);
    answer(x, is_yes, is_yes ? NULL : "the user refused this call");
}

/* The whole call is shown: no part of it may be allowed unseen. */
static void put_question(int fd, const struct event *e)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, "? ");
    shown_add(&text, e->call->name, false);
    buf_addc(&text, ' ');
    shown_add(&text, e->call->args, false);
    buf_addz(&text, "\n  ");
    shown_add(&text, e->permission->reason, false);
    if (e->permission->reason.n)
        buf_addz(&text, "\n  ");
    struct str always = e->permission->always;
    if (!e->permission->is_outside)
        buf_addf(&text, "[y]es, [N]o%s: ", always.p ? ", [a]lways for this tool" : "");
    else
        buf_addz(&text, OUTSIDE_ONCE_TEXT);
    if (e->permission->is_outside && always.p) {
        buf_addz(&text, ", " OUTSIDE_ALWAYS_TEXT);
        shown_add(&text, always, false);
    }
    if (e->permission->is_outside)
        buf_addz(&text, "; " OUTSIDE_ELSE_TEXT);
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
        note_denied(x, e->call);
        answer(x, false, e->permission->is_outside ? no_terminal_outside : no_terminal);
        return;
    }
    free(take(&x->always));
    if (e->permission->always.p)
        x->always = str_dup(e->permission->always);
    put_question(fd, e);
    buf_reset(&x->reply);
    tty_question_ask(&x->question, fd);
    x->tty = reader_new(x->loop, fd, on_typed, x);
}
