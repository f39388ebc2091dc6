/* SPDX-License-Identifier: MIT */
#include "engine/call_impl.h"

static void early_fiber(void *arg)
{
    struct call *c = arg;
    c->why = ERROR_INIT;
    if (!call_run_await(c, &c->why) && c->why.code != ERR_CANCELED)
        tool_fail(&c->result, "%s", c->why.text);
    c->fiber = NULL;
    wait_wake(&c->over);
}

void early_start(struct early *e, struct turn *t, const struct message *reply, size_t from)
{
    e->n = e->next = 0;
    if (t->session->settings->permit == PERMIT_ASK)
        return;
    int n_explorers = 0;
    for (size_t b = from; b < reply->n_blocks && e->n < EARLY_MOST; b++) {
        if (reply->blocks[b].kind != BLOCK_CALL)
            continue;
        struct call *c = call_new(t, &reply->blocks[b]);
        c->is_early = call_prepare(c) && tool_only_looks(c->tool) && call_is_free(c);
        if (c->is_early && c->tool->kind == TOOL_EXPLORE)
            c->is_early = n_explorers++ < EARLY_EXPLORERS;
        if (!c->is_early) {
            call_free(c);
            break;
        }
        e->calls[e->n++] = c;
    }
    for (size_t i = 0; e->n > 1 && i < e->n; i++)
        e->calls[i]->fiber = fiber_start(t->engine->loop, "call", early_fiber, e->calls[i]);
}

struct call *early_take(struct early *e, const struct block *block)
{
    if (e->next == e->n || e->calls[e->next]->block != block)
        return NULL;
    return e->calls[e->next++];
}

void early_end_through_await(struct call *c)
{
    if (c->fiber)
        fiber_cancel(c->fiber);
    if (c->fiber)
        wait_through_await(&c->over);
}

void early_drop_through_await(struct early *e)
{
    for (; e->next < e->n; e->next++) {
        early_end_through_await(e->calls[e->next]);
        call_free(e->calls[e->next]);
    }
}

bool early_wait_await(struct call *c, struct error *err)
{
    if (c->fiber && !wait_await(&c->over, err)) {
        early_end_through_await(c);
        return false;
    }
    *err = c->why;
    return c->why.code != ERR_CANCELED;
}
