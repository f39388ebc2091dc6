/* SPDX-License-Identifier: MIT */
/* Messages and their JSON: what is written, what is understood, and that nothing gets lost. */
#include "chat/message.h"

#include "base/id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_str(struct str got, const char *want)
{
    if (!str_is(got, want))
        fail_msg("got \"%.*s\", want \"%s\"", STR_FMT(got), want);
}

static void put(struct buf *out, const struct message *m)
{
    struct jw w = JW(out);
    buf_reset(out);
    message_put(&w, m);
}

static bool get(struct arena *a, const char *text, struct message *ret)
{
    struct error err;
    AUTO(json) struct json j = JSON_INIT;
    assert_true(json_parse(str_of(text), 0, 100, &j, &err));
    return message_get(a, j.root, ret);
}

static void test_helpers(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hello"));
    assert_str(message_text_of(&a, &m), "hello");
    assert_int_equal(message_tokens(&m), 3); /* "user\nhello": 10 characters */
    m = message_tool(&a, STR("c1"), STR("read"), STR_NONE, true);
    assert_true(m.is_error && m.blocks[0].text.p);
    assert_int_equal(message_tokens(&m), 3); /* "tool\nc1\nread" */

    struct block blocks[] = {
        {.kind = BLOCK_REASONING, .text = STR("one")},
        {.kind = BLOCK_TEXT, .text = STR("a")},
        {.kind = BLOCK_REASONING, .text = STR("two")},
        {.kind = BLOCK_TEXT, .text = STR("b")},
        {.kind = BLOCK_CALL, .id = STR("1"), .name = STR("n"), .arguments = STR("{}")},
    };
    m = (struct message){.role = ROLE_ASSISTANT, .blocks = blocks, .n_blocks = 5};
    assert_str(message_text_of(&a, &m), "ab");
    assert_str(message_reasoning_of(&a, &m), "one\n\ntwo");
    assert_int_equal(message_n_calls(&m), 1);
    m.role = ROLE_USER;
    assert_str(message_text_of(&a, &m), "a\nb");
    assert_string_equal(role_name(ROLE_SUMMARY), "compactionSummary");
    m = message_text(&a, ROLE_USER, STR("\xc3\xa4\xc3\xb6\xc3\xbc"));
    assert_int_equal(message_tokens(&m), 2); /* characters, not bytes */
}

static void test_written_form(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    m.display = STR("/hi");
    put(&out, &m);
    assert_string_equal(out.p,
                        "{\"role\":\"user\",\"content\":\"hi\",\"display_content\":\"/hi\"}");

    struct block blocks[] = {
        {.kind = BLOCK_REASONING, .text = STR("hm")},
        {.kind = BLOCK_CALL, .id = STR("c"), .name = STR("ls"), .arguments = STR("{\"a\":1}")},
    };
    m = (struct message){.role = ROLE_ASSISTANT, .blocks = blocks, .n_blocks = 2};
    put(&out, &m);
    assert_string_equal(
        out.p,
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\","
        "\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"a\\\":1}\"}}],"
        "\"reasoning_summary\":\"hm\"}");

    m = message_tool(&a, STR("c"), STR("ls"), STR("a.txt"), true);
    put(&out, &m);
    assert_string_equal(out.p, "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"name\":\"ls\","
                               "\"content\":\"a.txt\",\"trivet_error\":true}");

    struct str read[] = {STR("x")};
    m = message_text(&a, ROLE_SUMMARY, STR("sum"));
    m.first_kept = STR("message:3");
    m.tokens_before = 99;
    m.read_files = read;
    m.n_read_files = 1;
    put(&out, &m);
    assert_string_equal(
        out.p, "{\"role\":\"compactionSummary\",\"summary\":\"sum\","
               "\"first_kept_entry_id\":\"message:3\",\"tokens_before\":99,\"from_hook\":false,"
               "\"details\":{\"read_files\":[\"x\"],\"modified_files\":[]}}");
}

