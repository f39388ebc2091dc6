/* SPDX-License-Identifier: MIT */
#include "context/front.h"

#include "base/buf.h"
#include "base/utf8.h"

bool front_split(struct str text, struct str *ret_front, struct str *ret_body)
{
    struct str rest = text, line;
    *ret_front = STR("");
    *ret_body = text;
    if (str_starts(rest, STR("\xef\xbb\xbf")))
        rest = str_from(rest, 3);
    if (!str_starts(rest, STR("---")) || !str_line(&rest, &line) || !str_is(str_trim(line), "---"))
        return true;
    struct str start = rest;
    while (rest.n && str_line(&rest, &line)) {
        if (!str_is(str_trim(line), "---"))
            continue;
        *ret_body = rest.p ? rest : STR("");
        *ret_front = str_n(start.p, (size_t)(line.p - start.p));
        return true;
    }
    return false;
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

struct str front_value(struct str front, const char *key, struct arena *a)
{
    struct str line, name;
    AUTO(buf) struct buf value = BUF_INIT, clean = BUF_INIT;
    while (front.n && str_line(&front, &line)) {
        if (str_chr(line, ':') == SIZE_MAX)
            continue;
        struct str given = str_trim(str_split(line, ':', &name));
        if (!str_is(name, key))
            continue;
        bool is_block = given.n == 0 || given.p[0] == '>' || given.p[0] == '|';
        if (!is_block)
            buf_add(&value, unquote(given));
        add_block(&value, front);
        utf8_repair(&clean, str_trim(buf_str(&value)));
        return clean.n ? arena_str(a, buf_str(&clean)) : STR_NONE;
    }
    return STR_NONE;
}
