/* SPDX-License-Identifier: MIT */
/* Turns from beginning to end, in process: order of events, one terminal event on every path, and
 * the cancel sweep: the same turn interrupted at each of its awaits. */
#include "engine_scene.h"

static void a_text_turn(void **state)
{
    (void)state;
    struct scene sc;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/hello");
    assert_true(scene_say(&sc, "hello"));
    assert_true(str_starts(buf_str(&sc.heard), STR("turn_queued turn_started input_added text")));
    assert_true(str_ends(buf_str(&sc.heard), STR("reply_done answer turn_ended usage_changed")));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    assert_string_equal(sc.last_stop, "end_turn");
    assert_false(sc.order_is_broken);
    scene_clear(&sc);
}

static const char tool_scenario[] =
    "{\"about\":\"a turn with everything\",\"rounds\":["
    "[{\"fail\":503,\"message\":\"busy\",\"times\":1},{\"think\":\"hm\"},{\"say\":\"I look. \"},"
    "{\"call\":\"note\",\"args\":{\"text\":\"a\"}},{\"call\":\"pause\",\"args\":{}},"
    "{\"call\":\"nothing\",\"args\":{}}],"
    "[{\"say\":\"Again. \"},{\"wait_ms\":1},{\"call\":\"note\",\"raw\":\"no json\"}],"
    "[{\"say\":\"Done.\"}]]}";

static void a_tool_turn(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    scene_init(&sc);
    sc.settings.permit = PERMIT_ASK;
    scene_write(&sc, "scenario.json", tool_scenario);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "scenario.json").p);
    assert_true(scene_say(&sc, "go"));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    assert_int_equal(n_tool_runs, 2);
    assert_string_equal(sc.text.p, "I look. Again. Done.");
    assert_true(str_find(buf_str(&sc.heard), STR("retry_waiting")) != SIZE_MAX);
    assert_true(str_find(buf_str(&sc.heard),
                         STR("call_started permission_asked permission_answered call_done "
                             "call_started permission_asked permission_answered call_done "
                             "call_started call_done round_done")) != SIZE_MAX);
    scene_clear(&sc);
}

static void a_denied_call_does_not_run(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    scene_init(&sc);
    sc.settings.permit = PERMIT_ASK;
    sc.answers = ANSWER_DENY;
    scene_write(&sc, "scenario.json", tool_scenario);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "scenario.json").p);
    assert_true(scene_say(&sc, "go"));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    assert_int_equal(n_tool_runs, 0);
    scene_clear(&sc);
}

/* Whether a file of this name came to be in the scene's directory. */
static bool scene_has(const struct scene *sc, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", sc->dir, name);
    return access(path, F_OK) == 0;
}

/* The second file of a patch decides as much as the first. */
static void a_patch_needs_what_its_worst_path_needs(void **state)
{
    (void)state;
    for (int leaves = 0; leaves < 2; leaves++) {
        struct scene sc;
        char model[160];
        AUTO(buf) struct buf scenario = BUF_INIT;
        scene_init(&sc);
        sc.settings.permit = PERMIT_RULES;
        sc.settings.toolset = &toolset_loaf;
        buf_addf(&scenario,
                 "{\"rounds\":[[{\"call\":\"apply_patch\",\"args\":{\"input\":\"*** Begin Patch"
                 "\\n*** Add File: %s/one\\n+x\\n*** Add File: %s/%s/two\\n+x\\n"
                 "*** End Patch\"}}],[{\"say\":\"Done.\"}]]}",
                 sc.dir, sc.dir, leaves ? "../no-such-dir" : "in");
        scene_write(&sc, "scenario.json", scenario.p);
        scene_begin(&sc, scene_model(&sc, model, sizeof model, "scenario.json").p);
        session_set_mode(sc.session, MODE_WORKSPACE_WRITE);
        assert_true(scene_say(&sc, "go"));
        assert_int_equal(sc.last_state, TURN_COMPLETED);
        assert_int_equal(scene_has(&sc, "one"), !leaves);
        assert_int_equal(scene_has(&sc, "in/two"), !leaves);
        scene_clear(&sc);
    }
}

