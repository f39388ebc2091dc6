/* SPDX-License-Identifier: MIT */
/* The walk reads one directory at a time into a sorted list of names and closes it before it goes
 * deeper, so one descriptor is enough for any depth.  Ignore rules form a chain, innermost first:
 *
 *     level of src/tools --> level of src --> level of the root --> levels above, up to the .git
 *
 * The first level of the chain that says something decides; what .ignore says goes before what
 * .gitignore says, at whatever level.
 */
#include "tools/walk.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/ignore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 128, MAX_NAMES = 500000 };

struct level {
    struct ignore_file own;     /* .ignore */
    struct ignore_file git;     /* .gitignore */
    struct ignore_file exclude; /* .git/info/exclude */
    struct level *up;
};

struct name {
    size_t at; /* in the bytes of the list */
    enum walk_kind kind;
};

struct names {
    struct buf bytes; /* NUL-ended names, one after the other */
    struct name *v;
    size_t n, room;
};

struct walk {
    const struct walk_options *o;
    struct walk_report *report;
    struct buf path; /* where we are, absolute */
    size_t root_n;   /* length of the root with its slash */
    bool is_over;    /* fn said stop */
};

static void names_clear(struct names *l)
{
    buf_clear(&l->bytes);
    free(l->v);
}

static void level_clear(struct level *l)
{
    ignore_file_clear(&l->own);
    ignore_file_clear(&l->git);
    ignore_file_clear(&l->exclude);
}

static void level_load(struct level *l, struct str dir)
{
    ignore_load(&l->own, dir, ".ignore");
    ignore_load(&l->git, dir, ".gitignore");
}

static enum walk_kind kind_of(DIR *d, const struct dirent *e)
{
    struct stat st;
    switch (e->d_type) {
    case DT_REG:
        return WALK_FILE;
    case DT_DIR:
        return WALK_DIR;
    case DT_LNK:
        return WALK_LINK;
    case DT_UNKNOWN:
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return WALK_OTHER;
        return S_ISREG(st.st_mode)   ? WALK_FILE
               : S_ISDIR(st.st_mode) ? WALK_DIR
               : S_ISLNK(st.st_mode) ? WALK_LINK
                                     : WALK_OTHER;
    default:
        return WALK_OTHER;
    }
}

static void add_name(struct names *l, const char *name, enum walk_kind kind)
{
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 32;
        l->v = xrealloc(l->v, l->room * sizeof *l->v);
    }
    l->v[l->n++] = (struct name){l->bytes.n, kind};
    buf_add(&l->bytes, str_n(name, strlen(name) + 1));
}

static int compare_names(const void *a, const void *b, void *bytes)
{
    const struct name *x = a, *y = b;
    return strcmp((char *)bytes + x->at, (char *)bytes + y->at);
}

static bool wants_name(const struct walk_options *o, const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (o->skip_hidden && name[0] == '.'))
        return false;
    for (const char *const *s = o->skip; s && *s; s++)
        if (strcmp(*s, name) == 0)
            return false;
    return true;
}

static bool read_names(struct walk *w, struct names *l, struct error *err)
{
    DIR *d = opendir(w->path.p);
    if (!d)
        return error_errno(err, errno, "%s", w->path.p);
    for (struct dirent *e; (e = readdir(d));) {
        if (l->n == MAX_NAMES) {
            w->report->is_cut = true;
            break;
        }
        if (wants_name(w->o, e->d_name))
            add_name(l, e->d_name, kind_of(d, e));
    }
    closedir(d);
    if (l->n)
        qsort_r(l->v, l->n, sizeof *l->v, compare_names, l->bytes.p);
    return true;
}

static bool is_ignored(const struct level *from, struct str path, bool is_dir)
{
    enum ignore_verdict v = IGNORE_SILENT;
    for (const struct level *l = from; l && v == IGNORE_SILENT; l = l->up)
        v = ignore_check(&l->own, path, is_dir);
    for (const struct level *l = from; l && v == IGNORE_SILENT; l = l->up)
        v = ignore_check(&l->git, path, is_dir);
    for (const struct level *l = from; l && v == IGNORE_SILENT; l = l->up)
        v = ignore_check(&l->exclude, path, is_dir);
    return v == IGNORE_YES;
}

