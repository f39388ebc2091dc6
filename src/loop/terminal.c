/* SPDX-License-Identifier: MIT */
#include "loop/terminal.h"

#include "loop/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool terminal_resize(int master, int cols, int rows, struct error *err)
{
    struct winsize size = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};
    return ioctl(master, TIOCSWINSZ, &size) == 0 ||
           error_errno(err, errno, "cannot set the size of a terminal");
}

static bool slave_open(int master, int *ret_slave, struct error *err)
{
    char name[100];
    if (grantpt(master) != 0 || unlockpt(master) != 0 || ptsname_r(master, name, sizeof name) != 0)
        return error_errno(err, errno, "cannot set up a terminal");
    *ret_slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return *ret_slave >= 0 || error_errno(err, errno, "cannot open %s", name);
}

bool terminal_open(int cols, int rows, int *ret_master, int *ret_slave, struct error *err)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0)
        return error_errno(err, errno, "cannot make a terminal");
    if (terminal_resize(master, cols, rows, err) && slave_open(master, ret_slave, err)) {
        *ret_master = master;
        return true;
    }
    close(master);
    return false;
}

/* ---- programs that get our terminal ---- */

struct front {
    pid_t pid;
    int pidfd;
    struct watch *watch;
    struct timer *timer; /* looks now and then where there is no pidfd */
    loop_fn *done;
    void *arg;
};

enum { LOOK_MS = 50 };

static void on_look(void *arg)
{
    struct front *f = arg;
    if (waitpid(f->pid, NULL, WNOHANG) == 0) {
        if (f->timer)
            timer_start(f->timer, LOOK_MS);
        return;
    }
    if (f->watch)
        watch_free(f->watch);
    if (f->timer)
        timer_free(f->timer);
    if (f->pidfd >= 0)
        close(f->pidfd);
    loop_fn *done = f->done;
    void *done_arg = f->arg;
    free(f);
    done(done_arg);
}

static void on_front_end(void *arg, int events)
{
    (void)events;
    on_look(arg);
}

static int spawn_front(const char *const *argv, int in, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    posix_spawnattr_init(&attr);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    process_spawn_begin();
    int code = posix_spawnp(ret_pid, argv[0], &actions, &attr, (char *const *)argv, environ);
    process_spawn_end();
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

bool terminal_run(struct loop *l, const struct terminal_program *p, struct error *err)
{
    pid_t pid;
    struct error ignored;
    int code = spawn_front(p->argv, p->in, p->out, &pid);
    if (code != 0)
        return error_errno(err, code, "cannot start %s", p->argv[0]);
    struct front *f = xnew(struct front);
    *f = (struct front){.pid = pid, .done = p->done, .arg = p->arg};
    f->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    f->watch = f->pidfd >= 0 ? watch_new(l, f->pidfd, on_front_end, f, &ignored) : NULL;
    if (f->watch) {
        watch_set(f->watch, WATCH_IN);
    } else {
        f->timer = timer_new(l, on_look, f);
        timer_start(f->timer, LOOK_MS);
    }
    return true;
}
