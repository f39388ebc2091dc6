/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c = c < 0x3000 || c > 0xd000 ? c + 1 : c + 97) {
        AUTO(buf) struct buf b = BUF_INIT;
        uint32_t back = 0xffffffff;
        utf8_put(&b, c);
        size_t n = utf8_get(buf_str(&b), &back);
        if (c >= 0xd800 && c <= 0xdfff) {
            assert_int_equal(n, 0);
            assert_false(utf8_is_valid(buf_str(&b)));
            continue;
        }
        assert_int_equal(n, b.n);
        assert_int_equal(back, c);
        assert_true(utf8_is_valid(buf_str(&b)));
        assert_int_equal(utf8_chars(buf_str(&b)), 1);
        assert_int_equal(utf8_utf16_len(buf_str(&b)), c > 0xffff ? 2 : 1);
        /* Every proper beginning is unfinished. */
        for (size_t k = 1; k < b.n; k++) {
            assert_int_equal(utf8_get(str_cut(buf_str(&b), k), &back), 0);
            assert_int_equal(utf8_unfinished(str_cut(buf_str(&b), k)), k);
        }
        assert_int_equal(utf8_unfinished(buf_str(&b)), 0);
        if (c > 0x10000)
            c += 251;
    }
}

static void test_invalid(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xc3",
        "\xe2\x82",
        "\xf0\x9f\x98",
        "\xc3(",
        "\xe2\x82(",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(utf8_valid(str_of(bad[i])), 0);
        AUTO(buf) struct buf b = BUF_INIT;
        /* Behind plain text of every alignment, and with text behind it. */
        for (int k = 0; k < 20; k++)
            buf_addc(&b, 'a');
        buf_addz(&b, bad[i]);
        buf_addz(&b, "zzz");
        for (size_t from = 0; from < 20; from++)
            assert_int_equal(utf8_valid(str_from(buf_str(&b), from)), 20 - from);
        AUTO(buf) struct buf fixed = BUF_INIT;
        assert_true(utf8_repair(&fixed, buf_str(&b)));
        assert_true(utf8_is_valid(buf_str(&fixed)));
        assert_true(str_ends(buf_str(&fixed), STR("zzz")));
        assert_true(str_find(buf_str(&fixed), STR("\xef\xbf\xbd")) == 20);
    }
    assert_int_equal(utf8_get(STR_NONE, &(uint32_t){0}), 0);
    assert_true(utf8_is_valid(STR("")));
    assert_true(utf8_is_valid(STR("a\0b")));
}

static void repairs_to(const char *in, const char *want)
{
    AUTO(buf) struct buf b = BUF_INIT;
    utf8_repair(&b, str_of(in));
    assert_string_equal(b.p, want);
}

#define R "\xef\xbf\xbd"

