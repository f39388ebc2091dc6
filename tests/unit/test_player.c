/* SPDX-License-Identifier: MIT */
/* Playing: every verb, and the manners of the stream (pause, free in the middle, many at once). */
#include "rehearsal_scene.h"

#include "base/time.h"
#include "providers/rehearsal/scenario.h"

/* --- verbs --- */

static void test_say_and_think(void **state)
{
    (void)state;
    expect_log("{\"say\":\"Hello  big\\nworld\"}", "T[Hello  ]T[big\n]T[world]END");
    expect_log("{\"say\":\"abcde\",\"piece\":2}", "T[ab]T[cd]T[e]END");
    expect_log("{\"say\":\"\\u00e4\\u00f6\\ud83d\\ude00x\",\"piece\":1}",
               "T[\xc3\xa4]T[\xc3\xb6]T[\xf0\x9f\x98\x80]T[x]END");
    expect_log("{\"think\":\"a b\"},{\"say\":\"c\"}", "R[a ]R[b]T[c]END");
    expect_log("{\"say\":\"\"},{\"think\":\"\"}", "END");
    expect_log("", "END");
}

static void test_pause_ms_and_wait(void **state)
{
    (void)state;
    int64_t from = time_mono_us();
    expect_log("{\"say\":\"a b c\",\"pause_ms\":20}", "T[a ]T[b ]T[c]END");
    assert_true(time_mono_us() - from >= 55000);
    from = time_mono_us();
    expect_log("{\"wait_ms\":40},{\"say\":\"x\"}", "T[x]END");
    assert_true(time_mono_us() - from >= 38000);
}

static void test_call(void **state)
{
    (void)state;
    struct scene s;
    play_text(&s, "{\"rounds\":[[{\"say\":\"go\"},"
                  "{\"call\":\"x\",\"args\":{\"a\":[1,true,null,2.5,\"\\\"\"]},\"id\":\"id7\"},"
                  "{\"call\":\"y\"},{\"call\":\"z\",\"raw\":\"{not json\"}]]}");
    assert_string_equal(s.h.log.p, "T[go]AAAEND");
    assert_string_equal(scene_calls(&s),
                        "x({\"a\":[1,true,null,2.5,\"\\\"\"]}) y({}) z({not json)");
    struct message m = reply_message(scene_reply(&s), &s.arena);
    assert_true(str_is(m.blocks[1].id, "id7"));
    assert_true(str_is(m.blocks[2].id, "call_1_2"));
    assert_true(str_is(m.blocks[3].id, "call_1_3"));
    assert_int_equal(scene_reply(&s)->stop, STOP_CALLS);
    assert_true(str_is(scene_reply(&s)->raw_stop, "tool_calls"));
    scene_clear(&s);
}

static void test_call_ids_differ_after_a_summary(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"rounds\":[[{\"call\":\"x\"}]]}");
    scene_init(&s, file_name);
    scene_say(&s, ROLE_SUMMARY, "so far");
    scene_say(&s, ROLE_USER, "hi");
    scene_play(&s);
    struct message m = reply_message(scene_reply(&s), &s.arena);
    assert_true(str_starts(m.blocks[0].id, STR("call_2_1_")));
    scene_clear(&s);
}

static void expect_fail(const char *step, enum err_code code, int status, const char *part)
{
    struct scene s;
    char text[500];
    snprintf(text, sizeof text, "{\"rounds\":[[{\"say\":\"a\"},%s,{\"say\":\"b\"}]]}", step);
    play_text(&s, text);
    assert_int_equal(s.h.err.code, code);
    assert_int_equal(s.h.err.status, status);
    assert_non_null(strstr(s.h.err.text, part));
    assert_string_equal(s.h.text.p, "a");
    assert_true(str_is(reply_text_so_far(scene_reply(&s), &s.arena), "a"));
    assert_false(scene_reply(&s)->has_usage);
    scene_clear(&s);
}

static void test_fail(void **state)
{
    (void)state;
    expect_fail("{\"fail\":400,\"message\":\"bad thing\"}", ERR_BAD_REQUEST, 400, "bad thing");
    expect_fail("{\"fail\":400,\"message\":\"maximum Context Length is 9\"}", ERR_OVERFLOW, 400,
                "Length is 9");
    expect_fail("{\"fail\":401}", ERR_AUTH, 401, "401");
    expect_fail("{\"fail\":402}", ERR_QUOTA, 402, "402");
    expect_fail("{\"fail\":403}", ERR_AUTH, 403, "403");
    expect_fail("{\"fail\":404}", ERR_NO_MODEL, 404, "404");
    expect_fail("{\"fail\":413}", ERR_OVERFLOW, 413, "413");
    expect_fail("{\"fail\":422}", ERR_BAD_REQUEST, 422, "422");
    expect_fail("{\"fail\":429}", ERR_RATE, 429, "429");
    expect_fail("{\"fail\":500}", ERR_PROVIDER, 500, "500");
    expect_fail("{\"fail\":529}", ERR_PROVIDER, 529, "529");
    expect_fail("{\"fail\":\"network\"}", ERR_NETWORK, 0, "connect");
    expect_fail("{\"cut\":true}", ERR_CUT, 0, "ended");
}

