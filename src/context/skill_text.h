/* SPDX-License-Identifier: MIT */
/* The description in a SKILL.md, and mentions of skills in prompts.  Text functions only. */
#ifndef TRIVET_CONTEXT_SKILL_TEXT_H
#define TRIVET_CONTEXT_SKILL_TEXT_H

#include "base/arena.h"

/* The front matter's description, else the first paragraph with text; valid UTF-8. */
struct str skill_description(struct str text, struct arena *a);
/* The next $name at or behind *at, without trailing punctuation; moves *at behind it. */
bool skill_next_mention(struct str text, size_t *at, struct str *ret_name);

#endif
