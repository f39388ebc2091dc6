/* SPDX-License-Identifier: MIT */
/* A job: blocking work of a tool, done on the thread pool while its fiber waits.  A tool puts a
 * struct job into a struct of its own.
 *
 *     run       alone
 *     help      by several threads at once, for jobs that have it
 *     finish    alone again, for jobs that have it
 */
#ifndef TRIVET_TOOLS_JOB_H
#define TRIVET_TOOLS_JOB_H

#include "loop/fiber.h"

struct job {
    bool (*run)(struct job *j, struct error *err);
    void (*help)(struct job *j, unsigned member); /* members are counted from 0 */
    bool (*finish)(struct job *j, struct error *err);
    unsigned n_members;    /* how many may help; set before run */
    atomic_uint n_helping; /* how many have come to help */
    atomic_bool stop;      /* set by cancel; all look at it now and then */
    bool ok;
    struct error err;
};

/* Runs it to its end; what run or finish returned, or false with ERR_CANCELED. */
bool job_await(struct loop *l, struct job *j, struct error *err);
static inline bool job_is_stopped(const struct job *j)
{
    return atomic_load_explicit(&j->stop, memory_order_relaxed);
}

#endif
