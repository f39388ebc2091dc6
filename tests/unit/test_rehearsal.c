/* SPDX-License-Identifier: MIT */
/* The provider: which round is played, what texts may refer to, the built-in scenarios. */
#include "rehearsal_scene.h"

#include "base/time.h"
#include "providers/rehearsal/scenario.h"

/* --- rounds and turns --- */

static void test_rounds(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"rounds\":[[{\"say\":\"one\"}],[{\"say\":\"two\"}]]}");
    scene_init(&s, file_name);
    scene_say(&s, ROLE_USER, "hi");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "one");
    scene_say(&s, ROLE_ASSISTANT, "call");
    scene_tool(&s, "x", "out", false);
    scene_play(&s);
    assert_string_equal(s.h.text.p, "two");
    scene_say(&s, ROLE_ASSISTANT, "call");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "(end of scenario)");
    scene_say(&s, ROLE_USER, "again");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "one");
    scene_clear(&s);
}

static void test_turns(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"turns\":[{\"when\":\"cat\",\"rounds\":[[{\"say\":\"miaow\"}]]},"
               "{\"when\":\"dog\",\"rounds\":[]}],\"rounds\":[[{\"say\":\"?\"}]]}");
    scene_init(&s, file_name);
    scene_say(&s, ROLE_USER, "a cat or a dog");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "miaow");
    scene_say(&s, ROLE_USER, "a dog");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "(end of scenario)");
    scene_say(&s, ROLE_USER, "a cow");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "?");
    scene_clear(&s);
}

static void test_forever_and_summary(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"forever\":true,\"rounds\":[[{\"say\":\"on\"}]],"
               "\"summary\":[{\"say\":\"sum\"}]}");
    scene_init(&s, file_name);
    scene_say(&s, ROLE_USER, "hi");
    scene_say(&s, ROLE_ASSISTANT, "on");
    scene_say(&s, ROLE_ASSISTANT, "on");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "on");
    s.ask.system = STR("Summarize the conversation.");
    scene_play(&s);
    assert_string_equal(s.h.text.p, "sum");
    scene_tools(&s, loaf_tools, 1); /* with tools it is an ordinary request */
    scene_play(&s);
    assert_string_equal(s.h.text.p, "on");
    scene_clear(&s);
}

static void test_filling(void **state)
{
    (void)state;
    struct scene s;
    file_write("{\"rounds\":[[{\"say\":\"{{last_user}}|{{n_messages}}|{{model}}|{{tool_output}}|"
               "{{what}}|{{{{model}}|{{\",\"piece\":9999},"
               "{\"call\":\"x\",\"args\":{\"q\":\"<{{last_user}}>\",\"l\":[\"{{n_messages}}\"]}},"
               "{\"fail\":500,\"message\":\"no {{model}}\"}]]}");
    scene_init(&s, file_name);
    scene_tool(&s, "x", "out", false);
    scene_say(&s, ROLE_USER, "say \"{{model}}\"\n\\");
    scene_play(&s);
    char expected[500];
    snprintf(expected, sizeof expected,
             "say \"{{model}}\"\n\\|2|rehearsal/%s|out|{{what}}|{{model}}|{{", file_name);
    assert_string_equal(s.h.text.p, expected);
    assert_string_equal(scene_calls(&s),
                        "x({\"q\":\"<say \\\"{{model}}\\\"\\n\\\\>\",\"l\":[\"2\"]})");
    assert_non_null(strstr(s.h.err.text, "no rehearsal/"));
    scene_clear(&s);
}

static void test_filling_cuts_tool_output(void **state)
{
    (void)state;
    struct scene s;
    char out[600] = "x";
    while (strlen(out) < 500)
        strcat(out, "\xc3\xa4"); /* 400 would fall into the middle of one */
    file_write("{\"rounds\":[[{\"say\":\"{{tool_output}}\",\"piece\":9999}]]}");
    scene_init(&s, file_name);
    scene_tool(&s, "x", out, false);
    scene_say(&s, ROLE_USER, "hi");
    scene_play(&s);
    assert_int_equal(s.h.text.n, 399);
    scene_clear(&s);
}

