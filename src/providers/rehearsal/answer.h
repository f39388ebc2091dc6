/* SPDX-License-Identifier: MIT */
/* The wits of the default scenario: plain English in, a few steps out.  It lists, reads and
 * searches files with the session's own tools when asked to, tells what a tool gave, sums up a
 * conversation, and says of itself that it is a rehearsal.
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_ANSWER_H
#define TRIVET_PROVIDERS_REHEARSAL_ANSWER_H

#include "providers/rehearsal/facts.h"
#include "providers/rehearsal/hand.h"
#include "providers/rehearsal/scenario.h"

/* Bound steps (bind.h), in the arena. */
struct steps answer_steps(struct arena *a, const struct facts *f);

/* What the user wants done; false when it is nothing that hands can do.  The strings are borrowed
 * from text. */
bool answer_wish(struct str text, struct wish *ret);

#endif
