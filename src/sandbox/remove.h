/* SPDX-License-Identifier: MIT */
/* Removes a directory with untrusted content. */
#ifndef TRIVET_SANDBOX_REMOVE_H
#define TRIVET_SANDBOX_REMOVE_H

/* Removes path and all below it, as far as possible.  Never follows a link; uses a fixed number of
 * descriptors and no recursion, however deep the tree is. */
void remove_tree(const char *path);
void remove_tree_at(int at, const char *name); /* in an open directory */

#endif
