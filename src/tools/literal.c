/* SPDX-License-Identifier: MIT */
/* The reader of expressions knows the common part of the language and gives up at anything else;
 * it must never claim too much.  A sequence needs each of its pieces, an alternation one of its
 * branches; of what a sequence needs, the rarest is taken.
 *
 * The search compares 16 places at once with two bytes of the text, those that are rarest in
 * sources, and looks closer where both stand.
 */
#include "tools/literal.h"

#include "base/mem.h"

#include <ctype.h>

enum { MAX_NESTING = 20 };

/* ---- reading the expression ---- */

struct reader {
    struct str pattern;
    size_t at;
    bool any_case;
    bool has_given_up;
    bool has_more; /* something other than characters that stand for themselves */
    unsigned depth;
};

/* A run of characters that stand for themselves. */
struct run {
    unsigned char bytes[LITERAL_BYTES];
    size_t n;
    size_t last; /* where its last character begins */
};

/* Bytes of sources, the most frequent first; what is not listed is rare. */
static unsigned rarity(unsigned char c)
{
    static const char frequent[] = " etaoinsrlcdu_mpfgh,.();\t*=-/\"bvyxk0w1>2<&ASTECRIzNDLOP";
    const char *p = c ? strchr(frequent, c) : NULL;
    return p ? (unsigned)(p - frequent) : sizeof frequent;
}

static void choose_bytes(struct literal *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (rarity(l->bytes[i]) > rarity(l->bytes[l->rare]))
            l->rare = i;
    l->other = l->rare ? 0 : l->n - 1;
    for (size_t i = 0; i < l->n; i++)
        if (i != l->rare && rarity(l->bytes[i]) > rarity(l->bytes[l->other]))
            l->other = i;
}

static unsigned score(const struct literal *l)
{
    return (unsigned)(8 * MIN(l->n, (size_t)8)) + rarity(l->bytes[l->rare]) +
           rarity(l->bytes[l->other]);
}

/* The worst of them decides, and each costs a search of its own. */
static unsigned score_all(const struct literals *l)
{
    unsigned worst = 0;
    for (size_t i = 0; i < l->n; i++)
        if (i == 0 || score(&l->v[i]) < worst)
            worst = score(&l->v[i]);
    return l->n ? worst + 100 - 12 * (unsigned)l->n : 0;
}

static void take_better(struct literals *best, const struct literals *other)
{
    if (other->n && score_all(other) > score_all(best))
        *best = *other;
}

/* The run is over: what it holds is needed. */
static void end_run(const struct reader *r, struct run *run, struct literals *best)
{
    struct literals one = {.n = 1};
    struct literal *l = &one.v[0];
    if (run->n >= 2) {
        l->n = run->n;
        for (size_t i = 0; i < run->n; i++) {
            bool folds = r->any_case && isalpha(run->bytes[i]);
            l->fold[i] = folds ? 0x20 : 0;
            l->bytes[i] = run->bytes[i] | l->fold[i];
        }
        choose_bytes(l);
        take_better(best, &one);
    }
    run->n = run->last = 0;
}

static char peek(const struct reader *r)
{
    return r->at < r->pattern.n ? r->pattern.p[r->at] : '\0';
}

/* Adds the character at r->at, which may have several bytes. */
static void add_char(struct reader *r, struct run *run, struct literals *best)
{
    size_t n = 1;
    while (r->at + n < r->pattern.n && ((unsigned char)r->pattern.p[r->at + n] & 0xc0) == 0x80)
        n++;
    unsigned char c = (unsigned char)r->pattern.p[r->at];
    /* Beyond ASCII each case has its own bytes, and k and s have relatives there; U+FFFD stands for
     * bytes that are not in the file. */
    bool is_fit = !(r->any_case && (c >= 0x80 || strchr("kKsS", c ? c : 'k'))) &&
                  memcmp(r->pattern.p + r->at, "\xef\xbf\xbd", MIN(n, (size_t)3)) != 0;
    if (!is_fit || run->n + n > LITERAL_BYTES) {
        r->has_more = true;
        end_run(r, run, best);
    }
    if (is_fit) {
        run->last = run->n;
        memcpy(run->bytes + run->n, r->pattern.p + r->at, n);
        run->n += n;
    }
    r->at += n;
}

