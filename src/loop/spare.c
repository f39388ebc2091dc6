/* SPDX-License-Identifier: MIT */
#include "loop/spare.h"

#include "base/mem.h"
#include "loop/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum { LINE_TARGET = 4, STATUS_TARGET = 5, LIFT_FD = 10 };

enum { CLEAN_UP_MS = 200, LOOK_MS = 5, HAND_OVER_MS = 500 };

static char **make_argv(char *const *further)
{
    size_t n = 0;
    while (further && further[n])
        n++;
    char **argv = xcalloc(n + 3, sizeof *argv);
    argv[0] = (char *)"hold";
    argv[1] = (char *)"spare";
    if (n)
        memcpy(argv + 2, further, n * sizeof *argv);
    return argv;
}

static int spawn(struct spare *s, const char *program, char *const *further, int line, int null)
{
    AUTO_FREE char **argv = make_argv(further);
    char *env[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t every;
    sigfillset(&every);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    for (int fd = 0; fd <= STATUS_TARGET;
         fd++) /* all taken, so that nothing received lands there */
        posix_spawn_file_actions_adddup2(&actions, fd == LINE_TARGET ? line : null, fd);
    posix_spawnattr_setsigmask(&attr, &every);
    posix_spawnattr_setsigdefault(&attr, &every);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int rc = posix_spawn(&s->pid, program, &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

void spare_start(struct spare *s, const char *program, char *const *further)
{
    int pair[2];
    if (s->pid || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high_null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, LIFT_FD);
    int high_line = fcntl(pair[1], F_DUPFD_CLOEXEC, LIFT_FD);
    bool ok = high_null >= 0 && high_line >= 0 &&
              spawn(s, program, further, high_line, high_null) == 0;
    int unneeded[] = {pair[1], null, high_null, high_line};
    for (size_t i = 0; i < ARRAY_LEN(unneeded); i++)
        if (unneeded[i] >= 0)
            close(unneeded[i]);
    s->line = pair[0];
    /* One that was stopped does not read, and a large job would not fit into the line. */
    const struct timeval patience = {.tv_usec = HAND_OVER_MS * 1000};
    setsockopt(s->line, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (!ok) {
        close(pair[0]);
        s->pid = 0;
    }
}

bool spare_use(struct spare *s, const char *const *argv, const char *const *env,
               const int fds[HOLD_N_FDS], pid_t *ret_pid, int *ret_line)
{
    if (!s->pid)
        return false;
    if (waitpid(s->pid, NULL, WNOHANG) != 0) { /* somebody has ended it */
        close(s->line);
        s->pid = 0;
        return false;
    }
    if (!job_send(s->line, argv, env, fds)) {
        spare_end(s);
        return false;
    }
    *ret_pid = s->pid;
    *ret_line = s->line;
    s->pid = 0;
    return true;
}

bool spare_end(struct spare *s)
{
    pid_t ended = 0;
    int status = -1;
    if (!s->pid)
        return true;
    close(s->line);
    int pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    for (int i = 0; ended == 0 && i < CLEAN_UP_MS / LOOK_MS; i++) {
        poll(&p, 1, LOOK_MS);
        ended = waitpid(s->pid, &status, WNOHANG);
    }
    if (pidfd >= 0)
        close(pidfd);
    if (ended == 0) {
        kill(s->pid, SIGKILL);
        while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    s->pid = 0;
    return ended > 0 && status == 0;
}
