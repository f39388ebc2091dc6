/* SPDX-License-Identifier: MIT */
/* OpenAI Responses and the Codex backend: request bodies as golden texts, headers, rows.  What
 * comes back is in test_responses_read.c. */
#include "providers/responses/responses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct ask ask_for(const struct message *messages, size_t n)
{
    return (struct ask){
        .model = {.provider = "openai-responses", .id = STR("gpt-4-m")},
        .messages = messages,
        .n_messages = n,
        .base_url = STR("http://localhost:1/v1"),
    };
}

#define HEAD "{\"model\":\"gpt-4-m\",\"stream\":true,\"store\":false,"
#define USER(text)                                                                                   \
    "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"" text \
    "\"}]}"
#define SAID(text)                                                                                 \
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","         \
    "\"text\":\"" text "\"}]}"
#define CALLED(id, name, args)                                                                     \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" name                          \
    "\",\"arguments\":\"" args "\"}"
#define RESULT(id, text)                                                                           \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"" text "\"}"
#define THINKS(effort)                                                                             \
    "\"reasoning\":{" effort "\"summary\":\"auto\"},"                                              \
    "\"include\":[\"reasoning.encrypted_content\"],"
#define THOUGHT                                                                                    \
    "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\","             \
    "\"text\":\"Look first.\"}],\"encrypted_content\":\"gAAA+/\\u003d==\"}"

typedef void put_fn(const struct ask *ask, struct buf *body);

static void expect(put_fn *put, const struct ask *ask, const char *text)
{
    AUTO(buf) struct buf body = BUF_INIT, again = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error err;
    put(ask, &body);
    put(ask, &again);
    assert_string_equal(body.p, text);
    assert_string_equal(again.p, text);
    assert_true(json_parse(buf_str(&body), 0, 100, &json, &err));
}

static void expect_body(const struct ask *ask, const char *text)
{
    expect(responses_put_body, ask, text);
}

static void expect_input(const struct ask *ask, const char *items)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, HEAD "\"input\":[%s]}", items);
    expect_body(ask, text.p);
}

/* ---- requests with a key ---- */

static void test_url(void **state)
{
    (void)state;
    static const struct {
        const char *base, *url, *codex_url;
    } cases[] = {
        {"http://localhost:1/v1", "http://localhost:1/v1/responses",
         "http://localhost:1/v1/responses"},
        {"http://localhost:1/v1//", "http://localhost:1/v1/responses",
         "http://localhost:1/v1/responses"},
        {"", "https://api.openai.com/v1/responses",
         "https://chatgpt.com/backend-api/codex/responses"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf url = BUF_INIT, codex_url = BUF_INIT;
        struct ask ask = {.base_url = str_of(cases[i].base)};
        responses_put_url(&ask, &url);
        codex_put_url(&ask, &codex_url);
        assert_string_equal(url.p, cases[i].url);
        assert_string_equal(codex_url.p, cases[i].codex_url);
    }
}

static void test_body_smallest(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi \"you\""));
    struct ask ask = ask_for(&m, 1);
    expect_input(&ask, USER("hi \\\"you\\\""));
}

#define TOOLS                                                                                      \
    "\"tools\":[{\"type\":\"function\",\"name\":\"read\",\"description\":\"Reads\","               \
    "\"strict\":false,\"parameters\":{\"type\":\"object\",\"properties\":{}}}],"                   \
    "\"tool_choice\":\"auto\",\"parallel_tool_calls\":true,"

static struct ask full_ask(const struct message *m, const struct tool_def *tool)
{
    struct ask ask = ask_for(m, 1);
    ask.model.id = STR("m");
    ask.system = STR("Be brief.");
    ask.tools = tool;
    ask.n_tools = 1;
    ask.max_tokens = 100;
    ask.effort = STR("low");
    ask.session_id = STR("s1");
    return ask;
}

static const struct tool_def read_tool = {STR("read"), STR("Reads"),
                                          STR("{\"type\":\"object\",\"properties\":{}}")};

static void test_body_members(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    struct ask ask = full_ask(&m, &read_tool);
#define BEGIN "{\"model\":\"m\",\"stream\":true,\"store\":false,\"instructions\":\"Be brief.\","
#define REST THINKS("\"effort\":\"low\",") TOOLS "\"input\":[" USER("hi") "]}"
    expect_body(&ask, BEGIN "\"max_output_tokens\":100," REST);
    ask.base_url = STR_NONE;
    expect_body(&ask, BEGIN "\"max_output_tokens\":100,\"prompt_cache_key\":\"s1\"," REST);
    ask.base_url = STR("https://api.openai.com/v1");
    ask.max_tokens = 3; /* less is refused */
    expect_body(&ask, BEGIN "\"max_output_tokens\":16,\"prompt_cache_key\":\"s1\"," REST);
    ask.base_url = STR("https://api.openai.com.example.org/v1");
    ask.max_tokens = 0;
    expect_body(&ask, BEGIN REST);
}

