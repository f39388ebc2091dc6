/* SPDX-License-Identifier: MIT */
/* Allocation that cannot fail, and the two words that make ownership visible.
 *
 * Buffers that peers can grow carry their own limit (buf.h), so running out of memory is a shortage
 * of the machine and ends the process with a line on stderr.
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

/* Gives free memory back to the system, that of other threads too; after something large was freed
 * in small pieces.  Takes a fraction of a millisecond per megabyte. */
void mem_trim(void);

#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* Owning locals: AUTO(buf) struct buf b = BUF_INIT;  calls buf_clear(&b) on every return. */
#define AUTO(name) __attribute__((cleanup(name##_clear)))

static inline void free_clear(void *pp)
{
    free(*(void **)pp);
}
/* AUTO_FREE char *p = xstrdup("x"); */
#define AUTO_FREE __attribute__((cleanup(free_clear)))

/* Gives a value away and leaves an empty one: *ret = take(&local); */
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

/* The system refuses what we cannot do without: says so on stderr and ends the process, status 1.
 */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Our own mistake: prints the place and aborts. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#endif
