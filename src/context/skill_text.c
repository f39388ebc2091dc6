/* SPDX-License-Identifier: MIT */
#include "context/skill_text.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "context/skills.h"

enum { PREVIEW_WORDS = 8, DESCRIPTION_BYTES = 4000 };

static const char nothing[] = "no description provided";

/* ---- front matter ---- */

/* Splits the text into front matter and body; the matter is empty when there is none. */
static struct str split_front(struct str text, struct str *ret_body)
{
    struct str rest = text, line;
    *ret_body = text;
    if (str_starts(rest, STR("\xef\xbb\xbf")))
        rest = str_from(rest, 3);
    if (!str_line(&rest, &line) || !str_is(str_trim(line), "---"))
        return STR("");
    struct str start = rest;
    while (rest.n && str_line(&rest, &line)) {
        if (!str_is(str_trim(line), "---"))
            continue;
        *ret_body = rest.p ? rest : STR("");
        return str_n(start.p, (size_t)(line.p - start.p));
    }
    return STR("");
}

static struct str unquote(struct str s)
{
    bool is_quoted = s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0];
    return is_quoted ? str_n(s.p + 1, s.n - 2) : s;
}

/* Joins the indented lines below a key with blanks. */
static void add_block(struct buf *out, struct str rest)
{
    struct str line;
    while (rest.n && str_line(&rest, &line)) {
        if (!str_is_blank(line) && line.p[0] != ' ' && line.p[0] != '\t')
            return;
        struct str words = str_trim(line);
        if (words.n && out->n)
            buf_addc(out, ' ');
        buf_add(out, words);
    }
}

struct str skill_front(struct str text, const char *key, struct arena *a)
{
    struct str body, line, name, rest = split_front(text, &body);
    AUTO(buf) struct buf value = BUF_INIT, clean = BUF_INIT;
    while (rest.n && str_line(&rest, &line)) {
        if (str_chr(line, ':') == SIZE_MAX)
            continue;
        struct str given = str_trim(str_split(line, ':', &name));
        if (!str_is(name, key))
            continue;
        bool is_block = given.n == 0 || given.p[0] == '>' || given.p[0] == '|';
        if (!is_block)
            buf_add(&value, unquote(given));
        add_block(&value, rest);
        utf8_repair(&clean, str_trim(buf_str(&value)));
        return clean.n ? arena_str(a, buf_str(&clean)) : STR_NONE;
    }
    return STR_NONE;
}

/* ---- description ---- */

/* A line of a paragraph as it counts: STR_NONE for headings and bare fences. */
static struct str plain_line(struct str line)
{
    line = str_trim(line);
    if (line.n && line.p[0] == '#')
        return STR_NONE;
    if (str_starts(line, STR("```")) || str_starts(line, STR("~~~")))
        return STR_NONE;
    return line;
}

/* Without a leading list marker. */
static struct str without_marker(struct str s)
{
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    if (i && i < s.n && (s.p[i] == '.' || s.p[i] == ')'))
        i++;
    else if (i == 0 && s.n && strchr("-*+", s.p[0]))
        i = 1;
    else
        return s;
    return i < s.n && s.p[i] == ' ' ? str_trim(str_from(s, i)) : s;
}

static void add_plain(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '`')
            continue;
        if (s.p[i] == '*' && i + 1 < s.n && s.p[i + 1] == '*') {
            i++;
            continue;
        }
        buf_addc(out, s.p[i]);
    }
}

struct str skill_description(struct str text, struct arena *a)
{
    struct str line, rest, front = skill_front(text, "description", a);
    AUTO(buf) struct buf paragraph = BUF_INIT, plain = BUF_INIT, clean = BUF_INIT;
    if (front.n)
        return front;
    split_front(text, &rest);
    while (rest.n && str_line(&rest, &line)) {
        if (str_is_blank(line) && paragraph.n)
            break;
        struct str words = plain_line(line);
        if (words.n && paragraph.n)
            buf_addc(&paragraph, ' ');
        buf_add(&paragraph, words);
    }
    add_plain(&plain, without_marker(buf_str(&paragraph)));
    utf8_repair(&clean, str_trim(buf_str(&plain)));
    return arena_str(a, clean.n ? utf8_cut(buf_str(&clean), DESCRIPTION_BYTES) : str_of(nothing));
}

void skill_preview(const struct skill *skill, struct buf *out)
{
    struct str s = skill->description;
    int words = 0;
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        while (i < s.n && s.p[i] != ' ')
            i++;
        if (i > from && words++ == PREVIEW_WORDS) {
            buf_addz(out, "...");
            return;
        }
        if (i > from && words > 1)
            buf_addc(out, ' ');
        buf_add(out, str_n(s.p + from, i - from));
        i++;
    }
}

/* ---- mentions ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_inner(char c)
{
    return is_word(c) || c == '.' || c == ':' || c == '-';
}

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

bool skill_next_mention(struct str text, size_t *at, struct str *ret_name)
{
    for (size_t i = *at; i + 1 < text.n; i++) {
        if (text.p[i] != '$' || text.p[i + 1] == '_' || !is_word(text.p[i + 1]))
            continue;
        if (i > 0 && (is_word(text.p[i - 1]) || text.p[i - 1] == '$'))
            continue;
        size_t end = i + 2;
        while (end < text.n && is_inner(text.p[end]))
            end++;
        *at = end;
        struct str name = str_n(text.p + i + 1, end - i - 1);
        while (name.n && strchr(".,!?;:", name.p[name.n - 1]))
            name.n--;
        if (!is_number(name)) {
            *ret_name = name;
            return true;
        }
        i = end - 1;
    }
    *at = text.n;
    return false;
}
