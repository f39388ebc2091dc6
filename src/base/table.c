/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing, at most half full.  Removing a key moves the following ones
 * forward, so there are no tombstones. */
#include "base/table.h"

#include "base/mem.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

struct table_slot {
    uint64_t hash;
    struct str key;
    void *value; /* NULL: the slot is free */
};

void table_clear(struct table *t)
{
    free(t->slots);
    *t = TABLE_INIT;
}

/* The slot of the key, or the free one where it belongs. */
static struct table_slot *find_slot(const struct table *t, uint64_t hash, struct str key)
{
    size_t at = hash & (t->capacity - 1);
    while (t->slots[at].value && (t->slots[at].hash != hash || !str_eq(t->slots[at].key, key)))
        at = (at + 1) & (t->capacity - 1);
    return &t->slots[at];
}

static void grow(struct table *t)
{
    struct table bigger = {.n = t->n, .capacity = t->capacity ? t->capacity * 2 : FIRST_CAPACITY};
    bigger.slots = xcalloc(bigger.capacity, sizeof *bigger.slots);
    for (size_t i = 0; i < t->capacity; i++)
        if (t->slots[i].value)
            *find_slot(&bigger, t->slots[i].hash, t->slots[i].key) = t->slots[i];
    free(t->slots);
    *t = bigger;
}

void table_put(struct table *t, struct str key, void *value)
{
    uint64_t hash = str_hash(key);
    if (2 * (t->n + 1) > t->capacity)
        grow(t);
    struct table_slot *slot = find_slot(t, hash, key);
    t->n += slot->value == NULL;
    *slot = (struct table_slot){hash, key, value};
}

void *table_get(const struct table *t, struct str key)
{
    return t->n ? find_slot(t, str_hash(key), key)->value : NULL;
}

void table_drop(struct table *t, struct str key, const void *value)
{
    struct table_slot *slot = t->n ? find_slot(t, str_hash(key), key) : NULL;
    if (!slot || !slot->value || slot->value != value)
        return;
    size_t mask = t->capacity - 1, hole = (size_t)(slot - t->slots);
    for (size_t at = (hole + 1) & mask; t->slots[at].value; at = (at + 1) & mask) {
        size_t home = t->slots[at].hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* it would move before its first probe position */
        t->slots[hole] = t->slots[at];
        hole = at;
    }
    t->slots[hole] = (struct table_slot){0};
    t->n--;
}
