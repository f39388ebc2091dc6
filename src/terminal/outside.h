/* SPDX-License-Identifier: MIT */
/* The question whether a command may leave the sandbox: only a word in full is a yes, in the chat
 * and in `trivet exec`. */
#ifndef TRIVET_TERMINAL_OUTSIDE_H
#define TRIVET_TERMINAL_OUTSIDE_H

#include "base/str.h"

#define OUTSIDE_ONCE_TEXT "type outside to let it leave the sandbox"
#define OUTSIDE_ALWAYS_TEXT "always for all calls of the rule " /* which follows */
#define OUTSIDE_ELSE_TEXT "all else is no: "
#define OUTSIDE_AGAIN_TEXT "a word in full, please: "

enum outside_answer { OUTSIDE_NO, OUTSIDE_ONCE, OUTSIDE_ALWAYS, OUTSIDE_AGAIN };
/* has_rule: always is offered. */
enum outside_answer outside_answer(struct str line, bool has_rule);

#endif
