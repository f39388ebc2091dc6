/* SPDX-License-Identifier: MIT */
#ifndef TRIVET_CLI_DEMO_H
#define TRIVET_CLI_DEMO_H

#include "cli/commands.h"

/* Runs one turn with a tool call in each dialect with the rehearsal model, in a temporary
 * workspace, and prints the messages of both directions.  Returns the exit code. */
int demo_run(const struct command_row *row, int argc, char **argv);
extern const struct option demo_options[];

#endif
