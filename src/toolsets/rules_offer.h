/* SPDX-License-Identifier: MIT */
/* Rules that a user can make out of one answer: which ones would let calls like this one through,
 * and where they are kept. */
#ifndef TRIVET_TOOLSETS_RULES_OFFER_H
#define TRIVET_TOOLSETS_RULES_OFFER_H

#include "base/arena.h"
#include "toolsets/rules.h"

struct rule_offer {
    struct str open;   /* what no rule covers, for people */
    bool is_part;      /* that is not the whole call */
    struct str *rules; /* together they cover it; none where the beginning of a command says too
                        * little about what will run: substitutions, sudo, sh -c */
    size_t n;
    struct str wide; /* one that covers more, or STR_NONE */
};

/* For a call of one of r->tools.  root: the workspace.  In the arena. */
void rules_offer(const struct rules *r, struct str tool, struct str args_json, struct str root,
                 struct arena *a, struct rule_offer *ret);

/* Adds an allow rule for one workspace to the user's own file: it is not there for others, and
 * never in the workspace itself.  Fine when it is there already. */
bool rules_save_await(struct str path, struct str workspace, struct str rule, struct error *err);

#endif
