/* SPDX-License-Identifier: MIT */
/* The wits of the default scenario. */
#include "rehearsal_scene.h"

#include "providers/rehearsal/answer.h"

/* --- the wits --- */

static void expect_intent(const char *text, int action, const char *path, const char *pattern)
{
    struct intent w = {0};
    bool has = answer_intent(str_of(text), &w);
    if (has != (action >= 0) || (has && (int)w.action != action) ||
        (has && !str_eq(w.path, str_of(path))) || (has && !str_eq(w.pattern, str_of(pattern))))
        fail_msg("%s: %d %d path '%.*s' pattern '%.*s'", text, has, w.action, STR_FMT(w.path),
                 STR_FMT(w.pattern));
}

static void test_intents(void **state)
{
    (void)state;
    expect_intent("list the files", ACTION_LIST, "", "");
    expect_intent("Please list all files in src.", ACTION_LIST, "src", "");
    expect_intent("list the files in the current directory", ACTION_LIST, "", "");
    expect_intent("ls", ACTION_LIST, "", "");
    expect_intent("ls -la", ACTION_LIST, "", "");
    expect_intent("ls src/base/", ACTION_LIST, "src/base/", "");
    expect_intent("list src", ACTION_LIST, "src", "");
    expect_intent("Show me the files!", ACTION_LIST, "", "");
    expect_intent("What is here?", ACTION_LIST, "", "");
    expect_intent("what files are there", ACTION_LIST, "", "");
    expect_intent("read README.md", ACTION_READ, "README.md", "");
    expect_intent("Could you show me `my notes`?", ACTION_READ, "my notes", "");
    expect_intent("show src/main.c, please", ACTION_READ, "src/main.c", "");
    expect_intent("open the Makefile", ACTION_READ, "Makefile", "");
    expect_intent("cat a.txt", ACTION_READ, "a.txt", "");
    expect_intent("look at a.txt.", ACTION_READ, "a.txt", "");
    expect_intent("what is in main.c?", ACTION_READ, "main.c", "");
    expect_intent("search for main", ACTION_SEARCH, "", "main");
    expect_intent("grep TODO in src", ACTION_SEARCH, "src", "TODO");
    expect_intent("find all files containing \"two words\" in the src folder", ACTION_SEARCH, "src",
                  "two words");
    expect_intent("look for foo_bar", ACTION_SEARCH, "", "foo_bar");
    expect_intent("Hello, what can you do?", -1, NULL, NULL);
    expect_intent("I have read a book about listening", -1, NULL, NULL);
    expect_intent("", -1, NULL, NULL);
    expect_intent("search", -1, NULL, NULL);
    expect_intent("\"", -1, NULL, NULL);
    struct intent w;
    assert_false(answer_intent(str_n("\0\0 a\0", 5), &w));
}

static void test_default_calls(void **state)
{
    (void)state;
    expect_calls("default", LOAF, "list src", "list_dir({\"dir_path\":\"/w/space/src\"})");
    expect_calls("default", LOAF, "read a.c", "read_file({\"file_path\":\"/w/space/a.c\"})");
    expect_calls("default", LOAF, "grep x", "grep_files({\"pattern\":\"x\",\"path\":\".\"})");
    expect_calls("default", SCAIFLUX, "list src/", "glob_search({\"pattern\":\"src/*\"})");
    expect_calls("default", SCAIFLUX, "read a.c", "read_file({\"path\":\"a.c\"})");
    expect_calls("default", SCAIFLUX, "grep x",
                 "grep_search({\"pattern\":\"x\",\"output_mode\":\"content\"})");
    expect_calls("default", KWARD, "list files", "list_directory({\"path\":\".\"})");
    expect_calls("default", KWARD, "search for \"it's\"",
                 "run_shell_command({\"command\":\"grep -rnE -- 'it'\\\\''s' '.'\"})");
    expect_calls("default", KWARD, "how are you", "");
    expect_calls("default", NULL, 0, "list files", "");
}

static void test_default_talks(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, "default");
    scene_tools(&s, LOAF);
    scene_say(&s, ROLE_USER, "Hello!");
    scene_play(&s);
    assert_true(says(&s, "rehearsal model") && says(&s, "no real model"));
    assert_true(says(&s, "OPENAI_API_KEY") && says(&s, "TRIVET_MODEL=openai/MODEL"));
    assert_true(says(&s, "OPENAI_BASE_URL"));
    scene_say(&s, ROLE_ASSISTANT, "");
    scene_tool(&s, "list_dir", "a\nb\nc\nd\ne\nf\n", false);
    scene_play(&s);
    assert_true(says(&s, "list_dir gave 6 lines") && says(&s, "    e\n") && !says(&s, "    f\n"));
    scene_tool(&s, "read_file", "no such file", true);
    scene_play(&s);
    assert_true(says(&s, "read_file could not do it") && says(&s, "no such file"));
    scene_tool(&s, "bash", "", false);
    scene_play(&s);
    assert_true(says(&s, "bash gave nothing back"));
    scene_clear(&s);
}

static void test_default_summary(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, "default");
    scene_say(&s, ROLE_USER, "Build a boat\nwith sails");
    scene_say(&s, ROLE_ASSISTANT, "Done.");
    s.ask.system = STR("Summarise what was said.");
    scene_play(&s);
    assert_true(says(&s, "## Goal\nBuild a boat ...\n") && says(&s, "had 2 messages"));
    assert_true(says(&s, "- assistant: Done.\n"));
    scene_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intents),
        cmocka_unit_test(test_default_calls),
        cmocka_unit_test(test_default_talks),
        cmocka_unit_test(test_default_summary),
    };
    return scene_main(tests, ARRAY_LEN(tests), "answer");
}
