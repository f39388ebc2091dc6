/* SPDX-License-Identifier: MIT */
/* Gemini and its Cloud Code envelope: addresses and request bodies as golden texts. */
#include "gemini_scene.h"

static void test_url(void **state)
{
    (void)state;
    static const struct {
        const char *base, *model, *url;
    } cases[] = {
        {"http://x:1/v1beta", "gemini-3.8-flash",
         "http://x:1/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"},
        {"http://x:1/v1beta//", "models/m",
         "http://x:1/v1beta/models/m:streamGenerateContent?alt=sse"},
        {"http://x/v1", "tunedModels/a b?",
         "http://x/v1/tunedModels/a%20b%3F:streamGenerateContent?alt=sse"},
        {"", "m",
         "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf url = BUF_INIT;
        struct ask ask = {.base_url = str_of(cases[i].base),
                          .model = {.id = str_of(cases[i].model)}};
        gemini_put_url(&ask, &url);
        assert_string_equal(url.p, cases[i].url);
    }
    AUTO(buf) struct buf url = BUF_INIT;
    struct ask ask = {.base_url = STR("http://x:1/"), .model = {.id = STR("m")}};
    antigravity_put_url(&ask, &url);
    assert_string_equal(url.p, "http://x:1/v1internal:streamGenerateContent?alt=sse");
}

static void test_generation(void **state)
{
    (void)state;
    assert_int_equal(gemini_generation(STR("gemini-2.5-pro")), 25);
    assert_int_equal(gemini_generation(STR("models/gemini-3-pro-high")), 30);
    assert_int_equal(gemini_generation(STR("gemini-4-argon")), 40);
    assert_int_equal(gemini_generation(STR("gemini-flash-latest")), GEMINI_NEWEST);
    assert_int_equal(gemini_generation(STR("gemini-")), GEMINI_NEWEST);
    assert_int_equal(gemini_generation(STR("gemini-99999999999999")), 990);
    assert_int_equal(gemini_generation(STR("claude-sonnet-4-6")), 0);
    assert_int_equal(gemini_generation(STR("")), 0);
}

static void test_body_smallest(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi \"you\""));
    struct ask ask = ask_for("m", &m, 1);
    expect_body(&ask, "{\"contents\":[" U(T("hi \\\"you\\\"")) "]}");
}

static void test_body_members(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    struct tool_def tools[] = {
        {STR("read"), STR("Reads"),
         STR("{\"$schema\":\"x\",\"type\":\"object\",\"properties\":{\"p\":{\"const\":\"a\"}}}")},
        {STR("stop"), STR("Stops"), STR_NONE}};
    struct ask ask = ask_for("gemini-3.8-flash", &m, 1);
    ask.system = STR("Be brief.");
    ask.tools = tools;
    ask.n_tools = 2;
    ask.max_tokens = 100;
    ask.effort = STR("high");
    ask.project = STR("p-1");
#define CONFIG                                                                                     \
    "\"generationConfig\":{\"maxOutputTokens\":100,\"thinkingConfig\":{\"includeThoughts\":true,"  \
    "\"thinkingLevel\":\"HIGH\"}},"
#define TOOLS(member)                                                                              \
    "\"tools\":[{\"functionDeclarations\":[{\"name\":\"read\",\"description\":\"Reads\",\"" member \
    "\":{\"type\":\"object\",\"properties\":{\"p\":{\"enum\":[\"a\"]}}}},"                         \
    "{\"name\":\"stop\",\"description\":\"Stops\",\"" member "\":{\"type\":\"object\","            \
    "\"properties\":{}}}]}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"AUTO\"}},"
    expect_body(&ask,
                "{" CONFIG TOOLS("parametersJsonSchema") "\"systemInstruction\":{\"parts\":[" T(
                    "Be brief.") "]},"
                                 "\"contents\":[" U(T("hi")) "]}");
#define WRAPPED(model)                                                                             \
    "{\"project\":\"p-1\",\"model\":\"" model "\",\"userAgent\":\"trivet\",\"requestType\":"       \
    "\"agent\",\"request\":{\"model\":\"" model "\","
#define SYSTEM "\"systemInstruction\":{\"role\":\"user\",\"parts\":[" T("Be brief.") "]},"
    expect_text(antigravity_put_body, &ask,
                WRAPPED("gemini-3.8-flash") CONFIG TOOLS("parametersJsonSchema") SYSTEM
                "\"contents\":[" U(T("hi")) "]}}");
    ask.model.id = STR("claude-x");
    expect_text(antigravity_put_body, &ask,
                WRAPPED("claude-x") "\"generationConfig\":{\"maxOutputTokens\":100}," TOOLS(
                    "parameters") SYSTEM "\"contents\":[" U(T("hi")) "]}}");
}

