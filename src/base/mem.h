/* SPDX-License-Identifier: MIT */
/* Allocation that cannot fail, and the macros AUTO and take that show ownership.
 *
 * Buffers that peers can grow carry their own limit (buf.h), so running out of memory means that
 * the machine has none left; it ends the process with a message on stderr.
 */
#ifndef TRIVET_BASE_MEM_H
#define TRIVET_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void *xmalloc(size_t n) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));

/* Returns free memory of all threads to the system; for use after many small allocations were
 * freed.  Takes a fraction of a millisecond per megabyte. */
void mem_trim(void);

#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* Makes space for one more element in an array with n elements: GROW(l->v, l->n, l->capacity);
 * l->v[l->n++] = x; */
#define GROW(v, n, capacity)                                                                       \
    do {                                                                                           \
        if ((n) == (capacity))                                                                     \
            (v) = mem_grow((v), &(capacity), sizeof *(v));                                         \
    } while (0)
void *mem_grow(void *v, size_t *capacity, size_t size) __attribute__((returns_nonnull));

/* Owning locals: AUTO(buf) struct buf b = BUF_INIT;  calls buf_clear(&b) on every return. */
#define AUTO(name) __attribute__((cleanup(name##_clear)))

static inline void free_clear(void *pp)
{
    free(*(void **)pp);
}
/* AUTO_FREE char *p = xstrdup("x"); */
#define AUTO_FREE __attribute__((cleanup(free_clear)))

/* Moves a value out and leaves a zeroed one: *ret = take(&local); */
#define take(p)                                                                                    \
    ({                                                                                             \
        __typeof__(p) take_p_ = (p);                                                               \
        __typeof__(*take_p_) take_v_ = *take_p_;                                                   \
        __builtin_memset(take_p_, 0, sizeof *take_p_);                                             \
        take_v_;                                                                                   \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* For a missing system resource that trivet needs: prints the message on stderr and exits with 1.
 */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* From now on an abort, which libraries do without a message, prints one and exits with 1. */
void abort_begin(void);
/* Called before, also at a bug of trivet; async-signal-safe.  There is one: the terminal's. */
void abort_restores(void (*restore)(void));

/* A bug in trivet: prints file and line and aborts. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#endif
