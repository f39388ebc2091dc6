/* SPDX-License-Identifier: MIT */
/* The holder of one command: a small process between the keeper of a room (keeper.c) and the
 * command.
 *
 *     0, 1, 2, 3   the command's; closed here as soon as it has started
 *     4            the line from trivet: `t` asks for TERM and, after the grace, KILL; `a` for TERM
 *                  alone; its end (trivet is gone, or does not want to wait) is KILL at once
 *     5            notes to trivet: the command's process id, then its wait status
 *
 * It is a subreaper: whatever loses its parent below it becomes its child, setsid and double fork
 * notwithstanding.  It exits with 0 when nobody is left, and that is what the keeper takes as
 * proof. All signals are blocked, so that a command that kills its group or its parent politely
 * does not hit it.
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
    int line;    /* -1 after its end */
    enum phase phase;
    int64_t grace_ms;
    int64_t measure_us; /* when to look again at what is used; 0: never */
    /* In PHASE_TERM: */
    int64_t deadline_us; /* of the grace */
    int64_t again_us;    /* when to look for those who were born while TERM was sent */
    int64_t again_ms;    /* after the time before; twice as long at first */
    struct pids told;    /* who got it: nobody gets it twice */
};

/* --- the command --- */

static _Noreturn void fail(const char *what, const char *why)
{
    dprintf(STDERR_FILENO, "trivet: %s: %s\n", what, why);
    _exit(127);
}

/* posix_spawn has set all but the few that libc keeps for itself; these need the bare call. */
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

/* In the forked child; only it is confined, so that the holder can still see and end the tree. */
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

/* Whoever reads the command's output must see its end when the command's side is closed. */
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

static void tell_status(int status)
{
    job_note(STATUS_FD, NOTE_ENDED, status);
    close(STATUS_FD);
}

/* The command could not even be started. */
static _Noreturn void give_up(const char *what, const char *why)
{
    dprintf(STDERR_FILENO, "trivet: %s: %s\n", what, why);
    tell_status(127 << 8);
    _exit(0);
}

/* Waits for whoever has ended; false when nobody is left. */
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
            tell_status(status);
    }
}

static void send_term(struct hold *h)
{
    h->again_ms = h->again_ms ? MIN(2 * h->again_ms, TERM_AGAIN_MAX_MS) : TERM_AGAIN_MS;
    h->again_us = time_mono_us() + h->again_ms * 1000;
    tree_signal_new(getpid(), SIGTERM, &h->told);
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

/* What the kernel does not limit for all processes together is looked at from time to time. */
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

/* The descriptors of a job lie above all of their places (keeper.c). */
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
    place_fds(j);
    setsid();
    struct hold h = {.hooks = hooks, .line = LINE_FD, .signals = hold_signals()};
    if (!is_read)
        give_up("cannot start a command", "what came makes no sense");
    h.grace_ms = j->grace_ms;
    h.measure_us = hooks->measure ? time_mono_us() + MEASURE_MS * 1000 : 0;
    if (h.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        give_up("cannot hold a command", strerror(errno));
    h.command = vfork(); /* its memory is ours until it becomes the command: nothing is copied */
    if (h.command == 0)
        command_exec(j, hooks);
    if (h.command < 0)
        give_up("cannot start a process", strerror(errno));
    job_note(STATUS_FD, NOTE_STARTED, (int)h.command);
    drop_command_fds();
    watch_tree(&h);
    _exit(0); /* the program's own clean-up at exit is not for a holder */
}
