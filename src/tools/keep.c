/* SPDX-License-Identifier: MIT */
#include "tools/keep.h"

#include "base/mem.h"

/* Items and lines beyond the double of what is wanted, before those behind are dropped. */
enum { SPARE_ITEMS = 256, SPARE_LINES = 4096 };

void keep_init(struct keep *k, enum keep_order order, size_t max, size_t max_lines)
{
    *k = (struct keep){.order = order, .max = max, .max_lines = max_lines};
    pthread_mutex_init(&k->lock, NULL);
}

void keep_clear(struct keep *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->items[i]);
    free(k->items);
    arena_clear(&k->bounds);
    pthread_mutex_destroy(&k->lock);
}

/* The slash sorts before everything else. */
static int compare_walk(struct str a, struct str b)
{
    size_t n = MIN(a.n, b.n);
    for (size_t i = 0; i < n; i++) {
        unsigned char x = (unsigned char)a.p[i], y = (unsigned char)b.p[i];
        if (x != y)
            return x == '/' ? -1 : y == '/' ? 1 : (int)x - (int)y;
    }
    return (a.n > b.n) - (a.n < b.n);
}

static int compare_paths(enum keep_order order, struct str a, struct str b)
{
    return order == KEEP_WALK ? compare_walk(a, b) : str_cmp(a, b);
}

static int compare(const void *a, const void *b, void *arg)
{
    const struct kept *x = *(struct kept *const *)a, *y = *(struct kept *const *)b;
    const struct keep *k = arg;
    if (k->order == KEEP_NEWEST && x->time_ns != y->time_ns)
        return x->time_ns > y->time_ns ? -1 : 1;
    return compare_paths(k->order, x->path, y->path);
}

bool keep_wants(const struct keep *k, struct str path)
{
    const struct str *bound = atomic_load_explicit(&k->bound, memory_order_acquire);
    return !bound || compare_paths(k->order, path, *bound) <= 0;
}

/* Sorts and drops what is behind the limits. */
static void trim(struct keep *k)
{
    size_t n = 0, n_lines = 0;
    if (k->n)
        qsort_r(k->items, k->n, sizeof *k->items, compare, k);
    while (n < k->n && n < k->max && (n == 0 || n_lines < k->max_lines))
        n_lines += k->items[n++]->n_lines;
    for (size_t i = n; i < k->n; i++) {
        free(k->items[i]);
        k->is_cut = true;
    }
    k->n = n;
    k->n_lines = n_lines;
}

static void set_bound(struct keep *k)
{
    if (k->n == 0 || k->order == KEEP_NEWEST)
        return;
    struct str *bound = arena_new(&k->bounds, struct str);
    *bound = arena_str(&k->bounds, k->items[k->n - 1]->path);
    atomic_store_explicit(&k->bound, bound, memory_order_release);
}

void keep_add(struct keep *k, struct kept *item)
{
    pthread_mutex_lock(&k->lock);
    GROW(k->items, k->n, k->capacity);
    k->items[k->n++] = item;
    k->n_lines += item->n_lines;
    if (k->n > 2 * k->max + SPARE_ITEMS || k->n_lines > 2 * k->max_lines + SPARE_LINES) {
        trim(k);
        set_bound(k);
    }
    pthread_mutex_unlock(&k->lock);
}

void keep_finish(struct keep *k)
{
    trim(k);
}
