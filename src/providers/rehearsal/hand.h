/* SPDX-License-Identifier: MIT */
/* Maps actions of the rehearsal model to tools, independent of the toolset.  A wish names an action
 * (list, read, search, shell, write: enum craft); the matching tool of the ask is found by its
 * name, and its schema determines the form of the arguments.
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_HAND_H
#define TRIVET_PROVIDERS_REHEARSAL_HAND_H

#include "providers/rehearsal/facts.h"

enum craft { CRAFT_LIST, CRAFT_READ, CRAFT_SEARCH, CRAFT_SHELL, CRAFT_WRITE, N_CRAFTS };

struct wish {
    enum craft craft;
    struct str path;    /* LIST, READ, SEARCH, WRITE; relative to the workspace */
    struct str pattern; /* SEARCH: regular expression */
    struct str command; /* SHELL */
    struct str content; /* WRITE */
};

/* "@list" and so on. */
bool craft_named(struct str name, enum craft *ret);
const char *craft_about(enum craft craft); /* "list a directory" */

/* The first tool of the ask that can do it, NULL when none can. */
const struct tool_def *hand_find(const struct ask *ask, enum craft craft);
/* Arguments for that tool as JSON text in the arena. */
struct str hand_arguments(struct arena *a, const struct facts *f, const struct tool_def *tool,
                          const struct wish *wish);

#endif
