/* SPDX-License-Identifier: MIT */
/* What a repository has checked out, read from its files.  git is not run, nothing is written, and
 * only a few small files are read, so that it may run on the loop's thread. */
#ifndef TRIVET_TOOLS_GIT_HEAD_H
#define TRIVET_TOOLS_GIT_HEAD_H

#include "base/arena.h"

struct git_head {
    struct str root;    /* the work tree; STR_NONE: there is no repository */
    struct str branch;  /* STR_NONE: HEAD is detached, or not known */
    bool needs_git;     /* the branch is in a format that only git reads (reftable) */
    uint64_t refs;      /* another number after a commit or a checkout */
    uint64_t index;     /* also after a change of the index */
    uint64_t work_tree; /* also after a change of the names in `dir` and root */
};

/* Of the nearest repository from `dir` upward; texts are in the arena. */
void git_head_read(struct git_head *ret, struct str dir, struct arena *a);
/* The rules of git that matter for text which a model gets. */
bool git_is_branch_name(struct str name);

#endif
