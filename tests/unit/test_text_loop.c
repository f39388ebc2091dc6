/* SPDX-License-Identifier: MIT */
/* Loops in text. */
#include "engine/text_loop.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* After how many bytes of `text`, given piece by piece, it counts as a loop; 0: never. */
static size_t loop_at(struct str text, size_t piece)
{
    struct text_loop l = {0};
    size_t found = 0;
    for (size_t at = 0; at < text.n && !found; at += piece)
        if (text_loop_add(&l, str_cut(str_from(text, at), piece)))
            found = at + piece;
    text_loop_clear(&l);
    return found;
}

static size_t times(const char *passage, size_t n, size_t piece)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, "First something else is said, as it should be. ");
    for (size_t i = 0; i < n; i++)
        buf_addz(&text, passage);
    return loop_at(buf_str(&text), piece);
}

static void test_passages(void **state)
{
    (void)state;
    const char *sentence = "I will look at the file again to be sure of what it says now. ";
    for (size_t piece = 1; piece < 100; piece += 7) {
        size_t at = times(sentence, 40, piece);
        assert_in_range(at, 10 * strlen(sentence), 16 * strlen(sentence));
    }
    assert_int_equal(times(sentence, 9, 10), 0);
    assert_true(times("Wait, one more look. ", 60, 3) > 0);
    assert_true(times("\xe6\x88\x91\xe5\x86\x8d\xe7\x9c\x8b\xe4\xb8\x80\xe6\xac\xa1", 100, 5) > 0);
    assert_int_equal(times("word ", 2000, 5), 0); /* too few letters to be sure */
    AUTO(buf) struct buf longer = BUF_INIT;
    for (int i = 0; i < 60; i++)
        buf_addf(&longer, "Step %d of the long passage is this. ", i);
    assert_true(longer.n > 1900);
    buf_cut(&longer, 1900);
    assert_true(times(longer.p, 14, 50) > 0);
}

static void test_no_loops(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT;
    assert_int_equal(times("-", 5000, 20), 0);
    assert_int_equal(times("0, ", 5000, 20), 0);
    assert_int_equal(times("0123456789abcdefghij", 5000, 20), 0);
    for (int i = 0; i < 3000; i++)
        buf_addf(&text, "- row %d of a table whose rows differ in the number alone, as they do\n",
                 i);
    assert_int_equal(loop_at(buf_str(&text), 33), 0);
    buf_reset(&text);
    buf_addz(&text, "```c\n");
    for (int i = 0; i < 30; i++)
        buf_addz(&text, "    { NULL, NULL, default_handler, 0, false },\n");
    buf_addz(&text, "```\n");
    assert_int_equal(loop_at(buf_str(&text), 9), 0);
    for (int i = 0; i < 30; i++)
        buf_addz(&text, "    { NULL, NULL, default_handler, 0, false },\n");
    assert_true(loop_at(buf_str(&text), 9) > 0); /* behind the block it counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passages),
        cmocka_unit_test(test_no_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
