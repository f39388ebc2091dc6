/* SPDX-License-Identifier: MIT */
/* struct buf: a growing byte buffer with a limit.
 *
 *     AUTO(buf) struct buf b = BUF_MAX(1 << 20);
 *     buf_add(&b, STR("hello"));
 *     if (b.full) ...            // something did not fit; what fitted is there
 *
 * Growth beyond the limit never aborts: an addition that does not fit is left out completely and
 * `full` stays set until buf_reset.  BUF_INIT has no limit and is for text whose size peers do not
 * decide.  The bytes are always followed by a NUL that is not counted.
 */
#ifndef TRIVET_BASE_BUF_H
#define TRIVET_BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>

struct buf {
    char *p;
    size_t n;        /* bytes in use */
    size_t capacity; /* bytes allocated, without the NUL */
    size_t limit;    /* 0: none */
    bool full;       /* an addition was refused */
};

#define BUF_INIT ((struct buf){0})
#define BUF_MAX(max) ((struct buf){.limit = (max)})

void buf_clear(struct buf *b); /* frees; the limit stays */
void buf_reset(struct buf *b); /* empties, keeps the memory */
/* Frees the memory when more than keep bytes are allocated; empties in any case. */
void buf_shrink(struct buf *b, size_t keep);

bool buf_add(struct buf *b, struct str s); /* false if it does not fit */
bool buf_addz(struct buf *b, const char *z);
bool buf_addc(struct buf *b, char c);
bool buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool buf_addv(struct buf *b, const char *fmt, va_list ap);
/* Allocates space for n more bytes and returns it, or NULL; then buf_added(b, n). */
char *buf_space(struct buf *b, size_t n);
static inline void buf_added(struct buf *b, size_t n)
{
    b->n += n;
    b->p[b->n] = '\0';
}
void buf_drop(struct buf *b, size_t n);               /* removes n bytes from the front */
void buf_cut(struct buf *b, size_t n);                /* keeps the first n bytes */
static inline struct str buf_str(const struct buf *b) /* borrowed until the next change */
{
    return (struct str){b->p ? b->p : "", b->n};
}
/* Returns the bytes as a C string that the caller frees; the buffer is empty afterwards. */
char *buf_take(struct buf *b);

#endif
