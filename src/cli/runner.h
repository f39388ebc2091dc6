/* SPDX-License-Identifier: MIT */
/* Commands that need the engine for a moment: they run on a fiber and print at the end. */
#ifndef TRIVET_CLI_RUNNER_H
#define TRIVET_CLI_RUNNER_H

#include "cli/commands.h"

struct runner {
    const struct command_row *row;
    struct loop *loop;
    struct engine *engine;
    struct arena arena;
    struct buf out; /* for stdout, printed at the end */
    int exit_code;  /* of a failure; 0: 1 */
};

typedef bool runner_fn(struct runner *r, void *state, struct error *err);
/* Makes loop and engine and calls fn_await on a fiber.  An error goes to stderr.  SIGINT and
 * SIGTERM cancel the fiber; then the status is 130 or 143. */
int runner_run(const struct command_row *row, runner_fn *fn_await, void *state);

#endif
