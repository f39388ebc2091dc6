/* SPDX-License-Identifier: MIT */
#include "base/shown.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void shown_is(const char *text, bool keeps_lines, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    shown_add(&out, str_of(text), keeps_lines);
    buf_addc(&out, '\0');
    assert_string_equal(out.p, want);
}

static void test_orders_are_shown(void **state)
{
    (void)state;
    shown_is("plain \xc3\xa4 \xf0\x9f\x98\x80", false, "plain \xc3\xa4 \xf0\x9f\x98\x80");
    shown_is("\x1b]52;c;eA==\x07", true, "\\u001b]52;c;eA==\\u0007");
    shown_is("\x1b[8mhidden\x1b[0m", true, "\\u001b[8mhidden\\u001b[0m");
    shown_is("\x7f\b", true, "\\u007f\\u0008");
    shown_is("\xc2\x9b"
             "2J",
             true, "\\u009b2J");
    shown_is("\x9b"
             "2J",
             true, "\\u009b2J"); /* a lone byte, as old terminals take it */
    shown_is("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c", true, "\\u202e\\u2066\\u200f\\u061c");
    shown_is("\xf3\xa0\x81\x81", true, "\\udb40\\udc41"); /* an invisible letter */
    shown_is("a\n\tb\r\nc\rd", true, "a\n\tb\r\nc\\u000dd");
    shown_is("a\n\tb\r\n", false, "a\\u000a\\u0009b\\u000d\\u000a");
    shown_is("\xff\xc3", true, "\\u00ff\\u00c3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders_are_shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
