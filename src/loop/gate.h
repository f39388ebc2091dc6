/* SPDX-License-Identifier: MIT */
/* A mutex for fibers, first come, first served. */
#ifndef TRIVET_LOOP_GATE_H
#define TRIVET_LOOP_GATE_H

#include "loop/fiber.h"

struct gate_call;

struct gate {
    bool is_taken;
    struct gate_call *waiting;
};

/* Not cancelable: keep the critical section short. */
void gate_enter_through_await(struct gate *g);
void gate_leave(struct gate *g);

#endif
