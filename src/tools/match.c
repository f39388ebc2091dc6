/* SPDX-License-Identifier: MIT */
#include "tools/match.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"

enum { MAX_ALTS = 256, MAX_GROUPS = 64 };

/* The end of the class that begins behind '[', at its ']'; SIZE_MAX when it is not closed. */
static size_t class_end(struct str pat, size_t at)
{
    size_t i = at;
    if (i < pat.n && (pat.p[i] == '!' || pat.p[i] == '^'))
        i++;
    for (size_t first = i; i < pat.n; i++) {
        if (pat.p[i] == '\\' && i + 1 < pat.n)
            i++;
        else if (pat.p[i] == ']' && i > first)
            return i;
    }
    return SIZE_MAX;
}

static unsigned char class_char(struct str pat, size_t *at)
{
    if (pat.p[*at] == '\\' && *at + 1 < pat.n)
        ++*at;
    return (unsigned char)pat.p[(*at)++];
}

/* Whether c is in the class pat[at..end), the part between the brackets. */
static bool class_has(struct str pat, size_t at, size_t end, unsigned char c)
{
    bool is_negated = pat.p[at] == '!' || pat.p[at] == '^', found = false;
    at += is_negated;
    while (at < end) {
        unsigned char low = class_char(pat, &at), high = low;
        if (at + 1 < end && pat.p[at] == '-') {
            at++;
            high = class_char(pat, &at);
        }
        found |= low <= c && c <= high;
    }
    return found != is_negated && c != '/';
}

