/* SPDX-License-Identifier: MIT */
/* Front matter: lines of `key: value` between two lines `---` at the begin of a Markdown file. Only
 * as much of YAML as templates and skills use.  Pure text.
 */
#ifndef TRIVET_CONTEXT_FRONT_H
#define TRIVET_CONTEXT_FRONT_H

#include "base/arena.h"

/* Splits a text; without front matter that is empty and the body everything.  False, and the same
 * outcome, when the matter is opened and never closed. */
bool front_split(struct str text, struct str *ret_front, struct str *ret_body);
/* A plain or quoted value on the key's line, or a block below it, its lines joined by blanks; valid
 * UTF-8.  STR_NONE when it is absent or empty. */
struct str front_value(struct str front, const char *key, struct arena *a);

#endif
