/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>

struct arena_block {
    struct arena_block *next;
    size_t capacity, used;
    alignas(max_align_t) char bytes[];
};

struct arena_guest {
    struct arena_guest *next;
    char *p;
    size_t n;
};

enum { FIRST_BLOCK = 1000, NEXT_BLOCK = 8000 };

void arena_own(struct arena *a, void *p, size_t n)
{
    struct arena_guest *g = xnew(struct arena_guest);
    *g = (struct arena_guest){.next = a->guests, .p = p, .n = n};
    a->guests = g;
    a->used += n;
}

bool arena_pass(struct arena *from, struct arena *to, const void *p)
{
    uintptr_t at = (uintptr_t)p;
    for (struct arena_guest **slot = &from->guests; *slot; slot = &(*slot)->next) {
        struct arena_guest *g = *slot;
        if (at < (uintptr_t)g->p || at >= (uintptr_t)g->p + g->n)
            continue;
        *slot = g->next;
        from->used -= g->n;
        g->next = to->guests;
        to->guests = g;
        to->used += g->n;
        return true;
    }
    return false;
}

void arena_clear(struct arena *a)
{
    for (struct arena_guest *g = a->guests, *next; g; g = next) {
        next = g->next;
        free(g->p);
        free(g);
    }
    for (struct arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = ARENA_INIT;
}

static struct arena_block *add_block(struct arena *a, size_t n)
{
    size_t capacity = a->blocks ? NEXT_BLOCK : FIRST_BLOCK;
    bool is_large = n > capacity / 2;
    struct arena_block *b = xmalloc(sizeof *b + (is_large ? n : capacity));
    b->capacity = is_large ? n : capacity;
    b->used = 0;
    /* A large allocation gets a block of its own behind the first, whose free space stays in
     * use. */
    if (is_large && a->blocks) {
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else {
        b->next = a->blocks;
        a->blocks = b;
    }
    return b;
}

void *arena_grow(struct arena *a, const void *v, size_t *capacity, size_t size)
{
    size_t n = *capacity * size;
    *capacity = *capacity ? *capacity * 2 : 8;
    void *bigger = arena_alloc(a, *capacity * size);
    return n ? memcpy(bigger, v, n) : bigger;
}

void *arena_alloc(struct arena *a, size_t n)
{
    size_t step = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct arena_block *b = a->blocks;
    if (!b || b->capacity - b->used < step)
        b = add_block(a, step);
    void *p = b->bytes + b->used;
    b->used += step;
    a->used += step;
    return memset(p, 0, n);
}

struct str arena_str(struct arena *a, struct str s)
{
    return s.p ? str_n(arena_strz(a, s), s.n) : s;
}

struct str arena_lower(struct arena *a, struct str s)
{
    char *copy = arena_strz(a, s);
    for (size_t i = 0; i < s.n; i++)
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] + ('a' - 'A'));
    return str_n(copy, s.n);
}

char *arena_strz(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    return p;
}

struct str arena_fmt(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        BUG("cannot format %s", fmt);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return str_n(p, (size_t)n);
}