static void test_fail_times(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"rounds\":[[{\"fail\":429,\"times\":2,\"retry_after_ms\":70},"
               "{\"fail\":503,\"times\":1},{\"say\":\"ok\"}]]}");
    scene_init(&s, file_name);
    s.ask.session_id = STR("times-1");
    scene_say(&s, ROLE_USER, "hi");
    for (int i = 0; i < 2; i++) {
        scene_play(&s);
        assert_string_equal(s.h.log.p, "END(rate)");
        assert_int_equal(s.h.err.retry_after_ms, 70);
    }
    scene_play(&s);
    assert_string_equal(s.h.log.p, "END(provider)");
    scene_play(&s);
    assert_string_equal(s.h.log.p, "T[ok]END");
    s.ask.session_id = STR("times-2"); /* another session counts for itself */
    scene_play(&s);
    assert_string_equal(s.h.log.p, "END(rate)");
    scene_clear(&s);
}

static void test_fail_above_messages(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"rounds\":[[{\"fail\":413,\"above_messages\":2},{\"say\":\"ok\"}]]}");
    scene_init(&s, file_name);
    scene_say(&s, ROLE_USER, "1");
    scene_say(&s, ROLE_USER, "2");
    scene_play(&s);
    assert_string_equal(s.h.log.p, "T[ok]END");
    scene_say(&s, ROLE_USER, "3");
    scene_play(&s);
    assert_string_equal(s.h.log.p, "END(overflow)");
    scene_clear(&s);
}

static void test_stall(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"rounds\":[[{\"say\":\"a\"},{\"stall\":true},{\"say\":\"b\"}]]}");
    scene_init(&s, file_name);
    scene_say(&s, ROLE_USER, "hi");
    scene_start(&s);
    loop_run(s.loop); /* nothing is active any more */
    assert_string_equal(s.h.log.p, "T[a]");
    assert_int_equal(s.h.n_ends, 0);
    scene_clear(&s);
}

static void test_usage_and_stop(void **state)
{
    (void)state;
    struct scene s;
    play_text(&s, "{\"rounds\":[[{\"say\":\"a\"},{\"usage\":{\"input\":9,\"output\":4,"
                  "\"cached\":3}},{\"stop\":\"length\"},{\"say\":\"b\"}]]}");
    struct reply *r = scene_reply(&s);
    assert_string_equal(s.h.log.p, "T[a]T[b]END");
    assert_true(r->has_usage && !r->usage.is_estimated);
    assert_int_equal(r->usage.input, 9);
    assert_int_equal(r->usage.output, 4);
    assert_int_equal(r->usage.cache_read, 3);
    assert_int_equal(r->stop, STOP_LENGTH);
    scene_clear(&s);
    play_text(&s, "{\"rounds\":[[{\"stop\":\"filter\"}]]}");
    assert_int_equal(scene_reply(&s)->stop, STOP_FILTER);
    scene_clear(&s);
    play_text(&s, "{\"rounds\":[[{\"call\":\"x\"},{\"stop\":\"end\"}]]}");
    assert_int_equal(scene_reply(&s)->stop, STOP_END);
    scene_clear(&s);
}

static void test_usage_by_default(void **state)
{
    (void)state;
    struct scene s;
    play_text(&s, "{\"rounds\":[[{\"say\":\"12345678\"}]]}");
    struct reply *r = scene_reply(&s);
    size_t bytes = s.ask.system.n + 2; /* "hi" */
    assert_true(r->has_usage && !r->usage.is_estimated);
    assert_int_equal(r->usage.input, bytes / 4);
    assert_int_equal(r->usage.output, 2);
    assert_int_equal(r->stop, STOP_END);
    assert_int_equal(provider_rehearsal.request_bytes(s.h.stream), bytes);
    scene_clear(&s);
}

static void test_repeat(void **state)
{
    (void)state;
    expect_log("{\"repeat\":2,\"steps\":[{\"say\":\"a\"},"
               "{\"repeat\":3,\"steps\":[{\"say\":\"b\"}]}]},"
               "{\"repeat\":0,\"steps\":[{\"say\":\"never\"}]},{\"repeat\":5,\"steps\":[]},"
               "{\"say\":\"c\"}",
               "T[a]T[b]T[b]T[b]T[a]T[b]T[b]T[b]T[c]END");
    /* Repeats that show nothing let others run. */
    expect_log("{\"repeat\":100000,\"steps\":[{\"say\":\"\"}]},{\"say\":\"c\"}", "T[c]END");
}

/* --- manners of the stream --- */

