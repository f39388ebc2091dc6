/* SPDX-License-Identifier: MIT */
/* The terminal echoes nothing while a secret is typed, and echoes again whatever ends the process.
 */
#include "cli/accounts.h"

#include "base/tty_question.h"

#include <signal.h>
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

bool secret_read(const char *prompt, struct buf *ret, struct error *err)
{
    bool is_tty = isatty(STDIN_FILENO);
    *ret = (struct buf){0};
    buf_space(ret, SECRET_BYTES); /* no copies are left behind by growing */
    if (is_tty)
        hide(STDIN_FILENO); /* before the prompt: what is typed from then on is not shown */
    bool ok = tty_question_read(prompt, ret, SECRET_BYTES, err);
    if (is_tty)
        show(STDIN_FILENO);
    struct str text = str_trim(buf_str(ret));
    memmove(ret->p, text.p, text.n);
    buf_cut(ret, text.n);
    return ok && (ret->n || error_set(err, ERR_INVALID, "no key was entered"));
}
