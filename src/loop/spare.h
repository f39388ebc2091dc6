/* SPDX-License-Identifier: MIT */
/* A holder that was started beforehand and waits for its command: the start of a program is half of
 * what a command costs.  The engine keeps one, made in a quiet moment after the first command; the
 * next command is handed to it over its line, arguments, environment and descriptors (job.h).  It is
 * told how the last command was confined, and if the next one is confined alike, that is done
 * already (stage.h).
 *
 *     spare_start (1 ms after a command)      spare_use -> a holder like any other
 */
#ifndef TRIVET_LOOP_SPARE_H
#define TRIVET_LOOP_SPARE_H

#include "loop/holder.h"

#include <sys/types.h>

struct spare {
    pid_t pid; /* 0: there is none */
    int line;
};

/* Starts one unless there is one.  further: the hold arguments to expect, NULL-ended or NULL.
 * Failing is no fault: the next command starts its own holder. */
void spare_start(struct spare *s, const char *program, char *const *further);
/* Hands it the job; the process and its line are then the caller's.  False: there is none, or it
 * has died. */
bool spare_use(struct spare *s, const char *const *argv, const char *const *env,
               const int fds[HOLD_N_FDS], pid_t *ret_pid, int *ret_line);
/* Ends it and waits until it has cleaned up, but not for one that hangs.  False: it did not end by
 * itself, and its own child may be left to us. */
bool spare_end(struct spare *s);

#endif
