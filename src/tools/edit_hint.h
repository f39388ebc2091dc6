/* SPDX-License-Identifier: MIT */
/* What helps a model whose edit did not fit: that the new text is there already, what changed since
 * the file was read, the lines that come closest, the places when there are several. */
#ifndef TRIVET_TOOLS_EDIT_HINT_H
#define TRIVET_TOOLS_EDIT_HINT_H

#include "tools/edit.h"

enum { EDIT_HINT_CHARS = 1500 };

/* Appends lines, each with a \n in front; nothing when there is nothing to say.  text is what the
 * file holds now, seen what it held when the model read it (STR_NONE: not known).
 * Returns true, because a failed call is a result. */
bool edit_hint(struct str text, struct str seen, const struct edit *edits,
               const struct edit_report *r, struct buf *out);

#endif
