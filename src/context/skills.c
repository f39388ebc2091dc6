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

void skills_clear(struct skills *s)
{
    arena_clear(&s->arena);
    free(s->items);
    free(s->roots);
    free(s->errors);
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

/* ---- roots ---- */

void skills_add_root(struct skills *s, struct str dir)
{
    for (size_t i = 0; i < s->n_roots; i++)
        if (str_eq(s->roots[i], dir))
            return;
    add_str(&s->roots, &s->n_roots, &s->roots_capacity, arena_str(&s->arena, dir));
}

/* The nearest directory at or above dir that has a .git; STR_NONE without one. */
static struct str repository_of(struct str dir)
{
    AUTO(buf) struct buf git = BUF_INIT;
    for (;;) {
        buf_reset(&git);
        buf_addf(&git, "%.*s/.git", STR_FMT(dir));
        if (path_exists(buf_str(&git)))
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

void skills_add_own_roots(struct skills *s, struct str cwd)
{
    AUTO(buf) struct buf config = BUF_INIT;
    path_xdg(&config, "XDG_CONFIG_HOME", ".config");
    buf_addz(&config, "/trivet");
    skills_add_roots(s, cwd, buf_str(&config), path_home());
}

/* ---- one skill ---- */

static bool is_known(const struct skills *s, struct str path)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->items[i].path, path))
            return true;
    return false;
}

/* Whether an earlier one stands for it: a copy in another root, or any of its name. */
static bool is_covered(const struct skills *s, struct str name, uint64_t text)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct skill *old = &s->items[i];
        if (s->first_wins ? str_ieq(old->name, name) : str_eq(old->name, name) && old->text == text)
            return true;
    }
    return false;
}

/* path is resolved. */
static void read_skill(struct skills *s, struct str tree, struct str path, struct str folder,
                       int depth)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str front, body;
    struct error err;
    if (is_known(s, path))
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
    if (is_covered(s, path_base(folder), hash))
        return;
    folder = arena_str(&s->arena, folder);
    front_split(buf_str(&text), &front, &body);
    add_skill(s, (struct skill){
                     .name = path_base(folder),
                     .description = skill_description(buf_str(&text), &s->arena),
                     .path = arena_str(&s->arena, path),
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
    struct str tree; /* tree that must contain them, or STR_NONE */
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
    for (size_t i = 0; i < q->n; i++)
        if (str_eq(q->items[i].path, buf_str(&real)))
            return;
    GROW(q->items, q->n, q->capacity);
    q->items[q->n++] = (struct queued){arena_str(&s->arena, buf_str(&real)), depth};
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

static void scan_dir(struct skills *s, struct queue *q, struct queued at)
{
    size_t n;
    struct str *names = read_names(s, at.path, &n);
    AUTO(buf) struct buf path = BUF_INIT, real = BUF_INIT;
    struct error ignored;
    for (size_t i = 0; i < n; i++) {
        buf_reset(&path);
        buf_addf(&path, "%.*s/%.*s", STR_FMT(at.path), STR_FMT(names[i]));
        buf_reset(&real);
        if (path_is_dir(buf_str(&path))) {
            if (at.depth < (s->depth ? s->depth : LIMIT_SKILL_DEPTH))
                queue_add(s, q, buf_str(&path), at.depth + 1);
        } else if (str_is(names[i], "SKILL.md") && path_resolve(&real, buf_str(&path), &ignored)) {
            read_skill(s, q->tree, buf_str(&real), at.path, at.depth);
        }
    }
    free(names);
}

static void scan_root(struct skills *s, struct str root)
{
    struct queue q = {.tree = foreign_root(s->tree, root)};
    if (path_is_dir(root))
        queue_add(s, &q, root, 0);
    for (size_t i = 0; i < q.n; i++) {
        if (i == LIMIT_SKILL_DIRS) {
            add_error(s,
                      arena_fmt(&s->arena, "skills scan truncated under %.*s after %d directories",
                                STR_FMT(root), LIMIT_SKILL_DIRS));
            break;
        }
        scan_dir(s, &q, q.items[i]);
    }
    free(q.items);
}

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
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
