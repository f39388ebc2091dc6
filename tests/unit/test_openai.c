/* SPDX-License-Identifier: MIT */
/* OpenAI: request bodies as golden texts; transcripts through the SSE parser byte by byte. */
#include "providers/openai/openai.h"
#include "reader_scene.h"

/* ---- requests ---- */

static struct ask ask_for(const struct message *messages, size_t n)
{
    return (struct ask){
        .model = {.id = STR("m")},
        .messages = messages,
        .n_messages = n,
        .base_url = STR("http://localhost:1/v1"),
    };
}

#define HEAD "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"

static void expect_body(const struct ask *ask, const char *text)
{
    AUTO(buf) struct buf body = BUF_INIT, again = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error err;
    openai_put_body(ask, &body);
    openai_put_body(ask, &again);
    assert_string_equal(body.p, text);
    assert_string_equal(again.p, text);
    assert_true(json_parse(buf_str(&body), 0, 100, &json, &err));
}

static void test_url(void **state)
{
    (void)state;
    static const struct {
        const char *base, *url;
    } cases[] = {
        {"http://localhost:1/v1", "http://localhost:1/v1/chat/completions"},
        {"http://localhost:1/v1//", "http://localhost:1/v1/chat/completions"},
        {"", "https://api.openai.com/v1/chat/completions"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf url = BUF_INIT;
        struct ask ask = {.base_url = str_of(cases[i].base)};
        openai_put_url(&ask, &url);
        assert_string_equal(url.p, cases[i].url);
    }
}

static void test_body_smallest(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi \"you\""));
    struct ask ask = ask_for(&m, 1);
    expect_body(&ask, HEAD "\"messages\":[{\"role\":\"user\",\"content\":\"hi \\\"you\\\"\"}]}");
}

static void test_body_members(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    struct tool_def tools[] = {
        {STR("read"), STR("Reads"), STR("{\"type\":\"object\",\"properties\":{}}")}};
    struct ask ask = ask_for(&m, 1);
    ask.system = STR("Be brief.");
    ask.tools = tools;
    ask.n_tools = 1;
    ask.max_tokens = 100;
    ask.effort = STR("low");
    ask.session_id = STR("s1");
#define REST                                                                                       \
    "\"reasoning_effort\":\"low\",\"tools\":[{\"type\":\"function\",\"function\":{"                \
    "\"name\":\"read\",\"description\":\"Reads\",\"parameters\":{\"type\":\"object\","             \
    "\"properties\":{}}}}],\"tool_choice\":\"auto\",\"messages\":["                                \
    "{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"hi\"}]}"
    expect_body(&ask, HEAD "\"max_tokens\":100," REST);
    ask.base_url = STR_NONE;
    expect_body(&ask, HEAD "\"store\":false,\"prompt_cache_key\":\"s1\","
                           "\"max_completion_tokens\":100," REST);
    ask.base_url = STR("https://api.openai.com.example.org/v1");
    expect_body(&ask, HEAD "\"max_tokens\":100," REST);
}

static void test_body_images(void **state)
{
    (void)state;
    struct block blocks[] = {
        {.kind = BLOCK_TEXT, .text = STR("look")},
        {.kind = BLOCK_IMAGE, .data = STR("iVBO"), .mime = STR("image/gif")},
    };
    struct message m = {.role = ROLE_USER, .blocks = blocks, .n_blocks = 2};
    struct ask ask = ask_for(&m, 1);
    expect_body(&ask, HEAD "\"messages\":[{\"role\":\"user\",\"content\":["
                           "{\"type\":\"text\",\"text\":\"look\"},"
                           "{\"type\":\"image_url\",\"image_url\":"
                           "{\"url\":\"data:image/gif;base64,iVBO\"}}]}]}");
    ask.model.context_window = 1000; /* known, and known to take no images */
    expect_body(&ask, HEAD "\"messages\":[{\"role\":\"user\",\"content\":["
                           "{\"type\":\"text\",\"text\":\"look\"},{\"type\":\"text\",\"text\":"
                           "\"[image left out: this model takes no images]\"}]}]}");
}

#define CALL(i, n, args)                                                                           \
    {                                                                                              \
        .kind = BLOCK_CALL, .id = STR(i), .name = STR(n), .arguments = STR(args)                   \
    }
#define CALL_JSON(i, n, args)                                                                      \
    "{\"id\":\"" i "\",\"type\":\"function\",\"function\":{\"name\":\"" n                          \
    "\",\"arguments\":\"" args "\"}}"
