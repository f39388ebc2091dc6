/* SPDX-License-Identifier: MIT */
/* Tables of Markdown, whole. */
#ifndef TRIVET_TERMINAL_TABLE_H
#define TRIVET_TERMINAL_TABLE_H

#include "terminal/screen.h"

/* Rows of | a | b |, a line each.  In columns where they fit the window; else one value a line
 * with the name of its column. */
void table_print(struct screen *s, struct str rows);

#endif
