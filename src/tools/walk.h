/* SPDX-License-Identifier: MIT */
/* A walk through a directory tree: entries in the order of their names, parents before children,
 * links never followed.  It blocks, so it runs on the thread pool (work.h).  Where the order does
 * not matter or comes afterwards, crew.h is faster.
 */
#ifndef TRIVET_TOOLS_WALK_H
#define TRIVET_TOOLS_WALK_H

#include "tools/names.h"

#include <stdatomic.h>

enum walk_next { WALK_ON, WALK_SKIP /* do not enter this directory */, WALK_STOP };

struct walk_entry {
    struct str path; /* absolute, NUL-ended */
    struct str rel;  /* below the root, NUL-ended */
    struct str name; /* the last component */
    enum walk_kind kind;
    unsigned depth;  /* 1: directly below the root */
    bool is_ignored; /* with reports_ignored: the rules leave it out, it is not entered */
};
/* The entry is only valid during the call. */
typedef enum walk_next walk_fn(void *arg, const struct walk_entry *e);

struct walk_options {
    struct str root;      /* absolute */
    unsigned max_depth;   /* 0: as deep as we go */
    bool use_ignore;      /* .gitignore, .ignore, .git/info/exclude, also above the root */
    bool reports_ignored; /* with use_ignore: fn is called for what is ignored, too */
    struct names_filter filter;
    atomic_bool *stop; /* looked at once per entry; may be NULL */
    walk_fn *fn;
    void *arg;
};

struct walk_report {
    int64_t n_unreadable; /* directories that could not be read */
    bool is_cut;          /* deeper or wider than we go */
};

/* False when the root cannot be read, or with ERR_CANCELED after *stop; fn stopping is success. */
bool walk_run(const struct walk_options *o, struct walk_report *ret, struct error *err);

#endif
