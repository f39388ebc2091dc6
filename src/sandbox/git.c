/* SPDX-License-Identifier: MIT */
/* Lists the files that make git run programs or read settings from elsewhere, in a repository and
 * in those of its submodules and work trees. */
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 6, MAX_DIRS = 2000 };

static const char *const friends[] = {"config", "config.worktree", "hooks", "commondir", "gitdir"};

struct git_walk {
    git_file_fn *fn;
    void *arg;
    struct buf path;
    int n_dirs;
};

static bool is_plain_dir(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void put_part(struct buf *path, const char *name)
{
    buf_addf(path, "/%s", name);
}

static void walk_inside(struct git_walk *w, const char *name, int depth);

static void tell_friends(struct git_walk *w)
{
    size_t keep = w->path.n;
    AUTO_FREE char *dir = str_dup(buf_str(&w->path));
    for (size_t i = 0; i < ARRAY_LEN(friends); i++) {
        put_part(&w->path, friends[i]);
        w->fn(w->arg, dir, w->path.p);
        buf_cut(&w->path, keep);
    }
}

/* A repository, or a parent directory of one (submodule names may have slashes). */
static void walk_repository(struct git_walk *w, int depth)
{
    if (depth > MAX_DEPTH || w->n_dirs++ > MAX_DIRS)
        return;
    tell_friends(w);
    walk_inside(w, "modules", depth);
    walk_inside(w, "worktrees", depth);
}

static void walk_inside(struct git_walk *w, const char *name, int depth)
{
    size_t keep = w->path.n;
    put_part(&w->path, name);
    spots_note(buf_str(&w->path));
    DIR *d = is_plain_dir(w->path.p) ? opendir(w->path.p) : NULL;
    size_t inside = w->path.n;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        put_part(&w->path, e->d_name);
        if (is_plain_dir(w->path.p))
            walk_repository(w, depth + 1);
        buf_cut(&w->path, inside);
    }
    if (d)
        closedir(d);
    buf_cut(&w->path, keep);
}

void git_each(const struct sandbox_policy *p, git_file_fn *fn, void *arg)
{
    for (size_t i = 0; i < p->git.n; i++) {
        struct git_walk w = {.fn = fn, .arg = arg, .path = BUF_INIT};
        buf_addz(&w.path, p->git.v[i]);
        if (is_plain_dir(w.path.p))
            walk_repository(&w, 0);
        buf_clear(&w.path);
    }
}
