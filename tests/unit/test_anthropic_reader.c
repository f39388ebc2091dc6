/* SPDX-License-Identifier: MIT */
/* Anthropic streams: transcripts through the SSE parser, whole and byte by byte. */
#include "providers/anthropic/anthropic.h"
#include "reader_scene.h"

/* "r:<reasoning>|<blob>" */
static void say_reasoning(const struct block *b, struct buf *out)
{
    buf_addf(out, "r:%.*s|%.*s;", STR_FMT(b->text), STR_FMT(b->opaque));
}

static const struct reader_kind reader = {&anthropic_vendor, true, say_reasoning};

static void expect_failure(struct str stream, enum err_code code, int status, const char *part)
{
    assert_int_equal(expect_error(stream, code, part).status, status);
}

#define EV(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define START                                                                                      \
    EV("message_start", ",\"message\":{\"id\":\"msg_1\",\"role\":\"assistant\",\"usage\":{"        \
                        "\"input_tokens\":12,\"cache_read_input_tokens\":900,"                     \
                        "\"cache_creation_input_tokens\":40,\"output_tokens\":1}}")
#define BEGIN(i, block) EV("content_block_start", ",\"index\":" i ",\"content_block\":{" block "}")
#define DELTA(i, delta) EV("content_block_delta", ",\"index\":" i ",\"delta\":{" delta "}")
#define END(i) EV("content_block_stop", ",\"index\":" i)
#define WHY(why)                                                                                   \
    EV("message_delta", ",\"delta\":{\"stop_reason\":\"" why "\",\"stop_sequence\":null},"         \
                        "\"usage\":{\"output_tokens\":57}")
#define STOP EV("message_stop", "")
#define PING EV("ping", "")
#define FAIL(kind, words)                                                                          \
    EV("error", ",\"error\":{\"type\":\"" kind "\",\"message\":\"" words "\"}")

#define TEXT(i) BEGIN(i, "\"type\":\"text\",\"text\":\"\"")
#define SAY(i, words) DELTA(i, "\"type\":\"text_delta\",\"text\":\"" words "\"")
#define SAID(words) TEXT("0") SAY("0", words) END("0")
#define THOUGHT(i) BEGIN(i, "\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"")
#define THINK(i, words) DELTA(i, "\"type\":\"thinking_delta\",\"thinking\":\"" words "\"")
#define SIGN(i, words) DELTA(i, "\"type\":\"signature_delta\",\"signature\":\"" words "\"")
#define CALL(i, id, name)                                                                          \
    BEGIN(i, "\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}")
#define ARGS(i, json) DELTA(i, "\"type\":\"input_json_delta\",\"partial_json\":\"" json "\"")
#define SIGNED(s) "{\"type\":\"thinking\",\"signature\":\"" s "\"}"

/* covers: providers 1 */
static void test_text(void **state)
{
    (void)state;
    struct str stream = STR(START TEXT("0") SAY("0", "Gr\xc3\xbc") SAY("0", "")
                                SAY("0", "\xc3\x9f!") END("0") WHY("end_turn") STOP);
    AUTO(heard) struct heard h;
    listen(&h, stream, 1);
    assert_true(h.is_fine);
    assert_string_equal(h.text.p, "Gr\xc3\xbc\xc3\x9f!");
    expect_reply(stream, "t:Gr\xc3\xbc\xc3\x9f!;", STOP_END);
    /* Some servers put the first words into the start. */
    expect_reply(STR(START BEGIN("0", "\"type\":\"text\",\"text\":\"a\"") SAY("0", "b") END("0")
                         WHY("end_turn") STOP),
                 "t:ab;", STOP_END);
    /* Without names, and with nothing after the end. */
    expect_reply(STR("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
                     "{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"
                     "data:{\"type\":\"message_stop\"}\n\ndata: [DONE]\n\n" SAY("0", "b")),
                 "t:a;", STOP_END);
}

