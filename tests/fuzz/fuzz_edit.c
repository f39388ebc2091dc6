/* SPDX-License-Identifier: MIT */
/* Edits: text, then pairs of old and new, separated by lines of "%%".  One edit is held against the
 * plainest way to do it; a text keeps its mark and line ends through a change.
 */
#include "fuzz.h"
#include "tools/edit.h"
#include "tools/write.h"

enum { MAX_EDITS = 8 };

/* Replaces every old by new, from the left. */
static size_t replace_plainly(struct str text, const struct edit *e, struct buf *out)
{
    size_t count = 0, at;
    for (; (at = str_find(text, e->old_text)) != SIZE_MAX; count++) {
        buf_add(out, str_cut(text, at));
        buf_add(out, e->new_text);
        text = str_from(text, at + e->old_text.n);
    }
    buf_add(out, text);
    return count;
}

static void check_one(struct str text, const struct edit *e, bool everywhere,
                      const struct edit_report *r, struct str out)
{
    AUTO(buf) struct buf want = BUF_INIT;
    if (e->old_text.n == 0) {
        PROMISE(r->fault == EDIT_EMPTY);
        return;
    }
    size_t count = replace_plainly(text, e, &want);
    if (count == 0) /* a looser step may find it */
        PROMISE(r->fault != EDIT_EMPTY && r->fault != EDIT_NONE);
    else if (count > 1 && !everywhere)
        PROMISE(r->fault == EDIT_MANY && r->count == count);
    else if (str_eq(text, buf_str(&want)))
        PROMISE(r->fault == EDIT_NO_CHANGE);
    else
        PROMISE(r->fault == EDIT_FINE && r->count == count && str_eq(out, buf_str(&want)));
}

static void try_edits(struct str text, const struct edit *edits, size_t n, bool everywhere)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct edit_report r = edit_apply(text, edits, n, everywhere, &out);
    PROMISE(r.fault == EDIT_FINE || out.n == 0);
    PROMISE(r.fault != EDIT_FINE || !str_eq(text, buf_str(&out)));
    if (n == 1)
        check_one(text, edits, everywhere, &r, buf_str(&out));
}

static void try_shape(struct str text)
{
    AUTO(buf) struct buf off = BUF_INIT, on = BUF_INIT;
    struct shape s = shape_of(text);
    shape_off(s, text, &off);
    shape_on(s, buf_str(&off), &on);
    PROMISE(str_eq(text, buf_str(&on)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n((const char *)data, n), text = fuzz_part(&rest);
    struct edit edits[MAX_EDITS];
    size_t n_edits = 0;
    try_shape(str_n((const char *)data, n));
    while (rest.n && n_edits < MAX_EDITS) {
        edits[n_edits].old_text = fuzz_part(&rest);
        edits[n_edits++].new_text = fuzz_part(&rest);
    }
    for (size_t i = 0; i <= n_edits; i++) {
        try_edits(text, edits, i, false);
        try_edits(text, edits, i, true);
    }
    return 0;
}
