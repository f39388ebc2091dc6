/* SPDX-License-Identifier: MIT */
/* Text that is not ours (of a model, a tool, a server, a file's name) on its way to a terminal or a
 * log: orders to the terminal and marks that turn or hide text are shown as \u001b and not obeyed.
 * What is left is the same text, and JSON stays the same JSON. */
#ifndef TRIVET_BASE_SHOWN_H
#define TRIVET_BASE_SHOWN_H

#include "base/buf.h"

#include <stdio.h>

/* keeps_lines: line ends and tabs go through, as in an answer of several lines. */
void shown_add(struct buf *out, struct str text, bool keeps_lines);
/* One line on a stream, a line end behind it; shown as a whole. */
void shown_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
