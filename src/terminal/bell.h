/* SPDX-License-Identifier: MIT */
/* What a user sees who looks elsewhere: the title of the window, the bell, and a notification (OSC
 * 9). Each has a setting.  Names of tools and directories in them are escaped like all text of
 * others.
 */
#ifndef TRIVET_TERMINAL_BELL_H
#define TRIVET_TERMINAL_BELL_H

#include "terminal/internal.h"

/* Reads the settings; before the process has a guard. */
void bell_begin(struct chat *c);
/* The title follows what the chat does; once it was set by something else, it is set again. */
void bell_title(struct chat *c);
void bell_forget_title(struct chat *c);
/* The user is waited for. */
void bell_ring(struct chat *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
