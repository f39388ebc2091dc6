/* SPDX-License-Identifier: MIT */
/* The text cutter: lines, progress, head and tail, shares of two streams, the saved file. */
#include "base/mem.h"
#include "base/path.h"
#include "tools/cutter.h"

#include "tools/tape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cut_size small = {100, 200};

static void check_text(struct str in, const char *want)
{
    AUTO(buf) struct buf b = BUF_INIT;
    cut_text(in, small, NULL, &b);
    assert_string_equal(buf_str(&b).p ? b.p : "", want);
}

static void test_lines(void **state)
{
    (void)state;
    check_text(STR(""), "");
    check_text(STR("a\nb"), "a\nb");
    check_text(STR("a\r\nb\r\n"), "a\nb\n");
    check_text(STR("10%\r20%\r30%\ndone\n"), "30%\ndone\n");
    check_text(STR("10%\r20%\r"), "20%");
    check_text(STR("\x1b[31mred\x1b[0m\ta\0b\n"), "red\tab\n");
    check_text(STR("\xc3\xa4\r\xc3\xb6\n"), "\xc3\xb6\n");
}

/* Whatever the pieces are that it comes in, the text is the same. */
static void test_pieces(void **state)
{
    (void)state;
    struct str in = STR("one\r\n2%\r\x1b[1m50%\x1b[0m\nlast\xe2\x82\xac line");
    for (size_t step = 1; step < in.n; step++) {
        struct cutter c;
        AUTO(buf) struct buf b = BUF_INIT;
        cutter_init(&c, NULL);
        for (size_t at = 0; at < in.n; at += step)
            cutter_add(&c, str_cut(str_from(in, at), MIN(step, in.n - at)));
        cutter_flush(&c);
        cutter_put(&c, small, NULL, &b);
        assert_string_equal(b.p, "one\n50%\nlast\xe2\x82\xac line");
        cutter_clear(&c);
    }
}

static void test_cut(void **state)
{
    (void)state;
    AUTO(buf) struct buf in = BUF_INIT, out = BUF_INIT;
    for (int i = 1; i <= 1000; i++)
        buf_addf(&in, "line %d\n", i);
    assert_true(cut_text(buf_str(&in), small, NULL, &out));
    assert_true(str_starts(buf_str(&out), STR("line 1\nline 2\n")));
    assert_true(str_ends(buf_str(&out), STR("line 999\nline 1000\n")));
    assert_non_null(strstr(out.p, "\n[... "));
    assert_non_null(strstr(out.p, " bytes left out ...]\nline 9"));
    assert_true(out.n < 400);
}

/* A line without end is neither held nor lost, and progress without line ends costs nothing. */
static void test_long_lines(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct cutter c;
    cutter_init(&c, NULL);
    for (int i = 0; i < 300000; i++)
        cutter_add(&c, STR("\xc3\xa4"));
    assert_true(c.line.n + c.start.n < 200000);
    cutter_add(&c, STR("\nnext\n"));
    cutter_put(&c, cut_usual.good, NULL, &out);
    assert_non_null(strstr(out.p, "\xc3\xa4 [... cut; the line has 300000 characters]\nnext\n"));
    assert_int_equal(strstr(out.p, " [") - out.p, 2 * CUT_LINE_CHARS);
    for (int i = 0; i < 100000; i++)
        cutter_add(&c, STR("working on it \r"));
    assert_true(c.line.n < 100000);
    cutter_add(&c, STR("ready\n"));
    buf_reset(&out);
    cutter_put(&c, cut_usual.good, NULL, &out);
    assert_true(str_ends(buf_str(&out), STR("next\nready\n")));
    cutter_clear(&c);
}