/* Only a model that may reason gets the settings for it. */
static void test_body_reasoning(void **state)
{
    (void)state;
    static const struct {
        struct model model;
        const char *effort, *head;
    } cases[] = {
        {{.id = STR("m"), .context_window = 1000, .reasons = true},
         "high",
         THINKS("\"effort\":\"high\",")},
        {{.id = STR("m"), .context_window = 1000, .reasons = true}, "", THINKS("")},
        {{.id = STR("m"), .context_window = 1000}, "high", ""},
        {{.id = STR("m")}, "none", THINKS("\"effort\":\"none\",")},
        {{.id = STR("gpt-4o-2024-11-20")}, "low", ""},
        {{.id = STR("gpt-3.5-turbo")}, "low", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        struct ask ask = {.model = cases[i].model, .effort = str_of(cases[i].effort)};
        buf_addf(&text, "{\"model\":\"%s\",\"stream\":true,\"store\":false,%s\"input\":[]}",
                 cases[i].model.id.p, cases[i].head);
        expect_body(&ask, text.p);
    }
}

#define IMAGE(mime, data)                                                                          \
    "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":\"data:" mime ";base64," data "\"}"
#define PART(text) "{\"type\":\"input_text\",\"text\":\"" text "\"}"

static void test_body_images(void **state)
{
    (void)state;
    struct block blocks[] = {
        {.kind = BLOCK_TEXT, .text = STR("look")},
        {.kind = BLOCK_IMAGE, .data = STR("iVBO"), .mime = STR("image/gif")},
    };
    struct message m = {.role = ROLE_USER, .blocks = blocks, .n_blocks = 2};
    struct ask ask = ask_for(&m, 1);
#define LOOK(picture)                                                                              \
    "{\"type\":\"message\",\"role\":\"user\",\"content\":[" PART("look") "," picture "]}"
    expect_input(&ask, LOOK(IMAGE("image/gif", "iVBO")));
    ask.model.context_window = 1000; /* known, and known to take no images */
    expect_input(&ask, LOOK(PART("[image left out: this model takes no images]")));
}

/* A picture that a tool gives stands in its result. */
static void test_body_image_in_result(void **state)
{
    (void)state;
    struct block call = {.kind = BLOCK_CALL, .id = STR("c1"), .name = STR("shot")};
    struct block got[] = {
        {.kind = BLOCK_TEXT, .text = STR("800x600")},
        {.kind = BLOCK_IMAGE, .data = STR("AAAA")},
    };
    struct message messages[] = {
        {.role = ROLE_ASSISTANT, .blocks = &call, .n_blocks = 1},
        {.role = ROLE_TOOL, .call_id = STR("c1"), .blocks = got, .n_blocks = 2},
    };
    struct ask ask = ask_for(messages, 2);
    expect_input(&ask,
                 CALLED("c1", "shot", "{}") ",{\"type\":\"function_call_output\","
                                            "\"call_id\":\"c1\",\"output\":[" PART(
                                                "800x600") "," IMAGE("image/png", "AAAA") "]}");
}

/* ---- history ---- */

#define CALL(i, n, args)                                                                           \
    {                                                                                              \
        .kind = BLOCK_CALL, .id = STR(i), .name = STR(n), .arguments = STR(args)                   \
    }

/* Results in another order, one missing, one empty, one without a call.  covers: providers 64 */
static void test_body_calls(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block blocks[] = {
        {.kind = BLOCK_REASONING, .text = STR("secret thought")},
        {.kind = BLOCK_TEXT, .text = STR("Let me look.")},
        CALL("c1", "read", "{\"p\":1}"),
        CALL("c2", "read", ""),
        CALL("c3", "read", "{broken"),
    };
    struct message messages[] = {
        message_text(&a, ROLE_USER, STR("go")),
        {.role = ROLE_ASSISTANT, .blocks = blocks, .n_blocks = ARRAY_LEN(blocks)},
        message_tool(&a, STR("c3"), STR("read"), STR("bad json"), true),
        message_tool(&a, STR("c1"), STR("read"), STR(""), false),
        message_tool(&a, STR("zz"), STR("read"), STR("orphan"), false),
        message_text(&a, ROLE_USER, STR("and?")),
    };
    struct ask ask = ask_for(messages, ARRAY_LEN(messages));
    expect_input(
        &ask,
        USER("go") "," SAID("Let me look.") "," CALLED("c1", "read", "{\\\"p\\\":1}") "," CALLED("c2", "read", "{}") "," CALLED(
            "c3", "read",
            "{}") "," RESULT("c1",
                             "(no tool output)") "," RESULT("c2",
                                                            "No result provided") "," RESULT("c3",
                                                                                             "bad json") "," USER("and?"));
}

static void test_body_odd_history(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block call = CALL("toolu|01/x", "ls", "{}");
    struct block nothing = {.kind = BLOCK_REASONING, .text = STR("hm")};
    struct message messages[] = {
        message_text(&a, ROLE_SUMMARY, STR("what was")),
        message_tool(&a, STR("gone"), STR("read"), STR("its call was compacted"), false),
        {.role = ROLE_ASSISTANT, .blocks = &nothing, .n_blocks = 1},
        {.role = ROLE_ASSISTANT, .blocks = &call, .n_blocks = 1},
        message_tool(&a, call.id, STR("ls"), STR("a\xff"), false), /* covers: providers 65 */
    };
    struct ask ask = ask_for(messages, ARRAY_LEN(messages));
    char id[40], text[1000];
    snprintf(id, sizeof id, "call_%016llx", (unsigned long long)str_hash(call.id));
    snprintf(text, sizeof text,
             USER("what was") "," CALLED("%s", "ls", "{}") "," RESULT("%s", "a\xef\xbf\xbd"), id,
             id);
    expect_input(&ask, text);
}

/* A whole round with reasoning: the item stands where it stood, byte by byte, before its call. */
static struct message *round_of(struct arena *a, size_t *ret_n)
{
    struct block *said = arena_array(a, struct block, 5);
    struct message *m = arena_array(a, struct message, 4);
    said[0] = (struct block){
        .kind = BLOCK_REASONING, .text = STR("Look first."), .opaque = STR(THOUGHT)};
    said[1] = (struct block)CALL("c1", "read", "{}");
    said[2] = (struct block){.kind = BLOCK_REASONING, .text = STR("words only")};
    said[3] = (struct block){.kind = BLOCK_TEXT, .text = STR("So.")};
    said[4] = (struct block){.kind = BLOCK_REASONING, .opaque = STR(THOUGHT)}; /* leads nowhere */
    m[0] = message_text(a, ROLE_USER, STR("go"));
    m[1] = (struct message){.role = ROLE_ASSISTANT,
                            .blocks = said,
                            .n_blocks = 5,
                            .provider = STR("openai-responses"),
                            .model = STR("gpt-4-m")};
    m[2] = message_tool(a, STR("c1"), STR("read"), STR("x"), false);
    m[3] = message_text(a, ROLE_ASSISTANT, STR("done"));
    *ret_n = 4;
    return m;
}

/* covers: providers 25 */
static void test_reasoning_is_replayed_in_place(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct message *m = round_of(&a, &n);
    struct ask ask = ask_for(m, n);
    expect_input(&ask, USER("go") "," THOUGHT "," CALLED("c1", "read", "{}") "," SAID(
                           "So.") "," RESULT("c1", "x") "," SAID("done"));
}

/* covers: providers 26 */
static void test_reasoning_goes_to_its_maker_only(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct message *m = round_of(&a, &n);
    struct ask ask = ask_for(m, n);
#define PLAIN                                                                                      \
    USER("go")                                                                                     \
    "," CALLED("c1", "read", "{}") "," SAID("So.") "," RESULT("c1", "x") "," SAID("done")
    m[1].model = STR("gpt-4-n");
    expect_input(&ask, PLAIN);
    m[1].model = ask.model.id;
    m[1].provider = STR("codex");
    expect_input(&ask, PLAIN);
    m[1].provider = m[1].model = STR_NONE;
    expect_input(&ask, PLAIN);
    ask.model.provider = NULL;
    expect_input(&ask, PLAIN);
}

/* The items of a round are a prefix of those of the next, and all before them is the same.
 * covers: providers 66 */
static void test_body_prefix(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf before = BUF_INIT;
    size_t n;
    struct message *m = round_of(&a, &n);
    struct ask ask = full_ask(m, &read_tool);
    ask.model.id = STR("gpt-4-m");
    const size_t rounds[] = {1, 3, 4};
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        AUTO(buf) struct buf body = BUF_INIT;
        ask.n_messages = rounds[i];
        responses_put_body(&ask, &body);
        assert_true(str_ends(buf_str(&body), STR("]}")));
        assert_true(
            str_starts(buf_str(&body), str_cut(buf_str(&before), before.n ? before.n - 2 : 0)));
        assert_true(body.n > before.n);
        buf_reset(&before);
        buf_add(&before, buf_str(&body));
    }
}

