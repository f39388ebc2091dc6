/* SPDX-License-Identifier: MIT */
/* The list of messages of a request, kept between requests, is what it would be if it were made
 * anew; and what has not changed is not made again. */
#include "engine/outgoing.h"

#include "base/buf.h"
#include "engine/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>

struct talk {
    struct history history;
    struct recent recent;
    struct outgoing outgoing;
    struct session_settings settings;
};

static void talk_end(struct talk *t)
{
    outgoing_clear(&t->outgoing);
    recent_clear(&t->recent);
    history_clear(&t->history);
}

static void say(struct talk *t, enum role role, const char *text, struct turn_mark *turn)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, role, str_of(text));
    history_add(&t->history, &m, turn);
}

/* A turn with one call. */
static struct turn_mark *say_turn(struct talk *t, const char *id)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct turn_mark *turn = history_mark(&t->history, str_of(id));
    struct block call = {
        .kind = BLOCK_CALL, .id = STR("c"), .name = STR("list"), .arguments = STR("{}")};
    struct message asks = {.role = ROLE_ASSISTANT, .blocks = &call, .n_blocks = 1};
    struct message result = message_tool(&a, STR("c"), STR("list"), str_of(id), false);
    turn->state = TURN_COMPLETED;
    say(t, ROLE_USER, "look", turn);
    history_add(&t->history, &asks, turn);
    history_add(&t->history, &result, turn);
    say(t, ROLE_ASSISTANT, "seen", turn);
    return turn;
}

static void put_all(struct buf *out, const struct outgoing *o)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < o->n; i++)
        buf_addf(out, "%d %.*s|%zu\n", (int)o->messages[i].role,
                 STR_FMT(message_text_of(&a, &o->messages[i])), o->messages[i].n_blocks);
}

/* Compares with a list that is made anew. */
static void check(struct talk *t)
{
    AUTO(buf) struct buf kept = BUF_INIT, fresh = BUF_INIT;
    struct outgoing other = {0};
    outgoing_put(&t->outgoing, &t->history, &t->recent, NULL, 0);
    outgoing_put(&other, &t->history, &t->recent, NULL, 0);
    put_all(&kept, &t->outgoing);
    put_all(&fresh, &other);
    assert_int_equal(t->outgoing.bytes, other.bytes);
    outgoing_clear(&other);
    buf_addc(&kept, '\0');
    buf_addc(&fresh, '\0');
    assert_string_equal(kept.p, fresh.p);
}

static void test_forms(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct talk t = {0};
    say(&t, ROLE_USER, "first", NULL);
    say_turn(&t, "one");
    check(&t);
    history_set_context(&t.history, 0, STR("where we are"));
    history_shorten_result(&t.history, 3, STR("short"));
    check(&t);
    put_all(&out, &t.outgoing);
    buf_addc(&out, '\0');
    assert_string_equal(out.p,
                        "0 where we are|1\n0 first|1\n0 look|1\n1 |1\n2 short|1\n1 seen|1\n");
    talk_end(&t);
}

/* A mark in a message that has not changed stays: the message was not made again. */
static void test_cost(void **state)
{
    (void)state;
    struct talk t = {0};
    say(&t, ROLE_USER, "first", NULL);
    history_set_context(&t.history, 0, STR("where we are"));
    say(&t, ROLE_ASSISTANT, "second", NULL);
    check(&t);
    outgoing_put(&t.outgoing, &t.history, &t.recent, NULL, 0);
    t.outgoing.messages[0].number = 4711;
    say(&t, ROLE_USER, "third", NULL);
    outgoing_put(&t.outgoing, &t.history, &t.recent, NULL, 0);
    assert_int_equal(t.outgoing.n, 4);
    assert_int_equal(t.outgoing.messages[0].number, 4711);
    history_set_context(&t.history, 2, STR("now"));
    outgoing_put(&t.outgoing, &t.history, &t.recent, NULL, 0);
    assert_int_equal(t.outgoing.n, 5);
    assert_int_equal(t.outgoing.messages[0].number, 4711);
    talk_end(&t);
}

static void fold(struct talk *t, size_t from)
{
    recent_keep(&t->recent, &t->history, from);
    history_fold(&t->history, &t->settings, from, STR_NONE, NULL);
    recent_place(&t->recent, &t->history, from, 1000);
}

/* Turns that end become texts; the request still has their calls. */
static void test_turns(void **state)
{
    (void)state;
    struct talk t = {.settings = {.keeps_only_text = true}};
    for (int i = 0; i < 30; i++) {
        char id[20];
        size_t from = t.history.n;
        snprintf(id, sizeof id, "turn%d", i);
        say_turn(&t, id);
        check(&t);
        outgoing_put(&t.outgoing, &t.history, &t.recent, NULL, 0);
        t.outgoing.messages[0].number = 4711;
        fold(&t, from);
        check(&t);
        assert_int_equal(t.outgoing.n, 4 * (i + 1)); /* each with its call */
        assert_true(i == 0 || t.outgoing.messages[0].number == 4711);
    }
    recent_clear(&t.recent);
    check(&t);
    assert_int_equal(t.outgoing.n, 60);
    talk_end(&t);
}

/* Anything in any order. */
static void test_random(void **state)
{
    (void)state;
    struct talk t = {.settings = {.keeps_only_text = true}};
    unsigned seed = 1;
    for (int i = 0; i < 3000; i++) {
        size_t n = t.history.n;
        seed = seed * 1103515245u + 12345u;
        unsigned dice = (seed >> 16) % 12, at = n ? (seed >> 8) % (unsigned)n : 0;
        if (dice < 4) {
            say(&t, dice % 2 ? ROLE_ASSISTANT : ROLE_USER, "text", NULL);
        } else if (dice < 6) {
            say_turn(&t, "any");
            fold(&t, n);
        } else if (dice == 6 && n) {
            history_set_context(&t.history, at, STR("context"));
        } else if (dice == 7 && n) {
            history_shorten_result(&t.history, at, STR("brief"));
        } else if (dice == 8 && n > 2) {
            history_remove(&t.history, at, at + 1);
        } else if (dice == 9 && n > 40) {
            AUTO(arena) struct arena a = ARENA_INIT;
            struct message summary = message_text(&a, ROLE_SUMMARY, STR("so far"));
            history_compact(&t.history, &summary, n / 2);
        } else if (dice == 10) {
            recent_clear(&t.recent);
        }
        if (i % 3)
            check(&t);
    }
    talk_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
