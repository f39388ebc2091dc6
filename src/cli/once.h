/* SPDX-License-Identifier: MIT */
/* `trivet run`: one prompt, one turn, for people and scripts. */
#ifndef TRIVET_CLI_ONCE_H
#define TRIVET_CLI_ONCE_H

#include "providers/provider.h"

/* argv: what stands behind `run`.  Returns the exit status. */
int once_run(const struct provider *const *providers, size_t n, int argc, char **argv);

#endif
