/* SPDX-License-Identifier: MIT */
/* Tapes: positions, what is kept, cuts, and plain text. */
#include "base/mem.h"
#include "tools/tape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void check_plain(struct str in, const char *out)
{
    AUTO(buf) struct buf b = BUF_INIT;
    tape_plain(in, &b);
    assert_string_equal(buf_str(&b).p, out);
    assert_int_equal(b.n, strlen(out));
}

static void test_plain(void **state)
{
    (void)state;
    check_plain(STR(""), "");
    check_plain(STR("a\tb\nc"), "a\tb\nc");
    check_plain(STR("one\r\ntwo\r\r\nthree\rfour"), "one\ntwo\nthreefour");
    check_plain(STR("\x1b[1;31mred\x1b[0m \x1b[?2004hx\x1b[2 qy"), "red xy");
    check_plain(STR("\x1b]0;title\x07one\x1b]8;;http://x\x1b\\two\x1b(Bthree\x1b=four\x1b"
                    "7five"),
                "onetwothreefourfive");
    check_plain(STR("\x1bPq#0\x1b\\sixel\x1b]no end\nline"), "sixel\nline");
    check_plain(STR("a\0b\x08\x7f\x07\xc2\x9b\xc3\xa4"), "ab\xc3\xa4");
    check_plain(STR("end\x1b"), "end");
    check_plain(STR("end\x1b[12;"), "end");
    check_plain(STR("\x1b\x1b[1mx\x1b[\x01y"), "xy"); /* broken ones take little with them */
}

/* Reads and compares. */
static struct tape_part check_read(struct tape *t, int64_t max, bool is_peek, const char *want)
{
    AUTO(buf) struct buf b = BUF_INIT;
    struct tape_part part = tape_read(t, max, is_peek, &b);
    assert_string_equal(buf_str(&b).p, want);
    return part;
}

static void test_cursor(void **state)
{
    (void)state;
    AUTO(tape) struct tape t;
    tape_init(&t, 1000);
    struct tape_part p = check_read(&t, 10, false, "");
    assert_int_equal(p.cursor, 0);
    assert_false(p.has_more || p.was_dropped);
    tape_add(&t, STR("hello "));
    tape_add(&t, STR("world"));
    assert_int_equal(tape_unread(&t), 11);
    p = check_read(&t, 5, true, "hello");
    assert_int_equal(p.cursor, 5);
    assert_true(p.has_more);
    p = check_read(&t, 8, false, "hello wo");
    assert_int_equal(p.cursor, 8);
    p = tape_look(&t);
    assert_int_equal(p.cursor, 8);
    assert_true(p.has_more);
    p = check_read(&t, 8, false, "rld");
    assert_int_equal(p.cursor, 11);
    assert_false(p.has_more);
    p = check_read(&t, 8, false, "");
    assert_int_equal(p.cursor, 11);
    assert_int_equal(tape_unread(&t), 0);
}

static void test_oldest_go_first(void **state)
{
    (void)state;
    AUTO(tape) struct tape t;
    char line[20];
    tape_init(&t, 100);
    for (int i = 0; i < 10000; i++) { /* 10 characters each */
        snprintf(line, sizeof line, "%08d,\n", i);
        tape_add(&t, str_of(line));
        assert_true(t.text.n <= 150);
    }
    assert_int_equal(tape_unread(&t), 100);
    struct tape_part p = check_read(&t, 15, false, "00009990,\n00009");
    assert_true(p.was_dropped);
    assert_int_equal(p.cursor, 99915);
    p = check_read(&t, 5, false, "991,\n");
    assert_false(p.was_dropped);
    assert_true(p.has_more);
    AUTO(buf) struct buf big = BUF_INIT; /* in one piece, larger than what is kept */
    for (int i = 0; i < 500; i++)
        buf_addc(&big, (char)('0' + i % 10));
    tape_add(&t, buf_str(&big));
    p = check_read(&t, 1000, false, big.p + 400);
    assert_true(p.was_dropped);
    assert_int_equal(p.cursor, 100500);
}

static void test_characters(void **state)
{
    (void)state;
    AUTO(tape) struct tape t;
    tape_init(&t, 10);
    const char *text = "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80x"; /* 1, 1, 2 and 1 characters */
    for (const char *at = text; *at; at++)
        tape_add(&t, str_n(at, 1)); /* byte by byte */
    assert_int_equal(t.end, 5);
    struct tape_part p = check_read(&t, 3, false, "\xc3\xa4\xe2\x82\xac");
    assert_int_equal(p.cursor, 2); /* never half a character */
    p = check_read(&t, 1, false, "\xf0\x9f\x98\x80");
    assert_int_equal(p.cursor, 4); /* but on and on */
    check_read(&t, 9, false, "x");
    tape_add(&t, STR("\xff\xfe!\xe2\x82"));
    check_read(&t, 9, false, "\xef\xbf\xbd\xef\xbf\xbd!");
    tape_finish(&t);
    check_read(&t, 9, false, "\xef\xbf\xbd");
    for (int i = 0; i < 100; i++)
        tape_add(&t, STR("\xf0\x9f\x98\x80"));
    p = check_read(
        &t, 100, false,
        "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80");
    assert_true(p.was_dropped);
    assert_int_equal(p.cursor, t.end);
    tape_add(
        &t,
        STR("z\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80y"));
    p = check_read(&t, 100, false, /* the limit lies inside of a character */
                   "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80y");
    assert_int_equal(p.cursor, t.end);
}

static void test_cut_between_sequences(void **state)
{
    (void)state;
    const char *text = "ab\x1b[1;32mcd\x1b]0;name\x1b\\ef\r\n\x1b[0m";
    for (int64_t max = 1; max < 40; max++) { /* wherever a read ends */
        AUTO(tape) struct tape t;
        AUTO(buf) struct buf b = BUF_INIT;
        struct tape_part p;
        tape_init(&t, 1000);
        tape_add(&t, str_of(text));
        do
            p = tape_read(&t, MAX(max, 9), false, &b);
        while (p.has_more);
        assert_string_equal(b.p, "abcdef\n");
    }
    AUTO(tape) struct tape t; /* a sequence longer than a read does not stop it */
    tape_init(&t, 1000);
    tape_add(&t, STR("\x1b]0;0123456789\x07x"));
    for (int i = 0; i < 20; i++) {
        AUTO(buf) struct buf b = BUF_INIT;
        tape_read(&t, 3, false, &b);
    }
    assert_int_equal(tape_unread(&t), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_oldest_go_first),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_cut_between_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
