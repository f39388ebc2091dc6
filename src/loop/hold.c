/* SPDX-License-Identifier: MIT */
/* The holder: a small process between trivet and a command.
 *
 *     hold GRACE_MS HAS_EXTRA HAS_TERMINAL CWD N further... command...
 *     hold spare further...  the same, told later over the line (spare.h); the command's process may
 *                            be made before that (stage.h)
 *
 *     0, 1, 2, 3   the command's; closed here as soon as it has started
 *     4            the line from trivet: `t` asks for TERM and, after the grace, KILL; `a` for TERM
 *                  alone; its end (trivet is gone, or does not want to wait) is KILL at once
 *     5            notes to trivet: the command's process id, then its wait status
 *
 * It is a subreaper: whatever loses its parent below it becomes its child, setsid and double fork
 * notwithstanding.  It exits with 0 when nobody is left, and that is what trivet takes as proof.
 * All signals are blocked, so that a command that kills its group or its parent politely does not
 * hit it.  No libuv here: one poll, plain calls, its memory is small.
 */
#include "loop/holder.h"
#include "loop/job.h"
#include "loop/stage.h"
#include "loop/tree.h"

#include "base/time.h"

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

enum { LINE_FD = 4, STATUS_FD = 5, FIRST_FREE_FD = 6, KILL_AGAIN_MS = 5 };
enum { TERM_AGAIN_MS = 2, TERM_AGAIN_MAX_MS = 16 };

enum phase { PHASE_RUN, PHASE_TERM, PHASE_KILL };

struct hold {
    pid_t command;
    int signals; /* signalfd */
    int line;    /* -1 after its end */
    enum phase phase;
    int64_t grace_ms;
    /* In PHASE_TERM: */
    int64_t deadline_us; /* of the grace */
    int64_t again_us;    /* when to look for those who were born while TERM was sent */
    int64_t again_ms;    /* after the time before; twice as long at first */
    struct pids told;    /* who got it: nobody gets it twice */
};

struct hold_args {
    int64_t grace_ms;
    bool has_extra;
    bool has_terminal;
    const char *cwd; /* empty: where we are */
    int n_further;
    char **further;
    char **command;
};

static bool args_read(struct hold_args *a, int argc, char **argv)
{
    if (argc < 7)
        return false;
    a->grace_ms = strtoll(argv[1], NULL, 10);
    a->has_extra = argv[2][0] == '1';
    a->has_terminal = argv[3][0] == '1';
    a->cwd = argv[4];
    a->n_further = atoi(argv[5]);
    a->further = argv + 6;
    if (a->n_further < 0 || a->n_further > argc - 7)
        return false;
    a->command = argv + 6 + a->n_further;
    return true;
}

/* --- the command --- */

static _Noreturn void fail(const char *what, const char *why)
{
    dprintf(STDERR_FILENO, "trivet: %s: %s\n", what, why);
    _exit(127);
}

/* posix_spawn has set all but the two that libc keeps for itself; these need the bare call. */
static void signals_default(void)
{
    static const char all_zero[64]; /* the kernel's struct: SIG_DFL, no flags, no mask */
    for (int signo = __SIGRTMIN; signo < SIGRTMIN; signo++)
        syscall(SYS_rt_sigaction, signo, all_zero, NULL, (size_t)8);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the forked child; only it is confined, so that the holder can still see and end the tree. */
static _Noreturn void command_exec(const struct hold_args *a, const struct hold_hooks *hooks)
{
    struct error err = ERROR_INIT;
    setsid();
    if (a->has_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0)
        fail("cannot control the terminal", strerror(errno));
    signals_default();
    if (a->cwd[0] && chdir(a->cwd) != 0)
        fail(a->cwd, strerror(errno));
    if (hooks->confine && !hooks->confine(a->n_further, a->further, &err))
        fail("cannot confine the command", err.text);
    execvp(a->command[0], a->command);
    fail(a->command[0], strerror(errno));
}

/* In a process that was made beforehand: confined already, it gets to know the rest. */
static void become(int argc, char **argv)
{
    static const struct hold_hooks done = {0};
    struct hold_args a;
    if (!args_read(&a, argc, argv))
        _exit(2);
    closefrom(a.has_extra ? LINE_FD : LINE_FD - 1);
    command_exec(&a, &done);
}

/* Whoever reads the command's output must see its end when the command's side is closed. */
static void drop_command_fds(bool has_extra)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    if (null > 2)
        close(null);
    if (has_extra)
        close(3);
}

