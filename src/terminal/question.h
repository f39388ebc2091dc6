/* SPDX-License-Identifier: MIT */
/* The question before a call, in the words that the chat and `trivet exec` share:
 *
 *     ? write_file wants to change main.c
 *       - old text
 *       + new text
 *     prompt mode asks before each change
 */
#ifndef TRIVET_TERMINAL_QUESTION_H
#define TRIVET_TERMINAL_QUESTION_H

#include "engine/event.h"
#include "toolsets/rules_offer.h"

enum question_part { QUESTION_HEAD, QUESTION_TEXT, QUESTION_OLD, QUESTION_NEW, QUESTION_NOTE };
typedef void question_line(void *arg, enum question_part part, struct str line);

/* Passes the lines to fn: the whole call, since no part of it may be allowed unseen, and why it is
 * asked.  Control sequences in it are escaped. */
void question_put(const struct rules *rules, const struct event *e, const struct rule_offer *offer,
                  question_line *fn, void *arg);

#endif
