/* LINK: -lutil */
/* SPDX-License-Identifier: MIT */
/* base/tty_question.c: what was typed before a question is not its answer. */
#include "base/tty_question.h"

#include "base/time.h"

#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static void early(void **state)
{
    (void)state;
    struct tty_question q = {0};
    assert_true(tty_question_is_early(&q)); /* not asked yet */
    assert_int_equal(q.asked_us, 0);
    q.asked_us = time_mono_us() + 3600 * 1000000LL;
    assert_true(tty_question_is_early(&q));
    assert_true(q.asked_us <= time_mono_us()); /* the time begins again */
    q.asked_us = time_mono_us() - TTY_QUESTION_QUIET_MS * 1000LL;
    assert_false(tty_question_is_early(&q));
    assert_false(tty_question_is_early(&q));
}

static void dropped(void **state)
{
    (void)state;
    struct tty_question q = {0};
    char c;
    int master, slave;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    assert_int_equal(write(master, "y\ny", 3), 3);
    fcntl(slave, F_SETFL, O_NONBLOCK);
    tty_question_ask(&q, slave);
    assert_true(q.asked_us > 0);
    assert_int_equal(write(master, "\n", 1), 1);
    assert_int_equal(read(slave, &c, 1), 1);
    assert_int_equal(c, '\n');
    tty_question_ask(&q, -1);
    close(master);
    close(slave);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(early),
        cmocka_unit_test(dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
