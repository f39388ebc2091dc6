/* SPDX-License-Identifier: MIT */
/* A reply coming in: order of the blocks, interleaved calls, opaque reasoning, the limit. */
#include "chat/reply.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_str(struct str got, const char *want)
{
    if (!str_is(got, want))
        fail_msg("got \"%.*s\", want \"%s\"", STR_FMT(got), want);
}

static void test_order(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(reply) struct reply r = REPLY_INIT;
    assert_true(reply_is_empty(&r));
    assert_true(reply_add_text(&r, STR("")));
    assert_true(reply_is_empty(&r));
    reply_add_reasoning(&r, STR("think "));
    reply_add_reasoning(&r, STR("more"));
    reply_set_opaque(&r, STR("{\"s\":1}"));
    reply_add_reasoning(&r, STR("again"));
    reply_add_text(&r, STR("Hel"));
    reply_add_text(&r, STR("lo"));
    r.usage = (struct usage){.input = 3};
    r.has_usage = true;

    struct message m = reply_message(&r, &a);
    reply_clear(&r);
    assert_int_equal(m.role, ROLE_ASSISTANT);
    assert_int_equal(m.n_blocks, 3);
    assert_str(m.blocks[0].text, "think more");
    assert_str(m.blocks[0].opaque, "{\"s\":1}");
    assert_str(m.blocks[1].text, "again");
    assert_null(m.blocks[1].opaque.p);
    assert_str(m.blocks[2].text, "Hello");
    assert_int_equal(m.usage.input, 3);
}

static void test_opaque_comes_late_or_alone(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(reply) struct reply r = REPLY_INIT;
    reply_add_reasoning(&r, STR("r"));
    reply_add_text(&r, STR("t"));
    reply_set_opaque(&r, STR("1"));
    reply_set_opaque(&r, STR("2"));
    struct message m = reply_message(&r, &a);
    assert_int_equal(m.n_blocks, 3);
    assert_str(m.blocks[0].opaque, "1");
    assert_int_equal(m.blocks[2].kind, BLOCK_REASONING);
    assert_str(m.blocks[2].opaque, "2");
    assert_str(m.blocks[2].text, "");
}

static void test_reasoning_keeps_its_place(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(reply) struct reply r = REPLY_INIT;
    assert_true(reply_begin_reasoning(&r));
    reply_add_text(&r, STR("t"));
    assert_true(reply_begin_reasoning(&r));
    reply_add_reasoning(&r, STR("r"));
    assert_true(reply_begin_reasoning(&r)); /* stays empty */
    reply_add_call(&r, 0, STR("c"), STR("n"), STR("{}"));
    assert_true(reply_set_opaque(&r, STR("3")));
    assert_true(reply_set_opaque(&r, STR("2")));
    struct message m = reply_message(&r, &a);
    assert_int_equal(m.n_blocks, 4);
    assert_str(m.blocks[1].opaque, "2");
    assert_str(m.blocks[1].text, "r");
    assert_str(m.blocks[2].opaque, "3");
    assert_int_equal(m.blocks[3].kind, BLOCK_CALL);
}

static void test_call_final_form(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(reply) struct reply r = REPLY_INIT;
    reply_add_call(&r, 0, STR("a"), STR("n"), STR("{\"x"));
    size_t bytes = r.bytes;
    reply_add_call(&r, 0, STR_NONE, STR_NONE, STR("yz"));
    assert_true(reply_set_call(&r, 0, STR_NONE, STR(""), STR("{}!")));
    assert_int_equal(r.bytes, bytes);
    assert_true(reply_set_call(&r, 1, STR("b"), STR("m"), STR("[]")));
    assert_true(reply_set_call(&r, 1, STR("c"), STR_NONE, STR("")));
    struct message m = reply_message(&r, &a);
    assert_int_equal(m.n_blocks, 2);
    assert_str(m.blocks[0].id, "a");
    assert_str(m.blocks[0].arguments, "{}!");
    assert_str(m.blocks[1].id, "c");
    assert_str(m.blocks[1].name, "m");
    assert_str(m.blocks[1].arguments, "[]");
}

