/* SPDX-License-Identifier: MIT */
/* What is checked out, read from the files of repositories of all kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "tools/git_head.h"

#include <stdio.h>
#include <stdlib.h>

struct scene {
    char dir[64];
    struct arena arena;
};

static void sh(const struct scene *s, const char *script)
{
    AUTO(buf) struct buf line = BUF_INIT;
    buf_addf(&line,
             "cd '%s' && export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 && set -e\n"
             "git() { command git -c user.name=a -c user.email=a@b \"$@\"; }\n%s",
             s->dir, script);
    assert_int_equal(system(line.p), 0);
}

static struct git_head look(struct scene *s, const char *below)
{
    struct git_head head;
    git_head_read(&head, arena_fmt(&s->arena, "%s%s", s->dir, below), &s->arena);
    return head;
}

static void expect(struct scene *s, const char *script, const char *below, const char *branch)
{
    sh(s, script);
    struct git_head head = look(s, below);
    if (branch)
        assert_string_equal(head.branch.p ? head.branch.p : "none", branch);
    else
        assert_null(head.branch.p);
}

static int begin(void **state)
{
    struct scene *s = xnew(struct scene);
    snprintf(s->dir, sizeof s->dir, "/tmp/trivet-head-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    sh(s, "git init -q -b main w; cd w; git commit -q --allow-empty -m one");
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct scene *s = *state;
    sh(s, "rm -rf \"$PWD\"");
    arena_clear(&s->arena);
    free(s);
    return 0;
}

static void test_kinds(void **state)
{
    struct scene *s = *state;
    expect(s, "mkdir -p w/deep/er", "/w/deep/er", "main");
    assert_int_equal(look(s, "/w/deep").root.n, strlen(s->dir) + 2);
    expect(s, "git -C w checkout -q -b a/b", "/w", "a/b");
    expect(s, "git -C w pack-refs --all", "/w", "a/b");
    expect(s, "git -C w checkout -q --detach", "/w", NULL);
    expect(s, "git init -q -b begun unborn", "/unborn", "begun");
    expect(s, "git -C w worktree add -q ../linked -b side", "/linked", "side");
    expect(s, "git -C w config core.bare true; git -C w symbolic-ref HEAD refs/heads/main", "/w",
           "main");
    expect(s, "mkdir l; ln -s ../w/.git l/.git", "/l", "main");
    expect(s, "ln -sf refs/heads/old w/.git/HEAD", "/w", "old");
    expect(s, "git init -q --bare bare.git", "/bare.git", NULL);
    assert_int_equal(look(s, "/bare.git").root.n, 0);
}

static void test_broken(void **state)
{
    struct scene *s = *state;
    static const char *const heads[] = {
        "printf 'ref: refs/heads/a\\nb\\n'", "printf 'ref: refs/heads/a b\\n'",
        "printf 'ref: refs/heads/../x\\n'",  "printf 'ref: refs/heads/\\n'",
        "printf 'ref: refs/tags/x\\n'",      "printf ''",
        "printf 'ref: refs/heads/a\\0b'",    "head -c 5000 /dev/zero",
    };
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct str script = arena_fmt(&s->arena, "%s >w/.git/HEAD", heads[i]);
        expect(s, script.p, "/w", NULL);
    }
    expect(s, "rm w/.git/HEAD; mkfifo w/.git/HEAD", "/w", NULL);
    expect(s, "rm w/.git/HEAD; printf 'ref: refs/heads/x\\n' >x; ln -s ../../x w/.git/HEAD", "/w",
           NULL);
    expect(s, "rm -r w/.git; mkfifo w/.git", "/w", NULL);
    expect(s, "rm w/.git; echo 'gitdir: nowhere' >w/.git", "/w", NULL);
    assert_int_equal(look(s, "/w").root.n, 0);
    expect(s, "git init -q -b outer .; rm w/.git; mkdir w/.git", "/w", "outer");
}

static void test_changes(void **state)
{
    struct scene *s = *state;
    static const char *const refs[] = {
        "git -C w commit -q --allow-empty -m two",
        "git -C w checkout -q --detach",
        "git -C w commit -q --allow-empty -m three",
        "git -C w checkout -q main",
        "git -C w pack-refs --all",
    };
    struct git_head before = look(s, "/w"), now;
    for (size_t i = 0; i < ARRAY_LEN(refs); i++, before = now) {
        sh(s, refs[i]);
        now = look(s, "/w");
        assert_int_not_equal(now.refs, before.refs);
        assert_int_not_equal(now.work_tree, before.work_tree);
    }
    sh(s, "cd w; echo 1 >f; git add f");
    now = look(s, "/w");
    assert_int_equal(now.refs, before.refs);
    assert_int_not_equal(now.work_tree, before.work_tree);
    assert_int_equal(look(s, "/w").work_tree, now.work_tree);
}

/* As git makes it since 2.45, without one that can. */
static void test_reftable(void **state)
{
    struct scene *s = *state;
    expect(s,
           "cd w/.git; mkdir reftable; echo 1 >reftable/tables.list; "
           "echo 'ref: refs/heads/.invalid' >HEAD",
           "/w", NULL);
    struct git_head before = look(s, "/w");
    assert_true(before.needs_git);
    sh(s, "cd w/.git/reftable; echo 22 >tables.list");
    assert_int_not_equal(look(s, "/w").refs, before.refs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, begin, end),
        cmocka_unit_test_setup_teardown(test_broken, begin, end),
        cmocka_unit_test_setup_teardown(test_changes, begin, end),
        cmocka_unit_test_setup_teardown(test_reftable, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
