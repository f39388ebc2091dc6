/* SPDX-License-Identifier: MIT */
/* Keys in texts that leave the program: in logs, in errors, in messages of a protocol.
 *
 * Three things are secret: the value of a member with a secret name; a key that trivet itself
 * holds, from the environment or from its files (secret_learn); and a word with the form of a
 * key, whoever it belongs to.  The last is a guess.  It is for texts about failures and for
 * settings, never for what a client sends back: paths, prompts, diffs, the conversation.
 *
 * Own keys are known to the whole process.  A key without digit, or with less than 8 characters,
 * is a placeholder like "lm-studio" and would tear holes into words: it is not remembered.
 */
#ifndef TRIVET_BASE_SECRET_H
#define TRIVET_BASE_SECRET_H

#include "base/buf.h"

#define SECRET_BLANK "[REDACTED]"

/* Remembers a key; the same one twice is fine. */
void secret_learn(struct str key);
/* Whether a member, variable or header with this name holds a secret. */
bool secret_is_name(struct str name);
/* Whether an own key stands in the text. */
bool secret_has_own(struct str s);

/* Append s with SECRET_BLANK for each key; false, with nothing appended, when it has none. */
bool secret_blank_own(struct str s, struct buf *out); /* own keys */
bool secret_blank(struct str s, struct buf *out);     /* and words with the form of a key */

#endif
