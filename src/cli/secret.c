/* SPDX-License-Identifier: MIT */
/* The terminal echoes nothing while a secret is typed, and echoes again whatever ends the process.
 */
#include "cli/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

enum { SECRET_BYTES = 16 << 10 };

static struct termios given;
static int tty = -1;

static void on_signal(int signo)
{
    tcsetattr(tty, TCSANOW, &given);
    signal(signo, SIG_DFL);
    raise(signo);
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

static void hide(int fd)
{
    struct termios quiet;
    tty = fd;
    if (tcgetattr(fd, &given) != 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        signal(signals[i], on_signal);
    quiet = given;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    quiet.c_lflag |= ECHONL;
    tcsetattr(fd, TCSAFLUSH, &quiet);
}

static void show(int fd)
{
    tcsetattr(fd, TCSAFLUSH, &given);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        signal(signals[i], SIG_DFL);
}

static bool read_line(int fd, struct buf *ret, struct error *err)
{
    char c;
    ssize_t n;
    while ((n = read(fd, &c, 1)) != 0 && c != '\n') {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "reading the key");
        if (ret->n == SECRET_BYTES)
            return error_set(err, ERR_INVALID, "this is too long for a key");
        buf_addc(ret, c);
    }
    return true;
}

bool secret_read(const char *prompt, struct buf *ret, struct error *err)
{
    bool is_tty = isatty(STDIN_FILENO);
    *ret = (struct buf){0};
    buf_space(ret, SECRET_BYTES); /* no copies are left behind by growing */
    if (is_tty) {
        hide(STDIN_FILENO); /* before the prompt: what is typed from then on is neither shown nor
                               lost */
        fputs(prompt, stderr);
    }
    bool ok = read_line(STDIN_FILENO, ret, err);
    if (is_tty)
        show(STDIN_FILENO);
    struct str text = str_trim(buf_str(ret));
    memmove(ret->p, text.p, text.n);
    buf_cut(ret, text.n);
    return ok && (ret->n || error_set(err, ERR_INVALID, "no key was entered"));
}
