/* SPDX-License-Identifier: MIT */
/* The kernel's walls around a command: Landlock, a system call filter, and a mount namespace where
 * one is to be had.  Nothing here needs root or a helper program.
 *
 * Seven functions are for the holder (loop/child.h, struct hold_hooks); their arguments are what
 * sandbox_policy_encode made.  Without arguments, or with kind=off, they do nothing.
 */
#ifndef TRIVET_SANDBOX_SANDBOX_H
#define TRIVET_SANDBOX_SANDBOX_H

#include "loop/child.h"
#include "sandbox/policy.h"

/* In the holder, before the fork: makes the private temporary directory, unless that is done; its
 * name replaces the template in argv and goes into the environment. */
bool sandbox_prepare(int argc, char **argv, struct error *err);
/* In the process that becomes the command.  After success it is confined for good. */
bool sandbox_confine(int argc, char **argv, struct error *err);
/* In the holder, when nobody of the command is left: removes the temporary directory. */
void sandbox_release(int argc, char **argv);

/* sandbox_confine goes by what lies where at its time.  To do that ahead of time, take notes before
 * it; when they still hold, it would do the same again.  notes.c says what is noted.  Ahead of time
 * nothing may be missing that can be had later: it fails without a mount namespace.
 *
 * The kernel takes a mount away when somebody outside renames or removes what it lies on, a guarded
 * file for instance; sandbox_watch gives a descriptor that shows it. */
void *sandbox_note(int argc, char **argv, int *ret_watch);
bool sandbox_confine_ahead(int argc, char **argv, struct error *err);
int sandbox_watch(int pid);
bool sandbox_is_as_noted(void *notes);
void sandbox_notes_free(void *notes);

extern const struct hold_hooks sandbox_hooks; /* all of these */

/* ---- what this kernel can enforce ---- */

enum sandbox_ability {
    SANDBOX_FILES,    /* reading and writing by place */
    SANDBOX_RENAME,   /* moving files between directories inside the workspace */
    SANDBOX_TRUNCATE,
    SANDBOX_TCP,
    SANDBOX_DEVICES,  /* ioctl */
    SANDBOX_SIGNALS,
    SANDBOX_CALLS,    /* the filter */
    SANDBOX_MOUNTS,   /* .git/hooks, metadata outside, /dev/shm */
    SANDBOX_N_ABILITIES,
};

struct sandbox_report {
    int landlock_abi; /* 0: none */
    bool can[SANDBOX_N_ABILITIES];
};

/* With probes_mounts a process is forked to try a namespace; the engine itself never does that and
 * goes by the system's settings. */
void sandbox_report(struct sandbox_report *ret, bool probes_mounts);
const char *sandbox_ability_name(enum sandbox_ability a);
/* What is lost where the kernel cannot. */
const char *sandbox_ability_loss(enum sandbox_ability a);

#endif
