/* SPDX-License-Identifier: MIT */
/* A file is searched as a whole, which is many times faster than line by line, and then each match
 * is brought back to its lines:
 *
 *     find -> match inside one line: that line matches
 *          -> match reaches over a line end, and it must not: the first line is asked alone
 *          -> the expression gave up on the whole text: every line is asked alone
 *
 * The next search begins at the next line, so a line is reported once.
 */
#include "tools/grep.h"

#include "base/mem.h"
#include "base/module.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "tools/job.h"
#include "tools/match.h"
#include "tools/read.h"
#include "tools/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 64 << 20, MAX_SORTED_FILES = 100000, KEEP_BYTES = 4 << 20 };

struct grep_job {
    struct job job;
    const struct grep_options *o;
    struct grep_found *ret;
    const struct search_api *api;
    struct regex *regex;
    struct pattern include;
    struct buf bytes;    /* the file as it is */
    struct buf repaired; /* the same as valid UTF-8, when it is none */
    int64_t deadline_us; /* 0: none */
};

/* The lines of one match, or of one step through the text. */
struct span {
    size_t start, end; /* end: where the last line ends, at its \n or at the end of the text */
};

/* How far the lines of a file have been told. */
struct cursor {
    struct grep_job *j;
    struct str text;
    size_t at;          /* start of the next line that was not told */
    int64_t number;     /* its number */
    int64_t after_owed; /* context lines still owed to the last match */
};

void grep_found_clear(struct grep_found *g)
{
    arena_clear(&g->arena);
    free(g->files);
    free(g->lines);
    *g = GREP_FOUND_INIT;
}

static size_t line_start(struct str text, size_t at)
{
    size_t before = str_rchr(str_cut(text, at), '\n');
    return before == SIZE_MAX ? 0 : before + 1;
}

static size_t line_end(struct str text, size_t at)
{
    size_t n = str_chr(str_from(text, at), '\n');
    return n == SIZE_MAX ? text.n : at + n;
}

/* Asks one line alone; what stands before it is still seen by lookbehind. */
static bool ask_line(struct grep_job *j, struct str text, size_t start, size_t end)
{
    size_t s, e;
    enum regex_found found = j->api->find(j->regex, str_cut(text, end), start, &s, &e);
    j->ret->n_gave_up += found == REGEX_GAVE_UP;
    return found == REGEX_YES;
}

static bool find_slowly(struct grep_job *j, struct str text, size_t from, struct span *ret)
{
    while (from < text.n && !job_is_stopped(&j->job)) {
        size_t end = line_end(text, from);
        if (ask_line(j, text, from, end)) {
            *ret = (struct span){from, end};
            return true;
        }
        from = end + 1;
    }
    return false;
}

/* The next lines that match, from a line start on. */
static bool find_lines(struct grep_job *j, struct str text, size_t from, struct span *ret)
{
    while (from < text.n && !job_is_stopped(&j->job)) {
        size_t s, e;
        enum regex_found found = j->api->find(j->regex, text, from, &s, &e);
        if (found == REGEX_GAVE_UP)
            return find_slowly(j, text, from, ret);
        /* Behind the last line end there is no further line that could match. */
        if (found == REGEX_NO || (s == text.n && text.p[s - 1] == '\n'))
            return false;
        size_t start = MAX(line_start(text, s), from), end = line_end(text, s);
        if (j->o->many_lines && e > end)
            end = line_end(text, e - 1);
        if (e <= end || j->o->many_lines || ask_line(j, text, start, end)) {
            *ret = (struct span){start, end};
            return true;
        }
        from = end + 1;
    }
    return false;
}

static void add_line(struct cursor *c, size_t end, bool is_match)
{
    struct grep_found *g = c->j->ret;
    struct str text = str_n(c->text.p + c->at, end - c->at);
    if (str_ends(text, STR("\r")))
        text.n--;
    if (g->n_lines == c->j->o->max_lines) {
        g->is_cut = true;
    } else {
        if (g->n_lines == g->lines_room) {
            g->lines_room = g->lines_room ? g->lines_room * 2 : 64;
            g->lines = xrealloc(g->lines, g->lines_room * sizeof *g->lines);
        }
        text = arena_str(&g->arena, utf8_cut(text, c->j->o->max_line_bytes));
        g->lines[g->n_lines++] = (struct grep_line){c->number, text, is_match};
    }
    c->at = end + 1;
    c->number++;
}

