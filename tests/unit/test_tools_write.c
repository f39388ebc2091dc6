/* SPDX-License-Identifier: MIT */
/* Writing, editing, and the diffs that show it. */
#include "tool_scene.h"

#include "tools/change.h"
#include "tools/diff.h"
#include "tools/write.h"

#include <dirent.h>

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void test_write_keeps_rights_and_leaves_nothing(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    scene_open(&s);
    mode_t old = umask(027);
    assert_true(write_bytes(str_of(scene_path(&s, "new")), STR("x"), &err));
    umask(old);
    assert_int_equal(mode_of(scene_path(&s, "new")), 0640);
    scene_put(&s, "run.sh", "old");
    assert_int_equal(chmod(scene_path(&s, "run.sh"), 0751), 0);
    assert_true(write_bytes(str_of(scene_path(&s, "run.sh")), STR("new text"), &err));
    assert_int_equal(mode_of(scene_path(&s, "run.sh")), 0751);
    assert_file(&s, "run.sh", "new text");
    assert_false(write_bytes(str_of(scene_path(&s, "no/such/file")), STR("x"), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(write_bytes(str_of(s.dir), STR("x"), &err));
    assert_int_equal(err.code, ERR_INVALID);
    int n = 0;
    DIR *d = opendir(s.dir);
    while (readdir(d))
        n++;
    closedir(d);
    assert_int_equal(n, 4); /* . .. new run.sh: no temporary file */
    scene_close(&s);
}

/* A link is written through: the caller resolves, the link stays a link. */
static void test_write_through_link(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    struct stat st;
    AUTO(buf) struct buf path = BUF_INIT;
    scene_open(&s);
    scene_put(&s, "real.txt", "old");
    assert_int_equal(symlink("real.txt", scene_path(&s, "link")), 0);
    assert_true(tool_path(&s.cx, STR("link"), &path, &err));
    assert_true(write_bytes(buf_str(&path), STR("new"), &err));
    assert_file(&s, "real.txt", "new");
    assert_int_equal(lstat(scene_path(&s, "link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    scene_close(&s);
}

static void test_shape(void **state)
{
    (void)state;
    AUTO(buf) struct buf off = BUF_INIT, on = BUF_INIT;
    struct str text = STR("\xef\xbb\xbf"
                          "a\r\nb\r\n");
    struct shape s = shape_of(text);
    assert_true(s.has_bom && s.is_crlf);
    shape_off(s, text, &off);
    assert_string_equal(off.p, "a\nb\n");
    shape_on(s, buf_str(&off), &on);
    assert_true(str_eq(buf_str(&on), text));
    assert_false(shape_of(STR("a\r\nb\n")).is_crlf); /* mixed stays as it is */
    assert_false(shape_of(STR("a\rb")).is_crlf);
    assert_false(shape_of(STR("")).is_crlf);
    assert_false(shape_of(STR("a\r\r\nb\r\n")).is_crlf); /* could not be put back */
    assert_false(shape_of(STR("\xef\xbb\xbf\xef\xbb\xbf")).has_bom);
}

static void test_write_keeps_shape(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    AUTO(change) struct change c = CHANGE_INIT;
    scene_open(&s);
    scene_put(&s, "dos.txt",
              "\xef\xbb\xbf"
              "a\r\nb\r\n");
    assert_true(change_write(str_of(scene_path(&s, "dos.txt")), STR("a\nc\n"), &c, &err));
    assert_file(&s, "dos.txt",
                "\xef\xbb\xbf"
                "a\r\nc\r\n");
    assert_int_equal(c.n_bytes, 9);
    assert_true(c.existed && c.is_comparable);
    AUTO(buf) struct buf diff = BUF_INIT;
    assert_true(change_diff(&c, STR("dos.txt"), true, &diff));
    assert_string_equal(diff.p, "--- dos.txt\n+++ dos.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    AUTO(change) struct change d = CHANGE_INIT;
    assert_true(change_write(str_of(scene_path(&s, "crlf.txt")), STR("x\r\ny\r\n"), &d, &err));
    assert_file(&s, "crlf.txt", "x\r\ny\r\n"); /* a new file gets what was asked for */
    assert_false(d.existed);
    scene_close(&s);
}

static struct edit_report apply(const char *text, const struct edit *e, size_t n, bool everywhere,
                                struct buf *out)
{
    buf_reset(out);
    return edit_apply(str_of(text), e, n, everywhere, out);
}

static void test_edits(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct edit two[] = {{STR("three"), STR("3")}, {STR("one"), STR("1")}};
    struct edit_report r = apply("one two three", two, 2, false, &out);
    assert_int_equal(r.fault, EDIT_FINE);
    assert_int_equal(r.count, 2);
    assert_string_equal(out.p, "1 two 3");

    /* Each edit is held against the original: the result of one is no target of another. */
    struct edit chain[] = {{STR("a"), STR("b")}, {STR("b"), STR("c")}};
    assert_int_equal(apply("a", chain, 2, false, &out).fault, EDIT_NOT_FOUND);

    struct edit many[] = {{STR("a"), STR("b")}};
    r = apply("a a a", many, 1, false, &out);
    assert_int_equal(r.fault, EDIT_MANY);
    assert_int_equal(r.count, 3);
    assert_int_equal(out.n, 0);
    r = apply("a a a", many, 1, true, &out);
    assert_int_equal(r.count, 3);
    assert_string_equal(out.p, "b b b");

    struct edit over[] = {{STR("bcd"), STR("x")}, {STR("zz"), STR("y")}, {STR("abc"), STR("z")}};
    r = apply("abcde zz", over, 3, false, &out);
    assert_int_equal(r.fault, EDIT_OVERLAP);
    assert_int_equal(r.i, 0);
    assert_int_equal(r.j, 2);

    struct edit same[] = {{STR("a"), STR("a")}}, empty[] = {{STR(""), STR("a")}};
    assert_int_equal(apply("a", same, 1, false, &out).fault, EDIT_NO_CHANGE);
    assert_int_equal(apply("a", empty, 1, false, &out).fault, EDIT_EMPTY);
    assert_int_equal(apply("a", same, 0, false, &out).fault, EDIT_NONE);
}

static void test_edit_of_dos_file(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    struct edit_report r;
    struct edit e = {STR("a\nb"), STR("a\nx\ny")};
    AUTO(change) struct change c = CHANGE_INIT;
    scene_open(&s);
    scene_put(&s, "dos.txt",
              "\xef\xbb\xbf"
              "a\r\nb\r\nc\r\n");
    assert_true(change_edit(str_of(scene_path(&s, "dos.txt")), &(struct edit_list){&e, 1, false},
                            &c, &r, &err));
    assert_int_equal(r.fault, EDIT_FINE);
    assert_file(&s, "dos.txt",
                "\xef\xbb\xbf"
                "a\r\nx\r\ny\r\nc\r\n");
    AUTO(change) struct change again = CHANGE_INIT;
    assert_true(change_edit(str_of(scene_path(&s, "dos.txt")), &(struct edit_list){&e, 1, false},
                            &again, &r, &err));
    assert_int_equal(r.fault, EDIT_NOT_FOUND);
    AUTO(change) struct change bin = CHANGE_INIT;
    scene_put_bytes(&s, "bin", STR("a\0b"));
    assert_false(change_edit(str_of(scene_path(&s, "bin")), &(struct edit_list){&e, 1, false}, &bin,
                             &r, &err));
    scene_close(&s);
}

static void check_diff(const char *a, const char *b, bool one_hunk, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct diff_options o = {.name = STR("f"), .context = 1, .is_one_hunk = one_hunk};
    assert_true(diff_unified(&o, str_of(a), str_of(b), &out));
    assert_string_equal(buf_str(&out).p, want);
}

static void test_diff(void **state)
{
    (void)state;
    check_diff("a\n", "a\n", false, "");
    check_diff("", "a\nb\n", false, "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    check_diff("a\n", "", false, "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n");
    check_diff("a\nb\nc\n", "a\nc\n", false, "--- f\n+++ f\n@@ -1,3 +1,2 @@\n a\n-b\n c\n");
    check_diff("a", "a\n", false,
               "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
    const char *a = "1\n2\n3\n4\n5\n6\n7\n", *b = "1\nx\n3\n4\n5\ny\n7\n";
    check_diff(a, b, false,
               "--- f\n+++ f\n@@ -1,3 +1,3 @@\n 1\n-2\n+x\n 3\n"
               "@@ -5,3 +5,3 @@\n 5\n-6\n+y\n 7\n");
    check_diff(a, b, true, "--- f\n+++ f\n@@ -1,7 +1,7 @@\n 1\n-2\n+x\n 3\n 4\n 5\n-6\n+y\n 7\n");
}

/* Applies the hunks of a diff to the old text, as patch would. */
static void patch(struct str old, struct str diff, struct buf *out)
{
    struct str line, keep;
    long at = 1;
    str_line(&diff, &line);
    str_line(&diff, &line);
    while (str_line(&diff, &line)) {
        if (line.p[0] == '@') {
            long to = strtol(line.p + 4, NULL, 10);
            if (str_find(line, STR(",0 +")) != SIZE_MAX)
                to++;
            for (; at < to && str_line(&old, &keep); at++)
                buf_addf(out, "%.*s\n", STR_FMT(keep));
            continue;
        }
        if (line.p[0] != '+') {
            assert_true(str_line(&old, &keep));
            assert_true(str_eq(keep, str_from(line, 1)));
            at++;
        }
        if (line.p[0] != '-')
            buf_addf(out, "%.*s\n", STR_FMT(str_from(line, 1)));
    }
    while (str_line(&old, &keep))
        buf_addf(out, "%.*s\n", STR_FMT(keep));
}

static void random_text(struct buf *b, unsigned *seed, int lines, int kinds)
{
    for (int i = 0; i < lines; i++)
        buf_addf(b, "line %d\n", rand_r(seed) % kinds);
}

/* Whatever the texts, the diff leads from one to the other; beyond the cap too. */
static void test_diff_leads_to_the_new_text(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int i = 0; i < 300; i++) {
        AUTO(buf) struct buf a = BUF_INIT, b = BUF_INIT, diff = BUF_INIT, made = BUF_INIT;
        int scale = i == 299 ? 3000 : 30;
        random_text(&a, &seed, rand_r(&seed) % scale, 2 + i % 9 + (scale > 100 ? 100000 : 0));
        random_text(&b, &seed, rand_r(&seed) % scale, 2 + i % 9 + (scale > 100 ? 100000 : 0));
        struct diff_options o = {.name = STR("f"), .context = (unsigned)i % 4};
        assert_true(diff_unified(&o, buf_str(&a), buf_str(&b), &diff));
        if (diff.n == 0)
            continue;
        patch(buf_str(&a), buf_str(&diff), &made);
        assert_true(str_eq(buf_str(&made), buf_str(&b)));
    }
}

static void test_diff_is_cut_at_a_line(void **state)
{
    (void)state;
    AUTO(buf) struct buf b = BUF_INIT, out = BUF_MAX(100);
    struct diff_options o = {.name = STR("f"), .context = 3};
    for (int i = 0; i < 100; i++)
        buf_addf(&b, "line %d\n", i);
    assert_false(diff_unified(&o, STR(""), buf_str(&b), &out));
    assert_true(out.n <= 100);
    assert_true(str_ends(buf_str(&out), STR("\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_keeps_rights_and_leaves_nothing),
        cmocka_unit_test(test_write_through_link),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_write_keeps_shape),
        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_edit_of_dos_file),
        cmocka_unit_test(test_diff),
        cmocka_unit_test(test_diff_leads_to_the_new_text),
        cmocka_unit_test(test_diff_is_cut_at_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
