/* SPDX-License-Identifier: MIT */
#include "toolsets/web_text.h"

#include "base/utf8.h"
#include "tools/exa.h"

enum { PASSAGE_CHARS = 600, TITLE_CHARS = 200 };

/* On one line, whatever it was. */
static void add_line(struct buf *out, struct str s, size_t max_chars)
{
    bool owes_blank = false;
    s = utf8_cut_chars(str_trim(s), max_chars);
    for (size_t i = 0; i < s.n; i++) {
        bool is_space = s.p[i] == ' ' || s.p[i] == '\n' || s.p[i] == '\r' || s.p[i] == '\t';
        if (!is_space && owes_blank)
            buf_addc(out, ' ');
        if (!is_space)
            buf_addc(out, s.p[i]);
        owes_blank = is_space;
    }
}

static void add_result(struct buf *out, const struct exa_result *r, int number)
{
    size_t i, max;
    yyjson_val *item;
    buf_addf(out, "%d. ", number);
    add_line(out, r->title.n ? r->title : r->url, TITLE_CHARS);
    buf_addf(out, "\n   %.*s\n", STR_FMT(r->url));
    if (r->published.n)
        buf_addf(out, "   published %.*s\n", STR_FMT(str_cut(r->published, 10)));
    yyjson_arr_foreach(r->highlights, i, max, item) {
        if (str_is_blank(json_str(item)))
            continue;
        buf_addz(out, "   - ");
        add_line(out, json_str(item), PASSAGE_CHARS);
        buf_addc(out, '\n');
    }
}

void web_text_results(yyjson_val *answer, struct buf *out)
{
    struct exa_result r;
    size_t i, max;
    yyjson_val *item;
    int n = 0;
    yyjson_arr_foreach(json_get(answer, "results"), i, max, item)
        if (exa_result_read(item, &r))
            add_result(out, &r, ++n);
    if (n == 0)
        buf_addz(out, "No results.\n");
}
