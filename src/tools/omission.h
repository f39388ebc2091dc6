/* SPDX-License-Identifier: MIT */
/* Lines by which models leave text out: "# ... rest of file unchanged". */
#ifndef TRIVET_TOOLS_OMISSION_H
#define TRIVET_TOOLS_OMISSION_H

#include "base/err.h"
#include "base/str.h"

/* ERR_INVALID, naming the line, when the new text has such a line that the old one has not. */
bool omission_check(struct str new_text, struct str old_text, struct error *err);

#endif
