/* SPDX-License-Identifier: MIT */
/* OpenAI Responses: transcripts through the SSE parser, whole and byte by byte.  Requests are in
 * test_responses.c. */
#include "providers/responses/responses.h"
#include "reader_scene.h"

/* "r:<reasoning>[=<opaque>]" */
static void say_reasoning(const struct block *b, struct buf *out)
{
    buf_addf(out, "r:%.*s%s%.*s;", STR_FMT(b->text), b->opaque.p ? "=" : "", STR_FMT(b->opaque));
}

static const struct reader_kind reader = {&responses_vendor, true, say_reasoning};

static void expect_error_after(struct str stream, enum err_code code, const char *part,
                               int64_t wait_ms)
{
    assert_int_equal(expect_error(stream, code, part).retry_after_ms, wait_ms);
}

/* ---- the words of a stream ---- */

#define EV(type, more) "event: " type "\ndata: {\"type\":\"" type "\"" more "}\n\n"
#define AT(i, id) ",\"output_index\":" i ",\"item_id\":\"" id "\""
#define ITEM(i, item) ",\"output_index\":" i ",\"item\":{" item "}"
#define ADDED(i, item) EV("response.output_item.added", ITEM(i, item))
#define ENDED(i, item) EV("response.output_item.done", ITEM(i, item))
#define CREATED                                                                                    \
    EV("response.created", ",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\"}")              \
    EV("response.in_progress", ",\"response\":{\"id\":\"resp_1\"}")
#define COMPLETED_WITH(output)                                                                     \
    EV("response.completed",                                                                       \
       ",\"response\":{\"status\":\"completed\",\"output\":[" output "],"                          \
       "\"usage\":{\"input_tokens\":900,\"input_tokens_details\":{\"cached_tokens\":512,"          \
       "\"cache_write_tokens\":3},\"output_tokens\":60,\"output_tokens_details\":"                 \
       "{\"reasoning_tokens\":32},\"total_tokens\":960}}")
#define COMPLETED COMPLETED_WITH("")
#define INCOMPLETE(reason)                                                                         \
    EV("response.incomplete", ",\"response\":{\"status\":\"incomplete\","                          \
                              "\"incomplete_details\":{\"reason\":\"" reason "\"}}")
#define FAILED(error) EV("response.failed", ",\"response\":{\"error\":{" error "}}")

#define MESSAGE "\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\""
#define TEXT(i, text) EV("response.output_text.delta", AT(i, "msg_1") ",\"delta\":\"" text "\"")
#define CALL(id, call, name, args)                                                                 \
    "\"type\":\"function_call\",\"id\":\"" id "\",\"call_id\":\"" call "\",\"name\":\"" name       \
    "\",\"arguments\":\"" args "\""
#define ARGS(i, id, args)                                                                          \
    EV("response.function_call_arguments.delta", AT(i, id) ",\"delta\":\"" args "\"")
#define ALL_ARGS(i, id, args)                                                                      \
    EV("response.function_call_arguments.done", AT(i, id) ",\"arguments\":\"" args "\"")
#define THOUGHT(id, summary, blob)                                                                 \
    "\"type\":\"reasoning\",\"id\":\"" id "\",\"summary\":[" summary "],"                          \
    "\"encrypted_content\":\"" blob "\""
#define NO_BLOB(id) "\"type\":\"reasoning\",\"id\":\"" id "\",\"summary\":[]"
#define SUMMARY(i, part, text)                                                                     \
    EV("response.reasoning_summary_text.delta",                                                    \
       AT(i, "rs_1") ",\"summary_index\":" part ",\"delta\":\"" text "\"")

/* ---- text ---- */

