/* SPDX-License-Identifier: MIT */
#include "tools/command.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The words of a line as a|b;c|d, or "?" when it is not read. */
static void check(const char *line, const char *wanted)
{
    struct arena a = ARENA_INIT;
    AUTO(buf) struct buf got = BUF_INIT;
    struct commands list;
    if (command_split(&a, str_of(line), &list)) {
        for (size_t i = 0; i < list.n; i++)
            for (size_t w = 0; w < list.v[i].n; w++) {
                if (got.n)
                    buf_addc(&got, w ? '|' : ';');
                buf_add(&got, list.v[i].words[w]);
            }
    } else
        buf_addz(&got, "?");
    buf_addc(&got, '\0');
    assert_string_equal(got.p, wanted);
    arena_clear(&a);
}

static void test_words(void **state)
{
    (void)state;
    check("git status", "git|status");
    check("  git\t'a b'  \"c d\" e\\ f''g", "git|a b|c d|e fg");
    check("grep \"say \\\"hi\\\" \\\\ \\n\" x", "grep|say \"hi\" \\ \\n|x");
    check("ls # and rm -rf /", "ls");
    check("echo a#b ''", "echo|a#b|");
    check("", "");
}

static void test_chains(void **state)
{
    (void)state;
    check("a 1 && b 2 || c | d; e & f\ng", "a|1;b|2;c;d;e;f;g");
    check("make 2>&1 | tail -5", "make;tail|-5");
    check("ls >/dev/null 2>/dev/null; pwd", "ls;pwd");
    check("ls 22 > /dev/null", "ls|22");
    check("ls a22>/dev/null '3'>&2", "ls|a22|3");
    check("ls &>/dev/null; pwd", "ls;pwd");
}

static void test_only_the_shell_knows(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "git $X",
        "`rm x`",
        "a $(rm x)",
        "\"$(rm x)\"",
        "(rm x)",
        "{ rm x; }",
        "ls > file",
        "ls >/dev/nullx",
        "sh <<E\nrm\nE",
        "if true; then rm x; fi",
        "for i in a; do rm $i; done",
        "PATH=/evil git status",
        "! rm x",
        "eval rm x",
        "a 'open",
        "a \"open",
        "a \\",
        "r{m,} x",
        "diff <(rm x) y",
        "exec rm x",
        ". ./x",
        "echo \"a\\$b\"",
        "ls 2>file",
        "PATH+=:/evil git status",
        "a[0]=x rm y",
        "'exec' rm x",
        "\\eval rm x",
        "/bin/r? x",
        "~/bin/x",
        "[r]m x",
        "ls 22>/dev/null",
        "git status &>/dev/null rm",
        "%1",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check(lines[i], "?");
    struct arena a = ARENA_INIT;
    struct commands list;
    assert_false(command_split(&a, STR("a\0b"), &list));
    assert_false(command_split(&a, STR("a 'x\0y'"), &list));
    arena_clear(&a);
}

/* A reserved word in quotes, or behind the first place, is a word like any other. */
static void test_reserved(void **state)
{
    (void)state;
    check("echo if then", "echo|if|then");
    check("'if' x", "if|x");
    check("echo A=b exec", "echo|A=b|exec");
    check("ls *.c ~ [a]", "ls|*.c|~|[a]");
    check("'[' '*' ']'", "[|*|]");
}

static void test_all_words(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct simple_command c = command_words(&a, STR("x=$(r\"m\" -rf '/a b');y"));
    static const char *const wanted[] = {"x", "rm", "-rf", "/a", "b", "y"};
    assert_int_equal(c.n, 6);
    for (size_t i = 0; i < c.n; i++)
        assert_true(str_is(c.words[i], wanted[i]));
    c = command_words(&a, STR("r\\\nm -\\x"));
    assert_int_equal(c.n, 5);
    assert_true(str_is(c.words[0], "r") && str_is(c.words[3], "rm") && str_is(c.words[4], "-x"));
    arena_clear(&a);
}

/* How commands are joined, and which words the shell fills in. */
static void test_joins(void **state)
{
    (void)state;
    static const enum command_join wanted[] = {JOIN_AND,  JOIN_OR,         JOIN_PIPE, JOIN_THEN,
                                               JOIN_THEN, JOIN_BACKGROUND, JOIN_END};
    struct arena a = ARENA_INIT;
    struct commands list;
    assert_true(command_split(&a, STR("a *.c '*.c' && b || c | d; e\nf & g"), &list));
    assert_int_equal(list.n, 7);
    for (size_t i = 0; i < list.n; i++)
        assert_int_equal(list.v[i].join, wanted[i]);
    assert_false(list.v[0].opens[0]);
    assert_true(list.v[0].opens[1]);
    assert_false(list.v[0].opens[2]);
    arena_clear(&a);
}

/* Here-documents are read only on request. */
static void test_texts(void **state)
{
    (void)state;
    static const char line[] = "a \"$(cat <<'E'\n one 'x'\n\nE\n)\"b && c <<'E'\ntext\nE\nd";
    struct arena a = ARENA_INIT;
    struct commands list;
    check(line, "?");
    assert_true(command_split_texts(&a, str_of(line), &list));
    assert_int_equal(list.n, 3);
    assert_true(str_is(list.v[0].words[1], " one 'x'b"));
    assert_int_equal(list.v[1].n, 1);
    assert_true(str_is(list.v[2].words[0], "d"));
    arena_clear(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_only_the_shell_knows),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_all_words),
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
