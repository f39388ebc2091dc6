/* SPDX-License-Identifier: MIT */
/* The ladder of the matcher.  The old text is looked for as it is; when it is nowhere, in the forms
 *
 *     LINE_ENDS, TRAILING     both texts in a normal form, with a map back to the bytes
 *     SHIFT, UNIT             line by line (edit_lines.c)
 *     TYPOGRAPHY              a normal form again
 *
 * and when that fails too, the edit is rewritten (edit_rewrite.c) and goes through all of it again:
 * ESCAPES, NUMBERS, OUTER.  Nothing is guessed beyond that.
 */
#include "tools/edit_match.h"

#include "base/mem.h"
#include "base/utf8.h"

enum {
    LOOSE_BYTES = 4 << 20, /* in larger texts only the exact old text is looked for */
    MERGE_CELLS = 4 << 20, /* lines of the old text times lines of the new one */
    MOST_PLACES = 100000,
};

void edit_places_clear(struct edit_places *p)
{
    for (size_t i = 0; i < p->n_pool; i++)
        free(p->pool[i]);
    free(p->pool);
    free(p->v);
}

struct str edit_keep(struct edit_places *p, struct buf *text)
{
    size_t n = text->n;
    p->pool = xrealloc(p->pool, (p->n_pool + 1) * sizeof *p->pool);
    buf_addc(text, '\0'); /* so that there is memory even for an empty text */
    return str_n(p->pool[p->n_pool++] = buf_take(text), n);
}

void edit_add_place(struct edit_search *s, size_t at, size_t n, struct str new_text)
{
    struct edit_places *p = s->out;
    GROW(p->v, p->n, p->capacity);
    p->v[p->n++] = (struct edit_place){at, n, new_text, s->step, s->number};
}

void text_lines_clear(struct text_lines *l)
{
    free(l->v);
    *l = (struct text_lines){0};
}

struct text_lines text_lines_of(struct str text)
{
    struct text_lines l = {0};
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    l.v = xcalloc(n, sizeof *l.v);
    for (size_t from = 0; l.n < n; l.n++) {
        size_t length = str_chr(str_from(text, from), '\n');
        l.v[l.n] = str_cut(str_n(text.p + from, text.n - from), length);
        from += l.v[l.n].n + 1;
    }
    return l;
}

/* ---- the new text ---- */

static struct str without_return(struct str line)
{
    return str_ends(line, STR("\r")) ? str_cut(line, line.n - 1) : line;
}

/* Which lines of the old text the new one keeps: kept[j] is the old line of new line j, or
 * SIZE_MAX.  The longest common subsequence; of long texts only common beginnings and ends. */
static size_t *find_kept(const struct text_lines *old, const struct text_lines *new)
{
    size_t n = old->n, m = new->n, *kept = xcalloc(m + 1, sizeof *kept);
    for (size_t j = 0; j < m; j++)
        kept[j] = SIZE_MAX;
    size_t head = 0, tail = 0;
    while (head < MIN(n, m) && str_eq(old->v[head], new->v[head])) {
        kept[head] = head;
        head++;
    }
    while (tail < MIN(n, m) - head && str_eq(old->v[n - 1 - tail], new->v[m - 1 - tail])) {
        kept[m - 1 - tail] = n - 1 - tail;
        tail++;
    }
    size_t a = n - head - tail, b = m - head - tail;
    if (a == 0 || b == 0 || a > MERGE_CELLS / b)
        return kept;
    AUTO_FREE uint32_t *length = xcalloc((a + 1) * (b + 1), sizeof *length);
#define AT(i, j) length[(i) * (b + 1) + (j)]
    for (size_t i = a; i-- > 0;)
        for (size_t j = b; j-- > 0;)
            AT(i, j) = str_eq(old->v[head + i], new->v[head + j]) ? AT(i + 1, j + 1) + 1
                                                                  : MAX(AT(i + 1, j), AT(i, j + 1));
    for (size_t i = 0, j = 0; i < a && j < b;) {
        if (str_eq(old->v[head + i], new->v[head + j]))
            kept[head + j++] = head + i++;
        else if (AT(i + 1, j) >= AT(i, j + 1))
            i++;
        else
            j++;
    }
#undef AT
    return kept;
}

void edit_merge(const struct edit *e, struct str found, edit_shape_fn *shape, const void *arg,
                struct buf *out)
{
    AUTO(text_lines) struct text_lines old = text_lines_of(e->old_text),
                                       new = text_lines_of(e->new_text),
                                       file = text_lines_of(found);
    bool has_return = file.n > 1 && str_ends(file.v[0], STR("\r"));
    AUTO_FREE size_t *kept = find_kept(&old, &new);
    for (size_t j = 0; j < new.n; j++) {
        bool is_last = j + 1 == new.n;
        if (j)
            buf_addc(out, '\n');
        if (kept[j] != SIZE_MAX && kept[j] < file.n && is_last == (kept[j] + 1 == file.n)) {
            buf_add(out, file.v[kept[j]]);
            continue;
        }
        shape(arg, without_return(new.v[j]), out);
        if (has_return && !is_last)
            buf_addc(out, '\r');
    }
}

static void shape_plain(const void *arg, struct str line, struct buf *out)
{
    (void)arg;
    buf_add(out, line);
}

/* ---- normal forms ---- */

/* A text in a normal form, and where each of its bytes comes from. */
struct normal {
    struct buf text;
    size_t *from; /* one more than bytes: the last is the length of the original */
};

