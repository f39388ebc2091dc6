/* SPDX-License-Identifier: MIT */
/* Finding an old text whose indentation is another one: shifted as a whole, or written in another
 * unit.  Whole lines are compared, without the blanks around them; a blank line is like any other.
 */
#include "tools/edit_match.h"

#include "base/mem.h"

enum { MAX_STEPS = 20000000, MAX_UNIT = 16 };

static struct str indent_of(struct str line)
{
    size_t n = 0;
    while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t'))
        n++;
    return str_cut(line, n);
}

/* ---- one shift for all lines ---- */

struct shift {
    struct str by;  /* in front of the file's lines, or of the old text's */
    bool is_deeper; /* the file's lines are the ones with more of it */
    bool is_known;
};

static bool take_shift(struct shift *s, struct str old, struct str file)
{
    bool is_deeper = file.n >= old.n;
    struct str more = is_deeper ? file : old, less = is_deeper ? old : file;
    struct str by = str_cut(more, more.n - less.n);
    if (!str_ends(more, less))
        return false;
    if (!s->is_known)
        *s = (struct shift){by, is_deeper, true};
    return str_eq(by, s->by) && (is_deeper == s->is_deeper || by.n == 0);
}

static void shape_shifted(const void *arg, struct str line, struct buf *out)
{
    const struct shift *s = arg;
    if (str_is_blank(line)) {
        buf_add(out, line);
        return;
    }
    if (s->is_deeper) {
        buf_add(out, s->by);
        buf_add(out, line);
        return;
    }
    buf_add(out, str_from(line, MIN(s->by.n, indent_of(line).n)));
}

/* ---- units ---- */

struct level {
    long level;
    size_t rest; /* blanks beyond it */
};

struct units {
    size_t old, file; /* blanks of a level; 0: a tab */
    long more;        /* levels that the file has more */
    bool is_known;
};

static struct level level_of(struct str indent, size_t unit)
{
    struct level l = {0};
    for (size_t i = 0; i < indent.n; i++)
        if (indent.p[i] == '\t')
            l.level++;
        else
            l.rest++;
    if (unit) {
        l.level += (long)(l.rest / unit);
        l.rest %= unit;
    }
    return l;
}

static bool take_units(struct units *u, struct str old, struct str file)
{
    struct level a = level_of(old, u->old), b = level_of(file, u->file);
    if (!u->is_known)
        u->more = b.level - a.level;
    u->is_known = true;
    return a.rest == b.rest && b.level - a.level == u->more;
}

