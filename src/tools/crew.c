/* SPDX-License-Identifier: MIT */
/* One lock guards the stack; it is taken twice per task, and a task is a whole directory or
 * PIECE_FILES files, so members seldom meet there.  Each member has a list of names, a path and the
 * kernel's block of its own.  A directory stays open as long as pieces of it are under way; pieces
 * lie on top of the stack, so few directories are open at once.
 */
#include "tools/crew.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { PIECE_FILES = 128 };

/* An open directory whose files several members look at. */
struct shared_dir {
    int fd;
    struct names names;
    struct level *level;
    atomic_uint n_refs;
};

struct task {
    struct task *next;
    struct shared_dir *dir; /* files from..to of it; NULL: a directory to read */
    size_t from, to;
    struct level *level; /* of the directory above; NULL: no rules are used */
    unsigned depth;      /* 0: the root */
    size_t n;
    char path[]; /* of the directory, absolute, NUL-ended */
};

struct crew {
    const struct crew_options *o;
    size_t root_n; /* length of the root with its slash */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct task *top;
    unsigned n_busy, n_waiting;
    atomic_bool is_halted, is_cut;
};

/* What one member works with. */
struct member {
    struct crew *crew;
    unsigned number;
    struct names names;
    struct buf path;
};

static bool is_over(const struct crew *c)
{
    return atomic_load_explicit(&c->is_halted, memory_order_relaxed) ||
           atomic_load_explicit(c->o->stop, memory_order_relaxed);
}

/* ---- tasks ---- */

static struct task *task_new(struct str path, struct level *level, unsigned depth)
{
    struct task *t = xmalloc(sizeof *t + path.n + 1);
    *t = (struct task){.level = level_ref(level), .depth = depth, .n = path.n};
    memcpy(t->path, path.p, path.n);
    t->path[path.n] = '\0';
    return t;
}

static void shared_dir_unref(struct shared_dir *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    close(d->fd);
    names_clear(&d->names);
    level_unref(d->level);
    free(d);
}

static void task_free(struct task *t)
{
    shared_dir_unref(t->dir);
    level_unref(t->level);
    free(t);
}

/* Puts a chain of tasks on the stack, its first on top. */
static void push_all(struct crew *c, struct task *first, struct task *last)
{
    if (!first)
        return;
    pthread_mutex_lock(&c->lock);
    last->next = c->top;
    c->top = first;
    if (c->n_waiting)
        pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* The next task; NULL when no more will come. */
static struct task *pop(struct crew *c)
{
    pthread_mutex_lock(&c->lock);
    while (!c->top && c->n_busy && !is_over(c)) {
        c->n_waiting++;
        pthread_cond_wait(&c->wake, &c->lock);
        c->n_waiting--;
    }
    struct task *t = is_over(c) ? NULL : c->top;
    if (t) {
        c->top = t->next;
        c->n_busy++;
    }
    pthread_mutex_unlock(&c->lock);
    return t;
}

static void task_done(struct crew *c, struct task *t)
{
    task_free(t);
    pthread_mutex_lock(&c->lock);
    if (--c->n_busy == 0 || is_over(c))
        pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* ---- files ---- */

/* m->path holds the directory with its slash. */
static void report_files(struct member *m, int fd, const struct names *names, size_t from,
                         size_t to, const struct level *level)
{
    struct crew *c = m->crew;
    size_t keep = m->path.n;
    for (size_t i = from; i < to && !is_over(c); i++) {
        if (names->v[i].kind == WALK_DIR)
            continue;
        buf_addz(&m->path, names_get(names, i));
        struct str path = buf_str(&m->path);
        if (!level || !level_ignores(level, path, false)) {
            struct crew_file f = {fd, path, str_from(path, c->root_n), str_from(path, keep),
                                  names->v[i].kind};
            c->o->on_file(c->o->arg, m->number, &f);
        }
        buf_cut(&m->path, keep);
    }
}

/* Hands the list and the descriptor over, and makes tasks of the pieces behind the first. */
static struct shared_dir *share(struct member *m, int fd, struct level *level, unsigned depth)
{
    struct crew *c = m->crew;
    struct shared_dir *d = xnew(struct shared_dir);
    struct task *first = NULL, *last = NULL;
    d->fd = fd;
    d->names = take(&m->names);
    d->level = level_ref(level);
    atomic_init(&d->n_refs, 1);
    for (size_t at = PIECE_FILES; at < d->names.n; at += PIECE_FILES) {
        struct task *t = task_new(buf_str(&m->path), NULL, depth);
        t->dir = d;
        t->from = at;
        t->to = MIN(at + PIECE_FILES, d->names.n);
        atomic_fetch_add(&d->n_refs, 1);
        if (last)
            last->next = t;
        else
            first = t;
        last = t;
    }
    push_all(c, first, last);
    return d;
}

/* ---- directories ---- */

static int compare_names(const void *a, const void *b, void *bytes)
{
    const struct name *const *x = a, *const *y = b;
    return strcmp((char *)bytes + (*x)->at, (char *)bytes + (*y)->at);
}

/* The directories among the names, sorted; *ret_n of them.  Owned by the caller. */
static const struct name **list_dirs(const struct names *names, size_t *ret_n)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; i < names->n; i++)
        n += names->v[i].kind == WALK_DIR;
    const struct name **dirs = n ? xcalloc(n, sizeof *dirs) : NULL;
    for (size_t i = 0; i < names->n; i++)
        if (names->v[i].kind == WALK_DIR)
            dirs[k++] = &names->v[i];
    if (n)
        qsort_r(dirs, n, sizeof *dirs, compare_names, names->bytes.p);
    *ret_n = n;
    return dirs;
}

