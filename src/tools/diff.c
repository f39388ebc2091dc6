/* SPDX-License-Identifier: MIT */
/* Myers' greedy algorithm over the lines between the common beginning and the common end.
 *
 * For each number of edits d the furthest x on every diagonal k = x - y is kept; the rows of all d
 * are remembered to walk back.  That costs d*d memory and (n + m)*d time, so d has a cap: texts
 * that differ more are shown as everything removed, everything added.
 */
#include "tools/diff.h"

#include "base/mem.h"

enum { MAX_EDITS = 1000, MAX_STEPS = 20000000 };

struct line {
    struct str text; /* with its \n, if it has one */
    uint64_t hash;
    bool is_changed; /* removed from the old text, or added in the new one */
};

struct lines {
    struct line *v;
    size_t n;
};

static void lines_clear(struct lines *l)
{
    free(l->v);
}

static void lines_split(struct lines *l, struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n' || i + 1 == text.n;
    l->v = xcalloc(n + 1, sizeof *l->v);
    while (text.n) {
        size_t at = str_chr(text, '\n');
        struct str line = at == SIZE_MAX ? text : str_cut(text, at + 1);
        l->v[l->n++] = (struct line){.text = line, .hash = str_hash(line)};
        text = str_from(text, line.n);
    }
}

static bool same(const struct line *a, const struct line *b)
{
    return a->hash == b->hash && str_eq(a->text, b->text);
}

/* The part of the two texts that differs. */
struct middle {
    struct line *a, *b;
    int n, m;
};

static int max_edits(const struct middle *s)
{
    int by_time = MAX_STEPS / (s->n + s->m + 1);
    return MIN(MIN(s->n + s->m, MAX_EDITS), MAX(by_time, 1));
}

/* v[k] of row d; the row holds the diagonals -d .. d. */
static int *row_of(int *rows, int d)
{
    return rows + (size_t)d * d + d; /* rows before it have 1 + 3 + ... + (2d - 1) = d*d cells */
}

/* Whether the best way to diagonal k comes from k + 1, by adding a line. */
static bool comes_down(const int *last, int d, int k)
{
    return k == -d || (k != d && last[k - 1] < last[k + 1]);
}

static int furthest(const struct middle *s, int *rows, int d, int k)
{
    int x = 0;
    if (d > 0) {
        const int *last = row_of(rows, d - 1);
        x = comes_down(last, d, k) ? last[k + 1] : last[k - 1] + 1;
    }
    while (x < s->n && x - k < s->m && same(&s->a[x], &s->b[x - k]))
        x++;
    return x;
}

/* Walks back from the end and marks the lines that were removed and added. */
static void mark(const struct middle *s, int *rows, int d)
{
    int x = s->n, y = s->m;
    for (; d > 0; d--) {
        const int *last = row_of(rows, d - 1);
        int k = x - y;
        bool is_down = comes_down(last, d, k);
        int from_k = is_down ? k + 1 : k - 1;
        x = last[from_k];
        y = x - from_k;
        if (is_down)
            s->b[y].is_changed = true;
        else
            s->a[x].is_changed = true;
    }
}

static bool compare(const struct middle *s)
{
    int max = max_edits(s);
    int *rows = NULL;
    bool found = false;
    for (int d = 0; d <= max && !found; d++) {
        /* Grown in steps, because most texts need few rows. */
        if ((d & (d - 1)) == 0)
            rows = xrealloc(rows, ((size_t)(2 * d + 2) * (2 * d + 2)) * sizeof *rows);
        int *row = row_of(rows, d);
        for (int k = -d; k <= d && !found; k += 2) {
            row[k] = furthest(s, rows, d, k);
            if (row[k] >= s->n && row[k] - k >= s->m) {
                mark(s, rows, d);
                found = true;
            }
        }
    }
    free(rows);
    return found;
}

