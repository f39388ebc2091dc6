/* SPDX-License-Identifier: MIT */
/* Gemini and its Cloud Code envelope: transcripts through the SSE parser whole and byte by byte,
 * cut after every event, and sent back as history.  test_gemini_request.c has the requests. */
#include "gemini_scene.h"
#include "reader_scene.h"

/* ---- the reader ---- */

/* "r:<reasoning>", and "s" for a signature */
static void say_reasoning(const struct block *b, struct buf *out)
{
    if (b->text.n > 0)
        buf_addf(out, "r:%.*s;", STR_FMT(b->text));
    if (b->opaque.p)
        buf_addz(out, "s;");
}

static const struct reader_kind reader = {&gemini_vendor, false, say_reasoning};

#define CHUNK(inside) "data: {" inside "}\n\n"
#define CONTENT(parts) "\"content\":{\"role\":\"model\",\"parts\":[" parts "]}"
#define D(parts) CHUNK("\"candidates\":[{" CONTENT(parts) ",\"index\":0}]")
#define END(why) CHUNK("\"candidates\":[{" CONTENT("") ",\"finishReason\":\"" why "\"}]")
#define THOUGHT(text) "{\"thought\":true,\"text\":\"" text "\""
#define SIGN(word) ",\"thoughtSignature\":\"" word "\"}"

static const char transcript[] = D(THOUGHT("Looking") "}") D(THOUGHT(" at it.") "}") D(T(
    "I ") "," T("read.")) D(FC("f1", "read", "{\"path\":\"a.c\",\"n\":[1,2.5,null]}") SIGN("CiQB"))
    D(FC("f2", "read", "{}") "}") CHUNK("\"candidates\":[{" CONTENT(
        T("")) ",\"finishReason\":\"STOP\",\"index\":0}],"
               "\"usageMetadata\":{\"promptTokenCount\":800,\"cachedContentTokenCount\":512,"
               "\"candidatesTokenCount\":20,\"thoughtsTokenCount\":64,\"totalTokenCount\":884}");

/* covers: providers 42, 43, 46 */
static void test_read_transcript(void **state)
{
    (void)state;
    AUTO(heard) struct heard h;
    listen(&h, str_of(transcript), 1);
    assert_true(h.is_fine && h.reply.has_usage);
    assert_string_equal(h.reasoning.p, "Looking at it.");
    assert_string_equal(h.text.p, "I read.");
    assert_int_equal(h.n_alive, 2);
    assert_int_equal(h.reply.usage.input, 800);
    assert_int_equal(h.reply.usage.output, 84);
    assert_int_equal(h.reply.usage.cache_read, 512);
    assert_int_equal(h.reply.usage.reasoning, 64);
    assert_true(str_is(h.reply.raw_stop, "STOP"));
    expect_reply(str_of(transcript),
                 "r:Looking at it.;t:I read.;s;"
                 "c:f1,read,{\"path\":\"a.c\",\"n\":[1,2.5,null]};c:f2,read,{};",
                 STOP_CALLS);
}

static void test_read_text(void **state)
{
    (void)state;
    /* covers: providers 1, 7, 9 */
    expect_reply(STR(": comment\r\n\r\n" D(T("Gr\xc3\xbc")) "event: x\n\n" D(T(
                     "\xc3\x9f")) "data: {\"candidates\":[{\"new\":1,\"finishReason\":\"STOP\"}]}"),
                 "t:Gr\xc3\xbc\xc3\x9f;", STOP_END);
    expect_reply(STR(D(T("a")) END("MAX_TOKENS")), "t:a;", STOP_LENGTH);
    expect_reply(STR(D(FC("f", "x", "{}") "}") END("MAX_TOKENS")), "c:f,x,{};", STOP_LENGTH);
    expect_reply(STR(D(T("a")) END("SAFETY")), "t:a;", STOP_FILTER);
    expect_reply(STR(D(FC("f", "x", "{}") "}") END("RECITATION")), "c:f,x,{};", STOP_FILTER);
    expect_reply(STR(D(T("a")) END("SOMETHING_NEW")), "t:a;", STOP_OTHER);
    expect_reply(STR(D("{\"executableCode\":{}}") D("{\"text\":null}") D("7") END("STOP")), "",
                 STOP_END);
    /* A finish reason with every chunk; a gateway's end marker. */
    expect_reply(STR(CHUNK("\"candidates\":[{" CONTENT(T("a")) ",\"finishReason\":\"STOP\"}]")
                         CHUNK("\"candidates\":[{" CONTENT(
                             T("b")) ",\"finishReason\":\"STOP\"}]") "data: [DONE]\n\n" D(T("c"))),
                 "t:ab;", STOP_END);
    expect_reply(STR(D(T("x\\ud83d")) END("STOP")), "t:x\xef\xbf\xbd;", STOP_END);
}

