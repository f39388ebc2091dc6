/* SPDX-License-Identifier: MIT */
/* Removes or renames files that a command made. */
#ifndef TRIVET_SANDBOX_REMOVE_H
#define TRIVET_SANDBOX_REMOVE_H

#include <stdbool.h>
#include <stddef.h>

/* Removes path and all below it, as far as possible.  Never follows a link; uses a fixed number of
 * descriptors and no recursion, however deep the tree is. */
void remove_tree(const char *path);
void remove_tree_at(int at, const char *name); /* in an open directory */

/* Renames an entry of an open directory to NAME.untrusted, or NAME.untrusted-2 ... */
bool put_aside(int dir, const char *name, char *ret_name, size_t size);

#endif