static void test_stop_reasons(void **state)
{
    (void)state;
    expect_reply(STR(START SAID("a") WHY("end_turn") STOP), "t:a;", STOP_END);
    expect_reply(STR(START SAID("a") WHY("stop_sequence") STOP), "t:a;", STOP_END);
    expect_reply(STR(START SAID("a") WHY("max_tokens") STOP), "t:a;", STOP_LENGTH);
    expect_reply(STR(START SAID("a") WHY("model_context_window_exceeded") STOP), "t:a;",
                 STOP_LENGTH);
    expect_reply(STR(START SAID("a") WHY("refusal") STOP), "t:a;", STOP_FILTER);
    expect_reply(STR(START SAID("a") WHY("pause_turn") STOP), "t:a;", STOP_PAUSE);
    expect_reply(STR(START SAID("a") WHY("strange") STOP), "t:a;", STOP_OTHER);
    expect_reply(STR(START SAID("a") STOP), "t:a;", STOP_END);
    expect_reply(STR(START WHY("end_turn") STOP), "", STOP_END);
    /* Nothing was said because nothing fits any more. */
    expect_failure(STR(START WHY("model_context_window_exceeded") STOP), ERR_OVERFLOW, 0, "window");
    AUTO(heard) struct heard h;
    listen(&h, STR(START SAID("a") WHY("max_tokens") STOP), 1);
    assert_true(str_is(h.reply.raw_stop, "max_tokens"));
}

static void test_refusal_explains(void **state)
{
    (void)state;
    expect_reply(STR(START EV("message_delta",
                              ",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":"
                              "{\"category\":\"cyber\",\"explanation\":\"Not that.\"}}") STOP),
                 "t:Not that.;", STOP_FILTER);
}

/* ---- thoughts ---- */

static void test_thoughts(void **state)
{
    (void)state;
    struct str stream = STR(START THOUGHT("0") THINK("0", "Look ") THINK("0", "first.")
                                SIGN("0", "EqQ") SIGN("0", "B/+=") END("0")
                                    BEGIN("1", "\"type\":\"redacted_thinking\",\"data\":\"c2Vj\"")
                                        END("1") TEXT("2") SAY("2", "a") END("2") WHY("end_turn")
                                            STOP);
    AUTO(heard) struct heard h;
    listen(&h, stream, 1);
    assert_string_equal(h.reasoning.p, "Look first.");
    expect_reply(stream,
                 "r:Look first.|" SIGNED(
                     "EqQB/+=") ";"
                                "r:|{\"type\":\"redacted_thinking\",\"data\":\"c2Vj\"};t:a;",
                 STOP_END);
}

/* What is shown of a thought may be nothing; what is not signed has no blob; what was never closed
 * does not run into the next.  covers: providers 33 */
static void test_odd_thoughts(void **state)
{
    (void)state;
    expect_reply(STR(START THOUGHT("0") SIGN("0", "S1") END("0") THOUGHT("1") THINK("1", "bare")
                         END("1") THOUGHT("2") THINK("2", "open") SIGN("2", "S2") THOUGHT("3")
                             END("3") BEGIN("4", "\"type\":\"thinking\",\"thinking\":\"whole\","
                                                 "\"signature\":\"S4\"") WHY("end_turn") STOP),
                 "r:|" SIGNED("S1") ";r:bare|;r:open|" SIGNED("S2") ";r:whole|" SIGNED("S4") ";",
                 STOP_END);
    /* Pieces that name a block that is not open. */
    expect_reply(STR(START THOUGHT("0") THINK("7", "no") SIGN("7", "no") END("7") END("0")
                         THINK("0", "no") WHY("end_turn") STOP),
                 "", STOP_END);
}

static void test_long_signature(void **state)
{
    (void)state;
    AUTO(buf) struct buf stream = BUF_INIT, said = BUF_INIT;
    AUTO(heard) struct heard h;
    AUTO(buf) struct buf line = BUF_INIT;
    buf_addz(&stream, START THOUGHT("0"));
    buf_addz(&said, "r:|{\"type\":\"thinking\",\"signature\":\"");
    for (int i = 0; i < 3000; i++) {
        buf_addf(&stream, SIGN("0", "%d."), i);
        buf_addf(&said, "%d.", i);
    }
    buf_addz(&stream, END("0") WHY("end_turn") STOP);
    buf_addz(&said, "\"};");
    listen(&h, buf_str(&stream), 1000);
    assert_true(h.is_fine);
    reply_say(&h.reply, &line);
    assert_string_equal(line.p, said.p);
}

/* The blob that the reader keeps is the block that the next request carries.
 * covers: providers 32 */
static void test_round_trip(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(heard) struct heard h;
    listen(&h,
           STR(START THOUGHT("0") THINK("0", "\\u00fc\\n\\\"x\\\"") SIGN("0", "EqQB") END("0")
                   CALL("1", "toolu_1", "read") END("1") WHY("tool_use") STOP),
           1);
    assert_true(h.is_fine);
    struct message messages[] = {message_text(&a, ROLE_USER, STR("go")),
                                 reply_message(&h.reply, &a)};
    messages[1].provider = STR("anthropic");
    messages[1].model = STR("m");
    struct ask ask = {.model.id = STR("m"), .messages = messages, .n_messages = 2};
    anthropic_put_body(&ask, &body);
    assert_true(str_find(buf_str(&body),
                         STR("[{\"type\":\"thinking\",\"thinking\":\"\xc3\xbc\\n\\\"x\\\"\","
                             "\"signature\":\"EqQB\"},{\"type\":\"tool_use\",")) != SIZE_MAX);
}

