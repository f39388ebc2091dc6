/* SPDX-License-Identifier: MIT */
/* Redaction of outgoing messages (kward.md 4). */
#include "dialects/kward/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* `want` NULL: the body is sent as it is. */
static struct kward kward;

static void check(const char *body, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool changed = kw_redact(&kward, str_of(body), &out);
    assert_string_equal(changed ? out.p : body, want ? want : body);
}

static void untouched(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct str plain = STR("{\"result\":{\"delta\":\"cost, salad, bear, pass, auth\"}}");
    assert_false(kw_redact(&kward, plain, &out));
    assert_int_equal(out.n, 0);
    check("{\"result\":\"task-management-board\"}", NULL);
    check("{\"result\":\"disk-encryption9sk-abcdefgh\"}", NULL);
    check("{\"result\":\"sk-short\"}", NULL);
    check("{\"result\":\"bearer\"}", NULL);
    check("{\"result\":\"bearer \"}", NULL);
    check("{\"result\":\"bearer \\\"x\\\"\"}", NULL);
}

static void names(void **state)
{
    (void)state;
    check("{\"result\":{\"openrouter_api_key\":\"x\",\"API-Key\":\"y\",\"ApiKey\":\"z\"}}",
          "{\"result\":{\"openrouter_api_key\":\"[REDACTED]\",\"API-Key\":\"[REDACTED]\","
          "\"ApiKey\":\"[REDACTED]\"}}");
    check("{\"params\":{\"a\":[{\"my_password_2\":[1,2],\"Credentials\":{\"a\":1}}]}}",
          "{\"params\":{\"a\":[{\"my_password_2\":\"[REDACTED]\",\"Credentials\":"
          "\"[REDACTED]\"}]}}");
    check("{\"error\":{\"data\":{\"clientSecret\":\"\"}}}",
          "{\"error\":{\"data\":{\"clientSecret\":\"[REDACTED]\"}}}");
}

static void exemptions(void **state)
{
    (void)state;
    check("{\"result\":{\"tokensBefore\":1234,\"total_tokens\":1.5,\"openaiAccessToken\":true,"
          "\"token\":null,\"apiKeyProviders\":[\"openrouter\"],\"storedCredentialType\":"
          "\"api_key\",\"authorizationUrl\":\"https://x/\"}}",
          NULL);
}

static void texts(void **state)
{
    (void)state;
    check("{\"result\":\"sk-abcdefgh\"}", "{\"result\":\"[REDACTED]\"}");
    check("{\"result\":\"a sk-abcd_fgh-9.\"}", "{\"result\":\"a [REDACTED].\"}");
    check("{\"result\":\"'sk-abcdefgh' -sk-abcdefgh\"}",
          "{\"result\":\"'[REDACTED]' -[REDACTED]\"}");
    check("{\"result\":[\"x BEARER  abc.def\\\"y\"]}", "{\"result\":[\"x Bearer [REDACTED]\\\"y\"]}");
    check("{\"result\":\"Bearer sk-abcdefgh\"}", "{\"result\":\"Bearer [REDACTED]\"}");
    check("{\"result\":\"Bearer [REDACTED]\"}", "{\"result\":\"Bearer [REDACTED]\"}");
}

static void ids(void **state)
{
    (void)state;
    check("{\"jsonrpc\":\"2.0\",\"id\":\"sk-abcdefgh\",\"result\":\"sk-abcdefgh\"}",
          "{\"jsonrpc\":\"2.0\",\"id\":\"sk-abcdefgh\",\"result\":\"[REDACTED]\"}");
    check("{\"id\":123456789012345678901234567890,\"result\":{\"secret\":\"x\"}}",
          "{\"id\":123456789012345678901234567890,\"result\":{\"secret\":\"[REDACTED]\"}}");
    check("{\"result\":{\"id\":\"sk-abcdefgh\"}}", "{\"result\":{\"id\":\"[REDACTED]\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched), cmocka_unit_test(names), cmocka_unit_test(exemptions),
        cmocka_unit_test(texts),     cmocka_unit_test(ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
