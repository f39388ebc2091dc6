/* SPDX-License-Identifier: MIT */
/* Holders as the engine sees them.
 *
 *     running --- exits with 0 ---------------------------------------> gone: told, freed
 *        |                                                               ^
 *        '--- killed, or did not obey and was killed by us --- strays ---'
 *
 * The engine is a subreaper too, so what a dead holder leaves falls to us.  Every child of ours
 * that is no living holder is such a stray: it is killed with all below it and waited for, until
 * there is none.  No fork() here: posix_spawn does not copy a large process.
 */
#include "loop/holder.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "loop/internal.h"
#include "loop/spare.h"
#include "loop/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

extern char **environ;

enum {
    PREPARE_MS = 1,        /* after a command; then a spare is made for the next */
    OBEY_MS = 1000,        /* beyond the grace; then we kill ourselves */
    SWEEP_MS = 5,          /* between two looks for strays */
    SWEEP_SLOW_MS = 1000,  /* for strays that cannot be killed */
    SWEEP_LIMIT_MS = 5000, /* after it nobody waits for them any more */
    LINE_TARGET = 4,       /* the descriptor in the holder */
    STATUS_TARGET = 5,
    LIFT_FD = 10, /* descriptors to hand over lie above the targets */
};

struct children { /* all holders of a loop */
    struct loop *l;
    struct holder *first;
    struct spare spare;
    char **further; /* of the last command, NULL-ended: what the next one will bring, most likely */
    struct timer *prepare; /* of a spare */
    struct timer *sweep;
    int64_t sweep_since_us; /* 0: no sweep is under way */
    bool has_sigchld;       /* listens to SIGCHLD: there are no pidfds here */
};

struct holder {
    struct children *all;
    struct holder *next, **link;
    pid_t pid;
    int pidfd; /* -1 where there are none */
    int line; /* -1 when closed */
    struct watch *watch;
    struct timer *obey; /* running after a term or kill */
    int64_t grace_ms;
    bool is_asked;
    bool is_over; /* the process ended and was waited for; strays may be left */
    loop_fn *on_gone;
    void *arg;
};

/* --- going --- */

/* Takes it off the list and frees it. */
static void holder_free(struct holder *h)
{
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    watch_free(h->watch);
    timer_free(h->obey);
    if (h->line >= 0)
        close(h->line);
    if (h->pidfd >= 0)
        close(h->pidfd);
    free(h);
}

static void tell_gone(struct holder *h)
{
    loop_fn *fn = h->on_gone;
    void *arg = h->arg;
    timer_start(h->all->prepare, PREPARE_MS);
    holder_free(h);
    if (fn)
        fn(arg);
}

static struct holder *find_over(struct children *all)
{
    struct holder *h = all->first;
    while (h && !h->is_over)
        h = h->next;
    return h;
}

static bool is_holder(const struct children *all, pid_t pid)
{
    for (const struct holder *h = all->first; h; h = h->next)
        if (h->pid == pid && !h->is_over)
            return true;
    return pid == all->spare.pid;
}

/* Kills and waits for every child that is no holder; true if there was one. */
static bool strays_kill(struct children *all)
{
    AUTO(pids) struct pids ours = PIDS_INIT;
    bool found = false;
    tree_children(getpid(), &ours);
    for (size_t i = 0; i < ours.n; i++) {
        pid_t pid = ours.p[i];
        if (is_holder(all, pid))
            continue;
        found = true;
        tree_signal(pid, SIGKILL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, WNOHANG | __WALL);
    }
    return found;
}

static void on_sweep(void *arg)
{
    struct children *all = arg;
    bool found = strays_kill(all);
    bool is_late = time_mono_us() - all->sweep_since_us > SWEEP_LIMIT_MS * 1000;
    if (found)
        timer_start(all->sweep, is_late ? SWEEP_SLOW_MS : SWEEP_MS);
    else
        all->sweep_since_us = 0;
    if (found && !is_late)
        return;
    struct holder *h;
    while ((h = find_over(all))) {
        if (found)
            log_warn("processes of a command cannot be ended");
        tell_gone(h);
    }
}

static void sweep_start(struct children *all)
{
    all->sweep_since_us = time_mono_us();
    timer_start(all->sweep, SWEEP_MS);
}

