/* SPDX-License-Identifier: MIT */
#include "context/skill_text.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "context/front.h"
#include "context/skills.h"

enum { PREVIEW_WORDS = 8, DESCRIPTION_BYTES = 4000 };

static const char nothing[] = "no description provided";

/* ---- description ---- */

/* The text of a paragraph line; STR_NONE for headings and bare fences. */
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
    struct str line, rest, front;
    AUTO(buf) struct buf paragraph = BUF_INIT, plain = BUF_INIT, clean = BUF_INIT;
    front_split(text, &front, &rest);
    struct str given = front_value(front, "description", a);
    if (given.n)
        return given;
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
