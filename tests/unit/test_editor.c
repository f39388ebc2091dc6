/* SPDX-License-Identifier: MIT */
#include "terminal/editor.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void press(struct editor *e, uint32_t code, unsigned mods)
{
    assert_true(editor_key(e, &(struct key){code, mods, STR_NONE}));
}

static void holds(const struct editor *e, const char *text, size_t at)
{
    assert_string_equal(e->text.p ? e->text.p : "", text);
    assert_int_equal(e->at, at);
}

static void test_editing(void **state)
{
    struct editor e = {.width = 20};
    (void)state;
    editor_insert(&e, STR("one two\nthree"));
    press(&e, 'w', MOD_CTRL);
    holds(&e, "one two\n", 8);
    press(&e, KEY_LEFT, 0);
    press(&e, 'b', MOD_ALT);
    holds(&e, "one two\n", 4);
    press(&e, 'k', MOD_CTRL);
    press(&e, 'y', MOD_CTRL);
    press(&e, 'y', MOD_CTRL);
    holds(&e, "one twotwo\n", 10);
    press(&e, '_', MOD_CTRL);
    holds(&e, "one two\n", 7);
    press(&e, 'a', MOD_CTRL);
    press(&e, KEY_DELETE, 0);
    holds(&e, "ne two\n", 0);
    press(&e, KEY_BACKSPACE, 0); /* nothing before it */
    press(&e, KEY_LEFT, 0);
    holds(&e, "ne two\n", 0);
    editor_clear(&e);
}

/* What looks like one character is one, and nothing of it is left behind. */
static void test_clusters(void **state)
{
    struct editor e = {.width = 20};
    (void)state;
    editor_insert(&e, STR("a\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd"
                          "e\xcc\x81"));
    press(&e, KEY_BACKSPACE, 0);
    press(&e, KEY_BACKSPACE, 0);
    holds(&e, "a", 1);
    editor_clear(&e);
}

/* Orders to the terminal become text; so do marks that the user did not make. */
static void test_typed(void **state)
{
    struct editor e = {.width = 20};
    AUTO(buf) struct buf out = BUF_INIT;
    (void)state;
    editor_paste(&e, STR("a\033[2J\xf4\x8f\xb8\x80\xff z\r\nb\rc"));
    editor_take(&e, &out);
    assert_string_equal(out.p, "a\\u001b[2J\xef\xbf\xbd z\nb\nc");
    assert_true(editor_is_empty(&e));
    editor_clear(&e);
}

static void test_paste(void **state)
{
    struct editor e = {.width = 40};
    AUTO(buf) struct buf text = BUF_INIT, out = BUF_INIT;
    (void)state;
    for (int i = 0; i < 200; i++)
        buf_addf(&text, "line %d\n", i);
    editor_insert(&e, STR("x"));
    editor_paste(&e, buf_str(&text));
    editor_insert(&e, STR("y"));
    assert_true(e.text.n < 10);
    editor_take(&e, &out);
    assert_int_equal(out.n, text.n + 2);
    editor_clear(&e);
}

static void count_row(void *arg, struct str shown, bool has_cursor, int col)
{
    struct buf *out = arg;
    buf_addf(out, "%.*s", STR_FMT(shown));
    if (has_cursor)
        buf_addf(out, "<%d", col);
    buf_addc(out, '|');
}

static void test_rows(void **state)
{
    struct editor e = {.width = 10};
    AUTO(buf) struct buf out = BUF_INIT;
    (void)state;
    editor_insert(&e, STR("0123456789ab\n\nend"));
    editor_rows(&e, count_row, &out);
    assert_string_equal(out.p, "0123456789|ab||end<3|");
    assert_true(editor_move_row(&e, -1));
    assert_true(editor_move_row(&e, -1));
    buf_reset(&out);
    editor_rows(&e, count_row, &out);
    assert_string_equal(out.p, "0123456789|ab<0||end|");
    assert_true(editor_move_row(&e, -1));
    assert_false(editor_move_row(&e, -1)); /* there is no history */
    editor_clear(&e);
}

static void test_history(void **state)
{
    struct editor e = {.width = 20};
    (void)state;
    editor_remember(&e, STR("first"));
    editor_remember(&e, STR("second"));
    editor_remember(&e, STR("second")); /* once */
    assert_int_equal(e.n_history, 2);
    editor_insert(&e, STR("draft"));
    assert_true(editor_move_row(&e, -1));
    holds(&e, "second", 6);
    assert_true(editor_move_row(&e, -1));
    assert_false(editor_move_row(&e, -1));
    assert_true(editor_move_row(&e, 1));
    assert_true(editor_move_row(&e, 1));
    holds(&e, "draft", 5);
    assert_int_equal(editor_search(&e, STR("FIR"), SIZE_MAX), 0);
    assert_true(editor_search(&e, STR("nothing"), SIZE_MAX) == SIZE_MAX);
    editor_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_editing), cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_typed),   cmocka_unit_test(test_paste),
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
