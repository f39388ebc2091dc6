/* SPDX-License-Identifier: MIT */
/* Finding the place of a chunk in a text, and putting the new lines there.
 *
 * All searches run over the lines of the text as it was: chunks come in the order of the text, so
 * what one chunk adds is never looked at by the next.  A search tries four comparisons, each over
 * the whole rest of the text, so an exact place further down is better than a similar one nearby.
 *
 * The naive search costs (lines of the text) * (lines of the chunk) in the worst case, which
 * real patches do not reach; LIMIT_PATCH_STEPS ends it.
 */
#include "tools/patch.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/edit_match.h"

enum { STEPS_PER_LOOK = 1 << 16 };

enum level { LEVEL_EXACT, LEVEL_TRIM_END, LEVEL_TRIM, LEVEL_FOLD, N_LEVELS };

/* White space as JavaScript's trim() knows it. */
static bool is_white(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000 || c == 0xfeff;
}

static struct str trim_start(struct str s)
{
    uint32_t c;
    size_t n;
    while ((n = utf8_get(s, &c)) && is_white(c))
        s = str_from(s, n);
    return s;
}

/* Length of the character at the end of s, 0 when it is not valid. */
static size_t get_last(struct str s, uint32_t *ret_c)
{
    for (size_t n = 1; n <= 4 && n <= s.n; n++) {
        struct str last = str_from(s, s.n - n);
        if (((unsigned char)last.p[0] & 0xc0) != 0x80)
            return utf8_get(last, ret_c) == n ? n : 0;
    }
    return 0;
}

static struct str trim_end(struct str s)
{
    uint32_t c;
    size_t n;
    while ((n = get_last(s, &c)) && is_white(c))
        s.n -= n;
    return s;
}

/* The next character, folded; a byte that is no UTF-8 stands for itself. */
static uint32_t take_folded(struct str *s)
{
    uint32_t c;
    size_t n = utf8_get(*s, &c);
    if (n == 0) {
        c = 0x80000000u | (unsigned char)s->p[0];
        n = 1;
    }
    *s = str_from(*s, n);
    return edit_plain_char(c);
}

static bool same_folded(struct str a, struct str b)
{
    while (a.n && b.n)
        if (take_folded(&a) != take_folded(&b))
            return false;
    return a.n == b.n;
}

static bool same(struct str a, struct str b, enum level level)
{
    if (level == LEVEL_EXACT)
        return str_eq(a, b);
    a = trim_end(a);
    b = trim_end(b);
    if (level >= LEVEL_TRIM) {
        a = trim_start(a);
        b = trim_start(b);
    }
    return level == LEVEL_FOLD ? same_folded(a, b) : str_eq(a, b);
}

/* Where the old lines of a chunk stand, or that its new lines go to the end. */
struct chunk_place {
    size_t at, n_old;
    bool is_append;
    bool is_shortened; /* the empty old line at the end was given up */
};

struct placing {
    const struct patch *patch;
    struct str *lines; /* of the text, without their \n */
    size_t n;
    size_t pos;                /* the search goes on here */
    struct chunk_place *place; /* of each chunk */
    struct str *old;           /* old lines of the current chunk */
    size_t n_old;
    size_t n_steps;
    const atomic_bool *stop;
};

static void placing_clear(struct placing *p)
{
    free(p->lines);
    free(p->place);
    free(p->old);
}

static bool split(struct placing *p, struct str text, struct patch_fault *fault)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    if (n > PATCH_FILE_LINES) {
        fault->kind = PATCH_UNREADABLE;
        return error_set(&fault->why, ERR_LIMIT, "it has more than %d lines", PATCH_FILE_LINES);
    }
    p->lines = xcalloc(n + 1, sizeof *p->lines);
    while (str_line(&text, &p->lines[p->n]))
        p->n++;
    return true;
}

static bool is_over(struct placing *p)
{
    if (p->n_steps >= LIMIT_PATCH_STEPS)
        return true;
    if (p->n_steps++ % STEPS_PER_LOOK == 0 && p->stop && atomic_load(p->stop))
        p->n_steps = LIMIT_PATCH_STEPS;
    return p->n_steps >= LIMIT_PATCH_STEPS;
}

static bool stands_at(struct placing *p, const struct str *want, size_t n, size_t at, enum level l)
{
    for (size_t i = 0; i < n; i++)
        if (is_over(p) || !same(p->lines[at + i], want[i], l))
            return false;
    return true;
}

/* Where the wanted lines stand at this level, at or behind from: first, or nearest to a line. */
static size_t seek_level(struct placing *p, const struct str *want, size_t n, size_t from,
                         size_t near, enum level level)
{
    size_t best = SIZE_MAX, best_far = SIZE_MAX;
    for (size_t at = from; at <= p->n - n; at++) {
        size_t far = at + 1 > near ? at + 1 - near : near - at - 1;
        if ((near && far >= best_far) || !stands_at(p, want, n, at, level))
            continue;
        if (!near)
            return at;
        best = at;
        best_far = far;
    }
    return best;
}

/* The first place at or behind from where the wanted lines stand, SIZE_MAX when there is none;
 * with near the one nearest to that line.  With at_end only the last possible place counts. */