/* What gateways make of this API. */
static void test_other_servers(void **state)
{
    (void)state;
    expect_reply(STR(D(T("x\\ud83d")) D(T("\\ude00y")) END("STOP")), "t:x\xf0\x9f\x98\x80y;",
                 STOP_END);
    expect_reply(
        STR(D(T("a")) "data: null\n\n" END("FINISH_REASON_UNSPECIFIED") "data: [DONE]\n\n"), "t:a;",
        STOP_END);
    expect_reply(STR("data: {\"candidates\":[{\"content\":{\"parts\":[{\"function_call\":{\"id\":"
                     "\"f\",\"name\":\"x\",\"args\":{\"a\":1}}}]},\"finish_reason\":\"STOP\"}],"
                     "\"usage_metadata\":{\"promptTokenCount\":7}}\n\n"),
                 "c:f,x,{\"a\":1};", STOP_CALLS);
    /* Without events the chunks are a list. */
    expect_reply(STR("data: [{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},"
                     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"}]},"
                     "\"finishReason\":\"STOP\"}]}]\n\n"),
                 "t:ab;", STOP_END);
}

/* No id, the same id twice, no arguments, arguments as a text. */
static void test_read_ids(void **state)
{
    (void)state;
    AUTO(heard) struct heard h;
    AUTO(arena) struct arena a = ARENA_INIT;
    listen(&h,
           STR(D("{\"functionCall\":{\"name\":\"a\"}},{\"functionCall\":{\"name\":\"b\",\"args\":"
                 "\"{\\\"x\\\":1}\"}}") D(FC("f", "c", "{}") "}") D(FC("f", "d", "null") "}")
                   END("STOP")),
           5);
    assert_true(h.is_fine);
    struct message m = reply_message(&h.reply, &a);
    assert_int_equal(message_n_calls(&m), 4);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(str_eq(m.blocks[i].id, m.blocks[k].id));
    assert_true(str_starts(m.blocks[0].id, STR("call_")) && m.blocks[0].id.n == 17);
    assert_true(str_is(m.blocks[0].arguments, "{}"));
    assert_true(str_is(m.blocks[1].arguments, "{\"x\":1}"));
    assert_true(str_is(m.blocks[2].id, "f"));
    assert_true(str_is(m.blocks[3].arguments, "{}"));
}

static void test_read_too_many_calls(void **state)
{
    (void)state;
    AUTO(buf) struct buf stream = BUF_INIT;
    for (int i = 0; i <= GEMINI_MAX_CALLS; i++)
        buf_addf(&stream, D(FC("f%d", "x", "{}") "}"), i);
    expect_error(buf_str(&stream), ERR_BAD_REPLY, "more than 128 tool calls");
}

/* covers: providers 47 */
static void test_read_blocked(void **state)
{
    (void)state;
    expect_reply(STR(CHUNK("\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},"
                           "\"usageMetadata\":{\"promptTokenCount\":5}")),
                 "", STOP_FILTER);
    expect_reply(STR(CHUNK("\"promptFeedback\":{\"safetyRatings\":[]}") D(T("a")) END("STOP")),
                 "t:a;", STOP_END);
}

