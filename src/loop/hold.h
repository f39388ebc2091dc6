/* SPDX-License-Identifier: MIT */
/* The holder of a command, seen by the keeper of its room. */
#ifndef TRIVET_LOOP_HOLD_H
#define TRIVET_LOOP_HOLD_H

#include "loop/child.h"
#include "loop/job.h"

/* In a process of its own: starts the command, stays as long as one of its processes lives, then
 * exits with 0. */
_Noreturn void hold_command(struct job *j, const struct hold_hooks *hooks);
/* Blocks all signals; a descriptor that tells of children. */
int hold_signals(void);

#endif