static void walk_dir(struct walk *w, const struct names *l, struct level *level, unsigned depth);

static void enter(struct walk *w, struct level *up, unsigned depth)
{
    AUTO(names) struct names list = {0};
    AUTO(level) struct level level = {.up = up};
    struct error ignored;
    if (depth >= MAX_DEPTH) {
        w->report->is_cut = true;
        return;
    }
    if (!read_names(w, &list, &ignored)) {
        w->report->n_unreadable++;
        return;
    }
    if (w->o->use_ignore)
        level_load(&level, buf_str(&w->path));
    walk_dir(w, &list, &level, depth);
}

static void visit(struct walk *w, const char *name, enum walk_kind kind, struct level *level,
                  unsigned depth)
{
    size_t keep = w->path.n;
    if (w->path.p[keep - 1] != '/')
        buf_addc(&w->path, '/');
    size_t name_at = w->path.n;
    buf_addz(&w->path, name);
    struct str path = buf_str(&w->path);
    if (!w->o->use_ignore || !is_ignored(level, path, kind == WALK_DIR)) {
        struct walk_entry e = {
            .path = path,
            .rel = str_from(path, w->root_n),
            .name = str_from(path, name_at),
            .kind = kind,
            .depth = depth,
        };
        enum walk_next next = w->o->fn(w->o->arg, &e);
        w->is_over = next == WALK_STOP;
        if (kind == WALK_DIR && next == WALK_ON && depth != w->o->max_depth)
            enter(w, level, depth);
    }
    buf_cut(&w->path, keep);
}

static bool is_stopped(const struct walk *w)
{
    return w->o->stop && atomic_load_explicit(w->o->stop, memory_order_relaxed);
}

static void walk_dir(struct walk *w, const struct names *l, struct level *level, unsigned depth)
{
    for (size_t i = 0; i < l->n && !w->is_over && !is_stopped(w); i++)
        visit(w, l->bytes.p + l->v[i].at, l->v[i].kind, level, depth + 1);
}

static bool is_repository(struct str dir)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%.*s/.git", STR_FMT(dir));
    return path_exists(buf_str(&path));
}

static void load_exclude(struct level *l, struct str dir)
{
    struct error ignored;
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    buf_addf(&path, "%.*s/.git/info/exclude", STR_FMT(dir));
    if (path_exists(buf_str(&path)) && path_read(&text, buf_str(&path), 1 << 20, &ignored))
        ignore_parse(&l->exclude, dir, buf_str(&text));
}

/* The rules that hold at the root: its own and, inside a repository, those above it. */
static size_t load_chain(struct level *chain, struct str root)
{
    size_t n = 0;
    struct str dir = root;
    while (n < MAX_DEPTH && !is_repository(dir) && dir.n > 1) {
        dir = path_dir(dir);
        n++;
    }
    bool in_repository = is_repository(dir);
    if (!in_repository)
        n = 0;
    dir = root;
    for (size_t i = 0; i <= n; i++, dir = path_dir(dir)) {
        level_load(&chain[i], dir);
        chain[i].up = i < n ? &chain[i + 1] : NULL;
        if (i == n && in_repository)
            load_exclude(&chain[i], dir);
    }
    return n + 1;
}

bool walk_run(const struct walk_options *o, struct walk_report *ret, struct error *err)
{
    struct walk_report report = {0};
    struct walk w = {.o = o, .report = &report};
    AUTO(names) struct names list = {0};
    buf_add(&w.path, o->root);
    w.root_n = o->root.n + !str_ends(o->root, STR("/"));
    if (!read_names(&w, &list, err)) {
        buf_clear(&w.path);
        return false;
    }
    struct level *chain = xcalloc(MAX_DEPTH + 1, sizeof *chain);
    size_t n = o->use_ignore ? load_chain(chain, o->root) : 1;
    walk_dir(&w, &list, chain, 0);
    for (size_t i = 0; i < n; i++)
        level_clear(&chain[i]);
    free(chain);
    buf_clear(&w.path);
    if (is_stopped(&w))
        return error_set(err, ERR_CANCELED, "the walk was stopped");
    *ret = report;
    return true;
}
