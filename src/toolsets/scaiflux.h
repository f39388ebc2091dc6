/* SPDX-License-Identifier: MIT */
/* The two halves of the ScaiFlux toolset know each other through this. */
#ifndef TRIVET_TOOLSETS_SCAIFLUX_H
#define TRIVET_TOOLSETS_SCAIFLUX_H

#include "toolsets/toolset.h"

extern const struct face scaiflux_glob_face, scaiflux_grep_face;
/* Tools of gadgets. */
extern const struct face scaiflux_fetch_face, scaiflux_search_face, scaiflux_todo_face,
    run_todo_face, explore_face, scaiflux_skill_face;

#endif
