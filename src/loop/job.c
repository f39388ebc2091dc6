/* SPDX-License-Identifier: MIT */
#include "loop/job.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Header of the memory file; the strings follow: directory, arguments, environment. */
struct job_head {
    int64_t grace_ms;
    bool has_terminal;
    int purpose;
    unsigned n_argv, n_env;
};

struct job_message { /* which descriptors are sent after the memory file, in this order */
    bool has_fd[JOB_N_FDS];
};

union job_control {
    char bytes[CMSG_SPACE(sizeof(int) * (JOB_N_FDS + 1))];
    struct cmsghdr align;
};

/* ---- sending ---- */

static unsigned put_all(struct buf *out, char *const *texts)
{
    unsigned n = 0;
    for (; texts && texts[n]; n++)
        buf_add(out, str_n(texts[n], strlen(texts[n]) + 1));
    return n;
}

static int write_strings(const struct job *j)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct job_head head = {
        .grace_ms = j->grace_ms, .has_terminal = j->has_terminal, .purpose = j->purpose};
    buf_add(&bytes, str_n((const char *)&head, sizeof head));
    buf_add(&bytes, str_n(j->cwd, strlen(j->cwd) + 1));
    head.n_argv = put_all(&bytes, j->argv);
    head.n_env = put_all(&bytes, j->env);
    memcpy(bytes.p, &head, sizeof head);
    int fd = memfd_create("job", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool send_fds(int line, const struct job_message *message, const int *fds, size_t n)
{
    union job_control control = {{0}};
    struct iovec bytes = {(void *)message, sizeof *message};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * n);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
    return sendmsg(line, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *message;
}

bool job_send(int line, const struct job *j, struct error *err)
{
    struct job_message message = {0};
    int fds[JOB_N_FDS + 1];
    size_t n = 1;
    for (int i = 0; i < JOB_N_FDS; i++) {
        message.has_fd[i] = j->fds[i] >= 0;
        if (j->fds[i] >= 0)
            fds[n++] = j->fds[i];
    }
    fds[0] = write_strings(j);
    bool ok = fds[0] >= 0 && send_fds(line, &message, fds, n);
    int number = errno;
    if (fds[0] >= 0)
        close(fds[0]);
    return ok || error_errno(err, number, "cannot send the command to its room");
}

/* ---- receiving ---- */

static bool place_fds(const struct job_message *message, const int *fds, size_t n, struct job *j)
{
    size_t at = 0;
    if (n)
        j->strings = fds[at++];
    for (int i = 0; i < JOB_N_FDS; i++)
        if (message->has_fd[i] && at < n)
            j->fds[i] = fds[at++];
    return n >= 1 && at == n && j->fds[JOB_LINE] >= 0 && j->fds[JOB_STATUS] >= 0;
}

bool job_take(int line, struct job *ret, bool *ret_end)
{
    union job_control control;
    struct job_message message;
    int fds[JOB_N_FDS + 1];
    struct iovec bytes = {&message, sizeof message};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(line, &m, MSG_CMSG_CLOEXEC);
    *ret = JOB_INIT;
    *ret_end = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    if (got <= 0)
        return false;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    size_t n = c && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    n = MIN(n, ARRAY_LEN(fds));
    if (n)
        memcpy(fds, CMSG_DATA(c), n * sizeof(int));
    if (place_fds(&message, fds, n, ret) && got == (ssize_t)sizeof message)
        return true;
    job_close(ret);
    return false;
}

/* The next n strings at *at, which is advanced; NULL: there are fewer. */
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

bool job_read(struct job *j)
{
    struct stat st;
    struct job_head head;
    if (fstat(j->strings, &st) != 0 || st.st_size <= (off_t)sizeof head)
        return false;
    char *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, j->strings,
                       0);
    if (bytes == MAP_FAILED)
        return false;
    char *at = bytes + sizeof head, *end = bytes + st.st_size;
    end[-1] = '\0';
    memcpy(&head, bytes, sizeof head);
    j->grace_ms = head.grace_ms;
    j->has_terminal = head.has_terminal;
    j->purpose = head.purpose;
    j->cwd = at;
    at += strlen(at) + 1;
    j->argv = take_strings(&at, end, head.n_argv);
    j->env = take_strings(&at, end, head.n_env);
    return j->argv && j->env && head.n_argv > 0;
}

void job_close(struct job *j)
{
    for (int i = 0; i < JOB_N_FDS; i++) {
        if (j->fds[i] >= 0)
            close(j->fds[i]);
        j->fds[i] = -1;
    }
    if (j->strings >= 0)
        close(j->strings);
    j->strings = -1;
}

bool job_send_fd(int line, int fd)
{
    struct job_message message = {0};
    return send_fds(line, &message, &fd, 1);
}

int job_take_fd(int line)
{
    union job_control control;
    char byte;
    int fd = -1;
    struct iovec bytes = {&byte, 1};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    if (recvmsg(line, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
        return -1;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

void job_note(int fd, enum job_note_kind kind, int value)
{
    struct job_note note = {kind, value};
    while (write(fd, &note, sizeof note) < 0 && errno == EINTR)
        ;
}