static void the_round_limit_ends_a_turn(void **state)
{
    (void)state;
    for (int soft = 0; soft < 2; soft++) {
        struct scene sc;
        char model[160];
        scene_init(&sc);
        sc.settings.max_rounds = 3;
        sc.settings.max_rounds_is_stop = soft;
        scene_write(&sc, "loop.json",
                    "{\"forever\":true,\"rounds\":[[{\"call\":\"note\",\"args\":{}}]]}");
        scene_begin(&sc, scene_model(&sc, model, sizeof model, "loop.json").p);
        assert_true(scene_say(&sc, "go"));
        assert_int_equal(sc.last_state, soft ? TURN_COMPLETED : TURN_FAILED);
        assert_string_equal(sc.last_stop, soft ? "max_iterations" : "error");
        assert_int_equal(n_tool_runs, 3);
        scene_clear(&sc);
    }
}

static void failures_end_a_turn_once(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        enum err_code code;
    } cases[] = {{"rehearsal/fail401", ERR_AUTH},
                 {"rehearsal/fail500", ERR_PROVIDER},
                 {"rehearsal/cut", ERR_CUT},
                 {"rehearsal/no-such-scenario", ERR_NO_MODEL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene sc;
        scene_init(&sc);
        scene_begin(&sc, cases[i].model);
        assert_true(scene_say(&sc, "go"));
        assert_int_equal(sc.last_state, TURN_FAILED);
        assert_int_equal(sc.last_error.code, cases[i].code);
        assert_true(str_find(buf_str(&sc.heard), STR("failed turn_ended")) != SIZE_MAX);
        scene_clear(&sc);
    }
}

static void a_stalled_model_is_given_up(void **state)
{
    (void)state;
    struct scene sc;
    scene_init(&sc);
    sc.settings.stall_ms = 30;
    sc.settings.retry.rules[RETRY_STALLED].attempts = 2;
    scene_begin(&sc, "rehearsal/stall");
    assert_true(scene_say(&sc, "go"));
    assert_int_equal(sc.last_state, TURN_FAILED);
    assert_int_equal(sc.last_error.code, ERR_STALLED);
    scene_clear(&sc);
}

static void no_model_fails_the_turn(void **state)
{
    (void)state;
    struct scene sc;
    struct error err;
    scene_init(&sc);
    struct session_spec spec = scene_spec(&sc, STR_NONE);
    sc.session = session_new(sc.engine, &spec, &err);
    session_listen(sc.session, &sc.listener);
    assert_true(scene_say(&sc, "go"));
    assert_int_equal(sc.last_error.code, ERR_NO_MODEL);
    assert_true(session_set_model(sc.session, STR("rehearsal/hello"), &err));
    assert_true(scene_say(&sc, "again"));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    scene_clear(&sc);
}

static void the_queue_runs_in_order(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send sends[5], busy;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/echo");
    static const char *const texts[] = {"one", "two", "three", "four", "five"};
    for (int i = 0; i < 5; i++)
        scene_start_send(&sc, &sends[i], texts[i], SEND_QUEUE);
    scene_start_send(&sc, &busy, "no", SEND_NEW);
    scene_until(&sc, 5);
    assert_true(busy.is_done && !busy.ok);
    assert_int_equal(busy.err.code, ERR_BUSY);
    size_t last = 0;
    for (int i = 0; i < 5; i++) {
        size_t at = str_find(buf_str(&sc.text), str_of(texts[i]));
        assert_true(at != SIZE_MAX && at >= last);
        last = at;
    }
    scene_clear(&sc);
}

static void steering_reaches_the_next_round(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send first, steer;
    char model[160];
    scene_init(&sc);
    sc.settings.steer_extends = true;
    scene_write(
        &sc, "steer.json",
        "{\"rounds\":[[{\"say\":\"first\"},{\"wait_ms\":50}]],"
        "\"turns\":[{\"when\":\"left\",\"rounds\":[[{\"say\":\" turned {{last_user}}\"}]]}]}");
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "steer.json").p);
    scene_start_send(&sc, &first, "go", SEND_NEW);
    scene_hear_until(&sc, "text");
    scene_start_send(&sc, &steer, "left", SEND_STEER);
    scene_until(&sc, 1);
    assert_true(steer.ok);
    assert_string_equal(steer.turn, first.turn);
    assert_string_equal(sc.text.p, "first turned left");
    scene_start_send(&sc, &steer, "nobody", SEND_STEER);
    while (!steer.is_done)
        loop_step(sc.loop, true);
    assert_int_equal(steer.err.code, ERR_INVALID);
    scene_clear(&sc);
}

