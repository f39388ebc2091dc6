/* SPDX-License-Identifier: MIT */
/* Colours in code: comments, strings, numbers and the words of a dozen languages, line by line. */
#ifndef TRIVET_TERMINAL_HIGHLIGHT_H
#define TRIVET_TERMINAL_HIGHLIGHT_H

#include "terminal/screen.h"

/* The language that a code block names; 0: unknown, its code has one colour. */
int highlight_language(struct str name);
/* Prints a line without its end.  in_comment: a comment of several lines is open. */
void highlight_line(struct screen *s, int language, int *in_comment, struct str line);

#endif
