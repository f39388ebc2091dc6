/* SPDX-License-Identifier: MIT */
/* The ladder of the matcher: each step on an example, what it leaves alone, what it refuses. */
#include "tool_scene.h"

#include "tools/edit.h"

static void assert_edit(const char *text, const char *old, const char *new, enum edit_step step,
                        const char *after)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct edit e = {str_of(old), str_of(new)};
    struct edit_report r = edit_apply(str_of(text), &e, 1, false, &out);
    assert_int_equal(r.fault, EDIT_FINE);
    assert_string_equal(buf_str(&out).p, after);
    assert_int_equal(r.n_notes, step > EDIT_LINE_ENDS);
    if (r.n_notes)
        assert_int_equal(r.notes[0].step, step);
}

static void assert_fault(const char *text, const char *old, const char *new, enum edit_fault fault,
                         size_t count)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct edit e = {str_of(old), str_of(new)};
    struct edit_report r = edit_apply(str_of(text), &e, 1, false, &out);
    assert_int_equal(r.fault, fault);
    assert_int_equal(r.count, count);
    assert_int_equal(out.n, 0);
}

static void test_line_ends(void **state)
{
    (void)state;
    assert_edit("a\nb\nc\n", "a\r\nb\r\n", "a\r\nx\r\n", EDIT_LINE_ENDS, "a\nx\nc\n");
    assert_edit("a\r\nb\r\nc\n", "a\nb\n", "a\nx\ny\n", EDIT_LINE_ENDS, "a\r\nx\r\ny\r\nc\n");
    assert_edit("a\nb\n",
                "\xef\xbb\xbf"
                "a\nb",
                "\xef\xbb\xbfx", EDIT_EXACT, "x\n");
}

/* A byte order mark in the middle of a text is a character like others. */
static void test_mark(void **state)
{
    (void)state;
    assert_edit("a\xef\xbb\xbf.", "\xef\xbb\xbf", "x", EDIT_EXACT, "ax.");
    assert_edit("a\xef\xbb\xbf.", "\xef\xbb\xbf.", "x", EDIT_EXACT, "ax");
    assert_edit("ab", "b", "\xef\xbb\xbf.", EDIT_EXACT, "a\xef\xbb\xbf.");
}

static void test_trailing(void **state)
{
    (void)state;
    assert_edit("a  \nb\t\nc\n", "a\nb\n", "a\nx\n", EDIT_TRAILING, "a  \nx\nc\n");
    assert_edit("a\nb\nc\n", "a  \nb", "a  \nx", EDIT_TRAILING, "a\nx\nc\n");
    assert_edit("f(1,  \n  2);\n", "(1,\n  2)", "(3,\n  2)", EDIT_TRAILING, "f(3,\n  2);\n");
    assert_fault("a  \nb\na \nb\n", "a\nb", "x", EDIT_MANY, 2);
}

static void test_shift(void **state)
{
    (void)state;
    assert_edit("if x:\n    a()\n    b()\n", "  a()\n  b()\n", "  a()\n  if y:\n    c()\n",
                EDIT_SHIFT, "if x:\n    a()\n    if y:\n      c()\n");
    assert_edit("a()\nb()\n", "    a()\n    b()", "    a()\n      c()\n  d()", EDIT_SHIFT,
                "a()\n  c()\nd()\n");
    assert_edit("\tif x {\n\n\t\ta  \n\t}\n", "if x {\n\n\ta\n}\n", "if x {\n\n\tb\n}\n",
                EDIT_SHIFT, "\tif x {\n\n\t\tb\n\t}\n");
    /* Not the same shift on every line. */
    assert_fault("    a()\n      b()\n", "  a()\n  b()\n", "x", EDIT_NOT_FOUND, 0);
    assert_fault("  a()\n  b()\n\n    a()\n    b()\n", "a()\nb()\n", "x\n", EDIT_MANY, 2);
    /* The file's last line has no end. */
    assert_edit("x\n  a\n  b", "a\nb\n", "a\nc\n", EDIT_SHIFT, "x\n  a\n  c");
}

static void test_unit(void **state)
{
    (void)state;
    assert_edit("f() {\n\ta;\n\tif (b) {\n\t\tc;\n\t}\n}\n",
                "    a;\n    if (b) {\n        c;\n    }\n",
                "    a;\n    if (b) {\n        d;\n        e;\n    }\n", EDIT_UNIT,
                "f() {\n\ta;\n\tif (b) {\n\t\td;\n\t\te;\n\t}\n}\n");
    assert_edit("def f():\n    if a:\n        b()\n", "  if a:\n    b()\n", "  if a:\n    c()\n",
                EDIT_UNIT, "def f():\n    if a:\n        c()\n");
    assert_edit("{\n  a {\n    b\n  }\n}\n", "\ta {\n\t\tb\n\t}\n", "\ta {\n\t\tc\n\t}\n",
                EDIT_UNIT, "{\n  a {\n    c\n  }\n}\n");
}

