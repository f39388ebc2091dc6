/* SPDX-License-Identifier: MIT */
#include "loop/gate.h"

struct gate_call { /* a waiting fiber; on its stack */
    struct gate_call *next;
    struct wait wait;
};

void gate_enter_through_await(struct gate *g)
{
    struct gate_call c = {.wait = WAIT_INIT}, **at = &g->waiting;
    if (!g->is_taken) {
        g->is_taken = true;
        return;
    }
    while (*at)
        at = &(*at)->next;
    *at = &c;
    wait_through_await(&c.wait);
}

/* Passed directly to the next waiting fiber; the gate stays locked meanwhile. */
void gate_leave(struct gate *g)
{
    struct gate_call *c = g->waiting;
    g->is_taken = c != NULL;
    if (!c)
        return;
    g->waiting = c->next;
    wait_wake(&c->wait);
}
