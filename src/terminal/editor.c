/* SPDX-License-Identifier: MIT */
#include "terminal/editor.h"

#include "base/mem.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "terminal/width.h"

enum { MARK_FIRST = 0x10fe00, LONG_LINES = 9, LONG_BYTES = 1500 };

void editor_clear(struct editor *e)
{
    buf_clear(&e->text);
    buf_clear(&e->killed);
    buf_clear(&e->draft);
    buf_clear(&e->undo);
    for (size_t i = 0; i < EDITOR_PASTES; i++)
        buf_clear(&e->pastes[i]);
    for (size_t i = 0; i < e->n_history; i++)
        free(e->history[i]);
    free(e->history);
}

/* ---- changes ---- */

static void keep_undo(struct editor *e, bool is_typing)
{
    if (!is_typing || !e->was_typing) {
        buf_reset(&e->undo);
        buf_add(&e->undo, buf_str(&e->text));
        e->undo_at = e->at;
    }
    e->was_typing = is_typing;
}

static void splice(struct editor *e, size_t from, size_t to, struct str text)
{
    AUTO(buf) struct buf rest = BUF_INIT;
    buf_add(&rest, str_from(buf_str(&e->text), to));
    buf_cut(&e->text, from);
    buf_add(&e->text, text);
    e->at = e->text.n;
    buf_add(&e->text, buf_str(&rest));
    e->place = e->n_history;
}

/* Only what can be shown: no orders to the terminal, no marks that the user did not make. */
static void put_typed(struct buf *out, struct str text)
{
    AUTO(buf) struct buf valid = BUF_INIT, shown = BUF_INIT;
    uint32_t c;
    utf8_repair(&valid, text);
    for (struct str rest = buf_str(&valid); rest.n;) {
        size_t n = utf8_get(rest, &c);
        bool is_return = c == '\r';
        if (is_return && rest.n > 1 && rest.p[1] == '\n')
            ;
        else if (is_return)
            buf_addc(&shown, '\n');
        else if (c < MARK_FIRST || c >= MARK_FIRST + EDITOR_PASTES)
            buf_add(&shown, str_cut(rest, n));
        rest = str_from(rest, n);
    }
    shown_add(out, buf_str(&shown), true);
}

void editor_insert(struct editor *e, struct str text)
{
    AUTO(buf) struct buf typed = BUF_INIT;
    put_typed(&typed, text);
    keep_undo(e, text.n <= 4 && text.n && text.p[0] != ' ' && text.p[0] != '\n');
    splice(e, e->at, e->at, buf_str(&typed));
}