static void test_text(void **state)
{
    (void)state;
    struct str stream = STR(
        CREATED ADDED("0", MESSAGE ",\"content\":[]") EV(
            "response.content_part.added", AT("0", "msg_1") ",\"part\":{\"type\":\"output_text\"}")
            TEXT("0", "Gr\xc3\xbc") TEXT("0", "") TEXT("0", "\xc3\x9f!") EV(
                "response.output_text.done", AT("0", "msg_1") ",\"text\":\"Gr\xc3\xbc\xc3\x9f!\"")
                ENDED("0", MESSAGE ",\"content\":[{\"type\":\"output_text\",\"text\":"
                                   "\"Gr\xc3\xbc\xc3\x9f!\"}]") COMPLETED);
    AUTO(heard) struct heard h;
    listen(&h, stream, 1); /* covers: providers 1 */
    assert_true(h.is_fine && h.is_over);
    assert_string_equal(h.text.p, "Gr\xc3\xbc\xc3\x9f!");
    assert_string_equal(h.reply.raw_stop.p, "completed");
    expect_reply(stream, "t:Gr\xc3\xbc\xc3\x9f!;", STOP_END);
}

static void test_text_that_never_streamed(void **state)
{
    (void)state;
#define WHOLE MESSAGE ",\"content\":[{\"type\":\"output_text\",\"text\":\"whole\"}]"
    expect_reply(STR(ENDED("0", WHOLE) COMPLETED), "t:whole;", STOP_END);
    expect_reply(STR(COMPLETED_WITH("{" WHOLE "}")), "t:whole;", STOP_END);
    expect_reply(STR(TEXT("0", "who") TEXT("0", "le") COMPLETED_WITH("{" WHOLE "}")), "t:whole;",
                 STOP_END);
}

static void test_two_messages_stay_apart(void **state)
{
    (void)state;
    AUTO(heard) struct heard h;
    struct str stream = STR(TEXT("0", "I look.") TEXT("1", "It ") TEXT("1", "is fine.") COMPLETED);
    expect_reply(stream, "t:I look.\n\nIt is fine.;", STOP_END);
    listen(&h, stream, 1);
    assert_string_equal(h.text.p, "I look.\n\nIt is fine.");
}

static void test_refusal_is_text(void **state)
{
    (void)state;
    expect_reply(STR(EV("response.refusal.delta", AT("0", "m") ",\"delta\":\"No.\"") EV(
                     "response.refusal.done", AT("0", "m") ",\"refusal\":\"No.\"") COMPLETED),
                 "t:No.;", STOP_END);
    expect_reply(STR(ENDED("0", MESSAGE ",\"content\":[{\"type\":\"refusal\",\"refusal\":\"No.\"}]")
                         COMPLETED),
                 "t:No.;", STOP_END);
}

static void test_lone_surrogates(void **state)
{
    (void)state;
    expect_reply(STR(TEXT("0", "x\\ude00") TEXT("0", "\\ud83dy") COMPLETED),
                 "t:x\xef\xbf\xbd\xef\xbf\xbdy;", STOP_END);
}

static void test_split_surrogates(void **state)
{
    (void)state;
    expect_reply(STR(TEXT("0", "x\\ud83d") TEXT("0", "\\ude00y") COMPLETED),
                 "t:x\xf0\x9f\x98\x80y;", STOP_END);
    expect_reply(STR(ADDED("0", CALL("fc_1", "a", "f", ""))
                         ARGS("0", "fc_1", "{\\\"x\\\":\\\"\\ud83d")
                             ARGS("0", "fc_1", "\\ude00\\\"}") ALL_ARGS("0", "fc_1", "") COMPLETED),
                 "c:a,f,{\"x\":\"\xf0\x9f\x98\x80\"};", STOP_CALLS);
}

/* ---- reasoning ---- */

#define BLOB1 "gAAAAB+/x=="
#define ITEM1 "{" THOUGHT("rs_1", "{\"type\":\"summary_text\",\"text\":\"a\"}", BLOB1) "}"
#define ITEM2 "{" THOUGHT("rs_2", "", "blob2") "}"

/* The item is kept as it came, before the call it led to. */
static void test_reasoning(void **state)
{
    (void)state;
    struct str stream = STR(
        CREATED ADDED("0", NO_BLOB("rs_1")) SUMMARY("0", "0", "**Plan") SUMMARY("0", "0", "**")
            SUMMARY("0", "1", "Then.")
                ENDED("0", THOUGHT("rs_1", "{\"type\":\"summary_text\",\"text\":\"a\"}", BLOB1))
                    ADDED("1", CALL("fc_1", "call_1", "read", ""))
                        ENDED("1", CALL("fc_1", "call_1", "read", "{}")) COMPLETED);
    AUTO(heard) struct heard h;
    expect_reply(stream, "r:**Plan**\n\nThen.=" ITEM1 ";c:call_1,read,{};", STOP_CALLS);
    listen(&h, stream, 1);
    assert_string_equal(h.reasoning.p, "**Plan**\n\nThen.");
}

