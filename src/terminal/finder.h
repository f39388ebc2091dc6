/* SPDX-License-Identifier: MIT */
/* Files that could be meant by what is typed behind an @: entries of the directory that is typed so
 * far, then files of the whole workspace whose path holds the word, or at least its letters in
 * their order.  Directories are read and names compared on threads. */
#ifndef TRIVET_TERMINAL_FINDER_H
#define TRIVET_TERMINAL_FINDER_H

#include "terminal/internal.h"

/* Looks for the word, instead of an earlier one; finder_found is called when there is a result. */
void finder_ask(struct chat *c, struct str word, size_t from);
void finder_forget(struct chat *c); /* no result is wanted any more */
void finder_clear(struct file_finder *f);

/* complete.c: the best ones first. */
void finder_found(struct chat *c, const struct str *names, size_t n);

#endif
