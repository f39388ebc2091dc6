/* SPDX-License-Identifier: MIT */
/* Reading the files of a skill: never outside of its folder. */
#ifndef TRIVET_TOOLS_SKILL_H
#define TRIVET_TOOLS_SKILL_H

#include "tools/tool.h"

enum { SKILL_BYTES = 100000 };

/* The text of a file below the skill's folder; an empty path means SKILL.md.  ERR_INVALID for an
 * absolute path and for what is no text, ERR_DENIED for one that leaves the folder (links included)
 * or that the sandbox hides, ERR_NOT_FOUND, ERR_LIMIT beyond SKILL_BYTES. */
bool skill_read(const struct tool_cx *cx, struct str folder, struct str path, struct buf *ret,
                struct error *err);

#endif
