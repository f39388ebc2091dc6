/* SPDX-License-Identifier: MIT */
/* `trivet chat`, and `trivet` alone on a terminal: a conversation with the engine. */
#ifndef TRIVET_TERMINAL_CHAT_H
#define TRIVET_TERMINAL_CHAT_H

#include "base/buf.h"
#include "engine/engine.h"

/* argv: what stands behind `chat`.  Returns the exit status. */
int chat_run(const struct provider *const *providers, size_t n, int argc, char **argv);
/* The tables of keys and commands in Markdown, for the manual. */
void chat_describe(struct buf *out);

#endif
