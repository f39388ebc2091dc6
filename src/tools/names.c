/* SPDX-License-Identifier: MIT */
#include "tools/names.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/ignore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10 };

struct dir_entry { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* ---- names ---- */

void names_clear(struct names *l)
{
    buf_clear(&l->bytes);
    free(l->v);
    free(l->block);
    *l = NAMES_INIT;
}

static enum walk_kind kind_of(int dir, const struct dir_entry *e)
{
    struct stat st;
    switch (e->type) {
    case DT_REG:
        return WALK_FILE;
    case DT_DIR:
        return WALK_DIR;
    case DT_LNK:
        return WALK_LINK;
    case DT_UNKNOWN:
        if (fstatat(dir, e->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return WALK_OTHER;
        return S_ISREG(st.st_mode)   ? WALK_FILE
               : S_ISDIR(st.st_mode) ? WALK_DIR
               : S_ISLNK(st.st_mode) ? WALK_LINK
                                     : WALK_OTHER;
    default:
        return WALK_OTHER;
    }
}

static bool wants_name(struct names *l, const struct names_filter *f, const char *name)
{
    if (name[0] == '.') {
        l->has_own |= strcmp(name, ".ignore") == 0;
        l->has_git |= strcmp(name, ".gitignore") == 0;
        if (f->skip_hidden || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return false;
    }
    for (const char *const *s = f->skip; s && *s; s++)
        if (strcmp(*s, name) == 0)
            return false;
    return true;
}

static void add_name(struct names *l, const char *name, enum walk_kind kind)
{
    GROW(l->v, l->n, l->capacity);
    l->v[l->n++] = (struct name){l->bytes.n, kind};
    buf_add(&l->bytes, str_n(name, strlen(name) + 1));
}

static void add_block(struct names *l, int dir, const struct names_filter *f, size_t n)
{
    for (size_t at = 0; at < n && !l->is_cut;) {
        const struct dir_entry *e = (const struct dir_entry *)(const void *)(l->block + at);
        at += e->size;
        if (!wants_name(l, f, e->name))
            continue;
        if (l->n == WALK_MAX_NAMES)
            l->is_cut = true;
        else
            add_name(l, e->name, kind_of(dir, e));
    }
}

bool names_read(struct names *l, int dir, const struct names_filter *f, struct error *err)
{
    buf_reset(&l->bytes);
    l->n = 0;
    l->has_own = l->has_git = l->is_cut = false;
    if (!l->block)
        l->block = xmalloc(BLOCK_BYTES);
    while (!l->is_cut) {
        long n = syscall(SYS_getdents64, dir, l->block, (size_t)BLOCK_BYTES);
        if (n < 0)
            return error_errno(err, errno, "cannot read a directory");
        if (n == 0)
            break;
        add_block(l, dir, f, (size_t)n);
    }
    return true;
}

static int compare_names(const void *a, const void *b, void *bytes)
{
    const struct name *x = a, *y = b;
    return strcmp((char *)bytes + x->at, (char *)bytes + y->at);
}

void names_sort(struct names *l)
{
    if (l->n)
        qsort_r(l->v, l->n, sizeof *l->v, compare_names, l->bytes.p);
}

/* ---- rules ---- */

struct level {
    struct ignore_file own;     /* .ignore */
    struct ignore_file git;     /* .gitignore */
    struct ignore_file exclude; /* .git/info/exclude */
    struct level *up;
    atomic_uint n_refs;
};

/* Takes over the reference to up. */
static struct level *level_new(struct level *up)
{
    struct level *l = xnew(struct level);
    l->up = up;
    atomic_init(&l->n_refs, 1);
    return l;
}

struct level *level_ref(struct level *l)
{
    if (l)
        atomic_fetch_add_explicit(&l->n_refs, 1, memory_order_relaxed);
    return l;
}

void level_unref(struct level *l)
{
    while (l && atomic_fetch_sub_explicit(&l->n_refs, 1, memory_order_acq_rel) == 1) {
        struct level *up = l->up;
        ignore_file_clear(&l->own);
        ignore_file_clear(&l->git);
        ignore_file_clear(&l->exclude);
        free(l);
        l = up;
    }
}

bool level_ignores(const struct level *from, struct str path, bool is_dir)
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

struct level *level_below(struct level *up, struct str dir, const struct names *names)
{
    if (!names->has_own && !names->has_git)
        return level_ref(up);
    struct level *l = level_new(level_ref(up));
    if (names->has_own)
        ignore_load(&l->own, dir, ".ignore");
    if (names->has_git)
        ignore_load(&l->git, dir, ".gitignore");
    return l;
}

static void load_exclude(struct level *l, struct str dir)
{
    struct error ignored;
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    buf_addf(&path, "%.*s/.git/info/exclude", STR_FMT(dir));
    if (path_exists(buf_str(&path)) && path_read(&text, buf_str(&path), 1 << 20, &ignored))
        ignore_parse(&l->exclude, dir, buf_str(&text));
}

static struct str dir_above(struct str dir, size_t n)
{
    while (n-- > 0)
        dir = path_dir(dir);
    return dir;
}

struct level *level_root(struct str root)
{
    size_t n = 0;
    struct str top = root;
    while (n < WALK_MAX_DEPTH && !path_is_repository(top) && top.n > 1) {
        top = path_dir(top);
        n++;
    }
    bool in_repository = path_is_repository(top);
    if (!in_repository)
        n = 0;
    struct level *l = NULL;
    for (size_t i = n + 1; i-- > 0;) {
        struct str dir = dir_above(root, i);
        l = level_new(l);
        ignore_load(&l->own, dir, ".ignore");
        ignore_load(&l->git, dir, ".gitignore");
        if (i == n && in_repository)
            load_exclude(l, dir);
    }
    return l;
}
