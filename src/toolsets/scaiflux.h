/* SPDX-License-Identifier: MIT */
/* The two halves of the ScaiFlux toolset know each other through this. */
#ifndef TRIVET_TOOLSETS_SCAIFLUX_H
#define TRIVET_TOOLSETS_SCAIFLUX_H

#include "toolsets/toolset.h"

extern const struct tool scaiflux_glob_tool, scaiflux_grep_tool;
/* Tools of gadgets. */
extern const struct tool scaiflux_fetch_tool, scaiflux_search_tool, scaiflux_todo_tool,
    run_todo_tool, explore_tool, scaiflux_skill_tool;

#endif
