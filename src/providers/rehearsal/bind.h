/* SPDX-License-Identifier: MIT */
/* Binding: from the steps as they were written to the steps as they are played for one ask.  All
 * texts are filled in, @list and its like have become calls of the session's own tools, `answer`
 * has become what the wits have to say.  Bound steps lie in the arena alone: the ask and the
 * scenario may go away.
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_BIND_H
#define TRIVET_PROVIDERS_REHEARSAL_BIND_H

#include "providers/rehearsal/facts.h"
#include "providers/rehearsal/scenario.h"

/* The steps that the scenario has for this request. */
struct steps scenario_choose(const struct scenario *s, const struct facts *f);
struct steps steps_bind(struct arena *a, const struct facts *f, struct steps steps);

#endif
