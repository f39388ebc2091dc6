/* SPDX-License-Identifier: MIT */
#include "terminal/pick.h"

#include "base/shown.h"
#include "base/utf8.h"
#include "terminal/width.h"

enum { SHOWN = 8 };

struct pick *pick_new(const char *title, pick_fn *chosen)
{
    struct pick *p = xnew(struct pick);
    p->title = title;
    p->chosen = chosen;
    return p;
}

void pick_add(struct pick *p, struct str label, struct str detail, struct str value)
{
    AUTO(buf) struct buf shown = BUF_INIT, more = BUF_INIT;
    shown_add(&shown, label, false);
    shown_add(&more, detail, false);
    p->items = xrealloc(p->items, (p->n + 1) * sizeof *p->items);
    p->items[p->n++] = (struct pick_item){arena_str(&p->arena, buf_str(&shown)),
                                          arena_str(&p->arena, buf_str(&more)),
                                          arena_str(&p->arena, value)};
}

static void pick_free(struct pick *p)
{
    buf_clear(&p->filter);
    free(p->items);
    arena_clear(&p->arena);
    free(p);
}

/* Every word of the filter stands somewhere in the item. */
static bool fits(const struct pick *p, const struct pick_item *item)
{
    struct str rest = buf_str(&p->filter), word;
    while (rest.p) {
        rest = str_split(rest, ' ', &word);
        if (word.n && str_ifind(item->label, word) == SIZE_MAX &&
            str_ifind(item->detail, word) == SIZE_MAX)
            return false;
    }
    return true;
}

/* The n-th of those that fit; NULL when there are fewer. */
static const struct pick_item *nth(const struct pick *p, size_t n)
{
    for (size_t i = 0; i < p->n; i++)
        if (fits(p, &p->items[i]) && n-- == 0)
            return &p->items[i];
    return NULL;
}

static size_t count(const struct pick *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += fits(p, &p->items[i]);
    return n;
}

static void draw_item(struct chat *c, const struct pick_item *item, size_t number, bool is_at)
{
    struct screen *s = &c->screen;
    live_row(s);
    live_print(s, is_at ? STYLE_GREEN | STYLE_BOLD : 0, "%s", is_at ? "> " : "  ");
    if (c->pick->is_numbered)
        live_print(s, 0, "%zu  ", number + 1);
    live_put(s, is_at ? STYLE_BOLD : 0, width_cut(item->label, s->cols - 12));
    if (item->detail.n) {
        live_print(s, 0, "  ");
        live_put(s, STYLE_DIM, item->detail);
    }
}

static void pick_draw(struct chat *c)
{
    struct pick *p = c->pick;
    struct screen *s = &c->screen;
    size_t n = count(p), max = s->is_plain ? p->n : (size_t)MAX(2, MIN(SHOWN, s->lines - 6));
    p->at = n ? MIN(p->at, n - 1) : 0;
    p->first = MIN(p->first, p->at);
    if (p->at >= p->first + max)
        p->first = p->at - max + 1;
    live_row(s);
    live_print(s, STYLE_YELLOW, "%s ", p->title);
    live_put(s, 0, width_cut(buf_str(&p->filter), live_left(s, LIVE_COLUMNS)));
    live_cursor(s);
    for (size_t i = p->first; i < n && i < p->first + max && s->next.n < LIVE_ROWS - 2; i++)
        draw_item(c, nth(p, i), i, i == p->at);
    live_row(s);
    live_print(s, STYLE_DIM, "%zu of %zu  up, down, letters to search, enter, esc", n, p->n);
}

static void choose(struct chat *c, const struct pick_item *item)
{
    struct pick *p = c->pick;
    if (!item)
        return;
    c->pick = NULL;
    chat_set_pane(c, &pane_edit);
    p->chosen(c, item->value);
    pick_free(p);
}

static void leave(struct chat *c)
{
    void (*left)(struct chat * c) = c->pick->left;
    chat_set_pane(c, &pane_edit);
    if (left)
        left(c);
}

static void type(struct pick *p, const struct key *k)
{
    p->at = p->first = 0;
    if (k->code == KEY_BACKSPACE)
        buf_cut(&p->filter, p->filter.n - cluster_last(buf_str(&p->filter)));
    else if (k->code < KEY_ESC && k->code >= ' ' && !k->mods)
        utf8_put(&p->filter, k->code);
}

static void pick_key(struct chat *c, const struct key *k)
{
    struct pick *p = c->pick;
    bool is_control = k->mods & MOD_CTRL;
    bool is_digit = p->is_numbered && k->code >= '1' && k->code <= '9' && !k->mods;
    if (k->code == KEY_ESC || (is_control && (k->code == 'c' || k->code == 'd')))
        leave(c);
    else if (k->code == KEY_ENTER)
        choose(c, nth(p, p->at));
    else if (is_digit)
        choose(c, nth(p, k->code - '1'));
    else if (k->code == KEY_UP || (is_control && k->code == 'p'))
        p->at -= p->at > 0;
    else if (k->code == KEY_DOWN || (is_control && k->code == 'n'))
        p->at++;
    else
        type(p, k);
}

static void pick_close(struct chat *c)
{
    if (c->pick)
        pick_free(take(&c->pick));
}

const struct pane pane_pick = {.draw = pick_draw, .key = pick_key, .close = pick_close};

void pick_open(struct chat *c, struct pick *p)
{
    pick_close(c);
    c->pick = p;
    chat_set_pane(c, &pane_pick);
}
