/* SPDX-License-Identifier: MIT */
#include "terminal/finder.h"

#include "base/path.h"
#include "base/time.h"

#include <dirent.h>

enum {
    MAX_ENTRIES = 20000, /* of a directory */
    MAX_PATHS = 200000,  /* of the workspace */
    MAX_FOUND = 100,
    FRESH_US =
        2000000, /* so long, or ten times as long as it took, the paths are taken as they are */
};

/* What a thread is to do. */
struct search {
    struct arena arena;
    struct str workspace, word, paths;
    struct str entries[MAX_FOUND], names[2 * MAX_FOUND];
    size_t n_entries, n;
    struct {
        unsigned rank;
        struct str path;
    } best[MAX_FOUND]; /* smallest rank first */
    size_t n_best;
};

/* ---- the directory that is typed ---- */

static void add_entry(struct search *x, struct str name)
{
    size_t at = x->n_entries;
    if (at == MAX_FOUND && str_cmp(x->entries[--at], name) <= 0)
        return;
    while (at && str_cmp(x->entries[at - 1], name) > 0)
        at--;
    x->n_entries += x->n_entries < MAX_FOUND;
    memmove(x->entries + at + 1, x->entries + at, (x->n_entries - 1 - at) * sizeof *x->entries);
    x->entries[at] = arena_str(&x->arena, name);
}

static void list_folder(struct search *x)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    size_t slash = str_rchr(x->word, '/'), n = 0;
    struct str folder = slash == SIZE_MAX ? STR("") : str_cut(x->word, slash + 1);
    struct str begun = str_from(x->word, folder.n);
    path_absolute(&dir, x->workspace, folder.n ? folder : STR("."));
    DIR *d = opendir(dir.p);
    for (struct dirent *e; d && n++ < MAX_ENTRIES && (e = readdir(d));) {
        AUTO(buf) struct buf name = BUF_INIT;
        bool is_hidden = e->d_name[0] == '.' && !str_starts(begun, STR("."));
        if (is_hidden || strpbrk(e->d_name, " \t\n") || !str_starts(str_of(e->d_name), begun) ||
            strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        buf_addf(&name, "%.*s%s%s", STR_FMT(folder), e->d_name, e->d_type == DT_DIR ? "/" : "");
        add_entry(x, buf_str(&name));
    }
    if (d)
        closedir(d);
}

/* ---- all paths ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

/* Whether the letters of the word are in the text in this order. */
static bool has_letters(struct str text, struct str word)
{
    size_t at = 0;
    for (size_t i = 0; i < text.n && at < word.n; i++)
        at += lower(text.p[i]) == lower(word.p[at]);
    return at == word.n;
}

/* Smaller is better; UINT_MAX: it does not fit. */
static unsigned rank(struct str path, struct str word)
{
    struct str base = path_base(path);
    size_t at = str_ifind(base, word);
    bool is_hidden = path.p[0] == '.' || str_find(path, STR("/.")) != SIZE_MAX;
    unsigned kind = at == 0                             ? 0
                    : at != SIZE_MAX                    ? 1
                    : str_ifind(path, word) != SIZE_MAX ? 2
                    : has_letters(base, word)           ? 3
                    : has_letters(path, word)           ? 4
                                                        : UINT_MAX;
    if (kind == UINT_MAX)
        return UINT_MAX;
    return (kind + (is_hidden ? 5 : 0)) << 16 | (unsigned)MIN(path.n, (size_t)UINT16_MAX);
}

static void look_at_path(struct search *x, struct str path)
{
    unsigned r = !path.n || str_chr(path, ' ') != SIZE_MAX || str_chr(path, '\t') != SIZE_MAX
                     ? UINT_MAX
                     : rank(path, x->word);
    size_t at = x->n_best;
    if (r == UINT_MAX || (at == MAX_FOUND && x->best[at - 1].rank <= r))
        return;
    x->n_best += at < MAX_FOUND;
    for (at = x->n_best - 1; at && x->best[at - 1].rank > r; at--)
        x->best[at] = x->best[at - 1];
    x->best[at].rank = r;
    x->best[at].path = path;
}

static void search_run(void *arg)
{
    struct search *x = arg;
    struct str rest = x->paths, line;
    list_folder(x);
    while (x->word.n && str_line(&rest, &line))
        look_at_path(x, line);
    for (size_t i = 0; i < x->n_entries; i++)
        x->names[x->n++] = x->entries[i];
    for (size_t i = 0; i < x->n_best; i++) {
        bool is_known = false;
        for (size_t k = 0; k < x->n_entries && !is_known; k++)
            is_known = str_eq(x->entries[k], x->best[i].path);
        if (!is_known)
            x->names[x->n++] = x->best[i].path;
    }
}

/* ---- the fiber ---- */

static bool is_fresh(const struct chat *c, const struct file_finder *f)
{
    int64_t age = time_mono_us() - f->listed_us;
    return f->root && str_is(c->launch.workspace, f->root) && age < MAX(FRESH_US, 10 * f->took_us);
}

/* False only when it was canceled. */
static bool list_await(struct chat *c, struct file_finder *f)
{
    struct error err = ERROR_INIT;
    AUTO(buf) struct buf paths = BUF_INIT;
    int64_t begun_us = time_mono_us();
    AUTO_FREE char *root = str_dup(c->launch.workspace);
    bool ok = session_files_await(c->launch.session, MAX_PATHS, &paths, &err);
    buf_clear(&f->paths);
    f->paths = take(&paths);
    free(f->root);
    f->root = take(&root);
    f->listed_us = time_mono_us();
    f->took_us = f->listed_us - begun_us;
    return ok || err.code != ERR_CANCELED;
}

static void search_await(struct chat *c, struct str word, bool is_last)
{
    struct file_finder *f = &c->finder;
    struct search *x = xnew(struct search);
    x->workspace = arena_str(&x->arena, c->launch.workspace);
    x->word = word;
    x->paths = buf_str(&f->paths);
    work_through_await(c->loop, search_run, x);
    if (f->is_asked && !f->wanted) { /* nothing was typed since */
        f->is_asked = !is_last;
        finder_found(c, x->names, x->n);
        chat_dirty(c);
    }
    arena_clear(&x->arena);
    free(x);
}

/* Before paths are listed anew, those that are known are looked at: a list of many takes a while.
 */
static void finder_fiber(void *arg)
{
    struct chat *c = arg;
    struct file_finder *f = &c->finder;
    bool is_over = false;
    while (f->wanted && !is_over) {
        AUTO_FREE char *word = take(&f->wanted);
        bool is_last = false;
        while (!is_last && !f->wanted && !is_over) {
            is_last = is_fresh(c, f) || !c->launch.session;
            search_await(c, str_of(word), is_last);
            is_over = !is_last && !f->wanted && c->launch.session && !list_await(c, f);
        }
    }
    f->fiber = NULL;
}

void finder_ask(struct chat *c, struct str word, size_t from)
{
    struct file_finder *f = &c->finder;
    free(f->wanted);
    f->wanted = str_dup(word);
    f->from = from;
    f->is_asked = true;
    if (!f->fiber)
        f->fiber = fiber_start(c->loop, "find files", finder_fiber, c);
}

void finder_forget(struct chat *c)
{
    free(take(&c->finder.wanted));
    c->finder.is_asked = c->accepts = false;
}

void finder_clear(struct file_finder *f)
{
    buf_clear(&f->paths);
    free(f->wanted);
    free(f->root);
}
