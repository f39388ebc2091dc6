/* SPDX-License-Identifier: MIT */
/* A walk through a directory tree by several threads at once, in no order.
 *
 * What is to do lies on one stack that all members share: directories to read, and pieces of large
 * directories.  A member takes the top, reports the files it finds and puts the directories it
 * finds back, the first of them on top, so that the work goes roughly in the order of the paths.
 *
 *     crew_new -> crew_run by every member, in its thread, until nothing is left -> crew_free
 */
#ifndef TRIVET_TOOLS_CREW_H
#define TRIVET_TOOLS_CREW_H

#include "tools/names.h"

#include <stdatomic.h>

struct crew_file {
    int dir;             /* descriptor of its directory */
    struct str path;     /* absolute, NUL-ended */
    struct str rel;      /* below the root, NUL-ended */
    struct str name;     /* the last component */
    enum walk_kind kind; /* never WALK_DIR */
};

struct crew_options {
    struct str root;    /* absolute */
    unsigned max_depth; /* 0: as deep as we go */
    bool use_ignore;    /* .gitignore, .ignore, .git/info/exclude, also above the root */
    struct names_filter filter;
    const atomic_bool *stop; /* looked at once per file */
    /* Called by several members at once, whose numbers differ.  The file is only valid
     * during the call. */
    void (*on_file)(void *arg, unsigned member, const struct crew_file *f);
    /* Whether to go into a directory; rel ends in a slash.  May be NULL. */
    bool (*enters)(void *arg, struct str rel);
    void *arg;
};

struct crew;

/* NULL when the root cannot be read.  The options must live as long as the crew. */
struct crew *crew_new(const struct crew_options *o, struct error *err);
/* Works until nothing is left or `stop` is set. */
void crew_run(struct crew *c, unsigned member);
void crew_halt(struct crew *c); /* by any member: enough is known */
/* A directory was deeper or wider than we go. */
bool crew_is_cut(const struct crew *c);
void crew_free(struct crew *c); /* when all members have returned */

#endif
