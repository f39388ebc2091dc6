/* SPDX-License-Identifier: MIT */
/* Rooms: processes in which commands run.  A room (keeper.c) is started once, with an empty
 * environment, and kept; it receives commands over a control socket.  Its arguments describe its
 * sandbox, which hooks set up (child.h).  A room that was killed is started again for the next
 * command.
 *
 * Below it: the engine's end of the process that holds one command (hold.h), for child.c, which
 * adds pipes and timers.
 */
#ifndef TRIVET_LOOP_ROOM_H
#define TRIVET_LOOP_ROOM_H

#include "loop/child.h"
#include "loop/command.h"

/* args: NULL-ended, copied; may be NULL.  The process is started by the first command. */
struct room *room_new(struct loop *l, const char *const *args);
/* fn gets a descriptor that the room sends when it starts (hold_offer), and owns it. */
typedef void room_offer_fn(void *arg, int fd);
void room_on_offer(struct room *r, room_offer_fn *fn, void *arg);
/* Runs the probe hook (child.h) in a child process and returns its result; -1: failed.  Blocks for
 * some milliseconds. */
int room_probe(void);
/* Kills all processes in it; the room's process cleans up by itself. */
void room_free(struct room *r);

struct holder;

/* Called with each message of the holder, and at last with NULL: the command and all its
 * descendants have ended.  The holder is freed then. */
typedef void holder_fn(void *arg, const struct command_note *note);

/* fds are the command's; COMMAND_LINE is made here.  The caller closes them. */
struct holder *holder_start(struct loop *l, const struct child_options *o,
                            const int fds[COMMAND_N_FDS], holder_fn *fn, void *arg,
                            struct error *err);
/* SIGTERM, then SIGKILL after the grace.  Repeated calls have no effect. */
void holder_term(struct holder *h);
/* SIGTERM only, at each call. */
void holder_ask(struct holder *h);
/* SIGKILL at once. */
void holder_kill(struct holder *h);
/* Detaches it: fn is not called, and loop_run does not wait for it. */
void holder_leave(struct holder *h);

#endif
