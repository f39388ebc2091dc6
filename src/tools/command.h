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

/* What joins a command to the next one. */
enum command_join { JOIN_END, JOIN_THEN, JOIN_AND, JOIN_OR, JOIN_PIPE, JOIN_BACKGROUND };

struct simple_command { /* words without their quotes, as the program gets them but for globs and ~
                         */
    struct str *words;
    size_t n;
    bool *opens; /* of each word: an unquoted glob or ~ is in it */
    enum command_join join;
};

struct commands {
    struct simple_command *v;
    size_t n;
};

/* The simple commands of a line, in the arena.  False when the line is not read to its end. */
bool command_split(struct arena *a, struct str line, struct commands *ret);
/* The same, and texts in two forms of here-documents with a quoted end word are read as well, as
 * models write commit messages: "$(cat <<'EOF' ... )" as a word or a part of one, and <<'EOF' as
 * the last thing of a line.  The second is input and becomes no word. */
bool command_split_texts(struct arena *a, struct str line, struct commands *ret);
/* All words of any line, cut at blanks and at everything that means something to a shell; quotes
 * and backslashes are dropped.  Over-reads on purpose, some words twice: for rules that forbid. */
struct simple_command command_words(struct arena *a, struct str line);

#endif
