/* SPDX-License-Identifier: MIT */
/* Internals of src/loop: struct loop and its ready list.
 *
 *     poll: callbacks --- loop_push ---> ready list --- next round: drain, in order
 *
 * Fibers to be resumed and calls of loop_later share the list, so that they run in the order of the
 * wakes.  Entries pushed during a drain run in the next one.
 */
#ifndef TRIVET_LOOP_INTERNAL_H
#define TRIVET_LOOP_INTERNAL_H

#include "loop/loop.h"

#include <uv.h>

struct fiber;

/* An entry of the ready list; part of the object that runs. */
struct ready {
    struct ready *next;
    loop_fn *run; /* NULL: canceled */
    void *arg;
    bool is_later; /* allocated by loop_soon, freed by the loop */
};

enum { LOOP_KEPT_STACKS = 16 };
enum loop_pool { LOOP_WORK, LOOP_DISK, LOOP_POOLS };

struct loop {
    uv_loop_t uv;
    uv_idle_t idle; /* active only while the ready list is not empty, so that poll does not wait */
    struct ready *first, **last;
    struct fiber *fibers, **fibers_end; /* all fibers in the order of their starts */
    unsigned n_fibers;
    void *stacks[LOOP_KEPT_STACKS]; /* stacks of ended fibers, to be reused */
    unsigned n_stacks;
    void *children; /* made by the first child_start; NULL before */
    loop_fn *children_free;
    char *read_bytes;               /* buffer of the readers, see io.c; NULL: none yet */
    struct pool *pools[LOOP_POOLS]; /* see work.c; each made by its first work */
    struct rounds *rounds;          /* see rounds.c; NULL: they are not measured */
};

/* Puts it at the end of the ready list; it must not be there already. */
void loop_push(struct loop *l, struct ready *r);
/* loop_run no longer waits for it. */
void watch_unref(struct watch *w);
void timer_unref(struct timer *t);
/* Waits for the work of all pools and ends their threads. */
void work_end(struct loop *l);
/* Measures rounds if the environment asks for it; rounds_end says how long the longest were. */
void rounds_begin(struct loop *l);
void rounds_end(struct loop *l);
/* A fiber has run in this round since began_us. */
void rounds_note(struct rounds *r, const char *fiber, int64_t began_us);
void rounds_signalled(struct rounds *r);
/* Unmaps the kept stacks. */
void fiber_drop_stacks(struct loop *l);

#endif
