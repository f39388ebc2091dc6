/* SPDX-License-Identifier: MIT */
/* Interface between the keeper of a room and the holder of one command. */
#ifndef TRIVET_LOOP_HOLD_H
#define TRIVET_LOOP_HOLD_H

#include "loop/child.h"
#include "loop/job.h"

/* Runs in its own process: starts the command, waits until all its processes have ended, then exits
 * with 0. */
_Noreturn void hold_command(struct job *j, const struct hold_hooks *hooks);
/* Blocks all signals; returns a signalfd for SIGCHLD. */
int hold_signals(void);

#endif
