/* SPDX-License-Identifier: MIT */
/* The holder of one command: a small process between the keeper of a room (keeper.c) and the
 * command.
 *
 *     0, 1, 2, 3   the command's; closed in the holder as soon as it has started
 *     4            control socket: `t` requests SIGTERM and, after the grace, SIGKILL; `a` SIGTERM
 *                  alone; end of file (trivet ended, or does not wait) SIGKILL at once
 *     5            status messages: the command's process id, then its wait status
 *
 * It is a subreaper: orphaned descendants become its children, despite setsid and double fork.  It
 * exits with 0 when no descendant is left; the keeper relies on that.  All signals are blocked, so
 * that a command that signals its group or its parent does not end it.
 */
#include "loop/hold.h"

#include "base/time.h"
#include "loop/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LINE_FD = 4, STATUS_FD = 5, KILL_AGAIN_MS = 5 };
enum { TERM_AGAIN_MS = 2, TERM_AGAIN_MAX_MS = 16, MEASURE_MS = 250 };

enum phase { PHASE_RUN, PHASE_TERM, PHASE_KILL };

struct hold {
    const struct hold_hooks *hooks;
    pid_t command;
    int signals; /* signalfd */
    int line;    /* control socket; -1 after end of file */
    enum phase phase;
    int64_t grace_ms;
    int64_t measure_us; /* next check of resource limits; 0: never */
    /* In PHASE_TERM: */
    int64_t deadline_us;  /* end of the grace */
    int64_t again_us;     /* when to signal children forked during SIGTERM */
    int64_t again_ms;     /* interval between these; doubles up to the maximum */
    struct pids signaled; /* processes already signaled */
};

/* --- the command --- */

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

/* In the forked child.  The holder is not confined, so that it can still see and kill the tree. */
static _Noreturn void command_exec(const struct job *j, const struct hold_hooks *hooks)
{
    struct error err = ERROR_INIT;
    setsid();
    if (j->has_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0)
        fail("cannot control the terminal", strerror(errno));
    signals_default();
    if (j->cwd[0] && chdir(j->cwd) != 0)
        fail(j->cwd, strerror(errno));
    environ = j->env;
    if (hooks->confine && !hooks->confine(j->purpose, &err))
        fail("cannot confine the command", err.text);
    execvp(j->argv[0], j->argv);
    fail(j->argv[0], strerror(errno));
}

/* The holder must not keep the command's pipes open: readers wait for end of file. */
static void drop_command_fds(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    if (null > 2)
        close(null);
    close(3);
}

/* --- watching --- */

static void report_status(int status)
{
    job_note(STATUS_FD, NOTE_ENDED, status);
    close(STATUS_FD);
}

/* The command could not be started: reports exit status 127. */
static _Noreturn void give_up(const char *what, const char *why)
{
    dprintf(STDERR_FILENO, "trivet: %s: %s\n", what, why);
    report_status(127 << 8);
    _exit(0);
}

/* Reaps ended children; false when none is left. */
static bool reap(struct hold *h)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
        if (pid == 0)
            return true;
        if (pid < 0 && errno != EINTR)
            return false;
        if (pid == h->command)
            report_status(status);
    }
}

static void send_term(struct hold *h)
{
    h->again_ms = h->again_ms ? MIN(2 * h->again_ms, TERM_AGAIN_MAX_MS) : TERM_AGAIN_MS;
    h->again_us = time_mono_us() + h->again_ms * 1000;
    tree_signal_new(getpid(), SIGTERM, &h->signaled);
}

static void on_line(struct hold *h)
{
    char byte;
    ssize_t n = read(h->line, &byte, 1);
    if (n < 0)
        return;
    if (n == 0) {
        h->line = -1;
        h->phase = PHASE_KILL;
    } else if (byte == 'a') {
        tree_signal(getpid(), SIGTERM);
    } else if (h->phase == PHASE_RUN) {
        h->phase = PHASE_TERM;
        h->deadline_us = time_mono_us() + h->grace_ms * 1000;
        send_term(h);
    }
}

static int poll_timeout(const struct hold *h)
{
    if (h->phase == PHASE_RUN)
        return h->measure_us ? MEASURE_MS : -1;
    if (h->phase == PHASE_KILL)
        return KILL_AGAIN_MS;
    int64_t left = (MIN(h->deadline_us, h->again_us) - time_mono_us() + 999) / 1000;
    return left < 0 ? 0 : (int)MIN(left, 60000);
}

/* Limits for all processes together, which the kernel does not enforce, are checked at
 * intervals. */
static void measure(struct hold *h)
{
    if (!h->measure_us || time_mono_us() < h->measure_us)
        return;
    int limit = h->hooks->measure();
    h->measure_us = limit < 0 ? 0 : time_mono_us() + MEASURE_MS * 1000;
    if (limit <= 0)
        return;
    job_note(STATUS_FD, NOTE_LIMIT, limit);
    h->phase = PHASE_KILL;
}

static void watch_tree(struct hold *h)
{
    while (reap(h)) {
        struct pollfd fds[] = {{.fd = h->line, .events = POLLIN},
                               {.fd = h->signals, .events = POLLIN}};
        struct signalfd_siginfo seen;
        if (poll(fds, 2, poll_timeout(h)) > 0 && fds[0].revents)
            on_line(h);
        while (read(h->signals, &seen, sizeof seen) > 0)
            ;
        if (h->phase == PHASE_RUN)
            measure(h);
        if (h->phase == PHASE_TERM && time_mono_us() >= h->deadline_us)
            h->phase = PHASE_KILL;
        if (h->phase == PHASE_TERM && time_mono_us() >= h->again_us)
            send_term(h);
        if (h->phase == PHASE_KILL)
            tree_signal(getpid(), SIGKILL);
    }
}

int hold_signals(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Moves the descriptors to their fixed numbers, which are below those received (keeper.c). */
static void place_fds(struct job *j)
{
    for (int i = 0; i < JOB_N_FDS; i++) {
        if (j->fds[i] >= 0)
            dup2(j->fds[i], i);
        else
            close(i);
    }
    job_close(j);
    fcntl(LINE_FD, F_SETFD, FD_CLOEXEC);
    fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
}

_Noreturn void hold_command(struct job *j, const struct hold_hooks *hooks)
{
    bool is_read = job_read(j);
    /* Opened before descriptors are moved: 3 may be free then, and is closed later. */
    struct hold h = {.hooks = hooks, .line = LINE_FD, .signals = hold_signals()};
    place_fds(j);
    setsid();
    if (!is_read)
        give_up("cannot start a command", "the message is invalid");
    h.grace_ms = j->grace_ms;
    h.measure_us = hooks->measure ? time_mono_us() + MEASURE_MS * 1000 : 0;
    if (h.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        give_up("cannot supervise a command", strerror(errno));
    h.command = vfork(); /* shares memory until exec: nothing is copied */
    if (h.command == 0)
        command_exec(j, hooks);
    if (h.command < 0)
        give_up("cannot start a process", strerror(errno));
    job_note(STATUS_FD, NOTE_STARTED, (int)h.command);
    drop_command_fds();
    watch_tree(&h);
    _exit(0); /* skip the program's atexit handlers */
}
