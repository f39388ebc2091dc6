/* SPDX-License-Identifier: MIT */
/* The two halves of the Kward toolset know each other through this. */
#ifndef TRIVET_TOOLSETS_KWARD_H
#define TRIVET_TOOLSETS_KWARD_H

#include "toolsets/toolset.h"

extern const struct tool kward_write_tool, kward_edit_tool, kward_ask_tool, kward_code_tool,
    kward_search_tool, kward_skill_tool;
/* The same for `trivet exec`, the chat and ACP, where the gadget "questions" is on. */
extern const struct tool run_ask_tool;

/* Resolves a path of the model and refuses what lies outside the workspace: false after it has
 * written the error result. */
bool kward_path(const struct tool_cx *cx, struct str path, struct buf *ret_path,
                struct tool_result *r);
/* The same for a file that is to be written. */
bool kward_path_write(const struct tool_cx *cx, struct str path, struct buf *ret_path,
                      struct tool_result *r);

#endif