#define TOOL_JSON(i, text) "{\"role\":\"tool\",\"tool_call_id\":\"" i "\",\"content\":\"" text "\"}"

/* Results in another order, one missing, one empty, one without a call. */
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
    expect_body(
        &ask, HEAD
        "\"messages\":[{\"role\":\"user\",\"content\":\"go\"},"
        "{\"role\":\"assistant\",\"content\":\"Let me "
        "look.\",\"tool_calls\":[" CALL_JSON("c1", "read", "{\\\"p\\\":1}") "," CALL_JSON("c2", "read", "{}") "," CALL_JSON(
            "c3", "read",
            "{}") "]}," TOOL_JSON("c1",
                                  "(no tool output)") "," TOOL_JSON("c2",
                                                                    "No result "
                                                                    "provided") "," TOOL_JSON("c3",
                                                                                              "bad json") ","
                                                                                                          "{\"role\":\"user\",\"content\":\"and?\"}]}");
}

static void test_body_odd_history(void **state) /* covers: providers 64 */
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block call = CALL("toolu|01/x", "shot", "{}");
    struct block nothing = {.kind = BLOCK_REASONING, .text = STR("hm")};
    struct block picture = {.kind = BLOCK_IMAGE, .data = STR("AAAA"), .mime = STR("image/png")};
    struct message messages[] = {
        message_text(&a, ROLE_SUMMARY, STR("what was")),
        message_tool(&a, STR("gone"), STR("read"), STR("its call was compacted"), false),
        {.role = ROLE_ASSISTANT, .blocks = &nothing, .n_blocks = 1},
        {.role = ROLE_ASSISTANT, .blocks = &call, .n_blocks = 1},
        {.role = ROLE_TOOL, .call_id = call.id, .blocks = &picture, .n_blocks = 1},
    };
    struct ask ask = ask_for(messages, ARRAY_LEN(messages));
    char id[40], text[1000];
    snprintf(id, sizeof id, "call_%016llx", (unsigned long long)str_hash(call.id));
    snprintf(text, sizeof text,
             HEAD
             "\"messages\":[{\"role\":\"user\",\"content\":\"what was\"},"
             "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" CALL_JSON(
                 "%s", "shot",
                 "{}") "]}," TOOL_JSON("%s", "(no tool output)") ","
                                                                 "{\"role\":\"user\",\"content\":[{"
                                                                 "\"type\":\"text\",\"text\":"
                                                                 "\"Images from the tool results "
                                                                 "above:\"},{\"type\":\"image_"
                                                                 "url\",\"image_url\":"
                                                                 "{\"url\":\"data:image/"
                                                                 "png;base64,AAAA\"}}]}]}",
             id, id);
    expect_body(&ask, text);
}

/* The next round's body begins with all of this one's, up to the end of the messages. */
static void test_body_prefix(void **state) /* covers: providers 66 */
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf first = BUF_INIT, second = BUF_INIT;
    struct message messages[] = {
        message_text(&a, ROLE_USER, STR("one")),
        message_text(&a, ROLE_ASSISTANT, STR("two")),
        message_text(&a, ROLE_USER, STR("three")),
    };
    struct ask ask = ask_for(messages, 1);
    openai_put_body(&ask, &first);
    ask.n_messages = 3;
    openai_put_body(&ask, &second);
    assert_true(str_starts(buf_str(&second), str_cut(buf_str(&first), first.n - 2)));
}

static void test_body_broken_utf8(void **state) /* covers: providers 65 */
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER,
                                    STR("a\xff"
                                        "b"));
    struct ask ask = ask_for(&m, 1);
    expect_body(&ask, HEAD "\"messages\":[{\"role\":\"user\",\"content\":\"a\xef\xbf\xbd"
                           "b\"}]}");
}

/* ---- the reader ---- */

static void say_reasoning(const struct block *b, struct buf *out)
{
    buf_addf(out, "r:%.*s;", STR_FMT(b->text));
}

static const struct reader_kind reader = {&openai_vendor, false, say_reasoning};

#define D(delta)                                                                                   \
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{" delta                             \
    "},\"finish_reason\":null}]}\n\n"
#define END(why)                                                                                   \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define PIECE(i, args) "{\"index\":" i ",\"function\":{\"arguments\":\"" args "\"}}"
#define FIRST(i, id, name)                                                                         \
    "{\"index\":" i ",\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name      \
    "\",\"arguments\":\"\"}}"
