/* SPDX-License-Identifier: MIT */
/* Escapes untrusted text (of a model, a tool, a server, a file name) for a terminal or a log:
 * control sequences and characters that reorder or hide text are printed as \u001b.  Other text is
 * unchanged, and JSON keeps its meaning. */
#ifndef TRIVET_BASE_SHOWN_H
#define TRIVET_BASE_SHOWN_H

#include "base/buf.h"

#include <stdio.h>

/* keeps_lines: line ends and tabs are not escaped, for texts of several lines. */
void shown_add(struct buf *out, struct str text, bool keeps_lines);
/* Prints one escaped line and a line end to a stream. */
void shown_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
