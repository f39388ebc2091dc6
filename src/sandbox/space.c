/* SPDX-License-Identifier: MIT */
/* Namespaces, which many systems do not allow for ordinary users.  Tried from all to none:
 *
 *     mounts, processes, messages, network      everything
 *     mounts                                    where no fresh /proc may be mounted
 *     none                                      only Landlock and the filter remain
 *
 * Root uses its own privileges; other users, and root without capabilities, create a user namespace
 * that maps their own id.  Each attempt runs in a new process, which exits when it fails.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel does not reuse process ids below this. */
enum { RESERVED_PIDS = 300 };

static bool write_file(const char *path, const char *text, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, errno, "cannot open %s", path);
    ssize_t n = write(fd, text, strlen(text));
    int number = errno;
    close(fd);
    return n >= 0 || error_errno(err, number, "cannot write %s", path);
}

static bool map_self(unsigned uid, unsigned gid, struct error *err)
{
    char uids[40], gids[40];
    snprintf(uids, sizeof uids, "%u %u 1", uid, uid);
    snprintf(gids, sizeof gids, "%u %u 1", gid, gid);
    return write_file("/proc/self/uid_map", uids, err) &&
           write_file("/proc/self/setgroups", "deny", err) &&
           write_file("/proc/self/gid_map", gids, err);
}

/* Test suites open ports: this loopback interface reaches only the sandbox itself. */
static bool raise_loopback(struct error *err)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags |= IFF_UP;
    ok = ok && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    int number = errno;
    if (fd >= 0)
        close(fd);
    return ok || error_errno(err, number, "no loopback interface");
}

/* Kernels from 6.14 on count per namespace; it is the only limit that applies to root too. */
static void limit_processes(int64_t n)
{
    struct error ignored;
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)(n + RESERVED_PIDS));
    if (n > 0)
        write_file("/proc/sys/kernel/pid_max", text, &ignored);
}

static bool fresh_proc(const struct sandbox_policy *p, struct error *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        return error_errno(err, errno, "no /proc of its own");
    limit_processes(p->limits[SANDBOX_PROCESSES]);
    return true;
}

static bool build(struct sandbox_policy *p, uint64_t flags, unsigned uid, unsigned gid,
                  struct error *err)
{
    return (!(flags & CLONE_NEWUSER) || map_self(uid, gid, err)) &&
           (!(flags & CLONE_NEWPID) || fresh_proc(p, err)) &&
           (!(flags & CLONE_NEWNET) || raise_loopback(err)) && view_make(p, err);
}

/* Like fork: 0 in a new process where everything worked; -1: it failed. */
static pid_t try(struct sandbox_policy *p, uint64_t flags, struct error *err)
{
    int line[2];
    unsigned uid = geteuid(), gid = getegid();
    char byte = 0;
    if (pipe2(line, O_CLOEXEC) != 0)
        return error_errno(err, errno, "cannot make a pipe") ? 0 : -1;
    pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        if (!build(p, flags, uid, gid, err)) {
            (void)!write(line[1], err, sizeof *err);
            _exit(1);
        }
        (void)!write(line[1], &byte, 1);
        close(line[0]);
        close(line[1]);
        return 0;
    }
    int number = errno;
    struct error why;
    close(line[1]);
    ssize_t n = pid < 0 ? 0 : read(line[0], &why, sizeof why);
    close(line[0]);
    if (n == 1)
        return pid;
    if (pid < 0)
        error_errno(err, number, "no namespaces");
    else if (n == (ssize_t)sizeof why)
        *err = why;
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

static const uint64_t levels[] = {
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET,
    CLONE_NEWNS,
};

pid_t space_fork(struct sandbox_policy *p, struct space *ret, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(levels) * 2; i++) {
        uint64_t flags = levels[i / 2] | (i % 2 ? CLONE_NEWUSER : 0);
        if (p->network)
            flags &= ~(uint64_t)CLONE_NEWNET;
        if (!(flags & CLONE_NEWUSER) && geteuid() != 0)
            continue;
        *ret = (struct space){.has_mounts = true,
                              .has_processes = flags & CLONE_NEWPID,
                              .has_network = flags & CLONE_NEWNET,
                              .has_users = flags & CLONE_NEWUSER};
        pid_t pid = try(p, flags, err);
        if (pid >= 0)
            return pid;
    }
    *ret = (struct space){0};
    return -1;
}

struct space space_probe(void)
{
    AUTO(sandbox_policy) struct sandbox_policy p = SANDBOX_POLICY_INIT;
    struct space space;
    struct error ignored;
    p.kind = SANDBOX_READ_ONLY;
    p.root = xstrdup("/");
    p.tmp = xstrdup("/tmp");
    pid_t pid = space_fork(&p, &space, &ignored);
    if (pid == 0)
        _exit(0);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return space;
}
