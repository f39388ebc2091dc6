/* SPDX-License-Identifier: MIT */
/* The engine's side of rooms.
 *
 *     room    started by its first command; started again when its process has ended
 *     holder  gone at end of file on its line: the keeper closes it last (keeper.c)
 *
 * A line is the control socket of a room or holder.  The engine is a subreaper too, so orphans of a
 * killed room become its children.  After a room was killed, every child that is not a running room
 * is such an orphan: it is killed with its descendants and reaped, until there is none.  Children
 * of the program that trivet is a part of are spared: they are in its session, which no process of
 * a room is, or older than the first room.  No fork() here: posix_spawn does not copy the page
 * tables of a large process.
 */
#include "loop/room.h"

#include "base/buf.h"
#include "base/install.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "loop/internal.h"
#include "loop/process.h"
#include "loop/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    KILL_WAIT_MS = 1000,  /* beyond the grace; then the engine kills the room */
    SWEEP_MS = 5,         /* between two searches for orphans */
    SWEEP_SLOW_MS = 1000, /* for orphans that cannot be killed */
    SWEEP_LIMIT_MS = 5000,
    LINE_TARGET = 3, /* the descriptor in the room */
    LIFT_FD = 10,    /* descriptors to hand over lie above the targets */
    PROBE_MS = 2000,
    MAX_ARGUMENT = 128 << 10, /* MAX_ARG_STRLEN of the kernel */
};

struct rooms { /* all rooms of a loop */
    struct loop *l;
    struct room *first;
    struct room *plain; /* the room without sandbox; NULL before the first command */
    struct timer *sweep;
    int64_t sweep_since_us;
    bool has_orphans;       /* a room was killed, and what it left may still be there */
    unsigned long long age; /* when the first room was started (started_at); 0: none was */
};

struct room {
    struct rooms *all;
    struct room *next, **link;
    char **args;
    pid_t pid;           /* 0: not started, or over */
    int line;            /* -1 when closed */
    struct watch *watch; /* of the line, for descriptors it sends */
    room_offer_fn *on_offer;
    void *offer_arg;
    struct holder *holders;
    char *finding;  /* the last that was reported */
    bool is_closed; /* not used again; freed when its process has ended */
    bool is_destroyed;
};

struct holder {
    struct room *room;
    struct holder *next, **link;
    int line; /* -1 when gone */
    struct watch *watch;
    struct timer *kill_timer; /* running after a term or kill */
    int64_t grace_ms;
    bool is_asked;
    holder_fn *fn; /* NULL: detached */
    void *arg;
};

/* --- the end of a holder --- */

static void holder_free(struct holder *h)
{
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    watch_free(h->watch);
    timer_free(h->kill_timer);
    close(h->line);
    free(h);
}

static void room_drop(struct room *r);

static void holder_end(struct holder *h)
{
    struct room *r = h->room;
    holder_fn *fn = h->fn;
    void *arg = h->arg;
    holder_free(h);
    if (r->is_closed && !r->pid && !r->holders)
        room_drop(r);
    if (fn)
        fn(arg, NULL);
}

/* A finding can come twice: at the end of the command, and of the last of its processes. */
static void report_finding(struct room *r, const char *text)
{
    if (r->finding && strcmp(r->finding, text) == 0)
        return;
    free(r->finding);
    r->finding = xstrdup(text);
    log_warn("%s", text);
}

static void on_line(void *arg, int events)
{
    struct holder *h = arg;
    struct command_note note;
    (void)events;
    int got = command_take_note(h->line, &note);
    if (got > 0 && note.kind == NOTE_FINDING)
        report_finding(h->room, note.text);
    if (got > 0 && h->fn)
        h->fn(h->arg, &note);
    else if (got == 0)
        holder_end(h);
}

/* What processes that ran to the end of the session have changed. */
static void take_findings(struct room *r)
{
    struct command_note note;
    for (struct holder *h = r->holders; h; h = h->next)
        while (command_take_note(h->line, &note) > 0)
            if (note.kind == NOTE_FINDING)
                report_finding(r, note.text);
}

/* --- orphans --- */

static bool is_room(const struct rooms *all, pid_t pid)
{
    for (const struct room *r = all->first; r; r = r->next)
        if (r->pid == pid)
            return true;
    return false;
}

