/* SPDX-License-Identifier: MIT */
/* The table of commands.  A command is a row: name, one line, options, verbs, function.  `--help`,
 * `trivet help`, the suggestion for an unknown word, `trivet describe commands` and the completions
 * of shells come from it.
 */
#ifndef TRIVET_CLI_COMMANDS_H
#define TRIVET_CLI_COMMANDS_H

#include "base/json.h"
#include "base/options.h"
#include "dialects/dialect.h"

/* The parts of this program (tables.c). */
extern const struct provider *const program_providers[];
extern const size_t program_n_providers;
extern const struct dialect *const program_dialects[];
extern const size_t program_n_dialects;
const struct dialect *program_dialect(struct str name); /* or NULL */

/* A word behind a command that selects what it does, as in `trivet sessions list`. */
struct verb {
    const char *name;
    const char *args; /* the words behind it, "" for none; the completions know ID, MODEL, ... */
    const char *about;
    bool (*run_await)(void *state, struct error *err); /* NULL where the command selects itself */
};

enum command_group { GROUP_TERMINAL, GROUP_PROTOCOL, GROUP_SETUP, N_GROUPS };

struct command_row {
    const char *name;
    const char *other; /* another name, or NULL */
    enum command_group group;
    const char *args;             /* the words behind it, for --help */
    const char *about;            /* one line */
    const char *more;             /* text of its own --help below the options, or NULL */
    const struct option *options; /* or NULL */
    const struct verb *verbs;     /* or NULL; the first one is meant when none is named */
    const char *const *words;     /* what else may stand behind it, or NULL; for completions */
    int (*run)(const struct command_row *row, int argc, char **argv);
    void (*usage)(struct buf *out); /* writes its --help; NULL: made from the row */
};
extern const struct command_row command_rows[]; /* ended by a NULL name */
const struct command_row *command_find(struct str word);

/* Options that stand before the command. */
extern const struct option global_options[];

struct env_row {
    const char *name, *about;
};
extern const struct env_row env_rows[]; /* ended by a NULL name */

/* ---- for the functions of commands ---- */

/* Reads the options of the row.  False: *ret_exit is set, and the help of the command (when `help`,
 * a member of `into`, was set) or the error was printed. */
bool command_read(const struct command_row *row, int *argc, char **argv, void *into,
                  const bool *help, int *ret_exit);
/* The verb of this name, the first one for argc 0; NULL with ERR_INVALID and a suggestion. */
const struct verb *command_verb(const struct command_row *row, int argc, char **argv,
                                struct error *err);
/* Prints "trivet NAME: TEXT" and how to get help; returns 2. */
int command_refuse(const struct command_row *row, const struct error *err);
/* To stdout; returns the exit status, 9 when it could not be written.  A terminal gets what would
 * control it, or reorder text, escaped as \u001b; so JSON keeps its meaning. */
int command_print(struct str text);

/* ---- help.c ---- */

void help_all(struct buf *out);
void help_command(const struct command_row *row, struct buf *out);
int help_unknown(struct str word); /* prints a suggestion, returns 2 */
int help_run(const struct command_row *row, int argc, char **argv);
/* All tables of this header. */
void help_describe(struct buf *out, bool as_json);

/* ---- further commands ---- */

int describe_run(const struct command_row *row, int argc, char **argv);
int version_run(const struct command_row *row, int argc, char **argv);
extern const struct option version_options[], describe_options[];
extern const char *const describe_words[];

#endif