#define CALLS(list) D("\"tool_calls\":[" list "]")
#define C(call) CALLS("{" call "}")

static void test_read_text(void **state)
{
    (void)state;
    struct str stream = STR(D("\"role\":\"assistant\",\"content\":\"\"") D(
        "\"content\":\"Gr\xc3\xbc\"") D("\"content\":null") D("\"content\":\"\xc3\x9f"
                                                              "e\"") END("stop") DONE);
    AUTO(heard) struct heard h;
    listen(&h, stream, 1);
    assert_true(h.is_fine && h.is_over);
    assert_string_equal(h.text.p, "Gr\xc3\xbc\xc3\x9f"
                                  "e");
    expect_reply(stream,
                 "t:Gr\xc3\xbc\xc3\x9f"
                 "e;",
                 STOP_END);
    expect_reply(STR(D("\"content\":\"a\"") END("length")), "t:a;", STOP_LENGTH);
    expect_reply(STR(D("\"content\":\"a\"") END("content_filter")), "t:a;", STOP_FILTER);
    expect_reply(STR(D("\"content\":\"a\"") END("end")), "t:a;", STOP_END);
    expect_reply(STR(D("\"content\":\"a\"") END("strange")), "t:a;", STOP_OTHER);
    expect_reply(STR(D("\"refusal\":\"No.\"") END("stop")), "t:No.;", STOP_END);
}

static void test_read_ends_at_done(void **state) /* covers: providers 8 */
{
    (void)state;
    expect_reply(STR(D("\"content\":\"a\"") END("stop") DONE D("\"content\":\"b\"")), "t:a;",
                 STOP_END);
}

static void test_read_reasoning(void **state) /* covers: providers 16 */
{
    (void)state;
    struct str stream = STR(D("\"reasoning_content\":\"think\",\"reasoning\":\"think\"")
                                D("\"reasoning\":\" on\",\"content\":\"a\"")
                                    D("\"reasoning_content\":\"\",\"reasoning_text\":\"!\"")
                                        END("stop") DONE);
    AUTO(heard) struct heard h;
    listen(&h, stream, 3);
    assert_string_equal(h.reasoning.p, "think on!");
    expect_reply(stream, "r:think on;t:a;r:!;", STOP_END);
}

static void test_read_lone_surrogates(void **state)
{
    (void)state;
    expect_reply(STR(D("\"content\":\"x\\ude00\"") D("\"content\":\"\\ud83dy\"") END("stop")),
                 "t:x\xef\xbf\xbd\xef\xbf\xbdy;", STOP_END);
}

/* A character whose halves stand in two deltas is one character; a half that stays alone is not
 * lost silently. */
static void test_split_surrogates(void **state)
{
    (void)state;
    struct str stream = STR(D("\"content\":\"x\\ud83d\"") D("\"content\":\"\\ude00y\"")
                                END("stop"));
    AUTO(heard) struct heard h;
    listen(&h, stream, 1);
    assert_string_equal(h.text.p, "x\xf0\x9f\x98\x80y");
    expect_reply(stream, "t:x\xf0\x9f\x98\x80y;", STOP_END);
    expect_reply(STR(D("\"content\":\"\\ud83d\"") D("\"content\":\"\"") D("\"content\":\"\\ude00\"")
                         D("\"content\":\"\\ud83d\\ude00\\ud83d\"") END("stop")),
                 "t:\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xef\xbf\xbd;", STOP_END);
    /* The same with the bytes of a character, and in reasoning and arguments. */
    expect_reply(STR(D("\"content\":\"\xe4\xb8\"") D("\"content\":\"\x96\xe7\"") END("stop")),
                 "t:\xe4\xb8\x96\xef\xbf\xbd;", STOP_END);
    expect_reply(STR(D("\"reasoning\":\"\\ud83d\"") D("\"reasoning\":\"\\ude00\"")
                         D("\"reasoning\":\"\\ud83d\"") D("\"content\":\"a\"") END("stop")),
                 "r:\xf0\x9f\x98\x80\xef\xbf\xbd;t:a;", STOP_END);
    expect_reply(STR(C("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{"
                       "\\\"x\\\":\\\"\\ud83d\"}")
                         C("\"index\":0,\"function\":{\"arguments\":\"\\ude00\\\"}\"}")
                             END("tool_calls")),
                 "c:a,f,{\"x\":\"\xf0\x9f\x98\x80\"};", STOP_CALLS);
}

