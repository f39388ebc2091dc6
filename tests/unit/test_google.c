/* SPDX-License-Identifier: MIT */
/* What Google's error bodies are taken to mean. */
#include "providers/google.h"
#include "providers/vendor.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BODY(code, status, message, details)                                                       \
    "{\"error\":{\"code\":" code ",\"message\":\"" message "\",\"status\":\"" status "\","         \
    "\"details\":[" details "]}}"
#define TYPE(name) "\"@type\":\"type.googleapis.com/google.rpc." name "\""
#define RETRY(delay) "{" TYPE("RetryInfo") ",\"retryDelay\":\"" delay "\"}"
#define QUOTA(id) "{" TYPE("QuotaFailure") ",\"violations\":[{\"quotaId\":\"" id "\"}]}"
#define REASON(word, more) "{" TYPE("ErrorInfo") ",\"reason\":\"" word "\"" more "}"
#define MINUTE QUOTA("GenerateRequestsPerMinutePerProject")
#define WORDS "You exceeded your current quota, please check your plan and billing details."

static struct error failure(int status, const char *body, const char *after)
{
    struct error err;
    error_from_http(&err, "Gemini", status, str_of(body), str_of(after), STR_NONE);
    return err;
}

/* covers: providers 49, 68 */
static void test_classes(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        enum err_code code;
    } cases[] = {
        {429, BODY("429", "RESOURCE_EXHAUSTED", WORDS, MINUTE "," RETRY("34.07s")), ERR_RATE},
        {429, BODY("429", "RESOURCE_EXHAUSTED", WORDS, ""), ERR_RATE},
        {200, BODY("429", "RESOURCE_EXHAUSTED", WORDS, MINUTE), ERR_RATE},
        {429,
         BODY("429", "RESOURCE_EXHAUSTED", WORDS,
              QUOTA("GenerateRequestsPerDayPerProjectPerModel") "," RETRY("34s")),
         ERR_QUOTA},
        {429, BODY("429", "RESOURCE_EXHAUSTED", "x", QUOTA("DailyLimit")), ERR_QUOTA},
        {429, BODY("429", "RESOURCE_EXHAUSTED", "x", REASON("QUOTA_EXHAUSTED", "")), ERR_QUOTA},
        {503, BODY("503", "UNAVAILABLE", "x", REASON("QUOTA_EXHAUSTED", "")), ERR_QUOTA},
        {429, BODY("429", "RESOURCE_EXHAUSTED", "metric: x, limit: 0, model: y", MINUTE),
         ERR_QUOTA},
        {429, BODY("429", "RESOURCE_EXHAUSTED", "limit: 0", ""), ERR_QUOTA},
        {429, BODY("429", "RESOURCE_EXHAUSTED", "limit: 05", ""), ERR_RATE},
        {429, BODY("429", "RESOURCE_EXHAUSTED", "limit: 0.5", ""), ERR_RATE},
        {429, BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("300.5s")), ERR_QUOTA},
        {499, BODY("499", "CANCELLED", "x", RETRY("1s")), ERR_RATE},
        {503, BODY("503", "UNAVAILABLE", "The model is overloaded", ""), ERR_PROVIDER},
        {503, BODY("503", "UNAVAILABLE", "x", RETRY("1s")), ERR_PROVIDER},
        {400, BODY("400", "INVALID_ARGUMENT", "API key not valid", REASON("API_KEY_INVALID", "")),
         ERR_AUTH},
        {400, BODY("400", "INVALID_ARGUMENT", "Bad field", ""), ERR_BAD_REQUEST},
        {400,
         BODY("400", "INVALID_ARGUMENT",
              "The input token count (5) exceeds the maximum number of tokens allowed (3).", ""),
         ERR_OVERFLOW},
        {404, BODY("404", "NOT_FOUND", "models/x is not found", ""), ERR_NO_MODEL},
        {403, BODY("403", "PERMISSION_DENIED", "x", REASON("VALIDATION_REQUIRED", "")), ERR_AUTH},
        /* Not Google: the words count. */
        {429, "{\"error\":{\"message\":\"" WORDS "\",\"details\":[{\"@type\":\"other\"}]}}",
         ERR_QUOTA},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = failure(cases[i].status, cases[i].body, NULL);
        if (err.code != cases[i].code)
            fail_msg("%d %s: %s", cases[i].status, cases[i].body, err_code_name(err.code));
    }
}

/* covers: providers 48 */
static void test_retry_delay(void **state)
{
    (void)state;
    static const struct {
        const char *body, *after;
        int64_t ms;
    } cases[] = {
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("34.07s")), NULL, 34070},
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("34.074824224s")), NULL, 34075},
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("34.07s")), "5", 5000},
        {BODY("429", "RESOURCE_EXHAUSTED", "Please retry in 1.5s.", ""), NULL, 1500},
        {BODY("429", "RESOURCE_EXHAUSTED", "Please retry in 250.2ms.", ""), NULL, 251},
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("soon")), NULL, 0},
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("s")), NULL, 0},
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("-3s")), NULL, 0},
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("nans")), NULL, 0},
        {BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("1e300s")), NULL, 0},
        {"[" BODY("429", "RESOURCE_EXHAUSTED", "x", RETRY("2s")) "]", NULL, 2000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(failure(429, cases[i].body, cases[i].after).retry_after_ms, cases[i].ms);
}

static void test_link(void **state)
{
    (void)state;
    static const char help[] = BODY(
        "403", "PERMISSION_DENIED", "Verify",
        REASON("VALIDATION_REQUIRED",
               "") ",{" TYPE("Help") ",\"links\":[{\"url\":\"https://example.org/v\"}]}");
    static const char activation[] = BODY(
        "403", "PERMISSION_DENIED", "Disabled",
        REASON("SERVICE_DISABLED", ",\"metadata\":{\"activationUrl\":\"https://a.org/?p=1\"}"));
    static const char odd[] = BODY(
        "403", "PERMISSION_DENIED", "Odd",
        REASON("SERVICE_DISABLED", ",\"metadata\":{\"activationUrl\":\"https://a\\nb\"}"));
    assert_string_equal(failure(403, help, NULL).text,
                        "Gemini answered 403: Verify (see https://example.org/v)");
    assert_string_equal(failure(403, activation, NULL).text,
                        "Gemini answered 403: Disabled (see https://a.org/?p=1)");
    assert_string_equal(failure(403, odd, NULL).text, "Gemini answered 403: Odd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_retry_delay),
        cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