static void test_read_errors(void **state)
{
    (void)state;
    struct error err = expect_error(
        STR(D(T("a")) CHUNK("\"error\":{\"code\":503,\"message\":\"overloaded\",\"status\":"
                            "\"UNAVAILABLE\"}")),
        ERR_PROVIDER, "Gemini reported error 503: overloaded");
    assert_int_equal(err.status, 503);
    err = expect_error(STR("data: [{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\","
                           "\"message\":\"Quota exceeded\",\"details\":[{\"@type\":"
                           "\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"2s\"}]}}]"
                           "\n\n"),
                       ERR_RATE, "Quota exceeded");
    assert_int_equal(err.retry_after_ms, 2000);
    expect_error(STR(CHUNK("\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\","
                           "\"finishMessage\":\"print(1)\"}]")),
                 ERR_PROVIDER, "MALFORMED_FUNCTION_CALL: print(1)");
    expect_error(STR(D(T("a")) END("OTHER")), ERR_PROVIDER, "ended the reply with OTHER");
    expect_error(STR("data: {broken\n\n"), ERR_BAD_REPLY, "not JSON");
    expect_error(STR("data: [1]\n\n"), ERR_BAD_REPLY, "not a JSON object");
    expect_reply(STR(CHUNK("\"error\":null") END("STOP")), "", STOP_END);
}

static void test_read_cut(void **state)
{
    (void)state;
    struct str all = str_of(transcript), rest = all;
    size_t at;
    int n = 0;
    for (; (at = str_find(rest, STR("\n\n"))) != SIZE_MAX; n++) {
        struct str before = str_cut(all, (size_t)(rest.p - all.p));
        expect_error(before, ERR_CUT, "before the reply was complete");
        rest = str_from(rest, at + 2);
    }
    assert_int_equal(n, 6);
}

/* covers: providers 50 */
static void test_read_wrapped(void **state)
{
    (void)state;
    expect_reply(STR(CHUNK("\"response\":{\"candidates\":[{" CONTENT(
                     T("a")) "}]},\"traceId\":\"x\"") END("STOP")),
                 "t:a;", STOP_END);
    struct gemini_reader r = {0};
    struct reply reply = REPLY_INIT;
    struct ask_sink sink = {0};
    struct error err;
    bool is_over = false;
    assert_false(antigravity_read(&r, &reply, &sink, &(struct server_event){STR(""), STR("{")},
                                  &is_over, &err));
    assert_non_null(strstr(err.text, "Antigravity"));
    assert_false(antigravity_finish(&r, &reply, &sink, &err));
    assert_int_equal(err.code, ERR_CUT);
    assert_non_null(strstr(err.text, "Antigravity"));
}

/* ---- there and back ---- */

#define SIGNED                                                                                     \
    THOUGHT("one")                                                                                 \
    "}," THOUGHT("two") SIGN("S1") "," THOUGHT("three") "}," T(                                    \
        "a") ","                                                                                   \
             "{\"text\":\"b\"" SIGN("S2") "," T("c") "," FC("f1", "x", "{\"k\":[1]}")              \
                 SIGN("S3+/==") "," FC("f2", "y", "{}") "}"
#define ANSWERS                                                                                    \
    U(FR("f1", "x", "error", "No result provided") "," FR("f2", "y", "error", "No result provided"))

static void expect_replay(const struct message *m, const char *provider, const char *model,
                          const char *parts)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct ask ask = ask_for(model, m, 1);
    ask.model.provider = provider;
    buf_addf(&text,
             "{\"generationConfig\":{\"thinkingConfig\":{\"includeThoughts\":true}},"
             "\"contents\":[" U(T("(the conversation goes on)")) "," M("%s") "," ANSWERS "]}",
             parts);
    expect_body(&ask, text.p);
}