static void test_repair(void **state)
{
    (void)state;
    repairs_to("", "");
    repairs_to("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
    repairs_to("a\xff\xfe"
               "b",
               "a" R R "b");
    repairs_to("\xf0\x9f\x98", R); /* one unfinished character is one bad unit */
    repairs_to("\xf0\x9f\x98(", R "(");
    repairs_to("\xed\xa0\x80", R R R); /* no byte of a surrogate begins anything */
    repairs_to("\xe2\x82\xe2\x82\xac", R "\xe2\x82\xac");
    AUTO(buf) struct buf small = BUF_MAX(3);
    assert_false(utf8_repair(&small, STR("ab\xff")));
}

/* A text in pieces, "|" between them. */
static void joins_to(const char *pieces, const char *text)
{
    AUTO(buf) struct buf all = BUF_INIT;
    struct utf8_half half = {0};
    struct str rest = str_of(pieces), piece;
    while (rest.p) {
        AUTO(buf) struct buf joined = BUF_INIT;
        size_t at = str_chr(rest, '|');
        piece = at == SIZE_MAX ? rest : str_cut(rest, at);
        rest = at == SIZE_MAX ? STR_NONE : str_from(rest, at + 1);
        struct str got = utf8_join(&half, piece, &joined);
        assert_true(utf8_is_valid(got));
        buf_add(&all, got);
    }
    for (size_t i = 0; i < half.n; i++)
        buf_addf(&all, "<%02x>", (unsigned char)half.bytes[i]);
    assert_string_equal(buf_str(&all).p, text);
}

static void test_join(void **state)
{
    (void)state;
    joins_to("a|b|", "ab");
    joins_to("\xe4|\xb8|\x96", "\xe4\xb8\x96");
    joins_to("\xf0\x9f|\x98\x80|!", "\xf0\x9f\x98\x80!");
    joins_to("a\xf0\x9f\x98", "a<f0><9f><98>");
    joins_to("\xe4|b", R "b");
    joins_to("\xe4\xb8||\x96", "\xe4\xb8\x96"); /* nothing in between */
    joins_to("\xff|\x80"
             "a",
             R R "a");
    /* Surrogates: together, in two pieces, the wrong way round, alone. */
    joins_to("\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80");
    joins_to("x\xed\xa0\xbd|\xed\xb8\x80y", "x\xf0\x9f\x98\x80y");
    joins_to("\xed\xb8\x80|\xed\xa0\xbd|y", R R "y");
    joins_to("\xed\xa0\xbd|\xed\xa0\xbd|\xed\xb8\x80", R "\xf0\x9f\x98\x80");
    joins_to("\xed\xa0\xbd", "<ed><a0><bd>");
    joins_to("\xed\xa0\xbd\xe4|\xb8\x96", R "\xe4\xb8\x96");
}

static void test_cut(void **state)
{
    (void)state;
    struct str s = STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"); /* 1 2 3 4 1 bytes */
    static const size_t bytes[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t n = 0; n < ARRAY_LEN(bytes); n++)
        assert_int_equal(utf8_cut(s, n).n, bytes[n]);
    static const size_t chars[] = {0, 1, 3, 6, 10, 11, 11};
    for (size_t n = 0; n < ARRAY_LEN(chars); n++)
        assert_int_equal(utf8_cut_chars(s, n).n, chars[n]);
    assert_int_equal(utf8_chars(s), 5);
    assert_int_equal(utf8_utf16_len(s), 6);
    assert_int_equal(utf8_cut(STR_NONE, 3).n, 0);
    assert_int_equal(utf8_unfinished(STR("abc")), 0);
    assert_int_equal(utf8_unfinished(STR("\x80\x80\x80\x80")), 0);
}

static struct str collapsed(struct buf *out, const char *text)
{
    buf_reset(out);
    utf8_collapse(out, str_of(text));
    return buf_str(out);
}

static void test_white_space(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    static const uint32_t spaces[] = {'\t',   '\v',   ' ',    0xa0,   0x1680, 0x2000, 0x200a,
                                      0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff};
    static const uint32_t others[] = {0x1f, 0x85, 0x180e, 0x200b, 0x2060, 0x3001, 'a'};
    for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
        AUTO(buf) struct buf c = BUF_INIT;
        utf8_put(&c, spaces[i]);
        assert_int_equal(utf8_space_first(buf_str(&c)), c.n);
        assert_int_equal(utf8_space_last(buf_str(&c)), c.n);
        assert_int_equal(utf8_trim(buf_str(&c)).n, 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        AUTO(buf) struct buf c = BUF_INIT;
        utf8_put(&c, others[i]);
        assert_int_equal(utf8_space_first(buf_str(&c)), 0);
        assert_int_equal(utf8_space_last(buf_str(&c)), 0);
    }
    assert_true(str_is(utf8_trim(STR("\ufeff\u00a0 a\u3000b\u2028\n")), "a\u3000b"));
    assert_int_equal(utf8_trim(STR("")).n, 0);
    assert_true(str_is(collapsed(&out, " \u00a0a \u2003\n b\u3000"), "a b"));
    assert_true(str_is(collapsed(&out, "\u2028"), ""));
    AUTO(buf) struct buf few = BUF_MAX(4);
    utf8_collapse(&few, STR("a  b  c"));
    assert_true(str_is(buf_str(&few), "a b "));
    assert_true(str_is(utf8_cut_utf16(STR("a\U0001f600b"), 2), "a"));
    assert_true(str_is(utf8_cut_utf16(STR("a\U0001f600b"), 3), "a\U0001f600"));
}

/* Counting eight bytes at a time is the same as counting one by one, at every length and place. */
static void test_counts(void **state)
{
    (void)state;
    char bytes[80];
    uint32_t seed = 12345;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; from + n <= sizeof bytes; n++) {
            size_t ascii = 0, chars = 0;
            for (size_t i = from; i < from + n; i++) {
                ascii += (unsigned char)bytes[i] < 0x80;
                chars += ((unsigned char)bytes[i] & 0xc0) != 0x80;
            }
            assert_int_equal(utf8_ascii(str_n(bytes + from, n)), ascii);
            assert_int_equal(utf8_chars(str_n(bytes + from, n)), chars);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),      cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_invalid),     cmocka_unit_test(test_repair),
        cmocka_unit_test(test_join),        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_white_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
