/* SPDX-License-Identifier: MIT */
/* Instruction files of directories inside the workspace.  The system text has those of the
 * workspace and above; the files of a directory below follow the result of the first call that
 * reads or changes a file there.  After a compaction, or when a result that had them was shortened,
 * they are given again at the next such call.  For src/engine only. */
#ifndef TRIVET_ENGINE_NESTED_H
#define TRIVET_ENGINE_NESTED_H

#include "base/err.h"
#include "base/str.h"

struct call;

enum { NESTED_MAX = 8192 }; /* bytes of instructions that follow one result */

struct nested {     /* of a session; all zero at first */
    uint64_t *seen; /* hashes of directories and of texts */
    size_t n, capacity;
};
void nested_clear(struct nested *n); /* everything is given again */
bool nested_has(struct str result);  /* whether they follow it */
/* Appends to the result of a successful call what was not given yet. */
void nested_add_await(struct call *c);

#endif
