/* SPDX-License-Identifier: MIT */
/* The prompt of `trivet exec`: words of the command line, what stdin brings, and files.
 *
 *     stdin beside words           rule
 *     terminal, /dev/null, closed  not read
 *     file, here-document          follows the prompt as a labelled block
 *     pipe, socket                 150 ms for the first byte or the end, then to the end; a silent
 *                                  one is left, with a line on stderr
 *     - as the only word           the prompt; waited for
 */
#ifndef TRIVET_TERMINAL_PROMPT_H
#define TRIVET_TERMINAL_PROMPT_H

#include "terminal/options.h"

/* Fills o->prompt.  ERR_INVALID when there is none, ERR_LIMIT when it is too long. */
bool prompt_read(struct run_options *o, int argc, char **argv, struct error *err);

#endif