/* Behind a backslash. */
static void read_escape(struct reader *r, struct run *run, struct literals *best)
{
    unsigned char c = (unsigned char)peek(r);
    if (c && c < 0x80 && !isalnum(c)) {
        add_char(r, run, best);
        return;
    }
    r->has_more = true;
    end_run(r, run, best);
    r->has_given_up |= !c || !strchr("dDwWsShHvVRbBntrfe", c);
    r->at++;
}

/* Behind the opening bracket. */
static void read_class(struct reader *r)
{
    size_t n = r->pattern.n;
    r->has_more = true;
    r->at += peek(r) == '^';
    for (bool is_first = true; r->at < n; is_first = false) {
        char c = r->pattern.p[r->at++];
        if (c == ']' && !is_first)
            return;
        if (c == '\\' && (peek(r) == 'Q' || peek(r) == 'E'))
            r->has_given_up = true;
        if (c == '\\')
            r->at++;
        if (c == '[' && (peek(r) == ':' || peek(r) == '.' || peek(r) == '='))
            r->has_given_up = true;
    }
    r->has_given_up = true; /* it is not closed */
}

/* Whether a brace begins a number of repetitions, and where that ends. */
static bool is_repeat(const struct reader *r, size_t *ret_end)
{
    size_t i = r->at + 1;
    while (i < r->pattern.n && r->pattern.p[i] && strchr("0123456789, ", r->pattern.p[i]))
        i++;
    *ret_end = i + 1;
    return i < r->pattern.n && r->pattern.p[i] == '}' && i > r->at + 1;
}

/* What follows an element: *ret_optional when it need not be there.  False: nothing. */
static bool read_quantifier(struct reader *r, bool *ret_optional)
{
    char c = peek(r);
    size_t end;
    *ret_optional = c == '*' || c == '?';
    if (c == '{' && is_repeat(r, &end)) {
        *ret_optional = true; /* not worth a closer look */
        r->at = end;
    } else if (c == '*' || c == '?' || c == '+') {
        r->at++;
    } else {
        return false;
    }
    r->has_more = true;
    if (peek(r) == '+' || peek(r) == '?') /* greedy or not */
        r->at++;
    return true;
}

static void read_branches(struct reader *r, struct literals *ret);

/* Behind the opening parenthesis. */
static void read_group(struct reader *r, struct literals *best)
{
    struct literals inside = {0};
    bool is_optional;
    r->has_more = true;
    if (peek(r) == '*' || ++r->depth > MAX_NESTING)
        r->has_given_up = true;
    if (peek(r) == '?') {
        r->has_given_up |= r->at + 1 >= r->pattern.n || r->pattern.p[r->at + 1] != ':';
        r->at += 2;
    }
    if (r->has_given_up)
        return;
    read_branches(r, &inside);
    r->has_given_up |= peek(r) != ')';
    r->at++;
    r->depth--;
    if (!read_quantifier(r, &is_optional) || !is_optional)
        take_better(best, &inside);
}

/* A character, or something that stands for one. */
static void read_element(struct reader *r, struct run *run, struct literals *best)
{
    char c = peek(r);
    if (c == '\\') {
        r->at++;
        read_escape(r, run, best);
    } else if (c && strchr("[.^$", c)) {
        r->has_more = true;
        end_run(r, run, best);
        r->at++;
        if (c == '[')
            read_class(r);
    } else {
        add_char(r, run, best);
    }
    size_t before = run->n;
    bool is_optional;
    if (!read_quantifier(r, &is_optional))
        return;
    if (is_optional)
        run->n = before ? run->last : 0;
    end_run(r, run, best);
}

static void read_sequence(struct reader *r, struct literals *ret)
{
    struct run run = {.n = 0};
    while (r->at < r->pattern.n && !r->has_given_up && peek(r) != '|' && peek(r) != ')') {
        if (peek(r) == '(') {
            end_run(r, &run, ret);
            r->at++;
            read_group(r, ret);
        } else {
            read_element(r, &run, ret);
        }
    }
    end_run(r, &run, ret);
}