/* Waits for the process if it has ended; *ret_clean tells whether nobody is left below it. */
static bool holder_reap(struct holder *h, int flags, bool *ret_clean)
{
    int status = 0;
    pid_t pid;
    do
        pid = waitpid(h->pid, &status, flags);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return false;
    h->is_over = true;
    *ret_clean = pid == h->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return true;
}

/* True if it has ended now; it may be freed then. */
static bool holder_check(struct holder *h)
{
    bool is_clean;
    if (h->is_over || !holder_reap(h, WNOHANG, &is_clean))
        return false;
    watch_free(take(&h->watch));
    if (is_clean)
        tell_gone(h);
    else
        sweep_start(h->all);
    return true;
}

static void on_pidfd(void *arg, int events)
{
    (void)events;
    holder_check(arg);
}

static void on_sigchld(void *arg)
{
    struct children *all = arg;
    struct holder *h = all->first;
    while (h)
        h = holder_check(h) ? all->first : h->next; /* the list may be another one now */
}

/* The holder does not do its work (it may be stopped): ours to do. */
static void holder_destroy(struct holder *h)
{
    tree_signal(h->pid, SIGKILL);
    kill(h->pid, SIGKILL); /* what was missed falls to us as a stray */
}

static void on_obey(void *arg)
{
    struct holder *h = arg;
    if (h->is_over)
        return;
    holder_destroy(h);
    timer_start(h->obey, OBEY_MS); /* until it is seen to go */
}

void holder_term(struct holder *h)
{
    if (h->is_asked || h->line < 0)
        return;
    h->is_asked = true;
    if (write(h->line, "t", 1) != 1)
        log_debug("a holder has gone before it was asked");
    timer_start(h->obey, h->grace_ms + OBEY_MS);
}

void holder_ask(struct holder *h)
{
    if (h->line >= 0 && write(h->line, "a", 1) != 1)
        log_debug("a holder has gone before it was asked");
}

void holder_kill(struct holder *h)
{
    if (h->line < 0)
        return;
    close(h->line);
    h->line = -1;
    timer_start(h->obey, OBEY_MS);
}

void holder_leave(struct holder *h)
{
    h->on_gone = NULL;
    if (h->watch)
        watch_unref(h->watch);
    timer_unref(h->obey);
}

/* --- the end of the process --- */

static void strays_end_now(struct children *all)
{
    for (int i = 0; strays_kill(all) && i < OBEY_MS / SWEEP_MS; i++)
        usleep(SWEEP_MS * 1000);
}

static void holder_end_now(struct holder *h)
{
    bool is_clean = false;
    if (h->line >= 0)
        close(h->line);
    h->line = -1;
    struct pollfd p = {.fd = h->pidfd, .events = POLLIN};
    for (int i = 0; !h->is_over && !holder_reap(h, WNOHANG, &is_clean); i++) {
        if (i >= OBEY_MS / SWEEP_MS)
            holder_destroy(h);
        poll(&p, 1, SWEEP_MS);
    }
    if (!is_clean)
        strays_end_now(h->all);
    holder_free(h);
}

void child_end_all(struct loop *l)
{
    struct children *all = l->children;
    struct holder *next;
    if (all && !spare_end(&all->spare))
        strays_end_now(all);
    for (struct holder *h = all ? all->first : NULL; h; h = next) { /* all at the same time */
        next = h->next;
        holder_kill(h);
    }
    for (struct holder *h = all ? all->first : NULL; h; h = next) {
        next = h->next;
        if (!h->on_gone)
            holder_end_now(h);
    }
}

