/* SPDX-License-Identifier: MIT */
/* `trivet sessions`: saved conversations of all dialects. */
#ifndef TRIVET_CLI_SESSIONS_H
#define TRIVET_CLI_SESSIONS_H

#include "cli/commands.h"

int sessions_run(const struct command_row *row, int argc, char **argv);
extern const struct option sessions_options[];
extern const struct verb sessions_verbs[];
extern const char sessions_more[];

#endif
