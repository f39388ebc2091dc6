/* SPDX-License-Identifier: MIT */
/* The reader of expressions knows the common part of the language and gives up at anything else;
 * it must never claim too much.  A sequence needs each of its pieces, an alternation one of its
 * branches; of what a sequence needs, the rarest is taken.
 */
#include "tools/literal.h"

#include "base/mem.h"

#include <ctype.h>

enum { MAX_NESTING = 20, RUN_MAX = 64 };
/* Seldom enough that few lines have it: a run, and a single byte. */
enum { RUN_MIN_BITS = 7, BYTE_MIN_RARITY = 42 };

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

/* What a class can match, in bytes: a character of several bytes is a run of such. */
struct set {
    bool is_known; /* and has no line end */
    unsigned char bits[SET_BYTES];
};

/* Bytes of sources, the most frequent first; what is not listed is rare. */
static unsigned rarity(unsigned char c)
{
    static const char frequent[] = " etaoinsrlcdu_mpfgh,.();\t*=-/\"bvyxk0w1>2<&ASTECRIzNDLOP";
    const char *p = c ? strchr(frequent, c) : NULL;
    return p ? (unsigned)(p - frequent) : sizeof frequent;
}

/* How often a byte of the set stands in sources, roughly. */
static double share(const struct set *s)
{
    double sum = 0;
    for (unsigned c = 0; c < 128; c++) {
        unsigned rank = rarity((unsigned char)c);
        if (s->bits[c / 8] >> (c % 8) & 1)
            sum += rank < 12 ? 0.05 : rank < 30 ? 0.015 : rank < 55 ? 0.003 : 0.001;
    }
    return MIN(sum, 1.0);
}

