/* SPDX-License-Identifier: MIT */
/* Lists of sessions: through the module `index`, or by finding and reading the session files. */
#include "store/index.h"

#include "base/log.h"
#include "base/module.h"
#include "base/path.h"
#include "store/log.h"
#include "store/scan.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 8 };

/* ---- finding the files ---- */

struct files {
    struct arena *a;
    struct session_file *list;
    size_t n, capacity;
};

static void add_file(struct files *f, struct str path, const struct stat *st)
{
    GROW(f->list, f->n, f->capacity);
    f->list[f->n++] = (struct session_file){
        .path = arena_str(f->a, path),
        .size = st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .inode = (int64_t)st->st_ino,
    };
}

static bool walk(struct files *f, struct str dir, int depth, struct error *err);

static bool is_link(const struct dirent *e, const char *path)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_LNK;
    return lstat(path, &st) != 0 || S_ISLNK(st.st_mode);
}

/* Links to files are followed, links to directories are not. */
static void look_at(struct files *f, DIR *d, struct str dir, const struct dirent *e, int depth)
{
    struct error ignored, err;
    struct stat st;
    AUTO(buf) struct buf path = BUF_INIT;
    struct str name = str_of(e->d_name);
    bool is_log = str_ends(name, STR(".jsonl"));
    if (name.p[0] == '.' || (!is_log && (depth == 0 || e->d_type == DT_REG)))
        return;
    if (fstatat(dirfd(d), e->d_name, &st, 0) != 0)
        return;
    buf_add(&path, dir);
    buf_addc(&path, '/');
    buf_add(&path, name);
    if (is_log && S_ISREG(st.st_mode)) {
        if (slog_check_size(buf_str(&path), st.st_size, &err))
            add_file(f, buf_str(&path), &st);
        else
            log_warn("not listed: %s", err.text);
    } else if (S_ISDIR(st.st_mode) && depth > 0 && !is_link(e, path.p))
        walk(f, buf_str(&path), depth - 1, &ignored); /* unreadable directories are left out */
}

static bool walk(struct files *f, struct str dir, int depth, struct error *err)
{
    AUTO_FREE char *z = str_dup(dir);
    DIR *d = opendir(z);
    struct dirent *e;
    if (!d)
        return errno == ENOENT || error_errno(err, errno, "cannot read the directory %s", z);
    while ((e = readdir(d)))
        look_at(f, d, dir, e, depth);
    closedir(d);
    return true;
}

static int newer_first(const void *a, const void *b)
{
    const struct session_file *x = a, *y = b;
    if (x->mtime_ns != y->mtime_ns)
        return x->mtime_ns > y->mtime_ns ? -1 : 1;
    return str_cmp(y->path, x->path);
}

bool session_files(struct arena *a, struct str dir, bool deep, struct session_file **ret,
                   size_t *ret_n, struct error *err)
{
    struct files f = {.a = a};
    while (dir.n > 1 && dir.p[dir.n - 1] == '/')
        dir.n--;
    bool ok = walk(&f, dir, deep ? MAX_DEPTH : 0, err);
    if (ok) {
        if (f.n)
            qsort(f.list, f.n, sizeof *f.list, newer_first);
        *ret = arena_array(a, struct session_file, f.n + 1);
        if (f.n)
            memcpy(*ret, f.list, f.n * sizeof *f.list);
        *ret_n = f.n;
    }
    free(f.list);
    return ok;
}

/* ---- reading the files ---- */

bool session_row_read(struct arena *a, struct str path, struct session_row *ret, struct error *err)
{
    AUTO(scan) struct scan s = SCAN_INIT;
    AUTO_FREE char *z = str_dup(path);
    struct session_row row;
    struct stat st;
    int64_t end;
    if (stat(z, &st) != 0)
        return error_errno(err, errno, "cannot open %s", z);
    if (!scan_file(&s, path, 0, &end, err))
        return false;
    if (!scan_row(&s, a, &row))
        return error_set(err, ERR_CORRUPT, "%s has no session header", z);
    row.path = arena_str(a, path);
    row.modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    if (row.created_ms == 0)
        row.created_ms = row.modified_ms;
    *ret = row;
    return true;
}

bool list_scan(struct arena *a, struct str dir, bool deep, size_t limit, struct session_list *ret,
               struct error *err)
{
    struct error ignored;
    struct session_file *files;
    size_t n_files, n = 0;
    if (!session_files(a, dir, deep, &files, &n_files, err))
        return false;
    struct session_row *rows = arena_array(a, struct session_row, n_files + 1);
    for (size_t i = 0; i < n_files && (limit == 0 || n < limit); i++)
        n += session_row_read(a, files[i].path, &rows[n], &ignored);
    *ret = (struct session_list){rows, n};
    return true;
}

/* ---- through the module ---- */

static const struct index_api *open_index(struct error *err)
{
    return module_open("index", "libsqlite3-0", err);
}

bool list_sessions(struct arena *a, struct str dir, bool deep, size_t limit,
                   struct session_list *ret, struct error *err)
{
    struct error why;
    const struct index_api *api = path_is_dir(dir) ? open_index(&why) : NULL;
    if (api && api->list(a, dir, deep, limit, ret, &why))
        return true;
    if (api)
        log_info("the index of sessions cannot be used: %s", why.text);
    return list_scan(a, dir, deep, limit, ret, err);
}

bool search_sessions(struct arena *a, struct str dir, struct str query, size_t limit,
                     struct search_hits *ret, struct error *err)
{
    const struct index_api *api = open_index(err);
    if (!api)
        return false;
    if (!path_exists(dir)) {
        *ret = (struct search_hits){0};
        return true;
    }
    return api->search(a, dir, query, limit, ret, err);
}
