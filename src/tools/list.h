/* SPDX-License-Identifier: MIT */
/* Listing a directory, some levels deep.  .git and directories that ignore files name are listed,
 * but not what is in them, unless they are the root. */
#ifndef TRIVET_TOOLS_LIST_H
#define TRIVET_TOOLS_LIST_H

#include "base/arena.h"
#include "loop/loop.h"
#include "tools/walk.h"

struct list_options {
    struct str root; /* resolved directory */
    unsigned depth;  /* levels, at least 1 */
    int64_t first;   /* entries before it (from 1) are counted, not kept */
    size_t max;      /* entries kept */
};

struct list_entry {
    struct str rel;
    enum walk_kind kind;
    unsigned depth;
    bool is_dir; /* also a link to a directory */
};

struct listing {
    struct arena arena;
    struct list_entry *entries; /* parents before children, names in byte order */
    size_t n, capacity;
    int64_t n_seen; /* all entries, unless has_more */
    bool has_more;
};
#define LISTING_INIT ((struct listing){0})
void listing_clear(struct listing *l);

bool list_await(struct loop *l, const struct list_options *o, struct listing *ret,
                struct error *err);

#endif
