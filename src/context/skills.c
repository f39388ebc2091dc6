/* SPDX-License-Identifier: MIT */
/* Finds skills on disk.  skill_text.c reads the description of a SKILL.md. */
#include "context/skills.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/path.h"
#include "context/foreign.h"
#include "context/front.h"
#include "context/skill_text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>

void skills_clear(struct skills *s)
{
    arena_clear(&s->arena);
    free(s->items);
    free(s->roots);
    free(s->errors);
    free(s->watched);
    table_clear(&s->by_path);
    table_clear(&s->by_name);
    *s = SKILLS_INIT;
}

static void add_str(struct str **list, size_t *n, size_t *capacity, struct str s)
{
    GROW(*list, *n, *capacity);
    (*list)[(*n)++] = s;
}

static void add_error(struct skills *s, struct str line)
{
    add_str(&s->errors, &s->n_errors, &s->errors_capacity, line);
}

static void add_skill(struct skills *s, struct skill skill)
{
    GROW(s->items, s->n, s->capacity);
    s->items[s->n++] = skill;
}

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* ---- roots ---- */

void skills_add_root(struct skills *s, struct str dir)
{
    for (size_t i = 0; i < s->n_roots; i++)
        if (str_eq(s->roots[i], dir))
            return;
    add_str(&s->roots, &s->n_roots, &s->roots_capacity, arena_str(&s->arena, dir));
}

/* The nearest directory at or above dir that is a repository; STR_NONE without one. */
static struct str repository_of(struct str dir)
{
    for (;;) {
        if (path_is_repository(dir))
            return dir;
        if (dir.n <= 1)
            return STR_NONE;
        dir = path_dir(dir);
    }
}

/* <dir>/.agents/skills if it exists or is wanted anyway, and <dir>/.claude/skills if it exists. */
static void add_pair(struct skills *s, struct str dir, bool is_wanted)
{
    static const char *const names[] = {".agents/skills", ".claude/skills"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str path = arena_fmt(&s->arena, "%.*s/%s", STR_FMT(dir), names[i]);
        if ((is_wanted && i == 0) || path_is_dir(path))
            skills_add_root(s, path);
    }
}

/* From the repository's root down to cwd. */
static void add_repository_roots(struct skills *s, struct str cwd)
{
    struct str top = cwd.n && cwd.p[0] == '/' ? repository_of(cwd) : STR_NONE;
    if (!top.p)
        return;
    s->tree = arena_str(&s->arena, top);
    for (size_t end = top.n; end <= cwd.n; end++) {
        if (end < cwd.n && cwd.p[end] != '/')
            continue;
        add_pair(s, str_cut(cwd, end), false);
    }
}

void skills_add_roots(struct skills *s, struct str cwd, struct str config_dir, struct str home)
{
    add_repository_roots(s, cwd);
    if (config_dir.n)
        skills_add_root(s, arena_fmt(&s->arena, "%.*s/skills", STR_FMT(config_dir)));
    if (home.n)
        add_pair(s, home, true);
}

void skills_add_places(struct skills *s, const struct skill_places *p)
{
    s->depth = p->depth;
    s->first_wins = p->first_wins;
    skills_add_roots(s, p->cwd, p->config_dir, p->home);
    for (size_t i = 0; i < ARRAY_LEN(p->more); i++)
        if (p->more[i].n)
            skills_add_root(s, p->more[i]);
}

/* ---- what was looked at ---- */

static struct stamp stamp_of(const struct stat *st)
{
    return (struct stamp){
        .dev = (uint64_t)st->st_dev,
        .ino = (uint64_t)st->st_ino,
        .size = (int64_t)st->st_size,
        .changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
    };
}

/* What the path leads to; all zero when there is nothing.  Before it is read: a change in between
 * is then seen the next time. */
static void watch(struct skills *s, struct str path, struct stat *st)
{
    struct stamp now = {0};
    if (stat(path.p, st) == 0)
        now = stamp_of(st);
    else
        *st = (struct stat){0};
    GROW(s->watched, s->n_watched, s->watched_capacity);
    s->watched[s->n_watched++] = (struct watched){arena_str(&s->arena, path), now};
    s->newest_ns = MAX(s->newest_ns, now.changed_ns);
}