/* ---- calls ---- */

/* covers: providers 31 */
static void test_call_in_pieces(void **state)
{
    (void)state;
    AUTO(buf) struct buf stream = BUF_INIT;
    const char *arguments = "{\"path\":\"a.c\"}";
    buf_addz(&stream, START SAID("Reading") CALL("1", "toolu_1", "read") ARGS("1", ""));
    for (const char *c = arguments; *c; c++)
        buf_addf(&stream, ARGS("1", "%s%c"), *c == '"' ? "\\" : "", *c);
    buf_addz(&stream, END("1") WHY("tool_use") STOP);
    expect_reply(buf_str(&stream), "t:Reading;c:toolu_1,read,{\"path\":\"a.c\"};", STOP_CALLS);
    AUTO(heard) struct heard h;
    listen(&h, buf_str(&stream), 1);
    assert_int_equal(h.n_alive, 3 + (int)strlen(arguments)); /* the starts, and the pieces */
    expect_reply(STR(START CALL("0", "t1", "list") END("0") WHY("tool_use") STOP), "c:t1,list,{};",
                 STOP_CALLS);
}

static void test_parallel_calls(void **state)
{
    (void)state;
    expect_reply(STR(START CALL("0", "a", "read") ARGS("0", "{") ARGS("0", "}") END("0")
                         CALL("1", "b", "list") END("1") WHY("tool_use") STOP),
                 "c:a,read,{};c:b,list,{};", STOP_CALLS);
    /* Interleaved, and closed in another order. */
    expect_reply(STR(START CALL("0", "a", "read") CALL("1", "b", "list") ARGS("0", "{\\\"x\\\":")
                         ARGS("1", "{\\\"y\\\":2}") ARGS("0", "1}") END("1") END("0")
                             WHY("tool_use") STOP),
                 "c:a,read,{\"x\":1};c:b,list,{\"y\":2};", STOP_CALLS);
}

static void test_odd_calls(void **state)
{
    (void)state;
    /* The input whole at the start; pieces win over it. */
#define WHOLE(i, id)                                                                               \
    BEGIN(i, "\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"read\",\"input\":{\"p\":1}")
    expect_reply(STR(START WHOLE("0", "a") END("0") WHOLE("1", "b") ARGS("1", "{}") END("1")
                         WHY("end_turn") STOP),
                 "c:a,read,{\"p\":1};c:b,read,{};", STOP_CALLS);
    /* A tool that runs at the provider is not run by trivet. */
    expect_reply(STR(START BEGIN("0", "\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web\"")
                         ARGS("0", "{}") END("0") SAID("a") WHY("end_turn") STOP),
                 "t:a;", STOP_END);
    /* Cut by the limit: it is kept and marked, the engine does not run it. */
    expect_reply(STR(START CALL("0", "a", "read") ARGS("0", "{\\\"x") WHY("max_tokens") STOP),
                 "c:a,read,{\"x;", STOP_LENGTH);
    expect_failure(STR(START CALL("0", "a", "read") ARGS("0", "{}") WHY("tool_use") STOP), ERR_CUT,
                   0, "tool call unfinished");
    expect_failure(STR(START CALL("0", "a", "read") CALL("0", "b", "read")), ERR_BAD_REPLY, 0,
                   "twice");
}

