/* SPDX-License-Identifier: MIT */
/* Resource limits of a command.  The kernel limits each process; the total of all of them is
 * measured by the command's holder a few times a second.
 *
 *     memory      resident and not shared; a kernel limit per process would count reserved
 *                 memory too, and sanitizers reserve terabytes
 *     processes   by the user namespace, and by the PID namespace from Linux 6.14 on (space.c)
 *     scratch     single files by the kernel; the total by adding up their sizes
 */
#include "sandbox/parts.h"

#include "base/mem.h"
#include "loop/child.h"
#include "loop/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_FOREIGN_FD = 4, CLOEXEC_RANGE = 4 /* CLOSE_RANGE_CLOEXEC */, MAX_FILES = 50000 };
#ifdef __GLIBC__
typedef __rlimit_resource_t limit_kind; /* an enum in glibc */
#else
typedef int limit_kind;
#endif

enum { DISK_EVERY = 4 /* measurements */, MB = 1 << 20 };

static void set(limit_kind which, int64_t value)
{
    struct rlimit now;
    rlim_t wanted = (rlim_t)value;
    if (value <= 0 || getrlimit(which, &now) != 0)
        return;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < wanted)
        wanted = now.rlim_max;
    now.rlim_max = wanted;
    now.rlim_cur = which == RLIMIT_NOFILE ? MIN(now.rlim_cur, wanted) : wanted;
    setrlimit(which, &now);
}

void limits_set(const struct sandbox_policy *p, const struct space *space)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (space->has_users) /* otherwise it would count all processes of the user */
        set(RLIMIT_NPROC, p->limits[SANDBOX_PROCESSES]);
    set(RLIMIT_CPU, p->limits[SANDBOX_CPU]);
    set(RLIMIT_NOFILE, p->limits[SANDBOX_OPEN]);
    set(RLIMIT_FSIZE, p->limits[SANDBOX_DISK] * MB);
    syscall(SYS_close_range, FIRST_FOREIGN_FD, ~0u, CLOEXEC_RANGE);
}

/* ---- measuring ---- */

static int64_t private_bytes(pid_t pid)
{
    char path[40], text[100];
    long long all, resident, shared;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if (!tree_read(path, text, sizeof text) ||
        sscanf(text, "%lld %lld %lld", &all, &resident, &shared) != 3 || resident < shared)
        return 0;
    return (resident - shared) * sysconf(_SC_PAGESIZE);
}

/* Total size of a directory, without following links; stops when the limit is reached. */
static int64_t bytes_below(int at, const char *name, int64_t enough, int *left)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    int64_t sum = 0;
    for (struct dirent *e; d && sum <= enough && (e = readdir(d)) && --*left > 0;) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        sum += S_ISDIR(st.st_mode) ? bytes_below(dirfd(d), e->d_name, enough - sum, left)
                                   : (int64_t)st.st_blocks * 512;
    }
    if (d)
        closedir(d);
    return sum;
}

int limits_measure(const struct sandbox_policy *p, const struct pids *all)
{
    static int n_times;
    int64_t bytes = 0, disk = p->limits[SANDBOX_DISK] * MB;
    int left = MAX_FILES;
    for (size_t i = 0; i < all->n; i++)
        bytes += private_bytes(all->p[i]);
    if (p->limits[SANDBOX_MEMORY] > 0 && bytes > p->limits[SANDBOX_MEMORY] * MB)
        return CHILD_LIMIT_MEMORY;
    if (p->limits[SANDBOX_PROCESSES] > 0 &&
        (int64_t)all->n >= p->limits[SANDBOX_PROCESSES] * 9 / 10)
        return CHILD_LIMIT_PROCESSES;
    if (disk > 0 && ++n_times % DISK_EVERY == 0 &&
        bytes_below(AT_FDCWD, p->tmp, disk, &left) > disk)
        return CHILD_LIMIT_DISK;
    return CHILD_NO_LIMIT;
}