/* --- starting --- */

static void expect_no_start(const char *model, enum err_code code, const char *part)
{
    struct scene s;
    struct error err = ERROR_INIT;
    scene_init(&s, model);
    struct ask_sink sink = sink_of(&s.h);
    assert_null(provider_rehearsal.start(s.loop, &s.ask, &sink, &err));
    assert_int_equal(err.code, code);
    if (!strstr(err.text, part))
        fail_msg("%s gave: %s", model, err.text);
    scene_clear(&s);
}

static void test_start_errors(void **state)
{
    (void)state;
    expect_no_start("nobody", ERR_NO_MODEL, "scenario nobody;");
    expect_no_start("nobody", ERR_NO_MODEL, "default, hello, tools");
    expect_no_start("nobody", ERR_NO_MODEL, "loop, echo");
    expect_no_start("", ERR_NO_MODEL, "default");
    expect_no_start("/tmp/no/such/file", ERR_NO_MODEL, "/tmp/no/such/file");
    expect_no_start("nosuch.json", ERR_NO_MODEL, "nosuch.json");
    expect_no_start("file:nosuch", ERR_NO_MODEL, "cannot open nosuch");
    file_write("{\"rounds\":[[{\"sai\":\"x\"}]]}");
    expect_no_start(file_name, ERR_INVALID, file_name);
    expect_no_start(file_name, ERR_INVALID,
                    "rounds[0][0]: no verb in the step; unknown member `sai`");
}

static void test_context_window(void **state)
{
    (void)state;
    char id[100];
    file_write("{\"context_window\":5000,\"rounds\":[]}");
    snprintf(id, sizeof id, "file:%s", file_name);
    assert_int_equal(provider_rehearsal.find_window(str_of(id)), 5000);
    assert_int_equal(provider_rehearsal.find_window(STR("hello")), 0); /* a row has it */
    assert_int_equal(provider_rehearsal.find_window(STR("gone.json")), 0);
}

/* --- built-in scenarios --- */

static void test_models_are_the_scenarios(void **state)
{
    (void)state;
    size_t n = 0;
    for (const struct scenario_text *t = scenario_texts; t->name; t++, n++) {
        AUTO(scenario) struct scenario s = SCENARIO_INIT;
        struct error err;
        const struct model *m = &provider_rehearsal.models[n];
        if (!scenario_read(str_of(t->text), &s, &err))
            fail_msg("%s: %s", t->name, err.text);
        assert_true(s.about.n > 0);
        assert_true(str_is(m->id, t->name));
        assert_true(m->name.n > 0);
        assert_string_equal(m->provider, "rehearsal");
        assert_int_equal(m->context_window, s.context_window);
    }
    assert_int_equal(n, 18);
    assert_null(provider_rehearsal.models[n].id.p);
    assert_false(provider_rehearsal.needs_key);
}

static void expect_builtin(const char *name, const char *log)
{
    struct scene s;
    scene_init(&s, name);
    s.ask.session_id = str_of(name);
    scene_say(&s, ROLE_USER, "Guten Tag");
    scene_play(&s);
    assert_string_equal(s.h.log.p, log);
    scene_clear(&s);
}

static void test_builtin_texts(void **state)
{
    (void)state;
    expect_builtin("hello", "T[Hello ]T[from ]T[the ]T[rehearsal ]T[model.]END");
    expect_builtin("echo", "T[Guten ]T[Tag]END");
    expect_builtin("cut", "T[This ]T[sentence ]T[has ]T[no]END(cut)");
    expect_builtin("fail401", "END(auth)");
    expect_builtin("fail500", "END(provider)");
    expect_builtin("fail500", "END(provider)");
    expect_builtin("flaky", "END(provider)");
    expect_builtin("flaky", "T[The ]T[second ]T[time ]T[it ]T[worked.]END");
    expect_builtin("fail429", "END(rate)");
    expect_builtin("fail429", "END(rate)");
    expect_builtin("fail429", "T[The ]T[third ]T[time ]T[it ]T[worked.]END");
}

