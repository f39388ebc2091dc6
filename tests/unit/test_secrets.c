/* SPDX-License-Identifier: MIT */
/* What is taken out of recordings, by place and by value (providers 57). */
#include "net/secrets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void says(struct buf *b, const char *text)
{
    assert_string_equal(buf_str(b).p, text);
    buf_reset(b);
}

static void test_headers(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "Authorization",      "x-api-key", "X-Goog-Api-Key",     "cookie",
        "Set-Cookie",         "api-key",   "ChatGPT-Account-ID", "x-csrf-token",
        "proxy-authorization"};
    static const char *const no[] = {"content-type", "x-ratelimit-remaining-tokens",
                                     "anthropic-ratelimit-tokens-reset", "x-request-id", "-token"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(secrets_is_header(str_of(yes[i])));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_false(secrets_is_header(str_of(no[i])));
}

static void test_literals(void **state)
{
    (void)state;
    AUTO(secrets) struct secrets s = SECRETS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    secrets_add(&s, STR("short"));
    secrets_add(&s, STR("sk-a/b+c=1234"));
    secrets_put(&s, STR("short sk-a/b+c=1234, sk-a%2Fb%2Bc%3D1234 \"sk-a\\/b+c=1234\" end"), &out);
    says(&out, "short [REDACTED], [REDACTED] \"[REDACTED]\" end");
    secrets_put(&s, STR("cut in the middle: sk-a/b+c=1"), &out); /* most of it is there */
    says(&out, "cut in the middle: [REDACTED]");
    secrets_put(&s, STR("not a key: sk-a"), &out);
    says(&out, "not a key: sk-a");
}

static void test_overlapping_literals(void **state)
{
    (void)state;
    AUTO(secrets) struct secrets s = SECRETS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    secrets_add(&s, STR("abcdabcd"));
    secrets_add(&s, STR("abcdabcdabcdabcd"));
    secrets_put(&s, STR("<abcdabcdabcdabcd>"), &out); /* the longer one first */
    says(&out, "<[REDACTED]>");
    /* The end of a whole literal is not held back as the beginning of the next. */
    assert_int_equal(secrets_put_part(&s, STR("xabcdabcd"), &out), 9);
    says(&out, "x[REDACTED]");
}

/* A literal is found wherever the text is cut. */
static void test_split_everywhere(void **state)
{
    (void)state;
    const char *text = "data: {\"echo\":\"sk-secret-0123456789\"} sk-secret-012 sk-";
    size_t n = strlen(text);
    AUTO(secrets) struct secrets s = SECRETS_INIT;
    secrets_add(&s, STR("sk-secret-0123456789"));
    for (size_t cut = 0; cut <= n; cut++) {
        AUTO(buf) struct buf out = BUF_INIT;
        AUTO(buf) struct buf held = BUF_INIT;
        buf_add(&held, str_n(text, cut));
        buf_drop(&held, secrets_put_part(&s, buf_str(&held), &out));
        buf_addz(&held, text + cut);
        secrets_put(&s, buf_str(&held), &out);
        assert_null(strstr(out.p, "secret-0123456789"));
        assert_non_null(strstr(out.p, "{\"echo\":\"[REDACTED]\"}"));
    }
}

static void test_urls(void **state)
{
    (void)state;
    AUTO(secrets) struct secrets s = SECRETS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct http_request rq = {.method = "GET",
                              .url = STR("https://a.b/m?alt=sse&key=AIza0123456&code=x&b=")};
    secrets_learn(&s, &rq);
    secrets_put_url(&s, rq.url, &out);
    says(&out, "https://a.b/m?alt=sse&key=[REDACTED]&code=[REDACTED]&b=");
    secrets_put(&s, STR("the key AIza0123456 is wrong"), &out);
    says(&out, "the key [REDACTED] is wrong");
    secrets_put_url(&s, STR("http://me:word@proxy:80/v1/x@y"), &out);
    says(&out, "http://[REDACTED]@proxy:80/v1/x@y");
    secrets_put_url(&s, STR("https://a.b/v1/models"), &out);
    says(&out, "https://a.b/v1/models");
}

static void test_requests(void **state)
{
    (void)state;
    AUTO(secrets) struct secrets s = SECRETS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct http_header headers[] = {{STR("Authorization"), STR("Bearer sk-0123456789")},
                                    {STR("ChatGPT-Account-ID"), STR("acc-0123456789")},
                                    {STR("x-harmless"), STR("harmless-value")}};
    struct http_request rq = {.method = "POST",
                              .url = STR("https://auth.a.b/oauth/token"),
                              .headers = headers,
                              .n_headers = 3,
                              .body = STR("grant_type=refresh_token&refresh_token=rt-1&code=c")};
    secrets_learn(&s, &rq);
    secrets_put_body(&s, rq.body, &out);
    says(&out, "grant_type=refresh_token&refresh_token=[REDACTED]&code=[REDACTED]");
    secrets_put(&s, STR("sk-0123456789 acc-0123456789 harmless-value"), &out);
    says(&out, "[REDACTED] [REDACTED] harmless-value");
}

static void test_json(void **state)
{
    (void)state;
    AUTO(secrets) struct secrets s = SECRETS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct str talk = STR("{\"code\":\"context_length\",\"access_token\" : \"at-0123456789\"}");
    secrets_learn_json(&s, talk, false);
    secrets_put(&s, talk, &out);
    says(&out, "{\"code\":\"context_length\",\"access_token\" : \"[REDACTED]\"}");
    struct str login = STR("{\"key\":\"sk-or-012345\",\"expires_in\":3,\"token\":null,\"code\":");
    secrets_learn_json(&s, login, true);
    secrets_put(&s, login, &out);
    says(&out, "{\"key\":\"[REDACTED]\",\"expires_in\":3,\"token\":null,\"code\":");
    assert_true(secrets_is_sign_in(STR("https://openrouter.ai/api/v1/auth/keys")));
    assert_true(secrets_is_sign_in(STR("https://auth.openai.com/oauth/token?x=1")));
    assert_false(secrets_is_sign_in(STR("https://api.openai.com/v1/chat/completions?x=/token")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_overlapping_literals),
        cmocka_unit_test(test_split_everywhere),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
