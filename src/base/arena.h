/* SPDX-License-Identifier: MIT */
/* struct arena: memory with one lifetime.  Three exist: the message (one request until it is
 * answered), the turn, the session.  Nothing in an arena is freed alone.
 */
#ifndef TRIVET_BASE_ARENA_H
#define TRIVET_BASE_ARENA_H

#include "base/mem.h"
#include "base/str.h"

struct arena_block;
struct arena_guest;

struct arena {
    struct arena_block *blocks; /* newest first */
    struct arena_guest *guests; /* malloc'ed memory taken over by arena_own */
    size_t used;                /* bytes allocated, for statistics */
};

#define ARENA_INIT ((struct arena){0})

void arena_clear(struct arena *a); /* frees everything; the arena can be used again */
/* Zeroed, aligned for any type. */
void *arena_alloc(struct arena *a, size_t n) __attribute__((returns_nonnull));
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (count)))
/* Makes space for one more element in an array of the arena, as GROW does. */
#define ARENA_GROW(a, v, n, capacity)                                                              \
    do {                                                                                           \
        if ((n) == (capacity))                                                                     \
            (v) = arena_grow((a), (v), &(capacity), sizeof *(v));                                  \
    } while (0)
void *arena_grow(struct arena *a, const void *v, size_t *capacity, size_t size)
    __attribute__((returns_nonnull));
/* Copies; the copy is followed by a NUL.  STR_NONE stays STR_NONE. */
struct str arena_str(struct arena *a, struct str s);
char *arena_strz(struct arena *a, struct str s);
struct str arena_lower(struct arena *a, struct str s); /* ASCII letters in lower case */
/* Long texts change their owner instead of being copied. arena_own takes over n bytes allocated by
 * malloc: they are freed with the arena. arena_pass moves the memory taken over that contains the
 * byte at p to another arena; false when `from` has none. */
void arena_own(struct arena *a, void *p, size_t n);
bool arena_pass(struct arena *from, struct arena *to, const void *p);
struct str arena_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