static void shape_by_unit(const void *arg, struct str line, struct buf *out)
{
    const struct units *u = arg;
    struct str indent = indent_of(line);
    if (str_is_blank(line)) {
        buf_add(out, line);
        return;
    }
    struct level l = level_of(indent, u->old);
    for (long i = 0; i < l.level + u->more; i++)
        for (size_t k = 0; k < MAX(u->file, 1); k++)
            buf_addc(out, u->file ? ' ' : '\t');
    for (size_t i = 0; i < l.rest; i++)
        buf_addc(out, ' ');
    buf_add(out, str_from(line, indent.n));
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The unit of a piece of text: a tab (0) when it has one, else what divides all indentations.
 * False when there is none. */
static bool unit_of_piece(struct str text, size_t *unit)
{
    struct str line;
    while (str_line(&text, &line)) {
        struct str indent = indent_of(line);
        if (str_is_blank(line))
            continue;
        if (str_chr(indent, '\t') != SIZE_MAX) {
            *unit = 0;
            return true;
        }
        *unit = common_divisor(indent.n, *unit);
    }
    return *unit > 1;
}

/* The unit of a file: a tab when most indented lines begin with one, else the step by which
 * indentation grows or shrinks most often. */
static size_t unit_of_file(const struct text_lines *lines)
{
    size_t steps[MAX_UNIT + 1] = {0}, before = 0, tabs = 0, blanks = 0, best = 4;
    for (size_t i = 0; i < lines->n; i++) {
        size_t width = indent_of(lines->v[i]).n;
        if (str_is_blank(lines->v[i]))
            continue;
        tabs += width && lines->v[i].p[0] == '\t';
        blanks += width && lines->v[i].p[0] == ' ';
        size_t step = width > before ? width - before : before - width;
        if (step > 1 && step <= MAX_UNIT)
            steps[step]++;
        before = width;
    }
    for (size_t i = 2; i <= MAX_UNIT; i++)
        if (steps[i] > steps[best])
            best = i;
    return tabs >= blanks && tabs ? 0 : best;
}

/* ---- comparing ---- */

struct comparing {
    struct edit_search *search;
    struct text_lines old; /* without the empty one behind the last line end */
    bool ends_line;        /* there was one */
    bool by_unit;
    struct shift shift;
    struct units units;
    size_t n_steps;
};

static bool is_same_line(struct comparing *c, struct str old, struct str file)
{
    struct str a = str_trim(old), b = str_trim(file);
    if (!str_eq(a, b))
        return false;
    if (a.n == 0)
        return true;
    return c->by_unit ? take_units(&c->units, indent_of(old), indent_of(file))
                      : take_shift(&c->shift, indent_of(old), indent_of(file));
}

static bool is_here(struct comparing *c, size_t at)
{
    c->shift = (struct shift){0};
    c->units.is_known = false;
    for (size_t i = 0; i < c->old.n; i++, c->n_steps++)
        if (!is_same_line(c, c->old.v[i], c->search->lines.v[at + i]))
            return false;
    return c->by_unit ? c->units.is_known : c->shift.is_known;
}

static void add_place(struct comparing *c, size_t at)
{
    struct edit_search *s = c->search;
    AUTO(buf) struct buf merged = BUF_INIT;
    struct str last = s->lines.v[at + c->old.n - 1];
    size_t begin = (size_t)(s->lines.v[at].p - s->text.p);
    size_t end = (size_t)(last.p - s->text.p) + last.n;
    if (!c->ends_line && str_ends(last, STR("\r")))
        end--;
    if (c->ends_line && end < s->text.n)
        end++;
    struct edit e = *s->edit;
    struct str found = str_n(s->text.p + begin, end - begin);
    if (c->ends_line && !str_ends(found, STR("\n"))) { /* the file's last line has no end */
        e.old_text = str_cut(e.old_text, e.old_text.n - 1);
        if (str_ends(e.new_text, STR("\n")))
            e.new_text = str_cut(e.new_text, e.new_text.n - 1);
    }
    edit_merge(&e, found, c->by_unit ? shape_by_unit : shape_shifted,
               c->by_unit ? (const void *)&c->units : &c->shift, &merged);
    edit_add_place(s, begin, end - begin, edit_keep(s->out, &merged));
}

static size_t find(struct comparing *c)
{
    struct edit_search *s = c->search;
    size_t count = 0, first = s->out->n;
    c->old = text_lines_of(s->edit->old_text);
    c->ends_line = c->old.n > 1 && c->old.v[c->old.n - 1].n == 0;
    c->old.n -= c->ends_line;
    for (size_t at = 0; at + c->old.n <= s->lines.n && c->n_steps < MAX_STEPS; at++) {
        c->n_steps++;
        if (!is_here(c, at))
            continue;
        add_place(c, at);
        count++;
        at += c->old.n - 1;
    }
    text_lines_clear(&c->old);
    if (c->n_steps < MAX_STEPS)
        return count;
    s->out->n = first; /* not all were looked at */
    return 0;
}

static void split_text(struct edit_search *s)
{
    if (!s->lines.v)
        s->lines = text_lines_of(s->text);
}

size_t edit_find_shifted(struct edit_search *s)
{
    struct comparing c = {.search = s};
    split_text(s);
    return find(&c);
}

size_t edit_find_by_unit(struct edit_search *s)
{
    struct comparing c = {.search = s, .by_unit = true};
    size_t unit = 0;
    bool ok = unit_of_piece(s->edit->old_text, &unit);
    ok = ok && unit ? unit_of_piece(s->edit->new_text, &unit) : ok;
    if (!ok)
        return 0;
    split_text(s);
    c.units = (struct units){.old = unit, .file = unit_of_file(&s->lines)};
    return find(&c);
}
