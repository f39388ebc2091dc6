/* SPDX-License-Identifier: MIT */
/* One line that is asked for: a key, which is not shown. */
#include "terminal/internal.h"
#include "terminal/width.h"

struct typed_entry {
    const char *who, *what;
    bool is_secret;
    entry_fn *fn;
    void *arg;
    struct editor editor;
};

static void entry_free(struct typed_entry *e)
{
    if (e->editor.text.p)
        explicit_bzero(e->editor.text.p, e->editor.text.n);
    editor_clear(&e->editor);
    free(e);
}

static void on_row(void *arg, struct str shown, bool has_cursor, int col)
{
    struct chat *c = arg;
    struct screen *s = &c->screen;
    (void)col;
    live_row(s);
    live_print(s, STYLE_YELLOW, "%s %s: ", c->entry->who, c->entry->what);
    if (!c->entry->is_secret)
        live_put(s, 0, width_cut(shown, live_left(s, LIVE_COLUMNS)));
    else if (shown.n)
        live_print(s, 0, "(%zu characters)", shown.n);
    if (has_cursor)
        live_cursor(s);
}

static void entry_draw(struct chat *c)
{
    c->entry->editor.width = 4096;
    editor_rows(&c->entry->editor, on_row, c);
    live_row(&c->screen);
    live_print(&c->screen, STYLE_DIM, "enter, esc");
}

static void entry_key(struct chat *c, const struct key *k)
{
    struct typed_entry *e = c->entry;
    AUTO(buf) struct buf text = BUF_INIT;
    if (k->code == KEY_ESC || ((k->mods & MOD_CTRL) && k->code == 'c')) {
        chat_set_pane(c, &pane_edit);
    } else if (k->code == KEY_ENTER) {
        editor_take(&e->editor, &text);
        c->entry = NULL;
        chat_set_pane(c, &pane_edit);
        e->fn(c, str_trim(buf_str(&text)), e->arg);
        entry_free(e);
        if (text.p)
            explicit_bzero(text.p, text.n);
    } else {
        editor_key(&e->editor, k);
    }
}

static void entry_close(struct chat *c)
{
    if (c->entry)
        entry_free(take(&c->entry));
}

const struct pane pane_entry = {.draw = entry_draw, .key = entry_key, .close = entry_close};

void entry_open(struct chat *c, const char *who, const char *what, bool is_secret, entry_fn *fn,
                void *arg)
{
    struct typed_entry *e = xnew(struct typed_entry);
    entry_close(c);
    *e = (struct typed_entry){
        .who = who, .what = what, .is_secret = is_secret, .fn = fn, .arg = arg};
    c->entry = e;
    chat_set_pane(c, &pane_entry);
}
