/* SPDX-License-Identifier: MIT */
/* Which saved session the user means. */
#ifndef TRIVET_DIALECTS_FIND_H
#define TRIVET_DIALECTS_FIND_H

#include "engine/list.h"

enum { SHORT_ID = 4 }; /* characters of an id that are enough, if only one session begins so */

/* Whether a word names this session: the start of its id, or its name. */
bool find_fits(const struct session_row *row, struct str word);
/* The directory of the sessions of `trivet exec`, the chat and ACP clients. */
void find_sessions_dir(struct buf *out);
/* The session whose id is or begins with `word`, or whose name it is; *ret lies in the arena.
 * ERR_NOT_FOUND says where was searched, ERR_INVALID names the sessions when there are several. */
bool find_session_await(struct engine *e, struct arena *a, struct str word, struct session_row *ret,
                        struct error *err);
/* The newest session of a workspace.  ERR_NOT_FOUND when it has none. */
bool find_newest_await(struct engine *e, struct arena *a, struct str workspace,
                       struct session_row *ret, struct error *err);

#endif
