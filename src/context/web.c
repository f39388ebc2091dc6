/* SPDX-License-Identifier: MIT */
/* A line is looked at once per level of nesting, and the end of an emphasis is searched within a
 * short distance only, so that hostile text costs linear time. */
#include "context/web.h"

#include "base/mem.h"
#include "base/utf8.h"

enum { MAX_DEPTH = 12, SEARCH_BYTES = 2000, MAX_COLUMNS = 40 };

/* ---- text ---- */

static const char *entity_of(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
    case '\n':
        return NULL;
    default:
        return c < 0x20 || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

void web_escape(struct buf *out, struct str text)
{
    AUTO(buf) struct buf good = BUF_INIT;
    size_t from = 0;
    if (!utf8_is_valid(text)) {
        utf8_repair(&good, text);
        text = buf_str(&good);
    }
    for (size_t i = 0; i < text.n; i++) {
        const char *entity = text.p[i] == '\r' ? "" : entity_of((unsigned char)text.p[i]);
        if (!entity)
            continue;
        buf_add(out, str_n(text.p + from, i - from));
        buf_addz(out, entity);
        from = i + 1;
    }
    buf_add(out, str_from(text, from));
}

/* ---- inside a line ---- */

static void put_inline(struct buf *out, struct str s, int depth);

static bool is_blank_at(struct str s, size_t at)
{
    return at >= s.n || strchr(" \t\n", s.p[at]);
}

static bool is_letter(struct str s, size_t at)
{
    unsigned char c = at < s.n ? (unsigned char)s.p[at] : ' ';
    return (c | 32) >= 'a' ? (c | 32) <= 'z' || c >= 0x80 : c >= '0' && c <= '9';
}

static size_t run_of(struct str s, size_t at)
{
    size_t n = 0;
    while (at + n < s.n && s.p[at + n] == s.p[at])
        n++;
    return n;
}

static struct str near(struct str s, size_t at)
{
    return str_cut(str_from(s, at), SEARCH_BYTES);
}

/* A code span at `at`; returns its length, 0 when it has no end. */
static size_t put_code(struct buf *out, struct str s, size_t at)
{
    size_t n = run_of(s, at);
    struct str rest = near(s, at + n);
    for (size_t i = 0; i < rest.n; i++) {
        if (rest.p[i] != '`')
            continue;
        size_t end = run_of(rest, i);
        if (end == n) {
            struct str code = str_cut(rest, i);
            bool is_padded = code.n > 2 && code.p[0] == ' ' && code.p[code.n - 1] == ' ';
            buf_addz(out, "<code>");
            web_escape(out, is_padded ? str_n(code.p + 1, code.n - 2) : code);
            buf_addz(out, "</code>");
            return n + i + n;
        }
        i += end - 1;
    }
    return 0;
}

/* **strong**, *em*, _em_, ~~del~~. */
static size_t put_emphasis(struct buf *out, struct str s, size_t at, int depth)
{
    static const char *const tags[] = {"", "em", "strong"};
    char c = s.p[at];
    size_t n = MIN(run_of(s, at), (size_t)2);
    if ((c == '~' && n < 2) || is_blank_at(s, at + n) || (c == '_' && at && is_letter(s, at - 1)))
        return 0;
    struct str rest = near(s, at + n);
    for (size_t i = 1; i + n <= rest.n; i++) {
        if (rest.p[i] != c || is_blank_at(rest, i - 1))
            continue;
        size_t end = run_of(rest, i);
        bool is_inside = c == '_' && is_letter(rest, i + end);
        if (end >= n && !is_inside && !(n == 1 && end == 2)) {
            const char *tag = c == '~' ? "del" : tags[n];
            buf_addf(out, "<%s>", tag);
            put_inline(out, str_cut(rest, i), depth + 1);
            buf_addf(out, "</%s>", tag);
            return n + i + n;
        }
        i += end - 1;
    }
    return 0;
}

static bool is_address(struct str url)
{
    static const struct str schemes[] = {{"http://", 7}, {"https://", 8}, {"mailto:", 7}};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (url.n > schemes[i].n && str_ieq(str_cut(url, schemes[i].n), schemes[i]))
            return true;
    return false;
}

static void put_link(struct buf *out, struct str url)
{
    buf_addz(out, "<a rel=\"noreferrer noopener\" href=\"");
    web_escape(out, url);
    buf_addz(out, "\">");
}

/* [text](address) or ![text](address). */
static size_t put_reference(struct buf *out, struct str s, size_t at, int depth)
{
    size_t begin = at + (s.p[at] == '!');
    if (begin >= s.n || s.p[begin] != '[')
        return 0;
    struct str rest = near(s, begin + 1);
    size_t close = str_find(rest, STR("]("));
    size_t end = close == SIZE_MAX ? SIZE_MAX : str_chr(str_from(rest, close), ')');
    if (end == SIZE_MAX)
        return 0;
    struct str url = str_trim(str_n(rest.p + close + 2, end - 2));
    str_split(url, ' ', &url); /* a title follows */
    if (!is_address(url))
        return 0;
    put_link(out, url);
    if (close)
        put_inline(out, str_cut(rest, close), depth + 1);
    else
        web_escape(out, url);
    buf_addz(out, "</a>");
    return begin - at + 1 + close + end + 1;
}

/* An address that stands in the text. */
static size_t put_address(struct buf *out, struct str s, size_t at)
{
    struct str rest = near(s, at);
    size_t n = 0;
    if ((at && is_letter(s, at - 1)) ||
        (!str_starts(rest, STR("http://")) && !str_starts(rest, STR("https://"))))
        return 0;
    while (n < rest.n && !strchr(" \t\n<>\"`|", rest.p[n]))
        n++;
    while (n && strchr(".,;:!?)]}*_'", rest.p[n - 1]))
        n--;
    if (!is_address(str_cut(rest, n)))
        return 0;
    put_link(out, str_cut(rest, n));
    web_escape(out, str_cut(rest, n));
    buf_addz(out, "</a>");
    return n;
}

static size_t put_special(struct buf *out, struct str s, size_t at, int depth)
{
    switch (s.p[at]) {
    case '`':
        return put_code(out, s, at);
    case '*':
    case '_':
    case '~':
        return depth < MAX_DEPTH ? put_emphasis(out, s, at, depth) : 0;
    case '!':
    case '[':
        return depth < MAX_DEPTH ? put_reference(out, s, at, depth) : 0;
    case 'h':
        return put_address(out, s, at);
    case '\v': /* a line break, see put_paragraph */
        buf_addz(out, "<br>\n");
        return 1;
    case '\\':
        if (at + 1 >= s.n || !strchr("\\`*_{}[]()#+-.!|<>~", s.p[at + 1]))
            return 0;
        web_escape(out, str_n(s.p + at + 1, 1));
        return 2;
    default:
        return 0;
    }
}

static void put_inline(struct buf *out, struct str s, int depth)
{
    size_t from = 0;
    for (size_t i = 0; i < s.n;) {
        size_t before = out->n, n = 0;
        if (strchr("`*_~![h\\\v", s.p[i])) {
            web_escape(out, str_n(s.p + from, i - from));
            before = out->n;
            n = put_special(out, s, i, depth);
            from = i + n;
            if (!n)
                buf_cut(out, before);
        }
        size_t step = n ? n : strchr("*_~`", s.p[i]) ? run_of(s, i) : 1;
        i += step;
    }
    web_escape(out, str_from(s, from));
}

/* ---- lines ---- */

struct lines {
    struct str *v;
    size_t n;
};

static void put_blocks(struct buf *out, struct lines l, int depth, bool is_tight);

static struct lines split(struct str text)
{
    struct lines l = {0};
    size_t capacity = 0;
    for (struct str line; str_line(&text, &line);) {
        GROW(l.v, l.n, capacity);
        l.v[l.n++] = str_ends(line, STR("\r")) ? str_cut(line, line.n - 1) : line;
    }
    return l;
}

static size_t indent_of(struct str line)
{
    size_t n = 0;
    while (n < line.n && line.p[n] == ' ')
        n++;
    return n;
}

/* Three or more of ` or ~; 0 otherwise. */
static size_t fence_of(struct str line)
{
    size_t at = indent_of(line);
    if (at > 3 || at == line.n || !strchr("`~", line.p[at]))
        return 0;
    size_t n = run_of(line, at);
    return n >= 3 && str_chr(str_from(line, at + n), '`') == SIZE_MAX ? n : 0;
}

static size_t heading_of(struct str line)
{
    size_t n = line.n && line.p[0] == '#' ? run_of(line, 0) : 0;
    return n <= 6 && n < line.n && line.p[n] == ' ' ? n : 0;
}

static bool is_rule(struct str line)
{
    struct str s = str_trim(line);
    size_t n = 0;
    if (!s.n || !strchr("-*_", s.p[0]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == s.p[0])
            n++;
        else if (s.p[i] != ' ')
            return false;
    return n >= 3;
}

/* The width of a list marker with its blanks, 0: none.  *ret_number: -1 for a bullet. */
static size_t marker_of(struct str line, int64_t *ret_number)
{
    size_t at = indent_of(line), begin = at;
    *ret_number = -1;
    if (at < line.n && strchr("-*+", line.p[at]) && !is_rule(line)) {
        at++;
    } else {
        while (at < line.n && at - begin < 9 && line.p[at] >= '0' && line.p[at] <= '9')
            at++;
        if (at == begin || at >= line.n || !strchr(".)", line.p[at]) ||
            !str_int(str_n(line.p + begin, at - begin), ret_number))
            return 0;
        at++;
    }
    if (at < line.n && line.p[at] != ' ')
        return 0;
    while (at < line.n && line.p[at] == ' ')
        at++;
    return at;
}

static bool is_delimiter_row(struct str line)
{
    struct str s = str_trim(line);
    bool has_dash = false, has_bar = false;
    for (size_t i = 0; i < s.n; i++) {
        has_dash |= s.p[i] == '-';
        has_bar |= s.p[i] == '|';
        if (!strchr("|-: ", s.p[i]))
            return false;
    }
    return has_dash && has_bar;
}

static bool is_table(struct lines l, size_t at)
{
    return at + 1 < l.n && str_chr(l.v[at], '|') != SIZE_MAX && is_delimiter_row(l.v[at + 1]);
}

static bool is_quote(struct str line)
{
    size_t at = indent_of(line);
    return at < 4 && at < line.n && line.p[at] == '>';
}

static bool begins_block(struct lines l, size_t at)
{
    int64_t number;
    struct str line = l.v[at];
    return str_is_blank(line) || fence_of(line) || heading_of(line) || is_rule(line) ||
           is_quote(line) || marker_of(line, &number) || is_table(l, at);
}

/* ---- blocks: each takes lines from `at` and returns how many ---- */

static size_t put_fence(struct buf *out, struct lines l, size_t at)
{
    size_t indent = indent_of(l.v[at]), n = fence_of(l.v[at]), i = at + 1;
    char c = l.v[at].p[indent];
    buf_addz(out, "<pre><code>");
    for (; i < l.n; i++) {
        size_t in = indent_of(l.v[i]);
        bool is_end = in < l.v[i].n && l.v[i].p[in] == c && fence_of(l.v[i]) >= n &&
                      str_is_blank(str_from(l.v[i], in + run_of(l.v[i], in)));
        if (is_end)
            break;
        web_escape(out, str_from(l.v[i], MIN(in, indent)));
        buf_addc(out, '\n');
    }
    buf_addz(out, "</code></pre>\n");
    return MIN(i + 1, l.n) - at;
}

static size_t put_indented(struct buf *out, struct lines l, size_t at)
{
    size_t i = at;
    buf_addz(out, "<pre><code>");
    for (; i < l.n && (indent_of(l.v[i]) >= 4 || str_is_blank(l.v[i])); i++) {
        bool is_last = str_is_blank(l.v[i]) && (i + 1 == l.n || indent_of(l.v[i + 1]) < 4);
        if (is_last)
            break;
        web_escape(out, str_from(l.v[i], 4));
        buf_addc(out, '\n');
    }
    buf_addz(out, "</code></pre>\n");
    return i - at;
}

static size_t put_heading(struct buf *out, struct str line)
{
    size_t n = heading_of(line);
    int level = (int)MIN(n + 2, (size_t)6); /* the page has h1 and h2 */
    struct str text = str_trim(str_from(line, n));
    while (str_ends(text, STR("#")))
        text = str_cut(text, text.n - 1);
    buf_addf(out, "<h%d>", level);
    put_inline(out, str_trim(text), 0);
    buf_addf(out, "</h%d>\n", level);
    return 1;
}

static size_t put_quote(struct buf *out, struct lines l, size_t at, int depth)
{
    struct lines in = {0};
    size_t i = at;
    while (i < l.n && is_quote(l.v[i]))
        i++;
    in.v = xcalloc(i - at, sizeof *in.v);
    for (; in.n < i - at; in.n++) {
        struct str line = l.v[at + in.n];
        line = str_from(line, indent_of(line) + 1);
        in.v[in.n] = str_starts(line, STR(" ")) ? str_from(line, 1) : line;
    }
    buf_addz(out, "<blockquote>\n");
    put_blocks(out, in, depth + 1, false);
    buf_addz(out, "</blockquote>\n");
    free(in.v);
    return i - at;
}

/* One item: its first line, and what is indented below it. */
static size_t put_item(struct buf *out, struct lines l, size_t at, size_t width, int depth)
{
    struct lines in = {.v = xcalloc(l.n - at, sizeof *in.v)};
    size_t i = at + 1;
    int64_t ignored;
    in.v[in.n++] = str_from(l.v[at], width);
    for (; i < l.n; i++) {
        size_t indent = indent_of(l.v[i]);
        bool is_blank = str_is_blank(l.v[i]);
        bool goes_on = is_blank ? i + 1 < l.n && !str_is_blank(l.v[i + 1]) &&
                                      indent_of(l.v[i + 1]) >= width
                                : indent >= MIN(width, indent_of(l.v[at]) + 2) ||
                                      (!str_is_blank(l.v[i - 1]) && !begins_block(l, i) &&
                                       !marker_of(l.v[i], &ignored));
        if (!goes_on)
            break;
        in.v[in.n++] = str_from(l.v[i], MIN(indent, width));
    }
    buf_addz(out, "<li>");
    put_blocks(out, in, depth + 1, true);
    buf_addz(out, "</li>\n");
    free(in.v);
    return i - at;
}

static size_t put_list(struct buf *out, struct lines l, size_t at, int depth)
{
    int64_t number, first;
    size_t i = at, width = marker_of(l.v[at], &first), indent = indent_of(l.v[at]);
    if (first > 1)
        buf_addf(out, "<ol start=\"%lld\">\n", (long long)first);
    else
        buf_addz(out, first >= 0 ? "<ol>\n" : "<ul>\n");
    while (i < l.n) {
        size_t next = i;
        while (next < l.n && str_is_blank(l.v[next]))
            next++;
        if (next == l.n || !(width = marker_of(l.v[next], &number)) ||
            (number >= 0) != (first >= 0) || indent_of(l.v[next]) > indent + 3)
            break;
        i = next + put_item(out, l, next, width, depth);
    }
    buf_addz(out, first >= 0 ? "</ol>\n" : "</ul>\n");
    return i - at;
}

/* The cells of a row, at most MAX_COLUMNS. */
static size_t split_row(struct str line, struct str cells[MAX_COLUMNS])
{
    size_t n = 0, from = 0;
    line = str_trim(line);
    if (str_starts(line, STR("|")))
        line = str_from(line, 1);
    if (str_ends(line, STR("|")) && !str_ends(line, STR("\\|")))
        line = str_cut(line, line.n - 1);
    for (size_t i = 0; i <= line.n && n < MAX_COLUMNS; i++)
        if (i == line.n || (line.p[i] == '|' && !(i && line.p[i - 1] == '\\'))) {
            cells[n++] = str_trim(str_n(line.p + from, i - from));
            from = i + 1;
        }
    return n;
}

static void put_row(struct buf *out, struct str line, const struct str *aligns, size_t n_aligns,
                    const char *tag)
{
    struct str cells[MAX_COLUMNS];
    size_t n = split_row(line, cells);
    buf_addz(out, "<tr>");
    for (size_t i = 0; i < n; i++) {
        bool is_right = i < n_aligns && str_ends(aligns[i], STR(":"));
        bool is_center = is_right && str_starts(aligns[i], STR(":"));
        buf_addf(out, "<%s%s>", tag,
                 is_center  ? " class=\"mid\""
                 : is_right ? " class=\"num\""
                            : "");
        put_inline(out, cells[i], 0);
        buf_addf(out, "</%s>", tag);
    }
    buf_addz(out, "</tr>\n");
}

static size_t put_table(struct buf *out, struct lines l, size_t at)
{
    struct str aligns[MAX_COLUMNS];
    size_t i = at + 2, n = split_row(l.v[at + 1], aligns);
    buf_addz(out, "<div class=\"wide\"><table>\n<thead>");
    put_row(out, l.v[at], aligns, n, "th");
    buf_addz(out, "</thead>\n");
    for (; i < l.n && str_chr(l.v[i], '|') != SIZE_MAX; i++)
        put_row(out, l.v[i], aligns, n, "td");
    buf_addz(out, "</table></div>\n");
    return i - at;
}

static size_t put_paragraph(struct buf *out, struct lines l, size_t at, bool is_tight)
{
    AUTO(buf) struct buf text = BUF_INIT;
    size_t i = at;
    do {
        bool breaks = str_ends(l.v[i], STR("  ")) || str_ends(l.v[i], STR("\\"));
        struct str line = str_trim(l.v[i]);
        buf_add(&text, breaks && str_ends(line, STR("\\")) ? str_cut(line, line.n - 1) : line);
        i++;
        if (i == l.n || begins_block(l, i))
            break;
        buf_addc(&text, breaks ? '\v' : '\n');
    } while (true);
    buf_addz(out, is_tight ? "" : "<p>");
    put_inline(out, buf_str(&text), 0);
    buf_addz(out, is_tight ? "\n" : "</p>\n");
    return i - at;
}

static void put_blocks(struct buf *out, struct lines l, int depth, bool is_tight)
{
    int64_t number;
    for (size_t i = 0; i < l.n;) {
        struct str line = l.v[i];
        bool nests = depth < MAX_DEPTH;
        if (str_is_blank(line))
            i++;
        else if (fence_of(line))
            i += put_fence(out, l, i);
        else if (indent_of(line) >= 4 && !marker_of(line, &number))
            i += put_indented(out, l, i);
        else if (heading_of(line))
            i += put_heading(out, line);
        else if (is_rule(line))
            i += (buf_addz(out, "<hr>\n"), 1);
        else if (nests && is_quote(line))
            i += put_quote(out, l, i, depth);
        else if (nests && marker_of(line, &number))
            i += put_list(out, l, i, depth);
        else if (is_table(l, i))
            i += put_table(out, l, i);
        else
            i += put_paragraph(out, l, i, is_tight);
    }
}

void web_markdown(struct buf *out, struct str text)
{
    struct lines l = split(text);
    put_blocks(out, l, 0, false);
    free(l.v);
}
