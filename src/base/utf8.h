/* SPDX-License-Identifier: MIT */
/* UTF-8: check, repair, truncate between characters, count UTF-16 units and characters. */
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
/* The first bytes of an incomplete character. */
struct utf8_half {
    char bytes[3];
    unsigned char n;
};
/* The next piece of a text that arrives in pieces, with the bytes kept in *half before it, as valid
 * UTF-8: bad units become U+FFFD, adjacent surrogates (three bytes each, see JSON_KEEP_HALVES)
 * become their character, and an incomplete end is kept in *half.  Returns the piece itself when it
 * needs no change, else the bytes appended to out. */
struct str utf8_join(struct utf8_half *half, struct str piece, struct buf *out);
/* White space as defined by JavaScript: ASCII, no-break and other Unicode spaces, line and
 * paragraph separators, the byte order mark.  The functions: length of the white space character at
 * the start or the end of s, 0 for none; s trimmed; s trimmed with every run replaced by one
 * space, until out is full. */
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
