/* SPDX-License-Identifier: MIT */
/* Removing a directory that strangers have filled. */
#ifndef TRIVET_SANDBOX_REMOVE_H
#define TRIVET_SANDBOX_REMOVE_H

/* Removes path and all below it, as far as possible; never follows a link, and needs the same few
 * descriptors and no stack however deep the tree is. */
void remove_tree(const char *path);
void remove_tree_at(int at, const char *name); /* in an open directory */

#endif
