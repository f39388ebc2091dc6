/* SPDX-License-Identifier: MIT */
#include "terminal/table.h"

#include "base/arena.h"
#include "terminal/markdown.h"
#include "terminal/width.h"

enum { COLUMNS = 24, GAP = 2, LEAST = 4 /* columns for a cell that is wrapped */ };

struct cells {
    struct str v[COLUMNS];
    size_t n;
};

struct grid {
    struct screen *screen;
    struct screen shown; /* the cells of a row as they are shown; never printed itself */
    struct arena arena;
    struct cells *rows;
    size_t n, n_columns;
    char align[COLUMNS]; /* 'l', 'c' or 'r' */
    int widths[COLUMNS];
    bool wraps;
};

/* ---- reading ---- */

/* \| is a bar of the text, also in code. */
static struct str read_cell(struct arena *a, struct str cell)
{
    AUTO(buf) struct buf out = BUF_INIT;
    cell = str_trim(cell);
    for (size_t i = 0; i < cell.n; i++)
        if (cell.p[i] != '\\' || i + 1 == cell.n || cell.p[i + 1] != '|')
            buf_addc(&out, cell.p[i]);
    return arena_str(a, buf_str(&out));
}

static struct cells read_row(struct arena *a, struct str line)
{
    struct cells row = {.n = 0};
    line = str_from(str_trim(line), 1);
    while (line.n && row.n < COLUMNS) {
        size_t end = 0;
        while (end < line.n && line.p[end] != '|')
            end += line.p[end] == '\\' ? 2 : 1;
        row.v[row.n++] = read_cell(a, str_cut(line, end));
        line = str_from(line, end + 1);
    }
    return row;
}

static void read_rows(struct grid *t, struct str text)
{
    size_t n = 0;
    struct str line;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    t->rows = arena_array(&t->arena, struct cells, n + 1);
    while (str_line(&text, &line) && t->n <= n)
        if (line.n)
            t->rows[t->n++] = read_row(&t->arena, line);
    for (size_t r = 0; r < t->n; r++)
        t->n_columns = MAX(t->n_columns, t->rows[r].n);
}

/* Reads the line below the head: dashes with colons where text is aligned.  False: it is none. */
static bool read_rule(struct grid *t)
{
    if (t->n < 2)
        return false;
    const struct cells *rule = &t->rows[1];
    for (size_t c = 0; c < COLUMNS; c++)
        t->align[c] = 'l';
    for (size_t c = 0; c < rule->n; c++) {
        struct str v = rule->v[c];
        bool is_left = str_starts(v, STR(":")), is_right = v.n > 1 && str_ends(v, STR(":"));
        struct str dashes = str_cut(str_from(v, is_left), v.n - is_left - is_right);
        for (size_t i = 0; i < dashes.n; i++)
            if (dashes.p[i] != '-')
                return false;
        if (!dashes.n)
            return false;
        t->align[c] = is_right ? (is_left ? 'c' : 'r') : 'l';
    }
    return rule->n > 0;
}

/* ---- widths ---- */

static void show_cell(struct grid *t, size_t r, size_t c)
{
    markdown_inline(&t->shown, r == 0 ? STYLE_BOLD : 0, t->rows[r].v[c]);
}

static void forget_cells(struct grid *t)
{
    screen_drop_text(&t->shown);
}

/* Columns that need less than their share keep what they need; the others share the rest. */
static void share(struct grid *t, int room)
{
    bool is_kept[COLUMNS] = {false};
    int left = (int)t->n_columns;
    for (bool again = true; again;) {
        again = false;
        for (size_t c = 0; c < t->n_columns; c++)
            if (!is_kept[c] && t->widths[c] <= room / left) {
                again = is_kept[c] = true;
                room -= t->widths[c];
                if (--left == 0)
                    return;
            }
    }
    t->wraps = true;
    for (size_t c = 0; c < t->n_columns; c++)
        if (!is_kept[c]) {
            t->widths[c] = room / left;
            room -= room / left--;
        }
}

/* False when there is no room for columns. */
static bool find_widths(struct grid *t)
{
    int room = t->screen->cols - 1 - GAP * ((int)t->n_columns - 1), sum = 0;
    for (size_t r = 0; r < t->n; r++)
        for (size_t c = 0; r != 1 && c < t->rows[r].n; c++) {
            show_cell(t, r, c);
            t->widths[c] = MAX(t->widths[c], MAX(width_text(buf_str(&t->shown.pending)), 1));
            forget_cells(t);
        }
    for (size_t c = 0; c < t->n_columns; c++)
        sum += t->widths[c];
    if (sum > room && (t->screen->is_plain || room < LEAST * (int)t->n_columns))
        return false;
    if (sum > room)
        share(t, room);
    return true;
}

