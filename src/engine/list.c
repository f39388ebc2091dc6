/* SPDX-License-Identifier: MIT */
#include "engine/list.h"

struct listing {
    struct arena *arena;
    struct str dir;
    size_t limit;
    struct session_list list;
    struct error err;
    bool ok;
};

static void read_list(void *arg)
{
    struct listing *l = arg;
    l->ok = list_sessions(l->arena, l->dir, false, l->limit, &l->list, &l->err);
}

bool engine_list_await(struct engine *e, struct arena *a, struct str dir, size_t limit,
                       struct session_list *ret, struct error *err)
{
    struct listing l = {.arena = a, .dir = dir, .limit = limit};
    if (!work_await(engine_loop(e), read_list, &l, NULL, err))
        return false;
    if (!l.ok)
        *err = l.err;
    else
        *ret = l.list;
    return l.ok;
}
