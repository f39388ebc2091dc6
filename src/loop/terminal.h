/* SPDX-License-Identifier: MIT */
/* Pseudo terminals: the master is ours, the slave becomes a command's standard descriptors.  And
 * programs that get our own terminal for a while. */
#ifndef TRIVET_LOOP_TERMINAL_H
#define TRIVET_LOOP_TERMINAL_H

#include "base/err.h"
#include "loop/loop.h"

/* Both are close-on-exec, the master is non-blocking, and neither becomes our controlling terminal.
 * The window has its size before anybody can ask for it. */
bool terminal_open(int cols, int rows, int *ret_master, int *ret_slave, struct error *err);
/* Who runs in front there gets SIGWINCH if the size is another one. */
bool terminal_resize(int master, int cols, int rows, struct error *err);

/* Starts a program of the user's, a pager or an editor, with these descriptors as its own; done is
 * called when it has ended.  We do not read from the terminal meanwhile. */
bool terminal_run(struct loop *l, const char *const *argv, int in, int out, loop_fn *done,
                  void *arg, struct error *err);

#endif