static bool has_roots_of(const struct skills *s, const struct skills *other)
{
    if (s->n_roots != other->n_roots || !str_eq(s->tree, other->tree))
        return false;
    for (size_t i = 0; i < s->n_roots; i++)
        if (!str_eq(s->roots[i], other->roots[i]))
            return false;
    return true;
}

bool skills_are_current(const struct skills *s, const struct skills *roots)
{
    enum { TICK_NS = 1000000000 }; /* the coarsest clock of a file system that is expected */
    struct stat st;
    if (!has_roots_of(s, roots) || s->newest_ns > s->scanned_ns - TICK_NS)
        return false;
    for (size_t i = 0; i < s->n_watched; i++) {
        struct stamp now = {0};
        if (stat(s->watched[i].path.p, &st) == 0)
            now = stamp_of(&st);
        if (memcmp(&now, &s->watched[i].stamp, sizeof now) != 0)
            return false;
    }
    return true;
}

/* ---- one skill ---- */

/* Of two skills with the same key the first stands for both: a copy in another root, or any of its
 * name. */
static struct str name_key(struct skills *s, struct str name, uint64_t text)
{
    if (s->first_wins)
        return arena_lower(&s->arena, name);
    return arena_fmt(&s->arena, "%.*s/%llx", STR_FMT(name), (unsigned long long)text);
}

/* path is resolved. */
static void read_skill(struct skills *s, struct str tree, struct str path, struct str folder,
                       int depth)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str front, body;
    struct error err;
    if (table_get(&s->by_path, path))
        return;
    if (!foreign_read(tree, path, LIMIT_SKILL_BYTES, &text, &err)) {
        add_error(s, arena_fmt(&s->arena, "failed reading %.*s: %s", STR_FMT(path),
                               err.status ? strerror(err.status) : err.text));
        return;
    }
    if (str_is_blank(buf_str(&text))) {
        add_error(s, arena_fmt(&s->arena, "skipped %.*s: empty skill content", STR_FMT(path)));
        return;
    }
    uint64_t hash = str_hash(str_trim(buf_str(&text)));
    struct str key = name_key(s, path_base(folder), hash);
    if (table_get(&s->by_name, key))
        return;
    folder = arena_str(&s->arena, folder);
    path = arena_str(&s->arena, path);
    table_put(&s->by_name, key, s);
    table_put(&s->by_path, path, s);
    front_split(buf_str(&text), &front, &body);
    add_skill(s, (struct skill){
                     .name = path_base(folder),
                     .description = skill_description(buf_str(&text), &s->arena),
                     .path = path,
                     .tree = tree,
                     .folder = folder,
                     .depth = depth,
                     .front = arena_str(&s->arena, front),
                     .text = hash,
                 });
}

/* ---- scanning ---- */

struct queue { /* directories still to be read, breadth first */
    struct queued {
        struct str path; /* real, in the arena */
        int depth;
    } * items;
    size_t n, capacity;
    struct table known; /* their paths */
    struct str tree;    /* tree that must contain them, or STR_NONE */
};

static void queue_add(struct skills *s, struct queue *q, struct str path, int depth)
{
    AUTO(buf) struct buf real = BUF_INIT;
    struct error ignored;
    if (!path_resolve(&real, path, &ignored) || q->n >= LIMIT_SKILL_DIRS + 1)
        return;
    if (q->tree.n && !path_is_inside(q->tree, buf_str(&real))) {
        add_error(s,
                  arena_fmt(&s->arena, "skipped %.*s: leads out of the repository", STR_FMT(path)));
        return;
    }
    if (table_get(&q->known, buf_str(&real)))
        return;
    struct str kept = arena_str(&s->arena, buf_str(&real));
    table_put(&q->known, kept, q);
    GROW(q->items, q->n, q->capacity);
    q->items[q->n++] = (struct queued){kept, depth};
}

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The names in a directory that do not begin with a dot, sorted. */
static struct str *read_names(struct skills *s, struct str dir, size_t *ret_n)
{
    struct str *names = NULL;
    size_t n = 0, capacity = 0;
    DIR *d = opendir(arena_strz(&s->arena, dir));
    struct dirent *entry;
    *ret_n = 0;
    if (!d) {
        if (errno != ENOENT)
            add_error(s, arena_fmt(&s->arena, "failed reading skills directory %.*s: %s",
                                   STR_FMT(dir), strerror(errno)));
        return NULL;
    }
    while ((entry = readdir(d)))
        if (entry->d_name[0] != '.')
            add_str(&names, &n, &capacity, arena_str(&s->arena, str_of(entry->d_name)));
    closedir(d);
    if (n)
        qsort(names, n, sizeof *names, by_bytes);
    *ret_n = n;
    return names;
}

