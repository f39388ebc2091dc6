/* SPDX-License-Identifier: MIT */
/* Random files, random edits of them, the patch that says so, and what comes of it.
 *
 * A round makes a handful of files, decides what happens to each (update, move, add, delete),
 * writes the patch from the line diffs, with as much context, locators and end marks as chance and
 * the need to be unambiguous ask for, and applies it.  First with a hunk in it that fails:
 * everything must stay.  Then without: every file must hold what was expected.  Seeds are fixed.
 */
#include "patch_scene.h"

enum { ROUNDS = 3000, MAX_LINES = 40, MAX_FILES = 4 };

static unsigned seed;

static unsigned below(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

/* One line of a diff. */
struct op {
    char sign;
    char text[40];
};

struct script {
    struct op ops[4 * MAX_LINES];
    size_t n;
};

/* Few different lines, so that many places look alike; or all different. */
static void make_line(char *out, bool is_unique)
{
    static const char *const odd[] = {"",
                                      " ",
                                      "}",
                                      "\t}",
                                      "*** End Patch",
                                      "@@",
                                      "-",
                                      "+x",
                                      "a\r",
                                      "\xe2\x80\x9cq\xe2\x80\x9d",
                                      "\"q\"",
                                      "x \xe2\x80\x93 y",
                                      "\xff\xfe",
                                      "z\xef\xbb\xbf"};
    static unsigned serial;
    if (is_unique)
        snprintf(out, 40, "    line %u - \"it's\"", serial++);
    else if (below(4) == 0)
        strcpy(out, odd[below(ARRAY_LEN(odd))]);
    else
        snprintf(out, 40, "%*sl%u", (int)below(3), "", below(6));
}

static void make_script(struct script *s, bool is_unique)
{
    size_t n_lines = below(8) == 0 ? below(3) : below(MAX_LINES);
    unsigned calm = 1 + below(12);
    *s = (struct script){0};
    for (size_t i = 0; i < n_lines || (i == n_lines && below(4) == 0); i++) {
        struct op *op = &s->ops[s->n++];
        op->sign = below(calm) ? ' ' : "-+"[below(2)];
        if (i == n_lines)
            op->sign = '+';
        make_line(op->text, is_unique);
    }
}

static void put_side(const struct script *s, char not_sign, struct buf *out)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->ops[i].sign != not_sign)
            buf_addf(out, "%s\n", s->ops[i].text);
}

/* The old lines as an array, and for each op which old line it is. */
struct sides {
    const char *old[4 * MAX_LINES];
    size_t n, index[4 * MAX_LINES + 1];
};

static void find_sides(const struct script *s, struct sides *d)
{
    d->n = 0;
    for (size_t i = 0; i < s->n; i++) {
        d->index[i] = d->n;
        if (s->ops[i].sign != '+')
            d->old[d->n++] = s->ops[i].text;
    }
    d->index[s->n] = d->n;
}

/* Where `n` lines that stand at `at` are found first when one looks from `pos`. */
static size_t found_at(const struct sides *d, size_t at, size_t n, size_t pos)
{
    for (size_t i = pos; i < at; i++) {
        size_t k = 0;
        while (k < n && !strcmp(d->old[i + k], d->old[at + k]))
            k++;
        if (k == n)
            return i;
    }
    return at;
}

struct chunk {
    size_t from, to; /* ops */
    size_t locator;  /* old line, SIZE_MAX: none */
    bool is_at_end;
};

static bool is_blank(const char *line)
{
    return str_is_blank(str_of(line));
}

/* Whether the chunk is found where it is meant when the search begins at pos. */
static bool is_right(const struct sides *d, const struct chunk *c, size_t pos)
{
    size_t at = d->index[c->from], n = d->index[c->to] - at;
    if (n == 0)
        return at == d->n; /* goes to the end in any case */
    if (c->locator != SIZE_MAX) {
        if (found_at(d, c->locator, 1, pos) != c->locator || is_blank(d->old[c->locator]))
            return false;
        pos = c->locator + 1;
        if (str_eq(str_trim(str_of(d->old[at])), str_trim(str_of(d->old[c->locator]))))
            pos--;
    }
    if (at < pos)
        return false;
    return (c->is_at_end && at + n == d->n) || found_at(d, at, n, pos) == at;
}

/* Widens the chunk until it is right: a locator, the end mark, more context.  At its widest it
 * begins where the last one ended, and is right. */
