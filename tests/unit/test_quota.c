/* SPDX-License-Identifier: MIT */
/* What accounts say: lists of models (live.c) and what is left of a subscription, as loaf 159
 * and 10.3 describe the answers. */
#include "providers/model_rows.h"
#include "providers/quota.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct quota read_codex(struct arena *a, const char *text)
{
    struct error err;
    struct quota q;
    assert_true(quota_read_codex(str_of(text), a, &q, &err));
    return q;
}

static void test_windows(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct quota q = read_codex(
        &a, "{\"plan_type\":\"pro\",\"rate_limit\":{\"primary_window\":{\"used_percent\":12.5,"
            "\"limit_window_seconds\":18000,\"reset_at\":1800000000},"
            "\"secondary_window\":{\"used_percent\":-3}}}");
    assert_true(str_is(q.plan, "pro"));
    assert_true(q.primary.is_known && q.secondary.is_known);
    assert_true(q.primary.used_percent > 12.4 && q.primary.used_percent < 12.6);
    assert_int_equal(q.primary.seconds, 18000);
    assert_int_equal(q.primary.reset_at, 1800000000);
    assert_true(q.secondary.used_percent < 0.001); /* clamped */
    assert_int_equal(q.secondary.seconds, -1);
    assert_int_equal(q.secondary.reset_at, -1);
    q = read_codex(&a, "{\"rate_limit\":{\"primary_window\":{\"used_percent\":250}}}");
    assert_true(!q.plan.p && !q.secondary.is_known);
    assert_true(q.primary.used_percent > 99.9 && q.primary.used_percent < 100.1);
}

static void
test_other_windows(void **state) /* the entry named codex, when the usual ones are not there */
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct quota q = read_codex(
        &a, "{\"rate_limit\":null,\"additional_rate_limits\":["
            "{\"limit_name\":\"other\",\"rate_limit\":{\"primary_window\":{\"used_percent\":1}}},"
            "{\"metered_feature\":\"codex\",\"rate_limit\":{\"secondary_window\":"
            "{\"used_percent\":40}}}]}");
    assert_true(!q.primary.is_known && q.secondary.is_known);
    q = read_codex(&a, "{\"rate_limit\":{\"primary_window\":{\"used_percent\":5}},"
                       "\"additional_rate_limits\":[{\"limit_name\":\"codex\",\"rate_limit\":"
                       "{\"primary_window\":{\"used_percent\":90}}}]}");
    assert_true(q.primary.used_percent < 6); /* the usual one comes first */
    q = read_codex(&a, "{}");
    assert_true(!q.primary.is_known && !q.secondary.is_known && !q.plan.p);
}

static void test_cloud(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err;
    struct quota q;
    assert_true(quota_read_cloudcode(
        STR("{\"models\":{\"a\":{\"displayName\":\"A\",\"quotaInfo\":{\"remainingFraction\":0.25,"
            "\"resetTime\":\"soon\"}},\"b\":{\"quotaInfo\":{\"remainingFraction\":7}},"
            "\"c\":{\"displayName\":\"no quota\"},\"d\":{\"disabled\":true,\"quotaInfo\":{}}}}"),
        &a, &q, &err));
    assert_int_equal(q.n_models, 2);
    assert_true(str_is(q.models[0].name, "A") && str_is(q.models[0].reset_time, "soon"));
    assert_true(q.models[0].remaining_percent > 24.9 && q.models[0].remaining_percent < 25.1);
    assert_true(str_is(q.models[1].name, "b") && !q.models[1].reset_time.p);
    assert_true(q.models[1].remaining_percent < 100.1);
}

static void test_nonsense(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "no", "[]", "7", "{\"models\":"};
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err;
    struct quota q;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(quota_read_codex(str_of(bad[i]), &a, &q, &err));
        assert_int_equal(err.code, ERR_BAD_REPLY);
        assert_false(quota_read_cloudcode(str_of(bad[i]), &a, &q, &err));
        assert_int_equal(err.code, ERR_BAD_REPLY);
    }
}

static void test_codex_list(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_true(live_read_list(
        STR("codex"), LIST_CODEX,
        STR("{\"models\":[{\"slug\":\"gpt-9\",\"display_name\":\"GPT-9\",\"priority\":0,"
            "\"architecture\":{\"context_length\":1000},\"default_reasoning_effort\":\"low\","
            "\"supported_reasoning_efforts\":[\"none\",{\"effort\":\"extra-high\"},7]},"
            "{\"id\":\"gpt-8\",\"max_input_tokens\":5},{\"slug\":\"gpt-9\"},{},null]}"),
        &r, &err));
    assert_int_equal(r.n, 2);
    const struct model *m = &r.rows[0].model;
    assert_true(str_is(m->name, "GPT-9") && m->context_window == 1000 && m->priority == 1);
    assert_int_equal(m->levels, LEVEL_OFF | LEVEL_XHIGH);
    assert_int_equal(m->default_level, LEVEL_LOW);
    m = &r.rows[1].model;
    assert_true(m->context_window == 5 && m->reasons && m->levels == 0 && m->priority == 0);
}

static void test_list_is_kept(void **state) /* what the cache file says comes back */
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    AUTO(model_rows) struct model_rows again = MODEL_ROWS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct jw w = JW(&out);
    struct error err;
    assert_true(live_read_list(STR("codex"), LIST_CODEX,
                               STR("{\"models\":[{\"slug\":\"x\",\"priority\":4,"
                                   "\"default_reasoning_level\":\"high\"}]}"),
                               &r, &err));
    model_rows_put(&r, &w);
    assert_true(json_parse(buf_str(&out), 0, 20, &json, &err));
    assert_true(model_rows_read(&again, json.root, true, &err));
    assert_int_equal(again.rows[0].model.priority, 5);
    assert_int_equal(again.rows[0].model.default_level, LEVEL_HIGH);
    assert_int_equal(again.rows[0].given, r.rows[0].given);
}

static void test_cloud_list(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_true(live_read_list(
        STR("antigravity"), LIST_CLOUDCODE,
        STR("{\"models\":{\"deep-low\":{\"supportsThinking\":true,\"maxTokens\":100,"
            "\"maxOutputTokens\":30},\"flat-high\":{},\"gone\":{\"disabled\":true}},"
            "\"agentModelSorts\":[{\"groups\":[{\"modelIds\":[\"?\",\"flat-high\"]}]}]}"),
        &r, &err));
    assert_int_equal(r.n, 2);
    const struct model *m = &r.rows[0].model;
    assert_true(str_is(m->id, "deep-low") && m->context_window == 70 && m->priority == 0);
    assert_int_equal(m->default_level, LEVEL_LOW);
    m = &r.rows[1].model;
    assert_int_equal(m->levels, LEVEL_OFF);
    assert_int_equal(m->priority, 2);
    assert_false(r.rows[1].given & GIVEN_DEFAULT); /* it has no level high */
    assert_false(
        live_read_list(STR("antigravity"), LIST_CLOUDCODE, STR("{\"models\":7}"), &r, &err));
    assert_int_equal(err.code, ERR_BAD_REPLY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_other_windows),
        cmocka_unit_test(test_cloud),      cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_codex_list), cmocka_unit_test(test_list_is_kept),
        cmocka_unit_test(test_cloud_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
