/* SPDX-License-Identifier: MIT */
/* A crew goes through the tree; the first paths in byte order are kept. */
#include "tools/glob.h"

#include "base/mem.h"
#include "tools/crew.h"
#include "tools/job.h"
#include "tools/keep.h"
#include "tools/match.h"

struct glob_job {
    struct job job;
    const struct glob_options *o;
    struct glob_found *ret;
    struct pattern pattern;
    struct crew_options crew_options;
    struct crew *crew;
    struct keep keep;
};

void glob_found_clear(struct glob_found *g)
{
    arena_clear(&g->arena);
    free(g->paths);
    *g = GLOB_FOUND_INIT;
}

static void on_file(void *arg, unsigned member, const struct crew_file *f)
{
    struct glob_job *j = arg;
    (void)member;
    if (!pattern_match(&j->pattern, f->rel) || !keep_wants(&j->keep, f->rel))
        return;
    struct kept *item = xmalloc(sizeof *item + f->rel.n);
    char *path = (char *)(item + 1);
    memcpy(path, f->rel.p, f->rel.n);
    *item = (struct kept){.path = str_n(path, f->rel.n)};
    keep_add(&j->keep, item);
}

static bool enters(void *arg, struct str rel)
{
    const struct glob_job *j = arg;
    return pattern_may_be_below(&j->pattern, rel) && keep_wants(&j->keep, rel);
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

static bool begin(struct job *job, struct error *err)
{
    struct glob_job *j = CONTAINER_OF(job, struct glob_job, job);
    struct str pattern = j->o->pattern;
    while (str_starts(pattern, STR("./")))
        pattern = str_from(pattern, 2);
    j->crew_options = (struct crew_options){
        .root = j->o->root,
        .max_depth = depth_of(pattern),
        .use_ignore = j->o->use_ignore,
        .filter.skip = j->o->skip,
        .stop = &job->stop,
        .on_file = on_file,
        .enters = enters,
        .arg = j,
    };
    if (!check_pattern(pattern, err) || !pattern_init(&j->pattern, pattern, err))
        return false;
    j->crew = crew_new(&j->crew_options, err);
    return j->crew != NULL;
}

static void help(struct job *job, unsigned member)
{
    crew_run(CONTAINER_OF(job, struct glob_job, job)->crew, member);
}

static bool finish(struct job *job, struct error *err)
{
    struct glob_job *j = CONTAINER_OF(job, struct glob_job, job);
    struct glob_found *g = j->ret;
    (void)err;
    keep_finish(&j->keep);
    g->is_cut = j->keep.is_cut || crew_is_cut(j->crew);
    g->paths = xcalloc(MAX(j->keep.n, (size_t)1), sizeof *g->paths);
    for (; g->n < j->keep.n; g->n++)
        g->paths[g->n] = arena_str(&g->arena, j->keep.items[g->n]->path);
    return true;
}

bool glob_await(struct loop *l, const struct glob_options *o, struct glob_found *ret,
                struct error *err)
{
    struct glob_job j = {.job = {.run = begin, .help = help, .finish = finish}, .o = o, .ret = ret};
    keep_init(&j.keep, KEEP_BYTES, o->max, SIZE_MAX / 4);
    bool ok = job_await(l, &j.job, err);
    crew_free(j.crew);
    pattern_clear(&j.pattern);
    keep_clear(&j.keep);
    return ok;
}
