/* SPDX-License-Identifier: MIT */
/* Tables of Markdown, whole. */
#ifndef TRIVET_TERMINAL_TABLE_H
#define TRIVET_TERMINAL_TABLE_H

#include "terminal/screen.h"

/* Rows of | a | b |, a line each; without a rule below the first one they are lines of text.  A
 * table that is too wide wraps the text of its cells.  On a plain screen, and where a column would
 * have hardly any room, it becomes one value a line with the name of its column. */
void table_print(struct screen *s, struct str rows);

#endif
