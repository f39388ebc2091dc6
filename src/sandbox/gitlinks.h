/* SPDX-License-Identifier: MIT */
/* The submodules that a git index names: its entries with mode 160000.
 *
 * git opens the repository in each such directory (`git status` does) and follows the configuration
 * it finds there, so whoever guards a repository has to know them.  The index can be written by a
 * confined command and is read with suspicion: what git could read in another way than we do is an
 * error, and the caller then does not know the submodules.
 */
#ifndef TRIVET_SANDBOX_GITLINKS_H
#define TRIVET_SANDBOX_GITLINKS_H

#include "base/err.h"

enum { GIT_SHA1_BYTES = 20, GIT_SHA256_BYTES = 32 };

/* The name is relative to the top of the work tree, has no empty part, no "." or "..", no ".git"
 * in any case, and is gone after the call. */
typedef void git_link_fn(void *arg, struct str name);

/* Calls fn for each link in an index of version 2, 3 or 4, in the order of the file.  hash_bytes is
 * the length of the repository's object names (extensions.objectFormat).  Checksums are not
 * compared; git does not do it either.  An empty text is an empty index.
 * False with ERR_CORRUPT for bytes that are no index or links with other names, and with
 * ERR_INVALID for an index that needs other files to be read: a split index ("link"), a sparse one
 * ("sdir") and every extension that git must understand to go on.  fn may have been called before.
 */
bool git_index_links(struct str index, unsigned hash_bytes, git_link_fn *fn, void *arg,
                     struct error *err);

/* Whether a config has no setting but those that never make git run a program (gitconfig.c). */
bool git_config_is_harmless(struct str text);

#endif
