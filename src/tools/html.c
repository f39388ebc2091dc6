/* SPDX-License-Identifier: MIT */
/* A page is read once from front to back; nothing is built but the text.
 *
 *     text        white space collapses to one blank, references are decoded
 *     <tag ...>   looked up in a table: what it does at its start and at its end
 *     <script>    and its like: skipped to the end tag
 *
 * Breaks are owed, not written: a paragraph's end owes an empty line, a row's end a line, and the
 * next visible character pays.  So nested blocks do not add up to holes.  Every loop moves forward,
 * and nothing nests on our stack: the worst page costs its length.
 */
#include "tools/html.h"

#include "base/entity.h"
#include "base/mem.h"
#include "tools/url.h"

enum { MAX_INDENT = 8, MAX_LINK = 2000 };

enum tag_kind {
    TAG_NOTHING,
    TAG_BLOCK, /* stands on lines of its own */
    TAG_PARA,  /* the same, with empty lines around */
    TAG_HEADING,
    TAG_BREAK,
    TAG_LIST,
    TAG_ITEM,
    TAG_CELL,
    TAG_PRE,
    TAG_CODE,
    TAG_LINK,
    TAG_IMAGE,
    TAG_RULE,
    TAG_TITLE,
    TAG_SKIP, /* with everything inside */
};

static const struct tag {
    const char *name;
    enum tag_kind kind;
} tags[] = {
    {"a", TAG_LINK},          {"article", TAG_PARA},     {"aside", TAG_PARA},
    {"blockquote", TAG_PARA}, {"br", TAG_BREAK},         {"code", TAG_CODE},
    {"dd", TAG_BLOCK},        {"div", TAG_BLOCK},        {"dl", TAG_PARA},
    {"dt", TAG_BLOCK},        {"figcaption", TAG_BLOCK}, {"figure", TAG_PARA},
    {"footer", TAG_PARA},     {"form", TAG_PARA},        {"h1", TAG_HEADING},
    {"h2", TAG_HEADING},      {"h3", TAG_HEADING},       {"h4", TAG_HEADING},
    {"h5", TAG_HEADING},      {"h6", TAG_HEADING},       {"header", TAG_PARA},
    {"hr", TAG_RULE},         {"iframe", TAG_SKIP},      {"img", TAG_IMAGE},
    {"li", TAG_ITEM},         {"main", TAG_PARA},        {"nav", TAG_PARA},
    {"noscript", TAG_SKIP},   {"object", TAG_SKIP},      {"ol", TAG_LIST},
    {"option", TAG_BLOCK},    {"p", TAG_PARA},           {"pre", TAG_PRE},
    {"script", TAG_SKIP},     {"section", TAG_PARA},     {"style", TAG_SKIP},
    {"svg", TAG_SKIP},        {"table", TAG_PARA},       {"td", TAG_CELL},
    {"template", TAG_SKIP},   {"textarea", TAG_SKIP},    {"th", TAG_CELL},
    {"title", TAG_TITLE},     {"tr", TAG_BLOCK},         {"ul", TAG_LIST},
};

