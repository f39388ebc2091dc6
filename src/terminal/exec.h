/* SPDX-License-Identifier: MIT */
/* `trivet exec`: one prompt for people and scripts. */
#ifndef TRIVET_TERMINAL_EXEC_H
#define TRIVET_TERMINAL_EXEC_H

#include "engine/engine.h"

/* argv without the program's name and the command.  Returns the exit status (exec_impl.h). */
int exec_run(const struct provider *const *providers, size_t n, int argc, char **argv);

/* The lines of --stream-json and the document of --json: for people, or as one JSON Schema. */
void exec_describe(struct buf *out, bool as_json);

#endif
