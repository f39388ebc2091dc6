/* SPDX-License-Identifier: MIT */
/* Block mode of loaf's read_file: the lines around an anchor that belong to its indented block.
 *
 * The range grows by one line upward and one line downward in turn, as long as the line is not
 * indented less than the lowest indent allowed.  Lines at exactly the lowest indent are the edges
 * of the block (`if (x) {` and `}`): one on each side is taken, the next one begins a sibling.
 */
#include "toolsets/loaf.h"

#include "base/mem.h"

enum { TAB = 4 };

struct block_search {
    const struct read_lines *lines;
    const struct block_options *o;
    const int64_t *indents;
    int64_t lowest;
    size_t low, high;
    bool is_up_over, is_down_over;
    bool has_upper_edge, has_lower_edge;
};

static int64_t indent_of(struct str line)
{
    int64_t n = 0;
    for (size_t i = 0; i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'); i++)
        n += line.p[i] == '\t' ? TAB : 1;
    return n;
}

/* Blank lines are indented like the line before them. */
static int64_t *find_indents(const struct read_lines *lines)
{
    int64_t *indents = xcalloc(lines->n + 1, sizeof *indents), last = 0;
    for (size_t i = 0; i < lines->n; i++) {
        if (!str_is_blank(lines->lines[i]))
            last = indent_of(lines->lines[i]);
        indents[i] = last;
    }
    return indents;
}

static bool is_comment(struct str line)
{
    line = str_trim(line);
    return str_starts(line, STR("#")) || str_starts(line, STR("//")) || str_starts(line, STR("--"));
}

static void grow_up(struct block_search *b)
{
    if (b->low == 0 || b->indents[b->low - 1] < b->lowest) {
        b->is_up_over = true;
        return;
    }
    bool is_edge = b->indents[b->low - 1] == b->lowest && !b->o->include_siblings;
    bool is_header = b->o->include_header && is_comment(b->lines->lines[b->low - 1]);
    if (is_edge && b->has_upper_edge && !is_header) {
        b->is_up_over = true;
        return;
    }
    b->has_upper_edge |= is_edge;
    b->low--;
}

static void grow_down(struct block_search *b)
{
    if (b->high + 1 >= b->lines->n || b->indents[b->high + 1] < b->lowest) {
        b->is_down_over = true;
        return;
    }
    bool is_edge = b->indents[b->high + 1] == b->lowest && !b->o->include_siblings;
    if (is_edge && b->has_lower_edge) {
        b->is_down_over = true;
        return;
    }
    b->has_lower_edge |= is_edge;
    b->high++;
}

static void trim_blank_edges(struct block_search *b)
{
    while (b->low < b->high && str_is_blank(b->lines->lines[b->low]))
        b->low++;
    while (b->low < b->high && str_is_blank(b->lines->lines[b->high]))
        b->high--;
}

void loaf_block(const struct read_lines *lines, const struct block_options *o, size_t *ret_low,
                size_t *ret_high)
{
    AUTO_FREE int64_t *indents = find_indents(lines);
    struct block_search b = {.lines = lines, .o = o, .indents = indents, .low = o->anchor};
    b.high = o->anchor;
    if (o->max_levels > 0)
        b.lowest = MAX(indents[o->anchor] - TAB * MIN(o->max_levels, 10000), 0);
    while (!(b.is_up_over && b.is_down_over)) {
        if (!b.is_up_over && b.high - b.low + 1 < o->max_lines)
            grow_up(&b);
        if (b.high - b.low + 1 >= o->max_lines)
            break;
        if (!b.is_down_over)
            grow_down(&b);
    }
    trim_blank_edges(&b);
    *ret_low = b.low;
    *ret_high = b.high;
}