struct reader {
    struct str html, base;
    size_t at;
    struct buf *out, *title;
    size_t start;    /* of our text in out */
    int owed;        /* line ends before the next character */
    bool owes_blank; /* a blank before it */
    bool in_pre;
    bool owes_fence;  /* the fence of a <pre> is written with its first character */
    int depth;        /* of lists */
    bool is_line_new; /* only an indent, a marker or nothing stands on this line */
    bool has_cell;    /* the row has a cell already */
    struct buf href;  /* of the open link; empty: none */
    size_t link_at;   /* where its bracket stands in out */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* ---- writing ---- */

static void owe(struct reader *r, int lines)
{
    r->owed = MAX(r->owed, lines);
    r->owes_blank = false;
}

static void pay(struct reader *r)
{
    bool is_first = r->out->n == r->start;
    if (r->owed && !is_first) {
        while (r->out->n > r->start && r->out->p[r->out->n - 1] == ' ')
            buf_cut(r->out, r->out->n - 1);
        for (int i = 0; i < r->owed; i++)
            buf_addc(r->out, '\n');
        r->is_line_new = true;
    } else if (r->owes_blank && !is_first && !r->is_line_new) {
        buf_addc(r->out, ' ');
    }
    r->owed = 0;
    r->owes_blank = false;
}

static void put(struct reader *r, struct str s)
{
    pay(r);
    if (r->owes_fence) {
        r->owes_fence = false;
        buf_addz(r->out, "```\n");
    }
    buf_add(r->out, s);
    r->is_line_new = false;
}

/* A marker at the beginning of a line: what follows still begins the line. */
static void put_marker(struct reader *r, const char *marker)
{
    put(r, str_of(marker));
    r->is_line_new = true;
}

/* The length of a character reference, or 1 for what is none. */
static size_t take_entity(struct str s, struct buf *out)
{
    size_t n = html_entity(s, out);
    return n ? n : 1;
}

static void put_text(struct reader *r, struct str text)
{
    AUTO(buf) struct buf entity = BUF_INIT;
    for (size_t i = 0; i < text.n && !r->out->full;) {
        size_t n = 1;
        if (r->in_pre) {
            buf_reset(&entity);
            n = take_entity(str_from(text, i), &entity);
            put(r, entity.n ? buf_str(&entity) : str_n(text.p + i, 1));
        } else if (is_space(text.p[i])) {
            r->owes_blank = true;
        } else if (text.p[i] == '&') {
            buf_reset(&entity);
            n = take_entity(str_from(text, i), &entity);
            if (str_is(buf_str(&entity), " "))
                r->owes_blank = true;
            else
                put(r, entity.n ? buf_str(&entity) : STR("&"));
        } else {
            while (i + n < text.n && !is_space(text.p[i + n]) && text.p[i + n] != '&')
                n++;
            put(r, str_n(text.p + i, n));
        }
        i += n;
    }
}

/* ---- tags ---- */

static const struct tag *find_tag(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (str_ieq(name, str_of(tags[i].name)))
            return &tags[i];
    return NULL;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == ':';
}

/* The end of the tag that begins at `at`, behind its >; quotes hide it. */
static size_t tag_end(struct str html, size_t at)
{
    char quote = 0;
    for (size_t i = at; i < html.n; i++) {
        char c = html.p[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if ((c == '"' || c == '\'') && i > 0 && html.p[i - 1] == '=')
            quote = c;
        else if (c == '>')
            return i + 1;
    }
    return html.n;
}

/* The value of an attribute inside a tag, raw; STR_NONE when it is not there. */
static struct str attribute(struct str tag, const char *name)
{
    size_t i = 0;
    while (i < tag.n) {
        while (i < tag.n && !is_name_char(tag.p[i]))
            i++;
        size_t from = i;
        while (i < tag.n && is_name_char(tag.p[i]))
            i++;
        struct str key = str_n(tag.p + from, i - from), value = STR("");
        while (i < tag.n && is_space(tag.p[i]))
            i++;
        if (i < tag.n && tag.p[i] == '=') {
            i++;
            while (i < tag.n && is_space(tag.p[i]))
                i++;
            char quote = i < tag.n && (tag.p[i] == '"' || tag.p[i] == '\'') ? tag.p[i++] : 0;
            from = i;
            while (i < tag.n &&
                   (quote ? tag.p[i] != quote : !is_space(tag.p[i]) && tag.p[i] != '>'))
                i++;
            value = str_n(tag.p + from, i - from);
            i += quote && i < tag.n;
        }
        if (key.n && str_ieq(key, str_of(name)))
            return value;
    }
    return STR_NONE;
}

static void add_decoded(struct buf *out, struct str raw)
{
    for (size_t i = 0; i < raw.n;) {
        size_t n = html_entity(str_from(raw, i), out);
        if (n == 0)
            buf_addc(out, raw.p[i]);
        i += n ? n : 1;
    }
}

/* ---- links ---- */

static void end_link(struct reader *r)
{
    if (!r->href.n)
        return;
    if (r->out->n == r->link_at + 1) { /* nothing to click on */
        buf_cut(r->out, r->link_at);
    } else if (!r->out->full) {
        bool owes_blank = r->owes_blank;
        int owed = r->owed;
        r->owes_blank = false;
        r->owed = 0;
        buf_addf(r->out, "](%s)", r->href.p);
        r->owes_blank = owes_blank;
        r->owed = owed;
    }
    buf_reset(&r->href);
}

static void start_link(struct reader *r, struct str tag)
{
    AUTO(buf) struct buf raw = BUF_INIT;
    struct str href = attribute(tag, "href");
    end_link(r);
    if (r->in_pre || !href.n || href.n > MAX_LINK || href.p[0] == '#')
        return;
    add_decoded(&raw, href);
    if (!url_join(&r->href, r->base, buf_str(&raw)))
        buf_reset(&r->href);
    if (!r->href.n)
        return;
    pay(r);
    r->link_at = r->out->n;
    if (!buf_addc(r->out, '['))
        buf_reset(&r->href);
    r->is_line_new = r->href.n > 0;
}

/* ---- blocks ---- */

static void end_pre(struct reader *r)
{
    if (!r->in_pre)
        return;
    r->in_pre = false;
    if (!r->owes_fence) {
        while (r->out->n > r->start && is_space(r->out->p[r->out->n - 1]))
            buf_cut(r->out, r->out->n - 1);
        buf_addz(r->out, "\n```");
    }
    r->owes_fence = false;
    owe(r, 2);
}

static void start_pre(struct reader *r)
{
    end_link(r);
    end_pre(r);
    owe(r, 2);
    r->in_pre = r->owes_fence = true;
    if (r->at < r->html.n && r->html.p[r->at] == '\n')
        r->at++; /* the first line end belongs to the tag */
}

static void start_heading(struct reader *r, char level)
{
    char marker[8] = "######";
    int n = level - '0';
    end_link(r);
    owe(r, 2);
    marker[n] = ' ';
    marker[n + 1] = '\0';
    put_marker(r, marker);
}

/* A marker behind which nothing came is taken back. */
static void drop_marker(struct reader *r)
{
    size_t n = r->out->n;
    if (!r->is_line_new || r->owed)
        return;
    while (n > r->start &&
           (r->out->p[n - 1] == ' ' || r->out->p[n - 1] == '#' || r->out->p[n - 1] == '-'))
        n--;
    buf_cut(r->out, n);
}

static void start_item(struct reader *r)
{
    char indent[2 * MAX_INDENT + 4];
    int n = 2 * MIN(MAX(r->depth - 1, 0), MAX_INDENT);
    end_link(r);
    drop_marker(r);
    owe(r, 1);
    memset(indent, ' ', (size_t)n);
    memcpy(indent + n, "- ", 3);
    put_marker(r, indent);
}

static void start_cell(struct reader *r)
{
    end_link(r);
    if (r->has_cell && !r->is_line_new)
        put(r, STR(" | "));
    r->has_cell = true;
    r->is_line_new = true;
}

static void put_image(struct reader *r, struct str tag)
{
    AUTO(buf) struct buf alt = BUF_INIT;
    add_decoded(&alt, attribute(tag, "alt"));
    struct str text = str_trim(buf_str(&alt));
    if (!text.n || text.n > MAX_LINK || r->in_pre)
        return;
    put(r, STR("("));
    put(r, text);
    put(r, STR(")"));
}

/* Moves behind the end tag of a name and returns what stood before it. */
static struct str skip_to_end(struct reader *r, struct str name)
{
    struct str rest = str_from(r->html, r->at);
    for (size_t i = 0; i + 2 + name.n <= rest.n; i++) {
        const char *lt = memchr(rest.p + i, '<', rest.n - i);
        if (!lt)
            break;
        i = (size_t)(lt - rest.p);
        if (i + 2 + name.n > rest.n)
            break;
        if (rest.p[i + 1] != '/' || !str_ieq(str_n(rest.p + i + 2, name.n), name))
            continue;
        if (i + 2 + name.n < rest.n && is_name_char(rest.p[i + 2 + name.n]))
            continue;
        r->at = tag_end(r->html, r->at + i);
        return str_cut(rest, i);
    }
    r->at = r->html.n;
    return rest;
}

static void take_title(struct reader *r, struct str raw)
{
    AUTO(buf) struct buf text = BUF_INIT;
    bool owes_blank = false;
    if (!r->title || r->title->n)
        return;
    add_decoded(&text, str_cut(raw, MAX_LINK));
    struct str s = str_trim(buf_str(&text));
    for (size_t i = 0; i < s.n; i++) {
        if (!is_space(s.p[i])) {
            if (owes_blank)
                buf_addc(r->title, ' ');
            buf_addc(r->title, s.p[i]);
        }
        owes_blank = is_space(s.p[i]);
    }
}

static void start_tag(struct reader *r, const struct tag *t, struct str whole)
{
    switch (t->kind) {
    case TAG_BLOCK:
    case TAG_PARA:
    case TAG_LIST:
        r->depth += t->kind == TAG_LIST;
        r->has_cell = false;
        if (!r->is_line_new || r->owed)
            owe(r, t->kind == TAG_PARA ? 2 : t->kind == TAG_LIST && r->depth == 1 ? 2 : 1);
        break;
    case TAG_HEADING:
        start_heading(r, t->name[1]);
        break;
    case TAG_BREAK:
        if (r->in_pre)
            put(r, STR("\n"));
        else
            owe(r, MIN(r->owed + 1, 2));
        break;
    case TAG_ITEM:
        start_item(r);
        break;
    case TAG_CELL:
        start_cell(r);
        break;
    case TAG_PRE:
        start_pre(r);
        break;
    case TAG_CODE:
        if (!r->in_pre)
            put(r, STR("`"));
        break;
    case TAG_LINK:
        start_link(r, whole);
        break;
    case TAG_IMAGE:
        put_image(r, whole);
        break;
    case TAG_RULE:
        owe(r, 2);
        put(r, STR("---"));
        owe(r, 2);
        break;
    case TAG_TITLE:
        take_title(r, skip_to_end(r, STR("title")));
        break;
    case TAG_SKIP:
        if (!str_ends(whole, STR("/>")))
            skip_to_end(r, str_of(t->name));
        break;
    default:
        break;
    }
}

static void end_tag(struct reader *r, const struct tag *t)
{
    switch (t->kind) {
    case TAG_BLOCK:
    case TAG_PARA:
    case TAG_HEADING:
        drop_marker(r);
        owe(r, t->kind == TAG_BLOCK ? 1 : 2);
        break;
    case TAG_LIST:
        drop_marker(r);
        r->depth = MAX(r->depth - 1, 0);
        owe(r, r->depth ? 1 : 2);
        break;
    case TAG_ITEM:
        drop_marker(r);
        owe(r, 1);
        break;
    case TAG_PRE:
        end_pre(r);
        break;
    case TAG_CODE:
        if (!r->in_pre) {
            r->owes_blank = false;
            put(r, STR("`"));
        }
        break;
    case TAG_LINK:
        end_link(r);
        break;
    default:
        break;
    }
}

/* What begins with < at r->at: a comment, a declaration, a tag, or just a character. */
static void read_markup(struct reader *r)
{
    struct str rest = str_from(r->html, r->at);
    bool is_end = rest.n > 1 && rest.p[1] == '/';
    size_t from = is_end ? 2 : 1, n = from;
    if (str_starts(rest, STR("<!--"))) {
        size_t end = str_find(str_from(rest, 4), STR("-->"));
        r->at = end == SIZE_MAX ? r->html.n : r->at + 4 + end + 3;
        return;
    }
    if (rest.n > 1 && (rest.p[1] == '!' || rest.p[1] == '?')) {
        r->at = tag_end(r->html, r->at);
        return;
    }
    while (n < rest.n && is_name_char(rest.p[n]))
        n++;
    if (n == from) {
        put(r, STR("<"));
        r->at++;
        return;
    }
    size_t end = tag_end(r->html, r->at);
    struct str whole = str_n(r->html.p + r->at + n, end - r->at - n);
    const struct tag *t = find_tag(str_n(rest.p + from, n - from));
    r->at = end;
    if (t && is_end)
        end_tag(r, t);
    else if (t)
        start_tag(r, t, whole);
}

void html_text(struct str html, struct str base, struct buf *out, struct buf *ret_title)
{
    struct reader r = {.html = html,
                       .base = base,
                       .out = out,
                       .title = ret_title,
                       .start = out->n,
                       .is_line_new = true};
    while (r.at < html.n && !out->full) {
        if (html.p[r.at] == '<') {
            read_markup(&r);
            continue;
        }
        const char *lt = memchr(html.p + r.at, '<', html.n - r.at);
        size_t n = lt ? (size_t)(lt - html.p) - r.at : html.n - r.at;
        size_t from = r.at;
        r.at += n;
        put_text(&r, str_n(html.p + from, n));
    }
    end_link(&r);
    end_pre(&r);
    drop_marker(&r);
    if (out->n > r.start)
        buf_addc(out, '\n');
    buf_clear(&r.href);
}
