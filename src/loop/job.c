/* SPDX-License-Identifier: MIT */
#include "loop/job.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* Stands ahead of the strings: arguments, then environment, each NUL-ended. */
struct job_head {
    unsigned n_bytes, n_argv, n_env;
    bool has_fd[HOLD_N_FDS]; /* those that come with it, in this order */
};

union job_control {
    char bytes[CMSG_SPACE(sizeof(int) * HOLD_N_FDS)];
    struct cmsghdr align;
};

/* ---- sending ---- */

static unsigned put_all(struct buf *out, const char *const *texts)
{
    unsigned n = 0;
    for (; texts && texts[n]; n++)
        buf_add(out, str_n(texts[n], strlen(texts[n]) + 1));
    return n;
}

static bool send_head(int line, struct job_head *head, const int fds[HOLD_N_FDS])
{
    union job_control control = {{0}};
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

bool job_send(int line, const char *const *argv, const char *const *env, const int fds[HOLD_N_FDS])
{
    AUTO(buf) struct buf strings = BUF_INIT;
    struct job_head head = {0};
    head.n_argv = put_all(&strings, argv);
    head.n_env = put_all(&strings, env);
    head.n_bytes = (unsigned)strings.n;
    return send_head(line, &head, fds) && send_all(line, buf_str(&strings));
}

/* ---- taking ---- */

static bool place_fds(const struct job_head *head, const int *fds, size_t n)
{
    static const int targets[HOLD_N_FDS] = {0, 1, 2, 3, 5};
    size_t at = 0;
    bool ok = true;
    for (int i = 0; i < HOLD_N_FDS; i++)
        if (head->has_fd[i])
            ok = ok && at < n && dup2(fds[at++], targets[i]) >= 0;
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
    return ok;
}

static bool take_head(int line, struct job_head *ret)
{
    union job_control control;
    int fds[HOLD_N_FDS];
    struct iovec bytes = {ret, sizeof *ret};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(line, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    if (n != (ssize_t)sizeof *ret)
        return false;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    size_t n_fds = c && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    if (n_fds)
        memcpy(fds, CMSG_DATA(c), MIN(n_fds, (size_t)HOLD_N_FDS) * sizeof(int));
    return place_fds(ret, fds, MIN(n_fds, (size_t)HOLD_N_FDS));
}

/* n strings from *at on, which is moved behind them; NULL: there are fewer. */
static char **take_strings(char **at, const char *end, unsigned n)
{
    char **v = xcalloc((size_t)n + 1, sizeof *v);
    for (unsigned i = 0; i < n; i++) {
        if (*at >= end) {
            free(v);
            return NULL;
        }
        v[i] = *at;
        *at += strlen(*at) + 1;
    }
    return v;
}

char **job_take(int line, int *ret_argc)
{
    struct job_head head;
    if (!take_head(line, &head))
        return NULL;
    char *bytes = xmalloc((size_t)head.n_bytes + 1), *at = bytes;
    for (size_t got = 0; got < head.n_bytes;) {
        ssize_t n = read(line, bytes + got, head.n_bytes - got);
        if (n <= 0) {
            free(bytes);
            return NULL;
        }
        got += (size_t)n;
    }
    bytes[head.n_bytes] = '\0';
    char **argv = take_strings(&at, bytes + head.n_bytes, head.n_argv);
    char **env = take_strings(&at, bytes + head.n_bytes, head.n_env);
    if (!argv || !env)
        return NULL;
    environ = env;
    *ret_argc = (int)head.n_argv;
    return argv;
}