static void normal_clear(struct normal *n)
{
    buf_clear(&n->text);
    free(n->from);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Length of what is dropped at s: a \r, or blanks, before a line end. */
static size_t dropped(struct str s, enum edit_step form)
{
    size_t n = 0;
    if (form == EDIT_LINE_ENDS)
        return s.n > 1 && s.p[0] == '\r' && s.p[1] == '\n';
    while (n < s.n && is_blank(s.p[n]))
        n++;
    return n == s.n || s.p[n] == '\n' ? n : 0;
}

static struct normal normal_of(struct str s, enum edit_step form)
{
    struct normal n = {.from = xcalloc(s.n + 1, sizeof *n.from)};
    for (size_t i = 0; i < s.n;) {
        size_t skip = is_blank(s.p[i]) ? dropped(str_from(s, i), form) : 0;
        uint32_t c;
        size_t length = skip ? 0 : form == EDIT_TYPOGRAPHY ? utf8_get(str_from(s, i), &c) : 1;
        if (skip) {
            i += skip;
            continue;
        }
        uint32_t plain = length > 1 ? edit_plain_char(c) : 0;
        bool is_folded = length > 1 && plain != c;
        length = MAX(length, 1);
        for (size_t k = 0; k < (is_folded ? 1 : length); k++)
            n.from[n.text.n + k] = i + k;
        if (is_folded)
            buf_addc(&n.text, (char)plain);
        else
            buf_add(&n.text, str_n(s.p + i, length));
        i += length;
    }
    n.from[n.text.n] = s.n;
    return n;
}

/* Where the text that gave the bytes [at, at + n) ends: before what was dropped behind it. */
static size_t end_of(const struct normal *text, struct str original, size_t at, size_t n)
{
    size_t end = text->from[at + n - 1] + 1;
    while (end < original.n && ((unsigned char)original.p[end] & 0xc0) == 0x80)
        end++; /* of a character that was folded */
    return end;
}

static size_t find_normal(struct edit_search *s, enum edit_step form)
{
    size_t count = 0, from = 0;
    AUTO(normal) struct normal old = normal_of(s->edit->old_text, form);
    if (str_is_blank(buf_str(&old.text)))
        return 0;
    AUTO(normal) struct normal text = normal_of(s->text, form);
    for (;;) {
        size_t at = str_find(str_from(buf_str(&text.text), from), buf_str(&old.text));
        if (at == SIZE_MAX || count >= MOST_PLACES)
            return count;
        AUTO(buf) struct buf merged = BUF_INIT;
        size_t begin = text.from[from + at];
        size_t end = end_of(&text, s->text, from + at, old.text.n);
        edit_merge(s->edit, str_n(s->text.p + begin, end - begin), shape_plain, NULL, &merged);
        edit_add_place(s, begin, end - begin, edit_keep(s->out, &merged));
        count++;
        from += at + old.text.n;
    }
}

/* ---- the steps ---- */

static size_t find_exact(struct edit_search *s)
{
    size_t count = 0, from = 0;
    struct str old = s->edit->old_text;
    for (;;) {
        size_t at = old.n ? str_find(str_from(s->text, from), old) : SIZE_MAX;
        if (at == SIZE_MAX)
            return count;
        edit_add_place(s, from + at, old.n, s->edit->new_text);
        count++;
        from += at + old.n;
    }
}

/* All forms, strictest first; with step EXACT each is recorded as what it is. */
static size_t find_in_forms(struct edit_search *s)
{
    static const enum edit_step forms[] = {EDIT_EXACT, EDIT_LINE_ENDS, EDIT_TRAILING,
                                           EDIT_SHIFT, EDIT_UNIT,      EDIT_TYPOGRAPHY};
    enum edit_step as = s->step;
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(forms) && count == 0; i++) {
        s->step = as ? as : forms[i];
        if (forms[i] != EDIT_EXACT && s->text.n > LOOSE_BYTES)
            return 0;
        count = forms[i] == EDIT_EXACT   ? find_exact(s)
                : forms[i] == EDIT_SHIFT ? edit_find_shifted(s)
                : forms[i] == EDIT_UNIT  ? edit_find_by_unit(s)
                                         : find_normal(s, forms[i]);
    }
    return count;
}

/* The file's byte order mark is not part of the text; a model may have copied it. */
static struct str without_mark(struct str s)
{
    return str_starts(s, STR("\xef\xbb\xbf")) ? str_from(s, 3) : s;
}

static size_t find_rewritten(struct edit_search *s, const struct edit *e)
{
    static const struct {
        enum edit_step step;
        bool (*rewrite)(const struct edit *e, struct buf *ret_old, struct buf *ret_new);
    } rewrites[] = {{EDIT_ESCAPES, edit_unescape},
                    {EDIT_NUMBERS, edit_drop_numbers},
                    {EDIT_OUTER, edit_drop_outer}};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(rewrites) && count == 0 && s->text.n <= LOOSE_BYTES; i++) {
        AUTO(buf) struct buf old = BUF_INIT, new = BUF_INIT;
        if (!rewrites[i].rewrite(e, &old, &new) || str_is_blank(buf_str(&old)))
            continue;
        struct edit rewritten = {buf_str(&old), edit_keep(s->out, &new)};
        s->edit = &rewritten;
        s->step = rewrites[i].step;
        count = find_in_forms(s);
    }
    return count;
}

size_t edit_find(struct str text, const struct edit *e, size_t number, struct edit_places *p)
{
    struct edit plain = {without_mark(e->old_text), without_mark(e->new_text)};
    struct edit_search s = {.text = text, .edit = e, .number = number, .out = p};
    size_t count = find_exact(&s);
    if (count == 0) {
        s.edit = &plain;
        count = find_in_forms(&s);
    }
    if (count == 0)
        count = find_rewritten(&s, &plain);
    text_lines_clear(&s.lines);
    return count;
}