/* covers: providers 44; a reply goes back to its model part by part as it came. */
static void test_replay(void **state)
{
    (void)state;
    static const char whole[] = SIGNED ",{\"text\":\"\"" SIGN("S4");
    AUTO(heard) struct heard h;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf stored = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error err;
    listen(&h, STR(D(SIGNED) D("{\"text\":\"\"" SIGN("S4")) END("STOP")), 3);
    assert_true(h.is_fine);
    assert_string_equal(h.text.p, "abc");
    struct message m = reply_message(&h.reply, &a), back;
    m.provider = STR("gemini");
    m.model = STR("gemini-3-flash");
    expect_replay(&m, "gemini", "gemini-3-flash", whole);
    /* The same out of a session file. */
    struct jw w = JW(&stored);
    message_put(&w, &m);
    assert_true(json_parse(buf_str(&stored), 0, 100, &json, &err));
    assert_true(message_get(&a, json.root, &back));
    expect_replay(&back, "gemini", "gemini-3-flash", whole);
    /* Nobody else gets any of it. */
    static const char foreign[] = T("abc") "," FC("f1", "x", "{\"k\":[1]}")
        SIGN("skip_thought_signature_validator") "," FC("f2", "y", "{}") "}";
    expect_replay(&m, "gemini", "gemini-3.8-flash", foreign);
    expect_replay(&m, "antigravity", "gemini-3-flash", foreign);
}

/* Blocks in another order: a call finds its signature, a text that is not the signed one gets
 * none. */
static void test_replay_reordered(void **state)
{
    (void)state;
    struct block blocks[] = {
        {.kind = BLOCK_REASONING, .opaque = STR("{\"thoughtSignature\":\"S1\",\"call\":\"f2\"}")},
        CALL("f1", "x", "{}"),
        {.kind = BLOCK_REASONING, .opaque = STR("{\"thoughtSignature\":\"S2\",\"text\":\"00\"}")},
        {.kind = BLOCK_TEXT, .text = STR("a")},
        {.kind = BLOCK_REASONING, .opaque = STR("broken")},
        CALL("f2", "y", "{}"),
    };
    struct message m = {.role = ROLE_ASSISTANT,
                        .blocks = blocks,
                        .n_blocks = ARRAY_LEN(blocks),
                        .provider = STR("gemini"),
                        .model = STR("gemini-3-flash")};
    expect_replay(&m, "gemini", "gemini-3-flash",
                  FC("f1", "x", "{}") "}," T("a") "," FC("f2", "y", "{}") SIGN("S1"));
}

static void test_provider_rows(void **state)
{
    (void)state;
    const struct model *m = provider_gemini.models;
    assert_string_equal(provider_gemini.name, "gemini");
    assert_string_equal(gemini_vendor.key_header, "x-goog-api-key");
    assert_true(provider_gemini.needs_key && provider_antigravity.needs_key);
    for (; m->id.p; m++) {
        assert_string_equal(m->provider, "gemini");
        assert_true(m->context_window > m->max_output && m->price_out > m->price_in);
    }
    assert_true(m - provider_gemini.models == 5);
    assert_string_equal(provider_antigravity.name, "antigravity");
    assert_null(antigravity_vendor.key_header);
    assert_null(provider_antigravity.models->id.p);
}

static void test_antigravity_needs_project(void **state)
{
    (void)state;
    struct ask ask = ask_for("m", NULL, 0);
    struct ask_sink sink = {0};
    struct error err;
    unsetenv("ANTIGRAVITY_PROJECT");
    assert_null(provider_antigravity.start(NULL, &ask, &sink, &err));
    assert_int_equal(err.code, ERR_NO_KEY);
    assert_non_null(strstr(err.text, "ANTIGRAVITY_PROJECT"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_transcript),
        cmocka_unit_test(test_read_text),
        cmocka_unit_test(test_other_servers),
        cmocka_unit_test(test_read_ids),
        cmocka_unit_test(test_read_too_many_calls),
        cmocka_unit_test(test_read_blocked),
        cmocka_unit_test(test_read_errors),
        cmocka_unit_test(test_read_cut),
        cmocka_unit_test(test_read_wrapped),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_replay_reordered),
        cmocka_unit_test(test_provider_rows),
        cmocka_unit_test(test_antigravity_needs_project),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
