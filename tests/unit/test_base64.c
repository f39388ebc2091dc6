/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include "base/id.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_known(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff", "+/8="},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        AUTO(buf) struct buf back = BUF_INIT;
        assert_true(base64_put(&text, str_of(pairs[i][0])));
        assert_string_equal(buf_str(&text).p, pairs[i][1]);
        assert_int_equal(base64_size(buf_str(&text)), strlen(pairs[i][0]));
        assert_true(base64_get(&back, buf_str(&text)));
        assert_string_equal(buf_str(&back).p, pairs[i][0]);
    }
    AUTO(buf) struct buf url = BUF_INIT;
    base64url_put(&url, STR("\xfb\xff"));
    assert_string_equal(url.p, "-_8");
}

static void test_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Zg",    "Zg=",        "Zg===",    "Z===", "====", "Zh==",  "Zm9=", "Zm9v\n",
        "Zm 9v", "Zm9v\nZm9v", "Zg==Zg==", "Z=g=", "-_8=", "Zm9v!", "=Zm9", "Zm\xc3\xa4"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(buf) struct buf out = BUF_INIT;
        assert_true(base64_size(str_of(bad[i])) == SIZE_MAX);
        assert_false(base64_get(&out, str_of(bad[i])));
    }
}

static void test_random(void **state)
{
    (void)state;
    char bytes[200];
    for (size_t n = 0; n < sizeof bytes; n++) {
        AUTO(buf) struct buf text = BUF_INIT;
        AUTO(buf) struct buf back = BUF_INIT;
        random_bytes(bytes, n);
        base64_put(&text, str_n(bytes, n));
        assert_int_equal(text.n, (n + 2) / 3 * 4);
        assert_int_equal(base64_size(buf_str(&text)), n);
        assert_true(base64_get(&back, buf_str(&text)));
        assert_true(str_eq(buf_str(&back), str_n(bytes, n)));
    }
}

static void test_limits(void **state)
{
    (void)state;
    AUTO(buf) struct buf small = BUF_MAX(5);
    assert_false(base64_put(&small, STR("foobar")));
    buf_reset(&small);
    assert_false(base64_get(&small, STR("Zm9vYmFy")));
    buf_reset(&small);
    assert_true(base64_get(&small, STR("Zm9vYmE=")));
}

static void test_loose(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"QQ==", "A"},     {"QQ", "A"},   {"QQ==QQ==", "A"},
        {"Q Q = =", "A"},  {"QR==", "A"}, {"QUJD-_8", "ABC\xfb\xff"},
        {"QU\nJD", "ABC"}, {"Q", ""},     {"???", ""},
        {"=", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        AUTO(buf) struct buf out = BUF_INIT;
        assert_true(base64_get_loose(&out, str_of(pairs[i][0])));
        assert_true(str_is(buf_str(&out), pairs[i][1]));
    }
    AUTO(buf) struct buf small = BUF_MAX(2);
    assert_false(base64_get_loose(&small, STR("QUJD")));
}

int main(void)
{
    id_fix(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),  cmocka_unit_test(test_strict), cmocka_unit_test(test_random),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_loose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
