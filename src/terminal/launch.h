/* SPDX-License-Identifier: MIT */
/* What `trivet exec` and the chat share: the rules, the settings and the session that the command
 * line asks for, on top of dialects/profile.h.
 */
#ifndef TRIVET_TERMINAL_LAUNCH_H
#define TRIVET_TERMINAL_LAUNCH_H

#include "engine/session.h"
#include "terminal/options.h"

struct launch {
    struct engine *engine; /* the caller's, and so are the options */
    const struct run_options *options;
    struct arena arena;
    struct str workspace; /* real path */
    struct rules rules;
    struct session_settings settings;
    struct session *session;
    struct str path;  /* of the session that goes on, or STR_NONE */
    struct str name;  /* of the session, as --resume takes it */
    bool is_headless; /* there is no user who would see a list of things to do */
    bool is_usage;    /* launch_prepare failed because of a rule on the command line */
};

/* Finds the workspace, loads the rules, fills the settings. */
bool launch_prepare(struct launch *l, struct error *err);
/* Finds the session of --resume or --continue.  ERR_NOT_FOUND, or ERR_INVALID for a word that fits
 * several. */
bool launch_find_await(struct launch *l, struct error *err);
/* Opens it, a copy of it with --fork, or a new one. */
bool launch_open_await(struct launch *l, struct error *err);
/* Fills the settings again: the options have changed. */
void launch_refill(struct launch *l);
/* A new session; the session of this file.  None is l->session before launch_use. */
struct session *launch_new(struct launch *l, struct error *err);
struct session *launch_resume_await(struct launch *l, struct str path, struct error *err);
/* A copy in a file of its own. */
struct session *launch_copy_await(struct launch *l, struct session *from, struct error *err);
/* It is l->session from now on; where that fails, it is closed and l->session NULL. */
bool launch_use(struct launch *l, struct session *s, struct error *err);
void launch_close(struct launch *l); /* the session; fine when there is none */
void launch_clear(struct launch *l); /* after the engine is gone */

#endif
