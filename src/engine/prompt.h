/* SPDX-License-Identifier: MIT */
/* What the model is sent besides the conversation, so that requests repeat each other byte for
 * byte:
 *
 *     system text     made at the first request of a session, then the same until a compaction
 *     environment     with the first message of the user: day, directory, repository, shell,
 * sandbox later changes   with the message of the user that follows: the day, the branch, memories,
 *                     instructions that are another now
 *     of the turn     with its own message: chosen skills, running jobs
 *
 * What goes with a message is its `context` (chat/message.h), which the session file keeps.
 * For src/engine only.
 */
#ifndef TRIVET_ENGINE_PROMPT_H
#define TRIVET_ENGINE_PROMPT_H

#include "base/err.h"
#include "base/buf.h"

struct arena;
struct session;
struct turn;

struct prompt {                 /* of a session */
    char *system;               /* NULL: it is made for the next request */
    char *latest;               /* what it would be now, as the model was sent it; NULL: the same */
    char *memory, *sent_memory; /* that stands in it, that was sent last */
    char *place;                /* the environment as it was sent; NULL: not yet */
    char *branch;
    uint64_t tools; /* the names of those that were offered */
    char day[16];
};
void prompt_clear(struct prompt *p);

/* Asks the dialect for what belongs to the turn's input, and looks around. */
void prompt_begin_await(struct turn *t);
/* The input is part of the conversation: what goes with it is attached and written down. */
bool prompt_attach(struct turn *t, struct error *err);
/* The system text of the next request, in the arena. */
struct str prompt_system(struct session *s, struct arena *a);
/* After a compaction the system text may be another. */
void prompt_renew(struct session *s);

/* surroundings.c */
/* The environment; the branch, or STR_NONE, in the arena. */
void surroundings_put_await(struct session *s, struct arena *a, struct buf *out,
                            struct str *ret_branch);
/* The branch alone, in the arena; git is asked only where its files do not tell, after a change. */
struct str surroundings_branch_await(struct session *s, struct arena *a);
void surroundings_day(char out[16]);

#endif
