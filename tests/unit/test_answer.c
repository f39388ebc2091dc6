/* SPDX-License-Identifier: MIT */
/* The wits of the default scenario. */
#include "rehearsal_scene.h"

#include "providers/rehearsal/answer.h"

/* --- the wits --- */

static void expect_wish(const char *text, int craft, const char *path, const char *pattern)
{
    struct wish w = {0};
    bool has = answer_wish(str_of(text), &w);
    if (has != (craft >= 0) || (has && (int)w.craft != craft) ||
        (has && !str_eq(w.path, str_of(path))) || (has && !str_eq(w.pattern, str_of(pattern))))
        fail_msg("%s: %d %d path '%.*s' pattern '%.*s'", text, has, w.craft, STR_FMT(w.path),
                 STR_FMT(w.pattern));
}

static void test_wishes(void **state)
{
    (void)state;
    expect_wish("list the files", CRAFT_LIST, "", "");
    expect_wish("Please list all files in src.", CRAFT_LIST, "src", "");
    expect_wish("list the files in the current directory", CRAFT_LIST, "", "");
    expect_wish("ls", CRAFT_LIST, "", "");
    expect_wish("ls -la", CRAFT_LIST, "", "");
    expect_wish("ls src/base/", CRAFT_LIST, "src/base/", "");
    expect_wish("list src", CRAFT_LIST, "src", "");
    expect_wish("Show me the files!", CRAFT_LIST, "", "");
    expect_wish("What is here?", CRAFT_LIST, "", "");
    expect_wish("what files are there", CRAFT_LIST, "", "");
    expect_wish("read README.md", CRAFT_READ, "README.md", "");
    expect_wish("Could you show me `my notes`?", CRAFT_READ, "my notes", "");
    expect_wish("show src/main.c, please", CRAFT_READ, "src/main.c", "");
    expect_wish("open the Makefile", CRAFT_READ, "Makefile", "");
    expect_wish("cat a.txt", CRAFT_READ, "a.txt", "");
    expect_wish("look at a.txt.", CRAFT_READ, "a.txt", "");
    expect_wish("what is in main.c?", CRAFT_READ, "main.c", "");
    expect_wish("search for main", CRAFT_SEARCH, "", "main");
    expect_wish("grep TODO in src", CRAFT_SEARCH, "src", "TODO");
    expect_wish("find all files containing \"two words\" in the src folder", CRAFT_SEARCH, "src",
                "two words");
    expect_wish("look for foo_bar", CRAFT_SEARCH, "", "foo_bar");
    expect_wish("Hello, what can you do?", -1, NULL, NULL);
    expect_wish("I have read a book about listening", -1, NULL, NULL);
    expect_wish("", -1, NULL, NULL);
    expect_wish("search", -1, NULL, NULL);
    expect_wish("\"", -1, NULL, NULL);
    struct wish w;
    assert_false(answer_wish(str_n("\0\0 a\0", 5), &w));
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
        cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_default_calls),
        cmocka_unit_test(test_default_talks),
        cmocka_unit_test(test_default_summary),
    };
    return scene_main(tests, ARRAY_LEN(tests), "answer");
}
