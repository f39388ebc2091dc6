/* SPDX-License-Identifier: MIT */
/* Anthropic requests: bodies as golden texts.  In the texts here ' stands for ", and M for a cache
 * mark behind the last member of a block. */
#include "providers/anthropic/anthropic.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MODEL_ID "claude-haiku-4-5"
#define M ",'cache_control':{'type':'ephemeral'}"
#define HEAD "{'model':'" MODEL_ID "','max_tokens':1000,'stream':true,"
#define TEXT(t) "{'type':'text','text':'" t "'"
#define USER(blocks) "{'role':'user','content':[" blocks "]}"
#define SAID(blocks) "{'role':'assistant','content':[" blocks "]}"
#define USE(id, name, input) "{'type':'tool_use','id':'" id "','name':'" name "','input':" input "}"
#define RESULT(id, text) "{'type':'tool_result','tool_use_id':'" id "','content':'" text "'"

static struct ask ask_for(const struct message *messages, size_t n)
{
    return (struct ask){
        .model = {.provider = "anthropic", .id = STR(MODEL_ID)},
        .messages = messages,
        .n_messages = n,
        .max_tokens = 1000,
        .base_url = STR("http://localhost:1/v1"),
    };
}

static struct str quoted(struct arena *a, const char *text)
{
    char *copy = arena_strz(a, str_of(text));
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return str_of(copy);
}

static void expect_body(const struct ask *ask, const char *text)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf body = BUF_INIT, again = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error err;
    struct str expected = quoted(&a, text);
    anthropic_put_body(ask, &body);
    anthropic_put_body(ask, &again);
    assert_string_equal(body.p, expected.p);
    assert_string_equal(again.p, expected.p);
    assert_true(json_parse(buf_str(&body), 0, 100, &json, &err));
}

static void expect_part(const struct ask *ask, const char *text)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    anthropic_put_body(ask, &body);
    if (str_find(buf_str(&body), quoted(&a, text)) == SIZE_MAX)
        fail_msg("%s is not in %s", text, body.p);
}

static size_t count(struct str text, struct str word)
{
    size_t n = 0, at;
    for (; (at = str_find(text, word)) != SIZE_MAX; text = str_from(text, at + word.n))
        n++;
    return n;
}

/* ---- around the messages ---- */