static void test_other_spellings(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m;
    assert_true(get(&a,
                    "{\"role\":\"toolResult\",\"toolCallId\":\"7\",\"toolName\":\"t\","
                    "\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"x\"},\"y\"]}",
                    &m));
    assert_int_equal(m.role, ROLE_TOOL);
    assert_str(m.call_id, "7");
    assert_str(m.name, "t");
    assert_true(m.is_error);
    assert_str(message_text_of(&a, &m), "x\ny");

    assert_true(get(
        &a,
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
        "\"thinking\":\"T\"},{\"type\":\"other\",\"text\":\"o\"},{\"type\":\"toolCall\",\"id\":\"1\","
        "\"name\":\"n\",\"arguments\":{\"k\":[1]}}],\"toolCalls\":[{\"id\":\"2\",\"name\":\"flat\"}],"
        "\"reasoningSummary\":\"not used\",\"usage\":{\"total_tokens\":12}}",
        &m));
    assert_int_equal(m.n_blocks, 4);
    assert_str(message_reasoning_of(&a, &m), "T");
    assert_str(m.blocks[2].arguments, "{\"k\":[1]}");
    assert_str(m.blocks[3].name, "flat");
    assert_str(m.blocks[3].arguments, "");
    assert_int_equal(m.usage.input, 12);

    assert_true(
        get(&a,
            "{\"role\":\"user\",\"displayContent\":\"d\",\"content\":[{\"type\":\"image\","
            "\"data\":\"QQ==\",\"media_type\":\"image/png\",\"path\":\"/x/cat.png\"},"
            "{\"type\":\"image\",\"path\":\"/gone\"},{\"type\":\"reasoning\",\"text\":\"r\"}]}",
            &m));
    assert_str(m.display, "d");
    assert_int_equal(m.n_blocks, 2);
    assert_str(m.blocks[0].mime, "image/png");
    assert_str(m.blocks[0].alt, "cat.png");

    assert_true(
        get(&a,
            "{\"role\":\"compactionSummary\",\"summary\":\"s\",\"firstKeptEntryId\":\"ab\","
            "\"tokensBefore\":5,\"details\":{\"readFiles\":[\"a\",3],\"modifiedFiles\":[\"b\"]}}",
            &m));
    assert_str(m.first_kept, "ab");
    assert_int_equal(m.tokens_before, 5);
    assert_int_equal(m.n_read_files, 1);
    assert_str(m.modified_files[0], "b");
}

static void test_refused_and_odd(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "{\"role\":\"system\",\"content\":\"x\"}",
        "{\"role\":\"custom\"}",
        "{}",
        "[]",
        "3",
        "{\"role\":5}",
    };
    static const char *const odd[] = {
        "{\"role\":\"user\"}",
        "{\"role\":\"user\",\"content\":5}",
        "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[1,null,{}]}",
        "{\"role\":\"assistant\",\"tool_calls\":{\"a\":1},\"usage\":[],\"trivet_reasoning\":[1]}",
        "{\"role\":\"assistant\",\"content\":\"a\",\"trivet_reasoning\":[{\"after\":-5},{\"after\":99}]}",
        "{\"role\":\"compactionSummary\",\"details\":[]}",
        "{\"role\":\"branchSummary\"}",
    };
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        assert_false(get(&a, refused[i], &m));
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        assert_true(get(&a, odd[i], &m));
}

/* What another branch did is text for the model, and nobody's message. */
static void test_branch(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    struct message m, again;
    assert_true(get(&a, "{\"role\":\"branchSummary\",\"summary\":\"left\"}", &m));
    assert_true(m.is_branch && m.role == ROLE_USER);
    message_put(&w, &m);
    assert_true(get(&a, out.p, &again));
    assert_true(again.is_branch && str_is(message_text_of(&a, &again), "left"));
}

/* So is what the engine says to the model. */
static void test_note(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    struct message m, typed;
    assert_true(get(&a, "{\"role\":\"user\",\"content\":\"x\",\"trivet_note\":true}", &m));
    assert_true(m.is_note && !message_is_typed(&m));
    message_put(&w, &m);
    assert_non_null(strstr(out.p, "\"trivet_note\":true"));
    assert_true(get(&a, "{\"role\":\"user\",\"content\":\"x\"}", &typed));
    assert_true(message_is_typed(&typed));
}

static void test_usage(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    struct usage u = {.input = 10, .output = 5, .cache_read = 3, .is_estimated = true}, sum = {0};
    usage_put(&w, &u);
    assert_string_equal(out.p, "{\"input_tokens\":10,\"output_tokens\":5,\"cache_read_tokens\":3,"
                               "\"cache_write_tokens\":0,\"total_tokens\":15,\"estimated\":true}");
    usage_add(&sum, &u);
    usage_add(&sum, &(struct usage){.input = 1, .reasoning = 2, .cost = 0.5, .cache_write = 4});
    assert_int_equal(sum.input, 11);
    assert_int_equal(sum.reasoning, 2);
    assert_int_equal(sum.cache_write, 4);
    assert_true(sum.is_estimated && sum.cost == 0.5);
    u = usage_get(NULL);
    assert_int_equal(u.input, 0);
}

