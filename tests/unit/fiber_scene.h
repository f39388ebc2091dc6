/* SPDX-License-Identifier: MIT */
/* For tests of what awaits: a function on a fiber of a loop of its own. */
#ifndef TRIVET_TESTS_FIBER_SCENE_H
#define TRIVET_TESTS_FIBER_SCENE_H

#include "loop/fiber.h"

static inline void in_fiber(loop_fn *fn, void *arg)
{
    struct loop *l = loop_new();
    fiber_start(l, "test", fn, arg);
    loop_run(l);
    loop_free(l);
}

#endif