static void texts_free(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

static void children_free(void *arg)
{
    struct children *all = arg;
    for (struct holder *h = all->first; h; h = h->next)
        h->on_gone = NULL;
    child_end_all(all->l);
    timer_free(all->prepare);
    timer_free(all->sweep);
    texts_free(all->further);
    free(all);
}

/* --- starting --- */

/* We may have been started with it ignored; then the kernel throws exit statuses away. */
static void unignore_sigchld(void)
{
    struct sigaction now;
    if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
}

static const char *holder_program(void);

static void on_prepare(void *arg)
{
    struct children *all = arg;
    const char *program = holder_program();
    if (program != path_program()) /* only the small one is worth keeping */
        spare_start(&all->spare, program, all->further);
}

static struct children *children_of(struct loop *l)
{
    if (l->children)
        return l->children;
    struct children *all = xnew(struct children);
    all->l = l;
    all->sweep = timer_new(l, on_sweep, all);
    all->prepare = timer_new(l, on_prepare, all);
    timer_unref(all->prepare); /* nobody waits for it */
    l->children = all;
    l->children_free = children_free;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    unignore_sigchld();
    signal(SIGPIPE, SIG_IGN); /* a command need not read what we write */
    return all;
}

struct argv { /* being built; the strings are borrowed */
    const char **p;
    size_t n;
};

static void argv_clear(struct argv *a)
{
    free(a->p);
}

static void argv_add(struct argv *a, const char *text)
{
    a->p = xrealloc(a->p, (a->n + 2) * sizeof *a->p);
    a->p[a->n++] = text;
    a->p[a->n] = NULL;
}

static void argv_add_all(struct argv *a, const char *const *texts)
{
    for (; texts && *texts; texts++)
        argv_add(a, *texts);
}

static size_t count(const char *const *texts)
{
    size_t n = 0;
    while (texts && texts[n])
        n++;
    return n;
}

static void add_dup(posix_spawn_file_actions_t *actions, int fd, int target)
{
    if (fd >= 0)
        posix_spawn_file_actions_adddup2(actions, fd, target);
}

/* Opens trivet-hold beside the program or where modules lie; -1: it is not there. */
static int open_small(void)
{
    static const char *const places[] = {"/trivet-hold", "/../lib/trivet/trivet-hold"};
    struct str program = str_of(path_program());
    int fd = -1;
    if (!str_is(path_base(program), "trivet")) /* a test, which is its own holder */
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(places) && fd < 0; i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        buf_addf(&path, "%.*s%s", STR_FMT(path_dir(program)), places[i]);
        fd = open(path.p, O_PATH | O_CLOEXEC);
    }
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LIFT_FD);
}

/* The small program when there is one, else this one.  It is opened once, before any command has
 * run, and started through the descriptor: no command can put another in its place. */
static const char *holder_program(void)
{
    static char path[40];
    static bool is_known;
    int fd;
    if (!is_known && (fd = open_small()) >= 0)
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    is_known = true;
    return path[0] ? path : path_program();
}

static int spawn_program(pid_t *ret_pid, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attr, const struct argv *a,
                         const char *const *env)
{
    char **argv = (char **)a->p, **envp = env ? (char **)env : environ;
    int rc = posix_spawn(ret_pid, holder_program(), actions, attr, argv, envp);
    if (rc == ENOENT) /* replaced by a newer one while we run, or no /proc */
        rc = posix_spawn(ret_pid, path_program(), actions, attr, argv, envp);
    if (rc == ENOENT)
        rc = posix_spawn(ret_pid, "/proc/self/exe", actions, attr, argv, envp);
    return rc;
}

static void remember(struct children *all, const char *const *further)
{
    size_t n = count(further), i = 0;
    while (i < n && all->further && all->further[i] && strcmp(all->further[i], further[i]) == 0)
        i++;
    if (i == n && (!all->further || !all->further[n]))
        return;
    texts_free(all->further);
    all->further = xcalloc(n + 1, sizeof *all->further);
    for (i = 0; i < n; i++)
        all->further[i] = str_dup(str_of(further[i]));
}

/* What the holder is told, see hold.c; the numbers lie in `room`. */
struct numbers {
    char grace[30], n_further[30];
};

static void put_arguments(struct argv *a, const struct child_options *o, bool has_extra,
                          struct numbers *room)
{
    snprintf(room->grace, sizeof room->grace, "%lld", (long long)o->grace_ms);
    snprintf(room->n_further, sizeof room->n_further, "%zu", count(o->hold_argv));
    argv_add(a, "hold");
    argv_add(a, room->grace);
    argv_add(a, has_extra ? "1" : "0");
    argv_add(a, o->has_terminal ? "1" : "0");
    argv_add(a, o->cwd ? o->cwd : "");
    argv_add(a, room->n_further);
    argv_add_all(a, o->hold_argv);
    argv_add_all(a, o->argv);
}

