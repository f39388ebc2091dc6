/* SPDX-License-Identifier: MIT */
/* A shell line taken apart, for rules about commands.
 *
 * Only what can be read without running it counts as read: plain and quoted words, joined by
 * ; & && || | and line ends, with output thrown away (>/dev/null, 2>&1).  Everything else
 * (substitutions, variables, redirections into files, loops, subshells, assignments) makes the line
 * one that only the shell understands.  So does a glob or ~ in the name of a command; in its
 * arguments they stand as they were written.
 */
#ifndef TRIVET_TOOLS_COMMAND_H
#define TRIVET_TOOLS_COMMAND_H

#include "base/arena.h"

struct command { /* words without their quotes, as the program gets them but for globs and ~ */
    struct str *words;
    size_t n;
};

struct commands {
    struct command *v;
    size_t n;
};

/* The simple commands of a line, in the arena.  False when the line is not read to its end. */
bool command_split(struct arena *a, struct str line, struct commands *ret);
/* All words of any line, cut at blanks and at everything that means something to a shell; quotes
 * and backslashes are dropped.  Over-reads on purpose, some words twice: for rules that forbid. */
struct command command_words(struct arena *a, struct str line);

#endif
