/* SPDX-License-Identifier: MIT */
/* What git said of the repositories of workspaces, remembered for the sessions that follow.
 *
 * It counts as long as no file that git_head_read looks at has changed, no call of the engine that
 * may write files has run, and not longer than FRESH_MS: git_head_read does not see all changes
 * that other programs make in the work tree.  For src/engine only. */
#ifndef TRIVET_ENGINE_REPOSITORY_H
#define TRIVET_ENGINE_REPOSITORY_H

#include "base/buf.h"
#include "base/err.h"
#include "tools/git_head.h"

struct engine;
struct repository_wait;

struct repository {
    struct repository *next; /* used less recently */
    char *key;
    char *branch; /* NULL: HEAD is detached */
    uint64_t refs;
    struct buf facts;
    uint64_t work_tree, n_changes;
    int64_t asked_us;
    bool has_branch, has_facts;
    bool is_taken;
    struct repository_wait *waiting;
};

/* The one with this key, after other fibers have given it back.  False only with ERR_CANCELED. */
bool repository_take_await(struct engine *e, struct str key, struct repository **ret,
                           struct error *err);
void repository_give_back(struct repository *r);
bool repository_has_branch(const struct repository *r, const struct git_head *now);
bool repository_has_facts(const struct engine *e, const struct repository *r,
                          const struct git_head *now);
/* Keeps them: head and n_changes were read before git was asked.  branch: STR_NONE when detached.
 */
void repository_keep_branch(struct repository *r, const struct git_head *head, struct str branch);
void repository_keep_facts(struct repository *r, const struct git_head *head, uint64_t n_changes,
                           struct str facts);
void repositories_free(struct engine *e);

#endif