static void find_changes(struct lines *a, struct lines *b)
{
    size_t head = 0, tail = 0;
    while (head < a->n && head < b->n && same(&a->v[head], &b->v[head]))
        head++;
    while (tail < a->n - head && tail < b->n - head &&
           same(&a->v[a->n - 1 - tail], &b->v[b->n - 1 - tail]))
        tail++;
    size_t n = a->n - head - tail, m = b->n - head - tail;
    struct middle s = {a->v + head, b->v + head, (int)n, (int)m};
    if (n + m < INT32_MAX / 4 && compare(&s))
        return;
    for (size_t i = 0; i < n; i++)
        s.a[i].is_changed = true;
    for (size_t i = 0; i < m; i++)
        s.b[i].is_changed = true;
}

struct hunk {
    size_t a, a_end, b, b_end; /* line ranges from 0 */
};

static bool put_line(struct buf *out, char sign, struct str text)
{
    AUTO(buf) struct buf one = BUF_INIT;
    buf_addc(&one, sign);
    buf_add(&one, text);
    if (!str_ends(text, STR("\n")))
        buf_addz(&one, "\n\\ No newline at end of file\n");
    return buf_add(out, buf_str(&one));
}

static bool put_hunk(const struct lines *a, const struct lines *b, struct hunk h, struct buf *out)
{
    size_t n_a = h.a_end - h.a, n_b = h.b_end - h.b;
    if (!buf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", h.a + (n_a > 0), n_a, h.b + (n_b > 0), n_b))
        return false;
    while (h.a < h.a_end || h.b < h.b_end) {
        bool ok;
        if (h.a < h.a_end && a->v[h.a].is_changed)
            ok = put_line(out, '-', a->v[h.a++].text);
        else if (h.b < h.b_end && b->v[h.b].is_changed)
            ok = put_line(out, '+', b->v[h.b++].text);
        else
            ok = put_line(out, ' ', a->v[h.a].text), h.a++, h.b++;
        if (!ok)
            return false;
    }
    return true;
}

/* Moves both positions over equal lines to the next change; false at the end. */
static bool next_change(const struct lines *a, const struct lines *b, size_t *i, size_t *j)
{
    while (*i < a->n && *j < b->n && !a->v[*i].is_changed && !b->v[*j].is_changed)
        ++*i, ++*j;
    return *i < a->n || *j < b->n;
}

static void skip_change(const struct lines *a, const struct lines *b, size_t *i, size_t *j)
{
    while (*i < a->n && a->v[*i].is_changed)
        ++*i;
    while (*j < b->n && b->v[*j].is_changed)
        ++*j;
}

static bool put_hunks(const struct diff_options *o, const struct lines *a, const struct lines *b,
                      struct buf *out)
{
    size_t i = 0, j = 0, done = 0; /* done: lines of a behind the last hunk */
    while (next_change(a, b, &i, &j)) {
        size_t before = MIN(i - done, (size_t)o->context);
        struct hunk h = {i - before, 0, j - before, 0};
        for (;;) {
            skip_change(a, b, &i, &j);
            size_t i2 = i, j2 = j;
            bool goes_on = next_change(a, b, &i2, &j2);
            if (!goes_on || (!o->is_one_hunk && i2 - i > 2 * (size_t)o->context)) {
                size_t after = MIN(i2 - i, (size_t)o->context);
                h.a_end = done = i + after;
                h.b_end = j + after;
                break;
            }
            i = i2;
            j = j2;
        }
        if (!put_hunk(a, b, h, out))
            return false;
    }
    return true;
}

bool diff_unified(const struct diff_options *o, struct str before, struct str after,
                  struct buf *out)
{
    AUTO(lines) struct lines a = {0}, b = {0};
    if (str_eq(before, after))
        return true;
    lines_split(&a, before);
    lines_split(&b, after);
    find_changes(&a, &b);
    return buf_addf(out, "--- %.*s\n+++ %.*s\n", STR_FMT(o->name), STR_FMT(o->name)) &&
           put_hunks(o, &a, &b, out);
}
