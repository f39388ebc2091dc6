/* SPDX-License-Identifier: MIT */
/* Reading what a repository brought along: instructions, skills, prompts, settings.  It is text and
 * gives no rights: trivet itself reads it, outside of every sandbox, and tells it to the model.
 *
 * Read are regular files of bounded size only.  A link may lead to another file of the same
 * directory tree, not out of it; a credential file is never read, by whatever name, nor what the
 * kernel makes up below /proc and /sys. */
#ifndef TRIVET_CONTEXT_FOREIGN_H
#define TRIVET_CONTEXT_FOREIGN_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the whole file.  root: the tree it must lie in; STR_NONE for directories of the user's
 * own, whose links lead where they like.  path is relative to root, or absolute.  ERR_NOT_FOUND
 * when there is none, ERR_LIMIT above max bytes, ERR_DENIED as said above. */
bool foreign_read(struct str root, struct str path, size_t max, struct buf *ret, struct error *err);
/* The same for the first max bytes of a file of any size, which is told. */
bool foreign_read_head(struct str root, struct str path, size_t max, struct buf *ret,
                       int64_t *ret_size, struct error *err);
/* The tree that a path belongs to: tree when the path lies in it, else STR_NONE. */
struct str foreign_root(struct str tree, struct str path);

#endif
