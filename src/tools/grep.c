/* SPDX-License-Identifier: MIT */
/* A crew goes through the tree; each member reads files into a buffer of its own and searches them
 * there (grep_text.c); the first results in the order are kept.
 *
 * A file is read, not mapped: most are small, and a file that shrinks under a map kills the
 * process.
 */
#include "tools/grep.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/module.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "tools/crew.h"
#include "tools/grep_text.h"
#include "tools/work.h"
#include "tools/keep.h"
#include "tools/match.h"
#include "tools/read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    START_BYTES = 256 << 10, /* of a member's buffer, which most files fit into */
    KEEP_CAPACITY = 4 << 20, /* what it keeps after a larger one */
};

/* What one thread works with. */
struct member {
    struct grep_text text;
    struct buf bytes; /* the file as it is */
    int64_t n_too_large;
};

struct grep_work {
    struct tool_work work;
    const struct grep_options *o;
    struct grep_found *ret;
    const struct search_api *api;
    struct regex *regex;
    struct literals literals;
    struct pattern include;
    int64_t deadline_us; /* 0: none */
    atomic_bool is_timed_out;
    struct crew_options crew_options;
    struct crew *crew; /* NULL: root is a file */
    struct keep keep;
    struct member *members;
};

/* A file that matches. */
struct hit {
    struct kept kept;
    int64_t n_matches;
    struct str bytes; /* texts of the lines */
    struct shown_line lines[];
};

void grep_found_clear(struct grep_found *g)
{
    arena_clear(&g->arena);
    free(g->files);
    free(g->lines);
    *g = GREP_FOUND_INIT;
}

/* ---- one file ---- */