/* --- watching --- */

static void tell(enum hold_note_kind kind, int value)
{
    struct hold_note note = {kind, value};
    while (write(STATUS_FD, &note, sizeof note) < 0 && errno == EINTR)
        ;
}

static void tell_status(int status)
{
    tell(NOTE_ENDED, status);
    close(STATUS_FD);
}

/* The command could not even be started. */
static _Noreturn void give_up(struct stage *stage, const char *what, const char *why)
{
    stage_drop(stage);
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
    if (h->phase != PHASE_TERM)
        return h->phase == PHASE_RUN ? -1 : KILL_AGAIN_MS;
    int64_t left = (MIN(h->deadline_us, h->again_us) - time_mono_us() + 999) / 1000;
    return left < 0 ? 0 : (int)MIN(left, 60000);
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
        if (h->phase == PHASE_TERM && time_mono_us() >= h->deadline_us)
            h->phase = PHASE_KILL;
        if (h->phase == PHASE_TERM && time_mono_us() >= h->again_us)
            send_term(h);
        if (h->phase == PHASE_KILL)
            tree_signal(getpid(), SIGKILL);
    }
}

static int open_signals(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void prepare(const struct hold_args *a, const struct hold_hooks *hooks, struct stage *stage)
{
    struct error err = ERROR_INIT;
    if (hooks->prepare && !hooks->prepare(a->n_further, a->further, &err))
        give_up(stage, "cannot confine the command", err.text);
}

/* Gives the job to the staged process if that fits; 0: it does not. */
static pid_t start_staged(struct hold_args *a, char **argv, struct stage *stage)
{
    struct hold_args staged = *a;
    pid_t pid = stage->pid;
    if (a->cwd[0] != '/' || !stage_fits(stage, a->n_further, a->further))
        return 0;
    staged.further = stage->further; /* the private directory has its name there */
    prepare(&staged, stage->hooks, stage);
    if (!stage_use(stage, LINE_FD, argv, a->has_extra))
        return 0;
    *a = staged;
    return pid;
}

static pid_t start(struct hold_args *a, char **argv, struct stage *stage,
                   const struct hold_hooks *hooks)
{
    pid_t pid = start_staged(a, argv, stage);
    if (pid)
        return pid;
    prepare(a, hooks, stage);
    pid = fork();
    if (pid == 0)
        command_exec(a, hooks);
    if (pid < 0)
        give_up(stage, "cannot start a process", strerror(errno));
    return pid;
}

int hold_main_hooked(int argc, char **argv, const struct hold_hooks *hooks)
{
    struct hold_args a;
    struct stage stage = {0};
    closefrom(FIRST_FREE_FD);
    if (argc >= 2 && strcmp(argv[1], "spare") == 0) {
        stage_start(&stage, argc - 2, argv + 2, hooks, become);
        argv = stage_wait(&stage, LINE_FD) ? job_take(LINE_FD, &argc) : NULL;
        if (!argv) {
            stage_drop(&stage);
            _exit(0);
        }
    }
    if (!args_read(&a, argc, argv))
        return 2;
    if (!a.has_extra)
        close(3);
    fcntl(LINE_FD, F_SETFD, FD_CLOEXEC);
    fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
    setsid();
    struct hold h = {.line = LINE_FD, .grace_ms = a.grace_ms, .signals = open_signals()};
    if (h.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        give_up(&stage, "cannot hold a command", strerror(errno));
    h.command = start(&a, argv, &stage, hooks);
    tell(NOTE_STARTED, (int)h.command);
    drop_command_fds(a.has_extra);
    stage_drop(&stage);
    (void)!chdir("/"); /* so as not to keep a directory busy; nothing depends on it */
    watch_tree(&h);
    if (hooks->release)
        hooks->release(a.n_further, a.further);
    _exit(0); /* the program's own clean-up at exit is not for a holder */
}

int hold_main(int argc, char **argv, bool (*confine)(int argc, char **argv, struct error *err))
{
    return hold_main_hooked(argc, argv, &(struct hold_hooks){.confine = confine});
}
