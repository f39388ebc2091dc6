/* SPDX-License-Identifier: MIT */
/* A gate lets one fiber at a time pass, in the order they came. */
#ifndef TRIVET_LOOP_GATE_H
#define TRIVET_LOOP_GATE_H

#include "loop/fiber.h"

struct gate_call;

struct gate {
    bool is_taken;
    struct gate_call *waiting;
};

/* Not cancelable: what is behind a gate is short. */
void gate_enter_through_await(struct gate *g);
void gate_leave(struct gate *g);

#endif
