/* SPDX-License-Identifier: MIT */
#include "terminal/table.h"

#include "base/arena.h"
#include "terminal/width.h"

enum { COLUMNS = 24 };

struct cells {
    struct str v[COLUMNS];
    size_t n;
    bool is_rule; /* the line below the head */
};

/* Without the marks of emphasis and code: a cell has one style. */
static struct str plain_cell(struct arena *a, struct str cell)
{
    AUTO(buf) struct buf out = BUF_INIT;
    cell = str_trim(cell);
    for (size_t i = 0; i < cell.n; i++) {
        bool is_double = i + 1 < cell.n && cell.p[i] == '*' && cell.p[i + 1] == '*';
        bool is_escape = i + 1 < cell.n && cell.p[i] == '\\';
        if (is_double || is_escape)
            i++;
        if (!is_double && cell.p[i] != '`')
            buf_addc(&out, cell.p[i]);
    }
    return arena_str(a, buf_str(&out));
}

static struct cells read_row(struct arena *a, struct str line)
{
    struct cells row = {.is_rule = true};
    line = str_trim(line);
    line = str_from(line, 1);
    while (line.n && row.n < COLUMNS) {
        size_t end = 0;
        while (end < line.n && line.p[end] != '|')
            end += line.p[end] == '\\' ? 2 : 1;
        struct str cell = plain_cell(a, str_cut(line, end));
        for (size_t i = 0; i < cell.n; i++)
            row.is_rule = row.is_rule && strchr("-: ", cell.p[i]);
        row.v[row.n++] = cell;
        line = str_from(line, end + 1);
    }
    return row;
}

static struct cells *read_rows(struct arena *a, struct str text, size_t *ret_n)
{
    size_t n = 0;
    struct str line;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    struct cells *rows = arena_array(a, struct cells, n + 1);
    *ret_n = 0;
    while (str_line(&text, &line) && *ret_n <= n)
        if (line.n)
            rows[(*ret_n)++] = read_row(a, line);
    return rows;
}

static void print_columns(struct screen *s, const struct cells *rows, size_t n, const int *widths)
{
    for (size_t r = 0; r < n; r++) {
        for (size_t c = 0; c < rows[r].n; c++) {
            int used = rows[r].is_rule ? 0 : width_text(rows[r].v[c]);
            if (!rows[r].is_rule)
                screen_code(s, r == 0 ? STYLE_BOLD : 0, rows[r].v[c]);
            for (int i = used; rows[r].is_rule && i < widths[c]; i++, used++)
                screen_code(s, STYLE_DIM, STR("-"));
            for (int i = used; c + 1 < rows[r].n && i < widths[c] + 2; i++)
                screen_code(s, 0, STR(" "));
        }
        screen_code(s, 0, STR("\n"));
    }
}

static void print_values(struct screen *s, const struct cells *rows, size_t n)
{
    for (size_t r = 1; r < n; r++) {
        if (rows[r].is_rule)
            continue;
        for (size_t c = 0; c < rows[r].n; c++) {
            struct str name = c < rows[0].n ? rows[0].v[c] : STR("");
            screen_text(s, STYLE_BOLD, name);
            screen_text(s, 0, name.n ? STR(": ") : STR(""));
            screen_text(s, 0, rows[r].v[c]);
            screen_text(s, 0, STR("\n"));
        }
        screen_text(s, 0, r + 1 < n ? STR("\n") : STR(""));
    }
}

void table_print(struct screen *s, struct str text)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    int widths[COLUMNS] = {0}, sum = 0;
    struct cells *rows = read_rows(&a, text, &n);
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < rows[r].n && !rows[r].is_rule; c++)
            widths[c] = MAX(widths[c], width_text(rows[r].v[c]));
    for (size_t c = 0; c < COLUMNS; c++)
        sum += widths[c] ? widths[c] + 2 : 0;
    if (sum - 2 < s->cols || n < 3)
        print_columns(s, rows, n, widths);
    else
        print_values(s, rows, n);
}
