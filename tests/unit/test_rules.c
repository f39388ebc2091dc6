/* SPDX-License-Identifier: MIT */
#include "toolsets/rules.h"

#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
    struct rules rules;
    struct buf root;
    struct tool_cx cx;
    struct error err;
};

static int setup(void **state)
{
    struct scene *s = xnew(struct scene);
    char dir[] = "/tmp/test-rules-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_true(path_resolve(&s->root, str_of(dir), &s->err));
    s->cx.root = buf_str(&s->root);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct scene *s = *state;
    AUTO(buf) struct buf command = BUF_INIT;
    buf_addf(&command, "rm -rf '%.*s'", STR_FMT(buf_str(&s->root)));
    buf_addc(&command, '\0');
    assert_int_equal(system(command.p), 0);
    rules_clear(&s->rules);
    buf_clear(&s->root);
    free(s);
    return 0;
}

static void add(struct scene *s, enum verdict v, const char *text)
{
    assert_true(rules_add(&s->rules, v, str_of(text), &s->err));
}

/* The first member of the arguments of both tools is a text. */
static struct str text_of(const void *args)
{
    return *(const struct str *)args;
}

static const struct tool bash = {.name = "bash", .mode = MODE_FULL, .command = text_of};
static const struct tool writer = {.name = "write_file", .mode = MODE_WORKSPACE_WRITE, .target = 1};
static const struct tool todo = {.name = "todo", .mode = MODE_READ_ONLY};

static enum verdict judge(struct scene *s, const struct tool *f, const char *about)
{
    struct str args = str_of(about), by;
    enum verdict v = rules_judge(&s->rules, f, &s->cx, &args, &by);
    assert_true((by.p != NULL) == (v != VERDICT_NONE));
    return v;
}

static void test_commands(void **state)
{
    struct scene *s = *state;
    add(s, VERDICT_ALLOW, "bash(git status)");
    add(s, VERDICT_ALLOW, "bash(ls)");
    add(s, VERDICT_ALLOW, "bash(npm run *)");
    add(s, VERDICT_ASK, "bash(git push)");
    add(s, VERDICT_DENY, "bash(rm)");
    assert_int_equal(judge(s, &bash, "git status"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "git status --short && ls -l 2>/dev/null"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "npm run test"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "npm run"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "git statusx"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "git status; make"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "git status $(make)"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "git status > x"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "./ls"), VERDICT_NONE); /* another program */
    assert_int_equal(judge(s, &bash, "git push && ls"), VERDICT_ASK);
    assert_int_equal(judge(s, &writer, "git status"), VERDICT_NONE);
}