static void test_reasoning_without_deltas(void **state)
{
    (void)state;
    expect_reply(STR(ENDED("0", THOUGHT("rs_1", "{\"type\":\"summary_text\",\"text\":\"a\"}",
                                        BLOB1)) TEXT("1", "t") COMPLETED),
                 "r:a=" ITEM1 ";t:t;", STOP_END);
    /* Nothing to show and nothing to send back: no block. */
    expect_reply(
        STR(ADDED("0", NO_BLOB("rs_1")) ENDED("0", NO_BLOB("rs_1")) TEXT("1", "t") COMPLETED),
        "t:t;", STOP_END);
}

/* Open models send their thoughts as they are. */
static void test_reasoning_text(void **state)
{
    (void)state;
#define WORDS                                                                                      \
    "\"type\":\"reasoning\",\"id\":\"rs_1\",\"content\":[{\"type\":\"reasoning_text\",\"text\":"   \
    "\"Hm.\"}]"
    expect_reply(STR(EV("response.reasoning_text.delta",
                        AT("0", "rs_1") ",\"content_index\":0,\"delta\":\"Hm.\"") ENDED("0", WORDS)
                         TEXT("1", "t") COMPLETED),
                 "r:Hm.={" WORDS "};t:t;", STOP_END);
    expect_reply(STR(ENDED("0", WORDS) TEXT("1", "t") COMPLETED), "r:Hm.={" WORDS "};t:t;",
                 STOP_END);
}

/* Some servers give the encrypted content only in the last event: each to its own block. */
static void test_reasoning_comes_late(void **state)
{
    (void)state;
    expect_reply(STR(ADDED("0", NO_BLOB("rs_1")) ENDED("0", NO_BLOB("rs_1"))
                         ENDED("1", CALL("fc_1", "c1", "a", "{}")) ADDED("2", NO_BLOB("rs_2"))
                             ENDED("2", NO_BLOB("rs_2")) ENDED("3", CALL("fc_2", "c2", "b", "{}"))
                                 COMPLETED_WITH(
                                     ITEM1 ",{" CALL("fc_1", "c1", "a", "{}") "}," ITEM2 ",{" CALL(
                                         "fc_2", "c2", "b", "{}") "}")),
                 "r:=" ITEM1 ";c:c1,a,{};r:=" ITEM2 ";c:c2,b,{};", STOP_CALLS);
}

/* ---- calls ---- */

static void test_calls_interleaved(void **state)
{
    (void)state;
    expect_reply(STR(ADDED("0", CALL("fc_1", "a", "read", ""))
                         ADDED("1", CALL("fc_2", "b", "list", "")) ARGS("1", "fc_2", "{\\\"y\\\"")
                             ARGS("0", "fc_1", "{\\\"x\\\"") ARGS("1", "fc_2", ":2}")
                                 ARGS("0", "fc_1", ":1}") ALL_ARGS("1", "fc_2", "{\\\"y\\\":2}")
                                     ALL_ARGS("0", "fc_1", "{\\\"x\\\":1}") COMPLETED),
                 "c:a,read,{\"x\":1};c:b,list,{\"y\":2};", STOP_CALLS);
}

