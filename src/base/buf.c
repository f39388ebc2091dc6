/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/mem.h"

#include <stdio.h>

void buf_clear(struct buf *b)
{
    free(b->p);
    b->p = NULL;
    b->n = b->capacity = 0;
    b->full = false;
}

void buf_reset(struct buf *b)
{
    b->n = 0;
    b->full = false;
    if (b->p)
        b->p[0] = '\0';
}

void buf_shrink(struct buf *b, size_t keep)
{
    if (b->capacity > keep)
        buf_clear(b);
    else
        buf_reset(b);
}

/* Called when the allocation has no space for n more bytes. */
static __attribute__((noinline)) char *grow(struct buf *b, size_t n)
{
    size_t want = b->n + n;
    if (want < n || (b->limit && want > b->limit)) {
        b->full = true;
        return NULL;
    }
    size_t capacity = MAX(b->capacity + b->capacity / 2, (size_t)64);
    if (b->limit)
        capacity = MIN(capacity, b->limit);
    b->capacity = MAX(capacity, want);
    b->p = xrealloc(b->p, b->capacity + 1);
    return b->p + b->n;
}

/* `capacity` never exceeds the limit, so bytes that fit are allowed. */
static inline char *space(struct buf *b, size_t n)
{
    return b->p && n <= b->capacity - b->n ? b->p + b->n : grow(b, n);
}

char *buf_space(struct buf *b, size_t n)
{
    return space(b, n);
}

bool buf_add(struct buf *b, struct str s)
{
    char *at = space(b, s.n);
    if (!at)
        return false;
    if (s.n)
        memcpy(at, s.p, s.n);
    buf_added(b, s.n);
    return true;
}

bool buf_addz(struct buf *b, const char *z)
{
    return buf_add(b, str_of(z));
}

bool buf_addc(struct buf *b, char c)
{
    char *at = space(b, 1);
    if (!at)
        return false;
    *at = c;
    buf_added(b, 1);
    return true;
}

bool buf_addv(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *at = n < 0 ? NULL : buf_space(b, (size_t)n);
    if (at) {
        vsnprintf(at, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
    return at != NULL;
}

bool buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool ok = buf_addv(b, fmt, ap);
    va_end(ap);
    return ok;
}

void buf_drop(struct buf *b, size_t n)
{
    if (n == 0)
        return;
    if (n > b->n)
        BUG("dropping %zu of %zu bytes", n, b->n);
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
    b->p[b->n] = '\0';
}

void buf_cut(struct buf *b, size_t n)
{
    if (n < b->n) {
        b->n = n;
        b->p[n] = '\0';
    }
}

char *buf_take(struct buf *b)
{
    char *p = b->p ? b->p : xcalloc(1, 1);
    size_t limit = b->limit;
    *b = (struct buf){.limit = limit};
    return p;
}