static void settle(const struct sides *d, struct chunk *c, size_t low, size_t high, size_t pos)
{
    for (;;) {
        size_t at = d->index[c->from];
        c->locator = SIZE_MAX;
        c->is_at_end = d->index[c->to] == d->n && at < d->n && below(2);
        if (at > pos && below(2))
            c->locator = pos + below((unsigned)(at - pos));
        else if (at < d->n && d->index[c->to] > at && below(4) == 0)
            c->locator = at;
        if (is_right(d, c, pos))
            return;
        c->locator = SIZE_MAX;
        if (is_right(d, c, pos))
            return;
        bool can_grow_up = c->from > low, can_grow_down = c->to < high;
        assert_true(can_grow_up || can_grow_down);
        if (can_grow_up && (!can_grow_down || below(2)))
            c->from--;
        else
            c->to++;
    }
}

static bool is_change(const struct script *s, size_t i)
{
    return i < s->n && s->ops[i].sign != ' ';
}

/* Old lines as a careless writer gives them; new ones must be exact. */
static void put_op(const struct op *op, bool is_careless, struct buf *out)
{
    struct str text = str_of(op->text);
    buf_addc(out, op->sign);
    if (is_careless && op->sign != '+') {
        unsigned how = below(4);
        text = how == 1 || how == 2 ? str_trim(text) : text;
        buf_addf(out, "%.*s%s", STR_FMT(text), how == 3 ? " \t" : "");
    } else {
        buf_add(out, text);
    }
    buf_addc(out, '\n');
}

static void put_chunk(const struct script *s, const struct sides *d, const struct chunk *c,
                      bool is_first, bool is_careless, struct buf *out)
{
    if (c->locator != SIZE_MAX)
        buf_addf(out, "@@ %s\n", d->old[c->locator]);
    else if (!is_first || below(2) || is_blank(s->ops[c->from].text))
        buf_addz(out, "@@\n");
    for (size_t i = c->from; i < c->to; i++)
        put_op(&s->ops[i], is_careless, out);
    if (c->is_at_end)
        buf_addz(out, "*** End of File\n");
}

/* The chunks of the script; false when nothing changes. */
static bool put_chunks(const struct script *s, bool is_careless, struct buf *out)
{
    struct sides d;
    size_t done = 0, pos = 0; /* op behind the last chunk; old line to search from */
    bool is_first = true;
    find_sides(s, &d);
    for (size_t i = 0; i < s->n; i++) {
        if (!is_change(s, i))
            continue;
        size_t context = below(4), end = i;
        while (is_change(s, end) || (end < s->n && is_change(s, end + 1) && below(2)))
            end++;
        struct chunk c = {.from = i, .to = end, .locator = SIZE_MAX};
        for (size_t k = 0; k < context && c.from > done; k++)
            c.from--;
        for (size_t k = 0; k < context && c.to < s->n && !is_change(s, c.to); k++)
            c.to++;
        settle(&d, &c, done, s->n, pos);
        put_chunk(s, &d, &c, is_first, is_careless, out);
        is_first = false;
        done = c.to;
        if (d.index[c.to] > d.index[c.from])
            pos = d.index[c.to];
        i = c.to - 1;
    }
    return !is_first;
}

/* A file of the round. */
struct file {
    char name[32], now[32]; /* before and after; now is empty when it is deleted */
    struct buf want;
};

struct round {
    struct scene *scene;
    struct file files[MAX_FILES];
    size_t n;
    struct buf hunks[MAX_FILES];
};

static void make_update(struct round *r, struct file *f, struct buf *hunk)
{
    struct script script;
    bool is_unique = below(3) == 0, is_careless = is_unique && below(2);
    AUTO(buf) struct buf old = BUF_INIT, chunks = BUF_INIT;
    const char *mark = below(5) ? "" : "\xef\xbb\xbf";
    do {
        buf_reset(&chunks);
        make_script(&script, is_unique);
    } while (!put_chunks(&script, is_careless, &chunks));
    buf_addz(&old, mark);
    buf_addz(&f->want, mark);
    put_side(&script, '+', &old);
    put_side(&script, '-', &f->want);
    /* Now and then without a newline at the end, which the update adds. */
    bool ends_bare = old.n > strlen(mark) && below(5) == 0 && old.n > 1 && old.p[old.n - 2] != '\n';
    if (ends_bare)
        buf_cut(&old, old.n - 1);
    scene_put_bytes(r->scene, f->name, buf_str(&old));
    buf_addf(hunk, "*** Update File: %s\n", f->name);
    if (below(4) == 0) {
        snprintf(f->now, sizeof f->now, "moved/%u/%.10s", below(3), f->name);
        buf_addf(hunk, "*** Move to: %s\n", f->now);
    }
    buf_add(hunk, buf_str(&chunks));
}