/* What other servers of this API send. */
static void test_other_servers(void **state)
{
    (void)state;
    /* The same index for every block. */
    expect_reply(STR(START CALL("0", "a", "f") ARGS("0", "{}") END("0") CALL("0", "b", "g")
                         ARGS("0", "{\\\"x\\\":1}") END("0") WHY("tool_use") STOP),
                 "c:a,f,{};c:b,g,{\"x\":1};", STOP_CALLS);
    /* Input as a text, pieces as objects, thoughts without a start, [DONE] instead of the stop. */
    expect_reply(STR(START BEGIN("0", "\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\","
                                      "\"input\":\"{\\\"x\\\":1}\"") END("0") CALL("1", "b", "g")
                         DELTA("1", "\"type\":\"input_json_delta\",\"partial_json\":{\"y\":2}")
                             END("1") WHY("tool_use") "data: [DONE]\n\n"),
                 "c:a,f,{\"x\":1};c:b,g,{\"y\":2};", STOP_CALLS);
    expect_reply(STR(START THINK("0", "hm") SAY("1", "a") "data: [DONE]\n\n"), "r:hm|;t:a;",
                 STOP_END);
    expect_failure(STR(START CALL("0", "a", "f") ARGS("0", "{") "data: [DONE]\n\n"), ERR_CUT, 0,
                   "unfinished");
    /* A character in two deltas. */
    expect_reply(STR(START TEXT("0") SAY("0", "x\\ud83d") SAY("0", "\\ude00y") END("0")
                         WHY("end_turn") STOP),
                 "t:x\xf0\x9f\x98\x80y;", STOP_END);
    /* A message that was not streamed. */
    expect_reply(STR("data: {\"type\":\"message\",\"content\":[{\"type\":\"thinking\","
                     "\"thinking\":\"hm\",\"signature\":\"S\"},{\"type\":\"text\",\"text\":\"a\"},"
                     "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{\"x\":1}}],"
                     "\"stop_reason\":\"tool_use\"}\n\n"),
                 "r:hm|" SIGNED("S") ";t:a;c:c,f,{\"x\":1};", STOP_CALLS);
    /* Errors as a text. */
    expect_failure(STR("data: {\"error\":\"out of tea\"}\n\n"), ERR_PROVIDER, 200, "out of tea");
    expect_failure(STR("event: error\ndata: out of tea\n\n"), ERR_PROVIDER, 200, "out of tea");
}

static void test_too_many_calls(void **state)
{
    (void)state;
    AUTO(buf) struct buf stream = BUF_INIT;
    for (int i = 0; i <= ANTHROPIC_MAX_CALLS; i++)
        buf_addf(&stream, CALL("%d", "x", "y"), i);
    expect_failure(buf_str(&stream), ERR_BAD_REPLY, 0, "more than 128 tool calls");
}

/* ---- usage ---- */

static void expect_usage(const char *stream, struct usage u)
{
    AUTO(heard) struct heard h;
    listen(&h, str_of(stream), 1);
    assert_true(h.is_fine && h.reply.has_usage);
    assert_int_equal(h.reply.usage.input, u.input);
    assert_int_equal(h.reply.usage.output, u.output);
    assert_int_equal(h.reply.usage.cache_read, u.cache_read);
    assert_int_equal(h.reply.usage.cache_write, u.cache_write);
}

/* covers: providers 36 */
static void test_usage(void **state)
{
    (void)state;
    struct usage all = {.input = 952, .output = 57, .cache_read = 900, .cache_write = 40};
    expect_usage(START SAID("a") WHY("end_turn") STOP, all);
    expect_usage(START SAID("a") EV("message_delta",
                                    ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
                                    "\"input_tokens\":null,\"cache_read_input_tokens\":null,"
                                    "\"cache_creation_input_tokens\":0,\"output_tokens\":57}") STOP,
                 all);
    /* Only at the end, and growing. */
    expect_usage(EV("message_delta", ",\"usage\":{\"input_tokens\":5,\"output_tokens\":2}")
                     EV("message_delta", ",\"usage\":{\"input_tokens\":7,\"output_tokens\":9}")
                         STOP,
                 (struct usage){.input = 7, .output = 9});
    AUTO(heard) struct heard h;
    listen(&h, STR(SAID("a") EV("message_delta", ",\"usage\":null") STOP), 1);
    assert_true(h.is_fine);
    assert_false(h.reply.has_usage);
}

/* ---- errors ---- */

/* covers: providers 38 (that it is of a kind that is retried), 68 */
static void test_error_events(void **state)
{
    (void)state;
    expect_failure(STR(START FAIL("overloaded_error", "Overloaded")), ERR_PROVIDER, 529,
                   "Overloaded");
    expect_failure(STR(START SAID("a") FAIL("api_error", "kaputt")), ERR_PROVIDER, 500, "kaputt");
    expect_failure(STR(FAIL("rate_limit_error", "slow down")), ERR_RATE, 429, "slow down");
    expect_failure(STR(FAIL("rate_limit_error", "enforced_spend_limit_reached")), ERR_QUOTA, 429,
                   "");
    expect_failure(STR(FAIL("authentication_error", "bad key")), ERR_AUTH, 401, "bad key");
    expect_failure(STR(FAIL("permission_error", "not you")), ERR_AUTH, 403, "not you");
    expect_failure(STR(FAIL("billing_error", "no money")), ERR_QUOTA, 402, "no money");
    expect_failure(STR(FAIL("not_found_error", "model: x")), ERR_NO_MODEL, 404, "model: x");
    expect_failure(STR(FAIL("invalid_request_error", "bad field")), ERR_BAD_REQUEST, 400, "bad");
    expect_failure(
        STR(FAIL("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")),
        ERR_OVERFLOW, 400, "too long");
    expect_failure(STR(FAIL("request_too_large", "too large")), ERR_OVERFLOW, 413, "too large");
    expect_failure(STR(FAIL("timeout_error", "late")), ERR_PROVIDER, 504, "late");
    expect_failure(STR(FAIL("new_error", "who knows")), ERR_PROVIDER, 200, "who knows");
    expect_failure(STR("data: {\"error\":{\"message\":\"no type\"}}\n\n"), ERR_PROVIDER, 200,
                   "no type");
}

