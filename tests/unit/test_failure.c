/* SPDX-License-Identifier: MIT */
/* What statuses, error bodies and retry headers are taken to mean. */
#include "base/time.h"
#include "base/utf8.h"
#include "providers/vendor.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct error failure(int status, const char *body, const char *after, const char *after_ms)
{
    struct error err;
    error_from_http(&err, "OpenAI", status, str_of(body), str_of(after), str_of(after_ms));
    assert_true(err.text[0] != '\0');
    assert_true(utf8_is_valid(error_str(&err)));
    return err;
}

static void test_classes(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        enum err_code code;
    } cases[] = {
        {400, "{\"error\":{\"message\":\"bad field\"}}", ERR_BAD_REQUEST},
        {400, "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}", ERR_OVERFLOW},
        {400, "{\"error\":{\"code\":400,\"type\":\"exceed_context_size_error\",\"message\":\"x\"}}",
         ERR_OVERFLOW},
        {400, "{\"error\":{\"message\":\"x\",\"code\":\"model_not_found\"}}", ERR_NO_MODEL},
        {401, "{\"error\":{\"message\":\"bad key\"}}", ERR_AUTH},
        {402, "", ERR_QUOTA},
        {403, "<html>Cloudflare</html>", ERR_AUTH},
        {404, "{}", ERR_NO_MODEL},
        {408, "", ERR_BAD_REQUEST},
        {413, "", ERR_OVERFLOW},
        {422, "{\"detail\":\"semantics\"}", ERR_BAD_REQUEST},
        {429, "{\"error\":{\"message\":\"Rate limit reached\"}}", ERR_RATE},
        {429, "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}", ERR_QUOTA},
        {429, "{\"error\":{\"message\":\"You exceeded your current quota\"}}", ERR_QUOTA},
        {500, "oops", ERR_PROVIDER},
        {503, "{\"error\":{\"code\":503,\"message\":\"Loading model\"}}", ERR_PROVIDER},
        {529, "", ERR_PROVIDER},
        {301, "", ERR_BAD_REPLY},
        {200, "{\"error\":{\"code\":402,\"message\":\"no credits\"}}", ERR_QUOTA},
        {200, "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"x\"}}", ERR_RATE},
        {200, "{\"error\":\"broken\"}", ERR_PROVIDER},
        {200, "{\"error\":{\"type\":\"authentication_error\",\"message\":\"x\"}}", ERR_AUTH},
        {200, "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}", ERR_PROVIDER},
        {429, "{\"error\":{\"type\":\"not_found_error\",\"message\":\"x\"}}", ERR_RATE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = failure(cases[i].status, cases[i].body, NULL, NULL);
        if (err.code != cases[i].code)
            fail_msg("%d %s: %s", cases[i].status, cases[i].body, err_code_name(err.code));
        assert_int_equal(err.origin, ORIGIN_REMOTE);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *text;
    } cases[] = {
        {429, "{\"error\":{\"message\":\"Slow\"}}", "OpenAI answered 429: Slow"},
        {400, "{\"error\":\"text\"}", "OpenAI answered 400: text"},
        {400, "[{\"error\":{\"message\":\"in a list\"}}]", "OpenAI answered 400: in a list"},
        {400, "{\"object\":\"error\",\"message\":\"flat\"}", "OpenAI answered 400: flat"},
        {422, "{\"detail\":\"fast\"}", "OpenAI answered 422: fast"},
        {422, "{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\"}]}",
         "OpenAI answered 422: field required"},
        {400, "{\"errors\":[{\"message\":\"listed\"}]}", "OpenAI answered 400: listed"},
        {400, "{\"errors\":[\"bare\"]}", "OpenAI answered 400: bare"},
        {500, "{\"error\":{\"error\":{\"message\":\"inner\"}}}", "OpenAI answered 500: inner"},
        {401, "{\"error\":\"invalid_grant\",\"error_description\":\"who?\"}",
         "OpenAI answered 401: invalid_grant"},
        {502,
         "{\"error\":{\"message\":\"Provider returned error\",\"code\":502,\"metadata\":{\"raw\":"
         "\"overheated\",\"provider_name\":\"X\"}}}",
         "OpenAI answered 502: Provider returned error: overheated"},
        {500, "{\"error\":{\"why\":[1,2]}}", "OpenAI answered 500: {\"why\":[1,2]}"},
        {500, "{\"error\":{}}", "OpenAI answered 500: no explanation given"},
        {500, "{\"message\":{\"message\":{\"message\":{\"message\":\"deep\"}}}}",
         "OpenAI answered 500: no explanation given"},
        {500, "  plain words\n", "OpenAI answered 500: plain words"},
        {502, "<html>no</html>", "OpenAI answered 502: no explanation given"},
        {400, "{\"error\":{\"code\":\"only_code\"}}", "OpenAI answered 400: only_code"},
        {200, "{\"error\":\"inside\"}", "OpenAI reported an error: inside"},
        {500, "bad \xff byte", "OpenAI answered 500: bad \xef\xbf\xbd byte"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = failure(cases[i].status, cases[i].body, NULL, NULL);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void test_long_text(void **state)
{
    (void)state;
    AUTO(buf) struct buf body = BUF_INIT;
    for (int i = 0; i < 1000; i++)
        buf_addz(&body, "\xc3\xbc");
    struct error err = failure(500, body.p, NULL, NULL);
    assert_true(strlen(err.text) > 300);
}

static void test_retry_after(void **state) /* covers: providers 53, 54 */
{
    (void)state;
    static const char again[] = "{\"error\":{\"message\":\"Please try again in 1m2.5s. Thanks\"}}";
    static const char soon[] = "{\"error\":{\"message\":\"try again in 20ms\"}}";
    assert_int_equal(failure(429, "", NULL, NULL).retry_after_ms, 0);
    assert_int_equal(failure(429, "", "7", NULL).retry_after_ms, 7000);
    assert_int_equal(failure(429, "", "1.5", NULL).retry_after_ms, 1500);
    assert_int_equal(failure(429, "", "7", "250.5").retry_after_ms, 251);
    assert_int_equal(failure(429, "", "7", "soon").retry_after_ms, 7000);
    assert_int_equal(failure(429, "", "later", NULL).retry_after_ms, 0);
    assert_int_equal(failure(429, again, NULL, NULL).retry_after_ms, 62500);
    assert_int_equal(failure(429, soon, NULL, NULL).retry_after_ms, 20);
    assert_int_equal(failure(429, again, "3", NULL).retry_after_ms, 3000);
    assert_true(failure(429, "", "99999999999999999999", NULL).retry_after_ms > 0);
    time_fix(1445412470000); /* ten seconds before */
    int64_t ms = failure(503, "", "Wed, 21 Oct 2015 07:28:00 GMT", NULL).retry_after_ms;
    assert_in_range(ms, 9000, 10000);
    time_fix(1445412490000);
    assert_int_equal(failure(503, "", "Wed, 21 Oct 2015 07:28:00 GMT", NULL).retry_after_ms, 0);
    time_fix(0);
}

static void test_overflow_words(void **state) /* covers: providers 68 */
{
    (void)state;
    static const char *const yes[] = {
        "Prompt is too long: 300000 tokens",
        "Your input exceeds the context window of this model",
        "This model's maximum context length is 8192 tokens",
        "maximum prompt length is 4096",
        "Please reduce the length of the messages",
        "the request exceeds the available context size",
        "tokens is greater than the context length",
        "The input token count (5) exceeds the maximum number of tokens",
        "context window exceeds limit",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "Range of input length should be [1, 30720]",
        "too large for model with 4096 maximum context length",
    };
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(is_overflow_text(str_of(yes[i])));
    assert_false(is_overflow_text(STR("Rate limit reached: maximum context length per minute")));
    assert_false(is_overflow_text(STR("too many requests, prompt is too long")));
    assert_false(is_overflow_text(STR("server error")));
    assert_false(is_overflow_text(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_long_text),      cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_overflow_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
