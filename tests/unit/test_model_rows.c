/* SPDX-License-Identifier: MIT */
/* Rows about models: reading, writing, laying one over another; and the answers of providers
 * (live.c) as rows. */
#include "providers/model_rows.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool read_text(struct model_rows *r, const char *text, bool is_strict, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    assert_true(json_parse(str_of(text), 0, 20, &json, err));
    return model_rows_read(r, json.root, is_strict, err);
}

static void test_levels(void **state)
{
    (void)state;
    assert_int_equal(level_named(STR("off")), LEVEL_OFF);
    assert_int_equal(level_named(STR("none")), LEVEL_OFF);
    assert_int_equal(level_named(STR("Extra_High")), LEVEL_XHIGH);
    assert_int_equal(level_named(STR("max")), LEVEL_MAX);
    assert_int_equal(level_named(STR("huge")), 0);
    assert_int_equal(level_named(STR("")), 0);
    for (unsigned i = 0; i < LEVEL_N; i++)
        assert_int_equal(level_named(str_of(level_names[i])), 1u << i);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char text[] =
        "[{\"id\":\"openrouter/a/b:free\",\"name\":\"A \\\"b\\\"\",\"context_window\":100,"
        "\"max_output\":10,\"images\":false,\"reasons\":true,\"reasoning\":[\"off\",\"low\"],"
        "\"price_in\":0.25,\"price_out\":2,\"price_cached\":0},{\"id\":\"x/y\"}]";
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct error err;
    assert_true(read_text(&r, text, true, &err));
    assert_int_equal(r.n, 2);
    const struct model_row *row = model_rows_find(&r, STR("openrouter"), STR("a/b:free"));
    assert_non_null(row);
    assert_int_equal(row->model.levels, LEVEL_OFF | LEVEL_LOW);
    assert_null(model_rows_find(&r, STR("openrouter"), STR("y")));
    struct jw w = JW(&out);
    model_rows_put(&r, &w);
    assert_string_equal(out.p, text);
}

static void refuses(const char *text, const char *words)
{
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_false(read_text(&r, text, true, &err));
    assert_int_equal(err.code, ERR_INVALID);
    if (!strstr(err.text, words))
        fail_msg("no %s in %s", words, err.text);
}

static void test_faults(void **state)
{
    (void)state;
    refuses("{}", "`models`");
    refuses("[{\"id\":\"a/b\"},{\"name\":\"x\"}]", "models[1]: ");
    refuses("[{\"name\":\"x\"}]", "id");
    refuses("[{\"id\":\"gpt-5\"}]", "`id` must be provider/model-id");
    refuses("[{\"id\":\"/x\"}]", "`id` must be provider/model-id");
    refuses("[{\"id\":\"a/b\",\"context_window\":\"big\"}]", "context_window");
    refuses("[{\"id\":\"a/b\",\"price_in\":-1}]", "price_in");
    refuses("[{\"id\":\"a/b\",\"contextWindow\":1}]", "contextWindow");
    refuses("[{\"id\":\"a/b\",\"reasoning\":[\"low\",\"huge\"]}]", "unknown level huge");
    refuses("[{\"id\":\"a/b\",\"reasoning\":\"low\"}]", "reasoning");
    refuses("[7]", "models[0]");
    /* A kept list may have members of a later version. */
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_true(read_text(&r, "[{\"id\":\"a/b\",\"later\":1}]", false, &err));
}

static void test_apply(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    struct model m = {.context_window = 5,
                      .price_in = 3,
                      .takes_images = true,
                      .reasons = true,
                      .levels = LEVEL_LOW,
                      .name = STR("old")};
    assert_true(read_text(&r, "[{\"id\":\"a/b\",\"images\":false,\"price_in\":0,\"name\":\" \"}]",
                          true, &err));
    model_row_apply(&r.rows[0], MODEL_LIVE, &m);
    assert_int_equal(m.context_window, 5); /* not given */
    assert_true(!m.takes_images && m.price_in == 0 && m.reasons && m.source == MODEL_LIVE);
    assert_true(str_is(m.name, "old")); /* blank is not a name */
    assert_true(read_text(&r, "[{\"id\":\"a/c\",\"reasoning\":[\"off\"]}]", true, &err));
    model_row_apply(&r.rows[1], MODEL_USER, &m);
    assert_true(!m.reasons && m.levels == LEVEL_OFF && m.source == MODEL_USER);
}

/* ---- what providers answer ---- */

