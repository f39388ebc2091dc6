/* SPDX-License-Identifier: MIT */
/* Files as the model knows them: their texts when it last read or changed them.  Only hints depend
 * on it, so large files are left out and old ones forgotten. */
#ifndef TRIVET_TOOLS_SEEN_H
#define TRIVET_TOOLS_SEEN_H

#include "base/str.h"

struct seen;
struct seen *seen_new(void);
void seen_free(struct seen *s);
enum { SEEN_FILE_BYTES = 256 << 10 }; /* larger files are not remembered */
/* Remembers what the file at the resolved path holds now; s may be NULL. */
void seen_put(struct seen *s, struct str path, struct str text);
/* It is not known any more what the file holds. */
void seen_forget(struct seen *s, struct str path);
/* The text it had, borrowed; STR_NONE when that is not known. */
struct str seen_get(const struct seen *s, struct str path);

#endif
