/* SPDX-License-Identifier: MIT */
/* The system instruction: base text, host, workspace, instruction files.  The same bytes for every
 * request of a session as long as those do not change: no times, no counters. */
#ifndef TRIVET_CONTEXT_SYSTEM_H
#define TRIVET_CONTEXT_SYSTEM_H

#include "base/buf.h"

/* own: names of instruction files besides the usual ones (instructions.h), NULL-ended, or NULL. */
void system_prompt(struct buf *out, struct str base, struct str workspace, const char *const *own);

#endif