/* What other servers of this API send. */
static void test_other_servers(void **state)
{
    (void)state;
    /* [DONE] without a finish reason is an end; not in the middle of a call. */
    expect_reply(STR(D("\"content\":\"a\"") DONE), "t:a;", STOP_END);
    expect_reply(STR(C("\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}") DONE),
                 "c:a,f,{};", STOP_CALLS);
    expect_error(STR(C("\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}") DONE),
                 ERR_CUT, "before the reply was complete");
    /* `message` instead of `delta`, in pieces, whole, and once more behind deltas. */
#define M(message, finish)                                                                         \
    "data: {\"choices\":[{\"message\":{" message "},\"finish_reason\":" finish "}]}\n\n"
    expect_reply(STR(M("\"content\":\"a\"", "null") M("\"content\":\"b\"", "\"stop\"") DONE),
                 "t:ab;", STOP_END);
    expect_reply(
        STR(M("\"content\":null,\"reasoning_content\":\"hm\",\"tool_calls\":[{\"id\":\"a\","
              "\"function\":{\"name\":\"f\",\"arguments\":{\"x\":[1,{\"y\":null}]}}}]",
              "\"tool_calls\"")),
        "r:hm;c:a,f,{\"x\":[1,{\"y\":null}]};", STOP_CALLS);
    expect_reply(STR(D("\"content\":\"ab\"") M("\"content\":\"ab\"", "\"stop\"") DONE), "t:ab;",
                 STOP_END);
    expect_reply(STR("data: {\"choices\":[{\"text\":\"old\",\"finish_reason\":\"eos\"}]}\n\n"),
                 "t:old;", STOP_END);
    /* Arguments as an object, calls without their function object, the call of the old API. */
    expect_reply(
        STR(C("\"index\":0,\"id\":\"a\",\"name\":\"f\",\"arguments\":{\"x\":1}") END("stop")),
        "c:a,f,{\"x\":1};", STOP_CALLS);
    expect_reply(STR(D("\"function_call\":{\"name\":\"f\",\"arguments\":\"{\"}")
                         D("\"function_call\":{\"arguments\":\"}\"}") END("function_call")),
                 "c:call_1,f,{};", STOP_CALLS);
    expect_reply(
        STR(D("\"tool_calls\":{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":{}}}")
                END("tool_use")),
        "c:a,f,;", STOP_CALLS);
    /* Whole calls without ids that all have the index 0, or none. */
#define SELF(more) C(more "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}")
    expect_reply(STR(SELF("\"index\":0,\"id\":\"\",") SELF("\"index\":0,\"id\":\"\",") END("stop")),
                 "c:call_1,f,{\"x\":1};c:call_2,f,{\"x\":1};", STOP_CALLS);
    expect_reply(STR(SELF("") SELF("") END("stop")), "c:call_1,f,{\"x\":1};c:call_2,f,{\"x\":1};",
                 STOP_CALLS);
    /* Content as a list of parts, null as an event. */
    expect_reply(STR("data: null\n\n" D(
                     "\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\","
                     "\"text\":\"hm\"}]},{\"type\":\"text\",\"text\":\"a\"},\"b\"]") END("stop")),
                 "r:hm;t:ab;", STOP_END);
    expect_reply(STR(D("\"content\":\"a\"") END("max_tokens")), "t:a;", STOP_LENGTH);
    /* Errors in the choice, and under the name of the event. */
    assert_int_equal(
        expect_error(STR("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\",\"error\":"
                         "{\"code\":502,\"message\":\"upstream\"}}]}\n\n"),
                     ERR_PROVIDER, "error 502: upstream")
            .status,
        502);
    expect_error(STR("event: error\ndata: {\"message\":\"boom\"}\n\n"), ERR_PROVIDER, "boom");
    expect_error(STR("event: error\ndata: boom\n\n"), ERR_PROVIDER, "boom");
}

static void test_read_calls_in_pieces(void **state)
{
    (void)state;
    /* One byte of arguments per chunk. */
    AUTO(buf) struct buf stream = BUF_INIT;
    const char *arguments = "{\"path\":\"a.c\"}";
    buf_addz(&stream, D("\"content\":\"Reading\"") CALLS(FIRST("0", "call_1", "read")));
    for (const char *c = arguments; *c; c++)
        buf_addf(&stream, CALLS(PIECE("0", "%s%c")), *c == '"' ? "\\" : "", *c);
    buf_addz(&stream, END("tool_calls") DONE);
    expect_reply(buf_str(&stream), "t:Reading;c:call_1,read,{\"path\":\"a.c\"};", STOP_CALLS);
    AUTO(heard) struct heard h;
    listen(&h, buf_str(&stream), 1);
    assert_int_equal(h.n_alive, 1 + (int)strlen(arguments));
}