/* Numbers that no model ever had must not overflow when they are added up. */
static void test_usage_of_a_liar(void **state)
{
    (void)state;
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct error err;
    struct jw w = JW(&out);
    assert_true(json_parse(STR("{\"input_tokens\":9223372036854775807,\"output_tokens\":-5,"
                               "\"cache_read_tokens\":18446744073709551615}"),
                           0, 10, &j, &err));
    struct usage u = usage_get(j.root), sum = u;
    assert_int_equal(u.input, TOKENS_MAX);
    assert_int_equal(u.output, 0);
    assert_int_equal(u.cache_read, TOKENS_MAX);
    usage_add(&sum, &u);
    assert_int_equal(sum.input, 2 * TOKENS_MAX);
    usage_put(&w, &sum);
}

/* ---- random messages, there and back ---- */

static struct str random_text(struct arena *a)
{
    static const char *const bits[] = {
        "a", "\n", "\"",           "\\", "\xc3\xa9", "\xf0\x9f\x98\x80",
        " ", "\t", "\xe2\x80\xa8", "{}", "\x01",     "Z"};
    AUTO(buf) struct buf b = BUF_INIT;
    for (uint64_t n = random_below(12); n > 0; n--)
        buf_addz(&b, bits[random_below(ARRAY_LEN(bits))]);
    if (random_below(10) == 0)
        buf_addc(&b, '\0');
    return arena_str(a, buf_str(&b));
}

static struct str maybe_text(struct arena *a)
{
    return random_below(2) ? random_text(a) : STR_NONE;
}

static struct str random_opaque(struct arena *a)
{
    static const char *const bits[] = {
        "{\"b\":1,\"a\":[true,null,\"\\u00e9\"]}",
        "{\"sig\":\"Zm9v+/==\"}",
        "\"plain\"",
        "7",
        "1.0",
        "{ \"spaced\" : 1 }",
        "{\n}",
        "1e400",
        "123456789012345678901234567890",
        "not json",
        "",
        "{\"d\":{\"d\":{}},\"d\":2}",
        "null",
    };
    return random_below(3) ? arena_str(a, str_of(bits[random_below(ARRAY_LEN(bits))])) : STR_NONE;
}

static struct block random_block(struct arena *a, enum role role, bool calls_only)
{
    struct block b = {0};
    uint64_t dice = random_below(calls_only ? 2 : 4);
    if (role == ROLE_ASSISTANT && dice == 0) {
        b = (struct block){
            .kind = BLOCK_REASONING, .text = random_text(a), .opaque = random_opaque(a)};
    } else if (calls_only) {
        b = (struct block){.kind = BLOCK_CALL,
                           .id = maybe_text(a),
                           .name = random_text(a),
                           .arguments = random_text(a)};
    } else if (dice == 1) {
        b = (struct block){
            .kind = BLOCK_IMAGE, .data = STR("QUJD"), .mime = maybe_text(a), .alt = maybe_text(a)};
    } else {
        b = (struct block){.kind = BLOCK_TEXT, .text = random_text(a)};
    }
    return b;
}

static void fill_blocks(struct arena *a, struct message *m)
{
    size_t n = random_below(6), n_calls = m->role == ROLE_ASSISTANT ? random_below(4) : 0;
    m->blocks = arena_array(a, struct block, n + n_calls + 1);
    for (size_t i = 0; i < n + n_calls; i++)
        m->blocks[m->n_blocks++] = random_block(a, m->role, i >= n);
}

