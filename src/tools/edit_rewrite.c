/* SPDX-License-Identifier: MIT */
/* Rewriting an edit whose old text is nowhere: escapes, line numbers, blank lines around it. */
#include "tools/edit_match.h"

uint32_t edit_plain_char(uint32_t c)
{
    if ((c >= 0x2010 && c <= 0x2015) || c == 0x2212)
        return '-';
    if (c >= 0x2018 && c <= 0x201b)
        return '\'';
    if (c >= 0x201c && c <= 0x201f)
        return '"';
    if (c == 0xa0 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f || c == 0x205f || c == 0x3000)
        return ' ';
    return c;
}

/* What a backslash and this letter stand for, 0 when nothing. */
static char unescaped(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case '"':
    case '\'':
    case '\\':
    case '`':
    case '$':
        return c;
    default:
        return '\0';
    }
}

static bool put_unescaped(struct str s, struct buf *out)
{
    bool has_changed = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i] == '\\' && i + 1 < s.n ? unescaped(s.p[i + 1]) : '\0';
        buf_addc(out, c ? c : s.p[i]);
        i += c != '\0';
        has_changed |= c != '\0';
    }
    return has_changed;
}

bool edit_unescape(const struct edit *e, struct buf *ret_old, struct buf *ret_new)
{
    if (!put_unescaped(e->old_text, ret_old))
        return false;
    /* A new text with real line ends beside an old one without was not escaped. */
    bool is_plain = str_chr(e->new_text, '\n') != SIZE_MAX &&
                    str_chr(e->old_text, '\n') == SIZE_MAX;
    if (is_plain)
        buf_add(ret_new, e->new_text);
    else
        put_unescaped(e->new_text, ret_new);
    return true;
}

/* Length of a line number in front of a line: "L12: ", "12: ", "  12\t", "12|" or "12→". */
static size_t number_length(struct str line, long *ret_number)
{
    size_t i = 0, digits;
    long number = 0;
    while (i < line.n && line.p[i] == ' ')
        i++;
    bool has_letter = i < line.n && line.p[i] == 'L';
    i += has_letter;
    for (digits = i; i < line.n && line.p[i] >= '0' && line.p[i] <= '9' && i - digits < 9; i++)
        number = 10 * number + (line.p[i] - '0');
    struct str rest = str_from(line, i);
    *ret_number = number;
    if (i == digits)
        return 0;
    if (str_starts(rest, STR(": ")))
        return i + 2;
    if (str_is(rest, ":"))
        return i + 1;
    if (!has_letter && (str_starts(rest, STR("\t")) || str_starts(rest, STR("|"))))
        return i + 1;
    return !has_letter && str_starts(rest, STR("\u2192")) ? i + strlen("\u2192") : 0;
}

/* Whether every line has a number; in_order: each one more than the one before. */
static bool is_numbered(struct str text, bool in_order)
{
    long number, before = -1;
    struct str line;
    if (!text.n)
        return false;
    while (str_line(&text, &line)) {
        if (!number_length(line, &number) || (in_order && before >= 0 && number != before + 1))
            return false;
        before = number;
    }
    return true;
}

static void put_without_numbers(struct str text, struct buf *out)
{
    long ignored;
    struct str line;
    while (str_line(&text, &line)) {
        buf_add(out, str_from(line, number_length(line, &ignored)));
        if (text.p)
            buf_addc(out, '\n');
    }
}

bool edit_drop_numbers(const struct edit *e, struct buf *ret_old, struct buf *ret_new)
{
    if (!is_numbered(e->old_text, true))
        return false;
    put_without_numbers(e->old_text, ret_old);
    if (is_numbered(e->new_text, false))
        put_without_numbers(e->new_text, ret_new);
    else
        buf_add(ret_new, e->new_text);
    return true;
}

/* Bytes of at most `most` blank lines at the beginning; how many there are. */
static size_t blank_head(struct str s, size_t most, size_t *ret_lines)
{
    size_t n = 0;
    for (*ret_lines = 0; *ret_lines < most; (*ret_lines)++) {
        size_t end = str_chr(str_from(s, n), '\n');
        if (end == SIZE_MAX || !str_is_blank(str_n(s.p + n, end)))
            break;
        n += end + 1;
    }
    return n;
}

/* The same at the end; the line end in front of a blank line goes with it. */
static size_t blank_tail(struct str s, size_t most, size_t *ret_lines)
{
    size_t n = 0;
    for (*ret_lines = 0; *ret_lines < most; (*ret_lines)++) {
        struct str left = str_cut(s, s.n - n);
        size_t at = str_rchr(left, '\n');
        if (at == SIZE_MAX || !str_is_blank(str_from(left, at)))
            break;
        n += left.n - at;
    }
    return n;
}

bool edit_drop_outer(const struct edit *e, struct buf *ret_old, struct buf *ret_new)
{
    size_t above, below;
    size_t head = blank_head(e->old_text, SIZE_MAX, &above);
    struct str old = str_from(e->old_text, head), new = e->new_text;
    size_t tail = blank_tail(old, SIZE_MAX, &below);
    if (above + below == 0)
        return false;
    buf_add(ret_old, str_cut(old, old.n - tail));
    new = str_from(new, blank_head(new, above, &above));
    buf_add(ret_new, str_cut(new, new.n - blank_tail(new, below, &below)));
    return true;
}
