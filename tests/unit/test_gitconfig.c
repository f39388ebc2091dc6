/* SPDX-License-Identifier: MIT */
#include "sandbox/gitlinks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_usual(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
        "\tlogallrefupdates = true\n",
        "[core]\r\n\tIgnoreCase = true\r\n[remote \"origin\"]\r\n\turl = https://example.org/a.git\r\n"
        "\tfetch = +refs/heads/*:refs/remotes/origin/*\r\n[branch \"main\"]\r\n\tremote = origin\r\n",
        "# a comment\n; another\n[user]\nname = [core] fsmonitor\nemail=a@b",
        "[Core]\nbare",
        "[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://example.org/a\"]\n\taccess = basic\n",
        "[advice]\n\tdetachedHead = false\n",
        "[submodule \"x\"]\n\tactive = true\n\turl = ../x\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(git_config_is_harmless(str_of(texts[i])));
}

static void test_dangerous(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[core]\nfsmonitor = touch x",
        "[core]\nFsMonitor = touch x",
        "[core] fsmonitor = touch x\n",
        "[core]\nbare = false\n[core] fsmonitor = x",
        "[core]\nhooksPath = x",
        "[core]\nsshCommand = x",
        "[core]\npager = x",
        "[core]\neditor = x",
        "[include]\npath = x",
        "[includeIf \"gitdir:/\"]\npath = x",
        "[alias]\nstatus = !x",
        "[filter \"x\"]\nclean = x",
        "[diff]\nexternal = x",
        "[remote \"o\"]\nuploadpack = x",
        "[remote \"o\"]\nvcs = x",
        "[submodule \"x\"]\nupdate = !x",
        "[extensions]\nworktreeConfig = true",
        "[user]\nname = a\\\nfsmonitor = x",
        "[user]\nname = a\\\r\nemail = x",
        "bare = false",
        "[core",
        "[core]x",
        "[]",
        "[",
        "[core.x]\nbare = 1",
        "[remote \"a\\\"]\nurl = x",
        "[remote \"a\" \"b\"]\nurl = x",
        "\xef\xbb\xbf[core]\nbare = 1",
        "[core]\nbare fsmonitor",
        "[core]\n= x",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(git_config_is_harmless(str_of(texts[i])));
    assert_false(git_config_is_harmless(str_n("[core]\0\n", 8)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_usual),
                                       cmocka_unit_test(test_dangerous)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