static void test_openrouter(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_true(live_read_list(
        STR("openrouter"), LIST_OPENROUTER,
        STR("{\"data\":[{\"id\":\"a/b\",\"name\":\"B\",\"context_length\":1000,\"architecture\":"
            "{\"input_modalities\":[\"image\"],\"output_modalities\":[\"text\"]},\"pricing\":"
            "{\"prompt\":\"0.00000075\",\"completion\":\"0.0000045\",\"input_cache_read\":\"x\"},"
            "\"top_provider\":{\"max_completion_tokens\":50},\"supported_parameters\":"
            "[\"reasoning\"],\"reasoning\":{\"mandatory\":true,\"supported_efforts\":[\"max\"]}},"
            "{\"id\":\"paint\",\"architecture\":{\"output_modalities\":[\"image\"]}},"
            "{\"id\":\"c\",\"supported_parameters\":[]},7,{}]}"),
        &r, &err));
    assert_int_equal(r.n, 2);
    const struct model *m = &r.rows[0].model;
    assert_true(str_is(m->id, "a/b") && str_is(m->name, "B"));
    assert_true(m->context_window == 1000 && m->max_output == 50 && m->takes_images);
    assert_true(m->reasons && m->levels == LEVEL_MAX);
    assert_true(m->price_in == 0.75 && m->price_out == 4.5); /* exactly */
    assert_false(r.rows[0].given & GIVEN_PRICE_CACHED);
    assert_int_equal(r.rows[1].given, GIVEN_REASONS);
    assert_false(r.rows[1].model.reasons);
}

static void test_local(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_true(live_read_list(STR("vllm"), LIST_PLAIN,
                               STR("{\"data\":[{\"id\":\"a\",\"max_model_len\":7},{\"id\":\"b\","
                                   "\"meta\":{\"n_ctx_train\":9}},{\"id\":\"c\",\"meta\":null}]}"),
                               &r, &err));
    assert_int_equal(r.n, 3);
    assert_int_equal(r.rows[0].model.context_window, 7);
    assert_int_equal(r.rows[1].model.context_window, 9);
    assert_int_equal(r.rows[2].given, 0);
    live_read_props(STR("{\"default_generation_settings\":{\"n_ctx\":5},\"modalities\":{"
                        "\"vision\":true}}"),
                    &r);
    assert_true(r.rows[2].model.context_window == 5 && r.rows[2].model.takes_images);
    live_read_props(STR("no JSON"), &r);
    live_read_show(STR("{\"model_info\":{\"x.context_length\":100,\"general.architecture\":\"x\"},"
                       "\"parameters\":\"temperature 1\\nnum_ctx  40\",\"capabilities\":"
                       "[\"vision\"]}"),
                   &r.rows[0]);
    assert_true(r.rows[0].model.context_window == 40 && r.rows[0].model.takes_images);
    live_read_show(STR("{\"model_info\":{\"x.context_length\":30},\"parameters\":\"num_ctx 40\"}"),
                   &r.rows[0]);
    assert_int_equal(r.rows[0].model.context_window, 30);
    live_read_show(STR("[]"), &r.rows[0]);
    assert_true(live_read_list(STR("ollama"), LIST_OLLAMA, STR("{\"data\":null}"), &r, &err));
    static const char *const bad[] = {"", "[]", "{}", "{\"data\":{}}", "<html>", "{\"data\":\"\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(live_read_list(STR("vllm"), LIST_PLAIN, str_of(bad[i]), &r, &err));
        assert_int_equal(err.code, ERR_BAD_REPLY);
    }
}