/* How seldom a run of n is: in one of 2^bits places. */
static unsigned run_bits(const struct set *s, size_t n)
{
    double often = 1;
    unsigned bits = 0;
    for (size_t i = 0; i < n; i++)
        often *= share(s);
    for (; often < 0.5 && bits < 16; often *= 2)
        bits++;
    return bits;
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
    if (l->is_run)
        return 8 + 3 * l->run_bits;
    if (l->n == 1)
        return rarity(l->bytes[0]) / 2;
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
    if (run->n >= 2 || (run->n == 1 && rarity(run->bytes[0]) >= BYTE_MIN_RARITY)) {
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

/* A class that must match n times in a row. */
static void take_run(const struct set *s, size_t n, struct literals *best)
{
    struct literals one = {.n = 1};
    struct literal *l = &one.v[0];
    l->is_run = true;
    l->n = MIN(n, (size_t)RUN_MAX);
    if (!s->is_known || n == 0 || (l->run_bits = run_bits(s, l->n)) < RUN_MIN_BITS)
        return;
    memcpy(l->set, s->bits, SET_BYTES);
    take_better(best, &one);
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

/* ---- classes ---- */

static void set_add(struct set *s, unsigned from, unsigned to)
{
    for (unsigned c = from; c <= MIN(to, 127u); c++)
        s->bits[c / 8] |= (unsigned char)(1 << (c % 8));
    if (to >= 128)
        memset(s->bits + 128 / 8, 0xff, 128 / 8);
    s->is_known &= from <= to && (from > '\n' || to < '\n');
}

/* \d and \w, which know all alphabets. */
static void set_add_escape(struct set *s, unsigned char c)
{
    s->is_known &= c == 'd' || c == 'w';
    set_add(s, '0', '9');
    set_add(s, 128, 255);
    if (c == 'w') {
        set_add(s, 'a', 'z');
        set_add(s, 'A', 'Z');
        set_add(s, '_', '_');
    }
}

/* Beyond ASCII there are relatives of k and s. */
static void set_fold(struct set *s)
{
    for (unsigned c = 'a'; c <= 'z'; c++)
        if ((s->bits[c / 8] | s->bits[(c - 32) / 8]) >> (c % 8) & 1) {
            set_add(s, c, c);
            set_add(s, c - 32, c - 32);
        }
    set_add(s, 128, 255);
}

/* Of what stands between the brackets.  More than the class has is no harm; what is not understood
 * makes it unknown. */
static struct set set_of_class(struct str in)
{
    struct set s = {.is_known = in.n && in.p[0] != '^'};
    for (size_t i = 0; i < in.n && s.is_known;) {
        unsigned char c = (unsigned char)in.p[i++];
        bool is_escaped = c == '\\' && i < in.n;
        if (is_escaped)
            c = (unsigned char)in.p[i++];
        bool is_range = i + 1 < in.n && in.p[i] == '-';
        if (is_escaped && isalnum(c)) {
            set_add_escape(&s, c);
            s.is_known &= !is_range;
            continue;
        }
        unsigned char to = is_range ? (unsigned char)in.p[i + 1] : c;
        s.is_known &= !is_range || (to != '\\' && to != '[');
        set_add(&s, c, to);
        i += is_range ? 2 : 0;
    }
    return s;
}

/* Behind the opening bracket. */
static void read_class(struct reader *r, struct set *ret)
{
    size_t n = r->pattern.n, start = r->at;
    r->has_more = true;
    r->at += peek(r) == '^';
    for (bool is_first = true; r->at < n; is_first = false) {
        char c = r->pattern.p[r->at++];
        if (c == ']' && !is_first) {
            *ret = set_of_class(str_n(r->pattern.p + start, r->at - 1 - start));
            return;
        }
        if (c == '\\' && (peek(r) == 'Q' || peek(r) == 'E'))
            r->has_given_up = true;
        if (c == '\\')
            r->at++;
        if (c == '[' && (peek(r) == ':' || peek(r) == '.' || peek(r) == '='))
            r->has_given_up = true;
    }
    r->has_given_up = true; /* it is not closed */
}

/* ---- elements ---- */

/* Behind a backslash. */
static void read_escape(struct reader *r, struct run *run, struct set *set, struct literals *best)
{
    unsigned char c = (unsigned char)peek(r);
    if (c && c < 0x80 && !isalnum(c)) {
        add_char(r, run, best);
        return;
    }
    r->has_more = true;
    end_run(r, run, best);
    r->has_given_up |= !c || !strchr("dDwWsShHvVRbBntrfe", c);
    set->is_known = true;
    set_add_escape(set, c);
    r->at++;
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

/* The smaller number of {5}, {2,3}, { 2, }; without one it is 0. */
static size_t least_repeat(const struct reader *r)
{
    size_t i = r->at + 1, n = 0;
    while (r->pattern.p[i] == ' ')
        i++;
    for (; isdigit((unsigned char)r->pattern.p[i]) && n <= RUN_MAX; i++)
        n = n * 10 + (size_t)(r->pattern.p[i] - '0');
    return n;
}

/* What follows an element: how often it must be there.  False: nothing, so once. */
static bool read_quantifier(struct reader *r, size_t *ret_least)
{
    char c = peek(r);
    size_t end;
    *ret_least = c == '*' || c == '?' ? 0 : 1;
    if (c == '{' && is_repeat(r, &end)) {
        *ret_least = least_repeat(r);
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
    size_t least;
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
    if (!read_quantifier(r, &least) || least)
        take_better(best, &inside);
}

/* A character, or something that stands for one. */
static void read_element(struct reader *r, struct run *run, struct literals *best)
{
    char c = peek(r);
    struct set set = {0};
    if (c == '\\') {
        r->at++;
        read_escape(r, run, &set, best);
    } else if (c && strchr("[.^$", c)) {
        r->has_more = true;
        end_run(r, run, best);
        r->at++;
        if (c == '[')
            read_class(r, &set);
    } else {
        add_char(r, run, best);
    }
    size_t before = run->n;
    size_t least;
    if (read_quantifier(r, &least)) {
        if (!least)
            run->n = before ? run->last : 0;
        end_run(r, run, best);
    }
    if (set.is_known && r->any_case)
        set_fold(&set);
    take_run(&set, least, best);
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
