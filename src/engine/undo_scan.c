/* SPDX-License-Identifier: MIT */
/* Both lists are in the order of the walk, so one pass compares them.
 *
 * A difference is the command's if the file's ctime, which programs cannot set, is not before the
 * start of the command.  When a directory was renamed the files in it keep their ctime: a file that
 * is new with the marks of one that is gone was moved. */
#include "engine/undo_scan.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/time.h"
#include "tools/git_index.h"
#include "tools/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_AT_CLOCK = 256 };

struct seen {
    struct str path; /* below the root */
    uint64_t mark;   /* of what lstat says */
    int64_t ctime_ns;
    int64_t size;
    unsigned mode;
    const char *id; /* bytes, or NULL */
    int64_t copy;   /* or -1 */
    const char *lost;
};

struct list {
    struct seen *v;
    size_t n, capacity;
};

struct undo_scan {
    struct arena arena;
    struct str root, own, copies;
    struct list list; /* as of the last search */
    size_t id_n;
    int pack; /* the copies, one behind the other; -1: none yet */
    int64_t pack_n;
    size_t n_copies;
    char *git_log;     /* path of the log of HEAD, or NULL */
    uint64_t git_mark; /* of it */
};

/* ---- marks ---- */

static int64_t in_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t undo_scan_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return in_ns(t);
}

static uint64_t mark_of(const struct stat *st)
{
    uint64_t of[] = {(uint64_t)st->st_ino, (uint64_t)st->st_size, (uint64_t)in_ns(st->st_mtim),
                     (uint64_t)in_ns(st->st_ctim), st->st_mode};
    return str_hash(str_n((const char *)of, sizeof of));
}

/* Of a path that may be missing: 0. */
static uint64_t mark_of_path(const char *path)
{
    struct stat st;
    return path && lstat(path, &st) == 0 ? mark_of(&st) : 0;
}

static struct seen seen_of(struct str path, const struct stat *st)
{
    return (struct seen){.path = path,
                         .mark = mark_of(st),
                         .ctime_ns = in_ns(st->st_ctim),
                         .size = st->st_size,
                         .mode = st->st_mode & 0777,
                         .copy = -1};
}

static void add_seen(struct list *l, const struct seen *f)
{
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? l->capacity * 2 : 256;
        l->v = xrealloc(l->v, l->capacity * sizeof *l->v);
    }
    l->v[l->n++] = *f;
}

/* In the order of the walk: what is in a directory comes right behind its name. */
static int order(struct str a, struct str b)
{
    for (size_t i = 0; i < MIN(a.n, b.n); i++) {
        int x = a.p[i] == '/' ? 0 : (unsigned char)a.p[i];
        int y = b.p[i] == '/' ? 0 : (unsigned char)b.p[i];
        if (x != y)
            return x - y;
    }
    return (a.n > b.n) - (a.n < b.n);
}

static int order_seen(const void *a, const void *b)
{
    return order(((const struct seen *)a)->path, ((const struct seen *)b)->path);
}

/* ---- the content before ---- */

static const char *const skipped[] = {".git", NULL};

static char *absolute(const struct undo_scan *s, struct str path)
{
    struct buf out = BUF_INIT;
    buf_addf(&out, "%.*s/%.*s", STR_FMT(s->root), STR_FMT(path));
    return buf_take(&out);
}

static int open_pack(const struct undo_scan *s)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    struct error ignored;
    buf_add(&dir, s->copies);
    if (!path_make_dirs(s->copies, 0700, &ignored))
        return -1;
    int fd = open(dir.p, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    buf_addz(&dir, "/copies-XXXXXX"); /* a file system without unnamed files */
    fd = mkostemp(dir.p, O_CLOEXEC);
    if (fd >= 0)
        unlink(dir.p);
    return fd;
}

static bool copy_file(struct undo_scan *s, struct seen *f)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    AUTO_FREE char *path = absolute(s, f->path);
    struct error ignored;
    struct stat st;
    int fd = path_open_straight(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && mark_of(&st) == f->mark &&
              path_read_fd(&bytes, fd, f->path, LIMIT_UNDO_FILE_BYTES, &ignored) &&
              (int64_t)bytes.n == f->size;
    if (fd >= 0)
        close(fd);
    if (ok && s->pack < 0)
        s->pack = open_pack(s);
    if (!ok || s->pack < 0 || !path_write_all(s->pack, buf_str(&bytes)))
        return false;
    f->copy = s->pack_n;
    s->pack_n += f->size;
    s->n_copies++;
    return true;
}

