/* SPDX-License-Identifier: MIT */
#include "tools/edit.h"

#include "base/mem.h"

struct place {
    size_t at;   /* in the text */
    size_t edit; /* whose old_text stands there */
};

struct places {
    struct place *v;
    size_t n, room;
};

static void places_clear(struct places *p)
{
    free(p->v);
}

static void add_place(struct places *p, size_t at, size_t edit)
{
    if (p->n == p->room) {
        p->room = p->room ? p->room * 2 : 16;
        p->v = xrealloc(p->v, p->room * sizeof *p->v);
    }
    p->v[p->n++] = (struct place){at, edit};
}

/* Adds the places of one edit; returns how many there are, counted without overlap. */
static size_t find_places(struct places *p, struct str text, const struct edit *edits, size_t i,
                          bool everywhere)
{
    size_t count = 0, from = 0;
    struct str old = edits[i].old_text;
    for (;;) {
        size_t at = str_find(str_from(text, from), old);
        if (at == SIZE_MAX)
            return count;
        if (everywhere || count == 0)
            add_place(p, from + at, i);
        count++;
        from += at + old.n;
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int c = (x->at > y->at) - (x->at < y->at);
    return c ? c : (x->edit > y->edit) - (x->edit < y->edit);
}

static bool find_overlap(const struct places *p, const struct edit *edits, struct edit_report *r)
{
    for (size_t k = 1; k < p->n; k++) {
        const struct place *x = &p->v[k - 1], *y = &p->v[k];
        if (x->at + edits[x->edit].old_text.n <= y->at)
            continue;
        r->fault = EDIT_OVERLAP;
        r->i = MIN(x->edit, y->edit);
        r->j = MAX(x->edit, y->edit);
        return true;
    }
    return false;
}

static void replace(struct str text, const struct places *p, const struct edit *edits,
                    struct buf *out)
{
    size_t from = 0;
    for (size_t k = 0; k < p->n; k++) {
        const struct edit *e = &edits[p->v[k].edit];
        buf_add(out, str_n(text.p + from, p->v[k].at - from));
        buf_add(out, e->new_text);
        from = p->v[k].at + e->old_text.n;
    }
    buf_add(out, str_from(text, from));
}

struct edit_report edit_apply(struct str text, const struct edit *edits, size_t n, bool everywhere,
                              struct buf *out)
{
    struct edit_report r = {.fault = n ? EDIT_FINE : EDIT_NONE};
    AUTO(places) struct places p = {0};
    for (r.i = 0; r.i < n; r.i++) {
        if (edits[r.i].old_text.n == 0) {
            r.fault = EDIT_EMPTY;
            return r;
        }
        r.count = find_places(&p, text, edits, r.i, everywhere);
        if (r.count == 0 || (r.count > 1 && !everywhere)) {
            r.fault = r.count ? EDIT_MANY : EDIT_NOT_FOUND;
            return r;
        }
    }
    if (n == 0)
        return r;
    qsort(p.v, p.n, sizeof *p.v, compare_places);
    if (find_overlap(&p, edits, &r))
        return r;
    AUTO(buf) struct buf changed = BUF_INIT;
    replace(text, &p, edits, &changed);
    r.count = p.n;
    if (str_eq(text, buf_str(&changed)))
        r.fault = EDIT_NO_CHANGE;
    else
        buf_add(out, buf_str(&changed));
    return r;
}
