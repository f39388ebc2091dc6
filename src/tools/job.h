/* SPDX-License-Identifier: MIT */
/* A job: blocking work of a craft, done on the thread pool while its fiber waits.  A craft puts a
 * struct job first in a struct of its own.
 */
#ifndef TRIVET_TOOLS_JOB_H
#define TRIVET_TOOLS_JOB_H

#include "loop/fiber.h"

struct job {
    bool (*run)(struct job *j, struct error *err); /* on another thread */
    atomic_bool stop;                              /* set by cancel; run looks at it now and then */
    bool ok;
    struct error err;
};

/* Runs it to its end; what run returned, or false with ERR_CANCELED. */
bool job_await(struct loop *l, struct job *j, struct error *err);
static inline bool job_is_stopped(const struct job *j)
{
    return atomic_load_explicit(&j->stop, memory_order_relaxed);
}

#endif