/* Every branch must need something, or the whole needs nothing. */
static void read_branches(struct reader *r, struct literals *ret)
{
    bool is_known = true;
    for (;;) {
        struct literals one = {0};
        read_sequence(r, &one);
        is_known &= one.n && ret->n + one.n <= LITERAL_MAX;
        for (size_t i = 0; is_known && i < one.n; i++)
            ret->v[ret->n++] = one.v[i];
        if (r->has_given_up || peek(r) != '|' || r->at >= r->pattern.n)
            break;
        r->has_more = true;
        r->at++;
    }
    if (!is_known)
        ret->n = 0;
}

void literals_init(struct literals *l, struct str pattern, bool any_case)
{
    struct reader r = {.pattern = pattern, .any_case = any_case};
    *l = (struct literals){0};
    read_branches(&r, l);
    if (r.has_given_up || r.at < pattern.n)
        *l = (struct literals){0};
    l->is_whole = l->n == 1 && !r.has_more && str_chr(pattern, '\n') == SIZE_MAX;
}

/* ---- finding ---- */

typedef unsigned char block __attribute__((vector_size(16)));

static block block_load(const char *p)
{
    block b;
    memcpy(&b, p, sizeof b);
    return b;
}

static block block_fill(unsigned char c)
{
    return (block){c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c};
}

/* One bit for each byte of the comparison's result. */
static unsigned block_mask(block b)
{
#ifdef __SSE2__
    typedef char chars __attribute__((vector_size(16)));
    return (unsigned)__builtin_ia32_pmovmskb128((chars)b);
#else
    unsigned mask = 0;
    for (unsigned i = 0; i < sizeof b; i++)
        mask |= (b[i] ? 1u : 0u) << i;
    return mask;
#endif
}

static bool block_any(block b)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    words w = (words)b;
    return (w[0] | w[1]) != 0;
}

static bool stands_at(const struct literal *l, const char *p)
{
    for (size_t i = 0; i < l->n; i++)
        if (((unsigned char)p[i] | l->fold[i]) != l->bytes[i])
            return false;
    return true;
}

/* Candidates among 16 places from p on. */
static block candidates(const struct literal *l, const char *p)
{
    block rare = block_load(p + l->rare) | block_fill(l->fold[l->rare]);
    block other = block_load(p + l->other) | block_fill(l->fold[l->other]);
    return (block)((rare == block_fill(l->bytes[l->rare])) &
                   (other == block_fill(l->bytes[l->other])));
}

static size_t find_in(const struct literal *l, const char *text, size_t at, block found)
{
    for (unsigned mask = block_mask(found); mask; mask &= mask - 1) {
        size_t place = at + (unsigned)__builtin_ctz(mask);
        if (stands_at(l, text + place))
            return place;
    }
    return SIZE_MAX;
}

/* 64 places at once, since most of them hold nothing. */
static bool find_far(const struct literal *l, const char *text, size_t *at, size_t end,
                     size_t *ret_place)
{
    for (; *at + 64 <= end; *at += 64) {
        const char *p = text + *at;
        block v[4] = {candidates(l, p), candidates(l, p + 16), candidates(l, p + 32),
                      candidates(l, p + 48)};
        if (!block_any(v[0] | v[1] | v[2] | v[3]))
            continue;
        for (size_t i = 0; i < 4; i++)
            if ((*ret_place = find_in(l, text, *at + 16 * i, v[i])) != SIZE_MAX)
                return true;
    }
    return false;
}

size_t literal_find(const struct literal *l, struct str text, size_t from)
{
    size_t at = from, place;
    if (text.n < l->n || from > text.n - l->n)
        return SIZE_MAX;
    size_t end = text.n - l->n + 1; /* behind the last place where it could stand */
    if (find_far(l, text.p, &at, end, &place))
        return place;
    for (; at + 16 <= end; at += 16)
        if ((place = find_in(l, text.p, at, candidates(l, text.p + at))) != SIZE_MAX)
            return place;
    for (; at < end; at++)
        if (stands_at(l, text.p + at))
            return at;
    return SIZE_MAX;
}
