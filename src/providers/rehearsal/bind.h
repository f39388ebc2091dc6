/* SPDX-License-Identifier: MIT */
/* Binding: converts the steps of a scenario to the steps that are played for one ask.  Placeholders
 * are filled in, @list and the like become calls of the session's own tools, `answer` becomes the
 * steps of answer.h.  Bound steps are in the arena only: the ask and the scenario may be freed.
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_BIND_H
#define TRIVET_PROVIDERS_REHEARSAL_BIND_H

#include "providers/rehearsal/facts.h"
#include "providers/rehearsal/scenario.h"

/* The steps that the scenario has for this request. */
struct steps scenario_choose(const struct scenario *s, const struct facts *f);
struct steps steps_bind(struct arena *a, const struct facts *f, struct steps steps);

#endif