static void test_typography(void **state)
{
    (void)state;
    assert_edit("say \u201chi\u201d \u2014 now\n", "\"hi\" - now", "\"ho\" - now", EDIT_TYPOGRAPHY,
                "say \"ho\" - now\n");
    assert_edit("it's\nplain\n", "it\u2019s\nplain", "it\u2019s\nnew", EDIT_TYPOGRAPHY,
                "it's\nnew\n");
    assert_edit("a\u00a0b\n", "a b", "c", EDIT_TYPOGRAPHY, "c\n");
}

static void test_escapes(void **state)
{
    (void)state;
    assert_edit("a\n\tb\n", "a\\n\\tb", "a\\n\\tc", EDIT_ESCAPES, "a\n\tc\n");
    assert_edit("say(\"hi\")\n", "say(\\\"hi\\\")", "say(\\\"ho\\\")", EDIT_ESCAPES,
                "say(\"ho\")\n");
    assert_edit("a(\"x\")\n", "a(\\\"x\\\")", "b(\"\\n\")\nc", EDIT_ESCAPES, "b(\"\\n\")\nc\n");
}

static void test_numbers(void **state)
{
    (void)state;
    assert_edit("foo\nbar\n", "L12: foo\nL13: bar", "L12: foo\nL13: baz", EDIT_NUMBERS,
                "foo\nbaz\n");
    assert_edit("foo\n  bar\n", "    1\tfoo\n    2\t  bar\n", "foo\n  baz\n", EDIT_NUMBERS,
                "foo\n  baz\n");
    assert_edit("a\n\nb\n", "L1: a\nL2:\nL3: b", "L1: a\nL2: c", EDIT_NUMBERS, "a\nc\n");
    assert_fault("foo\nbar\n", "L12: foo\nL14: bar", "x", EDIT_NOT_FOUND, 0);
    assert_fault("foo\nbar\n", "L12: foo\nbar", "x", EDIT_NOT_FOUND, 0);
}

static void test_outer(void **state)
{
    (void)state;
    assert_edit("a\nb", "\n\nb\n", "\n\nc\n", EDIT_OUTER, "a\nc");
    assert_edit("a\nb\nc\n", "\nb\n\n", "x\n\n", EDIT_OUTER, "a\nx\nc\n");
    assert_fault("a\n\nb\n", "\n \n", "x", EDIT_NOT_FOUND, 0);
}

static void test_nothing_fuzzier(void **state)
{
    (void)state;
    assert_fault("return a + b;\n", "return a +  b;", "x", EDIT_NOT_FOUND, 0);
    assert_fault("one\ntwo\nthree\n", "one\ntwoo\nthree\n", "x", EDIT_NOT_FOUND, 0);
    assert_fault("Foo\n", "foo", "x", EDIT_NOT_FOUND, 0);
}

static void test_kept_lines(void **state)
{
    (void)state;
    /* Lines that the edit names and leaves alone keep their bytes, wherever they stand. */
    assert_edit("a \nb\t\nc \nd \ne\n", "a\nb\nc\nd\n", "a\nB\nc\nD\n", EDIT_TRAILING,
                "a \nB\nc \nD\ne\n");
    assert_edit("  a \n  b\n  c\t\n", "a\nb\nc\n", "a\nx\ny\nc\n", EDIT_SHIFT,
                "  a \n  x\n  y\n  c\t\n");
}

static void test_everywhere(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct edit e = {STR("a\nb\n"), STR("a\nx\n")};
    struct edit_report r = edit_apply(STR("  a\n  b\n    a\n    b\n"), &e, 1, true, &out);
    assert_int_equal(r.fault, EDIT_FINE);
    assert_int_equal(r.count, 2);
    assert_string_equal(out.p, "  a\n  x\n    a\n    x\n");
}

static void test_hostile(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT, old = BUF_INIT, out = BUF_INIT;
    for (int i = 0; i < 200000; i++)
        buf_addz(&text, "  x\n");
    for (int i = 0; i < 100000; i++)
        buf_addz(&old, i == 99999 ? "y\n" : "x\n");
    struct edit e = {buf_str(&old), STR("z")};
    assert_int_equal(edit_apply(buf_str(&text), &e, 1, false, &out).fault, EDIT_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_ends),  cmocka_unit_test(test_mark),
        cmocka_unit_test(test_trailing),   cmocka_unit_test(test_shift),
        cmocka_unit_test(test_unit),       cmocka_unit_test(test_typography),
        cmocka_unit_test(test_escapes),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_outer),      cmocka_unit_test(test_nothing_fuzzier),
        cmocka_unit_test(test_kept_lines), cmocka_unit_test(test_everywhere),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