/* Tells the context that the last match is owed, up to `limit`. */
static void pay_after(struct cursor *c, size_t limit)
{
    while (c->after_owed > 0 && c->at < limit) {
        add_line(c, line_end(c->text, c->at), false);
        c->after_owed--;
    }
}

/* Goes to the line at `to`, counting what is passed. */
static void skip_to(struct cursor *c, size_t to)
{
    while (c->at < to) {
        c->at = line_end(c->text, c->at) + 1;
        c->number++;
    }
}

static void tell_match(struct cursor *c, struct span m)
{
    size_t from = m.start;
    pay_after(c, m.start);
    for (int64_t i = 0; i < c->j->o->before && from > c->at; i++)
        from = line_start(c->text, from - 1);
    skip_to(c, from);
    while (c->at < m.start)
        add_line(c, line_end(c->text, c->at), false);
    while (c->at <= m.end && c->at < c->text.n)
        add_line(c, line_end(c->text, c->at), true);
    c->after_owed = c->j->o->after;
}

static int64_t count_lines(struct str text, struct span m)
{
    int64_t n = 1;
    for (size_t at = line_end(text, m.start); at < m.end; at = line_end(text, at + 1))
        n++;
    return n;
}

/* Returns the number of matching lines; stops at the first if nobody wants more. */
static int64_t search_text(struct grep_job *j, struct str text)
{
    struct cursor c = {.j = j, .text = text, .number = 1};
    struct span m;
    int64_t n = 0;
    for (size_t from = 0; find_lines(j, text, from, &m); from = m.end + 1) {
        n += count_lines(text, m);
        if (j->o->want_lines)
            tell_match(&c, m);
        if ((!j->o->want_lines && !j->o->want_counts) || j->ret->is_cut)
            break;
    }
    if (j->o->want_lines && n)
        pay_after(&c, text.n);
    return n;
}

