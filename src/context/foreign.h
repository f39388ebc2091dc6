/* SPDX-License-Identifier: MIT */
/* Reads files of a repository: instructions, skills, prompts, settings.  trivet reads them outside
 * of the sandbox and gives them to the model, so only regular files of bounded size are read.  A
 * link must stay within the directory tree.  Credential files, under any name, and files below
 * /proc and /sys are never read. */
#ifndef TRIVET_CONTEXT_FOREIGN_H
#define TRIVET_CONTEXT_FOREIGN_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the whole file.  root: the tree it must lie in; STR_NONE for directories of the user,
 * whose links may point anywhere.  path is relative to root, or absolute.  ERR_NOT_FOUND
 * when there is none, ERR_LIMIT above max bytes, ERR_DENIED as said above. */
bool foreign_read(struct str root, struct str path, size_t max, struct buf *ret, struct error *err);
/* The same for the first max bytes of a file of any size; also gives its size. */
bool foreign_read_head(struct str root, struct str path, size_t max, struct buf *ret,
                       int64_t *ret_size, struct error *err);
/* The tree that a path belongs to: tree when the path lies in it, else STR_NONE. */
struct str foreign_root(struct str tree, struct str path);

#endif