/* ---- printing ---- */

/* The beginning of a cell that fits in a line: up to a blank if there is one, else as much as goes.
 * At least one cluster. */
static struct str line_of(struct str text, int width)
{
    struct str most = width_cut(text, width);
    if (most.n == text.n)
        return text;
    if (!most.n)
        return str_cut(text, cluster_first(text).n);
    size_t blank = text.p[most.n] == ' ' ? most.n : str_rchr(most, ' ');
    return blank == SIZE_MAX || blank == 0 ? most : str_cut(text, blank);
}

static void put_blanks(struct screen *s, int n)
{
    for (; n > 0; n--)
        screen_code(s, 0, STR(" "));
}

static int blanks_before(const struct grid *t, size_t c, int width)
{
    int left = MAX(0, t->widths[c] - width);
    return t->align[c] == 'r' ? left : t->align[c] == 'c' ? left / 2 : 0;
}

/* A line of each cell; false when all of them were at their end. */
static bool print_line(struct grid *t, struct str *rest, size_t n)
{
    bool has_text = false;
    int owed = 0;
    for (size_t c = 0; c < n; c++)
        has_text = has_text || rest[c].n;
    for (size_t c = 0; has_text && c < n; c++) {
        struct str line = line_of(rest[c], t->widths[c]);
        int width = width_text(line), before = blanks_before(t, c, width);
        if (line.n) {
            put_blanks(t->screen, owed + before);
            screen_copy(t->screen, &t->shown, (size_t)(line.p - t->shown.pending.p), line.n);
            owed = -before - width;
        }
        owed += t->widths[c] + GAP;
        rest[c] = str_from(rest[c], line.n);
        while (rest[c].n && rest[c].p[0] == ' ')
            rest[c] = str_from(rest[c], 1);
    }
    screen_code(t->screen, 0, has_text ? STR("\n") : STR(""));
    return has_text;
}

static void print_row(struct grid *t, size_t r)
{
    struct str rest[COLUMNS];
    size_t ends[COLUMNS], n = t->rows[r].n;
    forget_cells(t);
    for (size_t c = 0; c < n; c++) {
        show_cell(t, r, c);
        ends[c] = t->shown.pending.n;
    }
    for (size_t c = 0; c < n; c++)
        rest[c] = str_from(str_cut(buf_str(&t->shown.pending), ends[c]), c ? ends[c - 1] : 0);
    while (print_line(t, rest, n))
        ;
}

static void print_columns(struct grid *t)
{
    for (size_t r = 0; r < t->n; r++) {
        if (r != 1)
            print_row(t, r);
        for (size_t c = 0; r == 1 && c < t->n_columns; c++) {
            screen_line(t->screen, t->widths[c]);
            put_blanks(t->screen, c + 1 < t->n_columns ? GAP : 0);
        }
        bool is_over = r + 1 == t->n;
        screen_code(t->screen, 0, r == 1 || (t->wraps && r && !is_over) ? STR("\n") : STR(""));
    }
}

static void print_values(struct grid *t)
{
    struct screen *s = t->screen;
    for (size_t r = 2; r < t->n; r++) {
        for (size_t c = 0; c < t->rows[r].n; c++) {
            struct str name = c < t->rows[0].n ? t->rows[0].v[c] : STR("");
            s->hang = 2;
            markdown_inline(s, STYLE_BOLD, name);
            s->hang = 2;
            screen_text(s, 0, name.n ? STR(": ") : STR(""));
            markdown_inline(s, 0, t->rows[r].v[c]);
            s->hang = 0;
            screen_text(s, 0, STR("\n"));
        }
        screen_text(s, 0, r + 1 < t->n ? STR("\n") : STR(""));
    }
}

static void print_lines(struct screen *s, struct str text)
{
    for (struct str line; str_line(&text, &line);) {
        markdown_inline(s, 0, line);
        screen_text(s, 0, STR("\n"));
    }
}

void table_print(struct screen *s, struct str text)
{
    struct grid t = {.screen = s};
    t.shown = (struct screen){.cols = s->cols, .is_plain = s->is_plain, .has_links = s->has_links};
    read_rows(&t, text);
    if (!read_rule(&t))
        print_lines(s, text);
    else if (find_widths(&t))
        print_columns(&t);
    else
        print_values(&t);
    screen_clear(&t.shown);
    arena_clear(&t.arena);
}
