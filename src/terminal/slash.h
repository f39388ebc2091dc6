/* SPDX-License-Identifier: MIT */
/* Commands of the chat: a row each.  What they do with sessions and models is in sessions.c and
 * models.c. */
#ifndef TRIVET_TERMINAL_SLASH_H
#define TRIVET_TERMINAL_SLASH_H

#include "terminal/internal.h"

struct slash_row {
    const char *name, *args, *about;
    void (*run)(struct chat *c, struct str args);
    /* Values of the argument, for completion; may be NULL. */
    void (*complete)(struct chat *c, void (*add)(void *arg, struct str value, struct str about),
                     void *arg);
    bool needs_rest; /* not while a turn runs */
};
extern const struct slash_row slash_rows[]; /* ended by a NULL name */

/* A line that begins with a slash; false: it is no command but a prompt, as "/etc/passwd says". */
bool slash_run(struct chat *c, struct str line);
void slash_help(struct chat *c);
void slash_describe(struct buf *out);

/* sessions.c */
void slash_sessions(struct chat *c, struct str args);
void slash_fork(struct chat *c, struct str args);
void slash_new(struct chat *c, struct str args);
void slash_compact(struct chat *c, struct str args);
void slash_undo(struct chat *c, struct str args);
void slash_export(struct chat *c, struct str args);
void slash_rename(struct chat *c, struct str args);
/* Goes on with the session whose id begins so, or that has this name. */
void sessions_resume(struct chat *c, struct str start);

/* models.c */
void slash_model(struct chat *c, struct str args);
void slash_login(struct chat *c, struct str args);
void slash_logout(struct chat *c, struct str args);
void models_complete(struct chat *c, void (*add)(void *arg, struct str value, struct str about),
                     void *arg);
/* The list of what could answer, when no model is set up. */
void models_first(struct chat *c);

/* changes.c */
void slash_diff(struct chat *c, struct str args);
void slash_copy(struct chat *c, struct str args);

/* mcp.c */
void slash_mcp(struct chat *c, struct str args);
/* Sends a prompt of an MCP server; false: the name is none. */
bool slash_mcp_prompt(struct chat *c, struct str name, struct str words);

/* program.c */
void program_page(struct chat *c); /* the last output in $PAGER */
void program_edit(struct chat *c); /* the typed text in $VISUAL */
void program_shell(struct chat *c, struct str command);

#endif
