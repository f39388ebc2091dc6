/* SPDX-License-Identifier: MIT */
#include "tools/tape.h"

#include "base/mem.h"
#include "base/utf8.h"

enum { ESC = 0x1b, BEL = 0x07 };

void tape_init(struct tape *t, int64_t keep)
{
    *t = (struct tape){.keep = keep};
}

void tape_clear(struct tape *t)
{
    buf_clear(&t->text);
}

/* --- counting --- */

static size_t char_bytes(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The bytes of the first n characters; *ret_units gets how many they are: one more than n when the
 * last one counts twice and round_up, else at most n. */
static size_t find_char(struct str s, int64_t n, bool round_up, int64_t *ret_units)
{
    size_t at = 0;
    int64_t units = 0;
    while (at < s.n && units < n) {
        size_t bytes = char_bytes((unsigned char)s.p[at]);
        int64_t more = bytes == 4 ? 2 : 1;
        if (!round_up && units + more > n)
            break;
        units += more;
        at += bytes;
    }
    *ret_units = units;
    return at;
}

static int64_t oldest(const struct tape *t)
{
    return MAX(t->start, t->end - t->keep);
}

/* --- writing --- */

/* Forgetting is done in large steps: each moves all the text. */
static void forget(struct tape *t)
{
    int64_t units;
    if (t->end - t->start <= t->keep + t->keep / 4)
        return;
    buf_drop(&t->text, find_char(buf_str(&t->text), oldest(t) - t->start, true, &units));
    t->start += units;
}

static void add_whole(struct tape *t, struct str bytes)
{
    size_t before = t->text.n;
    if (utf8_is_valid(bytes))
        buf_add(&t->text, bytes);
    else
        utf8_repair(&t->text, bytes);
    t->end += (int64_t)utf8_utf16_len(str_from(buf_str(&t->text), before));
    forget(t);
}

void tape_add(struct tape *t, struct str bytes)
{
    AUTO(buf) struct buf joined = BUF_INIT;
    if (t->n_unfinished) {
        buf_add(&joined, str_n(t->unfinished, t->n_unfinished));
        buf_add(&joined, bytes);
        bytes = buf_str(&joined);
    }
    t->n_unfinished = utf8_unfinished(bytes);
    bytes.n -= t->n_unfinished;
    memcpy(t->unfinished, bytes.p + bytes.n, t->n_unfinished);
    add_whole(t, bytes);
}

void tape_finish(struct tape *t)
{
    size_t n = t->n_unfinished;
    t->n_unfinished = 0;
    add_whole(t, str_n(t->unfinished, n));
}

/* --- plain text --- */

static size_t skip_range(struct str s, size_t at, unsigned char low, unsigned char high)
{
    while (at < s.n && (unsigned char)s.p[at] >= low && (unsigned char)s.p[at] <= high)
        at++;
    return at;
}

/* Title and the like: up to BEL or ESC \.  Another control character says that it was none. */
static size_t string_end(struct str s, size_t at, bool *ret_is_whole)
{
    while (at < s.n && ((unsigned char)s.p[at] >= 0x20 || s.p[at] == '\t'))
        at++;
    *ret_is_whole = at + 1 < s.n || (at < s.n && s.p[at] != ESC);
    if (at < s.n && s.p[at] == BEL)
        return at + 1;
    if (at + 1 < s.n && s.p[at] == ESC && s.p[at + 1] == '\\')
        return at + 2;
    return at;
}

/* The length of the escape sequence that s begins with; whether its end is there. */
static size_t sequence_end(struct str s, bool *ret_is_whole)
{
    *ret_is_whole = false;
    if (s.n < 2)
        return s.n;
    if (s.p[1] == ']' || s.p[1] == 'P' || s.p[1] == 'X' || s.p[1] == '^' || s.p[1] == '_')
        return string_end(s, 2, ret_is_whole);
    size_t at = s.p[1] == '[' ? skip_range(s, 2, 0x30, 0x3f) : 1;
    at = skip_range(s, at, 0x20, 0x2f);
    *ret_is_whole = at < s.n;
    unsigned char low = s.p[1] == '[' ? 0x40 : 0x30;
    return at < s.n && (unsigned char)s.p[at] >= low && s.p[at] < 0x7f ? at + 1 : at;
}

/* The length of what is to be left out at the beginning of s, 0 when it stays. */
static size_t unwanted(struct str s)
{
    unsigned char c = (unsigned char)s.p[0];
    bool ignored;
    if (c == ESC)
        return sequence_end(s, &ignored);
    if (c == 0xc2 && s.n > 1 && (unsigned char)s.p[1] < 0xa0)
        return 2; /* a control character of the upper half */
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

/* Outputs have gigabytes: eight bytes are looked at together. */
static const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;

static uint64_t load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Not 0 when a byte of the word is 0. */
static uint64_t has_zero(uint64_t word)
{
    return (word - ones) & ~word & highs;
}

static bool is_plain_byte(unsigned char c)
{
    return (c >= 0x20 && c != 0x7f && c != 0xc2) || c == '\t';
}

size_t tape_plain_run(struct str s)
{
    size_t at = 0;
    while (at < s.n) {
        uint64_t word = at + sizeof word <= s.n ? load(s.p + at) : 0;
        uint64_t below_blank = (word - ones * 0x20) & ~word & highs;
        if (!below_blank && !has_zero(word ^ (ones * 0x7f)) && !has_zero(word ^ (ones * 0xc2))) {
            at += sizeof word;
            continue;
        }
        size_t end = MIN(s.n, at + sizeof word);
        while (at < end && is_plain_byte((unsigned char)s.p[at]))
            at++;
        if (at < end)
            return at;
    }
    return at;
}

/* Bytes at the beginning that are the same as the first. */
static size_t same_run(struct str s)
{
    uint64_t all = ones * (unsigned char)s.p[0];
    size_t at = 1;
    while (at + sizeof all <= s.n && load(s.p + at) == all)
        at += sizeof all;
    while (at < s.n && s.p[at] == s.p[0])
        at++;
    return at;
}

void tape_plain(struct str text, struct buf *out)
{
    size_t from = 0, at = 0;
    while (at < text.n) {
        at += tape_plain_run(str_from(text, at));
        if (at == text.n)
            break;
        size_t n = unwanted(str_from(text, at));
        if (n && at > from)
            buf_add(out, str_n(text.p + from, at - from));
        if (n == 1 && text.p[at] != ESC)
            n = same_run(str_from(text, at));
        if (n)
            from = at + n;
        at += n ? n : 1;
    }
    if (from < text.n)
        buf_add(out, str_n(text.p + from, text.n - from));
}

/* --- reading --- */

/* Shortens the text so that it does not end inside of an escape sequence. */
static struct str keep_sequences(struct str s)
{
    bool is_whole;
    size_t at = str_rchr(s, ESC);
    if (at == SIZE_MAX || at == 0)
        return s;
    sequence_end(str_from(s, at), &is_whole);
    return is_whole ? s : str_cut(s, at);
}

struct tape_part tape_look(const struct tape *t)
{
    return (struct tape_part){
        .cursor = t->cursor,
        .has_more = t->cursor < t->end,
        .was_dropped = t->cursor < oldest(t),
    };
}

int64_t tape_unread(const struct tape *t)
{
    return t->end - MAX(t->cursor, oldest(t));
}

struct tape_part tape_read(struct tape *t, int64_t max, bool is_peek, struct buf *out)
{
    struct tape_part part = tape_look(t);
    int64_t units, from = MAX(t->cursor, oldest(t));
    struct str rest = str_from(buf_str(&t->text),
                               find_char(buf_str(&t->text), from - t->start, true, &units));
    from = t->start + units;
    size_t n = find_char(rest, max, false, &units);
    if (n == 0) /* a character that counts twice */
        n = find_char(rest, 1, true, &units);
    struct str text = str_cut(rest, n);
    if (n < rest.n)
        text = keep_sequences(text);
    tape_plain(text, out);
    part.cursor = from + (int64_t)utf8_utf16_len(text);
    part.has_more = part.cursor < t->end;
    if (!is_peek)
        t->cursor = part.cursor;
    return part;
}
