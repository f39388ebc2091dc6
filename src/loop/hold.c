/* SPDX-License-Identifier: MIT */
#include "loop/hold.h"

#include "base/time.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

enum { KILL_AGAIN_MS = 5, TERM_AGAIN_MS = 2, TERM_AGAIN_MAX_MS = 16, MEASURE_MS = 250 };

/* --- the command's process --- */

static _Noreturn void fail(const char *what, const char *why)
{
    dprintf(STDERR_FILENO, "trivet: %s: %s\n", what, why);
    _exit(127);
}

/* posix_spawn has reset all signals but those reserved by libc, which need the raw system call. */
static void signals_default(void)
{
    enum { FIRST_REALTIME = 32 };   /* the kernel's SIGRTMIN */
    static const char all_zero[64]; /* the kernel's struct: SIG_DFL, no flags, no mask */
    for (int signo = FIRST_REALTIME; signo < SIGRTMIN; signo++)
        syscall(SYS_rt_sigaction, signo, all_zero, NULL, (size_t)8);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The received descriptors are above these numbers (keeper.c) and close at exec. */
static void place_fds(const struct command *c)
{
    for (int i = COMMAND_IN; i <= COMMAND_EXTRA; i++)
        if (c->fds[i] >= 0)
            dup2(c->fds[i], i);
        else if (i != COMMAND_IN) /* which is /dev/null here */
            close(i);
}

/* After vfork: shares the memory of the holder until exec. */
static _Noreturn void command_exec(const struct command *c, const struct hold_hooks *hooks)
{
    struct error err = ERROR_INIT;
    place_fds(c);
    setsid();
    if (c->has_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0)
        fail("cannot control the terminal", strerror(errno));
    signals_default();
    if (c->cwd[0] && chdir(c->cwd) != 0)
        fail(c->cwd, strerror(errno));
    if (hooks->confine && !hooks->confine(c->purpose, &err))
        fail("cannot confine the command", err.text);
    execvp(c->argv[0], c->argv);
    fail(c->argv[0], strerror(errno));
}

/* Returns like fork. */
static pid_t command_fork(const struct command *c, const struct hold_hooks *hooks)
{
    char **own = environ, **env = hooks->environment ? hooks->environment(c->env) : NULL;
    environ = env ? env : c->env; /* execvp reads PATH there */
    pid_t pid = vfork();          /* nothing is copied */
    if (pid == 0)
        command_exec(c, hooks);
    environ = own;
    free(env);
    return pid;
}

bool hold_start(struct hold *h, struct command *c, const struct hold_hooks *hooks,
                const struct pids *apart)
{
    *h = (struct hold){.hooks = hooks, .apart = apart, .grace_ms = c->grace_ms};
    h->measure_us = hooks->measure ? time_mono_us() + MEASURE_MS * 1000 : 0;
    h->command = command_fork(c, hooks);
    if (h->command < 0)
        return false;
    h->line = c->fds[COMMAND_LINE];
    c->fds[COMMAND_LINE] = -1;
    command_note(h->line, NOTE_STARTED, (int)h->command);
    return true;
}

/* --- its processes --- */

static void signal_all(struct hold *h, int signo, struct pids *signaled)
{
    AUTO(pids) struct pids all = PIDS_INIT;
    tree_descendants(getpid(), h->apart, &all);
    pids_signal(&all, signo, signaled);
}

static void send_term(struct hold *h)
{
    h->again_ms = h->again_ms ? MIN(2 * h->again_ms, TERM_AGAIN_MAX_MS) : TERM_AGAIN_MS;
    h->again_us = time_mono_us() + h->again_ms * 1000;
    signal_all(h, SIGTERM, &h->signaled);
}

/* Before the engine learns of the end, so that the result of the command has the finding. */
static void check(struct hold *h)
{
    AUTO(pids) struct pids left = PIDS_INIT;
    if (!h->hooks->check)
        return;
    tree_descendants(getpid(), h->apart, &left);
    h->is_checked = left.n == 0;
    h->finding = ERROR_INIT;
    if (!h->hooks->check(&h->finding))
        command_note_finding(h->line, h->finding.text);
}

void hold_reaped(struct hold *h, pid_t pid, int status)
{
    if (pid != h->command)
        return;
    h->command = 0;
    check(h);
    command_note(h->line, NOTE_ENDED, status);
}

void hold_read(struct hold *h)
{
    char byte;
    ssize_t n = recv(h->line, &byte, 1, MSG_DONTWAIT);
    if (n < 0)
        return;
    if (n == 0) {
        h->is_line_over = true;
        h->phase = HOLD_KILL;
    } else if (byte == 'a') {
        signal_all(h, SIGTERM, NULL);
    } else if (h->phase == HOLD_RUN) {
        h->phase = HOLD_TERM;
        h->deadline_us = time_mono_us() + h->grace_ms * 1000;
        send_term(h);
    }
}

int hold_timeout(const struct hold *h)
{
    if (h->phase == HOLD_RUN)
        return h->measure_us ? MEASURE_MS : -1;
    if (h->phase == HOLD_KILL)
        return KILL_AGAIN_MS;
    int64_t left = (MIN(h->deadline_us, h->again_us) - time_mono_us() + 999) / 1000;
    return left < 0 ? 0 : (int)MIN(left, 60000);
}

/* Limits for all processes together, which the kernel does not enforce, are checked at
 * intervals. */
static void measure(struct hold *h)
{
    AUTO(pids) struct pids all = PIDS_INIT;
    if (!h->measure_us || time_mono_us() < h->measure_us)
        return;
    tree_descendants(getpid(), h->apart, &all);
    int limit = h->hooks->measure(&all);
    h->measure_us = limit < 0 ? 0 : time_mono_us() + MEASURE_MS * 1000;
    if (limit <= 0)
        return;
    command_note(h->line, NOTE_LIMIT, limit);
    h->phase = HOLD_KILL;
}

void hold_tick(struct hold *h)
{
    if (h->phase == HOLD_RUN)
        measure(h);
    if (h->phase == HOLD_TERM && time_mono_us() >= h->deadline_us)
        h->phase = HOLD_KILL;
    if (h->phase == HOLD_TERM && time_mono_us() >= h->again_us)
        send_term(h);
    if (h->phase == HOLD_KILL)
        signal_all(h, SIGKILL, NULL);
}

void hold_clear(struct hold *h)
{
    pids_clear(&h->signaled);
    close(h->line);
}
