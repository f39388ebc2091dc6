/* SPDX-License-Identifier: MIT */
#include "terminal/tty.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static struct termios given; /* as the shell had it */
static int tty_fd = -1;
static volatile sig_atomic_t is_entered;
static int errors = -1; /* what goes to stderr */

static volatile sig_atomic_t keeps_title;

static const char begin_title[] = "\033[22;2t", end_title[] = "\033[23;2t";
static const char begin_modes[] = "\033[?2004h";
static const char end_modes[] = "\033[?2026l\033[?2004l\033[?25h\033[m";

void tty_keep_title(bool keeps)
{
    keeps_title = keeps;
}

/* Writes to a terminal that takes bytes now.  Signal safe. */
static void put_modes(int fd, const char *modes, size_t n)
{
    struct pollfd out = {.fd = fd, .events = POLLOUT};
    if (poll(&out, 1, 0) > 0)
        (void)!write(fd, modes, n);
}

/* Signal safe. */
static void write_end(int fd)
{
    put_modes(fd, end_modes, sizeof end_modes - 1);
    if (keeps_title)
        put_modes(fd, end_title, sizeof end_title - 1);
}

void tty_enter(int fd)
{
    struct termios raw;
    if (tcgetattr(fd, &raw) != 0)
        return;
    if (tty_fd < 0)
        given = raw;
    tty_fd = fd;
    raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | ISTRIP | IXON);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    is_entered = 1;
    tcsetattr(fd, TCSADRAIN, &raw);
    path_write_all(fd, str_of(begin_modes));
    path_write_all(fd, str_of(keeps_title ? begin_title : ""));
}

/* Signal safe. */
void tty_leave(void)
{
    if (!is_entered)
        return;
    is_entered = 0;
    write_end(tty_fd);
    tcsetattr(tty_fd, TCSADRAIN, &given);
}

static void restore_terminal(void)
{
    static const char text[] = "\r\033[J";
    if (is_entered)
        put_modes(tty_fd, text, sizeof text - 1);
    tty_leave();
}

static void on_crash(int signo)
{
    restore_terminal();
    signal(signo, SIG_DFL);
    raise(signo);
}

void tty_guard_crash(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    abort_restores(restore_terminal);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        signal(signals[i], on_crash);
    atexit(tty_leave);
}

void tty_size(int fd, int *ret_cols, int *ret_lines)
{
    struct winsize w = {0};
    bool is_known = ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row;
    *ret_cols = is_known ? MAX(w.ws_col, 8) : 80;
    *ret_lines = is_known ? MAX(w.ws_row, 4) : 24;
}

void tty_take_stderr(struct buf *out)
{
    off_t n = errors >= 0 ? lseek(errors, 0, SEEK_END) : 0;
    if (n <= 0 || n > 1 << 20)
        return;
    char *to = buf_space(out, (size_t)n);
    ssize_t got = pread(errors, to, (size_t)n, 0);
    if (got > 0)
        buf_added(out, (size_t)got);
    (void)!ftruncate(errors, 0);
}

void tty_suspend(void)
{
    tty_leave();
    signal(SIGTSTP, SIG_DFL);
    kill(0, SIGTSTP);
}

/* ---- the guard ---- */

static pid_t child;

static void pass_on(int signo)
{
    kill(child, signo);
}

static void say_errors(void)
{
    AUTO(buf) struct buf text = BUF_INIT;
    tty_take_stderr(&text);
    path_write_all(STDERR_FILENO, buf_str(&text));
}

/* The child was killed: its rows stay, the modes do not. */
static void put_back(int signo)
{
    write_end(STDOUT_FILENO);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &given);
    fprintf(stderr, "\r\n\033[Jtrivet: the chat was ended by signal %d\n", signo);
}

static void wait_for_child(void)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        put_back(WTERMSIG(status));
    say_errors();
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

void tty_guard(void)
{
    bool has_modes = tcgetattr(STDIN_FILENO, &given) == 0;
    errors = memfd_create("stderr", MFD_CLOEXEC);
    pid_t parent = getpid();
    child = has_modes && errors >= 0 ? fork() : -1;
    if (child < 0)
        return;
    if (child > 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        signal(SIGWINCH, SIG_IGN);
        signal(SIGTERM, pass_on);
        signal(SIGHUP, pass_on);
        wait_for_child();
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    fcntl(errors, F_SETFL, O_APPEND);
    dup2(errors, STDERR_FILENO);
}