static size_t count_lines(struct str text)
{
    size_t n = 1;
    for (size_t i = 0; i + 1 < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

void editor_paste(struct editor *e, struct str text)
{
    AUTO(buf) struct buf typed = BUF_INIT, mark = BUF_INIT;
    put_typed(&typed, text);
    if (e->n_pastes == EDITOR_PASTES ||
        (count_lines(buf_str(&typed)) < LONG_LINES && typed.n < LONG_BYTES)) {
        keep_undo(e, false);
        splice(e, e->at, e->at, buf_str(&typed));
        return;
    }
    utf8_put(&mark, MARK_FIRST + (uint32_t)e->n_pastes);
    buf_reset(&e->pastes[e->n_pastes]);
    buf_add(&e->pastes[e->n_pastes++], buf_str(&typed));
    keep_undo(e, false);
    splice(e, e->at, e->at, buf_str(&mark));
}

void editor_set(struct editor *e, struct str text)
{
    size_t place = e->place;
    keep_undo(e, false);
    splice(e, 0, e->text.n, text);
    e->place = place;
}

void editor_replace(struct editor *e, size_t from, struct str text)
{
    keep_undo(e, false);
    splice(e, from, e->at, text);
}

bool editor_is_empty(const struct editor *e)
{
    return e->text.n == 0;
}

/* The paste that a character stands for, or NULL. */
static const struct buf *paste_of(const struct editor *e, uint32_t c)
{
    return c >= MARK_FIRST && c < MARK_FIRST + e->n_pastes ? &e->pastes[c - MARK_FIRST] : NULL;
}

void editor_expand(const struct editor *e, struct str text, struct buf *out)
{
    uint32_t c;
    for (size_t n; text.n; text = str_from(text, n)) {
        n = MAX(utf8_get(text, &c), (size_t)1);
        const struct buf *paste = paste_of(e, c);
        buf_add(out, paste ? buf_str(paste) : str_cut(text, n));
    }
}

void editor_take(struct editor *e, struct buf *out)
{
    editor_expand(e, buf_str(&e->text), out);
    buf_reset(&e->text);
    buf_reset(&e->undo);
    e->at = e->undo_at = e->n_pastes = 0;
    e->place = e->n_history;
}

/* ---- moving ---- */

static size_t left_of(const struct editor *e)
{
    struct str line = str_cut(buf_str(&e->text), e->at);
    size_t start = str_rchr(line, '\n');
    start = start == SIZE_MAX ? 0 : start + 1;
    size_t n = cluster_last(str_from(line, start));
    return n ? e->at - n : e->at - (e->at > 0);
}

static size_t right_of(const struct editor *e)
{
    return e->at + cluster_first(str_from(buf_str(&e->text), e->at)).n;
}

static bool is_word_byte(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

static size_t word_left(const struct editor *e)
{
    size_t at = e->at;
    while (at && !is_word_byte(e->text.p[at - 1]))
        at--;
    while (at && is_word_byte(e->text.p[at - 1]))
        at--;
    return at;
}

static size_t word_right(const struct editor *e)
{
    size_t at = e->at;
    while (at < e->text.n && !is_word_byte(e->text.p[at]))
        at++;
    while (at < e->text.n && is_word_byte(e->text.p[at]))
        at++;
    return at;
}

static size_t blank_left(const struct editor *e)
{
    size_t at = e->at;
    while (at && strchr(" \n\t", e->text.p[at - 1]))
        at--;
    while (at && !strchr(" \n\t", e->text.p[at - 1]))
        at--;
    return at;
}

static size_t line_start(const struct editor *e)
{
    size_t end = str_rchr(str_cut(buf_str(&e->text), e->at), '\n');
    return end == SIZE_MAX ? 0 : end + 1;
}

static size_t line_end(const struct editor *e)
{
    size_t end = str_chr(str_from(buf_str(&e->text), e->at), '\n');
    return end == SIZE_MAX ? e->text.n : e->at + end;
}

static void cut(struct editor *e, size_t from, size_t to, bool keeps)
{
    if (from == to)
        return;
    keep_undo(e, false);
    if (keeps) {
        buf_reset(&e->killed);
        buf_add(&e->killed, str_n(e->text.p + from, to - from));
    }
    splice(e, from, to, STR(""));
    e->at = from;
}

static void undo(struct editor *e)
{
    AUTO(buf) struct buf text = BUF_INIT;
    size_t at = e->undo_at;
    buf_add(&text, buf_str(&e->undo));
    e->was_typing = false;
    keep_undo(e, false);
    splice(e, 0, e->text.n, buf_str(&text));
    e->at = MIN(at, e->text.n);
}

/* ---- keys ---- */

static void go(struct editor *e, size_t at)
{
    e->at = at;
    e->was_typing = false;
}

static bool control_key(struct editor *e, uint32_t c)
{
    switch (c) {
    case 'a':
        go(e, line_start(e));
        return true;
    case 'e':
        go(e, line_end(e));
        return true;
    case 'b':
        go(e, left_of(e));
        return true;
    case 'f':
        go(e, right_of(e));
        return true;
    case 'h':
        cut(e, left_of(e), e->at, false);
        return true;
    case 'd':
        cut(e, e->at, right_of(e), false);
        return true;
    case 'w':
        cut(e, blank_left(e), e->at, true);
        return true;
    case 'u':
        cut(e, line_start(e), e->at, true);
        return true;
    case 'k':
        cut(e, e->at, line_end(e) == e->at ? right_of(e) : line_end(e), true);
        return true;
    case 'y':
        keep_undo(e, false);
        splice(e, e->at, e->at, buf_str(&e->killed));
        return true;
    case 'j':
        editor_insert(e, STR("\n"));
        return true;
    case '_':
        undo(e);
        return true;
    default:
        return false;
    }
}

static bool word_key(struct editor *e, uint32_t code)
{
    switch (code) {
    case 'b':
    case KEY_LEFT:
        go(e, word_left(e));
        return true;
    case 'f':
    case KEY_RIGHT:
        go(e, word_right(e));
        return true;
    case KEY_BACKSPACE:
        cut(e, word_left(e), e->at, true);
        return true;
    case 'd':
    case KEY_DELETE:
        cut(e, e->at, word_right(e), true);
        return true;
    default:
        return false;
    }
}

static bool plain_key(struct editor *e, uint32_t code)
{
    switch (code) {
    case KEY_LEFT:
        go(e, left_of(e));
        return true;
    case KEY_RIGHT:
        go(e, right_of(e));
        return true;
    case KEY_HOME:
        go(e, line_start(e));
        return true;
    case KEY_END:
        go(e, line_end(e));
        return true;
    case KEY_BACKSPACE:
        cut(e, left_of(e), e->at, false);
        return true;
    case KEY_DELETE:
        cut(e, e->at, right_of(e), false);
        return true;
    default:
        return false;
    }
}

bool editor_key(struct editor *e, const struct key *k)
{
    if (k->code == KEY_PASTE) {
        editor_paste(e, k->text);
        return true;
    }
    bool is_word = (k->mods & MOD_ALT) || ((k->mods & MOD_CTRL) && k->code >= KEY_ESC);
    if (is_word)
        return word_key(e, k->code);
    if (k->mods & MOD_CTRL)
        return control_key(e, k->code);
    if (k->code >= KEY_ESC)
        return plain_key(e, k->code);
    AUTO(buf) struct buf typed = BUF_INIT;
    utf8_put(&typed, k->code);
    editor_insert(e, buf_str(&typed));
    return true;
}

/* ---- history ---- */

void editor_remember(struct editor *e, struct str text)
{
    if (!text.n || (e->n_history && str_is(text, e->history[e->n_history - 1])))
        return;
    if (e->n_history == HISTORY_MAX) {
        free(e->history[0]);
        memmove(e->history, e->history + 1, --e->n_history * sizeof *e->history);
    }
    e->history = xrealloc(e->history, (e->n_history + 1) * sizeof *e->history);
    e->history[e->n_history++] = str_dup(text);
    e->place = e->n_history;
}

size_t editor_search(const struct editor *e, struct str words, size_t before)
{
    for (size_t i = MIN(before, e->n_history); i-- > 0;)
        if (str_ifind(str_of(e->history[i]), words) != SIZE_MAX)
            return i;
    return SIZE_MAX;
}

static bool walk_history(struct editor *e, int by)
{
    if ((by < 0 && e->place == 0) || (by > 0 && e->place >= e->n_history))
        return false;
    if (e->place >= e->n_history) {
        buf_reset(&e->draft);
        buf_add(&e->draft, buf_str(&e->text));
        e->place = e->n_history;
    }
    e->place = by < 0 ? e->place - 1 : e->place + 1;
    editor_set(e, e->place < e->n_history ? str_of(e->history[e->place]) : buf_str(&e->draft));
    return true;
}

/* ---- rows ---- */

static void put_mark(const struct editor *e, uint32_t c, struct buf *out)
{
    const struct buf *paste = paste_of(e, c);
    buf_addf(out, "[paste %u: %zu lines]", (unsigned)(c - MARK_FIRST + 1),
             count_lines(buf_str(paste)));
}

/* Shown form of the cluster at the front. */
static struct cluster shown_cluster(const struct editor *e, struct str text, struct buf *out)
{
    uint32_t c = 0;
    struct cluster k = cluster_first(text);
    utf8_get(text, &c);
    if (paste_of(e, c)) {
        put_mark(e, c, out);
        k.width = (int)out->n;
    } else if (c == '\t') {
        buf_addz(out, "    ");
        k.width = 4;
    } else {
        buf_add(out, str_cut(text, k.n));
    }
    return k;
}

struct walk { /* visits every place of the text with its row and column */
    int row, col;
    size_t at;
    struct buf *shown;
};

typedef void place_fn(void *arg, const struct walk *w, bool ends_row);

/* fn hears each place before its cluster, and the end; ends_row: the row ends before the place. */
static void walk_text(const struct editor *e, place_fn *fn, void *arg)
{
    struct str text = buf_str(&e->text);
    AUTO(buf) struct buf shown = BUF_INIT;
    struct walk w = {.shown = &shown};
    int width = MAX(e->width, 8);
    while (w.at < text.n) {
        buf_reset(&shown);
        if (text.p[w.at] == '\n') {
            fn(arg, &w, false);
            w = (struct walk){w.row + 1, 0, w.at + 1, &shown};
            fn(arg, &w, true);
            continue;
        }
        struct cluster k = shown_cluster(e, str_from(text, w.at), &shown);
        if (w.col + k.width > width && w.col) {
            w.row++;
            w.col = 0;
            fn(arg, &(struct walk){w.row, 0, w.at, &(struct buf){0}}, true);
        }
        fn(arg, &w, false);
        w.col += k.width;
        w.at += k.n;
    }
    buf_reset(&shown);
    if (w.col >= width) {
        w = (struct walk){w.row + 1, 0, w.at, &shown};
        fn(arg, &w, true);
    }
    fn(arg, &w, false);
}

struct rowing {
    const struct editor *e;
    editor_row_fn *fn;
    void *arg;
    struct buf row;
    int cursor; /* column, or -1 */
};

static void end_editor_row(struct rowing *r)
{
    r->fn(r->arg, buf_str(&r->row), r->cursor >= 0, r->cursor);
    buf_reset(&r->row);
    r->cursor = -1;
}

static void on_row_place(void *arg, const struct walk *w, bool ends_row)
{
    struct rowing *r = arg;
    if (ends_row) {
        end_editor_row(r);
        return;
    }
    if (w->at == r->e->at)
        r->cursor = w->col;
    buf_add(&r->row, buf_str(w->shown));
}

void editor_rows(const struct editor *e, editor_row_fn *fn, void *arg)
{
    struct rowing r = {.e = e, .fn = fn, .arg = arg, .cursor = -1};
    walk_text(e, on_row_place, &r);
    end_editor_row(&r);
    buf_clear(&r.row);
}

struct finding {
    size_t at;    /* the cursor's place */
    int row, col; /* where it is */
    int want_row; /* the row that is looked for; -1: none yet */
    int want_col;
    size_t found; /* the place in it that is nearest from the left */
    bool is_found;
};

static void on_find(void *arg, const struct walk *w, bool ends_row)
{
    struct finding *f = arg;
    if (ends_row)
        return;
    if (w->at == f->at) {
        f->row = w->row;
        f->col = w->col;
    }
    if (w->row == f->want_row && (w->col <= f->want_col || !f->is_found)) {
        f->found = w->at;
        f->is_found = true;
    }
}

bool editor_move_row(struct editor *e, int by)
{
    struct finding f = {.at = e->at, .want_row = -1};
    walk_text(e, on_find, &f);
    f.want_row = f.row + by;
    f.want_col = f.col;
    if (f.want_row >= 0)
        walk_text(e, on_find, &f);
    if (f.is_found && f.want_row >= 0) {
        go(e, f.found);
        return true;
    }
    return walk_history(e, by);
}
