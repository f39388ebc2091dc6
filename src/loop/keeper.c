/* SPDX-License-Identifier: MIT */
/* The processes of a room.
 *
 *     engine --- outer --- keeper --- holder --- command ...
 *                    |         '----- holder --- command ...
 *                    '- cleans up when the keeper is gone
 *
 * The keeper receives jobs (job.h) on the room's control socket, descriptor 3, and forks a holder
 * for each.  It keeps a copy of the holder's control socket until the command's tree is gone, so
 * that end of file on that socket tells the engine that no process is left.  The tree of a killed
 * holder is reparented to the keeper, which kills it.  When the room's control socket is closed,
 * the keeper kills everything and exits.
 *
 * With a sandbox, a hook forks the keeper into it.  The keeper is process 1 of a PID namespace
 * where the kernel allows that: when it ends, the kernel kills all processes of the namespace.  The
 * outer process is not confined.  Without a sandbox it is the keeper itself.
 */
#include "loop/hold.h"
#include "loop/tree.h"

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

enum { LINE_FD = 3, FIRST_FREE_FD = 10, KILL_AGAIN_MS = 5 };

struct running {
    struct running *next;
    pid_t pid; /* of the holder */
    int line;
    bool is_over; /* it was killed; its line closes when no orphan is left */
};

struct keeper {
    const struct hold_hooks *hooks;
    struct running *first;
    int signals;
    struct error warning; /* a warning for the next command */
    struct error trouble; /* the sandbox is broken: no further command */
};

/* ---- processes ---- */

static bool is_holder(const struct keeper *k, pid_t pid)
{
    for (const struct running *r = k->first; r; r = r->next)
        if (r->pid == pid && !r->is_over)
            return true;
    return false;
}

/* Kills orphans that were reparented to the keeper; true if there was one. */
static bool kill_orphans(const struct keeper *k)
{
    AUTO(pids) struct pids children = PIDS_INIT;
    bool found = false;
    tree_children(getpid(), &children);
    for (size_t i = 0; i < children.n; i++) {
        if (is_holder(k, children.p[i]))
            continue;
        found = true;
        tree_signal(children.p[i], SIGKILL);
        kill(children.p[i], SIGKILL);
    }
    return found;
}

/* ERR_EXISTS is only a warning, which the next command prints. */
static void take_warning(struct keeper *k)
{
    if (k->trouble.code != ERR_EXISTS)
        return;
    k->warning = k->trouble;
    k->trouble = ERROR_INIT;
}

static void check_sandbox(struct keeper *k)
{
    if (k->hooks->check && !k->trouble.code && !k->hooks->check(&k->trouble))
        take_warning(k);
}

static void forget(struct keeper *k, struct running **link)
{
    struct running *r = *link;
    *link = r->next;
    check_sandbox(k);
    close(r->line);
    free(r);
}

static void note_end(struct keeper *k, pid_t pid, int status)
{
    for (struct running **link = &k->first; *link; link = &(*link)->next) {
        if ((*link)->pid != pid)
            continue;
        if (status == 0)
            forget(k, link);
        else
            (*link)->is_over = true;
        return;
    }
}

static bool has_killed_holder(const struct keeper *k)
{
    for (const struct running *r = k->first; r; r = r->next)
        if (r->is_over)
            return true;
    return false;
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

/* After a holder was killed: closes its line when all its processes are gone. */
static void sweep(struct keeper *k)
{
    if (!has_killed_holder(k) || kill_orphans(k))
        return;
    for (struct running **link = &k->first; *link;) {
        if ((*link)->is_over)
            forget(k, link);
        else
            link = &(*link)->next;
    }
}

static _Noreturn void end_all(struct keeper *k)
{
    while (reap(k)) {
        tree_signal(getpid(), SIGKILL);
        usleep(KILL_AGAIN_MS * 1000 / 5);
    }
    check_sandbox(k);
    _exit(0);
}

/* ---- jobs ---- */

static void refuse(struct job *j, const char *why)
{
    if (j->fds[JOB_ERR] >= 0)
        dprintf(j->fds[JOB_ERR], "trivet: %s\n", why);
    job_note(j->fds[JOB_STATUS], NOTE_ENDED, 127 << 8);
    job_close(j);
}

static void start(struct keeper *k, struct job *j)
{
    if (k->first) /* an ending command may have changed something */
        check_sandbox(k);
    if (!k->trouble.code && k->hooks->refresh)
        k->hooks->refresh(!k->first, &k->trouble);
    if (k->trouble.code) {
        refuse(j, k->trouble.text);
        return;
    }
    if (k->warning.code && j->fds[JOB_ERR] >= 0)
        dprintf(j->fds[JOB_ERR], "trivet: %s\n", k->warning.text);
    k->warning = ERROR_INIT;
    pid_t pid = fork();
    if (pid == 0) {
        for (struct running *r = k->first; r; r = r->next)
            close(r->line); /* the holder must not keep lines of other commands open */
        hold_command(j, k->hooks);
    }
    if (pid < 0) {
        refuse(j, strerror(errno));
        return;
    }
    struct running *r = xnew(struct running);
    r->pid = pid;
    r->line = j->fds[JOB_LINE];
    r->next = k->first;
    k->first = r;
    j->fds[JOB_LINE] = -1;
    job_close(j);
}

static _Noreturn void keep(const struct hold_hooks *hooks, const struct error *trouble)
{
    struct keeper k = {.hooks = hooks, .trouble = *trouble, .signals = hold_signals()};
    take_warning(&k);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)!chdir("/"); /* so that no file system is kept busy; may fail */
    for (;;) {
        struct pollfd fds[] = {{.fd = LINE_FD, .events = POLLIN},
                               {.fd = k.signals, .events = POLLIN}};
        struct signalfd_siginfo seen;
        struct job j;
        bool is_end = false;
        int n = poll(fds, 2, has_killed_holder(&k) ? KILL_AGAIN_MS : -1);
        while (read(k.signals, &seen, sizeof seen) > 0)
            ;
        reap(&k);
        sweep(&k);
        if (n > 0 && fds[0].revents && job_take(LINE_FD, &j, &is_end))
            start(&k, &j);
        if (is_end)
            end_all(&k);
    }
}

bool hold_offer(int fd)
{
    return job_send_fd(LINE_FD, fd);
}

/* ---- the program ---- */

static void close_above(int last)
{
    if (syscall(SYS_close_range, last + 1, ~0U, 0) == 0)
        return;
    for (long fd = sysconf(_SC_OPEN_MAX); fd > last; fd--) /* Linux before 5.9 */
        close((int)fd);
}

/* Occupies the fixed descriptor numbers of a job, see hold.c. */
static void take_places(void)
{
    int fd;
    close_above(LINE_FD);
    while ((fd = fcntl(0, F_DUPFD_CLOEXEC, LINE_FD + 1)) >= 0 && fd < FIRST_FREE_FD - 1)
        ;
    fcntl(LINE_FD, F_SETFD, FD_CLOEXEC);
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
    take_places();
    sigset_t every;
    sigfillset(&every);
    sigprocmask(SIG_SETMASK, &every, NULL);
    if (argc == 2 && strcmp(argv[1], "probe") == 0)
        probe(hooks);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!hooks->enter)
        keep(hooks, &trouble);
    pid_t outer = getpid(), keeper = hooks->enter(argc - 1, argv + 1, &trouble);
    if (keeper == 0 && getpid() != outer)
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* no process would clean up after it */
    if (keeper == 0)
        keep(hooks, &trouble);
    close(LINE_FD);
    wait_for_all();
    if (hooks->release)
        hooks->release();
    _exit(0);
}
