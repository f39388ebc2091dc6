/* SPDX-License-Identifier: MIT */
/* Finding files by the pattern of their paths. */
#ifndef TRIVET_TOOLS_GLOB_H
#define TRIVET_TOOLS_GLOB_H

#include "base/arena.h"
#include "base/err.h"
#include "loop/loop.h"

struct glob_options {
    struct str root;         /* resolved directory */
    struct str pattern;      /* held against the path below root */
    const char *const *skip; /* names that are left out; NULL-ended; may be NULL */
    bool use_ignore;         /* what ignore files name is left out */
    size_t max;              /* paths kept: the first in byte order */
};

struct glob_found {
    struct arena arena;
    struct str *paths; /* below root, in byte order */
    size_t n;
    bool is_cut; /* there may be more */
};
#define GLOB_FOUND_INIT ((struct glob_found){0})
void glob_found_clear(struct glob_found *g);

/* Files and links, never directories.  ERR_INVALID for a pattern that is absolute or climbs. */
bool glob_await(struct loop *l, const struct glob_options *o, struct glob_found *ret,
                struct error *err);

#endif
