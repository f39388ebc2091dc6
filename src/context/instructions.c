/* SPDX-License-Identifier: MIT */
#include "context/instructions.h"

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "context/foreign.h"

#include <sys/stat.h>

enum { IMPORT_DEPTH = 4, SEEN_MAX = 128 };

static const char *const usual[] = {"AGENTS.override.md", "AGENTS.md", "CLAUDE.md"};

struct finder {
    struct instructions *all;
    struct str workspace, tree; /* tree: must contain the files; STR_NONE: files of the user */
    size_t left;                /* bytes */
    struct {
        dev_t dev;
        ino_t ino;
    } seen[SEEN_MAX];
    size_t n_seen;
};

void instructions_clear(struct instructions *all)
{
    arena_clear(&all->arena);
    *all = INSTRUCTIONS_INIT;
}

/* Whether the file was not used yet; true for a missing file. */
static bool see(struct finder *f, struct str path)
{
    AUTO_FREE char *name = str_dup(path);
    struct stat st;
    if (stat(name, &st) != 0)
        return true;
    for (size_t i = 0; i < f->n_seen; i++)
        if (f->seen[i].dev == st.st_dev && f->seen[i].ino == st.st_ino)
            return false;
    if (f->n_seen < SEEN_MAX) {
        f->seen[f->n_seen].dev = st.st_dev;
        f->seen[f->n_seen++].ino = st.st_ino;
    }
    return true;
}

/* The first bytes of a text file, at most f->left, up to the end of a line. */
static bool read_text(struct finder *f, struct str path, struct buf *out, int64_t *ret_bytes)
{
    AUTO(buf) struct buf raw = BUF_INIT;
    struct error err;
    if (!see(f, path))
        return false;
    if (!foreign_read_head(f->tree, path, f->left, &raw, ret_bytes, &err)) {
        if (err.code != ERR_NOT_FOUND)
            log_warn("%.*s is left out: %s", STR_FMT(path), err.text);
        return false;
    }
    struct str text = buf_str(&raw);
    if (text.n && memchr(text.p, 0, text.n)) {
        log_warn("%.*s is left out: it is no text", STR_FMT(path));
        return false;
    }
    if (*ret_bytes > (int64_t)text.n) {
        size_t end = str_rchr(text, '\n');
        text = str_n(text.p, end == SIZE_MAX ? text.n : end);
        log_warn("%.*s is cut to its first %zu bytes", STR_FMT(path), text.n);
    }
    f->left -= text.n;
    utf8_repair(out, str_trim(text));
    if (*ret_bytes > (int64_t)raw.n)
        buf_addf(out, "\n[cut: the first %zu of %lld bytes of %.*s; read the file for the rest]",
                 text.n, (long long)*ret_bytes, STR_FMT(path));
    return true;
}

/* ---- imports ---- */

static void put_with_imports(struct finder *f, struct str text, struct str dir, int depth,
                             struct buf *out);

static void put_import(struct finder *f, struct str name, struct str dir, int depth,
                       struct buf *out)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    int64_t bytes;
    if (str_starts(name, STR("~/")))
        buf_addf(&path, "%.*s%.*s", STR_FMT(path_home()), STR_FMT(str_from(name, 1)));
    else if (name.p[0] == '/')
        buf_add(&path, name);
    else
        buf_addf(&path, "%.*s/%.*s", STR_FMT(dir), STR_FMT(name));
    if (f->left == 0 || (f->tree.n && !path_is_inside(f->tree, buf_str(&path))) ||
        !read_text(f, buf_str(&path), &text, &bytes))
        return;
    buf_addf(out, "\n(%.*s)\n", STR_FMT(name));
    put_with_imports(f, buf_str(&text), path_dir(buf_str(&path)), depth + 1, out);
}

static bool is_path_char(char c)
{
    return c > ' ' && !strchr(",;:!?()[]{}<>\"'`", c);
}

