/* SPDX-License-Identifier: MIT */
/* `trivet config`: reads and changes settings, and says where they come from. */
#ifndef TRIVET_CLI_CONFIG_H
#define TRIVET_CLI_CONFIG_H

#include "cli/commands.h"

int config_run(const struct command_row *row, int argc, char **argv);
extern const struct option config_options[];
extern const struct verb config_verbs[];
extern const char config_more[];

#endif
