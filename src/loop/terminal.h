/* SPDX-License-Identifier: MIT */
/* Pseudo terminals: the master is ours, the slave becomes a command's standard descriptors. */
#ifndef TRIVET_LOOP_TERMINAL_H
#define TRIVET_LOOP_TERMINAL_H

#include "base/err.h"

/* Both are close-on-exec, the master is non-blocking, and neither becomes our controlling terminal.
 * The window has its size before anybody can ask for it. */
bool terminal_open(int cols, int rows, int *ret_master, int *ret_slave, struct error *err);
/* Who runs in front there gets SIGWINCH if the size is another one. */
bool terminal_resize(int master, int cols, int rows, struct error *err);

#endif
