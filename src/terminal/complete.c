/* SPDX-License-Identifier: MIT */
#include "terminal/complete.h"

#include "base/shown.h"
#include "terminal/finder.h"
#include "terminal/pick.h"
#include "terminal/slash.h"
#include "terminal/width.h"

enum { SHOWN = 6, MAX_ITEMS = 500 };

static void drop(struct chat *c)
{
    struct completion *k = c->complete;
    if (!k)
        return;
    c->complete = NULL;
    free(k->items);
    arena_clear(&k->arena);
    free(k);
}

void complete_clear(struct chat *c)
{
    drop(c);
    finder_forget(c);
}

static void add(void *arg, struct str value, struct str about)
{
    struct completion *k = arg;
    bool fits = str_ifind(value, k->prefix) != SIZE_MAX;
    bool is_first = fits && str_starts(value, k->prefix);
    if (!fits || k->n == MAX_ITEMS || str_eq(value, k->prefix))
        return;
    GROW(k->items, k->n, k->capacity);
    struct pick_item item = {arena_str(&k->arena, value), arena_str(&k->arena, about), STR_NONE};
    size_t at = k->n;
    while (is_first && at && !str_starts(k->items[at - 1].label, k->prefix))
        at--;
    memmove(k->items + at + 1, k->items + at, (k->n++ - at) * sizeof *k->items);
    k->items[at] = item;
}

static void add_commands(struct completion *k)
{
    for (const struct slash_row *r = slash_rows; r->name; r++)
        add(k, str_of(r->name), str_of(r->about));
}

/* Where the word before the cursor begins. */
static size_t word_start(struct str text)
{
    size_t at = text.n;
    while (at && !strchr(" \n\t", text.p[at - 1]))
        at--;
    return at;
}

static void fill(struct chat *c, struct completion *k, struct str text)
{
    struct str name, rest = str_split(text, ' ', &name);
    if (!rest.p && str_chr(str_from(text, 1), '/') == SIZE_MAX) {
        k->from = 1;
        k->prefix = arena_str(&k->arena, str_from(text, 1));
        add_commands(k);
    } else if (rest.p) {
        k->from = name.n + 1;
        k->prefix = arena_str(&k->arena, rest);
        for (const struct slash_row *r = slash_rows; r->name; r++)
            if (str_is(str_from(name, 1), r->name) && r->complete)
                r->complete(c, add, k);
    }
}

void complete_update(struct chat *c)
{
    struct editor *e = &c->editor;
    struct str text = str_cut(buf_str(&e->text), e->at);
    size_t word = word_start(text);
    bool is_command = text.n && text.p[0] == '/' && str_chr(text, '\n') == SIZE_MAX;
    bool is_file = !is_command && word < text.n && text.p[word] == '@';
    bool is_off = c->screen.is_plain || e->place < e->n_history;
    if (is_file && !is_off) { /* what was found last stays until there is more */
        if (c->complete && c->complete->from != word + 1)
            drop(c);
        finder_ask(c, str_from(text, word + 1), word + 1);
        return;
    }
    complete_clear(c);
    if (!is_command || is_off)
        return;
    c->complete = xnew(struct completion);
    fill(c, c->complete, text);
    if (!c->complete->n)
        drop(c);
}

void finder_found(struct chat *c, const struct str *names, size_t n)
{
    drop(c);
    struct completion *k = c->complete = xnew(struct completion);
    k->from = c->finder.from;
    k->prefix = STR("");
    for (size_t i = 0; i < n; i++)
        add(k, names[i], STR(""));
    if (!k->n)
        drop(c);
    if (c->accepts && !c->finder.is_asked)
        complete_accept(c);
}

bool complete_accept(struct chat *c)
{
    struct completion *k = c->complete;
    c->accepts = c->finder.is_asked;
    if (!k || c->accepts)
        return c->accepts;
    struct str value = k->items[k->at].label;
    bool is_folder = str_ends(value, STR("/"));
    editor_replace(&c->editor, k->from, value);
    if (!is_folder)
        editor_insert(&c->editor, STR(" "));
    complete_update(c);
    return true;
}

bool complete_move(struct chat *c, int by)
{
    struct completion *k = c->complete;
    if (!k)
        return false;
    if (by < 0)
        k->at = k->at ? k->at - 1 : k->n - 1;
    else
        k->at = (k->at + 1) % k->n;
    return true;
}

void complete_draw(struct chat *c)
{
    struct completion *k = c->complete;
    struct screen *s = &c->screen;
    if (!k)
        return;
    size_t first = k->at >= SHOWN ? k->at - SHOWN + 1 : 0;
    for (size_t i = first; i < k->n && i < first + SHOWN; i++) {
        AUTO(buf) struct buf shown = BUF_INIT;
        shown_add(&shown, k->items[i].label, false);
        live_row(s);
        live_print(s, i == k->at ? STYLE_GREEN | STYLE_BOLD : 0, "%s",
                   i == k->at ? "  > " : "    ");
        live_put(s, i == k->at ? STYLE_BOLD : 0, width_cut(buf_str(&shown), s->cols - 8));
        if (k->items[i].detail.n) {
            live_print(s, 0, "  ");
            live_put(s, STYLE_DIM, k->items[i].detail);
        }
    }
}
