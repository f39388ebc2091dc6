/* SPDX-License-Identifier: MIT */
/* Blocking work of a tool, done on the thread pool while its fiber waits.  A tool puts a
 * struct tool_work into a struct of its own.
 *
 *     run       on one thread
 *     help      on several threads at once; may be NULL
 *     finish    on one thread again; may be NULL
 */
#ifndef TRIVET_TOOLS_WORK_H
#define TRIVET_TOOLS_WORK_H

#include "loop/fiber.h"

struct tool_work {
    bool (*run)(struct tool_work *w, struct error *err);
    void (*help)(struct tool_work *w, unsigned member); /* members are counted from 0 */
    bool (*finish)(struct tool_work *w, struct error *err);
    unsigned n_members;    /* how many may help; set before run */
    atomic_uint n_helping; /* how many have come to help */
    atomic_bool stop;      /* set by cancel; all look at it now and then */
    bool ok;
    struct error err;
};

/* Runs it to its end; what run or finish returned, or false with ERR_CANCELED. */
bool tool_work_await(struct loop *l, struct tool_work *w, struct error *err);
static inline bool tool_work_is_stopped(const struct tool_work *w)
{
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

#endif