static void test_determinism(void **state)
{
    (void)state;
    struct scene a, b;
    for (const struct scenario_text *t = scenario_texts; t->name; t++) {
        if (strcmp(t->name, "slow") == 0 || strcmp(t->name, "flaky") == 0 ||
            strcmp(t->name, "fail429") == 0)
            continue;
        scene_init(&a, t->name);
        scene_init(&b, t->name);
        scene_tools(&a, LOAF);
        scene_tools(&b, LOAF);
        scene_say(&a, ROLE_USER, "list the files");
        scene_say(&b, ROLE_USER, "list the files");
        scene_start(&a);
        loop_run(a.loop);
        scene_start(&b);
        loop_run(b.loop);
        assert_string_equal(a.h.log.p, b.h.log.p);
        assert_string_equal(scene_calls(&a), scene_calls(&b));
        scene_clear(&a);
        scene_clear(&b);
    }
}

static void test_pause(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, "hello");
    scene_say(&s, ROLE_USER, "hi");
    s.h.pause_at = 2;
    scene_start(&s);
    loop_run(s.loop); /* returns because nothing is active while paused */
    assert_string_equal(s.h.log.p, "T[Hello ]T[from ]");
    provider_rehearsal.pause(s.h.stream, false);
    provider_rehearsal.pause(s.h.stream, true);
    provider_rehearsal.pause(s.h.stream, false);
    loop_run(s.loop);
    assert_string_equal(s.h.log.p, "T[Hello ]T[from ]T[the ]T[rehearsal ]T[model.]END");
    provider_rehearsal.pause(s.h.stream, true); /* harmless after the end */
    provider_rehearsal.pause(s.h.stream, false);
    loop_run(s.loop);
    assert_int_equal(s.h.n_ends, 1);
    scene_clear(&s);
}

static void test_pause_during_a_timer(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"rounds\":[[{\"say\":\"a b c\",\"pause_ms\":5}]]}");
    scene_init(&s, file_name);
    scene_say(&s, ROLE_USER, "hi");
    s.h.pause_at = 1;
    scene_start(&s);
    loop_run(s.loop);
    assert_string_equal(s.h.log.p, "T[a ]");
    provider_rehearsal.pause(s.h.stream, false);
    loop_run(s.loop);
    assert_string_equal(s.h.log.p, "T[a ]T[b ]T[c]END");
    scene_clear(&s);
}

static void test_free_in_the_middle(void **state)
{
    (void)state;
    struct scene s;
    static const char *const models[] = {"hello", "slow", "think"};
    for (size_t i = 0; i < ARRAY_LEN(models); i++) {
        scene_init(&s, models[i]);
        scene_say(&s, ROLE_USER, "hi");
        s.h.free_at = 2; /* from inside the callback */
        scene_start(&s);
        loop_run(s.loop);
        assert_int_equal(s.h.n_pieces, 2);
        assert_int_equal(s.h.n_ends, 0);
        s.h.free_at = 0;
        scene_start(&s); /* before the first piece */
        provider_rehearsal.free(s.h.stream);
        s.h.stream = NULL;
        loop_run(s.loop);
        assert_int_equal(s.h.n_pieces, 0);
        scene_start(&s); /* between two pieces, a timer or a call outstanding */
        while (s.h.n_pieces < 2)
            loop_step(s.loop, true);
        provider_rehearsal.free(s.h.stream);
        s.h.stream = NULL;
        loop_run(s.loop);
        assert_int_equal(s.h.n_pieces, 2);
        scene_clear(&s);
    }
    provider_rehearsal.free(NULL);
}

static void test_fifty_at_once(void **state)
{
    (void)state;
    enum { N = 50 };
    static struct listener all[N];
    struct scene s;
    struct error err;
    int n_running = N, most = 0, least = 0;
    scene_init(&s, "long");
    scene_say(&s, ROLE_USER, "hi");
    for (int i = 0; i < N; i++) {
        all[i] = (struct listener){.loop = s.loop, .n_running = &n_running};
        struct ask_sink sink = sink_of(&all[i]);
        all[i].stream = provider_rehearsal.start(s.loop, &s.ask, &sink, &err);
        assert_non_null(all[i].stream);
    }
    int64_t from = time_mono_us();
    for (int round = 0; round < 100; round++)
        loop_step(s.loop, false);
    most = least = all[0].n_pieces;
    for (int i = 0; i < N; i++) {
        most = MAX(most, all[i].n_pieces);
        least = MIN(least, all[i].n_pieces);
    }
    assert_true(least > 0 && most - least <= 1); /* nobody runs ahead */
    loop_run(s.loop);
    print_message("50 streams, 100000 pieces: %lld ms\n",
                  (long long)(time_mono_us() - from) / 1000);
    for (int i = 0; i < N; i++) {
        assert_int_equal(all[i].n_pieces, 2000);
        assert_int_equal(all[i].n_ends, 1);
        listener_clear(&all[i]);
    }
    scene_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_say_and_think),
        cmocka_unit_test(test_pause_ms_and_wait),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_call_ids_differ_after_a_summary),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_fail_times),
        cmocka_unit_test(test_fail_above_messages),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_usage_and_stop),
        cmocka_unit_test(test_usage_by_default),
        cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_pause_during_a_timer),
        cmocka_unit_test(test_free_in_the_middle),
        cmocka_unit_test(test_fifty_at_once),
    };
    return scene_main(tests, ARRAY_LEN(tests), "player");
}
