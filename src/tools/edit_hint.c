/* SPDX-License-Identifier: MIT */
#include "tools/edit_hint.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "tools/diff.h"
#include "tools/edit_match.h"
#include "tools/write.h"

enum {
    DIFF_BYTES = 700,
    LINE_BYTES = 160,
    WINDOW_LINES = 15,
    MAX_PAIRS = 2000000, /* lines of the text times lines of the old text: compared by equality */
    MAX_ALIKE = 100000,  /* the same, compared by likeness */
    ALIKE_PERCENT = 60,
    N_PAIRS = 1024, /* of letters; a hash table */
};

/* A line with its number; tabs are made visible. */
static void put_line(size_t number, struct str line, struct buf *out)
{
    buf_addf(out, "\n%zu: ", number);
    line = utf8_cut(line, LINE_BYTES);
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '\t')
            buf_addz(out, "\u2192");
        else if (line.p[i] != '\r')
            buf_addc(out, line.p[i]);
}

static size_t line_of(struct str text, size_t at)
{
    size_t number = 1;
    for (size_t i = 0; i < at && i < text.n; i++)
        number += text.p[i] == '\n';
    return number;
}

static void put_places(struct str text, const struct edit_report *r, struct buf *out)
{
    AUTO(text_lines) struct text_lines lines = text_lines_of(text);
    size_t before = 0;
    buf_addz(out, r->count > EDIT_PLACES ? "\nthe first places:" : "\nit stands here:");
    for (size_t i = 0; i < r->count && i < EDIT_PLACES; i++) {
        size_t number = line_of(text, r->places[i]);
        if (number != before)
            put_line(number, lines.v[number - 1], out);
        before = number;
    }
}

static bool put_already_there(struct str text, const struct edit *e, struct buf *out)
{
    struct edit gone = {e->new_text, STR("")};
    AUTO(edit_places) struct edit_places p = {0};
    struct str line = str_trim(e->new_text);
    if (line.n < 3 || line.n > text.n || edit_find(text, &gone, 0, &p) == 0)
        return false;
    buf_addf(out, "\nalready there: the new text stands at line %zu", line_of(text, p.v[0].at));
    return true;
}

static bool put_change(struct str text, struct str seen, struct buf *out)
{
    AUTO(buf) struct buf then = BUF_INIT, diff = BUF_MAX(DIFF_BYTES);
    if (!seen.p)
        return false;
    shape_off(shape_of(seen), seen, &then);
    if (str_eq(buf_str(&then), text))
        return false;
    struct diff_options o = {.name = STR("file"), .context = 1};
    bool is_whole = diff_unified(&o, buf_str(&then), text, &diff);
    struct str shown = buf_str(&diff);
    for (int i = 0; i < 2; i++) /* without the two lines of names */
        shown = str_from(shown, MIN(str_chr(shown, '\n'), shown.n - 1) + 1);
    buf_addz(out, "\nthe file changed since you read it:\n");
    buf_add(out, str_trim(shown));
    if (!is_whole)
        buf_addz(out, "\n... (read it again)");
    return true;
}

/* ---- the closest lines ---- */

static uint32_t pair_at(struct str s, size_t i)
{
    return ((uint32_t)(unsigned char)s.p[i] * 31 + (unsigned char)s.p[i + 1]) % N_PAIRS;
}

/* How alike two lines are, in percent: the share of pairs of letters that they have in common. */
static unsigned likeness(struct str a, struct str b)
{
    uint16_t counts[N_PAIRS] = {0};
    size_t common = 0;
    a = str_cut(str_trim(a), 1000);
    b = str_cut(str_trim(b), 1000);
    if (str_eq(a, b))
        return 100;
    if (a.n < 2 || b.n < 2)
        return 0;
    for (size_t i = 0; i + 1 < a.n; i++)
        counts[pair_at(a, i)]++;
    for (size_t i = 0; i + 1 < b.n; i++)
        if (counts[pair_at(b, i)]) {
            counts[pair_at(b, i)]--;
            common++;
        }
    return (unsigned)(200 * common / (a.n + b.n - 2));
}

/* How well the old lines fit at a place, in percent; blank ones do not count. */
static unsigned fit(const struct text_lines *old, const struct text_lines *lines, size_t at,
                    bool by_likeness)
{
    size_t n = 0, sum = 0;
    for (size_t i = 0; i < old->n; i++) {
        if (str_is_blank(old->v[i]))
            continue;
        n++;
        if (at + i >= lines->n)
            continue;
        bool is_same = str_eq(str_trim(old->v[i]), str_trim(lines->v[at + i]));
        sum += is_same ? 100 : by_likeness ? likeness(old->v[i], lines->v[at + i]) : 0;
    }
    return n ? (unsigned)(sum / n) : 0;
}

/* The place with the best fit of at least `least` percent, or SIZE_MAX. */
static size_t find_closest(const struct text_lines *old, const struct text_lines *lines,
                           bool by_likeness, unsigned least)
{
    size_t found = SIZE_MAX;
    if (old->n > (size_t)(by_likeness ? MAX_ALIKE : MAX_PAIRS) / MAX(lines->n, 1))
        return SIZE_MAX;
    for (size_t at = 0; at < lines->n; at++) {
        unsigned percent = fit(old, lines, at, by_likeness);
        if (percent < least)
            continue;
        found = at;
        least = percent + 1;
    }
    return found;
}

static void put_closest(struct str text, struct str old_text, struct buf *out)
{
    AUTO(text_lines) struct text_lines old = text_lines_of(old_text), lines = text_lines_of(text);
    while (old.n > 1 && str_is_blank(old.v[old.n - 1]))
        old.n--;
    size_t at = find_closest(&old, &lines, false, 50);
    if (at == SIZE_MAX)
        at = find_closest(&old, &lines, true, ALIKE_PERCENT);
    if (at == SIZE_MAX)
        return;
    buf_addz(out, "\nthe closest lines (\u2192 is a tab):");
    for (size_t i = 0; i < MIN(old.n, WINDOW_LINES) && at + i < lines.n; i++)
        put_line(at + i + 1, lines.v[at + i], out);
}

bool edit_hint(struct str text, struct str seen, const struct edit *edits,
               const struct edit_report *r, struct buf *out)
{
    AUTO(buf) struct buf hint = BUF_INIT;
    if (r->fault == EDIT_MANY)
        put_places(text, r, &hint);
    if (r->fault == EDIT_NOT_FOUND) {
        put_already_there(text, &edits[r->i], &hint);
        put_change(text, seen, &hint);
        put_closest(text, edits[r->i].old_text, &hint);
    }
    buf_add(out, utf8_cut_chars(buf_str(&hint), EDIT_HINT_CHARS));
    return true;
}
