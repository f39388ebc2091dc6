/* SPDX-License-Identifier: MIT */
/* A hash table from text to a pointer.  Keys are borrowed: the text must not change while it is in
 * the table.  Keys are unique; putting a key again replaces its value.
 */
#ifndef TRIVET_BASE_TABLE_H
#define TRIVET_BASE_TABLE_H

#include "base/str.h"

struct table_slot;
struct table {
    struct table_slot *slots;
    size_t n, capacity; /* capacity: 0 or a power of two */
};
#define TABLE_INIT ((struct table){0})
void table_clear(struct table *t);

void table_put(struct table *t, struct str key, void *value); /* value is not NULL */
void *table_get(const struct table *t, struct str key);       /* NULL: there is none */
/* Removes the key if this is still its value. */
void table_drop(struct table *t, struct str key, const void *value);

#endif
