/* SPDX-License-Identifier: MIT */
#include "wire/method.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const struct method a = {.name = "a"}, ab = {.name = "ab"}, b = {.name = "b/c"},
                           c = {.name = "c.d"}, upper = {.name = "Z"};
static const struct method *const table[] = {&upper, &a, &ab, &b, &c};

static void test_find(void **state)
{
    (void)state;
    for (size_t n = 0; n <= ARRAY_LEN(table); n++)
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
            assert_ptr_equal(method_find(table, n, str_of(table[i]->name)),
                             i < n ? table[i] : NULL);
    static const char *const missing[] = {"", "A", "aa", "abc", "b", "b/", "b/cd", "z", " a", "a "};
    for (size_t i = 0; i < ARRAY_LEN(missing); i++)
        assert_null(method_find(table, ARRAY_LEN(table), str_of(missing[i])));
    assert_null(method_find(table, ARRAY_LEN(table), STR("a\0")));
    assert_null(method_find(table, ARRAY_LEN(table), STR_NONE));
}

/* The signal that ends a check of this table, 0 for none. */
static int ends_with(const struct method *const *methods, size_t n)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        method_check_table(methods, n);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_check(void **state)
{
    (void)state;
    static const struct method *const wrong[] = {&a, &b, &ab}, *const twice[] = {&a, &a};
    method_check_table(table, ARRAY_LEN(table));
    method_check_table(table, 0);
    assert_int_equal(ends_with(table, ARRAY_LEN(table)), 0);
    assert_int_equal(ends_with(wrong, 3), SIGABRT);
    assert_int_equal(ends_with(twice, 2), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_check)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
