/* SPDX-License-Identifier: MIT */
/* The engine's end of a holder process (hold.c): starts it, asks it to end its tree, sees it go,
 * and cleans up after one that was killed.  child.c adds the command's pipes and clocks.
 */
#ifndef TRIVET_LOOP_HOLDER_H
#define TRIVET_LOOP_HOLDER_H

#include "loop/child.h"

struct holder;

/* What the holder gets as 0, 1, 2, 3 and 5; -1: nothing.  They stay the caller's, who closes
 * them. */
enum { HOLD_IN, HOLD_OUT, HOLD_ERR, HOLD_EXTRA, HOLD_STATUS, HOLD_N_FDS };

/* What comes through HOLD_STATUS: that the command's process exists, unless it never did, and how
 * it ended. */
enum hold_note_kind { NOTE_STARTED, NOTE_ENDED };
struct hold_note {
    int kind;
    int value; /* process id; wait status */
};

/* on_gone is called once, when holder and tree are gone; the holder is freed afterwards. */
struct holder *holder_start(struct loop *l, const struct child_options *o,
                            const int fds[HOLD_N_FDS], loop_fn *on_gone, void *arg,
                            struct error *err);
/* TERM, KILL after the grace.  Repeated calls are one. */
void holder_term(struct holder *h);
/* TERM and no more, as often as asked. */
void holder_ask(struct holder *h);
/* KILL at once. */
void holder_kill(struct holder *h);
/* Nobody cares any more: on_gone is not called, and the loop does not stay for it. */
void holder_leave(struct holder *h);

#endif
