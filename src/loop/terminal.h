/* SPDX-License-Identifier: MIT */
/* Pseudo terminals: trivet keeps the master, the slave becomes a command's standard descriptors.
 * Also runs programs on trivet's own terminal. */
#ifndef TRIVET_LOOP_TERMINAL_H
#define TRIVET_LOOP_TERMINAL_H

#include "base/err.h"
#include "loop/loop.h"

/* Both are close-on-exec, the master is non-blocking, and neither becomes trivet's controlling
 * terminal.  The window size is set before the command starts. */
bool terminal_open(int cols, int rows, int *ret_master, int *ret_slave, struct error *err);
/* The foreground process group gets SIGWINCH if the size changes. */
bool terminal_resize(int master, int cols, int rows, struct error *err);

struct terminal_program {
    const char *const *argv;
    int in, out;
    loop_fn *done; /* called when it has ended */
    void *arg;
};
/* Starts a program of the user, a pager or an editor.  The caller must not read from the terminal
 * meanwhile. */
bool terminal_run(struct loop *l, const struct terminal_program *p, struct error *err);

#endif
