/* SPDX-License-Identifier: MIT */
/* A crew goes through the tree; the first paths in byte order are kept. */
#include "tools/glob.h"

#include "base/mem.h"
#include "tools/crew.h"
#include "tools/work.h"
#include "tools/keep.h"
#include "tools/match.h"

struct glob_work {
    struct tool_work work;
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
    struct glob_work *w = arg;
    (void)member;
    if (!pattern_match(&w->pattern, f->rel) || !keep_wants(&w->keep, f->rel))
        return;
    struct kept *item = xmalloc(sizeof *item + f->rel.n);
    char *path = (char *)(item + 1);
    memcpy(path, f->rel.p, f->rel.n);
    *item = (struct kept){.path = str_n(path, f->rel.n)};
    keep_add(&w->keep, item);
}

static bool enters(void *arg, struct str rel)
{
    const struct glob_work *w = arg;
    return pattern_may_be_below(&w->pattern, rel) && keep_wants(&w->keep, rel);
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

static bool begin(struct tool_work *work, struct error *err)
{
    struct glob_work *w = CONTAINER_OF(work, struct glob_work, work);
    struct str pattern = w->o->pattern;
    while (str_starts(pattern, STR("./")))
        pattern = str_from(pattern, 2);
    w->crew_options = (struct crew_options){
        .root = w->o->root,
        .max_depth = depth_of(pattern),
        .use_ignore = w->o->use_ignore,
        .filter.skip = w->o->skip,
        .stop = &work->stop,
        .on_file = on_file,
        .enters = enters,
        .arg = w,
    };
    if (!check_pattern(pattern, err) || !pattern_init(&w->pattern, pattern, err))
        return false;
    w->crew = crew_new(&w->crew_options, err);
    return w->crew != NULL;
}

static void help(struct tool_work *work, unsigned member)
{
    crew_run(CONTAINER_OF(work, struct glob_work, work)->crew, member);
}

static bool finish(struct tool_work *work, struct error *err)
{
    struct glob_work *w = CONTAINER_OF(work, struct glob_work, work);
    struct glob_found *g = w->ret;
    (void)err;
    keep_finish(&w->keep);
    g->is_cut = w->keep.is_cut || crew_is_cut(w->crew);
    g->paths = xcalloc(MAX(w->keep.n, (size_t)1), sizeof *g->paths);
    for (; g->n < w->keep.n; g->n++)
        g->paths[g->n] = arena_str(&g->arena, w->keep.items[g->n]->path);
    return true;
}

bool glob_await(struct loop *l, const struct glob_options *o, struct glob_found *ret,
                struct error *err)
{
    struct glob_work w = {
        .work = {.run = begin, .help = help, .finish = finish}, .o = o, .ret = ret};
    keep_init(&w.keep, KEEP_BYTES, o->max, SIZE_MAX / 4);
    bool ok = tool_work_await(l, &w.work, err);
    crew_free(w.crew);
    pattern_clear(&w.pattern);
    keep_clear(&w.keep);
    return ok;
}
