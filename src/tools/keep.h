/* SPDX-License-Identifier: MIT */
/* The first results of a search that several threads make at once: however they come, the same ones
 * are kept, the first in an order, up to a number of results and of lines in them.
 *
 *     keep_wants    cheap: is this path still of interest?
 *     keep_add      takes a result; when there are far too many, those behind are dropped, and the
 *                   last that stays becomes the bound for keep_wants
 *     keep_finish   sorts and drops the rest
 */
#ifndef TRIVET_TOOLS_KEEP_H
#define TRIVET_TOOLS_KEEP_H

#include "base/arena.h"

#include <pthread.h>
#include <stdatomic.h>

/* Part of a larger struct, in one allocation with all it holds. */
struct kept {
    struct str path;
    int64_t time_ns;
    size_t n_lines;
};

enum keep_order {
    KEEP_BYTES,  /* by the bytes of the path */
    KEEP_WALK,   /* as walk.h goes: a directory's contents before the names that begin like it */
    KEEP_NEWEST, /* latest time first, then by bytes */
};

struct keep {
    enum keep_order order;
    size_t max, max_lines;
    struct kept **items;
    size_t n, capacity, n_lines;
    bool is_cut; /* something was dropped */
    pthread_mutex_t lock;
    _Atomic(const struct str *) bound; /* paths behind it are not kept; NULL: none yet */
    struct arena bounds;               /* all of them, since another thread may be reading */
};

void keep_init(struct keep *k, enum keep_order order, size_t max, size_t max_lines);
void keep_clear(struct keep *k); /* with the items that are left */

/* A path, or a directory with a slash at its end: false when nothing there can be kept. */
bool keep_wants(const struct keep *k, struct str path);
void keep_add(struct keep *k, struct kept *item); /* takes it over */
/* Afterwards items are sorted, at most max, and all but the last have at most max_lines lines. */
void keep_finish(struct keep *k);

#endif
