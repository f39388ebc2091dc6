/* SPDX-License-Identifier: MIT */
/* What a process is to become, sent over a line to one that was started beforehand: arguments,
 * environment and descriptors.
 *
 *     engine --- job ---> spare (spare.h) --- job ---> the command's process (stage.h)
 */
#ifndef TRIVET_LOOP_JOB_H
#define TRIVET_LOOP_JOB_H

#include "loop/holder.h"

/* argv and env are NULL-ended; fds as for holder_start.  False: nobody is there to take it. */
bool job_send(int line, const char *const *argv, const char *const *env, const int fds[HOLD_N_FDS]);

/* Waits for a job and puts its descriptors in place; 0 to 5 must be open, so that what comes lies
 * above.  Returns NULL-ended arguments; the environment is set.  NULL: the line has ended, or what
 * came makes no sense. */
char **job_take(int line, int *ret_argc);

#endif
