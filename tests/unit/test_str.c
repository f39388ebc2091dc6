/* SPDX-License-Identifier: MIT */
/* Strings, buffers, arenas, and the error text that is built on them. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define assert_str(s, z) assert_true(str_is((s), (z)))

static void test_compare(void **state)
{
    (void)state;
    assert_true(str_eq(STR("ab"), STR("ab")));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_true(str_eq(STR_NONE, STR("")));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("a"), STR("ab")) < 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_int_equal(str_cmp(STR_NONE, STR("")), 0);
    assert_true(str_ieq(STR("Content-Length"), STR("cONTENT-lENGTH")));
    assert_false(str_ieq(STR("a"), STR("ab")));
    assert_true(str_eq(str_n("a\0b", 3), STR("a\0b")));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
}

static void test_search(void **state)
{
    (void)state;
    struct str s = STR("one two One");
    assert_true(str_starts(s, STR("one")));
    assert_false(str_starts(STR("on"), STR("one")));
    assert_true(str_ends(s, STR("One")));
    assert_int_equal(str_find(s, STR("two")), 4);
    assert_int_equal(str_find(s, STR("")), 0);
    assert_int_equal(str_find(s, STR("three")), SIZE_MAX);
    assert_int_equal(str_find(STR_NONE, STR("x")), SIZE_MAX);
    assert_int_equal(str_ifind(s, STR("ONE")), 0);
    assert_int_equal(str_ifind(s, STR("TWO")), 4);
    assert_int_equal(str_ifind(s, STR("ONEX")), SIZE_MAX);
    assert_int_equal(str_chr(s, 'o'), 0);
    assert_int_equal(str_rchr(s, 'o'), 6);
    assert_int_equal(str_chr(STR_NONE, 'o'), SIZE_MAX);
    assert_int_equal(str_rchr(STR_NONE, 'o'), SIZE_MAX);
}

static void test_cut(void **state)
{
    (void)state;
    assert_str(str_from(STR("abc"), 1), "bc");
    assert_str(str_from(STR("abc"), 9), "");
    assert_str(str_cut(STR("abc"), 2), "ab");
    assert_str(str_cut(STR("abc"), 9), "abc");
    assert_null(str_from(STR_NONE, 3).p);
    assert_str(str_trim(STR(" \t\r\n\v\f a b \n")), "a b");
    assert_str(str_trim(STR("  ")), "");
    assert_true(str_is_blank(STR(" \n")));
    assert_true(str_is_blank(STR_NONE));
    assert_false(str_is_blank(STR(" x")));
    struct str head;
    assert_str(str_split(STR("a:b:c"), ':', &head), "b:c");
    assert_str(head, "a");
    assert_null(str_split(STR("abc"), ':', &head).p);
    assert_str(head, "abc");
    struct str rest = str_split(STR("abc:"), ':', &head);
    assert_non_null(rest.p);
    assert_int_equal(rest.n, 0);
}

static void test_lines(void **state)
{
    (void)state;
    struct str rest = STR("a\n\nb\r\nc"), line;
    assert_true(str_line(&rest, &line));
    assert_str(line, "a");
    assert_true(str_line(&rest, &line));
    assert_str(line, "");
    assert_true(str_line(&rest, &line));
    assert_str(line, "b\r");
    assert_true(str_line(&rest, &line));
    assert_str(line, "c");
    assert_false(str_line(&rest, &line));
    rest = STR("x\n");
    assert_true(str_line(&rest, &line));
    assert_false(str_line(&rest, &line));
}

static void test_int(void **state)
{
    (void)state;
    int64_t v = 7;
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      " 1",
                                      "1 ",
                                      "1x",
                                      "0x1",
                                      "1.0",
                                      "--1",
                                      "9223372036854775808",
                                      "-9223372036854775809"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(str_int(str_of(bad[i]), &v));
    assert_int_equal(v, 7);
    assert_true(str_int(STR("-12"), &v) && v == -12);
    assert_true(str_int(STR("+12"), &v) && v == 12);
    assert_true(str_int(STR("9223372036854775807"), &v) && v == INT64_MAX);
    assert_true(str_int(STR("-9223372036854775808"), &v) && v == INT64_MIN);
}

static void test_hash_and_copy(void **state)
{
    (void)state;
    assert_true(str_hash(STR("a")) == 0xaf63dc4c8601ec8cu);
    assert_true(str_hash(STR("")) == 0xcbf29ce484222325u);
    AUTO_FREE char *z = str_dup(STR("abc"));
    assert_string_equal(z, "abc");
    AUTO_FREE char *empty = str_dup(STR_NONE);
    assert_string_equal(empty, "");
}

static void test_buf_grows(void **state)
{
    (void)state;
    AUTO(buf) struct buf b = BUF_INIT;
    assert_string_equal(buf_str(&b).p, "");
    for (int i = 0; i < 10000; i++)
        assert_true(buf_addf(&b, "%d,", i % 10));
    assert_int_equal(b.n, 20000);
    assert_int_equal(b.p[b.n], 0);
    buf_cut(&b, 4);
    assert_string_equal(b.p, "0,1,");
    buf_cut(&b, 100);
    buf_drop(&b, 2);
    assert_string_equal(b.p, "1,");
    buf_drop(&b, 2);
    assert_string_equal(b.p, "");
    buf_add(&b, STR_NONE);
    assert_int_equal(b.n, 0);
    buf_shrink(&b, 10);
    assert_null(b.p);
    buf_addz(&b, "x");
    buf_shrink(&b, 1000);
    assert_non_null(b.p);
    assert_string_equal(b.p, "");
}

static void test_buf_has_a_limit(void **state)
{
    (void)state;
    AUTO(buf) struct buf b = BUF_MAX(5);
    assert_true(buf_addz(&b, "abc"));
    assert_false(buf_addz(&b, "def"));
    assert_true(b.full);
    assert_string_equal(b.p, "abc");
    assert_true(buf_addz(&b, "de"));
    assert_false(buf_addc(&b, 'f'));
    assert_false(buf_addf(&b, "%d", 1));
    assert_true(b.full);
    assert_null(buf_space(&b, SIZE_MAX));
    buf_reset(&b);
    assert_false(b.full);
    assert_true(buf_addz(&b, "abcde"));
    AUTO_FREE char *taken = buf_take(&b);
    assert_string_equal(taken, "abcde");
    assert_int_equal(b.n, 0);
    assert_int_equal(b.limit, 5);
    assert_false(buf_addz(&b, "abcdef"));
    AUTO_FREE char *nothing = buf_take(&b);
    assert_string_equal(nothing, "");
}

static void test_buf_space(void **state)
{
    (void)state;
    AUTO(buf) struct buf b = BUF_INIT;
    char *at = buf_space(&b, 3);
    memcpy(at, "xyz", 3);
    buf_added(&b, 3);
    assert_string_equal(b.p, "xyz");
}

static void test_arena(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    for (size_t n = 0; n < 300; n++) {
        unsigned char *p = arena_alloc(&a, n * 37);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n * 37; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n * 37);
    }
    struct str s = arena_str(&a, STR("abc"));
    assert_string_equal(s.p, "abc");
    assert_null(arena_str(&a, STR_NONE).p);
    assert_non_null(arena_str(&a, STR("")).p);
    assert_string_equal(arena_fmt(&a, "%d-%s", 5, "x").p, "5-x");
    assert_string_equal(arena_strz(&a, STR_NONE), "");
    assert_true(a.used > 0);
    arena_clear(&a);
    assert_int_equal(a.used, 0);
    int *array = arena_array(&a, int, 10);
    array[9] = 1;
}

static void test_error(void **state)
{
    (void)state;
    struct error err;
    assert_false(error_set(&err, ERR_RATE, "too %s\nquick", "much"));
    assert_int_equal(err.code, ERR_RATE);
    assert_int_equal(err.origin, ORIGIN_REMOTE);
    assert_string_equal(err.text, "too much quick");
    assert_false(error_errno(&err, ENOENT, "open %s", "/x"));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(err.status, ENOENT);
    assert_string_equal(err.text, "open /x: No such file or directory");
    error_prefix(&err, "reading %d", 1);
    assert_string_equal(err.text, "reading 1: open /x: No such file or directory");
    error_errno(&err, ENOSPC, "w");
    assert_int_equal(err.code, ERR_DISK_FULL);
    error_errno(&err, EROFS, "w");
    assert_int_equal(err.code, ERR_DENIED);
    error_set_origin(&err, ERR_IO, ORIGIN_UNKNOWN, "%s", "");
    assert_int_equal(err.origin, ORIGIN_UNKNOWN);
    assert_true(err.text[0] != '\0');
    for (enum err_code c = ERR_NONE; c < ERR_N_CODES; c++)
        assert_string_not_equal(err_code_name(c), "unknown");
}

/* Whatever goes in, the text is valid UTF-8 and ends inside its buffer. */
static void test_error_text_is_utf8(void **state)
{
    (void)state;
    struct error err;
    char text[700];
    for (size_t n = 490; n < 510; n++) {
        AUTO(buf) struct buf b = BUF_INIT;
        while (b.n < n)
            buf_addz(&b, b.n % 2 ? "\xe2\x82\xac" : "x");
        error_set(&err, ERR_IO, "%s", b.p);
        assert_true(utf8_is_valid(error_str(&err)));
        assert_true(strlen(err.text) > 480);
        error_prefix(&err, "%.*s", (int)(n - 350), b.p);
        assert_true(utf8_is_valid(error_str(&err)));
    }
    memset(text, 0xff, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(&err, ERR_IO, "%s", text);
    assert_true(utf8_is_valid(error_str(&err)));
    error_set(&err, ERR_IO, "a\xffz");
    assert_string_equal(err.text, "a\xef\xbf\xbdz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),   cmocka_unit_test(test_search),
        cmocka_unit_test(test_cut),       cmocka_unit_test(test_lines),
        cmocka_unit_test(test_int),       cmocka_unit_test(test_hash_and_copy),
        cmocka_unit_test(test_buf_grows), cmocka_unit_test(test_buf_has_a_limit),
        cmocka_unit_test(test_buf_space), cmocka_unit_test(test_arena),
        cmocka_unit_test(test_error),     cmocka_unit_test(test_error_text_is_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