static void keep_copy(struct undo_scan *s, struct seen *f)
{
    bool is_full = s->n_copies >= LIMIT_UNDO_COPIED_FILES ||
                   s->pack_n + f->size > LIMIT_UNDO_COPIED_BYTES;
    if (f->size > LIMIT_UNDO_FILE_BYTES)
        f->lost = "larger than 2 MB";
    else if (is_full)
        f->lost = "too many files that are not in git or are changed";
    else if (!copy_file(s, f))
        f->lost = "it could not be copied before the command";
}

bool undo_scan_copy(const struct undo_scan *s, const struct undo_change *c, struct buf *out)
{
    size_t size = (size_t)c->size;
    if (pread(s->pack, buf_space(out, size), size, c->copy) != (ssize_t)size)
        return false;
    buf_added(out, size);
    return true;
}

/* ---- walking ---- */

struct look {
    struct undo_scan *scan;
    struct arena *arena; /* of the paths */
    struct list *list;
    int64_t deadline_ms;
    bool is_late;
    /* The first time only: what git tracks. */
    const struct git_index *index;
    struct str prefix; /* of the workspace in the repository */
    bool *is_seen;     /* for each file of the index */
    struct buf path;
};

/* Content that git has need not be copied. */
static bool is_in_git(struct look *k, struct seen *f, const struct stat *st)
{
    const struct git_index *x = k->index;
    buf_reset(&k->path);
    buf_add(&k->path, k->prefix);
    buf_add(&k->path, f->path);
    const struct git_file *g = git_index_find(x, buf_str(&k->path));
    if (!g)
        return false;
    k->is_seen[g - x->v] = true;
    if (f->size > LIMIT_UNDO_FILE_BYTES || !git_index_is_clean(x, g, st))
        return false;
    f->id = arena_str(&k->scan->arena, git_file_id(x, g)).p;
    return true;
}

static bool add_file(struct look *k, struct str path, const struct stat *st)
{
    struct list *l = k->list;
    k->is_late = l->n % LOOK_AT_CLOCK == 0 && time_mono_us() / 1000 > k->deadline_ms;
    if (l->n >= LIMIT_UNDO_SCAN_FILES || k->is_late)
        return false;
    struct seen f = seen_of(arena_str(k->arena, path), st);
    if (k->index && !is_in_git(k, &f, st))
        keep_copy(k->scan, &f);
    add_seen(l, &f);
    return true;
}

static enum walk_next on_entry(void *arg, const struct walk_entry *e)
{
    struct look *k = arg;
    struct stat st;
    if (e->kind == WALK_DIR)
        return k->scan->own.n && str_eq(e->path, k->scan->own) ? WALK_SKIP : WALK_ON;
    if (e->kind != WALK_FILE || lstat(e->path.p, &st) != 0 || !S_ISREG(st.st_mode))
        return WALK_ON;
    return add_file(k, e->rel, &st) ? WALK_ON : WALK_STOP;
}

/* All files that are neither ignored nor trivet's own. */
static bool look_around(struct look *k, struct buf *ret_why)
{
    struct walk_options o = {.root = k->scan->root,
                             .use_ignore = true,
                             .filter = {.skip = skipped},
                             .fn = on_entry,
                             .arg = k};
    struct walk_report report;
    struct error err;
    k->deadline_ms = time_mono_us() / 1000 + LIMIT_UNDO_SCAN_MS;
    if (!walk_run(&o, &report, &err))
        buf_addz(ret_why, err.text);
    else if (k->is_late)
        buf_addf(ret_why, "looking through the workspace takes longer than %d ms",
                 LIMIT_UNDO_SCAN_MS);
    else if (k->list->n >= LIMIT_UNDO_SCAN_FILES || report.is_cut)
        buf_addf(ret_why, "the workspace has more than %d files", LIMIT_UNDO_SCAN_FILES);
    return ret_why->n == 0;
}

/* ---- the first search ---- */

