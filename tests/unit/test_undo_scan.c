/* SPDX-License-Identifier: MIT */
/* What commands change in a workspace: the git index, the list of files, and how two lists differ.
 * With the argument DIR it prints how long it takes there. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"
#include "engine/undo.h"
#include "engine/undo_scan.h"
#include "tools/git_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[4096], base[4096];

static int open_scene(void **state)
{
    char made[] = "/tmp/trivet-undo-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, base));
    snprintf(dir, sizeof dir, "%.4000s/work", base);
    assert_int_equal(mkdir(dir, 0700), 0);
    setenv("HOME", "/nonexistent", 1);
    setenv("XDG_STATE_HOME", base, 1);
    return 0;
}

/* Runs a shell line in the workspace. */
static void sh(const char *line)
{
    AUTO(buf) struct buf all = BUF_INIT;
    buf_addf(&all,
             "cd %s && export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a "
             "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b && { %s\n}",
             dir, line);
    assert_int_equal(system(all.p), 0);
}

static int close_scene(void **state)
{
    AUTO(buf) struct buf all = BUF_INIT;
    (void)state;
    buf_addf(&all, "rm -rf %s", base);
    assert_int_equal(system(all.p), 0);
    return 0;
}

static struct undo_scan *scan(void)
{
    AUTO(buf) struct buf why = BUF_INIT, copies = BUF_INIT, own = BUF_INIT;
    buf_addf(&copies, "%s/undo", base);
    buf_addf(&own, "%s/own/sessions", dir);
    struct undo_places p = {.root = str_of(dir), .copies = buf_str(&copies), .own = buf_str(&own)};
    struct undo_scan *s = undo_scan_new(&p, &why);
    assert_string_equal(why.p ? why.p : "", "");
    assert_non_null(s);
    return s;
}

/* The changes of a command as one line: name, then where the content before is. */
static const char *changes(struct undo_scan *s, const char *line)
{
    static char out[65536];
    AUTO(buf) struct buf why = BUF_INIT, text = BUF_INIT;
    AUTO(undo_changes) struct undo_changes c = {0};
    int64_t since = undo_scan_now_ns();
    sh(line);
    assert_true(undo_scan_again(s, since, &c, &why));
    for (size_t i = 0; i < c.n; i++) {
        const struct undo_change *x = &c.v[i];
        AUTO(buf) struct buf bytes = BUF_INIT;
        buf_addf(&text, "%s%.*s", i ? " " : "", STR_FMT(path_relative(str_of(dir), x->path)));
        if (x->copy >= 0)
            assert_true(undo_scan_copy(s, x, &bytes));
        if (bytes.n)
            buf_addf(&text, "=%.*s", STR_FMT(str_trim(buf_str(&bytes))));
        else
            buf_addz(&text, !x->existed ? "+" : x->id.p ? "@" : "?");
    }
    if (c.has_git_moved)
        buf_addz(&text, " HEAD");
    snprintf(out, sizeof out, "%s", text.p ? text.p : "");
    return out;
}

static void test_changes(void **state)
{
    (void)state;
    sh("git init -q; mkdir -p a/b; echo one > a/b/x; echo two > a.c; echo log > t.log; echo '*.log' >"
       " .gitignore; git add -f .; git commit -qm one; sleep 0.02; echo three > new; echo 2 > a.c;"
       " echo no > ignored.log");
    struct undo_scan *s = scan();
    assert_string_equal(changes(s, "true"), "");
    assert_string_equal(changes(s, "echo 1 >> a/b/x; echo 3 >> a.c; rm new; echo y > made; echo >>"
                                   " ignored.log; echo >> t.log"),
                        "a/b/x@ a.c=2 made+ new=three t.log@");
    assert_string_equal(changes(s, "git commit -qam two"), " HEAD");
    assert_string_equal(changes(s, "chmod +x a.c; git mv a c"), "a/b/x? a.c? c/b/x+");
    undo_scan_free(s);
}

/* What was changed before the command is not the command's. */
static void test_others(void **state)
{
    (void)state;
    sh("git init -q; echo 1 > a; echo 1 > b; echo old > ignored; echo ignored > .gitignore");
    struct undo_scan *s = scan();
    sh("echo 2 > a; echo 1 > c; sleep 0.02");
    assert_string_equal(changes(s, "echo 2 > b; : > .gitignore"), ".gitignore=ignored b=1");
    assert_string_equal(changes(s, "echo 3 > a; rm c"), "a? c?");
    undo_scan_free(s);
}

