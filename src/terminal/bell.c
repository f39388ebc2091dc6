/* SPDX-License-Identifier: MIT */
#include "terminal/bell.h"

#include "base/path.h"
#include "base/shown.h"
#include "dialects/settings.h"
#include "terminal/tty.h"

#include <stdarg.h>

enum { TITLE_BYTES = 120, NOTICE_BYTES = 200 };

static bool is_on(const char *name)
{
    enum setting_from from;
    struct error ignored;
    return !str_is(setting_get(setting_find(str_of(name), &ignored), &from), "off");
}

void bell_begin(struct chat *c)
{
    c->has_title = is_on("chat-title") && !c->options.is_plain;
    c->has_bell = is_on("chat-bell") && !c->options.is_plain;
    c->has_notices = is_on("chat-notify") && !c->options.is_plain;
    c->has_links = is_on("chat-links") && !c->options.is_plain;
    tty_keep_title(c->has_title);
}

void bell_title(struct chat *c)
{
    AUTO(buf) struct buf title = BUF_INIT;
    struct str name = path_base(c->launch.workspace);
    if (!c->has_title || c->is_quitting || !name.n)
        return;
    buf_addz(&title, c->asked ? "? " : c->is_busy ? "* " : "");
    shown_add(&title, str_cut(name, TITLE_BYTES), false);
    buf_addz(&title, " - trivet");
    if (c->title && str_is(buf_str(&title), c->title))
        return;
    bell_forget_title(c);
    buf_addf(&c->screen.out, "\033]2;%s\a", title.p);
    c->title = str_dup(buf_str(&title));
}

void bell_forget_title(struct chat *c)
{
    free(take(&c->title));
}

void bell_ring(struct chat *c, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT, shown = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    shown_add(&shown, str_cut(buf_str(&text), NOTICE_BYTES), false);
    if (c->has_bell)
        buf_addc(&c->screen.out, '\a');
    if (c->has_notices) /* a text that begins with a number would be an order to some */
        buf_addf(&c->screen.out, "\033]9;trivet: %s\a", shown.p);
}
