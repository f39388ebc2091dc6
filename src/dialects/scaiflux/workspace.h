/* SPDX-License-Identifier: MIT */
/* Files of the workspace: sessions, configuration, gadgets.  For this folder only. */
#ifndef TRIVET_DIALECTS_SCAIFLUX_WORKSPACE_H
#define TRIVET_DIALECTS_SCAIFLUX_WORKSPACE_H

#include "dialects/scaiflux/structs.h"

/* place.c */
/* Makes or resumes the session.  NULL, or the code of the startup error. */
const char *flux_open_session_await(struct flux *f, struct error *err);
/* The sessions of the workspace lie in these directories. */
enum { FLUX_N_PLACES = 2 };
struct flux_places {
    struct str dirs[FLUX_N_PLACES]; /* in the arena */
};
struct flux_places flux_find_places(const struct flux *f, struct arena *a);
size_t flux_session_dirs(struct arena *a, struct str workspace, struct str ret[2]);

/* config.c */
bool flux_config_read(struct flux *f, struct flux_config *ret, struct error *err);
void flux_config_clear(struct flux_config *c);
/* The effective members of both files, without secrets; with a name only that member, and false
 * when there is none.  Also as lines of text. */
bool flux_config_put(const struct flux_config *c, struct str name, struct jw *w, struct buf *text);
/* Sets a member of the project's file to a finished JSON value. */
bool flux_config_save_await(struct flux *f, const char *key, struct str value, struct error *err);
/* Creates a file of the workspace; an existing one is not changed. */
bool flux_create_file_await(struct flux *f, const char *name, struct str text, bool *ret_made,
                            struct error *err);

/* gadgets.c */
void flux_start_gadgets(struct flux *f);
int flux_find_gadget(struct str name); /* -1: there is none */
bool flux_switch_gadget(struct flux *f, int gadget, bool on, struct error *err);
/* "available": all gadgets with their tools; also as lines of text. */
void flux_put_available(struct flux *f, struct jw *w, struct buf *text);
/* The list of skills in the system instruction. */
void flux_put_skills_await(void *flux, struct session *s, struct str input,
                           struct context_parts *out);
/* "tools": names of what is offered to the model now. */
void flux_put_tools(struct flux *f, struct jw *w);

#endif
