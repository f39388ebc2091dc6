/* SPDX-License-Identifier: MIT */
/* The logic of the default scenario: turns an English request into a few steps.  It lists, reads
 * and searches files with the session's own tools when asked to, shows the result of a tool,
 * summarises a conversation, and says that it is a rehearsal.
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_ANSWER_H
#define TRIVET_PROVIDERS_REHEARSAL_ANSWER_H

#include "providers/rehearsal/facts.h"
#include "providers/rehearsal/action.h"
#include "providers/rehearsal/scenario.h"

/* Bound steps (bind.h), in the arena. */
struct steps answer_steps(struct arena *a, const struct facts *f);

/* The action that the user asks for; false when no tool can do it.  The strings are borrowed from
 * text. */
bool answer_intent(struct str text, struct intent *ret);

#endif