static void make_file(struct round *r, size_t i)
{
    struct file *f = &r->files[i];
    struct buf *hunk = &r->hunks[i];
    unsigned kind = below(6);
    snprintf(f->name, sizeof f->name, "%sf%zu", below(2) ? "sub/" : "", i);
    strcpy(f->now, f->name);
    if (kind == 0) {
        struct script script;
        make_script(&script, false);
        if (below(2))
            scene_put(r->scene, f->name, "old\n");
        buf_addf(hunk, "*** Add File: %s\n", f->name);
        for (size_t k = 0; k < script.n; k++) {
            buf_addf(hunk, "+%s\n", script.ops[k].text);
            buf_addf(&f->want, "%s\n", script.ops[k].text);
        }
    } else if (kind == 1) {
        scene_put(r->scene, f->name, "gone\n");
        buf_addf(hunk, "*** Delete File: %s\n", f->name);
        f->now[0] = '\0';
    } else {
        make_update(r, f, hunk);
    }
    if (below(2))
        chmod(scene_path(r->scene, f->name), 0600 | below(0200));
}

/* The patch, with a hunk that fails in front of hunk `bad` (n: behind all, n + 1: without). */
static void put_patch(const struct round *r, size_t bad, struct buf *out)
{
    static const char *const hunks[] = {
        "*** Update File: never\n-x\n",
        "*** Delete File: never\n",
        "*** Add File: .\n+x\n",
        "*** Update File: here\n@@ no such line\n-here\n",
        "*** Update File: here\n here\n-no such line\n+x\n",
        "*** Update File: here\n*** Move to: sub\n-here\n+x\n",
        "*** Update File: here\n-here\n*** End of File\n@@\n-here\n",
        "Begin Something\n",
    };
    buf_reset(out);
    buf_addz(out, "*** Begin Patch\n");
    for (size_t i = 0; i <= r->n; i++) {
        if (i == bad)
            buf_addz(out, hunks[below(ARRAY_LEN(hunks))]);
        if (i < r->n)
            buf_add(out, buf_str(&r->hunks[i]));
    }
    buf_addz(out, "*** End Patch\n");
}

static void check_round(const struct round *r, unsigned began, const struct buf *patch)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct file *f = &r->files[i];
        struct error err;
        AUTO(buf) struct buf got = BUF_INIT;
        bool has_moved = strcmp(f->name, f->now) != 0;
        assert_false(has_moved && path_exists(str_of(scene_path(r->scene, f->name))));
        if (!f->now[0])
            continue;
        if (!path_read(&got, str_of(scene_path(r->scene, f->now)), 1 << 20, &err))
            fail_msg("seed %u: %s", began, err.text);
        if (!str_eq(buf_str(&got), buf_str(&f->want)))
            fail_msg("seed %u: %s\n--- want\n%s\n--- got\n%s\n--- patch\n%s", began, f->now,
                     buf_str(&f->want).p, buf_str(&got).p, patch->p);
    }
}

static void run_round(struct scene *s, unsigned number)
{
    struct round r = {.scene = s, .n = 1 + below(MAX_FILES)};
    AUTO(buf) struct buf patch = BUF_INIT;
    scene_put(s, "here", "here\n");
    scene_put(s, "sub/there", "");
    for (size_t i = 0; i < r.n; i++)
        make_file(&r, i);

    AUTO(buf) struct buf before = picture(s, true);
    put_patch(&r, below((unsigned)r.n + 1), &patch);
    if (apply_patch(s, buf_str(&patch)) == PATCH_FINE)
        fail_msg("round %u: a patch that cannot apply was applied:\n%s", number, patch.p);
    AUTO(buf) struct buf after = picture(s, true);
    assert_same_picture(&before, &after);

    put_patch(&r, SIZE_MAX, &patch);
    enum patch_fault_kind kind = apply_patch(s, buf_str(&patch));
    if (kind != PATCH_FINE)
        fail_msg("round %u: fault %d of\n%s\n--- files\n%s", number, (int)kind, patch.p, before.p);
    check_round(&r, number, &patch);
    for (size_t i = 0; i < r.n; i++) {
        buf_clear(&r.files[i].want);
        buf_clear(&r.hunks[i]);
    }
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct scene s = {0};
        char made[] = "/tmp/trivet-test-XXXXXX";
        seed = i + 1;
        assert_non_null(mkdtemp(made));
        assert_non_null(realpath(made, s.dir));
        run_round(&s, i);
        nftw(s.dir, scene_remove, 16, FTW_DEPTH | FTW_PHYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
