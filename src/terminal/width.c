/* SPDX-License-Identifier: MIT */
#include "terminal/width.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "terminal/width_table.h"

static bool is_in(const struct width_range *ranges, size_t n, uint32_t c)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (c > ranges[mid].last)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && c >= ranges[low].first;
}

int width_of(uint32_t c)
{
    if (c < 0x300)
        return 1;
    if (is_in(zero_ranges, ARRAY_LEN(zero_ranges), c))
        return 0;
    return is_in(wide_ranges, ARRAY_LEN(wide_ranges), c) ? 2 : 1;
}

enum { JOINER = 0x200d, EMOJI_FORM = 0xfe0f };

static bool is_flag_letter(uint32_t c)
{
    return c >= 0x1f1e6 && c <= 0x1f1ff;
}

static bool is_skin(uint32_t c)
{
    return c >= 0x1f3fb && c <= 0x1f3ff;
}

struct cluster cluster_first(struct str s)
{
    uint32_t c, next;
    struct cluster k = {.n = utf8_get(s, &c)};
    if (!k.n)
        return (struct cluster){.n = s.n ? 1 : 0, .width = s.n ? 1 : 0, .most = s.n ? 1 : 0};
    k.width = k.most = width_of(c);
    bool is_flag = is_flag_letter(c), is_joined = false;
    for (size_t n; (n = utf8_get(str_from(s, k.n), &next)) > 0; k.n += n) {
        bool is_pair = is_flag && is_flag_letter(next);
        if (!is_joined && !is_pair && !is_skin(next) && width_of(next) != 0)
            break;
        if (is_pair || is_skin(next) || next == EMOJI_FORM || next == JOINER) {
            k.is_doubtful = true;
            k.width = 2;
        }
        k.most += width_of(next);
        is_flag = false;
        is_joined = next == JOINER;
    }
    k.most = MAX(k.most, k.width);
    return k;
}

size_t cluster_last(struct str s)
{
    size_t last = 0;
    while (s.n) {
        last = cluster_first(s).n;
        s = str_from(s, last);
    }
    return last;
}

int width_text(struct str s)
{
    int sum = 0;
    while (s.n) {
        struct cluster k = cluster_first(s);
        sum += k.width;
        s = str_from(s, k.n);
    }
    return sum;
}

struct str width_cut(struct str s, int columns)
{
    size_t n = 0;
    while (n < s.n) {
        struct cluster k = cluster_first(str_from(s, n));
        if (k.width > columns)
            break;
        columns -= k.width;
        n += k.n;
    }
    return str_cut(s, n);
}