static size_t seek(struct placing *p, const struct str *want, size_t n, size_t from, size_t near,
                   bool at_end)
{
    if (n > p->n || from > p->n - n)
        return SIZE_MAX;
    if (at_end)
        from = p->n - n;
    size_t at = SIZE_MAX;
    for (enum level l = LEVEL_EXACT; l < N_LEVELS && at == SIZE_MAX; l++)
        at = seek_level(p, want, n, from, near, l);
    return at;
}

static bool fail(struct placing *p, enum patch_fault_kind kind, const struct patch_chunk *c,
                 struct patch_fault *fault)
{
    fault->kind = p->n_steps >= LIMIT_PATCH_STEPS ? PATCH_TOO_SLOW : kind;
    fault->chunk = c;
    return false;
}

static void take_old_lines(struct placing *p, const struct patch_chunk *c)
{
    p->n_old = 0;
    p->old = xrealloc(p->old, (c->n_lines + 1) * sizeof *p->old);
    for (size_t i = 0; i < c->n_lines; i++)
        if (p->patch->lines[c->line + i].sign != '+')
            p->old[p->n_old++] = p->patch->lines[c->line + i].text;
}

static bool seek_locator(struct placing *p, const struct patch_chunk *c, struct patch_fault *fault)
{
    if (!c->locator.p)
        return true;
    size_t at = seek(p, &c->locator, 1, p->pos, 0, false);
    if (at == SIZE_MAX)
        return fail(p, PATCH_NO_LOCATOR, c, fault);
    bool begins_chunk = p->n_old && same(p->old[0], c->locator, LEVEL_TRIM);
    p->pos = begins_chunk ? at : at + 1;
    return true;
}

static bool place_chunk(struct placing *p, const struct patch_chunk *c, struct chunk_place *ret,
                        struct patch_fault *fault)
{
    take_old_lines(p, c);
    if (!seek_locator(p, c, fault))
        return false;
    *ret = (struct chunk_place){.at = SIZE_MAX};
    if (p->n_old)
        ret->at = seek(p, p->old, p->n_old, p->pos, c->near, c->is_at_end);
    if (p->n_old && ret->at == SIZE_MAX && p->old[p->n_old - 1].n == 0) {
        ret->is_shortened = true;
        p->n_old--;
        ret->at = seek(p, p->old, p->n_old, p->pos, c->near, c->is_at_end);
    }
    ret->n_old = p->n_old;
    ret->is_append = p->n_old == 0;
    if (ret->is_append)
        return true;
    if (ret->at == SIZE_MAX)
        return fail(p, PATCH_NOT_FOUND, c, fault);
    p->pos = ret->at + p->n_old;
    return true;
}

static void put(struct buf *out, struct str line)
{
    buf_add(out, line);
    buf_addc(out, '\n');
}

/* The new line that goes with an old empty one that was given up: the last, if it is empty. */
static size_t find_given_up(const struct patch_line *lines, size_t n)
{
    while (n > 0 && lines[n - 1].sign == '-')
        n--;
    return n > 0 && lines[n - 1].text.n == 0 ? n - 1 : SIZE_MAX;
}

static void put_chunk(const struct placing *p, const struct patch_chunk *c,
                      const struct chunk_place *at, struct buf *out)
{
    const struct patch_line *lines = p->patch->lines + c->line;
    size_t skipped = at->is_shortened ? find_given_up(lines, c->n_lines) : SIZE_MAX;
    size_t old = 0;
    for (size_t i = 0; i < c->n_lines; i++) {
        bool is_kept = lines[i].sign == ' ' && old < at->n_old;
        if (i != skipped && lines[i].sign != '-')
            put(out, is_kept ? p->lines[at->at + old] : lines[i].text);
        old += lines[i].sign != '+';
    }
}

static void put_lines(const struct placing *p, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++)
        put(out, p->lines[i]);
}

/* Chunks that only add come last: they go behind everything, in their order. */
static void put_all(const struct placing *p, const struct patch_hunk *h, struct buf *out)
{
    const struct patch_chunk *chunks = p->patch->chunks + h->chunk;
    size_t done = 0;
    for (size_t i = 0; i < h->n_chunks; i++) {
        const struct chunk_place *at = &p->place[i];
        if (at->is_append)
            continue;
        put_lines(p, done, at->at, out);
        put_chunk(p, &chunks[i], at, out);
        done = at->at + at->n_old;
    }
    put_lines(p, done, p->n, out);
    for (size_t i = 0; i < h->n_chunks; i++)
        if (p->place[i].is_append)
            put_chunk(p, &chunks[i], &p->place[i], out);
}

bool patch_place(const struct patch *p, const struct patch_hunk *h, struct str text,
                 const atomic_bool *stop, struct buf *out, struct patch_fault *fault)
{
    AUTO(placing) struct placing s = {.patch = p, .stop = stop};
    struct str mark = STR("\xef\xbb\xbf");
    bool has_mark = str_starts(text, mark);
    if (!split(&s, has_mark ? str_from(text, mark.n) : text, fault))
        return false;
    s.place = xcalloc(h->n_chunks + 1, sizeof *s.place);
    for (size_t i = 0; i < h->n_chunks; i++)
        if (!place_chunk(&s, &p->chunks[h->chunk + i], &s.place[i], fault))
            return false;
    if (has_mark)
        buf_add(out, mark);
    put_all(&s, h, out);
    return true;
}
