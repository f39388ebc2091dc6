/* SPDX-License-Identifier: MIT */
/* Names that are like one that is not there. */
#ifndef TRIVET_TOOLS_NEAR_H
#define TRIVET_TOOLS_NEAR_H

#include "base/buf.h"
#include "loop/loop.h"

enum { NEAR_MOST = 3 };

/* The entries of the directory of `path` (resolved) whose names are most like its own, at most
 * three, joined by ", ", each with `shown` before it; nothing when none is like it. */
bool near_names_await(struct loop *l, struct str path, struct str shown, struct buf *ret,
                      struct error *err);
/* How many characters must be changed, added, removed or swapped; upper and lower case are alike.
 */
size_t near_distance(struct str a, struct str b);

#endif
