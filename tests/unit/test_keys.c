/* SPDX-License-Identifier: MIT */
#include "terminal/keys.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "terminal/width.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void on_key(void *arg, const struct key *k)
{
    struct buf *out = arg;
    buf_addz(out, out->n ? " " : "");
    if (k->mods)
        buf_addf(out, "%s%s%s-", k->mods & MOD_CTRL ? "C" : "", k->mods & MOD_ALT ? "A" : "",
                 k->mods & MOD_SHIFT ? "S" : "");
    if (k->code == KEY_PASTE)
        buf_addf(out, "paste(%.*s)", STR_FMT(k->text));
    else if (k->code >= KEY_ESC)
        buf_addf(out, "%d", (int)(k->code - KEY_ESC));
    else
        utf8_put(out, k->code);
}

/* The keys of a text, which may come in any pieces. */
static void gives(const char *bytes, const char *wanted)
{
    for (size_t n = 1; n <= strlen(bytes); n++) {
        struct keys k = {0};
        AUTO(buf) struct buf got = BUF_INIT;
        struct str rest = str_of(bytes);
        for (; rest.n; rest = str_from(rest, n))
            keys_add(&k, str_cut(rest, n), on_key, &got);
        keys_settle(&k, on_key, &got);
        assert_string_equal(got.p ? got.p : "", wanted);
        keys_clear(&k);
    }
}

static void test_keys(void **state)
{
    (void)state;
    gives("aé日", "a é 日");
    gives("\r\t\x7f\n", "1 2 3 C-j");
    gives("\033[A\033[B\033OC\033[D", "4 5 6 7");
    gives("\033[1;5C\033[1;3D", "C-6 A-7");
    gives("\033b\033\r", "A-b A-1");
    gives("\033[Z\033[13;2u\033[106;5u\033[27;2;13~", "S-2 S-1 C-j S-1");
    gives("\003\004\032\037", "C-c C-d C-z C-_");
    gives("\033", "0");
    gives("x\033", "x 0");
    gives("\033[200~a\rb\033[A\003\033[201~c", "paste(a\rb\033[A\003) c");
    gives("\033]0;title\007a", "14 a");
    gives("\xff"
          "a",
          "14 a");
}

static void test_widths(void **state)
{
    (void)state;
    assert_int_equal(width_text(STR("abc")), 3);
    assert_int_equal(width_text(STR("日本")), 4);
    assert_int_equal(width_text(STR("e\xcc\x81x")), 2);                       /* combining */
    assert_int_equal(width_text(STR("\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd")), 2); /* skin tone */
    assert_int_equal(width_text(STR("\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa")), 2); /* a flag */
    assert_int_equal(cluster_first(STR("e\xcc\x81x")).n, 3);
    assert_int_equal(cluster_last(STR("xe\xcc\x81")), 3);
    assert_int_equal(width_cut(STR("a日b"), 2).n, 1);
    assert_int_equal(width_cut(STR("a日b"), 3).n, 4);
    assert_int_equal(cluster_first(STR("\xff")).n, 1); /* never stands still */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys), cmocka_unit_test(test_widths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
