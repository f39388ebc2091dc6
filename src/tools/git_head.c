/* SPDX-License-Identifier: MIT */
/* HEAD is a file "ref: refs/heads/NAME", a link to refs/heads/NAME, or the id of a commit.  In a
 * linked work tree it is in the directory that the file .git names, and the refs are in the one
 * that the file `commondir` there names. */
#include "tools/git_head.h"

#include "base/path.h"
#include "tools/git_index.h"

#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 4096 };

/* A regular file of the directory.  Links that lead out of it are
 * not followed. */
static bool read_small(struct str dir, const char *name, struct buf *ret)
{
    struct error ignored;
    int fd = path_open_file(dir, str_of(name), &ignored);
    bool ok = fd >= 0 && path_read_fd(ret, fd, str_of(name), FILE_BYTES, &ignored);
    if (fd >= 0)
        close(fd);
    return ok;
}

static struct str read_link(struct str dir, const char *name, struct arena *a)
{
    struct str path = arena_fmt(a, "%.*s/%s", STR_FMT(dir), name);
    char target[FILE_BYTES];
    ssize_t n = readlink(path.p, target, sizeof target);
    return n > 0 ? arena_str(a, str_n(target, (size_t)n)) : STR_NONE;
}

bool git_is_branch_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] <= ' ' || strchr("\x7f~^:?*[\\", name.p[i]))
            return false;
    return name.n > 0 && name.p[0] != '.' && name.p[0] != '/' && name.p[name.n - 1] != '/' &&
           str_find(name, STR("..")) == SIZE_MAX && str_find(name, STR("/.")) == SIZE_MAX;
}

static struct str parse_branch(struct str head)
{
    struct str heads = STR("refs/heads/"), ref = str_trim(head);
    if (!str_starts(ref, heads))
        return STR_NONE;
    ref = str_from(ref, heads.n);
    return git_is_branch_name(ref) ? ref : STR_NONE;
}

static struct str find_common(struct str git_dir, struct arena *a)
{
    AUTO(buf) struct buf text = BUF_INIT, path = BUF_INIT;
    if (!read_small(git_dir, "commondir", &text))
        return git_dir;
    path_absolute(&path, git_dir, str_trim(buf_str(&text)));
    return arena_str(a, buf_str(&path));
}

/* The number so far and what stat says of the path. */
static uint64_t mix(uint64_t number, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        st = (struct stat){0};
    const int64_t parts[] = {(int64_t)number,
                             (int64_t)st.st_dev,
                             (int64_t)st.st_ino,
                             (int64_t)st.st_size,
                             (int64_t)st.st_mtim.tv_sec,
                             (int64_t)st.st_mtim.tv_nsec,
                             (int64_t)st.st_ctim.tv_sec,
                             (int64_t)st.st_ctim.tv_nsec};
    return str_hash(str_n((const char *)parts, sizeof parts));
}

static uint64_t mix_below(uint64_t number, struct str dir, const char *name, struct arena *a)
{
    return mix(number, arena_fmt(a, "%.*s/%s", STR_FMT(dir), name).p);
}

static void read_state(struct git_head *h, struct str dir, struct str git_dir, struct arena *a)
{
    struct str common = find_common(git_dir, a);
    struct str ref = arena_fmt(a, "refs/heads/%.*s", STR_FMT(h->branch));
    struct str tables = arena_fmt(a, "%.*s/reftable", STR_FMT(common));
    h->needs_git = !h->branch.n && path_is_dir(tables);
    h->refs = mix_below(str_hash(git_dir), git_dir, "HEAD", a);
    h->refs = mix_below(h->refs, common, ref.p, a);
    h->refs = mix_below(h->refs, common, "packed-refs", a);
    h->refs = mix_below(h->refs, common, "reftable/tables.list", a);
    h->refs = mix_below(h->refs, git_dir, "reftable/tables.list", a);
    h->index = mix_below(h->refs, git_dir, "index", a);
    h->work_tree = mix_below(h->index, h->root, ".", a);
    h->work_tree = mix_below(h->work_tree, dir, ".", a);
}

void git_head_read(struct git_head *ret, struct str dir, struct arena *a)
{
    AUTO(buf) struct buf found = BUF_INIT, text = BUF_INIT;
    *ret = (struct git_head){0};
    if (!git_find(dir, &ret->root, &found))
        return;
    struct str git_dir = arena_str(a, buf_str(&found)), prefix = STR("ref:");
    struct str head = read_link(git_dir, "HEAD", a);
    ret->root = arena_str(a, ret->root);
    if (!head.n && read_small(git_dir, "HEAD", &text) && str_starts(buf_str(&text), prefix))
        head = str_from(buf_str(&text), prefix.n);
    ret->branch = arena_str(a, parse_branch(head));
    read_state(ret, dir, git_dir, a);
}
