/* SPDX-License-Identifier: MIT */
/* The sandbox for the commands of a session: namespaces where available, Landlock, a system call
 * filter, resource limits.  Needs neither root nor a helper program.
 *
 * One room per session (loop/room.h) with these hooks; its arguments are what sandbox_policy_encode
 * made.  Without arguments they do nothing.
 */
#ifndef TRIVET_SANDBOX_SANDBOX_H
#define TRIVET_SANDBOX_SANDBOX_H

#include "loop/child.h"
#include "sandbox/policy.h"

extern const struct hold_hooks sandbox_hooks;

/* ---- what this kernel can enforce ---- */

enum sandbox_ability {
    SANDBOX_FILES,  /* reading and writing by path */
    SANDBOX_RENAME, /* moving files between directories inside the workspace */
    SANDBOX_TRUNCATE,
    SANDBOX_TCP,
    SANDBOX_DEVICES, /* ioctl */
    SANDBOX_SIGNALS,
    SANDBOX_CALLS,  /* the filter */
    SANDBOX_MOUNTS, /* .git/hooks, metadata outside, /dev/shm */
    SANDBOX_N_ABILITIES,
};

struct sandbox_report {
    int landlock_abi; /* 0: none */
    bool can[SANDBOX_N_ABILITIES];
    bool has_loopback; /* network namespaces work */
};

/* Tests namespaces in a child process; blocks for some milliseconds. */
void sandbox_report(struct sandbox_report *ret);
const char *sandbox_ability_name(enum sandbox_ability a);
/* What is not protected where the kernel lacks it. */
const char *sandbox_ability_loss(enum sandbox_ability a);

#endif