static void test_body_thinking(void **state)
{
    (void)state;
    static const struct {
        const char *model, *effort, *config;
    } cases[] = {
        {"gemini-3.8-flash", "", "\"includeThoughts\":true"},
        {"gemini-3.8-flash", "minimal", "\"includeThoughts\":true,\"thinkingLevel\":\"LOW\""},
        {"gemini-4-argon", "medium", "\"includeThoughts\":true,\"thinkingLevel\":\"MEDIUM\""},
        {"gemini-4-argon", "XHIGH", "\"includeThoughts\":true,\"thinkingLevel\":\"HIGH\""},
        {"gemini-4-argon", "off", "\"includeThoughts\":false,\"thinkingLevel\":\"LOW\""},
        {"gemini-3-pro-high", "low", "\"includeThoughts\":true"},
        {"gemini-2.5-flash", "none", "\"includeThoughts\":false,\"thinkingBudget\":0"},
        {"gemini-2.5-flash", "high", "\"includeThoughts\":true,\"thinkingBudget\":24576"},
        {"gemini-2.5-pro", "off", "\"includeThoughts\":false,\"thinkingBudget\":128"},
        {"gemini-2.5-pro", "minimal", "\"includeThoughts\":true,\"thinkingBudget\":512"},
        {"gemini-2.5-pro", "low", "\"includeThoughts\":true,\"thinkingBudget\":2048"},
        {"gemini-2.5-pro", "medium", "\"includeThoughts\":true,\"thinkingBudget\":8192"},
        {"gemini-2.5-pro", "max", "\"includeThoughts\":true,\"thinkingBudget\":32768"},
        {"gemini-2.5-pro", "strange", "\"includeThoughts\":true"},
        {"gemini-2.0-flash", "high", NULL},
        {"gemma-3", "high", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ask ask = ask_for(cases[i].model, NULL, 0);
        char text[200] = "{\"contents\":[]}";
        ask.effort = str_of(cases[i].effort);
        if (cases[i].config)
            snprintf(text, sizeof text,
                     "{\"generationConfig\":{\"thinkingConfig\":{%s}},\"contents\":[]}",
                     cases[i].config);
        expect_body(&ask, text);
    }
}

static void expect_schema(const char *schema, enum gemini_schema kind, const char *text)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    gemini_put_schema(&w, str_of(schema), kind);
    assert_string_equal(out.p, text);
}