/* In ticks since the machine has started; 0: not known. */
static unsigned long long started_at(pid_t pid)
{
    char path[40], text[1024];
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *end = tree_read(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    for (int i = 2; end && i < 22; i++)
        end = strchr(end + 1, ' ');
    return end && sscanf(end, " %llu", &ticks) == 1 ? ticks : 0;
}

static bool is_foreign(const struct rooms *all, pid_t pid)
{
    return getsid(pid) == getsid(0) || started_at(pid) < all->age;
}

/* Kills and waits for every orphan; true if there was one. */
static bool orphans_kill(struct rooms *all)
{
    AUTO(pids) struct pids children = PIDS_INIT;
    bool found = false;
    if (!all->has_orphans)
        return false;
    tree_children(getpid(), NULL, &children);
    for (size_t i = 0; i < children.n; i++) {
        pid_t pid = children.p[i];
        if (is_room(all, pid) || is_foreign(all, pid))
            continue;
        found = true;
        tree_signal(pid, SIGKILL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, WNOHANG | __WALL);
    }
    all->has_orphans = found;
    return found;
}

static void on_sweep(void *arg)
{
    struct rooms *all = arg;
    if (!orphans_kill(all))
        return;
    bool is_late = time_mono_us() - all->sweep_since_us > SWEEP_LIMIT_MS * 1000;
    if (is_late)
        log_warn("processes of a command cannot be killed");
    timer_start(all->sweep, is_late ? SWEEP_SLOW_MS : SWEEP_MS);
}

/* --- the end of a room --- */

static void texts_free(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

static void room_drop(struct room *r)
{
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    texts_free(r->args);
    free(r->finding);
    free(r);
}

static void close_line(struct room *r)
{
    watch_free(take(&r->watch));
    if (r->line >= 0)
        close(r->line);
    r->line = -1;
}

/* Waits for the process if it has ended. */
static bool room_reap(struct room *r)
{
    int status = 0;
    pid_t pid = waitpid(r->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return false;
    r->pid = 0;
    close_line(r);
    if (pid < 0 || status != 0) { /* it was killed */
        r->all->has_orphans = true;
        r->all->sweep_since_us = time_mono_us();
        timer_start(r->all->sweep, 0);
    }
    return true;
}

static void on_sigchld(void *arg)
{
    struct rooms *all = arg;
    for (struct room *r = all->first, *next; r; r = next) {
        next = r->next;
        if (r->pid && room_reap(r) && r->is_closed && !r->holders)
            room_drop(r);
    }
}

/* The room does not respond (it may be busy or stopped): the engine kills its tree.  The outer
 * process of a sandbox then cleans up; it is killed as well if that does not help. */
static void room_destroy(struct room *r)
{
    bool has_outer = r->args[1];
    if (!r->pid)
        return;
    r->all->has_orphans = true;
    tree_signal(r->pid, SIGKILL);
    if (!has_outer || r->is_destroyed)
        kill(r->pid, SIGKILL); /* processes missed here become orphans of the engine */
    r->is_destroyed = true;
}

void room_free(struct room *r)
{
    if (!r)
        return;
    close_line(r);
    for (struct holder *h = r->holders; h; h = h->next)
        holder_kill(h);
    r->is_closed = true;
    if (!r->pid && !r->holders)
        room_drop(r);
}

static bool has_children(pid_t pid)
{
    AUTO(pids) struct pids below = PIDS_INIT;
    tree_children(pid, NULL, &below);
    return below.n > 0;
}

/* Waits until the room has cleaned up, with a timeout; a room with many files to remove goes on
 * after trivet has ended. */
static void room_end_now(struct room *r)
{
    close_line(r);
    for (int i = 0; r->pid && !room_reap(r); i++) {
        if (i && i % (KILL_WAIT_MS / SWEEP_MS) == 0 && has_children(r->pid))
            room_destroy(r);
        if (i == 2 * KILL_WAIT_MS / SWEEP_MS)
            break;
        usleep(i < SWEEP_MS ? 1000 : SWEEP_MS * 1000);
    }
}

/* Frees holders that are not watched any more, or all. */
static void holders_free(struct room *r, bool all)
{
    for (struct holder *h = r->holders, *next; h; h = next) {
        next = h->next;
        if (all || !h->fn)
            holder_free(h);
    }
}

/* --- the end of the process --- */

void child_end_all(struct loop *l)
{
    struct rooms *all = l->children;
    if (!all)
        return;
    for (struct room *r = all->first; r; r = r->next)
        close_line(r); /* close all first, so that they end in parallel */
    for (struct room *r = all->first; r; r = r->next) {
        room_end_now(r);
        take_findings(r);
        holders_free(r, false);
    }
    for (int i = 0; orphans_kill(all) && i < KILL_WAIT_MS / SWEEP_MS; i++)
        usleep(SWEEP_MS * 1000);
}

static void rooms_free(void *arg)
{
    struct rooms *all = arg;
    child_end_all(all->l);
    while (all->first) {
        holders_free(all->first, true);
        room_drop(all->first);
    }
    timer_free(all->sweep);
    free(all);
}

/* --- starting a room --- */

/* trivet may have been started with SIGCHLD ignored; then the kernel discards exit statuses. */
static void unignore_sigchld(void)
{
    struct sigaction now;
    if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
}

static struct rooms *rooms_of(struct loop *l)
{
    if (l->children)
        return l->children;
    struct rooms *all = xnew(struct rooms);
    all->l = l;
    all->sweep = timer_new(l, on_sweep, all);
    timer_unref(all->sweep);
    l->children = all;
    l->children_free = rooms_free;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    unignore_sigchld();
    signal(SIGPIPE, SIG_IGN); /* writing to a command that closed its input must not end trivet */
    loop_on_signal(l, SIGCHLD, on_sigchld, all);
    return all;
}

static char **texts_copy(const char *const *texts)
{
    size_t n = 0;
    while (texts && texts[n])
        n++;
    char **copy = xcalloc(n + 2, sizeof *copy);
    copy[0] = xstrdup("hold");
    for (size_t i = 0; i < n; i++)
        copy[i + 1] = xstrdup(texts[i]);
    return copy;
}

struct room *room_new(struct loop *l, const char *const *args)
{
    struct room *r = xnew(struct room);
    r->all = rooms_of(l);
    r->line = -1;
    r->args = texts_copy(args);
    r->next = r->all->first;
    r->link = &r->all->first;
    if (r->next)
        r->next->link = &r->next;
    r->all->first = r;
    return r;
}

/* Opens trivet-hold; -1: not installed. */
static int open_small(void)
{
    AUTO(buf) struct buf path = BUF_INIT;
    if (!str_is(path_base(str_of(path_program())), "trivet")) /* a test, which has the holder */
        return -1;
    if (!install_find(INSTALL_HELPER, "trivet-hold", &path, NULL))
        return -1;
    int fd = open(path.p, O_PATH | O_CLOEXEC);
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LIFT_FD);
}

/* trivet-hold if installed, else this program.  It is opened once, before any command has run, and
 * started through the descriptor, so that no command can replace it. */
static const char *room_program(void)
{
    static char path[40];
    static bool is_known;
    int fd;
    if (!is_known && (fd = open_small()) >= 0)
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    is_known = true;
    return path[0] ? path : "/proc/self/exe";
}

/* With an empty environment: variables of a command must not affect the room. */
static int spawn(pid_t *ret_pid, char **argv, int line)
{
    static char *const nothing[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t every;
    sigfillset(&every);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, line, LINE_TARGET);
    posix_spawnattr_setsigmask(&attr, &every);
    posix_spawnattr_setsigdefault(&attr, &every);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    process_spawn_begin();
    int rc = posix_spawn(ret_pid, room_program(), &actions, &attr, argv, nothing);
    if (rc == ENOENT) /* no /proc */
        rc = posix_spawn(ret_pid, path_program(), &actions, &attr, argv, nothing);
    process_spawn_end();
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

int room_probe(void)
{
    char *argv[] = {"hold", "probe", NULL};
    int line[2], far;
    pid_t pid = 0;
    signed char found = -1;
    if (pipe2(line, O_CLOEXEC) != 0)
        return -1;
    far = fcntl(line[1], F_DUPFD_CLOEXEC, LIFT_FD);
    close(line[1]);
    bool is_started = far >= 0 && spawn(&pid, argv, far) == 0;
    if (far >= 0)
        close(far);
    struct pollfd answer = {.fd = line[0], .events = POLLIN};
    if (is_started && (poll(&answer, 1, PROBE_MS) <= 0 || read(line[0], &found, 1) != 1))
        found = -1;
    close(line[0]);
    if (is_started && found < 0)
        kill(pid, SIGKILL);
    while (is_started && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return found;
}

static void on_offer(void *arg, int events)
{
    struct room *r = arg;
    (void)events;
    int fd = command_take_fd(r->line);
    watch_free(take(&r->watch)); /* there is one at most */
    if (fd >= 0)
        r->on_offer(r->offer_arg, fd);
}

static bool room_start(struct room *r, struct error *err)
{
    int pair[2], far = -1;
    if (r->line >= 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_errno(err, errno, "cannot make a control socket for a room");
    if ((far = fcntl(pair[1], F_DUPFD_CLOEXEC, LIFT_FD)) < 0) {
        close(pair[0]);
        close(pair[1]);
        return error_errno(err, errno, "cannot make a control socket for a room");
    }
    close(pair[1]);
    int rc = spawn(&r->pid, r->args, far);
    close(far);
    if (rc != 0) {
        close(pair[0]);
        r->pid = 0;
        return error_errno(err, rc, "cannot start a room for commands");
    }
    r->line = pair[0];
    r->is_destroyed = false;
    if (!r->all->age)
        r->all->age = started_at(r->pid);
    if (r->on_offer && (r->watch = watch_new(r->all->l, r->line, on_offer, r, err))) {
        watch_set(r->watch, WATCH_IN);
        watch_unref(r->watch);
    }
    return true;
}

void room_on_offer(struct room *r, room_offer_fn *fn, void *arg)
{
    r->on_offer = fn;
    r->offer_arg = arg;
}

/* Detaches the ending process from r; another struct room waits for its end. */
static void room_abandon(struct room *r)
{
    close_line(r);
    if (!r->pid || room_reap(r))
        return;
    struct room *old = room_new(r->all->l, NULL);
    old->pid = r->pid;
    old->is_closed = true;
    r->pid = 0;
}

/* --- commands in a room --- */

static void on_kill_timeout(void *arg)
{
    struct holder *h = arg;
    room_destroy(h->room); /* kills all its commands; the next command starts a new room */
    timer_start(h->kill_timer, KILL_WAIT_MS);
}

void holder_term(struct holder *h)
{
    if (h->is_asked)
        return;
    h->is_asked = true;
    if (send(h->line, "t", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
        log_debug("a holder ended before it was signaled");
    timer_start(h->kill_timer, h->grace_ms + KILL_WAIT_MS);
}

void holder_ask(struct holder *h)
{
    if (send(h->line, "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
        log_debug("a holder ended before it was signaled");
}

void holder_kill(struct holder *h)
{
    shutdown(h->line, SHUT_WR);
    timer_start(h->kill_timer, KILL_WAIT_MS);
}

void holder_leave(struct holder *h)
{
    h->fn = NULL;
    if (h->watch)
        watch_unref(h->watch);
    timer_unref(h->kill_timer);
}

static bool send_command(struct room *r, const struct child_options *o,
                         const int fds[COMMAND_N_FDS], int line, struct error *err)
{
    struct command c = COMMAND_INIT;
    for (const char *const *arg = o->argv; *arg; arg++)
        if (strlen(*arg) >= MAX_ARGUMENT)
            return error_errno(err, E2BIG, "cannot start %s", o->argv[0]);
    c.grace_ms = o->grace_ms;
    c.has_terminal = o->has_terminal;
    c.purpose = o->purpose;
    c.cwd = o->cwd ? o->cwd : "";
    c.argv = (char **)o->argv;
    c.env = o->env ? (char **)o->env : environ;
    memcpy(c.fds, fds, sizeof c.fds);
    c.fds[COMMAND_LINE] = line;
    if (room_start(r, err) && command_send(r->line, &c, err))
        return true;
    if (r->line < 0 || (err->status != EPIPE && err->status != ECONNRESET))
        return false;
    room_abandon(r); /* the room was killed meanwhile */
    return room_start(r, err) && command_send(r->line, &c, err);
}

static bool holder_open(struct holder *h, const struct child_options *o,
                        const int fds[COMMAND_N_FDS], struct error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_errno(err, errno, "cannot make a control socket for a holder");
    h->line = pair[0];
    h->watch = watch_new(h->room->all->l, h->line, on_line, h, err);
    bool ok = h->watch && send_command(h->room, o, fds, pair[1], err);
    close(pair[1]);
    if (ok)
        watch_set(h->watch, WATCH_IN);
    return ok;
}

struct holder *holder_start(struct loop *l, const struct child_options *o,
                            const int fds[COMMAND_N_FDS], holder_fn *fn, void *arg,
                            struct error *err)
{
    struct rooms *all = rooms_of(l);
    struct holder *h = xnew(struct holder);
    if (!o->room && !all->plain)
        all->plain = room_new(l, NULL);
    h->room = o->room ? o->room : all->plain;
    h->line = -1;
    h->grace_ms = o->grace_ms;
    h->fn = fn;
    h->arg = arg;
    h->kill_timer = timer_new(l, on_kill_timeout, h);
    h->next = h->room->holders;
    h->link = &h->room->holders;
    if (h->next)
        h->next->link = &h->next;
    h->room->holders = h;
    if (holder_open(h, o, fds, err))
        return h;
    holder_free(h);
    return NULL;
}