/* By item id where there is no index; by index where the ids change. */
static void test_calls_by_name(void **state)
{
    (void)state;
#define NO_INDEX(type, item) EV("response.output_item." type, ",\"item\":{" item "}")
#define ID_ARGS(id, args)                                                                          \
    EV("response.function_call_arguments.delta", ",\"item_id\":\"" id "\",\"delta\":\"" args "\"")
    expect_reply(STR(NO_INDEX("added", CALL("fc_1", "a", "read", ""))
                         NO_INDEX("added", CALL("fc_2", "b", "list", "")) ID_ARGS("fc_1", "{")
                             ID_ARGS("fc_2", "[") ID_ARGS("fc_1", "}") ID_ARGS("fc_2", "]")
                                 NO_INDEX("done", CALL("fc_2", "b", "list", ""))
                                     NO_INDEX("done", CALL("fc_1", "a", "read", "")) COMPLETED),
                 "c:a,read,{};c:b,list,[];", STOP_CALLS);
    expect_reply(STR(ADDED("0", CALL("x1", "a", "read", "")) ARGS("0", "x2", "{")
                         ARGS("0", "x3", "}") ENDED("0", CALL("x4", "a", "read", "{}"))
                             COMPLETED_WITH("{" CALL("x5", "a", "read", "{}") "}")),
                 "c:a,read,{};", STOP_CALLS);
}

/* covers: providers 21 */
static void test_item_done_overrides(void **state)
{
    (void)state;
    expect_reply(STR(ADDED("0", CALL("fc_1", "a", "rea", "{")) ARGS("0", "fc_1", "{broken")
                         ALL_ARGS("0", "fc_1", "{\\\"p\\\":0}")
                             ENDED("0", CALL("fc_1", "b", "read", "{\\\"p\\\":1}")) COMPLETED),
                 "c:b,read,{\"p\":1};", STOP_CALLS);
}

/* covers: providers 22 */
static void test_calls_and_the_list(void **state)
{
    (void)state;
#define A CALL("fc_1", "a", "read", "{}")
    expect_reply(STR(ENDED("0", A) COMPLETED_WITH("")), "c:a,read,{};", STOP_CALLS);
    expect_reply(STR(ENDED("0", A) COMPLETED_WITH("{" A "}")), "c:a,read,{};", STOP_CALLS);
    expect_reply(STR(COMPLETED_WITH("{" A "}")), "c:a,read,{};", STOP_CALLS);
    /* The list leaves the reasoning out: its places are others. */
    expect_reply(STR(ENDED("0", NO_BLOB("rs_1")) ENDED("1", A) COMPLETED_WITH("{" A "}")),
                 "c:a,read,{};", STOP_CALLS);
    expect_reply(STR(ENDED("0", NO_BLOB("rs_1")) ENDED("1", A)
                         COMPLETED_WITH("{" CALL("other", "a", "read", "{}") "}")),
                 "c:a,read,{};", STOP_CALLS);
    /* Opened and never closed, but listed. */
    expect_reply(STR(ADDED("0", CALL("fc_1", "a", "read", "")) COMPLETED_WITH("{" A "}")),
                 "c:a,read,{};", STOP_CALLS);
}

/* A call whose arguments never closed is not run. */
static void test_open_call(void **state)
{
    (void)state;
    struct str open = STR(ADDED("0", CALL("fc_1", "a", "read", "")) ARGS("0", "fc_1", "{\\\"p")
                              COMPLETED);
    expect_error(open, ERR_CUT, "in the middle of a tool call");
    expect_reply(STR(ADDED("0", CALL("fc_1", "a", "read", "")) ARGS("0", "fc_1", "{\\\"p")
                         INCOMPLETE("max_output_tokens")),
                 "c:a,read,{\"p;", STOP_LENGTH);
}

static void test_other_items_are_passed_over(void **state)
{
    (void)state;
    struct str stream = STR(
        ADDED("0", "\"type\":\"custom_tool_call\",\"id\":\"ctc_1\",\"call_id\":\"x\"")
            EV("response.custom_tool_call_input.delta", AT("0", "ctc_1") ",\"delta\":\"raw\"")
                ENDED("0", "\"type\":\"custom_tool_call\",\"id\":\"ctc_1\",\"input\":\"raw\"")
                    ADDED("1", "\"type\":\"web_search_call\",\"id\":\"ws_1\"")
                        EV("response.web_search_call.searching", AT("1", "ws_1"))
                            EV("response.output_text.annotation.added", "")
                                EV("codex.rate_limits", "") TEXT("2", "t")
                                    COMPLETED_WITH("{\"type\":\"custom_tool_call\"}"));
    AUTO(heard) struct heard h;
    expect_reply(stream, "t:t;", STOP_END); /* covers: providers 9 */
    listen(&h, stream, 1);
    assert_int_equal(h.n_alive, 3);
}