/* Reads a regular file into j->bytes; false when it is not to be searched. */
static bool load(struct grep_job *j, const char *path, struct stat *st)
{
    if (!sandbox_may_read(j->o->sandbox, str_of(path)))
        return false;
    int fd = path_open_straight(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    bool ok = fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode);
    if (ok && st->st_size > MAX_FILE_BYTES) {
        j->ret->n_too_large++;
        ok = false;
    }
    buf_shrink(&j->bytes, KEEP_BYTES);
    while (ok) {
        size_t want =
            MAX((size_t)st->st_size + 1 - MIN(j->bytes.n, (size_t)st->st_size), (size_t)4096);
        ssize_t n = read(fd, buf_space(&j->bytes, want), want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            break;
        bool is_first = j->bytes.n == 0;
        if (n > 0)
            buf_added(&j->bytes, (size_t)n);
        ok = n > 0 && j->bytes.n <= MAX_FILE_BYTES &&
             !(is_first && read_is_binary(buf_str(&j->bytes)));
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

static struct str valid_text(struct grep_job *j)
{
    struct str text = buf_str(&j->bytes);
    if (!utf8_is_valid(text)) {
        buf_shrink(&j->repaired, KEEP_BYTES);
        utf8_repair(&j->repaired, text);
        text = buf_str(&j->repaired);
    }
    return str_starts(text, STR("\xef\xbb\xbf")) ? str_from(text, 3) : text;
}

static void search_file(struct grep_job *j, struct str path, struct str rel)
{
    struct stat st;
    struct grep_found *g = j->ret;
    size_t first = g->n_lines;
    if (!load(j, path.p, &st))
        return;
    int64_t n = search_text(j, valid_text(j));
    if (n == 0)
        return;
    if (g->n_files == g->files_room) {
        g->files_room = g->files_room ? g->files_room * 2 : 64;
        g->files = xrealloc(g->files, g->files_room * sizeof *g->files);
    }
    g->files[g->n_files++] = (struct grep_file){
        .path = arena_str(&g->arena, rel),
        .mtime_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec,
        .n_matches = n,
        .first_line = first,
        .n_lines = g->n_lines - first,
    };
}

static bool wants_file(const struct grep_job *j, const struct walk_entry *e)
{
    const struct grep_options *o = j->o;
    bool is_negated = o->include.n && o->include.p[0] == '!';
    if (o->include.n && pattern_match_filter(&j->include, e->rel) == is_negated)
        return false;
    if (!o->include_more)
        return true;
    for (const char *const *p = o->include_more; *p; p++)
        if (match_path(str_of(*p), e->name))
            return true;
    return false;
}

static enum walk_next on_entry(void *arg, const struct walk_entry *e)
{
    struct grep_job *j = arg;
    struct grep_found *g = j->ret;
    if (e->kind != WALK_FILE || !wants_file(j, e))
        return WALK_ON;
    if (j->deadline_us && time_mono_us() > j->deadline_us) {
        g->is_timed_out = g->is_cut = true;
        return WALK_STOP;
    }
    size_t max = j->o->newest_first ? MAX_SORTED_FILES : j->o->max_files;
    size_t had = g->n_files;
    search_file(j, e->path, e->rel);
    if (g->n_files > had && g->n_files > max) {
        g->n_files = max;
        g->is_cut = true;
    }
    return g->is_cut ? WALK_STOP : WALK_ON;
}

static int compare_times(const void *a, const void *b)
{
    const struct grep_file *x = a, *y = b;
    int c = (x->mtime_ns < y->mtime_ns) - (x->mtime_ns > y->mtime_ns);
    return c ? c : str_cmp(x->path, y->path);
}

static void sort_files(struct grep_job *j)
{
    struct grep_found *g = j->ret;
    if (!j->o->newest_first || g->n_files == 0)
        return;
    qsort(g->files, g->n_files, sizeof *g->files, compare_times);
    if (g->n_files > j->o->max_files) {
        g->n_files = j->o->max_files;
        g->is_cut = true;
    }
}

static bool search_tree(struct grep_job *j, struct error *err)
{
    struct walk_report report;
    struct walk_options w = {
        .root = j->o->root,
        .use_ignore = true,
        .skip_hidden = j->o->skip_hidden,
        .skip = j->o->skip,
        .stop = &j->job.stop,
        .fn = on_entry,
        .arg = j,
    };
    if (path_is_dir(j->o->root))
        return walk_run(&w, &report, err);
    AUTO_FREE char *z = str_dup(j->o->root);
    if (access(z, R_OK) != 0)
        return error_errno(err, errno, "%s", z);
    search_file(j, str_of(z), STR(""));
    return true;
}

static bool prepare(struct grep_job *j, struct error *err)
{
    const struct grep_options *o = j->o;
    unsigned flags = (o->any_case ? REGEX_ANY_CASE : 0u) | (o->many_lines ? REGEX_MANY_LINES : 0u);
    struct str include = o->include;
    if (str_starts(include, STR("!")))
        include = str_from(include, 1);
    if (!utf8_is_valid(o->pattern))
        return error_set(err, ERR_INVALID, "the expression is not valid UTF-8");
    if (include.n && !pattern_init(&j->include, include, err))
        return false;
    j->api = module_open("search", "libpcre2-8-0", err);
    if (j->api)
        j->regex = j->api->compile(o->pattern, flags, err);
    if (o->timeout_ms)
        j->deadline_us = time_mono_us() + o->timeout_ms * 1000;
    return j->regex != NULL;
}

static bool run_grep(struct job *job, struct error *err)
{
    struct grep_job *j = CONTAINER_OF(job, struct grep_job, job);
    bool ok = prepare(j, err) && search_tree(j, err);
    if (ok && job_is_stopped(job))
        ok = error_set(err, ERR_CANCELED, "the search was stopped");
    if (ok)
        sort_files(j);
    if (j->regex)
        j->api->free(j->regex);
    pattern_clear(&j->include);
    buf_clear(&j->bytes);
    buf_clear(&j->repaired);
    return ok;
}

bool grep_await(struct loop *l, const struct grep_options *o, struct grep_found *ret,
                struct error *err)
{
    struct grep_job j = {.job.run = run_grep, .o = o, .ret = ret};
    return job_await(l, &j.job, err);
}