/* fds are above LIFT_FD.  Signals are blocked from the start, see hold.c. */
static int spawn(pid_t *ret_pid, const struct argv *a, const char *const *env,
                 const int fds[HOLD_N_FDS], int line)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t every;
    sigfillset(&every);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    add_dup(&actions, fds[HOLD_IN], 0);
    add_dup(&actions, fds[HOLD_OUT], 1);
    add_dup(&actions, fds[HOLD_ERR], 2);
    add_dup(&actions, fds[HOLD_EXTRA], 3);
    add_dup(&actions, line, LINE_TARGET);
    add_dup(&actions, fds[HOLD_STATUS], STATUS_TARGET);
    posix_spawnattr_setsigmask(&attr, &every);
    posix_spawnattr_setsigdefault(&attr, &every);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETSID);
    int rc = spawn_program(ret_pid, &actions, &attr, a, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Copies the descriptors above all targets, so that no dup2 in the child hits a later source. */
static int spawn_lifted(pid_t *ret_pid, const struct argv *a, const char *const *env,
                        const int fds[HOLD_N_FDS], int line)
{
    int lifted[HOLD_N_FDS + 1], rc = 0;
    for (int i = 0; i <= HOLD_N_FDS; i++) {
        int fd = i < HOLD_N_FDS ? fds[i] : line;
        lifted[i] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LIFT_FD);
        if (fd >= 0 && lifted[i] < 0)
            rc = errno;
    }
    if (rc == 0)
        rc = spawn(ret_pid, a, env, lifted, lifted[HOLD_N_FDS]);
    for (int i = 0; i <= HOLD_N_FDS; i++)
        if (lifted[i] >= 0)
            close(lifted[i]);
    return rc;
}

static bool holder_watch(struct holder *h, struct error *err)
{
    struct children *all = h->all;
    h->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0); /* close-on-exec by itself */
    if (h->pidfd < 0 && errno != ENOSYS)
        return error_errno(err, errno, "cannot watch a process");
    if (h->pidfd < 0) { /* an old kernel, or valgrind */
        if (!all->has_sigchld)
            loop_on_signal(all->l, SIGCHLD, on_sigchld, all);
        all->has_sigchld = true;
        return true;
    }
    h->watch = watch_new(all->l, h->pidfd, on_pidfd, h, err);
    if (h->watch)
        watch_set(h->watch, WATCH_IN);
    return h->watch != NULL;
}

/* A new process with a line of its own. */
static bool spawn_fresh(struct holder *h, const struct argv *a, const char *const *env,
                        const int fds[HOLD_N_FDS], struct error *err)
{
    int line[2];
    if (pipe2(line, O_CLOEXEC) != 0)
        return error_errno(err, errno, "cannot make a pipe");
    h->line = line[1];
    int rc = spawn_lifted(&h->pid, a, env, fds, line[0]);
    close(line[0]);
    return rc == 0 || error_errno(err, rc, "cannot start %s", path_program());
}

static bool holder_spawn(struct holder *h, const struct child_options *o,
                         const int fds[HOLD_N_FDS], struct error *err)
{
    AUTO(argv) struct argv a = {0};
    struct numbers room;
    const char *const *env = o->env ? o->env : (const char *const *)environ;
    bool has_spare = h->all->spare.pid != 0;
    put_arguments(&a, o, fds[HOLD_EXTRA] >= 0, &room);
    remember(h->all, o->hold_argv);
    if (!spare_use(&h->all->spare, a.p, env, fds, &h->pid, &h->line)) {
        if (has_spare) /* it was killed and has left its own child to us */
            sweep_start(h->all);
        if (!spawn_fresh(h, &a, env, fds, err))
            return false;
    }
    if (holder_watch(h, err))
        return true;
    kill(h->pid, SIGKILL);
    waitpid(h->pid, NULL, 0);
    sweep_start(h->all);
    return false;
}

struct holder *holder_start(struct loop *l, const struct child_options *o,
                            const int fds[HOLD_N_FDS], loop_fn *on_gone, void *arg,
                            struct error *err)
{
    struct holder *h = xnew(struct holder);
    h->all = children_of(l);
    h->line = h->pidfd = -1;
    h->grace_ms = o->grace_ms;
    h->on_gone = on_gone;
    h->arg = arg;
    h->obey = timer_new(l, on_obey, h);
    h->next = h->all->first;
    h->link = &h->all->first;
    if (h->next)
        h->next->link = &h->next;
    h->all->first = h;
    if (!holder_spawn(h, o, fds, err)) {
        holder_free(h);
        return NULL;
    }
    return h;
}