static void test_too_many_items(void **state)
{
    (void)state;
    AUTO(buf) struct buf stream = BUF_INIT;
    for (int i = 0; i <= RESPONSES_MAX_ITEMS; i++)
        buf_addf(&stream, ADDED("%d", "\"type\":\"function_call\",\"name\":\"x\""), i);
    expect_error(buf_str(&stream), ERR_BAD_REPLY, "more than 256 items");
}

/* ---- the end ---- */

static void test_stops(void **state)
{
    (void)state;
    /* covers: providers 23 */
    expect_reply(STR(TEXT("0", "a") INCOMPLETE("max_output_tokens")), "t:a;", STOP_LENGTH);
    expect_reply(STR(TEXT("0", "a") INCOMPLETE("content_filter")), "t:a;", STOP_FILTER);
    expect_reply(STR(TEXT("0", "a") INCOMPLETE("steered")), "t:a;", STOP_OTHER);
    expect_reply(STR(TEXT("0", "a") EV("response.done", "")), "t:a;", STOP_END);
    expect_reply(
        STR(TEXT("0", "a")
                EV("response.done", ",\"response\":{\"status\":\"incomplete\","
                                    "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}")),
        "t:a;", STOP_LENGTH);
    /* Nothing behind the end is read. */
    expect_reply(STR(TEXT("0", "a") COMPLETED TEXT("0", "b")), "t:a;", STOP_END);
    /* The name of the event helps where the data have none. */
    expect_reply(STR("event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\n" COMPLETED),
                 "t:a;", STOP_END);
}

static void test_usage(void **state)
{
    (void)state;
    AUTO(heard) struct heard h, none;
    listen(&h, STR(TEXT("0", "a") COMPLETED), 1);
    assert_true(h.is_fine && h.reply.has_usage);
    assert_int_equal(h.reply.usage.input, 900);
    assert_int_equal(h.reply.usage.output, 60);
    assert_int_equal(h.reply.usage.cache_read, 512);
    assert_int_equal(h.reply.usage.cache_write, 3);
    assert_int_equal(h.reply.usage.reasoning, 32);
    listen(&none, STR(TEXT("0", "a") EV("response.completed", ",\"response\":{\"usage\":null}")),
           1);
    assert_true(none.is_fine);
    assert_false(none.reply.has_usage);
}

/* covers: providers 24, 68 */
static void test_error_codes(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum err_code means;
    } cases[] = {
        {"server_error", ERR_PROVIDER},
        {"server_is_overloaded", ERR_PROVIDER},
        {"slow_down", ERR_RATE},
        {"something_new", ERR_PROVIDER},
        {"rate_limit_exceeded", ERR_RATE},
        {"context_length_exceeded", ERR_OVERFLOW},
        {"insufficient_quota", ERR_QUOTA},
        {"usage_not_included", ERR_QUOTA},
        {"usage_limit_reached", ERR_QUOTA},
        {"invalid_prompt", ERR_BAD_REQUEST},
        {"bio_policy", ERR_BAD_REQUEST},
        {"cyber_policy", ERR_BAD_REQUEST},
        {"misalignment_policy_violation", ERR_BAD_REQUEST},
        {"unsupported_image_media_type", ERR_BAD_REQUEST},
        {"image_too_large", ERR_BAD_REQUEST},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf failed = BUF_INIT, flat = BUF_INIT, nested = BUF_INIT;
        const char *code = cases[i].code;
        buf_addf(&failed, FAILED("\"code\":\"%s\",\"message\":\"kaputt\""), code);
        buf_addf(&flat, EV("error", ",\"code\":\"%s\",\"message\":\"kaputt\",\"param\":null"),
                 code);
        buf_addf(&nested, EV("error", ",\"error\":{\"type\":\"%s\",\"message\":\"kaputt\"}"), code);
        expect_error(buf_str(&failed), cases[i].means, "OpenAI response failed: kaputt");
        expect_error(buf_str(&flat), cases[i].means, "OpenAI stream failed: kaputt");
        expect_error(buf_str(&nested), cases[i].means, "kaputt");
    }
}