static void test_read_calls_interleaved(void **state) /* covers: providers 11 */
{
    (void)state;
    expect_reply(STR(CALLS(FIRST("0", "a", "read")) CALLS(FIRST("1", "b", "list"))
                         CALLS(PIECE("0", "{")) CALLS(PIECE("1", "{") "," PIECE("0", "}"))
                             CALLS(PIECE("1", "}")) END("tool_calls") DONE),
                 "c:a,read,{};c:b,list,{};", STOP_CALLS);
}

#define WHOLE(more, name, args)                                                                    \
    "{" more "\"function\":{\"name\":\"" name "\",\"arguments\":\"" args "\"}}"

static void test_read_calls_of_other_servers(void **state) /* covers: providers 12, 13, 14 */
{
    (void)state;
    /* Ollama: whole calls, and "stop" although there are calls. */
    expect_reply(STR(CALLS(WHOLE("\"index\":0,\"id\":\"a\",", "read", "{}")) END("stop") DONE),
                 "c:a,read,{};", STOP_CALLS);
    /* No index: by id; then neither: the last one. */
    expect_reply(STR(CALLS(WHOLE("\"id\":\"a\",", "read", "{"))
                         CALLS(WHOLE("\"id\":\"b\",", "list", "["))
                             CALLS("{\"id\":\"a\",\"function\":{\"arguments\":\"}\"}}")
                                 CALLS("{\"function\":{\"arguments\":\"!\"}}") END("tool_calls")),
                 "c:a,read,{}!;c:b,list,[;", STOP_CALLS);
    /* Every call has the index 0, distinguished by id and name. */
    expect_reply(STR(CALLS(WHOLE("\"index\":0,\"id\":\"a\",", "read", "{}"))
                         CALLS(WHOLE("\"index\":0,\"id\":\"b\",", "list", "{"))
                             CALLS(PIECE("0", "}")) END("tool_calls")),
                 "c:a,read,{};c:b,list,{};", STOP_CALLS);
    /* The name again in a later piece; an id that comes late; no id at all. */
    expect_reply(STR(CALLS(WHOLE("\"index\":0,", "read", "{"))
                         CALLS(WHOLE("\"index\":0,\"id\":\"a\",", "read", "}")) END("tool_calls")),
                 "c:a,read,{};", STOP_CALLS);
    expect_reply(STR(CALLS(WHOLE("", "read", "{}")) END("stop")), "c:call_1,read,{};", STOP_CALLS);
    /* Cut by the output limit: whoever runs calls must know. */
    expect_reply(STR(CALLS(WHOLE("", "read", "{")) END("length")), "c:call_1,read,{;", STOP_LENGTH);
}

static void test_read_usage(void **state) /* covers: providers 15 */
{
    (void)state;
    static const char *const streams[] = {
        D("\"content\":\"a\"")
            END("stop") "data: "
                        "{\"choices\":[],\"usage\":{\"prompt_tokens\":812,\"completion_tokens\":41,"
                        "\"prompt_tokens_details\":{\"cached_tokens\":640},"
                        "\"completion_tokens_details\":{\"reasoning_tokens\":7}}}\n\n" DONE,
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\",\"usage\":"
        "{\"prompt_tokens\":812,\"completion_tokens\":41,\"cached_tokens\":640,"
        "\"completion_tokens_details\":{\"reasoning_tokens\":7}}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":"
        "{\"prompt_tokens\":812,\"completion_tokens\":41,\"prompt_cache_hit_tokens\":640,"
        "\"completion_tokens_details\":{\"reasoning_tokens\":7}}}\n\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        AUTO(heard) struct heard h;
        listen(&h, str_of(streams[i]), 1);
        assert_true(h.is_fine && h.reply.has_usage);
        assert_int_equal(h.reply.usage.input, 812);
        assert_int_equal(h.reply.usage.output, 41);
        assert_int_equal(h.reply.usage.cache_read, 640);
        assert_int_equal(h.reply.usage.reasoning, 7);
    }
    AUTO(heard) struct heard h;
    listen(&h, STR(D("\"content\":\"a\"") "data: {\"choices\":[],\"usage\":null}\n\n" END("stop")),
           1);
    assert_true(h.is_fine);
    assert_false(h.reply.has_usage);
}