static size_t char_length(struct str text, size_t at)
{
    size_t n = 1;
    while (at + n < text.n && ((unsigned char)text.p[at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Matches one element of the pattern that is no star; moves both positions. */
static bool match_one(struct str pat, size_t *p, struct str text, size_t *t)
{
    if (*p == pat.n || *t == text.n)
        return false;
    char c = pat.p[*p];
    if (c == '?') {
        if (text.p[*t] == '/')
            return false;
        *t += char_length(text, *t);
        ++*p;
        return true;
    }
    size_t end = c == '[' ? class_end(pat, *p + 1) : SIZE_MAX;
    if (end != SIZE_MAX) {
        if (!class_has(pat, *p + 1, end, (unsigned char)text.p[*t]))
            return false;
        *p = end + 1;
        ++*t;
        return true;
    }
    size_t skip = c == '\\' && *p + 1 < pat.n;
    if (pat.p[*p + skip] != text.p[*t])
        return false;
    *p += skip + 1;
    ++*t;
    return true;
}

static bool is_deep_star(struct str pat, size_t p)
{
    return p + 1 < pat.n && pat.p[p] == '*' && pat.p[p + 1] == '*' &&
           (p == 0 || pat.p[p - 1] == '/') && (p + 2 == pat.n || pat.p[p + 2] == '/');
}

struct retry {
    size_t p, t; /* p == SIZE_MAX: there is nothing to try again */
};

/* Goes back to the last star, else to the last double star. */
static bool match_again(struct retry *star, struct retry *deep, struct str text, size_t *p,
                        size_t *t)
{
    if (star->p != SIZE_MAX && star->t < text.n && text.p[star->t] != '/') {
        star->t++;
        *p = star->p;
        *t = star->t;
        return true;
    }
    star->p = SIZE_MAX;
    if (deep->p == SIZE_MAX)
        return false;
    size_t slash = str_chr(str_from(text, deep->t), '/');
    if (slash == SIZE_MAX)
        return false;
    deep->t += slash + 1;
    *p = deep->p;
    *t = deep->t;
    return true;
}

bool match_path(struct str pat, struct str text)
{
    struct retry star = {SIZE_MAX, 0}, deep = {SIZE_MAX, 0};
    size_t p = 0, t = 0;
    for (;;) {
        if (is_deep_star(pat, p)) {
            if (p + 2 == pat.n)
                return t < text.n;
            p += 3;
            deep = (struct retry){p, t};
            star.p = SIZE_MAX;
        } else if (p < pat.n && pat.p[p] == '*') {
            while (p < pat.n && pat.p[p] == '*')
                p++;
            star = (struct retry){p, t};
        } else if (p == pat.n && t == text.n) {
            return true;
        } else if (!match_one(pat, &p, text, &t) && !match_again(&star, &deep, text, &p, &t)) {
            return false;
        }
    }
}

bool match_is_literal(struct str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (strchr("*?[\\{", pattern.p[i]) && pattern.p[i])
            return false;
    return true;
}

static bool is_special(char c)
{
    return c && strchr("*?[]\\", c);
}

static void add_alt(struct pattern *p, struct str text)
{
    struct alt a = {.text = str_dup(text), .n = text.n};
    while (a.head < a.n && !is_special(a.text[a.head]))
        a.head++;
    while (a.head < a.n && a.tail < a.n - a.head && !is_special(a.text[a.n - 1 - a.tail]) &&
           a.text[a.n - 1 - a.tail] != '/') /* a slash may belong to a double star */
        a.tail++;
    p->alts = xrealloc(p->alts, (p->n + 1) * sizeof *p->alts);
    p->alts[p->n++] = a;
}

static bool alt_match(const struct alt *a, struct str path)
{
    if (path.n < a->head + a->tail || memcmp(path.p, a->text, a->head) != 0 ||
        memcmp(path.p + path.n - a->tail, a->text + a->n - a->tail, a->tail) != 0)
        return false;
    return match_path(str_n(a->text, a->n), path);
}

/* The first brace group of s: where it opens and closes; false when there is none. */
static bool find_group(struct str s, size_t *ret_open, size_t *ret_close)
{
    unsigned depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\') {
            i++;
        } else if (s.p[i] == '{') {
            if (depth++ == 0)
                *ret_open = i;
        } else if (s.p[i] == '}' && depth && --depth == 0) {
            *ret_close = i;
            return true;
        }
    }
    return false;
}

/* The length of the first choice of a group's inside, up to a comma of its own. */
static size_t choice_length(struct str inside)
{
    unsigned depth = 0;
    for (size_t i = 0; i < inside.n; i++) {
        if (inside.p[i] == '\\')
            i++;
        else if (inside.p[i] == '{')
            depth++;
        else if (inside.p[i] == '}')
            depth--;
        else if (inside.p[i] == ',' && depth == 0)
            return i;
    }
    return inside.n;
}

/* Writes the first group of s out and goes on with the result.  Groups are counted, because each
 * costs a stack frame and this runs on fibers. */
static bool expand(struct pattern *p, struct str s, unsigned n_groups, struct error *err)
{
    size_t open, close;
    if (p->n >= MAX_ALTS)
        return error_set(err, ERR_LIMIT, "the braces stand for more than %d patterns", MAX_ALTS);
    if (!find_group(s, &open, &close)) {
        add_alt(p, s);
        return true;
    }
    if (n_groups == MAX_GROUPS)
        return error_set(err, ERR_LIMIT, "the pattern has more than %d braces", MAX_GROUPS);
    struct str inside = str_n(s.p + open + 1, close - open - 1);
    for (;;) {
        size_t n = choice_length(inside);
        AUTO(buf) struct buf one = BUF_INIT;
        buf_add(&one, str_cut(s, open));
        buf_add(&one, str_cut(inside, n));
        buf_add(&one, str_from(s, close + 1));
        if (!expand(p, buf_str(&one), n_groups + 1, err))
            return false;
        if (n == inside.n)
            return true;
        inside = str_from(inside, n + 1);
    }
}

bool pattern_init(struct pattern *p, struct str text, struct error *err)
{
    struct pattern made = PATTERN_INIT;
    if (text.n > 4096)
        return error_set(err, ERR_LIMIT, "the pattern is longer than 4096 bytes");
    if (!expand(&made, text, 0, err)) {
        pattern_clear(&made);
        return false;
    }
    *p = made;
    return true;
}

bool pattern_match(const struct pattern *p, struct str path)
{
    for (size_t i = 0; i < p->n; i++)
        if (alt_match(&p->alts[i], path))
            return true;
    return false;
}

bool pattern_may_be_below(const struct pattern *p, struct str dir)
{
    for (size_t i = 0; i < p->n; i++)
        if (memcmp(p->alts[i].text, dir.p, MIN(p->alts[i].head, dir.n)) == 0)
            return true;
    return false;
}

bool pattern_match_filter(const struct pattern *p, struct str path)
{
    for (size_t i = 0; i < p->n; i++) {
        struct str alt = str_n(p->alts[i].text, p->alts[i].n);
        bool has_slash = str_chr(alt, '/') != SIZE_MAX;
        if (str_starts(alt, STR("/")))
            alt = str_from(alt, 1);
        if (match_path(alt, has_slash ? path : path_base(path)))
            return true;
    }
    return false;
}

void pattern_clear(struct pattern *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->alts[i].text);
    free(p->alts);
    *p = PATTERN_INIT;
}
