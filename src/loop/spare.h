/* SPDX-License-Identifier: MIT */
/* A holder that was started beforehand and waits for its command: the start of a program is half of
 * what a command costs.  The engine keeps one, made in a quiet moment after the first command; the
 * next command is handed to it over its line, arguments, environment and descriptors.
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

/* What both ends know of a job, ahead of its strings: argv, then environment, each NUL-ended. */
struct spare_head {
    unsigned n_bytes, n_argv, n_env;
    bool has_fd[HOLD_N_FDS]; /* those that come with it, in this order */
};

/* Starts one unless there is one.  Failing is no fault: the next command starts its own holder. */
void spare_start(struct spare *s, const char *program);
/* Hands it the job; the process and its line are then the caller's.  False: there is none, or it
 * has died. */
bool spare_use(struct spare *s, const char *const *argv, const char *const *env,
               const int fds[HOLD_N_FDS], pid_t *ret_pid, int *ret_line);
void spare_end(struct spare *s);

/* In the spare: waits for its job and puts the descriptors in place.  Returns NULL-ended arguments;
 * the environment is set.  Ends the process when the engine does not need it any more. */
char **spare_take_job(int line, int *ret_argc);

#endif
