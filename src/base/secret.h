/* SPDX-License-Identifier: MIT */
/* Removes API keys from logs, errors and protocol messages.
 *
 * Three things are secret: the value of a member with a secret name; a key that trivet itself
 * holds, from the environment or from its files (secret_learn); and any word that looks like a key.
 * The last is a heuristic.  It is applied to error texts and settings, never to text that a client
 * sends back: paths, prompts, diffs, the conversation.
 *
 * Own keys are global to the process.  A key without digit, or with less than 8 characters, is a
 * placeholder like "lm-studio" and may be part of other words: it is not remembered.
 */
#ifndef TRIVET_BASE_SECRET_H
#define TRIVET_BASE_SECRET_H

#include "base/buf.h"

#define SECRET_BLANK "[REDACTED]"

/* Remembers a key; the same one twice is fine. */
void secret_learn(struct str key);
/* Whether a member, variable or header with this name holds a secret. */
bool secret_is_name(struct str name);
/* Whether the text contains an own key. */
bool secret_has_own(struct str s);

/* Append s with SECRET_BLANK for each key; false, with nothing appended, when it has none. */
bool secret_blank_own(struct str s, struct buf *out); /* own keys */
bool secret_blank(struct str s, struct buf *out);     /* and words that look like a key */

#endif