/* ---- the Codex backend ---- */

/* covers: providers 27 */
static void test_codex_body(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    struct ask ask = full_ask(&m, &read_tool);
    expect(codex_put_body, &ask, BEGIN "\"prompt_cache_key\":\"s1\"," REST);
    ask.system = ask.session_id = STR_NONE;
    ask.n_tools = 0;
    expect(
        codex_put_body, &ask,
        "{\"model\":\"m\",\"stream\":true,\"store\":false,\"instructions\":"
        "\"You are a coding agent.\"," THINKS("\"effort\":\"low\",") "\"input\":[" USER("hi") "]}");
}

static void expect_headers(const struct ask *ask, const char *text)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf all = BUF_INIT;
    struct http_header out[8];
    size_t n = codex_vendor.headers(ask, &a, out, ARRAY_LEN(out));
    for (size_t i = 0; i < n; i++)
        buf_addf(&all, "%.*s: %.*s\n", STR_FMT(out[i].name), STR_FMT(out[i].value));
    assert_string_equal(all.p, text);
}

static void test_codex_headers(void **state)
{
    (void)state;
    struct http_header one[1];
    AUTO(arena) struct arena a = ARENA_INIT;
    struct ask ask = {.account_id = STR("acc-1"), .session_id = STR("s\xc3\xbc\r\n 1")};
#define FIXED "originator: trivet\nOpenAI-Beta: responses=experimental\n"
    expect_headers(&ask, FIXED "ChatGPT-Account-ID: acc-1\nsession-id: s1\n");
    expect_headers(&(struct ask){0}, FIXED);
    assert_int_equal(codex_vendor.headers(&ask, &a, one, 1), 1);
    assert_null(responses_vendor.headers);
}

