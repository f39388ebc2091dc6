/* SPDX-License-Identifier: MIT */
#ifndef TRIVET_CLI_DEMO_H
#define TRIVET_CLI_DEMO_H

/* Plays one tool-using turn through each dialect on the rehearsal model, in a temporary workspace,
 * and shows both directions of the wire.  Returns the exit code. */
int demo_run(void);

#endif
