/* SPDX-License-Identifier: MIT */
#include "loop/stage.h"

#include "base/mem.h"
#include "loop/job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LAST_HOLDER_FD = 5, FIRST_HOLDER_FD = 4, PATIENCE_MS = 500 };

/* ---- in the process ---- */

static _Noreturn void run(const struct stage *s, int line, void (*become)(int argc, char **argv))
{
    struct error err = ERROR_INIT;
    int argc;
    for (int fd = FIRST_HOLDER_FD; fd <= LAST_HOLDER_FD; fd++) /* open, but nobody's line */
        if (dup2(STDIN_FILENO, fd) < 0)
            _exit(1);
    setsid();
    if (chdir("/") != 0 || !s->hooks->confine_ahead(s->n, s->further, &err) ||
        send(line, "", 1, MSG_NOSIGNAL) != 1)
        _exit(1); /* whoever comes next is told why */
    char **argv = job_take(line, &argc);
    if (argv)
        become(argc, argv);
    _exit(1);
}

/* ---- in the spare ---- */

static bool fork_it(struct stage *s, void (*become)(int argc, char **argv))
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    const struct timeval patience = {.tv_usec = PATIENCE_MS * 1000};
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    s->line = pair[0];
    s->pid = fork();
    if (s->pid == 0) {
        close(pair[0]);
        run(s, pair[1], become);
    }
    close(pair[1]);
    if (s->pid > 0)
        return true;
    close(pair[0]);
    s->pid = 0;
    return false;
}

void stage_start(struct stage *s, int n, char **further, const struct hold_hooks *hooks,
                 void (*become)(int argc, char **argv))
{
    struct error ignored;
    *s = (struct stage){.hooks = hooks, .n = n, .further = further, .watch = -1,
                        .undone = -1};
    if (n == 0 || !hooks->note)
        return;
    s->expected = xcalloc((size_t)n, sizeof *s->expected);
    for (int i = 0; i < n; i++)
        s->expected[i] = str_dup(str_of(further[i]));
    if (!hooks->prepare(n, further, &ignored))
        return;
    s->notes = hooks->note(n, further, &s->watch); /* before the process looks at the same things */
    if (!s->notes || !fork_it(s, become))
        hooks->release(n, further);
}

/* Whether somebody may still send on it; waits until that is known. */
static bool has_job(int line)
{
    char byte;
    ssize_t n;
    do
        n = recv(line, &byte, 1, MSG_PEEK);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

/* The process has said that it is confined, or has ended. */
static bool take_ready(struct stage *s)
{
    char byte;
    if (recv(s->line, &byte, 1, MSG_DONTWAIT) != 1)
        return false;
    s->undone = s->hooks->watch(s->pid);
    return s->undone >= 0;
}

bool stage_wait(struct stage *s, int line)
{
    while (s->pid) {
        struct pollfd fds[] = {{.fd = line, .events = POLLIN},
                               {.fd = s->watch, .events = POLLPRI},
                               {.fd = s->undone, .events = POLLPRI},
                               {.fd = s->line, .events = POLLIN}};
        poll(fds, 4, -1);
        /* The kernel tells of a change once: what is seen here is seen by nobody else. */
        if (fds[1].revents || fds[2].revents || (fds[3].revents && !take_ready(s)))
            stage_drop(s);
        else if (fds[0].revents)
            break;
    }
    if (has_job(line))
        return true;
    stage_drop(s);
    return false;
}

bool stage_fits(struct stage *s, int n, char **further)
{
    struct pollfd undone = {.fd = s->undone, .events = POLLPRI};
    if (!s->pid || n != s->n || poll(&undone, 1, 0) != 0)
        return false;
    for (int i = 0; i < n; i++)
        if (strcmp(s->expected[i], further[i]) != 0)
            return false;
    return s->hooks->is_as_noted(s->notes);
}

/* Waits until it is confined. */
static bool is_ready(struct stage *s, int line)
{
    struct pollfd fds[] = {{.fd = s->line, .events = POLLIN}, {.fd = line, .events = POLLIN}};
    return s->undone >= 0 || (poll(fds, 2, PATIENCE_MS) > 0 && fds[0].revents && take_ready(s));
}

bool stage_use(struct stage *s, int line, char **argv, bool has_extra)
{
    const int fds[HOLD_N_FDS] = {0, 1, 2, has_extra ? 3 : -1, -1};
    if (!is_ready(s, line) || !job_send(s->line, (const char *const *)argv, (const char *const *)environ, fds))
        return false;
    close(s->line);
    close(s->undone);
    s->pid = 0;
    return true;
}

void stage_drop(struct stage *s)
{
    if (!s->pid)
        return;
    close(s->line);
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    s->hooks->release(s->n, s->further);
    if (s->undone >= 0)
        close(s->undone);
    s->undone = -1;
    s->pid = 0;
}
