/* SPDX-License-Identifier: MIT */
/* What the three toolsets say when a file that is to be read cannot be. */
#ifndef TRIVET_TOOLSETS_LOOK_H
#define TRIVET_TOOLSETS_LOOK_H

#include "tools/tool.h"

/* Adds lines with hints behind an error: names that are like the missing one, or which tool lists a
 * directory (NULL: the toolset has none).  path: as the model named it, resolved: where it leads.
 * False with ERR_CANCELED. */
bool look_hint_await(struct tool_cx *cx, struct str path, struct str resolved,
                     const char *list_tool, struct buf *out, struct error *err);

#endif
