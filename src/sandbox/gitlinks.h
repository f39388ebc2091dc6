/* SPDX-License-Identifier: MIT */
/* The submodules that a git index names: its entries with mode 160000.
 *
 * git opens the repository in each such directory (`git status` does) and uses the configuration
 * there, so these must be protected too.  The index can be written by a confined command and is not
 * trusted: anything that git could read differently is an error, and then the submodules are
 * unknown.
 */
#ifndef TRIVET_SANDBOX_GITLINKS_H
#define TRIVET_SANDBOX_GITLINKS_H

#include "base/err.h"

enum { GIT_SHA1_BYTES = 20, GIT_SHA256_BYTES = 32 };

/* The name is relative to the top of the work tree, has no empty part, no "." or "..", no ".git" in
 * any case, and is valid during the call only. */
typedef void git_link_fn(void *arg, struct str name);

/* Calls fn for each link in an index of version 2, 3 or 4, in the order of the file. hash_bytes is
 * the length of the repository's object names (extensions.objectFormat).  Checksums are not
 * compared; git does not do it either.  An empty text is an empty index.  False with ERR_CORRUPT
 * for bytes that are no index or links with other names, and with ERR_INVALID for an index that
 * needs other files to be read: a split index ("link"), a sparse one ("sdir") and every other
 * mandatory extension. fn may have been called before.
 */
bool git_index_links(struct str index, unsigned hash_bytes, git_link_fn *fn, void *arg,
                     struct error *err);

/* The same for the index in the directory of a repository; where there is none, no call. */
bool git_dir_links(struct str git, git_link_fn *fn, void *arg, struct error *err);

/* Whether a config has only settings that never make git run a program (gitconfig.c). */
bool git_config_is_harmless(struct str text);

#endif
