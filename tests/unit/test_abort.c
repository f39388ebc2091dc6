/* SPDX-License-Identifier: MIT */
/* What an abort of a library and a bug of trivet leave behind: a terminal as it was, and a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "loop/process.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void restore(void)
{
    (void)!write(STDERR_FILENO, "restored\n", 9);
}

/* Runs fn in a child; its wait status, and what it wrote. */
static int run(void (*begin)(void), void (*fn)(void), char text[2000])
{
    int line[2], status;
    size_t n = 0;
    assert_int_equal(pipe(line), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(line[1], STDERR_FILENO);
        begin();
        fn();
        _exit(77);
    }
    close(line[1]);
    for (ssize_t got; (got = read(line[0], text + n, 1999 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    close(line[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void begin_chat(void)
{
    process_begin();
    abort_restores(restore);
}

static void make_bug(void)
{
    BUG("number %d", 7);
}

static void test_abort(void **state)
{
    (void)state;
    char text[2000];
    int status = run(process_begin, abort, text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_memory_equal(text, "trivet: the system refuses", 26);
    status = run(begin_chat, abort, text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_memory_equal(text, "restored\ntrivet: the system refuses", 35);
}

static void test_bug(void **state)
{
    (void)state;
    char text[2000];
    int status = run(begin_chat, make_bug, text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "number 7\nrestored\n"));
    assert_null(strstr(text, "refuses"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_abort), cmocka_unit_test(test_bug)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
