/* SPDX-License-Identifier: MIT */
/* A text is looked for at 16 places at once by two of its bytes, those that are rarest in sources,
 * and more closely where both stand.  A run is looked for in steps of its own length: where the
 * last byte of a window is none of the set, no run can lie in it.
 */
#include "tools/literal.h"

#include "base/mem.h"

/* ---- a text ---- */

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

static size_t find_text(const struct literal *l, struct str text, size_t from)
{
    size_t at = from, place;
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

/* ---- a run ---- */

static bool is_in_set(const struct literal *l, char c)
{
    return l->set[(unsigned char)c / 8] >> ((unsigned char)c % 8) & 1;
}

static size_t find_run(const struct literal *l, struct str text, size_t from)
{
    size_t last = from + l->n - 1; /* of the window */
    while (last < text.n) {
        size_t n = 0;
        while (n < l->n && is_in_set(l, text.p[last - n]))
            n++;
        if (n == l->n)
            return last + 1 - n;
        last += l->n - n;
    }
    return SIZE_MAX;
}

size_t literal_find(const struct literal *l, struct str text, size_t from)
{
    if (text.n < l->n || from > text.n - l->n)
        return SIZE_MAX;
    return l->is_run ? find_run(l, text, from) : find_text(l, text, from);
}
