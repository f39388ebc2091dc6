/* SPDX-License-Identifier: MIT */
#include "tools/list.h"

#include "base/path.h"
#include "tools/work.h"

struct list_work {
    struct tool_work work;
    const struct list_options *o;
    struct listing *ret;
};

void listing_clear(struct listing *l)
{
    arena_clear(&l->arena);
    free(l->entries);
    *l = LISTING_INIT;
}

static enum walk_next on_entry(void *arg, const struct walk_entry *e)
{
    struct list_work *lw = arg;
    struct listing *l = lw->ret;
    if (l->n == lw->o->max) {
        l->has_more = true;
        return WALK_STOP;
    }
    enum walk_next next = str_is(e->name, ".git") ? WALK_SKIP : WALK_ON;
    if (++l->n_seen < lw->o->first)
        return next;
    GROW(l->entries, l->n, l->capacity);
    l->entries[l->n++] = (struct list_entry){
        .rel = arena_str(&l->arena, e->rel),
        .kind = e->kind,
        .depth = e->depth,
        .is_dir = e->kind == WALK_DIR || (e->kind == WALK_LINK && path_is_dir(e->path)),
    };
    return next;
}

static bool run_list(struct tool_work *work, struct error *err)
{
    struct list_work *lw = CONTAINER_OF(work, struct list_work, work);
    struct walk_report report;
    struct walk_options w = {
        .root = lw->o->root,
        .max_depth = lw->o->depth,
        .use_ignore = true,
        .reports_ignored = true,
        .stop = &lw->work.stop,
        .fn = on_entry,
        .arg = lw,
    };
    return walk_run(&w, &report, err);
}

bool list_await(struct loop *l, const struct list_options *o, struct listing *ret,
                struct error *err)
{
    struct list_work lw = {.work.run = run_list, .o = o, .ret = ret};
    return tool_work_await(l, &lw.work, err);
}