static void test_errors(void **state)
{
    (void)state;
    expect_error_after(
        STR(TEXT("0", "a") FAILED("\"code\":\"rate_limit_exceeded\",\"message\":"
                                  "\"Rate limit reached. Please try again in 1.5s.\"")),
        ERR_RATE, "Rate limit reached", 1500);
    expect_error(STR(FAILED("\"message\":\"maximum context length is 10 tokens\"")), ERR_OVERFLOW,
                 "maximum context");
    expect_error(STR(EV("response.failed", ",\"response\":{}")), ERR_PROVIDER, "no explanation");
    expect_error(STR(EV("response.completed", ",\"response\":{\"status\":\"failed\",\"error\":"
                                              "{\"code\":\"server_error\",\"message\":\"x\"}}")),
                 ERR_PROVIDER, "failed: x");
    expect_error(STR(EV("response.done", ",\"response\":{\"status\":\"cancelled\"}")), ERR_PROVIDER,
                 "cancelled");
    expect_error(STR("data: {\"error\":\"out of tea\"}\n\n"), ERR_PROVIDER, "out of tea");
    expect_error(STR("data: {broken\n\n"), ERR_BAD_REPLY, "not JSON");
    expect_error(STR("data: [1]\n\n"), ERR_BAD_REPLY, "not a JSON object");
}

/* A stream that ends before its terminal event is cut, wherever that happens. */
static void test_cut_at_every_event(void **state)
{
    (void)state;
    struct str stream = STR(CREATED ADDED("0", NO_BLOB("rs_1")) SUMMARY("0", "0", "Hm.") ENDED(
        "0", THOUGHT("rs_1", "", BLOB1)) ADDED("1", MESSAGE) TEXT("1", "I") ENDED("1", MESSAGE)
                                ADDED("2", CALL("fc_1", "a", "read", "")) ARGS("2", "fc_1", "{}")
                                    ALL_ARGS("2", "fc_1", "{}")
                                        ENDED("2", CALL("fc_1", "a", "read", "{}")) COMPLETED);
    size_t n_cuts = 0;
    for (size_t at = 0, next; (next = str_find(str_from(stream, at), STR("\n\n"))) != SIZE_MAX;) {
        expect_error(str_cut(stream, at), ERR_CUT, "before the reply was complete");
        at += next + 2;
        n_cuts++;
    }
    assert_int_equal(n_cuts, 13);
    expect_reply(stream, "r:Hm.={" THOUGHT("rs_1", "", BLOB1) "};t:I;c:a,read,{};", STOP_CALLS);
    expect_error(STR("data: [DONE]\n\n"), ERR_CUT, "before the reply was complete");
}

#define NEW(item) EV("response.output_item.added", ",\"item\":{" item "}")
#define OLD(item) EV("response.output_item.done", ",\"item\":{" item "}")
#define NAMELESS(call, name, args)                                                                 \
    "\"type\":\"function_call\",\"call_id\":\"" call "\",\"name\":\"" name "\","                   \
    "\"arguments\":" args
#define BARE(name, args) "\"type\":\"function_call\",\"name\":\"" name "\",\"arguments\":" args
#define PIECE(more, args)                                                                          \
    EV("response.function_call_arguments.delta", more ",\"delta\":\"" args "\"")

/* Calls without output_index keep their order and their arguments: distinguished by item id, by
 * call id, and without both by the order of the events. */
