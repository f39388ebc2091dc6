/* SPDX-License-Identifier: MIT */
/* Rooms: where commands run.  A room is a process (keeper.c) that is started once, with an empty
 * environment, and kept; it takes commands over its line.  What walls it has is said by its
 * arguments and done by hooks (child.h).  A room that was killed is started again for the next
 * command.
 *
 * Below it: the engine's end of the holder of one command (hold.c), for child.c, which adds pipes
 * and clocks.
 */
#ifndef TRIVET_LOOP_ROOM_H
#define TRIVET_LOOP_ROOM_H

#include "loop/child.h"
#include "loop/job.h"

/* args: NULL-ended, copied; may be NULL.  The process is started by the first command. */
struct room *room_new(struct loop *l, const char *const *args);
/* fn gets a descriptor that the room hands out when it is started (hold_offer), and owns it. */
typedef void room_offer_fn(void *arg, int fd);
void room_on_offer(struct room *r, room_offer_fn *fn, void *arg);
/* What the probe hook (child.h) says in a process of its own; -1: it could not be asked.  Waits for
 * it, some milliseconds. */
int room_probe(void);
/* Ends everything in it; the process cleans up by itself. */
void room_free(struct room *r);

struct holder;

/* fds are the command's; JOB_LINE is made here.  They stay the caller's, who closes them.  on_gone
 * is called once, when the command and all it has started are gone; the holder is freed
 * afterwards. */
struct holder *holder_start(struct loop *l, const struct child_options *o, const int fds[JOB_N_FDS],
                            loop_fn *on_gone, void *arg, struct error *err);
/* TERM, KILL after the grace.  Repeated calls are one. */
void holder_term(struct holder *h);
/* TERM and no more, as often as asked. */
void holder_ask(struct holder *h);
/* KILL at once. */
void holder_kill(struct holder *h);
/* Nobody cares any more: on_gone is not called, and the loop does not stay for it. */
void holder_leave(struct holder *h);

#endif
