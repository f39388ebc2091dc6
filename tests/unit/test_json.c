/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "base/id.h"
#include "base/utf8.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static bool parses(struct str text, unsigned flags, unsigned depth, struct error *err)
{
    AUTO(json) struct json j = JSON_INIT;
    bool ok = json_parse(text, flags, depth, &j, err);
    assert_true(ok == (j.doc != NULL));
    return ok;
}

/* Parses and writes again. */
static void comes_back_as(const char *in, unsigned flags, const char *want)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct error err = ERROR_INIT;
    if (!json_parse(str_of(in), flags, 512, &j, &err))
        fail_msg("%s: %s", in, err.text);
    struct jw w = JW(&out);
    jw_val(&w, j.root);
    assert_string_equal(out.p, want);
}

static void test_parse(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    static const char *const good[] = {"{}", " [1, 2] ", "null",    "\"x\"",
                                       "-0", "1e400",    "\r\n{}\r"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(parses(str_of(good[i]), 0, 512, &err));
    assert_int_equal(err.code, ERR_NONE);
    static const char *const bad[] = {"",
                                      " ",
                                      "{",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "'a'",
                                      "NaN",
                                      "Infinity",
                                      "{} {}",
                                      "// x\n1",
                                      "\"\t\"",
                                      "01",
                                      "\xef\xbb\xbf{}",
                                      "\"\\x\"",
                                      "\"\xff\"",
                                      "tru",
                                      "\"\\ud800\"",
                                      "+1",
                                      "\"a",
                                      "1e"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = ERROR_INIT;
        assert_false(parses(str_of(bad[i]), 0, 512, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(err.text[0] != '\0');
    }
    assert_false(parses(STR("{}\0"), 0, 512, &err));
}

static void test_every_prefix_is_refused(void **state)
{
    (void)state;
    struct str text = STR("{\"a\":[1,-2.5e3,true,null,\"\\ud83d\\ude00\xc3\xa4\"],\"b\":{}}");
    struct error err;
    for (size_t n = 0; n < text.n; n++) {
        char *copy = str_dup(str_cut(text, n));
        assert_false(parses(str_n(copy, n), JSON_FIX_SURROGATES | JSON_FIX_UTF8, 512, &err));
        free(copy);
    }
    assert_true(parses(text, 0, 512, &err));
}

static void test_depth(void **state)
{
    (void)state;
    struct error err;
    assert_true(parses(STR("[[[1]]]"), 0, 3, &err));
    assert_false(parses(STR("[[[[1]]]]"), 0, 3, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(parses(STR("[[],[],[],[{}]]"), 0, 3, &err));
    assert_true(parses(STR("\"[[[[[[\""), 0, 3, &err));
    assert_true(parses(STR("[\"\\\"[[[[[[\"]"), 0, 3, &err));
    AUTO(buf) struct buf deep = BUF_INIT;
    for (int i = 0; i < 1000000; i++)
        buf_addc(&deep, '[');
    assert_false(parses(buf_str(&deep), 0, 512, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void test_repairs(void **state)
{
    (void)state;
    struct error err;
    comes_back_as("\"\\ud83d\\ude00\"", 0, "\"\xf0\x9f\x98\x80\"");
    comes_back_as("\"a\\ud83dz\"", JSON_FIX_SURROGATES, "\"a\xef\xbf\xbdz\"");
    comes_back_as("\"\\ude00\"", JSON_FIX_SURROGATES, "\"\xef\xbf\xbd\"");
    comes_back_as("\"\\ud83d\\ud83d\\ude00\"", JSON_FIX_SURROGATES,
                  "\"\xef\xbf\xbd\xf0\x9f\x98\x80\"");
    comes_back_as("\"\\\\ud83d\"", JSON_FIX_SURROGATES, "\"\\\\ud83d\"");
    comes_back_as("[\"\\ud83d\",\"\\\\ud83d\"]", JSON_FIX_SURROGATES,
                  "[\"\xef\xbf\xbd\",\"\\\\ud83d\"]");
    assert_false(parses(STR("\"\\ud83d"), JSON_FIX_SURROGATES, 512, &err));
    assert_false(parses(STR("\"\\ud83d\" x"), JSON_FIX_SURROGATES, 512, &err));
    comes_back_as("\"a\xff\"", JSON_FIX_UTF8, "\"a\xef\xbf\xbd\"");
    comes_back_as("\"a\xff\\ud800\"", JSON_FIX_UTF8 | JSON_FIX_SURROGATES,
                  "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void keeps(const char *text, const char *bytes)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error err;
    assert_true(json_parse(str_of(text), JSON_KEEP_HALVES, 10, &json, &err));
    assert_string_equal(json_str(json.root).p, bytes);
}

/* Halves of characters stay what they are, for whoever joins them. */
static void test_halves(void **state)
{
    (void)state;
    AUTO(buf) struct buf large = BUF_INIT;
    struct error err;
    keeps("\"a\\ud83d\"", "a\xed\xa0\xbd");
    keeps("\"\\ude00y\"", "\xed\xb8\x80y");
    keeps("\"\\ud83d\\ude00\\ud83d\"", "\xf0\x9f\x98\x80\xed\xa0\xbd");
    keeps("\"\xe4\xb8\"", "\xe4\xb8");
    keeps("\"\xf0\\n\xff\\\\\"", "\xf0\n\xff\\");
    assert_false(parses(STR("\"\\ud83d"), JSON_KEEP_HALVES, 512, &err));
    assert_false(parses(STR("\xff\"a\""), JSON_KEEP_HALVES, 512, &err));
    assert_false(parses(str_n("\"a\0b\\ud83d\"", 11), JSON_KEEP_HALVES, 512, &err));
    buf_addz(&large, "[\"");
    for (int i = 0; i < 5000; i++)
        buf_addz(&large, "\xe4\xb8\\ud83d");
    buf_addz(&large, "\"]");
    assert_true(parses(buf_str(&large), JSON_KEEP_HALVES, 512, &err));
}

static void test_numbers_come_back(void **state)
{
    (void)state;
    static const char *const same[] = {"0",
                                       "-1",
                                       "9007199254740993",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "123456789012345678901234567890",
                                       "-123456789012345678901234567890",
                                       "1e400",
                                       "0.1",
                                       "1.5",
                                       "-2.25",
                                       "3.141592653589793"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        comes_back_as(same[i], 0, same[i]);
    comes_back_as("1e3", 0, "1000");
    comes_back_as("1.50", 0, "1.5");
    comes_back_as("1e300", 0, "1e+300");
}

static void test_lookup(void **state)
{
    (void)state;
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    assert_true(
        json_parse(STR("{\"a\":1,\"b\":\"x\\u0000y\",\"a\":2,\"c\":2.5,\"d\":true,\"e\":5.0,"
                       "\"f\":null,\"g\":1e30,\"h\":18446744073709551615}"),
                   0, 9, &j, &err));
    assert_int_equal(json_get_int(j.root, "a", 0), 2);
    assert_true(str_eq(json_get_str(j.root, "b"), STR("x\0y")));
    assert_null(json_get_str(j.root, "a").p);
    assert_null(json_get_str(j.root, "none").p);
    assert_null(json_get(NULL, "a"));
    assert_null(json_get(json_get(j.root, "a"), "a"));
    assert_true(json_get_num(j.root, "c", 0) == 2.5);
    assert_true(json_get_num(j.root, "a", 0) == 2);
    assert_true(json_get_num(j.root, "b", 9) == 9);
    assert_true(json_get_bool(j.root, "d", false));
    assert_true(json_get_bool(j.root, "a", true));
    assert_int_equal(json_get_int(j.root, "e", 0), 5);
    assert_int_equal(json_get_int(j.root, "c", 7), 7);
    assert_int_equal(json_get_int(j.root, "f", 7), 7);
    assert_int_equal(json_get_int(j.root, "g", 7), 7);
    assert_int_equal(json_get_int(j.root, "h", 7), 7);
}

static void test_write(void **state)
{
    (void)state;
    static const char *const list[] = {"p", "q", NULL};
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    jw_kstr(&w, "s", STR("a\"\\/\b\f\n\r\t\x01\x1f\x7f"));
    jw_kz(&w, "z", NULL);
    jw_kstr_opt(&w, "none", STR_NONE);
    jw_kstr_opt(&w, "some", STR(""));
    jw_kstr_null(&w, "null", STR_NONE);
    jw_kint(&w, "min", INT64_MIN);
    jw_knum(&w, "nan", NAN);
    jw_knum(&w, "inf", -INFINITY);
    jw_knum(&w, "n", 0.1);
    jw_kbool(&w, "t", true);
    jw_knull(&w, "nil");
    jw_kval(&w, "v", NULL);
    jw_kraw(&w, "r", STR("[1]"));
    jw_kobj(&w, "o");
    jw_obj_end(&w);
    jw_karr(&w, "l");
    jw_arr(&w);
    jw_arr_end(&w);
    jw_int(&w, 1);
    jw_obj(&w);
    jw_keys(&w, STR("k\n"));
    jw_str(&w, STR_NONE);
    jw_obj_end(&w);
    jw_arr_end(&w);
    jw_klist(&w, "list", list);
    jw_obj_end(&w);
    assert_string_equal(
        out.p, "{\"s\":\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\",\"z\":null,\"some\":\"\","
               "\"null\":null,\"min\":-9223372036854775808,\"nan\":null,\"inf\":null,\"n\":0.1,"
               "\"t\":true,\"nil\":null,\"v\":null,\"r\":[1],\"o\":{},\"l\":[[],1,{\"k\\n\":\"\"}],"
               "\"list\":[\"p\",\"q\"]}");
}

/* Any bytes at all give valid JSON on one line that reads back as the repaired text. */
static void test_any_bytes(void **state)
{
    (void)state;
    struct error err;
    for (int round = 0; round < 2000; round++) {
        char bytes[140];
        size_t n = (size_t)random_below(round % 3 ? 40 : sizeof bytes);
        random_bytes(bytes, n);
        for (size_t i = 0; round % 3 == 0 && i < n; i++) /* long plain runs between the odd ones */
            if ((unsigned char)bytes[i] > 5)
                bytes[i] = 'a';
        if (round % 3 == 1)
            for (size_t i = 0; i < n; i++)
                bytes[i] = "\xe2\x80\xa8\xa9\xf0\x9f\xed\xc3\n\"\\a"[(unsigned char)bytes[i] % 12];
        AUTO(buf) struct buf out = BUF_INIT;
        AUTO(json) struct json j = JSON_INIT;
        struct jw w = JW(&out);
        jw_str(&w, str_n(bytes, n));
        assert_true(utf8_is_valid(buf_str(&out)));
        assert_true(str_chr(buf_str(&out), '\n') == SIZE_MAX);
        assert_true(str_find(buf_str(&out), STR("\xe2\x80\xa8")) == SIZE_MAX);
        assert_true(json_parse(buf_str(&out), 0, 1, &j, &err));
        if (utf8_is_valid(str_n(bytes, n)))
            assert_true(str_eq(json_str(j.root), str_n(bytes, n)));
    }
}

/* Each byte at each place of a text, alone and before another that needs an escape. */
static void test_every_byte_everywhere(void **state)
{
    (void)state;
    for (int byte = 1; byte < 0x80; byte++)
        for (size_t at = 0; at < 20; at++) {
            char text[24] = "abcdefghijklmnopqrst", want[64];
            AUTO(buf) struct buf out = BUF_INIT;
            struct jw w = JW(&out);
            const char *letter = strchr("\bb\tt\nn\ff\rr\"\"\\\\", byte);
            text[at] = (char)byte;
            text[(at + 7) % 20] = '\\';
            jw_obj(&w);
            jw_kstr(&w, text, str_n(text, 20));
            jw_obj_end(&w);
            AUTO(json) struct json j = JSON_INIT;
            struct error err;
            assert_true(json_parse(buf_str(&out), 0, 1, &j, &err));
            assert_string_equal(json_get_str(j.root, text).p, text);
            text[(at + 7) % 20] = '/';
            buf_reset(&out);
            w = JW(&out);
            jw_str(&w, str_n(text, 20));
            if (byte < 0x20 && !letter)
                snprintf(want, sizeof want, "\"%.*s\\u%04x%s\"", (int)at, text, byte,
                         text + at + 1);
            else if (byte < 0x20 || byte == '"' || byte == '\\')
                snprintf(want, sizeof want, "\"%.*s\\%c%s\"", (int)at, text, letter[1],
                         text + at + 1);
            else
                snprintf(want, sizeof want, "\"%s\"", text);
            assert_string_equal(out.p, want);
        }
}

/* A buffer that is just large enough takes all of it; one byte less, and it says so. */
static void test_write_into_a_limit(void **state)
{
    (void)state;
    for (size_t limit = 9; limit <= 12; limit++) {
        AUTO(buf) struct buf out = BUF_MAX(limit);
        struct jw w = JW(&out);
        jw_obj(&w);
        jw_kstr(&w, "abc", STR("def"));
        jw_obj_end(&w);
        assert_true(out.full);
    }
    AUTO(buf) struct buf out = BUF_MAX(13);
    struct jw w = JW(&out);
    jw_obj(&w);
    jw_kstr(&w, "abc", STR("def"));
    jw_obj_end(&w);
    assert_false(out.full);
    assert_string_equal(out.p, "{\"abc\":\"def\"}");
}

/* The limit of nesting holds for small texts and large ones, for complete ones and incomplete ones.
 */
static void test_depth_of_any_size(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++)
        for (unsigned depth = 8; depth <= 10; depth++)
            for (int is_cut = 0; is_cut < 2; is_cut++) {
                AUTO(buf) struct buf text = BUF_INIT;
                struct error err;
                for (unsigned i = 0; i < depth; i++)
                    buf_addz(&text, "[0,");
                for (int i = 0; large && i < 20000; i++)
                    buf_addz(&text, "7,");
                buf_addz(&text, "1");
                for (unsigned i = is_cut; i < depth; i++)
                    buf_addc(&text, ']');
                bool ok = parses(buf_str(&text), 0, 9, &err);
                assert_true(ok == (depth <= 9 && !is_cut));
                if (!ok)
                    assert_int_equal(err.code, depth > 9 ? ERR_LIMIT : ERR_INVALID);
            }
}

static void test_doubles_come_back(void **state)
{
    (void)state;
    struct error err;
    static const double special[] = {0.0,      -0.0,    DBL_MAX, DBL_MIN,
                                     4.9e-324, 1.0 / 3, 1e21,    123456789};
    for (int round = 0; round < 1000; round++) {
        double v;
        random_bytes(&v, sizeof v);
        if ((size_t)round < ARRAY_LEN(special))
            v = special[round];
        if (!isfinite(v))
            continue;
        AUTO(buf) struct buf out = BUF_INIT;
        AUTO(json) struct json j = JSON_INIT;
        struct jw w = JW(&out);
        jw_num(&w, v);
        assert_true(json_parse(buf_str(&out), 0, 1, &j, &err));
        assert_true(yyjson_get_num(j.root) == v);
    }
}

static void test_doubled_members(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name; /* NULL: nothing is doubled */
    } cases[] = {
        {"{\"a\":1,\"b\":1}", NULL},
        {"{\"a\":1,\"b\":2,\"a\":1}", "a"},
        {"[1,{\"x\":[{\"c\":1,\"d\":1,\"d\":1}]}]", "d"},
        {"{\"a\":{\"a\":{\"a\":1}}}", NULL},
        {"{\"\":1,\"\":2}", ""},
        {"{\"a\\u0000b\":1,\"a\":2}", NULL},
        {"5", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(json) struct json j = JSON_INIT;
        struct error err;
        struct str name;
        assert_true(json_parse(str_of(cases[i].text), 0, 10, &j, &err));
        assert_int_equal(json_has_double(j.root, &name), cases[i].name != NULL);
        if (cases[i].name)
            assert_true(str_is(name, cases[i].name));
    }
}

int main(void)
{
    id_fix(3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_repairs),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_numbers_come_back),
        cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_every_byte_everywhere),
        cmocka_unit_test(test_write_into_a_limit),
        cmocka_unit_test(test_depth_of_any_size),
        cmocka_unit_test(test_doubles_come_back),
        cmocka_unit_test(test_doubled_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
