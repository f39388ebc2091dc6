/* SPDX-License-Identifier: MIT */
/* The settings of trivet as rows.  A setting comes from the first of:
 *
 *     an option of the command line
 *     the environment          the variable of its row
 *     the project              .trivet/config.json of the workspace
 *     the user                 $XDG_CONFIG_HOME/trivet/config.json
 *     the machine              /etc/trivet/config.json, whose policy limits all of these
 * (engine/site.h) the program
 *
 * Files are JSON objects: {"model": "openai/gpt-6-sol", "max-turns": 50}.  A project is written by
 * others than the user: it can set what costs or permits nothing more, and make other settings
 * stricter; what it may not set is ignored and reported.
 */
#ifndef TRIVET_DIALECTS_SETTINGS_H
#define TRIVET_DIALECTS_SETTINGS_H

#include "base/json.h"
#include "base/options.h"

enum setting_from { FROM_PROGRAM, FROM_MACHINE, FROM_USER, FROM_PROJECT, FROM_ENVIRONMENT, N_FROM };
extern const char *const setting_from_names[N_FROM];

enum setting_guard {
    PROJECT_MAY,      /* a project can set it */
    PROJECT_STRICTER, /* only to a value of a lower rank than the one it replaces */
    PROJECT_NEVER,
};

struct setting {
    const char *name; /* also that of the option, where there is one */
    const char *variable;
    const char *value;     /* what it takes, as in --help */
    const char *otherwise; /* the program's own value, or NULL: none */
    const char *about;
    enum option_kind kind; /* OPT_TAKEN: a value of the sandbox, its kind is in `number` */
    int number;
    const char *const *choices;
    enum setting_guard guard;
    double (*rank)(struct str value); /* for PROJECT_STRICTER: smaller is stricter */
    bool is_shared; /* of all dialects; others count for exec, chat and ACP alone */
};
extern const struct setting setting_rows[];                             /* ended by a NULL name */
const struct setting *setting_find(struct str name, struct error *err); /* suggests a similar one */

/* Reads the files of the machine and of the user, and puts shared settings into the environment. */
void settings_begin(void);
/* Reads that of the project too, instead of an earlier one. */
void settings_use_project(struct str workspace);

/* The value and its origin; STR_NONE: none.  It is valid until settings_use_project. */
struct str setting_get(const struct setting *row, enum setting_from *ret_from);
/* The value of one origin, valid or not; STR_NONE: it has none. */
struct str setting_get_from(const struct setting *row, enum setting_from from);
/* Whether the project's value counts; *ret_why says why not. */
bool setting_is_allowed(const struct setting *row, struct str value, const char **ret_why);
bool setting_check(const struct setting *row, struct str value, struct error *err);
/* For exec and chat: sets members that have a row of this name by option rows, as if the settings
 * were options that stand in front of the others.  The model and the effort are not among them. */
bool settings_fill(const struct option *rows, void *into, struct error *err);

void settings_path(enum setting_from from, struct buf *out); /* of a file; "" for the others */
/* The JSON Schema of the files; or Markdown tables. */
void settings_schema(struct buf *out);
void settings_describe(struct buf *out);

#endif
