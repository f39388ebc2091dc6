/* SPDX-License-Identifier: MIT */
/* The question before a call that the mode does not cover, or that a rule wants asked. */
#include "base/shown.h"
#include "terminal/internal.h"

struct asked {
    struct arena arena;
    struct str request_id, tool, reason;
};

static void answer(struct chat *c, bool allow, struct str reason)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str id = arena_str(&a, c->asked->request_id);
    ask_close(c);
    session_permit(c->launch.session, id, allow, reason);
}

static void ask_draw(struct chat *c)
{
    struct screen *s = &c->screen;
    live_row(s);
    live_print(s, STYLE_YELLOW, "%.*s wants to run", STR_FMT(c->asked->tool));
    if (c->asked->reason.n) {
        live_row(s);
        live_print(s, STYLE_DIM, "  %.*s", STR_FMT(c->asked->reason));
    }
    live_row(s);
    live_print(s, 0, "y  once   n  no ");
    live_cursor(s);
}

static void ask_key(struct chat *c, const struct key *k)
{
    bool is_stop = k->code == KEY_ESC || ((k->mods & MOD_CTRL) && k->code == 'c');
    if (k->code == 'y')
        answer(c, true, STR_NONE);
    else if (k->code == 'n' || is_stop)
        answer(c, false, STR("the user refused this call"));
    if (is_stop)
        session_interrupt(c->launch.session);
}

const struct pane pane_ask = {.draw = ask_draw, .key = ask_key, .has_popup = true};

/* The whole call goes into the scrollback: what is allowed must have been seen. */
void ask_open(struct chat *c, const struct event *e)
{
    AUTO(buf) struct buf name = BUF_INIT, args = BUF_INIT, reason = BUF_INIT;
    ask_close(c);
    c->asked = xnew(struct asked);
    shown_add(&name, e->call->name, false);
    shown_add(&args, e->call->args, false);
    shown_add(&reason, e->permission->reason, false);
    c->asked->request_id = arena_str(&c->asked->arena, e->request_id);
    c->asked->tool = arena_str(&c->asked->arena, buf_str(&name));
    c->asked->reason = arena_str(&c->asked->arena, buf_str(&reason));
    view_end_text(c);
    screen_print(&c->screen, STYLE_YELLOW, "? %s ", name.p);
    screen_text(&c->screen, 0, buf_str(&args));
    screen_fresh(&c->screen);
    chat_set_pane(c, &pane_ask);
}

void ask_close(struct chat *c)
{
    struct asked *old = c->asked;
    if (!old)
        return;
    c->asked = NULL;
    arena_clear(&old->arena);
    free(old);
    if (c->pane == &pane_ask)
        chat_set_pane(c, &pane_edit);
}