static bool is_own(const struct undo_scan *s, struct str path)
{
    AUTO_FREE char *all = absolute(s, path);
    struct str part;
    while (path.p) {
        path = str_split(path, '/', &part);
        if (str_is(part, skipped[0]))
            return true;
    }
    return s->own.n && path_is_inside(s->own, str_of(all));
}

/* Tracked files that the walk left out, since they are ignored. */
static void add_ignored(struct look *k)
{
    struct list *l = k->list;
    size_t n = l->n;
    for (size_t i = 0; i < k->index->n; i++) {
        struct str path = str_from(k->index->v[i].path, k->prefix.n);
        struct stat st;
        if (k->is_seen[i] || !str_starts(k->index->v[i].path, k->prefix) || is_own(k->scan, path))
            continue;
        AUTO_FREE char *z = absolute(k->scan, path);
        if (lstat(z, &st) == 0 && S_ISREG(st.st_mode) && !add_file(k, path, &st))
            break;
    }
    if (l->n > n)
        qsort(l->v, l->n, sizeof *l->v, order_seen);
}

static bool is_a_home(struct str root)
{
    AUTO(buf) struct buf state = BUF_INIT;
    path_xdg(&state, "XDG_STATE_HOME", ".local/state");
    return path_is_inside(root, path_home()) || path_is_inside(root, buf_str(&state));
}

/* The repository of the workspace: its index, and where its log of HEAD is. */
static void read_git(struct undo_scan *s, struct git_index *index, struct str *ret_prefix)
{
    AUTO(buf) struct buf git = BUF_INIT;
    struct str root;
    if (!git_find(s->root, &root, &git))
        return;
    git_index_read(index, buf_str(&git));
    buf_addz(&git, "/logs/HEAD");
    s->git_log = buf_take(&git);
    s->git_mark = mark_of_path(s->git_log);
    s->id_n = index->id_n;
    if (root.n < s->root.n)
        *ret_prefix = arena_fmt(&s->arena, "%.*s/", STR_FMT(str_from(s->root, root.n + 1)));
}

struct undo_scan *undo_scan_new(const struct undo_places *p, struct buf *ret_why)
{
    AUTO(git_index) struct git_index index = GIT_INDEX_INIT;
    if (is_a_home(p->root)) {
        buf_addz(ret_why, "the workspace holds the home directory");
        return NULL;
    }
    struct undo_scan *s = xnew(struct undo_scan);
    s->pack = -1;
    s->root = arena_str(&s->arena, p->root);
    s->own = arena_str(&s->arena, p->own);
    s->copies = arena_str(&s->arena, p->copies);
    struct look k = {
        .scan = s, .arena = &s->arena, .list = &s->list, .index = &index, .prefix = STR("")};
    read_git(s, &index, &k.prefix);
    k.is_seen = xcalloc(index.n + 1, sizeof *k.is_seen);
    bool ok = look_around(&k, ret_why);
    if (ok)
        add_ignored(&k);
    free(k.is_seen);
    buf_clear(&k.path);
    if (!ok)
        undo_scan_free(take(&s));
    return s;
}

void undo_scan_free(struct undo_scan *s)
{
    if (!s)
        return;
    if (s->pack >= 0)
        close(s->pack);
    free(s->list.v);
    free(s->git_log);
    arena_clear(&s->arena);
    free(s);
}

/* ---- comparing ---- */

struct compare {
    struct undo_scan *scan;
    int64_t since_ns;
    struct list next; /* becomes the scan's */
    struct undo_changes *changes;
    struct list gone;   /* not there any more */
    struct list strays; /* new, but last changed before the command */
};

void undo_changes_clear(struct undo_changes *c)
{
    free(c->v);
    *c = (struct undo_changes){0};
}

/* was: before; NULL: there was no such file. */
static void add_change(struct compare *c, struct str path, const struct seen *was)
{
    struct undo_changes *l = c->changes;
    struct undo_scan *s = c->scan;
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? l->capacity * 2 : 16;
        l->v = xrealloc(l->v, l->capacity * sizeof *l->v);
    }
    struct undo_change *x = &l->v[l->n++];
    *x = (struct undo_change){.copy = -1};
    x->path = arena_fmt(&s->arena, "%.*s/%.*s", STR_FMT(s->root), STR_FMT(path));
    if (!was)
        return;
    x->existed = true;
    x->mode = was->mode;
    x->size = was->size;
    x->copy = was->copy;
    x->lost = was->lost;
    if (was->id)
        x->id = str_n(was->id, s->id_n);
}

