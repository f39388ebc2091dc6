/* SPDX-License-Identifier: MIT */
#include "base/tty_question.h"

#include "base/time.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

const char tty_question_too_early[] = "that came too early; type it again: ";

void tty_question_ask(struct tty_question *q, int fd)
{
    if (fd >= 0)
        tcflush(fd, TCIFLUSH);
    q->asked_us = time_mono_us();
}

bool tty_question_is_early(struct tty_question *q)
{
    int64_t now_us = time_mono_us();
    bool is_early = !q->asked_us || now_us - q->asked_us < TTY_QUESTION_QUIET_MS * 1000LL;
    if (is_early && q->asked_us)
        q->asked_us = now_us;
    return is_early;
}

/* *ret_ended: the input ended before the line did. */
static bool read_line(struct buf *ret, size_t max, bool *ret_ended, struct error *err)
{
    char c = 0;
    ssize_t n;
    while ((n = read(STDIN_FILENO, &c, 1)) != 0 && (n < 0 || c != '\n')) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "cannot read the answer");
        if (ret->n == max)
            return error_set(err, ERR_INVALID, "the answer is longer than %zu bytes", max);
        buf_addc(ret, c);
    }
    *ret_ended = n == 0;
    return true;
}

bool tty_question_read(const char *text, struct buf *ret, size_t max, struct error *err)
{
    struct tty_question q = {0};
    bool is_tty = isatty(STDIN_FILENO), has_ended;
    if (is_tty)
        fputs(text, stderr);
    for (;;) {
        if (is_tty)
            tty_question_ask(&q, STDIN_FILENO);
        if (!read_line(ret, max, &has_ended, err))
            return false;
        if (!is_tty || has_ended || !tty_question_is_early(&q))
            return true;
        if (ret->n)
            explicit_bzero(ret->p, ret->n);
        buf_reset(ret);
        fputs(tty_question_too_early, stderr);
    }
}
