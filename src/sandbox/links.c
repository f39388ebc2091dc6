/* SPDX-License-Identifier: MIT */
/* A repository that a command has made inside the workspace is harmless to git in the workspace
 * until its index names it as a submodule: from then on git opens it at every `git status` and uses
 * its settings.  So an index that names new submodules is restored.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/gitlinks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_index(const struct sandbox_policy *p, struct stat *ret)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/.git/index", p->root);
    int fd = open(path.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, ret) != 0 || !S_ISREG(ret->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

void links_clear(struct links *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

void links_take(struct links *l, const struct sandbox_policy *p)
{
    links_clear(l);
    l->fd = open_index(p, &l->st);
}

static void add_link(void *arg, struct str name)
{
    paths_put(arg, name);
}

/* An index that cannot be read counts as naming everything. */
static bool read_links(int fd, const struct stat *st, struct sandbox_paths *ret)
{
    struct error ignored;
    if (fd < 0 || st->st_size == 0)
        return true;
    void *bytes = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    struct str index = str_n(bytes, (size_t)st->st_size);
    bool ok = git_index_links(index, GIT_SHA1_BYTES, add_link, ret, &ignored);
    if (!ok) {
        sandbox_paths_clear(ret);
        ok = git_index_links(index, GIT_SHA256_BYTES, add_link, ret, &ignored);
    }
    munmap(bytes, (size_t)st->st_size);
    return ok;
}

static const char *find_new(const struct sandbox_policy *p, const struct sandbox_paths *was,
                            const struct sandbox_paths *is)
{
    for (size_t i = 0; i < is->n; i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        struct stat st;
        buf_addf(&path, "%s/%s/.git", p->root, is->v[i]);
        if (!paths_have(was, str_of(is->v[i])) && lstat(path.p, &st) == 0)
            return is->v[i];
    }
    return NULL;
}

/* git replaces the file by rename, so the open descriptor still has the old content. */
static bool put_back(const struct links *l, const struct sandbox_policy *p)
{
    static const char fresh[] = "index.trivet";
    AUTO(buf) struct buf git = BUF_INIT;
    char bytes[8192];
    ssize_t n = 0;
    buf_addf(&git, "%s/.git", p->root);
    int dir = view_open_outside(p, buf_str(&git));
    if (dir < 0)
        return false;
    unlinkat(dir, fresh, 0);
    int out = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    bool ok = out >= 0;
    for (off_t at = 0; ok && l->fd >= 0 && (n = pread(l->fd, bytes, sizeof bytes, at)) > 0; at += n)
        ok = write(out, bytes, (size_t)n) == n;
    if (out >= 0)
        close(out);
    ok = ok && n == 0 && renameat(dir, fresh, dir, "index") == 0;
    if (ok && l->fd < 0) /* there was no index before */
        unlinkat(dir, "index", 0);
    close(dir);
    return ok;
}

bool links_check(const struct links *l, const struct sandbox_policy *p, struct error *err)
{
    AUTO(sandbox_paths) struct sandbox_paths was = {0}, is = {0};
    struct stat now;
    int fd = open_index(p, &now);
    if (fd < 0)
        return true;
    bool is_same = l->fd >= 0 && now.st_ino == l->st.st_ino && now.st_size == l->st.st_size &&
                   now.st_mtim.tv_sec == l->st.st_mtim.tv_sec &&
                   now.st_mtim.tv_nsec == l->st.st_mtim.tv_nsec;
    bool is_known = is_same || (read_links(l->fd, &l->st, &was) && read_links(fd, &now, &is));
    close(fd);
    const char *fresh = is_known ? find_new(p, &was, &is) : "a repository inside of it";
    if (is_same || !fresh)
        return true;
    if (put_back(l, p))
        return error_set(err, ERR_EXISTS,
                         "the sandbox has undone the last change of the git index: it named %s "
                         "as a submodule, and git would use the settings in it",
                         fresh);
    return error_set(err, ERR_DENIED,
                     "the git index names %s as a submodule, and git would use the settings in "
                     "it: remove it, then start a new session",
                     fresh);
}
