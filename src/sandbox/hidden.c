/* SPDX-License-Identifier: MIT */
/* Recognises hidden files by inode instead of by name, so that neither a hard link nor a symbolic
 * link created after the check gives access.
 */
#include "sandbox/policy.h"

#include "base/mem.h"
#include "base/path.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_file(const struct sandbox_paths *hidden, int fd)
{
    struct stat st, other;
    char link[40], name[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name);
    if (fstat(fd, &st) != 0)
        return true;
    for (size_t i = 0; i < hidden->n; i++) {
        bool is_it = stat(hidden->v[i], &other) == 0 && st.st_dev == other.st_dev &&
                     st.st_ino == other.st_ino;
        if (is_it || (n > 0 && path_is_inside(str_of(hidden->v[i]), str_n(name, (size_t)n))))
            return true;
    }
    return false;
}

bool sandbox_may_read_open(const struct sandbox_policy *p, int fd)
{
    return !p || p->kind == SANDBOX_OFF || !has_file(&p->hidden, fd);
}

bool sandbox_is_credential(int fd)
{
    struct sandbox_policy p;
    sandbox_policy_init(&p, SANDBOX_READ_ONLY, STR("/"));
    bool is_it = has_file(&p.hidden, fd);
    sandbox_policy_clear(&p);
    return is_it;
}
