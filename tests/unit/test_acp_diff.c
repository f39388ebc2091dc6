/* SPDX-License-Identifier: MIT */
/* Unified diffs as pairs of texts. */
#include "dialects/acp/methods.h"
#include "tools/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* The items for a change of before to after, and the first changed line. */
static int64_t items(const char *before, const char *after, struct buf *out)
{
    AUTO(buf) struct buf diff = BUF_INIT;
    struct jw w = JW(out);
    diff_unified(&(struct diff_options){.name = STR("f"), .context = 1}, str_of(before),
                 str_of(after), &diff);
    buf_reset(out);
    jw_arr(&w);
    int64_t line = acp_put_diff(&w, STR("/f"), buf_str(&diff));
    jw_arr_end(&w);
    return line;
}

static void check(const char *before, const char *after, int64_t line, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    assert_int_equal(items(before, after, &out), line);
    if (!str_is(buf_str(&out), want))
        fail_msg("got %s, want %s", out.p, want);
}

#define ITEM(old, new) "{\"type\":\"diff\",\"path\":\"/f\",\"oldText\":" old ",\"newText\":" new "}"

static void test_texts(void **state)
{
    (void)state;
    check("", "a\nb\n", 1, "[" ITEM("null", "\"a\\nb\\n\"") "]");
    check("a\nb\n", "", 1, "[" ITEM("\"a\\nb\\n\"", "\"\"") "]");
    check("a\nb\nc\n", "a\nB\nc\n", 2, "[" ITEM("\"a\\nb\\nc\\n\"", "\"a\\nB\\nc\\n\"") "]");
    check("a\nb", "a\nB", 2, "[" ITEM("\"a\\nb\"", "\"a\\nB\"") "]");
    check("a\nb", "a\nb\n", 2, "[" ITEM("\"a\\nb\"", "\"a\\nb\\n\"") "]");
    check("1\n2\n3\n4\n5\n6\n7\n8\n", "1\nx\n3\n4\n5\n6\ny\n8\n", 2,
          "[" ITEM("\"1\\n2\\n3\\n\"", "\"1\\nx\\n3\\n\"") "," ITEM("\"6\\n7\\n8\\n\"",
                                                                    "\"6\\ny\\n8\\n\"") "]");
    check("same", "same", 0, "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