static void test_pair(void **state)
{
    (void)state;
    char dir[] = "/tmp/test-cutter-XXXXXX";
    assert_non_null(mkdtemp(dir));
    AUTO(buf) struct buf place = BUF_INIT, out = BUF_INIT, err = BUF_INIT, file = BUF_INIT;
    buf_addf(&place, "%s/new", dir);
    struct saved_dir *d = saved_dir_new(buf_str(&place), STR("/shown"));
    struct cut_pair *p = cut_pair_new(d);
    struct error e;
    const char *path;
    cut_pair_add(p, 1, STR("out\n"));
    cut_pair_add(p, 2, STR("err\n"));
    assert_false(cut_pair_put(p, small, &out, &err, &path));
    assert_null(path);
    assert_false(path_exists(buf_str(&place)));
    for (int i = 0; i < 100; i++) {
        cut_pair_add(p, 1, STR("more out\n"));
        cut_pair_add(p, 2, STR("more err\n"));
    }
    buf_reset(&out);
    buf_reset(&err);
    assert_true(cut_pair_put(p, small, &out, &err, &path));
    assert_string_equal(path, "/shown/output-1.txt");
    assert_non_null(strstr(out.p, "; all of the output is in /shown/output-1.txt ...]\n"));
    assert_true(out.n < 400 && err.n < 300);
    cut_pair_add(p, 1, STR("late\n")); /* once the path was given out, nothing waits */
    buf_reset(&place);
    buf_addf(&place, "%s/new/output-1.txt", dir);
    assert_true(path_read(&file, buf_str(&place), 1 << 20, &e));
    assert_true(str_starts(buf_str(&file), STR("out\nerr\nmore out\nmore err\n")));
    assert_true(str_ends(buf_str(&file), STR("more err\nlate\n")));
    cut_pair_free(p);
    saved_dir_free(d);
    assert_int_equal(rmdir(dir), 0);
}

/* A link in the way is not followed, a taken name is passed over. */
static void test_links(void **state)
{
    (void)state;
    char dir[] = "/tmp/test-cutter-XXXXXX";
    assert_non_null(mkdtemp(dir));
    AUTO(buf) struct buf target = BUF_INIT, link = BUF_INIT;
    buf_addf(&target, "%s/target", dir);
    buf_addf(&link, "%s/output-1.txt", dir);
    assert_int_equal(symlink(target.p, link.p), 0);
    struct saved_dir *d = saved_dir_new(str_of(dir), str_of(dir));
    struct saved s;
    saved_init(&s, d);
    saved_add(&s, STR("secret"));
    assert_null(saved_path(&s));
    assert_false(path_exists(buf_str(&target)));
    saved_clear(&s);
    saved_init(&s, d);
    saved_add(&s, STR("text"));
    assert_non_null(strstr(saved_path(&s), "/output-2.txt"));
    saved_clear(&s);
    saved_dir_free(d);
    rmdir(dir);
}

/* What tape_plain leaves out, found byte by byte. */
static void plain_slowly(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0)
            i++;
        else if ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t')
            buf_addc(out, s.p[i]);
    }
}

static void test_plain_by_words(void **state)
{
    (void)state;
    static const char bytes[] = "abc \t\n\x7f\xc2\x85\xc3\xa4\x1f~\x80\xff";
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        AUTO(buf) struct buf text = BUF_INIT, fast = BUF_INIT, slow = BUF_INIT;
        seed = seed * 1664525 + 1013904223;
        size_t n = (seed >> 8) % 40;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            size_t at = (seed >> 8) % (2 * sizeof bytes);
            buf_addc(&text, at < sizeof bytes ? bytes[at] : 'x'); /* with NUL */
        }
        tape_plain(buf_str(&text), &fast);
        plain_slowly(buf_str(&text), &slow);
        assert_int_equal(fast.n, slow.n);
        assert_memory_equal(buf_str(&fast).p, buf_str(&slow).p, slow.n);
        size_t run = tape_plain_run(buf_str(&text));
        assert_true(run == text.n || !((unsigned char)text.p[run] >= 0x20) || text.p[run] == 0x7f ||
                    (unsigned char)text.p[run] == 0xc2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_by_words), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_pieces),         cmocka_unit_test(test_cut),
        cmocka_unit_test(test_long_lines),     cmocka_unit_test(test_pair),
        cmocka_unit_test(test_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