/* covers: providers 29 */
static void test_usage_limit(void **state)
{
    (void)state;
    struct error err;
    error_from_http(&err, codex_vendor.label, 429,
                    STR("{\"error\":{\"type\":\"usage_limit_reached\",\"plan_type\":\"plus\","
                        "\"resets_at\":1760000000}}"),
                    STR_NONE, STR_NONE);
    assert_int_equal(err.code, ERR_QUOTA);
    assert_string_equal(err.text,
                        "Codex answered 429: usage_limit_reached (resets at 2025-10-09 08:53 UTC)");
    error_from_http(&err, codex_vendor.label, 429,
                    STR("{\"error\":{\"type\":\"usage_not_included\"}}"), STR_NONE, STR_NONE);
    assert_int_equal(err.code, ERR_QUOTA);
    error_from_http(&err, codex_vendor.label, 429,
                    STR("{\"error\":{\"message\":\"later\",\"resets_at\":-1}}"), STR_NONE,
                    STR_NONE);
    assert_int_equal(err.code, ERR_RATE);
    assert_string_equal(err.text, "Codex answered 429: later");
}

/* ---- rows ---- */

static size_t count_models(const struct provider *p)
{
    size_t n = 0;
    for (; p->models[n].id.p; n++) {
        assert_string_equal(p->models[n].provider, p->name);
        assert_true(p->models[n].context_window > p->models[n].max_output);
    }
    return n;
}

static void test_rows(void **state)
{
    (void)state;
    assert_string_equal(provider_responses.name, "openai-responses");
    assert_string_equal(provider_codex.name, "codex");
    assert_true(provider_responses.needs_key && provider_codex.needs_key);
    assert_true(count_models(&provider_responses) > 10 && count_models(&provider_codex) > 10);
    for (const struct model *m = provider_codex.models; m->id.p; m++)
        assert_true(m->price_in == 0 && m->price_out == 0 && m->reasons);
    for (const struct model *m = provider_responses.models; m->id.p; m++)
        assert_true(m->price_out > m->price_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_body_smallest),
        cmocka_unit_test(test_body_members),
        cmocka_unit_test(test_body_reasoning),
        cmocka_unit_test(test_body_images),
        cmocka_unit_test(test_body_image_in_result),
        cmocka_unit_test(test_body_calls),
        cmocka_unit_test(test_body_odd_history),
        cmocka_unit_test(test_reasoning_is_replayed_in_place),
        cmocka_unit_test(test_reasoning_goes_to_its_maker_only),
        cmocka_unit_test(test_body_prefix),
        cmocka_unit_test(test_codex_body),
        cmocka_unit_test(test_codex_headers),
        cmocka_unit_test(test_usage_limit),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