static ssize_t read_some(int fd, char *to, size_t n)
{
    ssize_t got;
    do
        got = read(fd, to, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads an open file to its end; false when it is not to be searched. */
static bool load_open(struct member *m, int fd, struct stat *st)
{
    struct buf *b = &m->bytes;
    if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
        return false;
    if (st->st_size > LIMIT_GREP_FILE_BYTES) {
        m->n_too_large++;
        return false;
    }
    size_t size = (size_t)st->st_size;
    buf_shrink(b, KEEP_CAPACITY);
    for (;;) {
        size_t want = MAX(size + 1 - MIN(b->n, size), (size_t)START_BYTES);
        ssize_t n = read_some(fd, buf_space(b, want), want);
        bool is_first = b->n == 0;
        if (n <= 0)
            return n == 0;
        buf_added(b, (size_t)n);
        if (b->n > LIMIT_GREP_FILE_BYTES || (is_first && read_is_binary(buf_str(b))))
            return false;
        if (b->n == size)
            return true;
    }
}

static bool load(struct grep_work *w, struct member *m, const struct crew_file *f, struct stat *st)
{
    if (!sandbox_may_read(w->o->sandbox, f->path))
        return false;
    int fd = openat(f->dir, f->name.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool ok = load_open(m, fd, st) &&
              (st->st_nlink == 1 || sandbox_may_read_open(w->o->sandbox, fd)) &&
              (w->crew || !path_is_kernels_fd(fd));
    close(fd);
    return ok;
}

static struct hit *hit_new(const struct grep_text *g, struct str rel, const struct stat *st,
                           int64_t n)
{
    size_t lines_n = g->n_lines * sizeof *g->lines;
    struct hit *h = xmalloc(sizeof *h + lines_n + g->shown.n + rel.n);
    char *text = (char *)h->lines + lines_n;
    if (g->n_lines)
        memcpy(h->lines, g->lines, lines_n);
    memcpy(text, buf_str(&g->shown).p, g->shown.n);
    memcpy(text + g->shown.n, rel.p, rel.n);
    h->n_matches = n;
    h->bytes = str_n(text, g->shown.n);
    h->kept = (struct kept){
        .path = str_n(text + g->shown.n, rel.n),
        .time_ns = st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec,
        .n_lines = g->n_lines,
    };
    return h;
}

static void search_file(struct grep_work *w, struct member *m, const struct crew_file *f)
{
    struct stat st;
    if (!load(w, m, f, &st))
        return;
    int64_t n = grep_text_search(&m->text, buf_str(&m->bytes));
    if (n)
        keep_add(&w->keep, &hit_new(&m->text, f->rel, &st, n)->kept);
}

static bool wants_file(const struct grep_work *w, const struct crew_file *f)
{
    const struct grep_options *o = w->o;
    bool is_negated = o->include.n && o->include.p[0] == '!';
    if (o->include.n && pattern_match_filter(&w->include, f->rel) == is_negated)
        return false;
    if (!o->include_more)
        return true;
    for (const char *const *p = o->include_more; *p; p++)
        if (match_path(str_of(*p), f->name))
            return true;
    return false;
}

static void on_file(void *arg, unsigned member, const struct crew_file *f)
{
    struct grep_work *w = arg;
    if (f->kind != WALK_FILE || !keep_wants(&w->keep, f->rel) || !wants_file(w, f))
        return;
    if (w->deadline_us && time_mono_us() > w->deadline_us) {
        atomic_store(&w->is_timed_out, true);
        crew_halt(w->crew);
        return;
    }
    search_file(w, &w->members[member], f);
}

static bool enters(void *arg, struct str rel)
{
    const struct grep_work *w = arg;
    return keep_wants(&w->keep, rel);
}

/* ---- on the thread pool ---- */

static bool compile(struct grep_work *w, struct error *err)
{
    const struct grep_options *o = w->o;
    unsigned flags = (o->any_case ? REGEX_ANY_CASE : 0u) | (o->many_lines ? REGEX_MANY_LINES : 0u);
    struct str include = o->include;
    if (str_starts(include, STR("!")))
        include = str_from(include, 1);
    if (!utf8_is_valid(o->pattern))
        return error_set(err, ERR_INVALID, "the expression is not valid UTF-8");
    if (include.n && !pattern_init(&w->include, include, err))
        return false;
    w->api = module_open("search", "libpcre2-8-0", err);
    if (w->api)
        w->regex = w->api->compile(o->pattern, flags, err);
    if (!w->regex)
        return false;
    literals_init(&w->literals, o->pattern, o->any_case);
    return true;
}

static bool open_root(struct grep_work *w, struct error *err)
{
    if (path_is_dir(w->o->root)) {
        w->crew = crew_new(&w->crew_options, err);
        return w->crew != NULL;
    }
    AUTO_FREE char *z = str_dup(w->o->root);
    return access(z, R_OK) == 0 || error_errno(err, errno, "%s", z);
}

static bool begin(struct tool_work *work, struct error *err)
{
    struct grep_work *w = CONTAINER_OF(work, struct grep_work, work);
    w->crew_options = (struct crew_options){
        .root = w->o->root,
        .use_ignore = true,
        .filter = {w->o->skip_hidden, w->o->skip},
        .stop = &work->stop,
        .on_file = on_file,
        .enters = enters,
        .arg = w,
    };
    if (w->o->timeout_ms)
        w->deadline_us = time_mono_us() + w->o->timeout_ms * 1000;
    if (!compile(w, err) || !open_root(w, err))
        return false;
    w->members = xcalloc(work->n_members, sizeof *w->members);
    return true;
}

/* The root itself is the file. */
static void search_root(struct grep_work *w, struct member *m)
{
    AUTO_FREE char *z = str_dup(w->o->root);
    AUTO_FREE char *above = str_dup(path_dir(w->o->root));
    int dir = path_open_straight(above, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    struct crew_file f = {dir, str_of(z), STR(""), path_base(str_of(z)), WALK_FILE};
    if (dir < 0)
        return;
    search_file(w, m, &f);
    close(dir);
}

static void help(struct tool_work *work, unsigned number)
{
    struct grep_work *w = CONTAINER_OF(work, struct grep_work, work);
    struct member *m = &w->members[number];
    m->text = (struct grep_text){
        .o = w->o,
        .api = w->api,
        .regex = w->api->share(w->regex),
        .literals = &w->literals,
        .stop = &work->stop,
    };
    if (w->crew)
        crew_run(w->crew, number);
    else if (number == 0)
        search_root(w, m);
}

/* What all members have found, as the caller wants it. */
static void put_hit(struct grep_found *g, const struct hit *h, size_t max_lines)
{
    size_t n = MIN(h->kept.n_lines, max_lines - g->n_lines);
    struct str bytes = arena_str(&g->arena, h->bytes);
    g->files[g->n_files++] = (struct grep_file){
        .path = arena_str(&g->arena, h->kept.path),
        .mtime_ns = h->kept.time_ns,
        .n_matches = h->n_matches,
        .first_line = g->n_lines,
        .n_lines = n,
    };
    for (size_t i = 0; i < n; i++)
        g->lines[g->n_lines++] = (struct grep_line){h->lines[i].number,
                                                    str_n(bytes.p + h->lines[i].at, h->lines[i].n),
                                                    h->lines[i].is_match};
}

static bool finish(struct tool_work *work, struct error *err)
{
    struct grep_work *w = CONTAINER_OF(work, struct grep_work, work);
    struct grep_found *g = w->ret;
    struct keep *k = &w->keep;
    (void)err;
    keep_finish(k);
    g->is_timed_out = w->is_timed_out;
    g->is_cut = k->is_cut || g->is_timed_out || k->n_lines > w->o->max_lines;
    g->files = xcalloc(MAX(k->n, (size_t)1), sizeof *g->files);
    g->lines = xcalloc(MAX(k->n_lines, (size_t)1), sizeof *g->lines);
    for (size_t i = 0; i < k->n; i++)
        put_hit(g, CONTAINER_OF(k->items[i], struct hit, kept), w->o->max_lines);
    for (unsigned i = 0; i < work->n_members; i++) {
        g->n_too_large += w->members[i].n_too_large;
        g->n_gave_up += w->members[i].text.n_gave_up;
    }
    return true;
}

static void grep_work_clear(struct grep_work *w)
{
    for (unsigned i = 0; w->members && i < w->work.n_members; i++) {
        grep_text_clear(&w->members[i].text);
        buf_clear(&w->members[i].bytes);
    }
    free(w->members);
    if (w->regex)
        w->api->free(w->regex);
    crew_free(w->crew);
    pattern_clear(&w->include);
    keep_clear(&w->keep);
}

bool grep_await(struct loop *l, const struct grep_options *o, struct grep_found *ret,
                struct error *err)
{
    AUTO(grep_work)
    struct grep_work w = {
        .work = {.run = begin, .help = help, .finish = finish}, .o = o, .ret = ret};
    keep_init(&w.keep, o->newest_first ? KEEP_NEWEST : KEEP_WALK, o->max_files,
              o->want_lines ? o->max_lines : SIZE_MAX / 4);
    return tool_work_await(l, &w.work, err);
}