/* What the others say of their models. */
static void test_lists(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_true(live_read_list(STR("openai"), LIST_OPENAI,
                               STR("{\"data\":[{\"id\":\"gpt-5\"},{\"id\":\"tts-1\"},"
                                   "{\"id\":\"gpt-4o-audio-preview\"},{\"id\":\"x-audio\"}]}"),
                               &r, &err));
    assert_int_equal(r.n, 2);
    assert_true(str_is(r.rows[1].model.id, "x-audio")); /* no name of OpenAI's */
    assert_true(live_read_list(
        STR("anthropic"), LIST_ANTHROPIC,
        STR("{\"data\":[{\"id\":\"c\",\"display_name\":\"C\",\"max_input_tokens\":7,"
            "\"max_tokens\":3,\"capabilities\":{\"image_input\":{\"supported\":false},"
            "\"thinking\":{\"supported\":true}}},{\"id\":\"d\",\"capabilities\":null}]}"),
        &r, &err));
    const struct model_row *row = model_rows_find(&r, STR("anthropic"), STR("c"));
    assert_true(str_is(row->model.name, "C") && row->model.context_window == 7);
    assert_true(row->model.max_output == 3 && row->model.reasons && !row->model.takes_images);
    assert_int_equal(model_rows_find(&r, STR("anthropic"), STR("d"))->given, 0);
    assert_true(live_read_list(
        STR("gemini"), LIST_GEMINI,
        STR("{\"models\":[{\"name\":\"models/g\",\"displayName\":\"G\",\"description\":"
            "\" Good. \",\"inputTokenLimit\":9,\"outputTokenLimit\":8,\"thinking\":true},"
            "{\"name\":\"models/e\",\"supportedGenerationMethods\":[\"embedContent\"]}]}"),
        &r, &err));
    row = model_rows_find(&r, STR("gemini"), STR("g"));
    assert_true(str_is(row->model.about, "Good.") && row->model.context_window == 9);
    assert_true(row->model.max_output == 8 && row->model.reasons);
    assert_null(model_rows_find(&r, STR("gemini"), STR("e")));
    assert_false(live_read_list(STR("gemini"), LIST_GEMINI, STR("{\"data\":[]}"), &r, &err));
    assert_false(live_read_list(STR("codex"), LIST_CODEX, STR("{\"models\":{}}"), &r, &err));
}

/* Whatever stands in a list, no row has an id that could not be sent or shown. */
static void test_odd_items(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    buf_addz(&text, "{\"data\":[{\"id\":7},{\"id\":\"\"},{\"id\":\" \"},{\"id\":\"a b\"},"
                    "{\"id\":\"a\\nb\"},{\"id\":\"a\\u0000b\"},[],null,\"x\",{\"id\":\"");
    for (int i = 0; i < 300; i++)
        buf_addc(&text, 'l');
    buf_addz(&text, "\"},{\"id\":\" ok \",\"name\":[1],\"description\":{},"
                    "\"context_length\":\"much\",\"pricing\":7,\"supported_parameters\":{},"
                    "\"architecture\":[],\"top_provider\":3},{\"id\":\"named\",\"name\":"
                    "\"named\"}]}");
    assert_true(live_read_list(STR("openrouter"), LIST_OPENROUTER, buf_str(&text), &r, &err));
    assert_int_equal(r.n, 2);
    assert_true(str_is(r.rows[0].model.id, "ok"));
    assert_int_equal(r.rows[0].given & (GIVEN_NAME | GIVEN_ABOUT | GIVEN_WINDOW), 0);
    assert_true(r.rows[1].given & GIVEN_NAME); /* a name of its own, though it is the same */
}

/* The window by any name, and what loaf makes of Cloud Code's figures (loaf 146, 159). */
static void test_windows(void **state)
{
    (void)state;
    AUTO(model_rows) struct model_rows r = MODEL_ROWS_INIT;
    struct error err;
    assert_true(live_read_list(
        STR("openrouter"), LIST_OPENROUTER,
        STR("{\"data\":[{\"id\":\"a\",\"max_input_tokens\":1},{\"id\":\"b\",\"architecture\":"
            "{\"context_window\":2}},{\"id\":\"c\",\"top_provider\":{\"context_length\":3}},"
            "{\"id\":\"d\",\"contextLength\":4}]}"),
        &r, &err));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(r.rows[i].model.context_window, i + 1);
    model_rows_clear(&r);
    assert_true(live_read_list(
        STR("antigravity"), LIST_CLOUDCODE,
        STR("{\"models\":{\"a\":{\"maxTokens\":50},\"b\":{\"maxTokens\":5,"
            "\"maxOutputTokens\":9,\"supportsThinking\":true,\"thinkingBudget\":9000,"
            "\"description\":\"Deep.\",\"tagTitle\":\"New\",\"beta\":true},"
            "\"c\":{\"displayName\":\"So Low\",\"supportsThinking\":true},\"d\":7}}"),
        &r, &err));
    assert_int_equal(r.n, 3);
    assert_int_equal(r.rows[0].model.context_window, 50);
    assert_int_equal(r.rows[1].model.context_window, 5);
    assert_int_equal(r.rows[1].model.default_level, LEVEL_MEDIUM);
    assert_true(str_is(r.rows[1].model.about, "Deep. | New | beta"));
    assert_int_equal(r.rows[2].model.default_level, LEVEL_LOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),     cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_faults),     cmocka_unit_test(test_apply),
        cmocka_unit_test(test_openrouter), cmocka_unit_test(test_local),
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_odd_items),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
