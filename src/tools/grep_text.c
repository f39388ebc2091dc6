/* SPDX-License-Identifier: MIT */
/* Where a literal is known that every match needs, it is looked for in the bytes as they are, and
 * only the lines in which it stands are checked, repaired and asked, each alone.
 *
 * Else the text is searched as a whole, which is many times faster than line by line, and then each
 * match is brought back to its lines:
 *
 *     find -> match inside one line: that line matches
 *          -> match reaches over a line end, and it must not: the first line is asked alone
 *          -> the expression gave up on the whole text, or never gives back what it took: every
 *             line is asked alone
 *
 * The next search begins at the next line, so a line is reported once.
 */
#include "tools/grep_text.h"

#include "base/mem.h"
#include "base/utf8.h"

enum { KEEP_BYTES_MAX = 4 << 20 };

/* The lines of one match, or of one step through the text. */
struct span {
    size_t start, end; /* end: where the last line ends, at its \n or at the end of the text */
};

/* How far the lines of a file have been added to the result. */
struct cursor {
    struct grep_text *g;
    size_t at;          /* start of the next line that was not added */
    int64_t number;     /* its number */
    int64_t after_owed; /* context lines still owed to the last match */
    bool is_full;       /* max_lines lines are shown, and one more that stands for the rest */
};

void grep_text_clear(struct grep_text *g)
{
    if (g->regex)
        g->api->free(g->regex);
    buf_clear(&g->repaired);
    buf_clear(&g->shown);
    free(g->lines);
    *g = (struct grep_text){0};
}

static bool is_stopped(const struct grep_text *g)
{
    return atomic_load_explicit(g->stop, memory_order_relaxed);
}

static size_t line_start(struct str text, size_t at)
{
    const char *nl = at ? memrchr(text.p, '\n', at) : NULL;
    return nl ? (size_t)(nl - text.p) + 1 : 0;
}

static size_t line_end(struct str text, size_t at)
{
    const char *nl = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;
    return nl ? (size_t)(nl - text.p) : text.n;
}

/* ---- with a literal ---- */

/* The next place where one of the literals stands. */
static size_t next_literal(struct grep_text *g, size_t from)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < g->literals->n; i++) {
        if (g->literal_at[i] < from)
            g->literal_at[i] = literal_find(&g->literals->v[i], g->text, from);
        first = MIN(first, g->literal_at[i]);
    }
    return first;
}

static void first_literals(struct grep_text *g)
{
    for (size_t i = 0; i < g->literals->n; i++)
        g->literal_at[i] = literal_find(&g->literals->v[i], g->text, 0);
}

/* The text if it is valid UTF-8, else a repaired copy that lives until the next call. */
static struct str as_valid(struct grep_text *g, struct str text)
{
    if (utf8_is_valid(text))
        return text;
    buf_shrink(&g->repaired, KEEP_BYTES_MAX);
    utf8_repair(&g->repaired, text);
    return buf_str(&g->repaired);
}

static bool ask_alone(struct grep_text *g, struct str line)
{
    size_t s, e;
    if (g->literals->is_whole)
        return true;
    enum regex_found found = g->api->find(g->regex, as_valid(g, line), 0, &s, &e);
    g->n_gave_up += found == REGEX_GAVE_UP;
    return found == REGEX_YES;
}

static bool find_by_literal(struct grep_text *g, size_t from, struct span *ret)
{
    while (from < g->text.n && !is_stopped(g)) {
        size_t at = next_literal(g, from);
        if (at == SIZE_MAX)
            return false;
        size_t start = line_start(g->text, at), end = line_end(g->text, at);
        if (ask_alone(g, str_n(g->text.p + start, end - start))) {
            *ret = (struct span){start, end};
            return true;
        }
        from = end + 1;
    }
    return false;
}

/* ---- without ---- */

/* Asks one line alone; what stands before it is still seen by lookbehind. */
static bool ask_line(struct grep_text *g, size_t start, size_t end)
{
    size_t s, e;
    enum regex_found found = g->api->find(g->regex, str_cut(g->text, end), start, &s, &e);
    g->n_gave_up += found == REGEX_GAVE_UP;
    return found == REGEX_YES;
}

static bool find_slowly(struct grep_text *g, size_t from, struct span *ret)
{
    while (from < g->text.n && !is_stopped(g)) {
        size_t end = line_end(g->text, from);
        if (ask_line(g, from, end)) {
            *ret = (struct span){from, end};
            return true;
        }
        from = end + 1;
    }
    return false;
}

/* Whether a part of it never gives back what it took: over the end of its line, for instance. */
static bool is_possessive(struct str pattern)
{
    static const char *const signs[] = {"*+", "++", "?+", "}+", "(?>", "(*"};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (str_find(pattern, str_of(signs[i])) != SIZE_MAX)
            return true;
    return false;
}