/* ---- interrupts ---- */

static void an_interrupt_keeps_what_was_shown(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send s;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/slow");
    scene_start_send(&sc, &s, "go", SEND_NEW);
    scene_hear_until(&sc, "text text");
    int64_t asked_us = time_mono_us();
    assert_true(session_interrupt(sc.session));
    assert_false(session_interrupt(sc.session));
    scene_until(&sc, 1);
    assert_true(time_mono_us() - asked_us < 100000 * 5); /* generous under sanitizers */
    assert_int_equal(sc.last_state, TURN_CANCELED);
    size_t n;
    struct message *m = session_messages(sc.session, &a, &n);
    assert_int_equal(n, 2);
    assert_true(m[1].is_partial);
    assert_true(str_eq(message_text_of(&a, &m[1]), buf_str(&sc.text)));
    scene_clear(&sc);
}

static void an_interrupt_stops_a_tool(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send s;
    char model[160];
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_init(&sc);
    scene_write(&sc, "nap.json",
                "{\"rounds\":[[{\"call\":\"nap\",\"args\":{}},{\"call\":\"note\",\"args\":{}}]]}");
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "nap.json").p);
    scene_start_send(&sc, &s, "go", SEND_NEW);
    scene_hear_until(&sc, "call_started");
    assert_true(session_interrupt(sc.session));
    scene_until(&sc, 1);
    assert_int_equal(sc.last_state, TURN_CANCELED);
    assert_int_equal(n_tool_runs, 1);
    size_t n;
    struct message *m = session_messages(sc.session, &a, &n);
    assert_int_equal(n, 4); /* user, assistant, two results */
    assert_string_equal(message_text_of(&a, &m[2]).p, "half a nap\ninterrupted");
    assert_string_equal(message_text_of(&a, &m[3]).p, "interrupted");
    scene_clear(&sc);
}

static void waiting_turns_can_be_canceled(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send first, second;
    struct error err;
    struct turn_info info;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/slow");
    scene_start_send(&sc, &first, "one", SEND_NEW);
    scene_start_send(&sc, &second, "two", SEND_QUEUE);
    scene_hear_until(&sc, "text");
    while (!second.is_done)
        loop_step(sc.loop, true);
    assert_true(engine_cancel_turn(sc.engine, str_of(second.turn), &err));
    assert_int_equal(sc.n_ended, 1);
    assert_true(engine_turn(sc.engine, str_of(second.turn), &info));
    assert_int_equal(info.state, TURN_CANCELED);
    assert_true(engine_turn(sc.engine, str_of(first.turn), &info));
    assert_int_equal(info.state, TURN_RUNNING);
    assert_false(engine_cancel_turn(sc.engine, STR("nonsense"), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_true(engine_cancel_turn(sc.engine, str_of(first.turn), &err));
    scene_until(&sc, 2);
    scene_clear(&sc);
}

/* ---- the cancel sweep ---- */

struct sweep {
    struct scene *scene;
    unsigned long at, seen;
};

static void on_await(unsigned long number, void *arg)
{
    struct sweep *w = arg;
    (void)number;
    if (++w->seen == w->at)
        session_interrupt(w->scene->session);
}

/* Every call in the conversation has its result, so that any provider takes it. */
static void check_conversation(struct session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct message *m = session_messages(s, &a, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; m[i].role == ROLE_ASSISTANT && b < m[i].n_blocks; b++) {
            if (m[i].blocks[b].kind != BLOCK_CALL)
                continue;
            int results = 0;
            for (size_t k = i + 1; k < n && m[k].role == ROLE_TOOL; k++)
                results += str_eq(m[k].call_id, m[i].blocks[b].id);
            assert_int_equal(results, 1);
        }
}

static bool sweep_at(unsigned long at, bool quiet)
{
    struct scene sc;
    char model[160];
    struct sweep w = {.scene = &sc, .at = at};
    scene_init(&sc);
    sc.settings.permit = PERMIT_ASK;
    sc.settings.is_quiet_after_cancel = quiet;
    scene_write(&sc, "scenario.json", tool_scenario);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "scenario.json").p);
    fiber_watch_awaits(on_await, &w);
    assert_true(scene_say(&sc, "go"));
    fiber_watch_awaits(NULL, NULL);
    bool was_hit = w.seen >= at;
    assert_int_equal(sc.n_ended, 1);
    assert_false(sc.order_is_broken);
    if (was_hit && quiet)
        assert_true(str_find(buf_str(&sc.heard), STR("cancel_asked turn_ended")) != SIZE_MAX ||
                    sc.last_state != TURN_CANCELED);
    if (!was_hit)
        assert_int_equal(sc.last_state, TURN_COMPLETED);
    check_conversation(sc.session);
    struct error err;
    assert_true(session_set_model(sc.session, STR("rehearsal/hello"), &err));
    assert_true(scene_say(&sc, "still there?"));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    scene_clear(&sc);
    return was_hit;
}

