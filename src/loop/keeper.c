/* SPDX-License-Identifier: MIT */
/* The processes of a room.
 *
 *     engine --- outer --- keeper --- command ...
 *                    |         '----- holder --- command ...
 *                    '- cleans up when the keeper is gone
 *
 * The keeper receives commands (command.h) on the room's control socket, descriptor 3.  It holds
 * one itself (hold.h), and forks a holder for each further one that comes while processes of the
 * first are left: a fork costs more than the start of a command.  In the room without arguments,
 * which all sessions share, each command has a holder, so that one that cannot be started (its
 * directory does not respond) or that kills its parent does not concern the others.
 *
 * A holder exits with 0 when no process of its command is left.  The keeper has a copy of its
 * control socket until then, so that end of file on that socket means that no process is left.  The
 * tree of a killed holder is reparented to the keeper, which kills it, together with the orphans of
 * its own command.  When the room's control socket is closed, the keeper kills everything and
 * exits.
 *
 * All signals are blocked, so that a command that signals its group or its parent does not end it.
 *
 * With a sandbox, a hook forks the keeper into it.  The keeper is process 1 of a PID namespace
 * where the kernel allows that: when it ends, the kernel kills all processes of the namespace.  The
 * outer process is not confined.  Without a sandbox it is the keeper itself.
 */
#include "loop/hold.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_FD = 3, KILL_AGAIN_MS = 5 };

struct holder { /* the process of a further command */
    struct holder *next;
    pid_t pid;
    int line;     /* copy of its control socket */
    bool is_over; /* it was killed; its line closes when no orphan is left */
};

struct keeper {
    const struct hold_hooks *hooks;
    int signals; /* signalfd; -1: there is none, and children are looked at again and again */
    struct hold hold;
    bool is_holding; /* processes of hold.command are left */
    bool is_shared;  /* by several sessions: each command has a holder */
    struct holder *first;
    struct pids apart;    /* process ids of the holders */
    struct error warning; /* a warning for the next command */
    struct error trouble; /* the sandbox is broken: no further command */
};

/* ---- the end of commands ---- */

/* ERR_EXISTS is only a warning, which the next command prints. */
static void take_warning(struct keeper *k)
{
    if (k->trouble.code != ERR_EXISTS)
        return;
    k->warning = k->trouble;
    k->trouble = ERROR_INIT;
}

/* line: of the command whose processes may have changed something; -1: none. */
static void check_sandbox(struct keeper *k, int line)
{
    if (!k->hooks->check || k->trouble.code || k->hooks->check(&k->trouble))
        return;
    if (line >= 0)
        command_note_finding(line, k->trouble.text);
    take_warning(k);
}

/* After hold_reaped only if other processes were left then. */
static void check_after_hold(struct keeper *k)
{
    if (!k->hold.is_checked)
        check_sandbox(k, k->hold.line);
    else if (!k->trouble.code && k->hold.finding.code != ERR_EXISTS)
        k->trouble = k->hold.finding;
}

static void forget(struct keeper *k, struct holder **link)
{
    struct holder *h = *link;
    *link = h->next;
    check_sandbox(k, h->line);
    close(h->line);
    free(h);
}

static void note_end(struct keeper *k, pid_t pid, int status)
{
    if (k->is_holding)
        hold_reaped(&k->hold, pid, status);
    for (struct holder **link = &k->first; *link; link = &(*link)->next) {
        if ((*link)->pid != pid)
            continue;
        pids_remove(&k->apart, pid);
        if (status == 0)
            forget(k, link);
        else
            (*link)->is_over = true;
        return;
    }
}

/* False when there is no child at all. */
static bool reap(struct keeper *k)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
        note_end(k, pid, status);
    return pid == 0;
}

/* Children that are neither holders nor the command that is held here. */
static bool has_orphans(const struct keeper *k, struct pids *ret)
{
    tree_children(getpid(), &k->apart, ret);
    pids_remove(ret, k->is_holding ? k->hold.command : 0);
    return ret->n > 0;
}

