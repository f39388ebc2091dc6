/* SPDX-License-Identifier: MIT */
/* The engine's end.  The other end is hold_spare.c. */
#include "loop/spare.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_TARGET = 4, STATUS_TARGET = 5, LIFT_FD = 10 };

static int spawn(struct spare *s, const char *program, int line, int null)
{
    char *argv[] = {(char *)"hold", (char *)"spare", NULL}, *env[] = {NULL};
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

void spare_start(struct spare *s, const char *program)
{
    int pair[2];
    if (s->pid || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high_null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, LIFT_FD);
    int high_line = fcntl(pair[1], F_DUPFD_CLOEXEC, LIFT_FD);
    bool ok = high_null >= 0 && high_line >= 0 && spawn(s, program, high_line, high_null) == 0;
    int unneeded[] = {pair[1], null, high_null, high_line};
    for (size_t i = 0; i < ARRAY_LEN(unneeded); i++)
        if (unneeded[i] >= 0)
            close(unneeded[i]);
    s->line = pair[0];
    if (!ok) {
        close(pair[0]);
        s->pid = 0;
    }
}

/* ---- handing over ---- */

static unsigned put_all(struct buf *out, const char *const *texts)
{
    unsigned n = 0;
    for (; texts && texts[n]; n++)
        buf_add(out, str_n(texts[n], strlen(texts[n]) + 1));
    return n;
}

static bool send_head(int line, struct spare_head *head, const int fds[HOLD_N_FDS])
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * HOLD_N_FDS)];
        struct cmsghdr align;
    } control = {{0}};
    int sent[HOLD_N_FDS];
    size_t n = 0;
    for (int i = 0; i < HOLD_N_FDS; i++) {
        head->has_fd[i] = fds[i] >= 0;
        if (fds[i] >= 0)
            sent[n++] = fds[i];
    }
    struct iovec bytes = {head, sizeof *head};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * n);
    memcpy(CMSG_DATA(c), sent, sizeof(int) * n);
    return sendmsg(line, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *head;
}

static bool send_all(int line, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = send(line, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = str_from(bytes, (size_t)n);
    }
    return true;
}

bool spare_use(struct spare *s, const char *const *argv, const char *const *env,
               const int fds[HOLD_N_FDS], pid_t *ret_pid, int *ret_line)
{
    AUTO(buf) struct buf strings = BUF_INIT;
    struct spare_head head = {0};
    if (!s->pid)
        return false;
    head.n_argv = put_all(&strings, argv);
    head.n_env = put_all(&strings, env);
    head.n_bytes = (unsigned)strings.n;
    if (waitpid(s->pid, NULL, WNOHANG) != 0) { /* somebody has ended it */
        close(s->line);
        s->pid = 0;
        return false;
    }
    if (!send_head(s->line, &head, fds) || !send_all(s->line, buf_str(&strings))) {
        spare_end(s);
        return false;
    }
    *ret_pid = s->pid;
    *ret_line = s->line;
    s->pid = 0;
    return true;
}

void spare_end(struct spare *s)
{
    if (!s->pid)
        return;
    close(s->line);
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}