static void push_dirs(struct member *m, const struct names *names, struct level *level,
                      unsigned depth)
{
    size_t keep = m->path.n, n;
    struct task *first = NULL, *last = NULL;
    AUTO_FREE const struct name **dirs = list_dirs(names, &n);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&m->path, names->bytes.p + dirs[i]->at);
        if (!level || !level_ignores(level, buf_str(&m->path), true)) {
            struct task *t = task_new(buf_str(&m->path), level, depth + 1);
            if (last)
                last->next = t;
            else
                first = t;
            last = t;
        }
        buf_cut(&m->path, keep);
    }
    push_all(m->crew, first, last);
}

/* Goes through an open directory, which is closed here or after the last piece of it. */
static void look_at(struct member *m, int fd, const struct task *t)
{
    struct crew *c = m->crew;
    struct error ignored;
    if (!names_read(&m->names, fd, &c->o->filter, &ignored)) {
        close(fd);
        return;
    }
    if (m->names.is_cut)
        atomic_store(&c->is_cut, true);
    struct level *level = NULL;
    if (c->o->use_ignore)
        level = t->depth ? level_below(t->level, str_n(t->path, t->n), &m->names)
                         : level_ref(t->level);
    if (c->o->max_depth == 0 || t->depth + 1 < c->o->max_depth)
        push_dirs(m, &m->names, level, t->depth);
    if (m->names.n > 2 * PIECE_FILES) {
        struct shared_dir *d = share(m, fd, level, t->depth);
        report_files(m, fd, &d->names, 0, PIECE_FILES, level);
        shared_dir_unref(d);
    } else {
        report_files(m, fd, &m->names, 0, m->names.n, level);
        close(fd);
    }
    level_unref(level);
}

static void do_task(struct member *m, const struct task *t)
{
    struct crew *c = m->crew;
    buf_reset(&m->path);
    buf_add(&m->path, str_n(t->path, t->n));
    if (m->path.n == 0 || m->path.p[m->path.n - 1] != '/')
        buf_addc(&m->path, '/');
    if (t->dir) {
        report_files(m, t->dir->fd, &t->dir->names, t->from, t->to, t->dir->level);
        return;
    }
    if (t->depth && c->o->enters &&
        !c->o->enters(c->o->arg, str_from(buf_str(&m->path), c->root_n)))
        return;
    if (t->depth >= WALK_MAX_DEPTH) {
        atomic_store(&c->is_cut, true);
        return;
    }
    int fd = path_open_straight(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0 && !path_is_kernels(str_of(t->path)) && !path_is_kernels_fd(fd))
        look_at(m, fd, t);
    else if (fd >= 0)
        close(fd);
}

void crew_run(struct crew *c, unsigned number)
{
    struct member m = {.crew = c, .number = number};
    struct task *t;
    while ((t = pop(c))) {
        do_task(&m, t);
        task_done(c, t);
    }
    names_clear(&m.names);
    buf_clear(&m.path);
}

void crew_halt(struct crew *c)
{
    atomic_store(&c->is_halted, true);
}

bool crew_is_cut(const struct crew *c)
{
    return atomic_load(&c->is_cut);
}

struct crew *crew_new(const struct crew_options *o, struct error *err)
{
    AUTO_FREE char *root = str_dup(o->root);
    int fd = path_open_straight(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        error_errno(err, errno, "%s", root);
        return NULL;
    }
    close(fd);
    struct crew *c = xnew(struct crew);
    c->o = o;
    c->root_n = o->root.n + !str_ends(o->root, STR("/"));
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    struct level *level = o->use_ignore ? level_root(o->root) : NULL;
    c->top = task_new(o->root, level, 0);
    level_unref(level);
    return c;
}

void crew_free(struct crew *c)
{
    if (!c)
        return;
    for (struct task *t = c->top, *next; t; t = next) {
        next = t->next;
        task_free(t);
    }
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