static void scan_entry(struct skills *s, struct queue *q, struct queued at, struct str name)
{
    AUTO(buf) struct buf path = BUF_INIT, real = BUF_INIT;
    struct error ignored;
    struct stat st;
    buf_addf(&path, "%.*s/%.*s", STR_FMT(at.path), STR_FMT(name));
    bool is_skill = str_is(name, "SKILL.md");
    if (stat(path.p, &st) == 0 && !S_ISDIR(st.st_mode) && !is_skill)
        return;
    watch(s, buf_str(&path), &st); /* also a link that leads nowhere yet */
    if (S_ISDIR(st.st_mode)) {
        if (at.depth < (s->depth ? s->depth : LIMIT_SKILL_DEPTH))
            queue_add(s, q, buf_str(&path), at.depth + 1);
    } else if (is_skill && path_resolve(&real, buf_str(&path), &ignored)) {
        read_skill(s, q->tree, buf_str(&real), at.path, at.depth);
    }
}

static bool is_stopped(const struct skills *s)
{
    return s->stop && atomic_load_explicit(s->stop, memory_order_relaxed);
}

static void scan_dir(struct skills *s, struct queue *q, struct queued at)
{
    size_t n;
    struct str *names = read_names(s, at.path, &n);
    for (size_t i = 0; i < n && !is_stopped(s); i++)
        scan_entry(s, q, at, names[i]);
    free(names);
}

static void scan_root(struct skills *s, struct str root)
{
    struct queue q = {.tree = foreign_root(s->tree, root)};
    struct stat st;
    watch(s, root, &st);
    if (S_ISDIR(st.st_mode))
        queue_add(s, &q, root, 0);
    for (size_t i = 0; i < q.n && !is_stopped(s); i++) {
        if (i == LIMIT_SKILL_DIRS) {
            add_error(s,
                      arena_fmt(&s->arena, "skills scan truncated under %.*s after %d directories",
                                STR_FMT(root), LIMIT_SKILL_DIRS));
            break;
        }
        scan_dir(s, &q, q.items[i]);
    }
    table_clear(&q.known);
    free(q.items);
}

/* Letters first, then small before capital, then the path. */
static int by_name(const void *a, const void *b)
{
    const struct skill *x = a, *y = b;
    for (size_t i = 0; i < MIN(x->name.n, y->name.n); i++) {
        unsigned char p = (unsigned char)folded(x->name.p[i]),
                      q = (unsigned char)folded(y->name.p[i]);
        if (p != q)
            return p < q ? -1 : 1;
    }
    if (x->name.n != y->name.n)
        return x->name.n < y->name.n ? -1 : 1;
    int c = str_cmp(y->name, x->name);
    return c ? c : str_cmp(x->path, y->path);
}

void skills_scan(struct skills *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* that of the file systems, also in tests with another */
    s->scanned_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    for (size_t i = 0; i < s->n_roots; i++)
        scan_root(s, s->roots[i]);
    if (s->n)
        qsort(s->items, s->n, sizeof *s->items, by_name);
}

/* ---- looking up ---- */

const struct skill *skills_find(const struct skills *s, struct str name)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->items[i].name, name))
            return &s->items[i];
    return NULL;
}

/* The only skill of this name in any case; NULL when there is none or several. */
static const struct skill *find_only(const struct skills *s, struct str name)
{
    const struct skill *found = NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (!str_ieq(s->items[i].name, name))
            continue;
        if (found)
            return NULL;
        found = &s->items[i];
    }
    return found;
}

const struct skill **skills_mentioned(const struct skills *s, struct str text, struct arena *a,
                                      size_t *ret_n)
{
    const struct skill **found = arena_array(a, const struct skill *, s->n + 1);
    struct str name;
    size_t n = 0, at = 0;
    while (skill_next_mention(text, &at, &name)) {
        const struct skill *skill = find_only(s, name);
        for (size_t i = 0; skill && i < n; i++)
            if (found[i] == skill)
                skill = NULL;
        if (skill)
            found[n++] = skill;
    }
    *ret_n = n;
    return found;
}
