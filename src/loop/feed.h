/* SPDX-License-Identifier: MIT */
/* The input queue of a command: for a descriptor that trivet created, the write end of a pipe or
 * the master of a terminal. io.h's writer is for inherited descriptors: it reopens them by name,
 * and reopening the master of a terminal makes another terminal.
 */
#ifndef TRIVET_LOOP_FEED_H
#define TRIVET_LOOP_FEED_H

#include "loop/loop.h"

struct feed;

/* Takes fd over (closes it on failure too) and makes it non-blocking. on_rest is called from the
 * loop when the queue has become empty or the read end was closed; the feed may be freed in it. */
struct feed *feed_new(struct loop *l, int fd, loop_fn *on_rest, void *arg, struct error *err);
/* Writes without blocking and queues a copy of the rest; dropped when broken. */
void feed_put(struct feed *f, struct str bytes);
size_t feed_queued(const struct feed *f);
bool feed_is_broken(const struct feed *f);
void feed_free(struct feed *f); /* closes fd; what is queued is lost */

#endif