static void test_calls_without_index(void **state)
{
    (void)state;
    static const char both[] = "c:a,f,{\"x\":1};c:b,g,{\"y\":2};";
    expect_reply(STR(NEW(CALL("fc_1", "a", "f", "")) NEW(CALL("fc_2", "b", "g", ""))
                         PIECE(",\"item_id\":\"fc_2\"", "{\\\"y\\\":2}")
                             PIECE(",\"item_id\":\"fc_1\"", "{\\\"x\\\":1}")
                                 OLD(CALL("fc_2", "b", "g", "{\\\"y\\\":2}"))
                                     OLD(CALL("fc_1", "a", "f", "{\\\"x\\\":1}")) COMPLETED),
                 both, STOP_CALLS);
    expect_reply(STR(OLD(NAMELESS("a", "f", "\"{\\\"x\\\":1}\""))
                         OLD(NAMELESS("b", "g", "{\"y\":2}")) COMPLETED),
                 both, STOP_CALLS);
    expect_reply(STR(NEW(NAMELESS("a", "f", "\"\"")) NEW(NAMELESS("b", "g", "\"\"")) OLD(NAMELESS(
                     "b", "g", "{\"y\":2}")) OLD(NAMELESS("a", "f", "{\"x\":1}")) COMPLETED),
                 both, STOP_CALLS);
    expect_reply(STR(NEW(BARE("f", "\"\"")) PIECE("", "{\\\"x\\\":1}")
                         OLD(BARE("f", "\"{\\\"x\\\":1}\"")) NEW(BARE("g", "\"\"")) PIECE(
                             "", "{\\\"y\\\":2}") OLD(BARE("g", "\"{\\\"y\\\":2}\"")) COMPLETED),
                 "c:call_1,f,{\"x\":1};c:call_2,g,{\"y\":2};", STOP_CALLS);
    expect_reply(STR(NEW(BARE("f", "\"\"")) NEW(BARE("g", "\"\"")) OLD(BARE("f", "{\"x\":1}"))
                         OLD(BARE("g", "{\"y\":2}")) COMPLETED_WITH(
                             "{" BARE("f", "{\"x\":1}") "},{" BARE("g", "{\"y\":2}") "}")),
                 "c:call_1,f,{\"x\":1};c:call_2,g,{\"y\":2};", STOP_CALLS);
}

static void test_other_servers(void **state)
{
    (void)state;
    /* [DONE] alone is an end; not in the middle of a call. */
    expect_reply(STR(TEXT("0", "a") "data: [DONE]\n\n"), "t:a;", STOP_END);
    expect_error(
        STR(ADDED("0", CALL("fc_1", "a", "f", "")) ARGS("0", "fc_1", "{") "data: [DONE]\n\n"),
        ERR_CUT, "before the reply was complete");
    /* A text that came only at its end; arguments as an object. */
    expect_reply(
        STR(EV("response.output_text.done", AT("0", "msg_1") ",\"text\":\"all\"") COMPLETED),
        "t:all;", STOP_END);
    expect_reply(STR(ADDED("0", CALL("fc_1", "a", "f", ""))
                         EV("response.function_call_arguments.done",
                            AT("0", "fc_1") ",\"arguments\":{\"x\":1}") COMPLETED),
                 "c:a,f,{\"x\":1};", STOP_CALLS);
    /* The response as the whole body. */
    expect_reply(
        STR("data: {\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"output\":["
            "{" MESSAGE ",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]},"
            "{" CALL("fc_1", "c", "f", "{}") "}]}\n\n"),
        "t:a;c:c,f,{};", STOP_CALLS);
    expect_error(
        STR("data: "
            "{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"message\":\"no\"}}\n\n"),
        ERR_PROVIDER, "no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_that_never_streamed),
        cmocka_unit_test(test_two_messages_stay_apart),
        cmocka_unit_test(test_refusal_is_text),
        cmocka_unit_test(test_lone_surrogates),
        cmocka_unit_test(test_split_surrogates),
        cmocka_unit_test(test_calls_without_index),
        cmocka_unit_test(test_other_servers),
        cmocka_unit_test(test_reasoning),
        cmocka_unit_test(test_reasoning_without_deltas),
        cmocka_unit_test(test_reasoning_text),
        cmocka_unit_test(test_reasoning_comes_late),
        cmocka_unit_test(test_calls_interleaved),
        cmocka_unit_test(test_calls_by_name),
        cmocka_unit_test(test_item_done_overrides),
        cmocka_unit_test(test_calls_and_the_list),
        cmocka_unit_test(test_open_call),
        cmocka_unit_test(test_other_items_are_passed_over),
        cmocka_unit_test(test_too_many_items),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_error_codes),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_cut_at_every_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