static void test_schema(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"$schema\":\"s\",\"$id\":\"i\",\"$comment\":\"c\",\"type\":\"object\","
        "\"$defs\":{\"const\":{\"const\":1}},\"additionalProperties\":false,\"properties\":{"
        "\"const\":{\"type\":[\"string\",\"null\"],\"enum\":[\"b\"],\"const\":\"a\"},"
        "\"$comment\":{\"type\":\"array\",\"items\":{\"enum\":[1,\"x\"]},\"uniqueItems\":true},"
        "\"n\":{\"oneOf\":[{\"const\":2},{\"type\":\"number\"}],\"default\":{\"const\":3}}},"
        "\"required\":[\"const\"]}";
    expect_schema(schema, GEMINI_JSON_SCHEMA,
                  "{\"$id\":\"i\",\"type\":\"object\",\"$defs\":{\"const\":{\"enum\":[1]}},"
                  "\"additionalProperties\":false,\"properties\":{"
                  "\"const\":{\"type\":[\"string\",\"null\"],\"enum\":[\"a\"]},"
                  "\"$comment\":{\"type\":\"array\",\"items\":{\"enum\":[1,\"x\"]},"
                  "\"uniqueItems\":true},\"n\":{\"oneOf\":[{\"enum\":[2]},{\"type\":\"number\"}],"
                  "\"default\":{\"const\":3}}},\"required\":[\"const\"]}");
    expect_schema(schema, GEMINI_OPENAPI,
                  "{\"type\":\"object\",\"properties\":{"
                  "\"const\":{\"type\":\"string\",\"nullable\":true,\"enum\":[\"a\"]},"
                  "\"$comment\":{\"type\":\"array\",\"items\":{\"enum\":[\"x\"]}},"
                  "\"n\":{\"anyOf\":[{},{\"type\":\"number\"}],\"default\":{\"const\":3}}},"
                  "\"required\":[\"const\"]}");
    expect_schema("", GEMINI_OPENAPI, "{\"type\":\"object\",\"properties\":{}}");
    expect_schema("[1]", GEMINI_JSON_SCHEMA, "{\"type\":\"object\",\"properties\":{}}");
    expect_schema("{broken", GEMINI_JSON_SCHEMA, "{\"type\":\"object\",\"properties\":{}}");
}

static void test_body_images(void **state)
{
    (void)state;
    struct block blocks[] = {
        {.kind = BLOCK_TEXT, .text = STR("look")},
        {.kind = BLOCK_IMAGE, .data = STR("iVBO"), .mime = STR("image/gif")},
    };
    struct message m = {.role = ROLE_USER, .blocks = blocks, .n_blocks = 2};
    struct ask ask = ask_for("m", &m, 1);
#define GIF "{\"inlineData\":{\"mimeType\":\"image/gif\",\"data\":\"iVBO\"}}"
    expect_body(&ask, "{\"contents\":[" U(T("look") "," GIF) "]}");
    ask.model.context_window = 1000; /* known, and known to take no images */
    expect_body(&ask, "{\"contents\":[" U(T("look") "," T("[image left out: this model takes no "
                                                          "images]")) "]}");
}

/* Results in another order, one missing, one empty, one without a call.
 * covers: providers 45, 64 */