static void test_builtin_think_long_slow_stall(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, "think");
    scene_say(&s, ROLE_USER, "hi");
    scene_play(&s);
    assert_true(s.h.reasoning.n > 0 && s.h.text.n > 0);
    s.ask.model.id = STR("long");
    scene_play(&s);
    assert_int_equal(s.h.n_pieces, 2000);
    s.ask.model.id = STR("slow");
    scene_start(&s);
    for (int64_t from = time_mono_us(); time_mono_us() - from < 230000;)
        loop_step(s.loop, true);
    assert_in_range(s.h.n_pieces, 3, 6);
    s.ask.model.id = STR("stall");
    scene_start(&s);
    loop_run(s.loop);
    assert_string_equal(s.h.log.p, "T[And ]T[then ]");
    scene_clear(&s);
}

static void test_builtin_overflow(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, "overflow");
    for (int i = 0; i < 4; i++)
        scene_say(&s, ROLE_USER, "hi");
    scene_play(&s);
    assert_true(says(&s, "4 messages"));
    scene_say(&s, ROLE_USER, "hi");
    scene_play(&s);
    assert_int_equal(s.h.err.code, ERR_OVERFLOW);
    s.ask.system = STR("Write a summary of the conversation."); /* compaction gets through */
    scene_play(&s);
    assert_true(says(&s, "5 messages"));
    scene_clear(&s);
}

static void test_builtin_calls(void **state)
{
    (void)state;
    expect_calls("tools", LOAF, "x", "list_dir({\"dir_path\":\"/w/space\"})");
    expect_calls("tools", SCAIFLUX, "x", "glob_search({\"pattern\":\"*\"})");
    expect_calls("tools", KWARD, "x", "list_directory({\"path\":\".\"})");
    expect_calls("loop", KWARD, "x", "list_directory({\"path\":\".\"})");
    expect_calls("shell", LOAF, "x", "bash({\"command\":\"sleep 30\"})");
    expect_calls("shell", KWARD, "x", "run_shell_command({\"command\":\"sleep 30\"})");
    expect_calls("write", KWARD, "x",
                 "write_file({\"path\":\"rehearsal.txt\","
                 "\"content\":\"Written by the rehearsal model.\\n\"})");
    expect_calls("write", LOAF, "x", "");
    expect_calls("parallel", LOAF, "x",
                 "list_dir({\"dir_path\":\"/w/space\"}) "
                 "read_file({\"file_path\":\"/w/space/README.md\"}) "
                 "list_dir({\"dir_path\":\"/w/space\"})");
}

static void test_builtin_tools_go_on(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, "tools");
    scene_say(&s, ROLE_USER, "hi");
    scene_play(&s); /* no tools at all */
    assert_true(says(&s, "no tool to list a directory"));
    scene_say(&s, ROLE_ASSISTANT, "");
    scene_tool(&s, "list_dir", "a.c\nb.c", false);
    scene_play(&s);
    assert_true(says(&s, "a.c\nb.c"));
    s.ask.model.id = STR("loop");
    scene_tools(&s, KWARD);
    for (int i = 0; i < 4; i++) {
        scene_say(&s, ROLE_ASSISTANT, "");
        scene_play(&s);
        assert_string_equal(scene_calls(&s), "list_directory({\"path\":\".\"})");
    }
    scene_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_forever_and_summary),
        cmocka_unit_test(test_filling),
        cmocka_unit_test(test_filling_cuts_tool_output),
        cmocka_unit_test(test_start_errors),
        cmocka_unit_test(test_context_window),
        cmocka_unit_test(test_models_are_the_scenarios),
        cmocka_unit_test(test_builtin_texts),
        cmocka_unit_test(test_builtin_think_long_slow_stall),
        cmocka_unit_test(test_builtin_overflow),
        cmocka_unit_test(test_builtin_calls),
        cmocka_unit_test(test_builtin_tools_go_on),
    };
    return scene_main(tests, ARRAY_LEN(tests), "rehearsal");
}
