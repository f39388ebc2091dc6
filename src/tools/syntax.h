/* SPDX-License-Identifier: MIT */
/* A look at a file that was just changed: does it still parse?  JSON is checked here; for Python,
 * JavaScript, shell, Ruby and PHP an installed interpreter is asked, which gets the text on its
 * stdin, runs where commands run (the sandbox) and has a second. */
#ifndef TRIVET_TOOLS_SYNTAX_H
#define TRIVET_TOOLS_SYNTAX_H

#include "tools/tool.h"

enum { SYNTAX_MS = 1000, SYNTAX_LINES = 10 };

/* Appends a line end, what was asked and at most SYNTAX_LINES lines of errors that `before` does
 * not have; nothing when there are none, or when there is no checker.  before: STR_NONE for a new
 * file.
 */
void syntax_check_await(struct tool_cx *cx, struct str path, struct str before, struct str after,
                        struct buf *out);

#endif
