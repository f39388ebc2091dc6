/* SPDX-License-Identifier: MIT */
/* The spare's end: it sleeps in a read until its job comes.  What it cannot make sense of, or the
 * end of its line, ends it; nobody waits for a spare. */
#include "loop/spare.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* Descriptors 0 to 5 are taken, so what comes lies above. */
static void place_fds(const struct spare_head *head, const int *fds, size_t n)
{
    static const int targets[HOLD_N_FDS] = {0, 1, 2, 3, 5};
    size_t at = 0;
    for (int i = 0; i < HOLD_N_FDS; i++)
        if (head->has_fd[i] && (at == n || dup2(fds[at++], targets[i]) < 0))
            _exit(1);
}

static void take_head(int line, struct spare_head *ret)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * HOLD_N_FDS)];
        struct cmsghdr align;
    } control;
    int fds[HOLD_N_FDS];
    struct iovec bytes = {ret, sizeof *ret};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(line, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    if (n != (ssize_t)sizeof *ret)
        _exit(n == 0 ? 0 : 1);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    size_t n_fds = c && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    if (n_fds)
        memcpy(fds, CMSG_DATA(c), MIN(n_fds, (size_t)HOLD_N_FDS) * sizeof(int));
    place_fds(ret, fds, MIN(n_fds, (size_t)HOLD_N_FDS));
}

/* n strings from *at on, which is moved behind them. */
static char **take_strings(char **at, const char *end, unsigned n)
{
    char **v = xcalloc((size_t)n + 1, sizeof *v);
    for (unsigned i = 0; i < n; i++) {
        if (*at >= end)
            _exit(1);
        v[i] = *at;
        *at += strlen(*at) + 1;
    }
    return v;
}

char **spare_take_job(int line, int *ret_argc)
{
    struct spare_head head;
    take_head(line, &head);
    char *bytes = xmalloc((size_t)head.n_bytes + 1), *at = bytes;
    for (size_t got = 0; got < head.n_bytes;) {
        ssize_t n = read(line, bytes + got, head.n_bytes - got);
        if (n <= 0)
            _exit(1);
        got += (size_t)n;
    }
    bytes[head.n_bytes] = '\0';
    char **argv = take_strings(&at, bytes + head.n_bytes, head.n_argv);
    environ = take_strings(&at, bytes + head.n_bytes, head.n_env);
    *ret_argc = (int)head.n_argv;
    return argv;
}
