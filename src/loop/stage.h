/* SPDX-License-Identifier: MIT */
/* The command's process, made beforehand by a spare (spare.h): confined already, it waits for what
 * it is to become.  To confine takes most of a millisecond; here nobody waits for it.
 *
 *     stage_start     takes note of what confining goes by, forks, confines
 *     stage_wait      until the spare's job comes; something noted may change meanwhile, or what
 *                     confining has made may be undone from outside
 *     stage_use       the same policy, and all is as noted?  Then the job is handed on
 *     stage_drop      otherwise; the command gets a process made as if there had been no stage
 */
#ifndef TRIVET_LOOP_STAGE_H
#define TRIVET_LOOP_STAGE_H

#include "loop/child.h"

#include <sys/types.h>

struct stage {
    const struct hold_hooks *hooks;
    pid_t pid; /* 0: there is none */
    int line;  /* to the process */
    int n;
    char **further;  /* what it is confined by */
    char **expected; /* the same as it came, before the preparation */
    void *notes;
    int watch;  /* shows POLLPRI when what was noted may have changed; or -1 */
    int undone; /* the same when what confining made was undone; -1 until it is confined */
};

/* become is called in the process with the job it got and does not return. */
void stage_start(struct stage *s, int n, char **further, const struct hold_hooks *hooks,
                 void (*become)(int argc, char **argv));
/* Until a job comes over the spare's line; false at its end, which is the end of the stage too. */
bool stage_wait(struct stage *s, int line);
/* Whether a command with these further arguments can have it. */
bool stage_fits(struct stage *s, int n, char **further);
/* Hands the job on, with descriptors 0 to 2, and 3 if has_extra.  The process then is the caller's
 * child like any other.  Does not wait for one that hangs, nor when something comes over the spare's
 * line. */
bool stage_use(struct stage *s, int line, char **argv, bool has_extra);
void stage_drop(struct stage *s);

#endif
