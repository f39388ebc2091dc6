/* SPDX-License-Identifier: MIT */
#include "terminal/complete.h"

#include "base/path.h"
#include "base/shown.h"
#include "terminal/pick.h"
#include "terminal/slash.h"
#include "terminal/width.h"

#include <dirent.h>

enum { SHOWN = 6, MAX_ITEMS = 500, MAX_ENTRIES = 20000 };

void complete_clear(struct chat *c)
{
    struct completion *k = c->complete;
    if (!k)
        return;
    c->complete = NULL;
    free(k->items);
    arena_clear(&k->arena);
    free(k);
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

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of the directory that is typed so far. */
static void add_files(struct chat *c, struct completion *k)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    size_t slash = str_rchr(k->prefix, '/');
    struct str folder = slash == SIZE_MAX ? STR("") : str_cut(k->prefix, slash + 1);
    path_absolute(&dir, c->launch.workspace, folder.n ? folder : STR("."));
    DIR *d = opendir(dir.p);
    char **names = xcalloc(MAX_ENTRIES, sizeof *names);
    size_t n = 0;
    for (struct dirent *e; d && n < MAX_ENTRIES && (e = readdir(d));) {
        AUTO(buf) struct buf name = BUF_INIT;
        bool is_hidden = e->d_name[0] == '.' && !str_ends(k->prefix, STR("."));
        if (is_hidden || strpbrk(e->d_name, " \n"))
            continue;
        buf_addf(&name, "%.*s%s%s", STR_FMT(folder), e->d_name, e->d_type == DT_DIR ? "/" : "");
        names[n++] = str_dup(buf_str(&name));
    }
    if (d)
        closedir(d);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        add(k, str_of(names[i]), STR(""));
        free(names[i]);
    }
    free(names);
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
    size_t word = word_start(text);
    struct str name, rest = str_split(text, ' ', &name);
    bool is_command = text.n && text.p[0] == '/' && str_chr(text, '\n') == SIZE_MAX;
    k->from = word + 1;
    k->prefix = arena_str(&k->arena, str_from(text, word + 1));
    if (is_command && !rest.p && str_chr(str_from(text, 1), '/') == SIZE_MAX) {
        add_commands(k);
    } else if (is_command && rest.p) {
        k->from = name.n + 1;
        k->prefix = arena_str(&k->arena, str_from(text, k->from));
        for (const struct slash_row *r = slash_rows; r->name; r++)
            if (str_is(str_from(name, 1), r->name) && r->complete)
                r->complete(c, add, k);
    } else if (word < text.n && text.p[word] == '@') {
        add_files(c, k);
    }
}

void complete_update(struct chat *c)
{
    struct editor *e = &c->editor;
    struct str text = str_cut(buf_str(&e->text), e->at);
    complete_clear(c);
    bool is_name = text.n && (text.p[0] == '/' || str_chr(text, '@') != SIZE_MAX);
    if (!is_name || c->screen.is_plain || e->place < e->n_history)
        return;
    c->complete = xnew(struct completion);
    fill(c, c->complete, text);
    if (!c->complete->n)
        complete_clear(c);
}

bool complete_accept(struct chat *c)
{
    struct completion *k = c->complete;
    if (!k)
        return false;
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
