/* SPDX-License-Identifier: MIT */
/* Questions on a terminal.  What was typed before a question could be read is not its answer: the
 * terminal's input is dropped when the question stands there, and so is what comes within
 * TTY_QUESTION_QUIET_MS. */
#ifndef TRIVET_BASE_TTY_QUESTION_H
#define TRIVET_BASE_TTY_QUESTION_H

#include "base/buf.h"
#include "base/err.h"

enum { TTY_QUESTION_QUIET_MS = 300 };

struct tty_question {
    int64_t asked_us; /* monotonic; 0: not yet */
};

/* The question was just shown.  fd is the terminal, or -1 to keep its input. */
void tty_question_ask(struct tty_question *q, int fd);
/* Whether what comes now is too early for an answer; then the time begins again. */
bool tty_question_is_early(struct tty_question *q);
extern const char tty_question_too_early[]; /* what is said then */
/* Shows the text on stderr and reads a line of at most max bytes from stdin, which blocks.  A
 * terminal is asked again after a line that came too early; lines of pipes and files always count.
 * Appends to ret, without the line end; nothing at the end of input. */
bool tty_question_read(const char *text, struct buf *ret, size_t max, struct error *err);

#endif
