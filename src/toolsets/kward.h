/* SPDX-License-Identifier: MIT */
/* The two halves of the Kward toolset know each other through this. */
#ifndef TRIVET_TOOLSETS_KWARD_H
#define TRIVET_TOOLSETS_KWARD_H

#include "toolsets/toolset.h"

extern const struct face kward_write_face, kward_edit_face, kward_ask_face, kward_code_face,
    kward_search_face, kward_skill_face;
/* The same for `trivet exec`, the chat and ACP, where the gadget "questions" is on. */
extern const struct face run_ask_face;

/* Resolves a path of the model and refuses what lies outside the workspace: false after it has
 * written the error result. */
bool kward_path(const struct tool_cx *cx, struct str path, struct buf *ret_path,
                struct tool_result *r);
/* The same for a file that is to be written. */
bool kward_path_write(const struct tool_cx *cx, struct str path, struct buf *ret_path,
                      struct tool_result *r);

#endif