static bool has_killed_holder(const struct keeper *k)
{
    for (const struct holder *h = k->first; h; h = h->next)
        if (h->is_over)
            return true;
    return false;
}

/* After a holder was killed: closes its line when all its processes are gone. */
static void sweep(struct keeper *k)
{
    AUTO(pids) struct pids orphans = PIDS_INIT;
    if (!has_killed_holder(k))
        return;
    if (has_orphans(k, &orphans)) {
        for (size_t i = 0; i < orphans.n; i++)
            tree_signal(orphans.p[i], SIGKILL);
        pids_signal(&orphans, SIGKILL, NULL);
        return;
    }
    for (struct holder **link = &k->first; *link;) {
        if ((*link)->is_over)
            forget(k, link);
        else
            link = &(*link)->next;
    }
}

static int timeout_of(const struct keeper *k)
{
    int ms = k->is_holding ? hold_timeout(&k->hold) : -1;
    bool is_polling = k->signals < 0 && (k->is_holding || k->first);
    return (is_polling || has_killed_holder(k)) && (ms < 0 || ms > KILL_AGAIN_MS) ? KILL_AGAIN_MS
                                                                                  : ms;
}

static void on_child(struct keeper *k)
{
    AUTO(pids) struct pids left = PIDS_INIT;
    struct signalfd_siginfo seen;
    (void)!read(k->signals, &seen, sizeof seen); /* one at most: the kernel does not queue it */
    bool has_children = reap(k);
    if (k->is_holding && !k->hold.command)
        k->hold.is_gone = !has_children || (k->first && !has_orphans(k, &left));
}

/* Waits for an event and handles what concerns processes.  True: the line is readable. */
static bool wait_round(struct keeper *k, int line)
{
    struct pollfd fds[] = {
        {.fd = line, .events = POLLIN},
        {.fd = k->signals, .events = POLLIN},
        {.fd = k->is_holding && !k->hold.is_line_over ? k->hold.line : -1, .events = POLLIN}};
    int n = poll(fds, 3, timeout_of(k));
    if (n > 0 && fds[2].revents)
        hold_read(&k->hold);
    if ((n > 0 && fds[1].revents) || k->signals < 0)
        on_child(k);
    if (k->is_holding)
        hold_tick(&k->hold);
    sweep(k);
    return n > 0 && fds[0].revents;
}

static void finish_hold(struct keeper *k)
{
    k->is_holding = false;
    check_after_hold(k);
    hold_clear(&k->hold);
}

static _Noreturn void end_all(struct keeper *k)
{
    while (reap(k)) {
        tree_signal(getpid(), SIGKILL);
        usleep(KILL_AGAIN_MS * 1000 / 5);
    }
    check_sandbox(k, k->is_holding ? k->hold.line : -1);
    _exit(0);
}

/* ---- starting commands ---- */

static void refuse(struct command *c, const char *why)
{
    if (c->fds[COMMAND_ERR] >= 0)
        dprintf(c->fds[COMMAND_ERR], "trivet: %s\n", why);
    command_note(c->fds[COMMAND_LINE], NOTE_ENDED, 127 << 8);
}

/* In a new process: holds the command to its end.  The lines of others must not stay open here. */
static _Noreturn void holder_run(struct keeper *k, struct command *c)
{
    struct keeper own = {.hooks = k->hooks, .signals = k->signals, .is_holding = true};
    dup2(STDIN_FILENO, LINE_FD);
    if (k->is_holding)
        close(k->hold.line);
    for (struct holder *h = k->first; h; h = h->next)
        close(h->line);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        !hold_start(&own.hold, c, own.hooks, &own.apart)) {
        refuse(c, strerror(errno));
        _exit(0);
    }
    command_clear(c);
    while (!own.hold.is_gone)
        wait_round(&own, -1);
    _exit(0); /* skip the program's atexit handlers */
}