static void test_body_calls(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block blocks[] = {
        {.kind = BLOCK_REASONING, .text = STR("secret thought")},
        {.kind = BLOCK_TEXT, .text = STR("Let me look.")},
        CALL("c1", "read", "{\"p\": 1.50}"),
        CALL("c2", "list", ""),
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
    struct ask ask = ask_for("gemini-2.0-flash", messages, ARRAY_LEN(messages));
#define FIRST_CALL FC("c1", "read", "{\"p\": 1.50}")
#define OTHER_CALLS "}," FC("c2", "list", "{}") "}," FC("c3", "read", "{}") "}"
#define RESPONSES                                                                                  \
    U(FR("c1", "read", "output", "(no tool output)") "," FR(                                       \
        "c2", "list", "error", "No result provided") "," FR("c3", "read", "error", "bad json"))
    expect_body(&ask, "{\"contents\":[" U(T("go")) "," M(
                          T("Let me look.") "," FIRST_CALL OTHER_CALLS) "," RESPONSES
                                                                        "," U(T("and?")) "]}");
    /* Gemini 3 wants a signature; another model's calls get the one for that. */
    ask.model.id = STR("gemini-3-flash");
    expect_body(
        &ask,
        "{\"generationConfig\":{\"thinkingConfig\":{\"includeThoughts\":true}},"
        "\"contents\":[" U(T("go")) "," M(T(
            "Let me look.") "," FIRST_CALL
                            ",\"thoughtSignature\":\"skip_thought_signature_validator\"" OTHER_CALLS) "," RESPONSES
                                                                                                      "," U(T(
                                                                                                          "and?")) "]}");
}

/* Begins with a reply, replies behind each other, results without calls, strange ids, pictures. */
static void test_body_odd_history(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block call = CALL("toolu|01/x", "shot", "{}");
    struct block nothing = {.kind = BLOCK_REASONING, .text = STR("hm")};
    struct block picture = {.kind = BLOCK_IMAGE, .data = STR("iVBO"), .mime = STR("image/gif")};
    struct message messages[] = {
        message_tool(&a, STR("gone"), STR("read"), STR("its call was compacted"), false),
        message_text(&a, ROLE_ASSISTANT, STR("one")),
        {.role = ROLE_ASSISTANT, .blocks = &nothing, .n_blocks = 1},
        {.role = ROLE_ASSISTANT, .blocks = &call, .n_blocks = 1},
        {.role = ROLE_TOOL, .call_id = call.id, .blocks = &picture, .n_blocks = 1},
        message_text(&a, ROLE_USER, STR("")),
        message_text(&a, ROLE_SUMMARY, STR("what was")),
    };
    struct ask ask = ask_for("m", messages, ARRAY_LEN(messages));
    char id[40], text[1000];
    snprintf(id, sizeof id, "call_%016llx", (unsigned long long)str_hash(call.id));
    snprintf(
        text, sizeof text,
        "{\"contents\":[" U(T("(the conversation goes on)")) "," M(T("one") "," FC("%s", "shot", "{}") "}") "," U(
            FR("%s", "shot", "output",
               "(no tool output)")) "," U(T("Images from the tool results above:") "," GIF) "," U(T("what was")) "]}",
        id, id);
    expect_body(&ask, text);
    ask.model.id = STR("gemini-3-x");
    snprintf(
        text, sizeof text,
        "{\"generationConfig\":{\"thinkingConfig\":{\"includeThoughts\":true}},"
        "\"contents\":[" U(T("(the conversation goes on)")) "," M(T("one") "," FC(
            "%s", "shot",
            "{}") ",\"thoughtSignature\":"
                  "\"skip_thought_signature_validator\"}") "," U("{\"functionResponse\":{\"id\":\"%s\",\"name\":\"shot\",\"response\":{\"output\":"
                                                                 "\"(no tool output)\"},\"parts\":[" GIF
                                                                 "]}}") "," U(T("what was")) "]}",
        id, id);
    expect_body(&ask, text);
}

/* The next round's body begins with all of this one's, up to the end of the contents.
 * covers: providers 66 */
static void test_body_prefix(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block call = CALL("c1", "read", "{}");
    struct message messages[] = {
        message_text(&a, ROLE_USER, STR("one")),
        message_text(&a, ROLE_ASSISTANT, STR("two")),
        message_text(&a, ROLE_USER, STR("three")),
        {.role = ROLE_ASSISTANT, .blocks = &call, .n_blocks = 1},
        message_tool(&a, STR("c1"), STR("read"), STR("four"), false),
        message_text(&a, ROLE_ASSISTANT, STR("five")),
    };
    static const size_t ends[] = {1, 3, 5, 6};
    for (size_t i = 1; i < ARRAY_LEN(ends); i++) {
        AUTO(buf) struct buf first = BUF_INIT, second = BUF_INIT;
        AUTO(buf) struct buf wrapped = BUF_INIT, wrapped_next = BUF_INIT;
        struct ask ask = ask_for("gemini-3-flash", messages, ends[i - 1]);
        gemini_put_body(&ask, &first);
        antigravity_put_body(&ask, &wrapped);
        ask.n_messages = ends[i];
        gemini_put_body(&ask, &second);
        antigravity_put_body(&ask, &wrapped_next);
        assert_true(str_starts(buf_str(&second), str_cut(buf_str(&first), first.n - 2)));
        assert_true(str_starts(buf_str(&wrapped_next), str_cut(buf_str(&wrapped), wrapped.n - 3)));
    }
}

/* covers: providers 65 */
static void test_body_broken_utf8(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER,
                                    STR("a\xff"
                                        "b"));
    struct ask ask = ask_for("m", &m, 1);
    expect_body(&ask, "{\"contents\":[" U(T("a\xef\xbf\xbd"
                                            "b")) "]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_body_smallest),
        cmocka_unit_test(test_body_members),
        cmocka_unit_test(test_body_thinking),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_body_images),
        cmocka_unit_test(test_body_calls),
        cmocka_unit_test(test_body_odd_history),
        cmocka_unit_test(test_body_prefix),
        cmocka_unit_test(test_body_broken_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