static void test_calls(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(reply) struct reply r = REPLY_INIT;
    reply_add_call(&r, 0, STR_NONE, STR("read"), STR("{\"a\""));
    reply_add_call(&r, 1, STR("call_1"), STR("ls"), STR(""));
    reply_add_call(&r, 0, STR(""), STR(""), STR(":1}"));
    reply_add_call(&r, 1, STR("other"), STR("no"), STR("{}"));
    reply_add_call(&r, 2, STR(""), STR("w"), STR_NONE);
    reply_add_text(&r, STR("x"));
    assert_int_equal(reply_n_calls(&r), 3);
    struct message m = reply_message(&r, &a);
    assert_int_equal(m.n_blocks, 4);
    assert_str(m.blocks[0].arguments, "{\"a\":1}");
    assert_str(m.blocks[0].id, "call_2"); /* call_1 is the provider's */
    assert_str(m.blocks[1].id, "call_1");
    assert_str(m.blocks[1].name, "ls");
    assert_str(m.blocks[1].arguments, "{}");
    assert_str(m.blocks[2].id, "call_3");
    assert_str(m.blocks[2].arguments, "");
    assert_int_equal(m.blocks[3].kind, BLOCK_TEXT);
}

static void test_text_so_far(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(reply) struct reply r = REPLY_INIT;
    assert_str(reply_text_so_far(&r, &a), "");
    reply_add_text(&r, STR("a"));
    reply_add_reasoning(&r, STR("hidden"));
    reply_add_text(&r, STR("b"));
    assert_str(reply_text_so_far(&r, &a), "ab");
}

/* A long text is handed from the reply to the turn, and on to the conversation, as one and the same
 * memory; short ones are copied. */
static void test_long_texts_are_handed_on(void **state)
{
    (void)state;
    AUTO(arena) struct arena turn = ARENA_INIT, history = ARENA_INIT;
    AUTO(reply) struct reply r = REPLY_INIT;
    AUTO_FREE char *bytes = xmalloc(LONG_TEXT);
    memset(bytes, 'x', LONG_TEXT);
    reply_add_text(&r, STR("short"));
    reply_add_call(&r, 0, STR("c"), STR("n"), str_n(bytes, LONG_TEXT));
    reply_add_text(&r, str_n(bytes, LONG_TEXT));
    struct message m = reply_take_message(&r, &turn);
    reply_clear(&r);
    assert_int_equal(m.n_blocks, 3);
    assert_int_equal(m.blocks[2].text.n, LONG_TEXT);
    struct message moved = message_move(&history, &turn, &m);
    assert_ptr_equal(moved.blocks[2].text.p, m.blocks[2].text.p);
    assert_ptr_equal(moved.blocks[1].arguments.p, m.blocks[1].arguments.p);
    assert_ptr_not_equal(moved.blocks[0].text.p, m.blocks[0].text.p);
    struct message copy = message_move(&history, &turn, &moved); /* not the turn's any more */
    assert_ptr_not_equal(copy.blocks[2].text.p, moved.blocks[2].text.p);
    assert_false(arena_pass(&turn, &history, moved.blocks[2].text.p));
    arena_clear(&turn);
    const char *text = moved.blocks[2].text.p;
    assert_memory_equal(text, bytes, LONG_TEXT);
    /* A part of it is enough to find it. */
    assert_true(arena_pass(&history, &turn, text + LONG_TEXT - 1));
    arena_clear(&history);
    assert_int_equal(text[LONG_TEXT], '\0');
}

static void test_limit(void **state)
{
    (void)state;
    AUTO(reply) struct reply r = REPLY_INIT;
    AUTO_FREE char *half = xcalloc(1, LIMIT_REPLY_BYTES / 2);
    struct str piece = str_n(half, LIMIT_REPLY_BYTES / 2);
    assert_true(reply_add_text(&r, piece));
    assert_false(reply_add_text(&r, piece)); /* the part itself counts a little */
    assert_false(reply_add_call(&r, 0, STR("i"), STR("n"), piece));
    assert_false(reply_add_reasoning(&r, piece));
    assert_false(reply_set_opaque(&r, piece));
    assert_int_equal(r.bytes, piece.n);
    assert_int_equal(r.n_parts, 1);
    assert_true(reply_add_text(&r, STR("small")));
}

static void test_flood_of_empty_calls(void **state)
{
    (void)state;
    AUTO(reply) struct reply r = REPLY_INIT;
    int64_t key = 0;
    while (reply_add_call(&r, key, STR_NONE, STR_NONE, STR_NONE))
        key++;
    assert_true(key > 1000 && key < 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_opaque_comes_late_or_alone),
        cmocka_unit_test(test_reasoning_keeps_its_place),
        cmocka_unit_test(test_call_final_form),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_text_so_far),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_long_texts_are_handed_on),
        cmocka_unit_test(test_flood_of_empty_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