static void the_cancel_sweep(void **state)
{
    (void)state;
    unsigned long n = 1;
    while (sweep_at(n, false))
        n++;
    assert_true(n > 5); /* the turn has more awaits than that */
    for (unsigned long i = 1; i < n; i++)
        sweep_at(i, true);
}

static void back_pressure_holds_the_model(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send s;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/long");
    scene_start_send(&sc, &s, "go", SEND_NEW);
    scene_hear_until(&sc, "text");
    listener_set_full(sc.session, &sc.listener, true);
    size_t held = sc.text.n;
    for (int i = 0; i < 50; i++)
        loop_step(sc.loop, false);
    assert_int_equal(sc.text.n, held);
    listener_set_full(sc.session, &sc.listener, false);
    scene_until(&sc, 1);
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    assert_true(sc.text.n > held);
    scene_clear(&sc);
}

static void interrupt_works_while_held(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send s;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/long");
    scene_start_send(&sc, &s, "go", SEND_NEW);
    scene_hear_until(&sc, "text");
    listener_set_full(sc.session, &sc.listener, true);
    assert_true(session_interrupt(sc.session));
    scene_until(&sc, 1);
    assert_int_equal(sc.last_state, TURN_CANCELED);
    scene_clear(&sc);
}

static void an_overflow_is_compacted_once(void **state)
{
    (void)state;
    struct scene sc;
    scene_init(&sc);
    sc.settings.compact = (struct compact_rules){.is_enabled = true, .reserve_tokens = 1000};
    scene_begin(&sc, "rehearsal/overflow");
    for (int i = 0; i < 4; i++)
        assert_true(scene_say(&sc, "more and more"));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    size_t at = str_find(buf_str(&sc.heard), STR("compaction_started compaction_done"));
    assert_true(at != SIZE_MAX);
    scene_clear(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_turn),
        cmocka_unit_test(a_tool_turn),
        cmocka_unit_test(a_denied_call_does_not_run),
        cmocka_unit_test(a_patch_needs_what_its_worst_path_needs),
        cmocka_unit_test(the_round_limit_ends_a_turn),
        cmocka_unit_test(failures_end_a_turn_once),
        cmocka_unit_test(a_stalled_model_is_given_up),
        cmocka_unit_test(no_model_fails_the_turn),
        cmocka_unit_test(the_queue_runs_in_order),
        cmocka_unit_test(steering_reaches_the_next_round),
        cmocka_unit_test(an_interrupt_keeps_what_was_shown),
        cmocka_unit_test(an_interrupt_stops_a_tool),
        cmocka_unit_test(waiting_turns_can_be_canceled),
        cmocka_unit_test(the_cancel_sweep),
        cmocka_unit_test(back_pressure_holds_the_model),
        cmocka_unit_test(interrupt_works_while_held),
        cmocka_unit_test(an_overflow_is_compacted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
