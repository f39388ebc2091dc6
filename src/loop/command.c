/* SPDX-License-Identifier: MIT */
#include "loop/command.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INLINE_BYTES = 16 << 10 }; /* of strings; a socket takes several messages of that size */

/* A message: this, then the strings (directory, arguments, environment), each with its NUL; or the
 * first descriptor is a memory file with them. */
struct command_head {
    int64_t grace_ms;
    uint64_t n_bytes;
    unsigned n_argv, n_env;
    int purpose;
    bool has_terminal, has_file;
    bool has_fd[COMMAND_N_FDS];
};

struct fd_message {
    struct command_head head;
    char strings[INLINE_BYTES];
};

enum { MAX_FDS = COMMAND_N_FDS + 1 };

union control {
    char bytes[CMSG_SPACE(sizeof(int) * MAX_FDS)];
    struct cmsghdr align;
};

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* ---- sending ---- */

static bool send_fds(int line, struct str head, struct str bytes, const int *fds, size_t n)
{
    union control control = {{0}};
    struct iovec parts[] = {{(void *)head.p, head.n}, {(void *)bytes.p, bytes.n}};
    struct msghdr m = {.msg_iov = parts,
                       .msg_iovlen = 2,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * n);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
    return sendmsg(line, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)(head.n + bytes.n);
}

static int file_of(struct str bytes)
{
    int fd = memfd_create("command", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n)
        return fd;
    close(fd);
    return -1;
}

/* fds[0] is free for the memory file. */
static bool send_strings(int line, struct command_head *head, struct str bytes, int *fds, size_t n)
{
    struct str start = str_n((const char *)head, sizeof *head);
    if (bytes.n <= INLINE_BYTES && send_fds(line, start, bytes, fds + 1, n - 1))
        return true;
    if (bytes.n <= INLINE_BYTES && errno != EAGAIN)
        return false;
    head->has_file = true;
    fds[0] = file_of(bytes);
    bool ok = fds[0] >= 0 && send_fds(line, start, STR(""), fds, n);
    int number = errno;
    close_fd(fds[0]);
    errno = number;
    return ok;
}

static unsigned put_all(struct buf *out, char *const *texts)
{
    unsigned n = 0;
    for (; texts && texts[n]; n++)
        buf_add(out, str_n(texts[n], strlen(texts[n]) + 1));
    return n;
}

bool command_send(int line, const struct command *c, struct error *err)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct command_head head = {
        .grace_ms = c->grace_ms, .has_terminal = c->has_terminal, .purpose = c->purpose};
    int fds[MAX_FDS];
    size_t n = 1;
    for (int i = 0; i < COMMAND_N_FDS; i++) {
        head.has_fd[i] = c->fds[i] >= 0;
        if (c->fds[i] >= 0)
            fds[n++] = c->fds[i];
    }
    buf_add(&bytes, str_n(c->cwd, strlen(c->cwd) + 1));
    head.n_argv = put_all(&bytes, c->argv);
    head.n_env = put_all(&bytes, c->env);
    head.n_bytes = bytes.n;
    return send_strings(line, &head, buf_str(&bytes), fds, n) ||
           error_errno(err, errno, "cannot send the command to its room");
}

/* ---- receiving ---- */

/* Returns the size of the message, 0 at the end of file, -1 with errno. */
static ssize_t take_fds(int line, void *message, size_t size, int fds[MAX_FDS], size_t *ret_n)
{
    union control control;
    struct iovec bytes = {message, size};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(line, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    *ret_n = c && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    *ret_n = MIN(*ret_n, (size_t)MAX_FDS);
    if (*ret_n)
        memcpy(fds, CMSG_DATA(c), *ret_n * sizeof(int));
    return got;
}

/* Returns the memory file, -1 if there is none. */
static int place_fds(const struct command_head *head, const int *fds, size_t n, struct command *c)
{
    size_t at = 0;
    int file = head->has_file && n ? fds[at++] : -1;
    for (int i = 0; i < COMMAND_N_FDS; i++)
        if (head->has_fd[i] && at < n)
            c->fds[i] = fds[at++];
    return file;
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

static bool read_strings(struct command *c, const struct fd_message *m, int file)
{
    size_t n = m->head.n_bytes;
    if (n == 0 || (file < 0 && n > INLINE_BYTES))
        return false;
    c->bytes = xmalloc(n);
    if (file < 0)
        memcpy(c->bytes, m->strings, n);
    else if (pread(file, c->bytes, n, 0) != (ssize_t)n)
        return false;
    char *at = c->bytes, *end = at + n;
    end[-1] = '\0';
    c->cwd = at;
    at += strlen(at) + 1;
    c->argv = take_strings(&at, end, m->head.n_argv);
    c->env = take_strings(&at, end, m->head.n_env);
    return c->argv && c->env && m->head.n_argv > 0;
}

bool command_take(int line, struct command *ret, bool *ret_end)
{
    static struct fd_message m;
    int fds[MAX_FDS];
    size_t n;
    ssize_t got = take_fds(line, &m, sizeof m, fds, &n);
    *ret = COMMAND_INIT;
    *ret_end = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    if (got < (ssize_t)sizeof m.head)
        return false;
    int file = place_fds(&m.head, fds, n, ret);
    ret->grace_ms = m.head.grace_ms;
    ret->has_terminal = m.head.has_terminal;
    ret->purpose = m.head.purpose;
    bool ok = ret->fds[COMMAND_LINE] >= 0 && read_strings(ret, &m, file);
    close_fd(file);
    if (!ok)
        command_clear(ret);
    return ok;
}

void command_clear(struct command *c)
{
    for (int i = 0; i < COMMAND_N_FDS; i++)
        close_fd(c->fds[i]);
    free(c->argv);
    free(c->env);
    free(c->bytes);
    *c = COMMAND_INIT;
}

/* ---- small messages ---- */

bool command_send_fd(int line, int fd)
{
    return send_fds(line, STR("f"), STR(""), &fd, 1);
}

int command_take_fd(int line)
{
    char byte;
    int fds[MAX_FDS];
    size_t n;
    return take_fds(line, &byte, 1, fds, &n) > 0 && n == 1 ? fds[0] : -1;
}

enum { NOTE_HEAD = offsetof(struct command_note, text) };

static void send_note(int fd, const struct command_note *note)
{
    while (send(fd, note, NOTE_HEAD + strlen(note->text), MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

void command_note(int fd, enum command_note_kind kind, int value)
{
    send_note(fd, &(struct command_note){.kind = kind, .value = value});
}

void command_note_finding(int fd, const char *text)
{
    struct command_note note = {.kind = NOTE_FINDING};
    snprintf(note.text, sizeof note.text, "%s", text);
    send_note(fd, &note);
}

int command_take_note(int fd, struct command_note *ret)
{
    *ret = (struct command_note){0};
    ssize_t n = recv(fd, ret, sizeof *ret - 1, MSG_DONTWAIT);
    if (n >= NOTE_HEAD)
        return 1;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
}
