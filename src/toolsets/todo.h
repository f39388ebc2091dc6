/* SPDX-License-Identifier: MIT */
/* The list of things to do, as the toolsets offer it.  It is given again after a compaction. */
#ifndef TRIVET_TOOLSETS_TODO_H
#define TRIVET_TOOLSETS_TODO_H

#include "toolsets/toolset.h"

struct todo_args {
    yyjson_val *todos;
};

extern const struct row todo_rows[]; /* items of content, status and maybe activeForm */
#define TODO_ABOUT                                                                                 \
    "Replaces the list of things to do in this session. Use it for work of several steps."

/* The list that a call with these arguments sets: how far it is ("1 of 3 done") and a line for each
 * item, "[x] content", "[~] active" or "[ ] content".  False: the call sets none. */
bool todo_text(struct str args, struct buf *ret_gist, struct buf *ret_list);
/* Sets the list and says what it is now; false with a reason. */
bool todo_update(struct tool_cx *cx, yyjson_val *todos, struct buf *ret_text, struct error *err);

#endif
