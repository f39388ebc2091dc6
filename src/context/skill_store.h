/* SPDX-License-Identifier: MIT */
/* Skills as they were found last.  Reading hundreds of them takes a second, so that is done on the
 * thread pool and again only after a change: a look at the time of change of each directory and
 * SKILL.md tells. */
#ifndef TRIVET_CONTEXT_SKILL_STORE_H
#define TRIVET_CONTEXT_SKILL_STORE_H

#include "context/skills.h"
#include "loop/loop.h"

struct skill_store;
struct skill_store *skill_store_new(struct loop *l);
void skill_store_free(struct skill_store *st); /* NULL is fine */

/* trivet's own places: those of cwd, $XDG_CONFIG_HOME/trivet/skills, home; in the arena. */
struct skill_places skill_places_own(struct str cwd, struct arena *a);

/* The skills that are there now; after a cancel those found last, if any were (the first look
 * cannot be canceled).  What is returned is valid until the fiber suspends. */
const struct skills *skill_store_look_await(struct skill_store *st, const struct skill_places *p);
/* Only when they have never been looked for. */
void skill_store_know_await(struct skill_store *st, const struct skill_places *p);
/* Those found last, without a look at the disk; the first time they are read, which blocks. */
const struct skills *skill_store_get(struct skill_store *st, const struct skill_places *p);

#endif