static void test_url_and_version(void **state)
{
    (void)state;
    static const struct {
        const char *base, *url, *version;
    } cases[] = {
        {"http://localhost:1/v1", "http://localhost:1/v1/messages", "2023-06-01"},
        {"http://localhost:1/v1//", "http://localhost:1/v1/messages", "2023-06-01"},
        {"", "https://api.anthropic.com/v1/messages", "2026-10-21"},
        {"https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages", "2026-10-21"},
        {"https://api.anthropic.com.example.org/v1",
         "https://api.anthropic.com.example.org/v1/messages", "2023-06-01"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf url = BUF_INIT;
        AUTO(arena) struct arena a = ARENA_INIT;
        struct http_header headers[4];
        struct ask ask = {.base_url = str_of(cases[i].base)};
        anthropic_put_url(&ask, &url);
        assert_string_equal(url.p, cases[i].url);
        assert_int_equal(anthropic_headers(&ask, &a, headers, 4), 1);
        assert_string_equal(headers[0].name.p, "anthropic-version");
        assert_string_equal(headers[0].value.p, cases[i].version);
    }
    assert_string_equal(anthropic_vendor.key_header, "x-api-key");
}

static void test_smallest(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi \\ you"));
    struct ask ask = ask_for(&m, 1);
    expect_body(&ask, HEAD "'messages':[" USER(TEXT("hi \\\\ you") M "}") "]}");
    ask.system = STR(" \n"); /* blank text is refused */
    expect_body(&ask, HEAD "'messages':[" USER(TEXT("hi \\\\ you") M "}") "]}");
}

static void test_members(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    struct tool_def tools[] = {
        {STR("write"), STR("Writes"), STR("{\"type\":\"object\",\"required\":[\"path\"]}")},
        {STR("read"), STR("Reads"), STR_NONE},
    };
    struct ask ask = ask_for(&m, 1);
    ask.system = STR("Be brief.");
    ask.tools = tools;
    ask.n_tools = 2;
    ask.max_tokens = 10000;
    ask.effort = STR("low");
    ask.session_id = STR("s1");
    expect_body(&ask, "{'model':'" MODEL_ID "','max_tokens':10000,'stream':true,"
                      "'thinking':{'type':'enabled','budget_tokens':4096},"
                      "'tools':[{'name':'write','description':'Writes',"
                      "'input_schema':{'type':'object','required':['path']}},"
                      "{'name':'read','description':'Reads',"
                      "'input_schema':{'type':'object','properties':{}}" M "}],"
                      "'system':[" TEXT("Be brief.") M "}],"
                                                       "'messages':[" USER(TEXT("hi") M "}") "]}");
}

static void test_max_tokens(void **state)
{
    (void)state;
    static const struct {
        int64_t asked, known, sent;
    } cases[] = {
        {0, 0, 32000}, {0, 64000, 64000}, {100, 64000, 100}, {100000, 64000, 64000}, {100, 0, 100}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ask ask = {.max_tokens = cases[i].asked, .model.max_output = cases[i].known};
        assert_int_equal(anthropic_max_tokens(&ask), cases[i].sent);
    }
}

/* ---- thinking ---- */

#define ADAPTIVE "'thinking':{'type':'adaptive','display':'summarized'}"
#define EFFORT(word) ",'output_config':{'effort':'" word "'}"
#define BUDGET(n) "'thinking':{'type':'enabled','budget_tokens':" n "}"
#define OFF "'thinking':{'type':'disabled'}"

static void test_thinking(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    static const struct {
        const char *model, *effort, *sent;
    } cases[] = {
        {"claude-sonnet-5-5", "", ADAPTIVE},
        {"claude-sonnet-5-5", "none", ADAPTIVE EFFORT("low")},
        {"claude-fable-5-2", "xhigh", ADAPTIVE EFFORT("xhigh")},
        {"claude-opus-5-5", "max", ADAPTIVE EFFORT("max")},
        {"claude-opus-5", "", ""},
        {"claude-opus-5", "off", OFF},
        {"claude-opus-5", "minimal", ADAPTIVE EFFORT("low")},
        {"claude-opus-5", "High", ADAPTIVE EFFORT("high")},
        {"claude-haiku-5-5", "medium", ADAPTIVE EFFORT("medium")},
        {"claude-sonnet-4-6", "xhigh", ADAPTIVE EFFORT("high")},
        {"claude-sonnet-4-6", "max", ADAPTIVE EFFORT("max")},
        {"claude-opus-9", "high", ADAPTIVE EFFORT("high")},
        {"claude-opus-9", "none", ""},
        {"claude-opus-9", "strange", ADAPTIVE EFFORT("high")},
        {"claude-haiku-4-5-20251001", "high", BUDGET("20480")},
        {"claude-sonnet-4-20250514", "max", BUDGET("32000")}, /* half of max_tokens */
        {"claude-haiku-4-5", "none", OFF},
        {"claude-haiku-4-5", "", ""},
        {"claude-3-5-haiku-latest", "high", ""},
        {"MiniMax-M3", "low", BUDGET("4096")},
        {"MiniMax-M3", "none", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf out = BUF_INIT;
        struct jw w = JW(&out);
        struct ask ask = {.model.id = str_of(cases[i].model), .max_tokens = 64000};
        ask.effort = str_of(cases[i].effort);
        anthropic_put_thinking(&w, &ask);
        assert_string_equal(buf_str(&out).p, quoted(&a, cases[i].sent).p);
    }
}

static void test_thinking_needs_room(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    struct ask ask = {.model.id = STR(MODEL_ID), .max_tokens = 2047, .effort = STR("high")};
    anthropic_put_thinking(&w, &ask);
    assert_int_equal(out.n, 0);
}

/* ---- pictures ---- */

static void test_images(void **state)
{
    (void)state;
    struct block blocks[] = {
        {.kind = BLOCK_TEXT, .text = STR("look")},
        {.kind = BLOCK_IMAGE, .data = STR("iVBORw0KGgo="), .mime = STR("image/gif")},
        {.kind = BLOCK_IMAGE, .data = STR("AAAA"), .mime = STR("image/WebP")},
        {.kind = BLOCK_IMAGE, .data = STR("AAAA"), .mime = STR("image/tiff")},
    };
    struct message m = {.role = ROLE_USER, .blocks = blocks, .n_blocks = 4};
    struct ask ask = ask_for(&m, 1);
    expect_body(
        &ask, HEAD "'messages':[" USER(TEXT(
                  "look") "},"
                          "{'type':'image','source':{'type':'base64','media_type':'image/png',"
                          "'data':'iVBORw0KGgo='}},"
                          "{'type':'image','source':{'type':'base64','media_type':'image/webp',"
                          "'data':'AAAA'}}," TEXT("[image left out: not a PNG, JPEG, GIF or WebP]")
                                           M "}") "]}");
    m.n_blocks = 2;
    ask.model.context_window = 1000; /* known, and known to take no images */
    expect_body(&ask, HEAD "'messages':[" USER(TEXT("look") "}," TEXT(
                          "[image left out: this model takes no images]") M "}") "]}");
}

/* ---- calls ---- */

#define CALL(i, n, args)                                                                           \
    {                                                                                              \
        .kind = BLOCK_CALL, .id = STR(i), .name = STR(n), .arguments = STR(args)                   \
    }
#define OURS .role = ROLE_ASSISTANT, .provider = STR("anthropic"), .model = STR(MODEL_ID)

/* Results in another order, one missing, one empty, one without a call; then the user speaks.
 * covers: providers 34, 64 */
static void test_calls(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block blocks[] = {
        {.kind = BLOCK_TEXT, .text = STR("Let me look.")},
        CALL("toolu_1", "read", "{\"p\": 1}"),
        CALL("toolu_2", "read", ""),
        CALL("toolu_3", "read", "{broken"),
    };
    struct message messages[] = {
        message_text(&a, ROLE_USER, STR("go")),
        {OURS, .blocks = blocks, .n_blocks = ARRAY_LEN(blocks)},
        message_tool(&a, STR("toolu_3"), STR("read"), STR("bad json"), true),
        message_tool(&a, STR("toolu_1"), STR("read"), STR(""), false),
        message_tool(&a, STR("zz"), STR("read"), STR("orphan"), false),
        message_text(&a, ROLE_USER, STR("and?")),
    };
    struct ask ask = ask_for(messages, ARRAY_LEN(messages));
    expect_body(
        &ask,
        HEAD "'messages':[" USER(TEXT("go") M "}") "," SAID(
            TEXT("Let me look.") "}," USE("toolu_1", "read", "{'p': 1}") "," USE("toolu_2", "read", "{}") "," USE(
                "toolu_3", "read",
                "{}")) "," USER(RESULT("toolu_1",
                                       "(no tool output)") "}," RESULT("toolu_2",
                                                                       "No result provided") ",'is_error':true}," RESULT("toolu_3",
                                                                                                                         "bad json") ",'is_error':true}," TEXT("and?")
                                    M "}") "]}");
}

/* covers: providers 35 */
static void test_result_images(void **state)
{
    (void)state;
    struct block calls[] = {CALL("toolu_1", "shot", "{}"), CALL("toolu_2", "shot", "{}")};
    struct block seen[] = {
        {.kind = BLOCK_TEXT, .text = STR("seen")},
        {.kind = BLOCK_IMAGE, .data = STR("/9j/AAAA"), .mime = STR("image/jpeg")},
    };
    struct message messages[] = {
        {OURS, .blocks = calls, .n_blocks = 2},
        {.role = ROLE_TOOL,
         .call_id = STR("toolu_1"),
         .blocks = seen,
         .n_blocks = 2,
         .is_error = true},
        {.role = ROLE_TOOL, .call_id = STR("toolu_2"), .blocks = seen, .n_blocks = 2},
    };
    struct ask ask = ask_for(messages, 3);
#define JPEG                                                                                       \
    "{'type':'image','source':{'type':'base64','media_type':'image/jpeg','data':'/9j/AAAA'}"
    expect_part(
        &ask, USER(RESULT("toolu_1",
                          "seen") ",'is_error':true},"
                                  "{'type':'tool_result','tool_use_id':'toolu_2','content':[" TEXT(
                                      "seen") "}," JPEG "}]}," JPEG M "}"));
}

/* Ids of others may be of any shape and come again in every message.  covers: providers 63 (the
 * half about names that no tool can have) */
static void test_foreign_calls(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block first[] = {CALL("call_1", "fs.read", "{}"), CALL("call_1", "", "{}")};
    struct block second[] = {CALL("call_1", "read", "{}")};
    struct message messages[] = {
        message_text(&a, ROLE_USER, STR("go")),
        {.role = ROLE_ASSISTANT, .blocks = first, .n_blocks = 2, .provider = STR("openai")},
        message_tool(&a, STR("call_1"), STR("read"), STR("one"), false),
        {.role = ROLE_ASSISTANT, .blocks = second, .n_blocks = 1},
        message_tool(&a, STR("call_1"), STR("read"), STR("two"), false),
    };
    struct ask ask = ask_for(messages, ARRAY_LEN(messages));
    expect_body(
        &ask,
        HEAD "'messages':[" USER(TEXT("go") "}") "," SAID(USE("call_1_0", "fs_read", "{}") "," USE(
            "call_1_1", "unnamed",
            "{}")) "," USER(RESULT("call_1_0", "one") "}," RESULT("call_1_1", "one") M
                            "}") "," SAID(USE("call_3_0", "read", "{}")) "," USER(RESULT("call_3_0",
                                                                                         "two") M
                                                                                  "}") "]}");
}

/* ---- thoughts ---- */

#define SIGNED(s) STR("{\"type\":\"thinking\",\"signature\":\"" s "\"}")
#define HIDDEN(s) STR("{\"type\":\"redacted_thinking\",\"data\":\"" s "\"}")

/* covers: providers 32, 33 */
static void test_thoughts(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block blocks[] = {
        {.kind = BLOCK_REASONING, .text = STR("Look first."), .opaque = SIGNED("Eq+/B==")},
        {.kind = BLOCK_REASONING, .text = STR("never signed")},
        {.kind = BLOCK_REASONING, .opaque = HIDDEN("c2VjcmV0")},
        {.kind = BLOCK_REASONING, .text = STR(""), .opaque = SIGNED("omitted")},
        CALL("toolu_1", "read", "{}"),
        {.kind = BLOCK_REASONING, .text = STR("too late"), .opaque = SIGNED("x")},
    };
    struct message messages[] = {
        message_text(&a, ROLE_USER, STR("go")),
        {OURS, .blocks = blocks, .n_blocks = ARRAY_LEN(blocks)},
        message_tool(&a, STR("toolu_1"), STR("read"), STR("ok"), false),
    };
    struct ask ask = ask_for(messages, 3);
    ask.max_tokens = 10000;
    ask.effort = STR("low");
#define ASKED "{'model':'" MODEL_ID "','max_tokens':10000,'stream':true,"
#define REST "," USER(RESULT("toolu_1", "ok") M "}") "]}"
    expect_body(&ask, ASKED BUDGET("4096") ",'messages':[" USER(TEXT("go") M "}") "," SAID(
                          "{'type':'thinking','thinking':'Look first.','signature':'Eq+/B=='},"
                          "{'type':'redacted_thinking','data':'c2VjcmV0'},"
                          "{'type':'thinking','thinking':'','signature':'omitted'}," USE(
                              "toolu_1", "read", "{}")) REST);
    /* Another model, another provider: no thought of another model is sent, and then none of this
     * model either. */
    messages[1].model = STR("claude-opus-4-1");
    expect_body(&ask, ASKED
                "'messages':[" USER(TEXT("go") M "}") "," SAID(USE("toolu_1", "read", "{}")) REST);
    messages[1].model = STR(MODEL_ID);
    messages[1].provider = STR("openrouter");
    expect_part(&ask, SAID(USE("call_1_4", "read", "{}")));
}

static void test_broken_blobs(void **state)
{
    (void)state;
    static const char *const blobs[] = {
        "{",
        "[]",
        "{\"type\":\"thinking\"}",
        "{\"type\":\"redacted_thinking\",\"data\":7}",
        "{\"type\":\"reasoning\",\"signature\":\"x\"}",
        "{\"signature\":\"x\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(blobs); i++) {
        struct block blocks[] = {
            {.kind = BLOCK_REASONING, .text = STR("hm"), .opaque = str_of(blobs[i])},
            {.kind = BLOCK_TEXT, .text = STR("a")},
        };
        struct message m = {OURS, .blocks = blocks, .n_blocks = 2};
        struct ask ask = ask_for(&m, 1);
        expect_part(&ask, SAID(TEXT("a") "}"));
    }
}

/* ---- odd histories ---- */

static void test_roles_alternate(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block nothing = {.kind = BLOCK_REASONING, .text = STR("hm"), .opaque = SIGNED("x")};
    struct message messages[] = {
        message_text(&a, ROLE_SUMMARY, STR("what was")),
        message_tool(&a, STR("gone"), STR("read"), STR("its call was compacted"), false),
        message_text(&a, ROLE_USER, STR("one")),
        {OURS, .blocks = &nothing, .n_blocks = 1},
        message_text(&a, ROLE_USER, STR("\t ")),
        message_text(&a, ROLE_USER, STR("two")),
        message_text(&a, ROLE_ASSISTANT, STR("three")),
        message_text(&a, ROLE_ASSISTANT, STR(" ")),
        message_text(&a, ROLE_ASSISTANT, STR("four")),
    };
    struct ask ask = ask_for(messages, ARRAY_LEN(messages));
    expect_body(&ask, HEAD "'messages':[" USER(TEXT("what was") "}," TEXT("one") "}," TEXT(
                          "two") M "}") "," SAID(TEXT("three") "}," TEXT("four") "}") "]}");
}

static void test_first_is_user(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message messages[] = {
        message_text(&a, ROLE_ASSISTANT, STR("hello")),
        message_text(&a, ROLE_USER, STR("hi")),
    };
    struct ask ask = ask_for(messages, 2);
    expect_body(&ask, HEAD "'messages':[" USER(
                          TEXT("(The beginning of the conversation was left out.)") M
                          "}") "," SAID(TEXT("hello") "}") "," USER(TEXT("hi") M "}") "]}");
}

/* covers: providers 65 */
static void test_broken_utf8(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block call = CALL("toolu_1", "read", "{\"p\":\"\xff\"}");
    struct message messages[] = {
        {OURS, .blocks = &call, .n_blocks = 1},
        message_tool(&a, STR("toolu_1"), STR("read"), STR("a\xff!"), false),
    };
    struct ask ask = ask_for(messages, 2);
    expect_part(&ask, SAID(USE("toolu_1", "read", "{}")));
    expect_part(&ask, RESULT("toolu_1", "a\xef\xbf\xbd!"));
}

/* ---- caching ---- */

static struct str without_marks(struct arena *a, struct str body)
{
    struct str mark = quoted(a, M);
    struct buf out = BUF_INIT;
    size_t at;
    while ((at = str_find(body, mark)) != SIZE_MAX) {
        buf_add(&out, str_cut(body, at));
        body = str_from(body, at + mark.n);
    }
    buf_add(&out, body);
    struct str kept = arena_str(a, buf_str(&out));
    buf_clear(&out);
    return kept;
}

/* What stands before the last mark, or the one before that, without any marks. */
static struct str before_mark(struct arena *a, struct str body, int nth_last)
{
    struct str word = STR(",\"cache_control\"");
    size_t n = count(body, word) - (size_t)nth_last, at = 0;
    for (size_t i = 0; i <= n; i++)
        at += str_find(str_from(body, at), word) + (i < n ? word.n : 0);
    return without_marks(a, str_cut(body, at));
}

/* Rounds of a session, longer by a message each: but for the marks every body begins with all of
 * the one before, up to the brackets that close it, and a mark stands where the last request that
 * ended with a user message had its end.  covers: providers 41, 66 */
static void test_prefix_and_marks(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block said[] = {
        {.kind = BLOCK_REASONING, .text = STR("hm"), .opaque = SIGNED("sig")},
        {.kind = BLOCK_TEXT, .text = STR("reading")},
        CALL("toolu_1", "read", "{\"p\":1}"),
    };
    struct block again[] = {CALL("toolu_2", "read", "{\"p\":2}")};
    struct message messages[] = {
        message_text(&a, ROLE_USER, STR("one")),
        {OURS, .blocks = said, .n_blocks = ARRAY_LEN(said)},
        message_tool(&a, STR("toolu_1"), STR("read"), STR("ok"), false),
        {OURS, .blocks = again, .n_blocks = 1},
        message_tool(&a, STR("toolu_2"), STR("read"), STR("no"), true),
        message_text(&a, ROLE_ASSISTANT, STR("done")),
        message_text(&a, ROLE_USER, STR("two")),
    };
    static const size_t rounds[] = {1, 3, 5, 7};
    struct tool_def tool = {STR("read"), STR("Reads"), STR_NONE};
    struct ask ask = ask_for(messages, 0);
    ask.system = STR("s");
    ask.tools = &tool;
    ask.n_tools = 1;
    struct str before = STR_NONE, kept = STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        AUTO(buf) struct buf body = BUF_INIT;
        ask.n_messages = rounds[i];
        anthropic_put_body(&ask, &body);
        assert_int_equal(count(buf_str(&body), STR("cache_control")), i == 0 ? 3 : 4);
        struct str plain = without_marks(&a, buf_str(&body));
        if (i > 0) {
            assert_true(str_starts(plain, str_cut(before, before.n - strlen("]}"))));
            assert_string_equal(before_mark(&a, buf_str(&body), 2).p, kept.p);
        }
        before = plain;
        kept = before_mark(&a, buf_str(&body), 1);
    }
}

static void test_provider_row(void **state)
{
    (void)state;
    const struct model *m = provider_anthropic.models;
    assert_string_equal(provider_anthropic.name, "anthropic");
    assert_string_equal(provider_anthropic.base_url, "https://api.anthropic.com/v1");
    assert_true(provider_anthropic.needs_key);
    for (; m->id.p; m++) {
        assert_string_equal(m->provider, "anthropic");
        assert_true(m->context_window > m->max_output && m->price_out > m->price_in);
        assert_true(m->takes_images && m->reasons);
    }
    assert_int_equal(m - provider_anthropic.models, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_and_version), cmocka_unit_test(test_smallest),
        cmocka_unit_test(test_members),         cmocka_unit_test(test_max_tokens),
        cmocka_unit_test(test_thinking),        cmocka_unit_test(test_thinking_needs_room),
        cmocka_unit_test(test_images),          cmocka_unit_test(test_calls),
        cmocka_unit_test(test_result_images),   cmocka_unit_test(test_foreign_calls),
        cmocka_unit_test(test_thoughts),        cmocka_unit_test(test_broken_blobs),
        cmocka_unit_test(test_roles_alternate), cmocka_unit_test(test_first_is_user),
        cmocka_unit_test(test_broken_utf8),     cmocka_unit_test(test_prefix_and_marks),
        cmocka_unit_test(test_provider_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
