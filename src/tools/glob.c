/* SPDX-License-Identifier: MIT */
#include "tools/glob.h"

#include "base/mem.h"
#include "tools/job.h"
#include "tools/match.h"

struct glob_job {
    struct job job;
    const struct glob_options *o;
    struct glob_found *ret;
    struct pattern pattern;
};

void glob_found_clear(struct glob_found *g)
{
    arena_clear(&g->arena);
    free(g->paths);
    *g = GLOB_FOUND_INIT;
}

static enum walk_next on_entry(void *arg, const struct walk_entry *e)
{
    struct glob_job *j = arg;
    struct glob_found *g = j->ret;
    if (e->kind == WALK_DIR || !pattern_match(&j->pattern, e->rel))
        return WALK_ON;
    if (g->n == j->o->max) {
        g->is_cut = true;
        return WALK_STOP;
    }
    if (g->n == g->room) {
        g->room = g->room ? g->room * 2 : 64;
        g->paths = xrealloc(g->paths, g->room * sizeof *g->paths);
    }
    g->paths[g->n++] = arena_str(&g->arena, e->rel);
    return WALK_ON;
}

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* A pattern that climbs would leave the directory that was asked about and judged. */
static bool check_pattern(struct str pattern, struct error *err)
{
    if (pattern.n == 0)
        return error_set(err, ERR_INVALID, "the pattern is empty");
    if (pattern.p[0] == '/')
        return error_set(err, ERR_INVALID, "the pattern must be relative to the directory");
    for (struct str rest = pattern, part; rest.p;) {
        rest = str_split(rest, '/', &part);
        if (str_is(part, ".."))
            return error_set(err, ERR_INVALID, "the pattern must not contain ..");
    }
    return true;
}

/* Levels the walk needs: as many as the pattern has, unless it has ** or braces. */
static unsigned depth_of(struct str pattern)
{
    unsigned depth = 1;
    if (str_find(pattern, STR("**")) != SIZE_MAX || str_chr(pattern, '{') != SIZE_MAX)
        return 0;
    for (size_t i = 0; i < pattern.n; i++)
        depth += pattern.p[i] == '/';
    return depth;
}

static bool run_glob(struct job *job, struct error *err)
{
    struct glob_job *j = CONTAINER_OF(job, struct glob_job, job);
    struct walk_report report;
    struct str pattern = j->o->pattern;
    while (str_starts(pattern, STR("./")))
        pattern = str_from(pattern, 2);
    struct walk_options w = {
        .root = j->o->root,
        .max_depth = depth_of(pattern),
        .skip = j->o->skip,
        .stop = &j->job.stop,
        .fn = on_entry,
        .arg = j,
    };
    if (!check_pattern(pattern, err) || !pattern_init(&j->pattern, pattern, err))
        return false;
    bool ok = walk_run(&w, &report, err);
    pattern_clear(&j->pattern);
    if (!ok)
        return false;
    j->ret->is_cut |= report.is_cut;
    if (j->ret->n)
        qsort(j->ret->paths, j->ret->n, sizeof *j->ret->paths, compare);
    return true;
}

bool glob_await(struct loop *l, const struct glob_options *o, struct glob_found *ret,
                struct error *err)
{
    struct glob_job j = {.job.run = run_glob, .o = o, .ret = ret};
    return job_await(l, &j.job, err);
}