/* A file of both lists. */
static void meet(struct compare *c, const struct seen *was, const struct seen *is)
{
    struct seen next = *is;
    next.path = was->path;
    next.lost = "changed by something else during the turn";
    bool is_same = was->mark == is->mark;
    if (!is_same && is->ctime_ns >= c->since_ns)
        add_change(c, was->path, was);
    add_seen(&c->next, is_same ? was : &next);
}

/* The walk has not found it: it may be ignored now. */
static void miss(struct compare *c, const struct seen *was)
{
    AUTO_FREE char *path = absolute(c->scan, was->path);
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        struct seen is = seen_of(was->path, &st);
        meet(c, was, &is);
        return;
    }
    add_change(c, was->path, was);
    add_seen(&c->gone, was);
}

static void appear(struct compare *c, const struct seen *is)
{
    struct seen next = *is;
    bool is_stray = is->ctime_ns < c->since_ns;
    next.path = arena_str(&c->scan->arena, is->path);
    next.lost = is_stray ? "changed by something else during the turn" : NULL;
    if (is_stray)
        add_seen(&c->strays, &next);
    else
        add_change(c, next.path, NULL);
    add_seen(&c->next, &next);
}

static int order_marks(const void *a, const void *b)
{
    uint64_t x = ((const struct seen *)a)->mark, y = ((const struct seen *)b)->mark;
    return (x > y) - (x < y);
}

/* Files below a directory that was renamed. */
static void find_moved(struct compare *c)
{
    struct list *gone = &c->gone;
    if (gone->n)
        qsort(gone->v, gone->n, sizeof *gone->v, order_marks);
    for (size_t i = 0; i < c->strays.n && gone->n; i++)
        if (bsearch(&c->strays.v[i], gone->v, gone->n, sizeof *gone->v, order_marks))
            add_change(c, c->strays.v[i].path, NULL);
}

static void compare(struct compare *c, const struct list *old, const struct list *now)
{
    size_t i = 0, k = 0;
    while (i < old->n || k < now->n) {
        int cmp = i == old->n ? 1 : k == now->n ? -1 : order(old->v[i].path, now->v[k].path);
        if (cmp == 0)
            meet(c, &old->v[i++], &now->v[k++]);
        else if (cmp < 0)
            miss(c, &old->v[i++]);
        else
            appear(c, &now->v[k++]);
    }
    find_moved(c);
}

void undo_scan_update(struct undo_scan *s, struct str path)
{
    struct list *l = &s->list;
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    size_t from = 0, to = l->n;
    if (!path_is_inside(s->root, path) || lstat(z, &st) != 0 || !S_ISREG(st.st_mode))
        return; /* when it is gone the next search finds that, and it is known already */
    struct seen now = seen_of(path_relative(s->root, path), &st);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (order(l->v[middle].path, now.path) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == l->n || !str_eq(l->v[from].path, now.path)) {
        now.path = arena_str(&s->arena, now.path);
        add_seen(l, &now);
        memmove(&l->v[from + 1], &l->v[from], (l->n - 1 - from) * sizeof *l->v);
    } else
        now.path = l->v[from].path;
    l->v[from] = now;
}

bool undo_scan_again(struct undo_scan *s, int64_t since_ns, struct undo_changes *ret,
                     struct buf *ret_why)
{
    AUTO(arena) struct arena paths = ARENA_INIT;
    struct list now = {0};
    struct look k = {.scan = s, .arena = &paths, .list = &now};
    struct compare c = {.scan = s, .since_ns = since_ns, .changes = ret};
    *ret = (struct undo_changes){0};
    bool ok = look_around(&k, ret_why);
    if (ok) {
        uint64_t mark = mark_of_path(s->git_log);
        compare(&c, &s->list, &now);
        free(s->list.v);
        s->list = c.next;
        ret->has_git_moved = mark != s->git_mark;
        s->git_mark = mark;
    }
    free(now.v);
    free(c.gone.v);
    free(c.strays.v);
    return ok;
}
