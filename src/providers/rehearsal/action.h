/* SPDX-License-Identifier: MIT */
/* Maps actions of the rehearsal model to tools, independent of the toolset.  An intent names an
 * action (list, read, search, shell, write: enum action); the matching tool of the ask is found by
 * its name, and its schema determines the form of the arguments.
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_ACTION_H
#define TRIVET_PROVIDERS_REHEARSAL_ACTION_H

#include "providers/rehearsal/facts.h"

enum action { ACTION_LIST, ACTION_READ, ACTION_SEARCH, ACTION_SHELL, ACTION_WRITE, N_ACTIONS };

struct intent {
    enum action action;
    struct str path;    /* LIST, READ, SEARCH, WRITE; relative to the workspace */
    struct str pattern; /* SEARCH: regular expression */
    struct str command; /* SHELL */
    struct str content; /* WRITE */
};

/* "@list" and so on. */
bool action_named(struct str name, enum action *ret);
const char *action_about(enum action action); /* "list a directory" */

/* The first tool of the ask that can do it, NULL when none can. */
const struct tool_def *action_tool(const struct ask *ask, enum action action);
/* Arguments for that tool as JSON text in the arena. */
struct str action_arguments(struct arena *a, const struct facts *f, const struct tool_def *tool,
                            const struct intent *intent);

#endif
