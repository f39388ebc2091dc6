/* SPDX-License-Identifier: MIT */
#include "tools/edit.h"

#include "base/mem.h"
#include "base/utf8.h"

enum { CONTEXT_LINES = 3, SHOWN_LINES = 40, SHOWN_BYTES = 4000 };

static int compare_places(const void *a, const void *b)
{
    const struct edit_place *x = a, *y = b;
    int c = (x->at > y->at) - (x->at < y->at);
    return c ? c : (x->edit > y->edit) - (x->edit < y->edit);
}

static bool find_overlap(const struct edit_places *p, struct edit_report *r)
{
    for (size_t k = 1; k < p->n; k++) {
        const struct edit_place *x = &p->v[k - 1], *y = &p->v[k];
        if (x->at + x->n <= y->at)
            continue;
        r->fault = EDIT_OVERLAP;
        r->i = MIN(x->edit, y->edit);
        r->j = MAX(x->edit, y->edit);
        return true;
    }
    return false;
}

static void replace(struct str text, const struct edit_places *p, struct edit_report *r,
                    struct buf *out)
{
    size_t from = 0;
    for (size_t k = 0; k < p->n; k++) {
        const struct edit_place *e = &p->v[k];
        buf_add(out, str_n(text.p + from, e->at - from));
        if (e->step > EDIT_LINE_ENDS && r->n_notes < EDIT_NOTES)
            r->notes[r->n_notes++] = (struct edit_note){e->step, out->n, e->new_text.n};
        buf_add(out, e->new_text);
        from = e->at + e->n;
    }
    buf_add(out, str_from(text, from));
}

/* Finds the places of edit r->i; false with a fault when they are not as many as they should. */
static bool find_places(struct str text, const struct edit *e, bool everywhere,
                        struct edit_places *p, struct edit_report *r)
{
    size_t first = p->n;
    if (e->old_text.n == 0) {
        r->fault = EDIT_EMPTY;
        return false;
    }
    r->count = edit_find(text, e, r->i, p);
    if (r->count == 1 || (r->count && everywhere))
        return true;
    r->fault = r->count ? EDIT_MANY : EDIT_NOT_FOUND;
    for (size_t k = 0; k < r->count && k < EDIT_PLACES; k++)
        r->places[k] = p->v[first + k].at;
    return false;
}

struct edit_report edit_apply(struct str text, const struct edit *edits, size_t n, bool everywhere,
                              struct buf *out)
{
    struct edit_report r = {.fault = n ? EDIT_FINE : EDIT_NONE};
    AUTO(edit_places) struct edit_places p = {0};
    for (r.i = 0; r.i < n; r.i++)
        if (!find_places(text, &edits[r.i], everywhere, &p, &r))
            return r;
    if (n == 0)
        return r;
    qsort(p.v, p.n, sizeof *p.v, compare_places);
    if (find_overlap(&p, &r))
        return r;
    AUTO(buf) struct buf changed = BUF_INIT;
    replace(text, &p, &r, &changed);
    r.count = p.n;
    if (str_eq(text, buf_str(&changed)))
        r.fault = EDIT_NO_CHANGE;
    else
        buf_add(out, buf_str(&changed));
    return r;
}

static const char *step_words(enum edit_step step)
{
    static const char *const words[] = {
        [EDIT_TRAILING] = "ignoring blanks at line ends",
        [EDIT_SHIFT] = "with another indentation; the new text was shifted alike",
        [EDIT_UNIT] = "with another unit of indentation; the new text was converted to the file's",
        [EDIT_TYPOGRAPHY] = "taking typographic characters for plain ones",
        [EDIT_ESCAPES] = "after one level of backslash escapes was removed from both texts",
        [EDIT_NUMBERS] = "after the line numbers were removed",
        [EDIT_OUTER] = "without the blank lines around it",
    };
    return words[step];
}

/* The lines of [at, at + n) and those around them, numbered. */
static void put_lines(struct str text, const struct edit_note *note, struct buf *out)
{
    size_t number = 1, from = 1, start = 0, last, shown = out->n;
    for (size_t i = 0; i < note->at; i++)
        number += text.p[i] == '\n';
    from = number > CONTEXT_LINES ? number - CONTEXT_LINES : 1;
    last = number + CONTEXT_LINES;
    for (size_t i = note->at; i + 1 < note->at + note->n; i++)
        last += text.p[i] == '\n';
    last = MIN(last, from + SHOWN_LINES);
    struct str line, rest = text;
    for (start = 1; str_line(&rest, &line) && start <= last; start++)
        if (start >= from && out->n - shown < SHOWN_BYTES)
            buf_addf(out, "\n%zu: %.*s", start, STR_FMT(utf8_cut(line, 500)));
}

void edit_say_notes(const struct edit_report *r, struct str after, bool with_lines, struct buf *out)
{
    for (size_t i = 0; i < r->n_notes; i++) {
        buf_addf(out, "%sfound %s%s", i ? "\n" : "", step_words(r->notes[i].step),
                 with_lines ? "; the lines are now:" : "");
        if (with_lines)
            put_lines(after, &r->notes[i], out);
    }
}