/* The files that a line names as @path, outside of `code`. */
static void put_line_imports(struct finder *f, struct str line, struct str dir, int depth,
                             struct buf *out)
{
    bool is_code = false;
    for (size_t i = 0; i < line.n; i++) {
        is_code ^= line.p[i] == '`';
        bool begins = line.p[i] == '@' && !is_code && (i == 0 || line.p[i - 1] == ' ');
        size_t end = i + 1;
        while (begins && end < line.n && is_path_char(line.p[end]))
            end++;
        while (end > i + 1 && line.p[end - 1] == '.')
            end--;
        if (begins && end > i + 1)
            put_import(f, str_n(line.p + i + 1, end - i - 1), dir, depth, out);
    }
}

static void put_with_imports(struct finder *f, struct str text, struct str dir, int depth,
                             struct buf *out)
{
    struct str line, rest = text;
    bool is_code = false, is_first = true;
    while (rest.n) {
        rest = str_split(rest, '\n', &line);
        buf_addf(out, "%s%.*s", is_first ? "" : "\n", STR_FMT(line));
        is_first = false;
        is_code ^= str_starts(str_trim(line), STR("```"));
        if (!is_code && depth < IMPORT_DEPTH)
            put_line_imports(f, line, dir, depth, out);
    }
}

/* ---- finding ---- */

static bool add(struct finder *f, struct str dir, const char *name)
{
    struct instructions *all = f->all;
    AUTO(buf) struct buf text = BUF_INIT, whole = BUF_INIT;
    struct str path = arena_fmt(&all->arena, "%.*s/%s", STR_FMT(dir), name);
    int64_t bytes;
    if (all->n == INSTRUCTION_FILES_MAX || f->left == 0 || !read_text(f, path, &text, &bytes))
        return false;
    put_with_imports(f, buf_str(&text), dir, 0, &whole);
    bool is_below = path_is_inside(f->workspace, path);
    all->files[all->n++] = (struct instruction_file){
        .path = is_below ? path_relative(f->workspace, path) : path,
        .text = arena_str(&all->arena, buf_str(&whole)),
        .bytes = bytes,
    };
    return true;
}

static void add_dir(struct finder *f, struct str dir, const char *const *own)
{
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (add(f, dir, usual[i]))
            break;
    size_t n = 0;
    while (own && own[n])
        n++;
    while (n-- > 0) /* the list is reversed at the end */
        if (strcmp(own[n], "AGENTS.md") != 0)
            add(f, dir, own[n]);
}

static struct str find_root(struct str workspace)
{
    for (struct str dir = workspace; dir.n > 1; dir = path_dir(dir))
        if (path_is_repository(dir))
            return dir;
    return workspace;
}

static void add_user_files(struct finder *f)
{
    struct arena *a = &f->all->arena;
    f->tree = STR_NONE;
    if (!add(f, arena_fmt(a, "%.*s/.agents", STR_FMT(path_home())), "AGENTS.md"))
        add(f, arena_fmt(a, "%.*s/.claude", STR_FMT(path_home())), "CLAUDE.md");
}

void instructions_find(struct instructions *all, struct str workspace, const char *const *own)
{
    struct str root = find_root(workspace);
    struct finder f = {.all = all, .workspace = workspace, .tree = root, .left = INSTRUCTIONS_MAX};
    for (struct str dir = workspace;; dir = path_dir(dir)) {
        add_dir(&f, dir, own);
        if (dir.n <= root.n)
            break;
    }
    add_user_files(&f);
    for (size_t i = 0; i < all->n / 2; i++) {
        struct instruction_file swap = all->files[i];
        all->files[i] = all->files[all->n - 1 - i];
        all->files[all->n - 1 - i] = swap;
    }
}

void instructions_find_in(struct instructions *all, struct str workspace, struct str dir,
                          size_t max)
{
    struct finder f = {.all = all, .workspace = workspace, .tree = workspace, .left = max};
    add_dir(&f, dir, NULL);
}
