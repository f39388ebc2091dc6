/* SPDX-License-Identifier: MIT */
#include "engine/text_loop.h"

#include "base/mem.h"

#include <string.h>

enum {
    PASSAGE_MIN = 50,
    PASSAGE_MAX = 2000,
    TIMES = 10,
    TIMES_CODE = 40,
    TAIL = PASSAGE_MAX * TIMES,
    CHECK_EVERY = 250, /* bytes */
    TRIES = 40,        /* earlier places of the newest bytes that are looked at */
    LETTERS = 8,       /* different ones that a passage has at least */
};

void text_loop_clear(struct text_loop *l)
{
    buf_clear(&l->tail);
    *l = (struct text_loop){0};
}

static void note_code(struct text_loop *l, struct str piece)
{
    for (size_t i = 0; i < piece.n; i++) {
        l->ticks = piece.p[i] == '`' ? l->ticks + 1 : 0;
        l->is_code ^= l->ticks == 3;
    }
}

static bool has_words(struct str passage)
{
    uint32_t seen = 0;
    bool has_gap = false;
    for (size_t i = 0; i < passage.n; i++) {
        unsigned char c = (unsigned char)passage.p[i];
        has_gap |= c <= ' ' || c >= 0x80;
        bool is_letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (is_letter || c >= 0x80)
            seen |= 1u << (c & 31);
    }
    return has_gap && __builtin_popcount(seen) >= LETTERS;
}

/* Whether the text ends with so many times its last `period` bytes. */
static bool repeats(struct str text, size_t period, size_t times)
{
    size_t n = period * (times - 1);
    return n + period <= text.n &&
           memcmp(text.p + text.n - n, text.p + text.n - n - period, n) == 0 &&
           has_words(str_from(text, text.n - period));
}

/* The distance of the newest bytes to where they stood before, from near to far. */
static bool is_loop(const struct text_loop *l, size_t *ret_surplus)
{
    struct str text = buf_str(&l->tail);
    size_t times = l->is_code ? TIMES_CODE : TIMES, tries = 0;
    struct str newest = str_from(text, text.n - PASSAGE_MIN);
    for (size_t d = 1; d <= MIN(text.n - PASSAGE_MIN, (size_t)PASSAGE_MAX); d++) {
        const char *at = newest.p - d;
        if (at[PASSAGE_MIN - 1] != newest.p[PASSAGE_MIN - 1] ||
            memcmp(at, newest.p, PASSAGE_MIN) != 0)
            continue;
        size_t period = (PASSAGE_MIN + d - 1) / d * d;
        if (repeats(text, period, times)) {
            *ret_surplus = period * (times - 1);
            return true;
        }
        if (++tries == TRIES)
            break;
    }
    return false;
}

bool text_loop_add(struct text_loop *l, struct str piece)
{
    note_code(l, piece);
    buf_add(&l->tail, piece.n > TAIL ? str_from(piece, piece.n - TAIL) : piece);
    if (l->tail.n > 2 * TAIL)
        buf_drop(&l->tail, l->tail.n - TAIL);
    l->unchecked += piece.n;
    if (l->unchecked < CHECK_EVERY || l->tail.n < PASSAGE_MIN * TIMES)
        return false;
    l->unchecked = 0;
    return is_loop(l, &l->surplus);
}
