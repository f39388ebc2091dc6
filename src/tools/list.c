/* SPDX-License-Identifier: MIT */
#include "tools/list.h"

#include "base/path.h"
#include "tools/job.h"

struct list_job {
    struct job job;
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
    struct list_job *j = arg;
    struct listing *l = j->ret;
    if (l->n == j->o->max) {
        l->has_more = true;
        return WALK_STOP;
    }
    enum walk_next next = str_is(e->name, ".git") ? WALK_SKIP : WALK_ON;
    if (++l->n_seen < j->o->first)
        return next;
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->entries = xrealloc(l->entries, l->room * sizeof *l->entries);
    }
    l->entries[l->n++] = (struct list_entry){
        .rel = arena_str(&l->arena, e->rel),
        .kind = e->kind,
        .depth = e->depth,
        .is_dir = e->kind == WALK_DIR || (e->kind == WALK_LINK && path_is_dir(e->path)),
    };
    return next;
}

static bool run_list(struct job *job, struct error *err)
{
    struct list_job *j = CONTAINER_OF(job, struct list_job, job);
    struct walk_report report;
    struct walk_options w = {
        .root = j->o->root,
        .max_depth = j->o->depth,
        .use_ignore = true,
        .tells_ignored = true,
        .stop = &j->job.stop,
        .fn = on_entry,
        .arg = j,
    };
    return walk_run(&w, &report, err);
}

bool list_await(struct loop *l, const struct list_options *o, struct listing *ret,
                struct error *err)
{
    struct list_job j = {.job.run = run_list, .o = o, .ret = ret};
    return job_await(l, &j.job, err);
}
