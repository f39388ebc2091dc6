/* SPDX-License-Identifier: MIT */
/* `trivet models`, `trivet login` and `trivet logout`. */
#ifndef TRIVET_CLI_ACCOUNTS_H
#define TRIVET_CLI_ACCOUNTS_H

#include "cli/commands.h"

int models_run(const struct command_row *row, int argc, char **argv);
int login_run(const struct command_row *row, int argc, char **argv);
int logout_run(const struct command_row *row, int argc, char **argv);
extern const struct option models_options[], login_options_rows[], logout_options[];
extern const char login_more[];

/* ERR_INVALID with a suggestion. */
const struct provider *accounts_find(struct str name, struct error *err);

/* One line from the terminal, which does not show it, or from stdin when that is none.  The caller
 * overwrites it.  ERR_INVALID when it is empty or too long. */
bool secret_read(const char *prompt, struct buf *ret, struct error *err);

#endif
