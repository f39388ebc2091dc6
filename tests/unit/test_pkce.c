/* SPDX-License-Identifier: MIT */
/* The small parts of a sign-in: PKCE, what tokens say of themselves, forms. */
#include "auth/pkce.h"

#include "auth/form.h"
#include "auth/jwt.h"
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_challenge(void **state) /* covers: providers 60 */
{
    (void)state;
    char out[PKCE_CHALLENGE_LEN + 1];
    pkce_challenge(STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), out);
    assert_string_equal(out, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

static void test_init(void **state)
{
    (void)state;
    struct pkce one, two;
    char challenge[PKCE_CHALLENGE_LEN + 1];
    pkce_init(&one);
    pkce_init(&two);
    assert_int_equal(strlen(one.verifier), PKCE_VERIFIER_LEN);
    assert_int_equal(strlen(one.state), PKCE_STATE_LEN);
    assert_int_equal(strspn(one.verifier, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_"),
                     PKCE_VERIFIER_LEN);
    assert_string_not_equal(one.verifier, two.verifier);
    assert_string_not_equal(one.state, two.state);
    pkce_challenge(str_of(one.verifier), challenge);
    assert_string_equal(challenge, one.challenge);
}

static void test_is_same(void **state)
{
    (void)state;
    assert_true(pkce_is_same(STR("abc"), STR("abc")));
    assert_false(pkce_is_same(STR("abc"), STR("abd")));
    assert_false(pkce_is_same(STR("abc"), STR("ab")));
    assert_false(pkce_is_same(STR_NONE, STR("abc")));
    assert_true(pkce_is_same(STR_NONE, STR("")));
}

/* ---- tokens ---- */

static bool claims_of(struct arena *a, const char *payload, struct claims *ret)
{
    AUTO(buf) struct buf token = BUF_INIT;
    buf_addz(&token, "eyJhbGciOiJub25lIn0.");
    base64url_put(&token, str_of(payload));
    buf_addz(&token, ".c2ln");
    return jwt_claims(buf_str(&token), a, ret);
}

static void test_claims(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct claims c;
    assert_true(claims_of(&a,
                          "{\"exp\":1790000000,\"https://api.openai.com/auth\":{"
                          "\"chatgpt_account_id\":\"acc\",\"chatgpt_plan_type\":\"pro\","
                          "\"user_id\":\"u1\",\"chatgpt_account_is_fedramp\":true},"
                          "\"https://api.openai.com/profile\":{\"email\":\"a@b.example\"}}",
                          &c));
    assert_true(str_is(c.account_id, "acc"));
    assert_true(str_is(c.plan, "pro"));
    assert_true(str_is(c.user_id, "u1"));
    assert_true(str_is(c.email, "a@b.example"));
    assert_true(c.is_fedramp);
    assert_true(c.expires_ms == 1790000000000);
}

static void test_other_claims(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct claims c;
    assert_true(claims_of(&a, "{\"organizations\":[{\"id\":\"org\"}],\"exp\":\"soon\"}", &c));
    assert_true(str_is(c.account_id, "org"));
    assert_true(c.expires_ms == 0 && !c.email.p && !c.plan.p && !c.is_fedramp);
    assert_true(claims_of(&a, "{\"chatgpt_account_id\":\"top\",\"exp\":1e300}", &c));
    assert_true(str_is(c.account_id, "top"));
    assert_true(c.expires_ms == 0);
    for (int n = 0; n < 6; n++) { /* every padding */
        const char *const payloads[] = {"{}", "{ }", "{  }", "{   }", "{    }", "{     }"};
        assert_true(claims_of(&a, payloads[n], &c));
    }
}

static void test_no_tokens(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf huge = BUF_INIT;
    struct claims c;
    assert_false(jwt_claims(STR_NONE, &a, &c));
    assert_false(jwt_claims(STR("sk-or-v1-abc"), &a, &c));
    assert_false(jwt_claims(STR("a.b"), &a, &c));
    assert_false(jwt_claims(STR("a.!!!.c"), &a, &c));
    assert_false(claims_of(&a, "[1]", &c));
    assert_false(claims_of(&a, "{\"exp\":", &c));
    for (int i = 0; i < 70000; i++)
        buf_addc(&huge, '[');
    assert_false(claims_of(&a, huge.p, &c));
}

/* ---- forms ---- */

static void test_form(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf b = BUF_INIT;
    form_put(&b, "scope", STR("a b/\xc3\xa4&="));
    form_put(&b, "x", STR(""));
    assert_string_equal(b.p, "scope=a%20b%2F%C3%A4%26%3D&x=");
    assert_true(str_is(form_get(buf_str(&b), "scope", &a), "a b/\xc3\xa4&="));
    assert_true(str_is(form_get(buf_str(&b), "x", &a), ""));
    assert_null(form_get(buf_str(&b), "y", &a).p);
    assert_true(str_is(form_get(STR("a=1&a=2&b+c=%4&d"), "a", &a), "1"));
    assert_true(str_is(form_get(STR("a=1&b+c=%4&d"), "b c", &a), "%4"));
    assert_true(str_is(form_get(STR("a=1&d"), "d", &a), ""));
    assert_true(str_is(form_get(STR("a=%zz%41"), "a", &a), "%zzA"));
    assert_null(form_get(STR(""), "a", &a).p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_challenge),    cmocka_unit_test(test_init),
        cmocka_unit_test(test_is_same),      cmocka_unit_test(test_claims),
        cmocka_unit_test(test_other_claims), cmocka_unit_test(test_no_tokens),
        cmocka_unit_test(test_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
