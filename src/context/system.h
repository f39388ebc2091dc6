/* SPDX-License-Identifier: MIT */
/* The system instruction: base text, host, workspace, the project's instruction files.  The same
 * bytes for every request of a session as long as those do not change: no times, no counters. */
#ifndef TRIVET_CONTEXT_SYSTEM_H
#define TRIVET_CONTEXT_SYSTEM_H

#include "base/buf.h"

/* files: names of instruction files of the workspace, in order, NULL-ended; NULL: AGENTS.md. */
void system_prompt(struct buf *out, struct str base, struct str workspace,
                   const char *const *files);

struct instruction_file {
    const char *name;
    int64_t bytes; /* that count */
};
enum { INSTRUCTIONS_MAX = 32768 }; /* bytes of a file; a larger one is left out */
/* Those of the files that are there and count; ret has room for all.  Returns how many. */
size_t system_instructions(struct str workspace, const char *const *files,
                           struct instruction_file *ret);

#endif