static bool holder_fork(struct keeper *k, struct command *c)
{
    pid_t pid = fork();
    if (pid == 0)
        holder_run(k, c);
    if (pid < 0)
        return false;
    struct holder *h = xnew(struct holder);
    *h = (struct holder){.next = k->first, .pid = pid, .line = c->fds[COMMAND_LINE]};
    c->fds[COMMAND_LINE] = -1;
    k->first = h;
    pids_add(&k->apart, pid);
    return true;
}

/* False: k->trouble says why. */
static bool make_ready(struct keeper *k)
{
    bool is_alone = !k->is_holding && !k->first;
    if (!is_alone) /* a command that is about to end may have changed something */
        check_sandbox(k, -1);
    return !k->trouble.code && (!k->hooks->refresh || k->hooks->refresh(is_alone, &k->trouble));
}

static void start(struct keeper *k, struct command *c)
{
    bool is_here = !k->is_holding && !k->is_shared;
    if (!make_ready(k)) {
        refuse(c, k->trouble.text);
        return;
    }
    if (k->warning.code && c->fds[COMMAND_ERR] >= 0)
        dprintf(c->fds[COMMAND_ERR], "trivet: %s\n", k->warning.text);
    k->warning = ERROR_INIT;
    bool ok = is_here ? hold_start(&k->hold, c, k->hooks, &k->apart) : holder_fork(k, c);
    k->is_holding |= is_here && ok;
    if (!ok)
        refuse(c, strerror(errno));
}

/* Blocks all signals; returns a signalfd for SIGCHLD. */
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

static _Noreturn void keep(const struct hold_hooks *hooks, bool is_shared,
                           const struct error *trouble)
{
    struct keeper k = {.hooks = hooks, .is_shared = is_shared, .trouble = *trouble};
    k.signals = open_signals();
    take_warning(&k);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)!chdir("/"); /* so that no file system is kept busy; may fail */
    for (;;) {
        struct command c;
        bool is_end = false, has_message = wait_round(&k, LINE_FD);
        if (k.is_holding && k.hold.is_gone)
            finish_hold(&k);
        if (has_message && command_take(LINE_FD, &c, &is_end)) {
            start(&k, &c);
            command_clear(&c);
        }
        if (is_end)
            end_all(&k);
    }
}

bool hold_offer(int fd)
{
    return command_send_fd(LINE_FD, fd);
}

/* ---- the program ---- */

static void close_above(int last)
{
    if (syscall(SYS_close_range, last + 1, ~0U, 0) == 0)
        return;
    for (long fd = sysconf(_SC_OPEN_MAX); fd > last; fd--) /* Linux before 5.9 */
        close((int)fd);
}

static void wait_for_all(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR)
        tree_signal(getpid(), SIGKILL); /* the keeper has ended: kill the rest */
}

static _Noreturn void probe(const struct hold_hooks *hooks)
{
    char found = hooks->probe ? (char)hooks->probe() : 0;
    (void)!write(LINE_FD, &found, 1);
    _exit(0);
}

int hold_main(int argc, char **argv, const struct hold_hooks *hooks)
{
    static const struct hold_hooks none = {0};
    struct error trouble = ERROR_INIT;
    hooks = hooks ? hooks : &none;
    close_above(LINE_FD);
    fcntl(LINE_FD, F_SETFD, FD_CLOEXEC);
    sigset_t every;
    sigfillset(&every);
    sigprocmask(SIG_SETMASK, &every, NULL);
    if (argc == 2 && strcmp(argv[1], "probe") == 0)
        probe(hooks);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!hooks->enter)
        keep(hooks, argc < 2, &trouble);
    pid_t outer = getpid(), keeper = hooks->enter(argc - 1, argv + 1, &trouble);
    if (keeper == 0 && getpid() != outer)
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* no process would clean up after it */
    if (keeper == 0)
        keep(hooks, argc < 2, &trouble);
    close(LINE_FD);
    wait_for_all();
    if (hooks->release)
        hooks->release();
    _exit(0);
}