static struct message random_message(struct arena *a)
{
    struct message m = {.role = (enum role)random_below(4), .entry_id = maybe_text(a)};
    if (m.role == ROLE_SUMMARY) {
        struct str *files = arena_array(a, struct str, 2);
        m = message_text(a, ROLE_SUMMARY, random_text(a));
        files[0] = random_text(a);
        files[1] = random_text(a);
        m.first_kept = maybe_text(a);
        m.tokens_before = (int64_t)random_below(1000);
        m.read_files = files;
        m.n_read_files = random_below(3);
        m.modified_files = files;
        m.n_modified_files = random_below(3);
        return m;
    }
    fill_blocks(a, &m);
    if (m.role == ROLE_USER) {
        m.display = maybe_text(a);
    } else if (m.role == ROLE_TOOL) {
        m.call_id = maybe_text(a);
        m.name = maybe_text(a);
        m.is_error = random_below(2);
    } else {
        m.provider = maybe_text(a);
        m.model = maybe_text(a);
        m.is_partial = random_below(2);
        if (random_below(2))
            m.usage = (struct usage){(int64_t)random_below(1 << 20) + 1,
                                     1,
                                     2,
                                     3,
                                     (int64_t)random_below(2),
                                     (double)random_below(1000) / 7,
                                     random_below(2)};
    }
    return m;
}

static void same_str(struct str a, struct str b)
{
    assert_true((a.p == NULL) == (b.p == NULL));
    assert_true(str_eq(a, b));
}

static void same_strs(const struct str *a, size_t n_a, const struct str *b, size_t n_b)
{
    assert_int_equal(n_a, n_b);
    for (size_t i = 0; i < n_a; i++)
        same_str(a[i], b[i]);
}

static void same_block(const struct block *a, const struct block *b)
{
    assert_int_equal(a->kind, b->kind);
    same_str(a->text, b->text);
    same_str(a->opaque, b->opaque);
    same_str(a->data, b->data);
    same_str(a->mime, b->mime);
    same_str(a->alt, b->alt);
    same_str(a->id, b->id);
    same_str(a->name, b->name);
    same_str(a->arguments, b->arguments);
}

static void same_message(const struct message *a, const struct message *b)
{
    assert_int_equal(a->role, b->role);
    assert_int_equal(a->n_blocks, b->n_blocks);
    for (size_t i = 0; i < a->n_blocks; i++)
        same_block(&a->blocks[i], &b->blocks[i]);
    same_str(a->display, b->display);
    same_str(a->call_id, b->call_id);
    same_str(a->name, b->name);
    same_str(a->provider, b->provider);
    same_str(a->model, b->model);
    same_str(a->first_kept, b->first_kept);
    same_str(a->entry_id, b->entry_id);
    same_strs(a->read_files, a->n_read_files, b->read_files, b->n_read_files);
    same_strs(a->modified_files, a->n_modified_files, b->modified_files, b->n_modified_files);
    assert_int_equal(a->is_error, b->is_error);
    assert_int_equal(a->is_partial, b->is_partial);
    assert_int_equal(a->tokens_before, b->tokens_before);
    assert_int_equal(a->usage.input, b->usage.input);
    assert_int_equal(a->usage.output, b->usage.output);
    assert_int_equal(a->usage.cache_read, b->usage.cache_read);
    assert_int_equal(a->usage.cache_write, b->usage.cache_write);
    assert_int_equal(a->usage.reasoning, b->usage.reasoning);
    assert_int_equal(a->usage.is_estimated, b->usage.is_estimated);
    assert_true(a->usage.cost == b->usage.cost);
}

static void test_there_and_back(void **state)
{
    (void)state;
    id_fix(42);
    for (int i = 0; i < 5000; i++) {
        struct error err;
        AUTO(arena) struct arena a = ARENA_INIT;
        AUTO(arena) struct arena b = ARENA_INIT;
        AUTO(buf) struct buf out = BUF_INIT;
        AUTO(json) struct json j = JSON_INIT;
        struct message m = random_message(&a), back;
        put(&out, &m);
        assert_int_equal(str_chr(buf_str(&out), '\n'), SIZE_MAX);
        assert_true(json_parse(buf_str(&out), 0, 512, &j, &err));
        assert_true(message_get(&a, j.root, &back));
        same_message(&m, &back);

        struct message copy = message_copy(&b, &m);
        same_message(&m, &copy);
        arena_clear(&a); /* a copy that borrowed would now be noticed */
        put(&out, &copy);
        assert_true(out.n > 0);
    }
    id_fix(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_helpers),         cmocka_unit_test(test_written_form),
        cmocka_unit_test(test_other_spellings), cmocka_unit_test(test_refused_and_odd),
        cmocka_unit_test(test_branch),          cmocka_unit_test(test_note),
        cmocka_unit_test(test_usage),           cmocka_unit_test(test_usage_of_a_liar),
        cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
