/* SPDX-License-Identifier: MIT */
/* The terminal of the process: its modes, and that they are as before whenever the process ends.
 *
 * The chat runs in a child.  Its parent, the guard, does nothing but wait and puts the terminal
 * back when the child was killed; it also prints what the child wrote to stderr and could not show.
 * Modes that a shell would not survive (alternate screen, mouse, hidden cursor) are never set.
 */
#ifndef TRIVET_TERMINAL_TTY_H
#define TRIVET_TERMINAL_TTY_H

#include "base/buf.h"

/* Starts the child and returns there, with stderr going to a file in memory.  In the parent it does
 * not return: the process ends as the child does. */
void tty_guard(void);
/* Whether the title of the window is saved by tty_enter and restored by tty_leave; before
 * tty_guard. */
void tty_keep_title(bool keeps);
/* Raw mode and bracketed paste on the terminal; both can be repeated. */
void tty_enter(int fd);
void tty_leave(void);
/* Restores the terminal when the process crashes or exits. */
void tty_guard_crash(void);
void tty_size(int fd, int *ret_cols, int *ret_lines);
/* What was written to stderr since the last time. */
void tty_take_stderr(struct buf *out);
/* Leaves the terminal to the shell until the process is continued. */
void tty_suspend(void);

#endif