static void test_broken_events(void **state)
{
    (void)state;
    expect_failure(STR(START "data: {broken\n\n"), ERR_BAD_REPLY, 0, "not JSON");
    expect_failure(STR(START "data: [1]\n\n"), ERR_BAD_REPLY, 0, "not a JSON object");
    /* Of the wrong shape, but of no harm. */
    expect_reply(STR(EV("message_start", "") EV("content_block_start", "")
                         EV("content_block_start", ",\"content_block\":[]")
                             EV("content_block_delta", ",\"delta\":\"x\"")
                                 EV("content_block_delta", ",\"index\":\"0\",\"delta\":{\"type\":"
                                                           "\"text_delta\",\"text\":5}")
                                     EV("content_block_stop", "") EV("message_delta", "") STOP),
                 "", STOP_END);
}

/* covers: providers 9, 37 */
static void test_ignores_the_unknown(void **state)
{
    (void)state;
    AUTO(heard) struct heard h;
    listen(&h, STR(PING PING "event: ping\ndata: never JSON\n\n"), 1);
    assert_int_equal(h.n_alive, 0);
    assert_true(reply_is_empty(&h.reply));
    expect_reply(STR(": comment\n\n" PING START EV("new_event", ",\"x\":[1]") PING TEXT("0")
                         DELTA("0", "\"type\":\"citations_delta\",\"citation\":{}") SAY("0", "a")
                             DELTA("0", "\"type\":\"new_delta\",\"text\":\"b\"") PING END("0")
                                 BEGIN("1", "\"type\":\"new_block\"") END("1") WHY("end_turn")
                                     PING STOP),
                 "t:a;", STOP_END);
}

/* Cut behind every event but the last, and in the middle of each.  covers: providers 7, 40 */
static void test_cut(void **state)
{
    (void)state;
    struct str all = STR(START THOUGHT("0") THINK("0", "hm") SIGN("0", "S") END("0") TEXT("1")
                             SAY("1", "a") PING END("1") CALL("2", "c", "read") ARGS("2", "{}")
                                 END("2") WHY("tool_use") STOP);
    struct str gap = STR("\n\n");
    size_t n_cuts = 0;
    expect_failure(STR(""), ERR_CUT, 0, "before the reply was complete");
    for (size_t at = 0, next; (next = str_find(str_from(all, at), gap)) != SIZE_MAX; n_cuts++) {
        AUTO(heard) struct heard h = {0};
        at += next + gap.n;
        if (at == all.n)
            break;
        expect_failure(str_cut(all, at), ERR_CUT, 0, "before the reply was complete");
        listen(&h, str_cut(all, at - gap.n - 2), 1); /* in the middle of this one */
        assert_false(h.is_fine);
        assert_true(h.err.code == ERR_CUT || h.err.code == ERR_BAD_REPLY);
    }
    assert_int_equal(n_cuts, 13);
    /* Only the last blank line is missing. */
    expect_reply(str_cut(all, all.n - 1), "r:hm|" SIGNED("S") ";t:a;c:c,read,{};", STOP_CALLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_stop_reasons),
        cmocka_unit_test(test_refusal_explains),
        cmocka_unit_test(test_thoughts),
        cmocka_unit_test(test_odd_thoughts),
        cmocka_unit_test(test_long_signature),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_call_in_pieces),
        cmocka_unit_test(test_parallel_calls),
        cmocka_unit_test(test_odd_calls),
        cmocka_unit_test(test_other_servers),
        cmocka_unit_test(test_too_many_calls),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_error_events),
        cmocka_unit_test(test_broken_events),
        cmocka_unit_test(test_ignores_the_unknown),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