/* A workspace below the root of the repository, a linked worktree, an index of version 4. */
static void test_places(void **state)
{
    (void)state;
    sh("git init -q; mkdir -p sub/in; echo 1 > sub/in/a; echo 1 > top; git update-index "
       "--index-version 4 --add sub/in/a top; git commit -qm x; sleep 0.02; git update-index "
       "--refresh; git worktree add -q ../linked");
    size_t n = strlen(dir);
    snprintf(dir + n, sizeof dir - n, "/sub");
    struct undo_scan *s = scan();
    assert_string_equal(changes(s, "echo 2 > in/a; echo 2 > ../top"), "in/a@");
    undo_scan_free(s);
    snprintf(dir, sizeof dir, "%.4000s/linked", base);
    sh("sleep 0.02; git update-index --refresh");
    s = scan();
    assert_string_equal(changes(s, "echo 2 > top; git commit -qam y"), "top@ HEAD");
    undo_scan_free(s);
}

/* Of the own directories nothing is kept; a workspace that holds the home directory is left out. */
static void test_own(void **state)
{
    AUTO(buf) struct buf why = BUF_INIT;
    (void)state;
    sh("mkdir -p own/sessions .git; echo 1 > own/sessions/x; mkdir mine; ln -s mine l");
    struct undo_scan *s = scan();
    assert_string_equal(changes(s, "echo 2 > own/sessions/x; echo 1 > .git/x; echo > l/a"),
                        "mine/a+");
    undo_scan_free(s);
    struct undo_places p = {.root = str_of(base)};
    assert_null(undo_scan_new(&p, &why));
    assert_string_equal(why.p, "the workspace holds the home directory");
}

/* Copies have limits; a large file is named. */
static void test_limits(void **state)
{
    (void)state;
    sh("head -c 3000000 /dev/zero > large; for i in $(seq 2100); do echo 1 > f$i; done");
    struct undo_scan *s = scan();
    assert_string_equal(changes(s, "rm large"), "large?");
    const char *text = changes(s, "for f in f*; do echo 2 > $f; done");
    size_t lost = 0;
    for (const char *p = text; (p = strchr(p, '?')); p++)
        lost++;
    assert_int_equal(lost, 100);
    undo_scan_free(s);
}

/* Damaged indexes are refused and never read beyond their end. */
static void test_damaged(void **state)
{
    AUTO(buf) struct buf path = BUF_INIT, all = BUF_INIT;
    struct error err;
    (void)state;
    sh("git init -q; for i in $(seq 20); do echo $i > file$i; done; git add .");
    buf_addf(&path, "%s/.git/index", dir);
    assert_true(path_read(&all, buf_str(&path), 1 << 20, &err));
    for (size_t n = 0; n < all.n; n += 7) {
        struct git_index x = GIT_INDEX_INIT;
        buf_add(&x.bytes, str_cut(buf_str(&all), n));
        assert_false(git_index_parse(&x));
        git_index_clear(&x);
    }
    srand(1);
    for (int i = 0; i < 2000; i++) {
        struct git_index x = GIT_INDEX_INIT;
        buf_add(&x.bytes, buf_str(&all));
        for (int k = 0; k < 3; k++)
            x.bytes.p[(size_t)rand() % all.n] = (char)rand();
        git_index_parse(&x);
        for (size_t k = 0; k < x.n; k++)
            assert_true(git_index_find(&x, x.v[k].path) != NULL);
        git_index_clear(&x);
    }
}

/* As a file that grows while it is read: of size 0, with 256 GiB to read. */
static void test_endless_file(void **state)
{
    AUTO(buf) struct buf path = BUF_INIT, bytes = BUF_INIT;
    struct undo_state seen;
    (void)state;
    buf_addf(&path, "/proc/%d/pagemap", (int)getpid());
    if (access(path.p, R_OK) != 0)
        skip();
    alarm(60); /* reading it all takes longer */
    assert_true(undo_look(buf_str(&path), &bytes, &seen));
    alarm(0);
    assert_true(seen.exists && seen.is_large);
    assert_int_equal(bytes.n, 0);
}

static void measure(const char *root)
{
    AUTO(buf) struct buf why = BUF_INIT;
    snprintf(dir, sizeof dir, "%s", root);
    struct undo_places p = {.root = str_of(dir), .copies = STR("/tmp")};
    int64_t start = time_mono_us();
    struct undo_scan *s = undo_scan_new(&p, &why);
    printf("first: %.1f ms %s\n", (double)(time_mono_us() - start) / 1000, why.p ? why.p : "");
    for (int i = 0; s && i < 5; i++) {
        AUTO(undo_changes) struct undo_changes c = {0};
        start = time_mono_us();
        undo_scan_again(s, undo_scan_now_ns(), &c, &why);
        printf("again: %.1f ms, %zu changes\n", (double)(time_mono_us() - start) / 1000, c.n);
    }
    undo_scan_free(s);
}

int main(int argc, char **argv)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(test_changes), TEST(test_others),  TEST(test_places),      TEST(test_own),
        TEST(test_limits),  TEST(test_damaged), TEST(test_endless_file)};
    if (argc > 1) {
        measure(argv[1]);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