static void test_read_errors(void **state) /* covers: providers 18 */
{
    (void)state;
    expect_error(STR(D("\"content\":\"a\"") "data: "
                                            "{\"error\":{\"message\":\"kaputt\",\"code\":\"server_"
                                            "error\"}}\n\n"),
                 ERR_PROVIDER, "kaputt");
    expect_error(STR("data: {\"error\":\"out of tea\"}\n\n"), ERR_PROVIDER, "out of tea");
    expect_error(STR("data: {\"object\":\"error\",\"message\":\"old vLLM\"}\n\n"), ERR_PROVIDER,
                 "old vLLM");
    expect_error(STR("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}],\"error\":"
                     "{\"code\":429,\"message\":\"slow down\"}}\n\n"),
                 ERR_RATE, "slow down");
    expect_error(STR("data: {\"error\":{\"message\":\"maximum context length is 10 tokens\"}}\n\n"),
                 ERR_OVERFLOW, "maximum context");
    expect_error(STR(D("\"content\":\"a\"") END("network_error")), ERR_PROVIDER, "network_error");
    expect_error(STR(END("model_context_window_exceeded")), ERR_OVERFLOW, "context window");
    expect_error(STR("data: {broken\n\n"), ERR_BAD_REPLY, "not JSON");
    expect_error(STR("data: [1]\n\n"), ERR_BAD_REPLY, "not a JSON object");
    expect_reply(STR("data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\"a\"},"
                     "\"finish_reason\":\"stop\"}]}\n\n"),
                 "t:a;", STOP_END);
}

static void test_read_cut(void **state) /* covers: providers 17 */
{
    (void)state;
    expect_error(STR(""), ERR_CUT, "before the reply was complete");
    expect_error(STR(D("\"content\":\"a\"")), ERR_CUT, "before the reply was complete");
}

static void test_read_ignores_the_unknown(void **state) /* covers: providers 9 */
{
    (void)state;
    expect_reply(
        STR(": comment\n\nevent: ping\ndata: {}\n\nevent: x\n\n"
            "data: {\"choices\":null,\"obfuscation\":\"xyz\"}\n\n"
            "data: "
            "{\"choices\":[{\"delta\":{\"content\":\"a\",\"new\":[1]},\"logprobs\":null}]}\n\n" END(
                "stop")),
        "t:a;", STOP_END);
}

static void test_read_too_many_calls(void **state)
{
    (void)state;
    AUTO(buf) struct buf stream = BUF_INIT;
    for (int i = 0; i <= OPENAI_MAX_CALLS; i++)
        buf_addf(&stream, CALLS("{\"index\":%d,\"function\":{\"name\":\"x\"}}"), i);
    expect_error(buf_str(&stream), ERR_BAD_REPLY, "more than 128 tool calls");
}

static void test_provider_row(void **state)
{
    (void)state;
    const struct model *m = provider_openai.models;
    assert_string_equal(provider_openai.name, "openai");
    assert_true(provider_openai.needs_key);
    for (; m->id.p; m++) {
        assert_string_equal(m->provider, "openai");
        assert_true(m->context_window > m->max_output && m->price_out > m->price_in);
    }
    assert_true(m - provider_openai.models > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_body_smallest),
        cmocka_unit_test(test_body_members),
        cmocka_unit_test(test_body_images),
        cmocka_unit_test(test_body_calls),
        cmocka_unit_test(test_body_odd_history),
        cmocka_unit_test(test_body_prefix),
        cmocka_unit_test(test_body_broken_utf8),
        cmocka_unit_test(test_read_text),
        cmocka_unit_test(test_read_ends_at_done),
        cmocka_unit_test(test_read_reasoning),
        cmocka_unit_test(test_read_lone_surrogates),
        cmocka_unit_test(test_split_surrogates),
        cmocka_unit_test(test_other_servers),
        cmocka_unit_test(test_read_calls_in_pieces),
        cmocka_unit_test(test_read_calls_interleaved),
        cmocka_unit_test(test_read_calls_of_other_servers),
        cmocka_unit_test(test_read_usage),
        cmocka_unit_test(test_read_errors),
        cmocka_unit_test(test_read_cut),
        cmocka_unit_test(test_read_ignores_the_unknown),
        cmocka_unit_test(test_read_too_many_calls),
        cmocka_unit_test(test_provider_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