static bool find_in_whole(struct grep_text *g, size_t from, struct span *ret)
{
    struct str text = g->text;
    bool many_lines = g->o->many_lines;
    while (from < text.n && !is_stopped(g)) {
        size_t s, e;
        enum regex_found found = g->api->find(g->regex, text, from, &s, &e);
        if (found == REGEX_GAVE_UP)
            return find_slowly(g, from, ret);
        /* Behind the last line end there is no further line that could match. */
        if (found == REGEX_NO || (s == text.n && text.p[s - 1] == '\n'))
            return false;
        size_t start = MAX(line_start(text, s), from), end = line_end(text, s);
        if (many_lines && e > end)
            end = line_end(text, e - 1);
        /* Behind the \r of a line that ends with \r\n the expression would see a line start. */
        bool is_sure = e < end || (e == end && (e == s || text.p[e - 1] != '\r'));
        if (is_sure || many_lines || ask_line(g, start, end)) {
            *ret = (struct span){start, end};
            return true;
        }
        from = end + 1;
    }
    return false;
}

/* The next lines that match, from a line start on. */
static bool find_lines(struct grep_text *g, size_t from, struct span *ret)
{
    if (!g->is_checked)
        return find_by_literal(g, from, ret);
    if (!g->o->many_lines && is_possessive(g->o->pattern))
        return find_slowly(g, from, ret);
    return find_in_whole(g, from, ret);
}

/* ---- the lines to show ---- */

static void add_line(struct cursor *c, size_t end, bool is_match)
{
    struct grep_text *g = c->g;
    struct str line = str_n(g->text.p + c->at, end - c->at);
    if (str_ends(line, STR("\r")))
        line.n--;
    if (g->n_lines > g->o->max_lines) {
        c->is_full = true;
    } else {
        GROW(g->lines, g->n_lines, g->lines_capacity);
        line = utf8_cut(g->is_checked ? line : as_valid(g, line), g->o->max_line_bytes);
        g->lines[g->n_lines++] = (struct shown_line){c->number, g->shown.n, line.n, is_match};
        buf_add(&g->shown, line);
        buf_addc(&g->shown, '\0');
    }
    c->at = end + 1;
    c->number++;
}

/* Adds the context that the last match is owed, up to `limit`. */
static void pay_after(struct cursor *c, size_t limit)
{
    while (c->after_owed > 0 && c->at < limit) {
        add_line(c, line_end(c->g->text, c->at), false);
        c->after_owed--;
    }
}

/* Goes to the line at `to`, counting what is passed. */
static void skip_to(struct cursor *c, size_t to)
{
    while (c->at < to) {
        c->at = line_end(c->g->text, c->at) + 1;
        c->number++;
    }
}

static void add_match(struct cursor *c, struct span m)
{
    size_t from = m.start;
    pay_after(c, m.start);
    for (int64_t i = 0; i < c->g->o->before && from > c->at; i++)
        from = line_start(c->g->text, from - 1);
    skip_to(c, from);
    while (c->at < m.start)
        add_line(c, line_end(c->g->text, c->at), false);
    while (c->at <= m.end && c->at < c->g->text.n)
        add_line(c, line_end(c->g->text, c->at), true);
    c->after_owed = c->g->o->after;
}

static int64_t count_lines(struct str text, struct span m)
{
    int64_t n = 1;
    for (size_t at = line_end(text, m.start); at < m.end; at = line_end(text, at + 1))
        n++;
    return n;
}

/* ---- all together ---- */

/* False when there is no need to look closer. */
static bool prepare(struct grep_text *g, struct str bytes)
{
    static const struct str bom = {"\xef\xbb\xbf", 3};
    g->text = str_starts(bytes, bom) ? str_from(bytes, bom.n) : bytes;
    g->n_lines = 0;
    buf_reset(&g->shown);
    g->is_checked = false;
    if (g->literals->n) {
        first_literals(g);
        if (next_literal(g, 0) == SIZE_MAX)
            return false;
    }
    if (g->literals->n == 0 || g->o->many_lines) {
        g->is_checked = true;
        g->text = as_valid(g, g->text);
    }
    return true;
}

int64_t grep_text_search(struct grep_text *g, struct str bytes)
{
    struct cursor c = {.g = g, .number = 1};
    struct span m;
    int64_t n = 0;
    if (!prepare(g, bytes))
        return 0;
    for (size_t from = 0; find_lines(g, from, &m); from = m.end + 1) {
        n += count_lines(g->text, m);
        if (g->o->want_lines)
            add_match(&c, m);
        if ((!g->o->want_lines && !g->o->want_counts) || c.is_full)
            break;
    }
    if (g->o->want_lines && n)
        pay_after(&c, g->text.n);
    return n;
}
