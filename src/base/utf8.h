/* SPDX-License-Identifier: MIT */
/* UTF-8: check, repair, cut at character borders, count the way JavaScript and humans count. */
#ifndef TRIVET_BASE_UTF8_H
#define TRIVET_BASE_UTF8_H

#include "base/buf.h"

/* Length of the valid prefix; s.n when all of it is valid UTF-8 (no surrogates, no overlong). */
size_t utf8_valid(struct str s);
static inline bool utf8_is_valid(struct str s)
{
    return utf8_valid(s) == s.n;
}
/* Appends s with every bad unit replaced by U+FFFD. */
bool utf8_repair(struct buf *out, struct str s);
/* The first n bytes at most, never splitting a character of valid text. */
struct str utf8_cut(struct str s, size_t n);
/* The first n characters at most. */
struct str utf8_cut_chars(struct str s, size_t n);
/* How many bytes at the end of s are the beginning of an unfinished character (0 to 3). */
size_t utf8_unfinished(struct str s);
/* The beginning of a character that is still to come. */
struct utf8_half {
    char bytes[3];
    unsigned char n;
};
/* A piece of a text that comes in pieces, behind what waited in *half, as valid UTF-8: bad units
 * become U+FFFD, two surrogates that meet (each three bytes, see JSON_KEEP_HALVES) become their
 * character, and an unfinished end waits in *half.  Returns the piece itself when it needs nothing
 * of this, else what was appended to out. */
struct str utf8_join(struct utf8_half *half, struct str piece, struct buf *out);
/* White space as JavaScript has it: that of ASCII, no-break and other spaces of Unicode, line and
 * paragraph separators, the byte order mark.  How long the one at the beginning or the end of s is,
 * 0 for none; s without it at both ends; s with every run of it made one blank and none at the
 * ends. */
size_t utf8_space_first(struct str s);
size_t utf8_space_last(struct str s);
struct str utf8_trim(struct str s);
void utf8_collapse(struct buf *out, struct str s);
size_t utf8_chars(struct str s);
size_t utf8_ascii(struct str s);     /* those below U+0080 */
size_t utf8_utf16_len(struct str s); /* UTF-16 code units */
/* The first n UTF-16 code units at most. */
struct str utf8_cut_utf16(struct str s, size_t n);
bool utf8_put(struct buf *out, uint32_t code_point);
/* Decodes one character; returns its length, 0 if it is invalid or s is empty. */
size_t utf8_get(struct str s, uint32_t *ret_code_point);

#endif