/* Whatever else the line holds, and however the program is called. */
static void test_denied_commands(void **state)
{
    struct scene *s = *state;
    add(s, VERDICT_ALLOW, "*");
    add(s, VERDICT_DENY, "bash(rm)");
    add(s, VERDICT_ASK, "bash(rm)");
    static const char *const lines[] = {
        "rm x",
        "/bin/rm x",
        "ls; rm x",
        "ls | xargs rm",
        "sudo rm x",
        "sh -c 'rm x'",
        "echo $(rm x)",
        "X=1 rm x",
        "if true; then rm x; fi",
        "'r'm x",
        "timeout 5 rm x",
        "find . -exec rm {} +",
        "(rm x)",
        "find . -name x | xargs -n1 rm",
        "X+=1 rm x",
        "a[0]=1 rm x",
        "'exec' rm x",
        "r\\\nm x",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(judge(s, &bash, lines[i]), VERDICT_DENY);
    assert_int_equal(judge(s, &bash, "echo rm"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "rmdir x"), VERDICT_ALLOW);
}

/* A rule is cut into words as a line is. */
static void test_words_of_rules(void **state)
{
    struct scene *s = *state;
    add(s, VERDICT_ALLOW, "bash(make CC=gcc)");
    add(s, VERDICT_ALLOW, "bash(grep 'a b')");
    add(s, VERDICT_DENY, "bash(docker run --privileged=true)");
    assert_int_equal(judge(s, &bash, "make CC=gcc all"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "make CC gcc"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "grep \"a b\" x"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "grep a b"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "docker run --privileged=true x"), VERDICT_DENY);
    assert_int_equal(judge(s, &bash, "sh -c 'docker run --privileged=true'"), VERDICT_DENY);
}

static void test_paths(void **state)
{
    struct scene *s = *state;
    AUTO(buf) struct buf link = BUF_INIT;
    add(s, VERDICT_ALLOW, "write_file(src/**)");
    add(s, VERDICT_DENY, "write_file(*.key)");
    add(s, VERDICT_DENY, "write_file(/etc/**)");
    assert_int_equal(judge(s, &writer, "src/a/b.c"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &writer, "src/../b.c"), VERDICT_NONE);
    assert_int_equal(judge(s, &writer, "src/my.key"), VERDICT_DENY);
    assert_int_equal(judge(s, &writer, "/etc/x"), VERDICT_DENY);
    buf_addf(&link, "%.*s/src", STR_FMT(buf_str(&s->root)));
    buf_addc(&link, '\0');
    assert_int_equal(mkdir(link.p, 0700), 0);
    buf_cut(&link, link.n - 1);
    buf_addz(&link, "/out");
    buf_addc(&link, '\0');
    assert_int_equal(symlink("/etc", link.p), 0);
    assert_int_equal(judge(s, &writer, "src/out/x"), VERDICT_DENY); /* where it leads */
}

/* What a pattern cannot name is not let through by it. */
static void test_nothing_to_name(void **state)
{
    struct scene *s = *state;
    add(s, VERDICT_ALLOW, "todo(x)");
    assert_int_equal(judge(s, &todo, "x"), VERDICT_NONE);
    add(s, VERDICT_DENY, "todo(y)");
    assert_int_equal(judge(s, &todo, "x"), VERDICT_DENY);
}

static void test_beginnings(void **state)
{
    struct scene *s = *state;
    add(s, VERDICT_DENY, "bash(git push*)");
    add(s, VERDICT_DENY, "Bash(npm publish:*)");
    add(s, VERDICT_ASK, "bash(docker run *)");
    add(s, VERDICT_ALLOW, "BASH(ls*)");
    static const char *const denied[] = {"git push",
                                         "git push origin main",
                                         "git pushx",
                                         "/usr/bin/git push",
                                         "sh -c 'git push -f'",
                                         "npm publish",
                                         "npm publish --tag x",
                                         "cd x && git push"};
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        assert_int_equal(judge(s, &bash, denied[i]), VERDICT_DENY);
    assert_int_equal(judge(s, &bash, "git pull"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "docker run"), VERDICT_ASK);
    assert_int_equal(judge(s, &bash, "docker run x"), VERDICT_ASK);
    assert_int_equal(judge(s, &bash, "docker ps"), VERDICT_NONE);
    assert_int_equal(judge(s, &bash, "ls -l"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "lsblk"), VERDICT_ALLOW);
    assert_int_equal(judge(s, &bash, "als"), VERDICT_NONE);
}

static void test_patterns_of_paths(void **state)
{
    struct scene *s = *state;
    AUTO(buf) struct buf rule = BUF_INIT;
    add(s, VERDICT_DENY, "Write_File(./src/**)");
    add(s, VERDICT_ASK, "write_file(docs/)");
    add(s, VERDICT_ASK, "write_file(./*.md)");
    add(s, VERDICT_ASK, "write_file(a//b/./c?.txt)");
    assert_int_equal(judge(s, &writer, "src/a/b.c"), VERDICT_DENY);
    assert_int_equal(judge(s, &writer, "./src/b.c"), VERDICT_DENY);
    assert_int_equal(judge(s, &writer, "other/src/b.c"), VERDICT_NONE);
    assert_int_equal(judge(s, &writer, "docs/x/y"), VERDICT_ASK);
    assert_int_equal(judge(s, &writer, "top.md"), VERDICT_ASK);
    assert_int_equal(judge(s, &writer, "x/deep.md"), VERDICT_NONE);
    assert_int_equal(judge(s, &writer, "a/b/c1.txt"), VERDICT_ASK);
    assert_int_equal(judge(s, &writer, "a/b/c12.txt"), VERDICT_NONE);
    /* A link in the rule: it denies where it leads, and allows only as it is written. */
    AUTO(buf) struct buf command = BUF_INIT;
    buf_addf(&command, "ln -s /etc '%.*s/way'", STR_FMT(buf_str(&s->root)));
    buf_addc(&command, '\0');
    assert_int_equal(system(command.p), 0);
    buf_addf(&rule, "write_file(%.*s/way/**)", STR_FMT(buf_str(&s->root)));
    buf_addc(&rule, '\0');
    add(s, VERDICT_ALLOW, rule.p);
    assert_int_equal(judge(s, &writer, "/etc/x"), VERDICT_NONE);
    add(s, VERDICT_DENY, rule.p);
    assert_int_equal(judge(s, &writer, "/etc/x"), VERDICT_DENY);
    assert_int_equal(judge(s, &writer, "way/x"), VERDICT_DENY);
}

/* Rules that could never do anything are refused when there are tools to compare with. */
static void test_rules_that_never_fit(void **state)
{
    struct scene *s = *state;
    static const struct {
        const char *rule, *why;
    } bad[] = {
        {"bsh(ls)", "did you mean bash?"},
        {"read-file", "did you mean read_file?"},
        {"Reader(x)", "there is no tool Reader; there are read_file, "},
        {"TodoWrite(x)", "neither a command nor a path"},
        {"WebFetch(example.org)", "neither a command nor a path"},
        {"bash(git push && ls)", "one command"},
        {"bash(echo $HOME)", "one command"},
        {"bash(ls > x)", "one command"},
        {"bash(echo 'x)", "one command"},
        {"read_file(../x)", "begin it with /"},
        {"read_file(a/../../x)", "begin it with /"},
    };
    static const char *const good[] = {
        "*",
        "bash",
        "Bash(ls)",
        "bash(git push*)",
        "bash(*)",
        "bash(git *)",
        "bash(make X=1)",
        "bash(git commit -m 'a b')",
        "read_file(./src/**)",
        "READ_FILE(~/.ssh/**)",
        "glob_search(src/)",
        "write_file({a,b}/**)",
        "WebFetch",
        "*(x)",
    };
    s->rules.tools = &toolset_scaiflux;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(rules_add(&s->rules, VERDICT_DENY, str_of(bad[i].rule), &s->err));
        assert_int_equal(s->err.code, ERR_INVALID);
        assert_non_null(strstr(s->err.text, bad[i].why));
        assert_non_null(strstr(s->err.text, bad[i].rule));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        add(s, VERDICT_DENY, good[i]);
    s->rules.tools = NULL;
}

static void test_bad_rules(void **state)
{
    struct scene *s = *state;
    static const char *const bad[] = {"", "  ", "(x)", "bash()", "bash( )", "bash(x", "bash(x)y"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(rules_add(&s->rules, VERDICT_DENY, str_of(bad[i]), &s->err));
        assert_int_equal(s->err.code, ERR_INVALID);
    }
    assert_int_equal(s->rules.n, 0);
}

static bool load(struct scene *s, const char *text, bool may_allow)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%.*s/rules.json", STR_FMT(buf_str(&s->root)));
    buf_addc(&path, '\0');
    FILE *file = fopen(path.p, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return rules_load(&s->rules, str_of(path.p), may_allow ? STR_NONE : path_dir(str_of(path.p)),
                      &s->err);
}

static void test_files(void **state)
{
    struct scene *s = *state;
    assert_true(rules_load(&s->rules, STR("/nowhere/rules.json"), STR_NONE, &s->err));
    assert_true(load(s, "{\"allow\": [\"bash(ls)\"], \"deny\": [\"bash(rm)\", \"todo\"]}", true));
    assert_int_equal(s->rules.n, 3);
    assert_true(load(s, "{\"deny\": []}", false));
    static const char *const bad[] = {
        "[]", "{", "{\"alow\": []}", "{\"deny\": 1}", "{\"deny\": [1]}", "{\"deny\": [\"(\"]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(load(s, bad[i], true));
        assert_non_null(strstr(s->err.text, "rules.json"));
    }
    assert_false(load(s, "{\"allow\": [\"bash\"]}", false));
    assert_non_null(strstr(s->err.text, "`allow`"));
}

/* Only rules for `outside` let a command out, and they do nothing else. */
static void test_outside(void **state)
{
    struct scene *s = *state;
    struct str line = STR("gh pr list"), two = STR("gh pr list; id"), by;
    add(s, VERDICT_ALLOW, "bash");
    add(s, VERDICT_ALLOW, "*");
    assert_int_equal(rules_judge_outside(&s->rules, &bash, &s->cx, &line, &by), VERDICT_NONE);
    add(s, VERDICT_ALLOW, "outside(gh pr)");
    assert_int_equal(rules_judge_outside(&s->rules, &bash, &s->cx, &line, &by), VERDICT_ALLOW);
    assert_true(str_is(by, "outside(gh pr)"));
    assert_int_equal(rules_judge_outside(&s->rules, &bash, &s->cx, &two, &by), VERDICT_NONE);
    add(s, VERDICT_DENY, "Outside(gh pr list)");
    assert_int_equal(rules_judge_outside(&s->rules, &bash, &s->cx, &line, &by), VERDICT_DENY);
    assert_int_equal(judge(s, &bash, "gh pr list"), VERDICT_ALLOW);
    s->rules.tools = &toolset_run;
    add(s, VERDICT_ALLOW, "outside(docker build)");
    assert_false(rules_add(&s->rules, VERDICT_ALLOW, STR("outside(a; b)"), &s->err));
    s->rules.tools = &toolset_scaiflux;
    assert_false(rules_add(&s->rules, VERDICT_ALLOW, STR("outside"), &s->err));
    s->rules.tools = NULL;
}

static void test_outside_like(void **state)
{
    (void)state;
    static const struct {
        const char *line, *rule; /* NULL: none */
    } cases[] = {
        {"gh pr create --fill", "outside(gh pr)"},
        {"systemctl --user restart x", "outside(systemctl --user restart x)"},
        {"curl https://example.org/a.tgz", "outside(curl https://example.org/a.tgz)"},
        {"gh", "outside(gh)"},
        {"apt-get install -y jq", "outside(apt-get install)"},
        {"curl 'a b'", NULL},
        {"gh pr list && gh pr view", NULL},
        {"gh pr list | cat", NULL},
        {"gh pr list &", NULL},
        {"gh pr $X", NULL},
        {"gh pr list >x", NULL},
        {"./gh pr", NULL},
        {"/usr/bin/gh pr", NULL},
        {"X=1 gh pr", NULL},
        {"gh *", NULL},
        {"rm -rf x", NULL},
        {"python3 x", NULL},
        {"python3.12 x", NULL},
        {"pip3 install x", NULL},
        {"gcc-13 x", NULL},
        {"sh -c id", NULL},
        {"env gh pr", NULL},
        {"git push", NULL},
        {"make", NULL},
        {"", NULL},
        {"'' x", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(arena) struct arena a = ARENA_INIT;
        struct str rule = rules_outside_like(&a, str_of(cases[i].line));
        assert_int_equal(rule.p == NULL, cases[i].rule == NULL);
        assert_true(!rule.p || str_is(rule, cases[i].rule));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commands, setup, teardown),
        cmocka_unit_test_setup_teardown(test_denied_commands, setup, teardown),
        cmocka_unit_test_setup_teardown(test_words_of_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beginnings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_patterns_of_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rules_that_never_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_outside, setup, teardown),
        cmocka_unit_test(test_outside_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
