/* SPDX-License-Identifier: MIT */
#include "engine/repeats.h"

#include "base/mem.h"

#include <string.h>

void repeats_reset(struct repeats *r)
{
    *r = (struct repeats){0};
}

/* Whether the newest calls are REPEATS_NOTED times the same `length` calls. */
static bool is_cycle(const struct repeats *r, unsigned length)
{
    unsigned n = length * REPEATS_NOTED;
    if (r->n < n)
        return false;
    const uint64_t *first = r->calls + r->n - n;
    for (unsigned i = length; i < n; i++)
        if (first[i] != first[i - length])
            return false;
    return true;
}

/* Numbers that differ each time and say nothing: how long it took, which file has the output. */
static uint64_t hash_result(struct str text)
{
    static const char *const before[] = {"\"duration_ms\":", "/output-"};
    uint64_t hash = 0;
    while (text.n) {
        size_t end = text.n;
        for (size_t i = 0; i < ARRAY_LEN(before); i++) {
            size_t at = str_find(text, str_of(before[i]));
            if (at != SIZE_MAX)
                end = MIN(end, at + strlen(before[i]));
        }
        hash = hash * 31 + str_hash(str_cut(text, end));
        text = str_from(text, end);
        while (text.n && text.p[0] >= '0' && text.p[0] <= '9')
            text = str_from(text, 1);
    }
    return hash;
}

unsigned repeats_add(struct repeats *r, struct str name, struct str arguments, struct str result)
{
    uint64_t hash = str_hash(name) * 31 + str_hash(arguments);
    hash = hash * 31 + hash_result(result);
    r->n_equal = r->n && r->calls[r->n - 1] == hash ? r->n_equal + 1 : 1;
    if (r->n == REPEATS_KEPT)
        memmove(r->calls, r->calls + 1, --r->n * sizeof *r->calls);
    r->calls[r->n++] = hash;
    for (unsigned length = 1; length <= REPEATS_CYCLE; length++)
        if (is_cycle(r, length))
            return length;
    return 0;
}

void repeats_put(const struct repeats *r, unsigned cycle, struct buf *out)
{
    if (cycle == 1)
        buf_addf(out,
                 "[This call was made %u times in a row with the same result. Another time will "
                 "give the same; try something else, or end with what is known.]",
                 r->n_equal);
    else
        buf_addf(out,
                 "[The same %u calls were made %d times in a row with the same results. Try "
                 "something else, or end with what is known.]",
                 cycle, REPEATS_NOTED);
}
