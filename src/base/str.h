/* SPDX-License-Identifier: MIT */
/* struct str: a borrowed, length-counted view of bytes.  It owns nothing and may hold NULs.
 * A str with p == NULL means "absent"; a str with n == 0 and p != NULL is an empty text.
 */
#ifndef TRIVET_BASE_STR_H
#define TRIVET_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

struct str_list {
    struct str *v;
    size_t n;
};

#define STR_NONE ((struct str){0})
#define STR(lit) ((struct str){"" lit, sizeof(lit) - 1}) /* of a literal */
#define STR_FMT(s) (int)(s).n, ((s).p ? (s).p : "")      /* for "%.*s" */

static inline struct str str_of(const char *z) /* of a C string; NULL gives STR_NONE */
{
    return (struct str){z, z ? strlen(z) : 0};
}
static inline struct str str_n(const char *p, size_t n)
{
    return (struct str){p, n};
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_is(struct str a, const char *z)
{
    return str_eq(a, str_of(z));
}
static inline struct str str_from(struct str s, size_t at) /* the rest from at (clamped) */
{
    at = at > s.n ? s.n : at;
    return str_n(at ? s.p + at : s.p, s.n - at);
}
static inline struct str str_cut(struct str s, size_t n) /* at most the first n bytes */
{
    return str_n(s.p, s.n < n ? s.n : n);
}

int str_cmp(struct str a, struct str b);  /* by byte value; a prefix sorts first */
bool str_ieq(struct str a, struct str b); /* ASCII case folded */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Offset of the first needle in s, or SIZE_MAX. */
size_t str_find(struct str s, struct str needle);
size_t str_ifind(struct str s, struct str needle); /* ASCII case folded */
size_t str_chr(struct str s, char c);
size_t str_rchr(struct str s, char c);
/* Without leading and trailing space, tab, CR, LF, VT, FF. */
struct str str_trim(struct str s);
bool str_is_blank(struct str s);
/* Splits at the first c: *ret_head gets the part before, the rest is returned (STR_NONE if no
 * c). */
struct str str_split(struct str s, char c, struct str *ret_head);
/* Decimal digits with optional sign and nothing else.  False on overflow too. */
bool str_int(struct str s, int64_t *ret_value);
/* The next line of *rest without its \n (and \r\n kept as \r); false at the end. */
bool str_line(struct str *rest, struct str *ret_line);
uint64_t str_hash(struct str s); /* FNV-1a */
/* Owned NUL-terminated copy. */
char *str_dup(struct str s);

#endif
