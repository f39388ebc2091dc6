/* SPDX-License-Identifier: MIT */
/* Keys in texts: own ones, and words with the form of one. */
#include "base/secret.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* `want` NULL: the text has no key. */
static void check(const char *text, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool changed = secret_blank(str_of(text), &out);
    assert_int_equal(changed, want != NULL);
    assert_string_equal(changed ? out.p : text, want ? want : text);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "sk-learn-pipelines",
        "no directory sk-learn-pipelines-2024",
        "task-management-board",
        "the bearer token is missing",
        "Bearer tokens.",
        "bearer",
        "bearer ",
        "Unknown session: 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "d41d8cd98f00b204e9800998ecf8427ed41d8cd98f00b204",
        "/work/sk-abcdefgh1234/file",
        "testParseHttp2RequestWithUtf8AndBase64Body",
        "ANTHROPIC_API_KEY_2_IS_NOT_SET",
        "2026-11-16T01-27-09.371Z_baf17134-9650-41d0-ae91-708d95e575fc.jsonl",
        "gemini-2.5-flash-preview-04-17",
        "",
        "sk-",
        "sk-short",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check(texts[i], NULL);
}

static void test_forms(void **state)
{
    (void)state;
    check("Incorrect API key provided: sk-proj-a1B2c3D4e5F6.",
          "Incorrect API key provided: [REDACTED].");
    check("'sk-or-v1-0123456789abcdef' -sk-abcdefgh1", "'[REDACTED]' -sk-abcdefgh1");
    check("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[REDACTED]");
    check("key=aZ3kQ9xW7bN2mR5tY8uP1sD4 end", "key=[REDACTED] end");
    check("Authorization: BEARER  abc.def\"y", "Authorization: Bearer [REDACTED]\"y");
    check("Bearer abcdefghijklmnopqrstuvwxyz", "Bearer [REDACTED]");
    check("eyJhbGciOiJIUzI1NiJ9.x", "[REDACTED].x");
}

static void test_own(void **state)
{
    (void)state;
    secret_learn(STR("  first-key-1 \n"));
    secret_learn(STR("first-key-1234"));
    secret_learn(STR("lm-studio"));
    secret_learn(STR("short1"));
    check("lm-studio and short1", NULL);
    check("xfirst-key-1234y first-key-1", "x[REDACTED]y [REDACTED]");
    assert_true(secret_has_own(STR("a first-key-1")));
    assert_false(secret_has_own(STR("a first-key")));
    AUTO(buf) struct buf out = BUF_INIT;
    assert_false(secret_blank_own(STR("sk-proj-a1B2c3D4e5F6"), &out));
    assert_int_equal(out.n, 0);
}

static void names(void **state)
{
    (void)state;
    assert_true(secret_is_name(STR("OPENAI_API_KEY")));
    assert_true(secret_is_name(STR("x-Authorization")));
    assert_false(secret_is_name(STR("keyboard")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_own),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
