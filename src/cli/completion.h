/* SPDX-License-Identifier: MIT */
/* `trivet completion SHELL`: a script that completes commands, options and their values, made from
 * the table of commands. */
#ifndef TRIVET_CLI_COMPLETION_H
#define TRIVET_CLI_COMPLETION_H

#include "cli/commands.h"

int completion_run(const struct command_row *row, int argc, char **argv);
extern const struct option completion_options[];
extern const char *const completion_words[];
extern const char completion_more[];

/* ---- for the shells ---- */

enum value_kind {
    KIND_NONE,
    KIND_FILE,
    KIND_DIR,
    KIND_SESSION,
    KIND_MODEL,
    KIND_WORDS, /* the names in `words` */
    N_KINDS,
};

struct value { /* what may stand at a place */
    enum value_kind kind;
    struct buf words; /* separated by blanks */
};
void value_clear(struct value *v);
#define VALUE_INIT ((struct value){0})

/* Of an option that takes a value. */
void value_of_option(const struct option *o, struct value *ret);
/* Of the first word behind a verb or a command, from its `args`. */
void value_of_args(const char *args, struct value *ret);
void value_of_command(const struct command_row *row, struct value *ret);
/* The command line that prints the values of a kind, one per line; NULL: the shell knows. */
const char *value_command(enum value_kind kind);
/* The first line of a description. */
struct str first_line(const char *about);

void completion_bash(struct buf *out);
void completion_zsh(struct buf *out);
void completion_fish(struct buf *out);

#endif
