/* SPDX-License-Identifier: MIT */
/* Unified diffs of two texts, separated by a line of "%%": applied to the one, the diff gives the
 * other; a diff that is cut ends with a whole line.
 */
#include "fuzz.h"
#include "tools/diff.h"

#define NO_END STR("\\ No newline at end of file\n")

struct patcher {
    struct str before, diff;
    size_t n_lines; /* of before, already copied or left out */
    struct buf after;
};

static struct str next_line(struct str *rest)
{
    size_t at = str_chr(*rest, '\n');
    struct str line = at == SIZE_MAX ? *rest : str_cut(*rest, at + 1);
    *rest = str_from(*rest, line.n);
    return line;
}

static void copy_to(struct patcher *p, size_t n_lines)
{
    PROMISE(p->n_lines <= n_lines);
    for (; p->n_lines < n_lines; p->n_lines++)
        buf_add(&p->after, next_line(&p->before));
}

static void take_line(struct patcher *p, struct str line)
{
    struct str text = str_from(line, 1);
    if (str_starts(p->diff, NO_END)) {
        p->diff = str_from(p->diff, NO_END.n);
        text.n--;
    }
    if (line.p[0] != '+') {
        PROMISE(str_eq(next_line(&p->before), text));
        p->n_lines++;
    }
    if (line.p[0] != '-')
        buf_add(&p->after, text);
}

static void take_hunk(struct patcher *p)
{
    struct str head = next_line(&p->diff);
    size_t a, n_a, b, n_b;
    AUTO_FREE char *z = str_dup(head);
    PROMISE(sscanf(z, "@@ -%zu,%zu +%zu,%zu @@", &a, &n_a, &b, &n_b) == 4);
    copy_to(p, n_a ? a - 1 : a);
    while (n_a || n_b) {
        struct str line = next_line(&p->diff);
        PROMISE(line.n && strchr(" +-", line.p[0]));
        n_a -= line.p[0] != '+';
        n_b -= line.p[0] != '-';
        take_line(p, line);
    }
}

static void try_diff(struct str before, struct str after, unsigned context, bool is_one_hunk)
{
    struct diff_options o = {.name = STR("x"), .context = context, .is_one_hunk = is_one_hunk};
    AUTO(buf) struct buf diff = BUF_INIT, cut = BUF_MAX(100);
    PROMISE(diff_unified(&o, before, after, &diff));
    PROMISE((diff.n == 0) == str_eq(before, after));
    bool is_whole = diff_unified(&o, before, after, &cut);
    PROMISE(is_whole == (diff.n <= 100) && str_starts(buf_str(&diff), buf_str(&cut)));
    PROMISE(cut.n == 0 || str_ends(buf_str(&cut), STR("\n")));
    if (diff.n == 0)
        return;
    struct patcher p = {.before = before, .diff = buf_str(&diff)};
    PROMISE(str_is(next_line(&p.diff), "--- x\n") && str_is(next_line(&p.diff), "+++ x\n"));
    while (p.diff.n)
        take_hunk(&p);
    buf_add(&p.after, p.before);
    PROMISE(str_eq(buf_str(&p.after), after));
    buf_clear(&p.after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n((const char *)data, n), before = fuzz_part(&rest);
    try_diff(before, rest, 3, false);
    try_diff(before, rest, 0, false);
    try_diff(before, rest, 3, true);
    return 0;
}
