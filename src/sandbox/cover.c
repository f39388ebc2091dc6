/* SPDX-License-Identifier: MIT */
/* Hides the files of a directory inside a writable place, and keeps its subdirectories:
 *
 *     ~/.loaf/auth.json, state.json     hidden
 *     ~/.loaf/skills, sessions          visible, read-only
 *
 * A mount over a file disappears when the file is replaced, as credentials are at each token
 * refresh, and a running command would see the new file.  So an empty file system is mounted over
 * the whole directory, and the visible subdirectories are mounted into it.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/buf.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

struct kept_name {
    char *name;
    int tree;     /* a directory, cloned; or */
    char *target; /* the target of a link */
};

struct kept_list {
    struct kept_name *v;
    size_t n;
};

static void kept_list_clear(struct kept_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].name);
        free(l->v[i].target);
        if (l->v[i].tree >= 0)
            close(l->v[i].tree);
    }
    free(l->v);
}

static void keep_entry(struct kept_list *l, const char *path, const char *name)
{
    struct kept_name one = {.tree = -1};
    struct stat st;
    char target[PATH_MAX];
    ssize_t n;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode))
        one.tree = mount_clone(path);
    else if (S_ISLNK(st.st_mode) && (n = readlink(path, target, sizeof target)) > 0)
        one.target = str_dup(str_n(target, (size_t)n));
    if (one.tree < 0 && !one.target)
        return;
    one.name = str_dup(str_of(name));
    l->v = xrealloc(l->v, (l->n + 1) * sizeof *l->v);
    l->v[l->n++] = one;
}

static void keep_all(struct kept_list *l, struct buf *path)
{
    size_t keep = path->n;
    DIR *d = opendir(path->p);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        buf_addf(path, "/%s", e->d_name);
        keep_entry(l, path->p, e->d_name);
        buf_cut(path, keep);
    }
    if (d)
        closedir(d);
}

static bool put_back(const struct kept_name *k, const char *path, struct error *err)
{
    if (k->target)
        return symlink(k->target, path) == 0 || error_errno(err, errno, "cannot link %s", path);
    if (mkdir(path, 0755) != 0)
        return error_errno(err, errno, "cannot make %s", path);
    return mount_put(k->tree, path, err);
}

bool cover_dir(const char *dir, struct error *err)
{
    AUTO(kept_list) struct kept_list kept = {0};
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addz(&path, dir);
    size_t keep = path.n;
    keep_all(&kept, &path);
    if (mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0)
        return error_errno(err, errno, "cannot cover %s", dir);
    for (size_t i = 0; i < kept.n; i++) {
        buf_addf(&path, "/%s", kept.v[i].name);
        if (!put_back(&kept.v[i], path.p, err))
            return false;
        buf_cut(&path, keep);
    }
    return mount_read_only(dir, true, err);
}
