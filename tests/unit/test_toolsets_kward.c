/* SPDX-License-Identifier: MIT */
/* Every tool of the Kward toolset: a normal call, a limit, an error.  Numbers in comments are items
 * of the checklist, or sections, of the protocol document (kward.md chapters 13 and 15). */
#include "tool_scene.h"

#define KWARD &toolset_kward

static void test_kward_list_and_read(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf big = BUF_INIT;
    scene_open(&s);
    scene_put(&s, "sub/x", "");
    scene_put(&s, "a.txt", "1\n2\n3\n");
    scene_put_bytes(&s, "bin", STR("a\0b"));
    assert_call(&s, KWARD, "list_directory", "{\"path\":\".\"}", "a.txt\nbin\nsub/");
    assert_call_fails(&s, KWARD, "list_directory", "{\"path\":\"a.txt\"}",
                      "Error: not a directory: a.txt");
    assert_call_fails(&s, KWARD, "list_directory", "{\"path\":\"/etc\"}",
                      "Error: path outside workspace: /etc");
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\"}", "1\n2\n3\n");
    assert_true(read_set_has(s.cx.reads, str_of(scene_path(&s, "a.txt"))));
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"offset\":2}", "2\n3\n");
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"offset\":1,\"limit\":1}",
                "1\n\n[2 more lines in file. Use offset=2 to continue.]");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"offset\":4}",
                      "Error: offset 4 is beyond end of file (3 lines total)");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"a.txt\",\"limit\":0}",
                      "Error: limit must be positive");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"bin\"}", "Error: not a text file: bin");
    assert_call_fails(
        &s, KWARD, "read_file", "{\"path\":\"sub\"}",
        "Error: not a file: sub\nIt is a directory; list_directory shows what is in it.");
    assert_call_fails(&s, KWARD, "read_file", "{}", "Error: path is required");

    assert_int_equal(symlink("/etc/passwd", scene_path(&s, "link")), 0);
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"link\"}",
                      "Error: path outside workspace: link");
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"sub/../../x\"}",
                      "Error: path outside workspace: sub/../../x");

    for (int i = 1; i <= 3000; i++)
        buf_addf(&big, "%d\n", i);
    scene_put_bytes(&s, "lines", buf_str(&big));
    assert_true(scene_call(&s, KWARD, "read_file", "{\"path\":\"lines\"}", &r));
    assert_true(str_ends(buf_str(&r.text), STR("\n2000\n\n[Showing lines 1-2000 of 3000 (2000 line "
                                               "limit). Use offset=2001 to continue.]")));
    buf_reset(&big);
    for (int i = 0; i < 60; i++)
        buf_addf(&big, "%01023d\n", i);
    scene_put_bytes(&s, "wide", buf_str(&big));
    tool_result_clear(&r);
    assert_true(scene_call(&s, KWARD, "read_file", "{\"path\":\"wide\"}", &r));
    assert_true(str_ends(buf_str(&r.text), STR("[Showing lines 1-50 of 60 (51200 byte limit). Use "
                                               "offset=51 to continue.]")));
    for (int i = 0; i < 300; i++)
        buf_addf(&big, "%01023d\n", i);
    scene_put_bytes(&s, "huge", buf_str(&big));
    assert_call_fails(&s, KWARD, "read_file", "{\"path\":\"huge\"}",
                      "Error: file too large: huge is 368640 bytes; limit is 262144 bytes\n"
                      "run_shell_command can show parts of it: grep -n, sed -n '1,200p'");
    scene_close(&s);
}

static void test_kward_write_and_edit(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    assert_call(&s, KWARD, "write_file", "{\"path\":\"new.txt\",\"content\":\"h\xc3\xa4\\n\"}",
                "Wrote 4 bytes to new.txt");
    scene_put(&s, "a.txt", "one\ntwo\n");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}",
                      "Error: existing file must be read before writing: a.txt");
    assert_call_fails(&s, KWARD, "edit_file",
                      "{\"path\":\"a.txt\",\"edits\":[{\"old_text\":\"one\",\"new_text\":\"1\"}]}",
                      "Error: existing file must be read before editing: a.txt");
    assert_file(&s, "a.txt", "one\ntwo\n");
    assert_call(&s, KWARD, "read_file", "{\"path\":\"a.txt\"}", "one\ntwo\n");
    const char *diff = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    assert_true(scene_call(
        &s, KWARD, "edit_file",
        "{\"path\":\"a.txt\",\"edits\":[{\"old_text\":\"one\",\"new_text\":\"1\"}]}", &r));
    assert_has(buf_str(&r.text), "Edited a.txt: replaced 1 block(s)\n--- a.txt\n");
    assert_string_equal(r.diff.p, diff);
    assert_true(str_ends(buf_str(&r.text), str_of(diff)));
    assert_string_equal(r.path.p, "a.txt");
    assert_string_equal(r.target.p, scene_path(&s, "a.txt"));
    assert_call(&s, KWARD, "write_file", "{\"path\":\"a.txt\",\"content\":\"1\\n2\\n\"}",
                "Wrote 4 bytes to a.txt\n--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n 1\n-two\n+2\n");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"no/x\",\"content\":\"\"}",
                      "Error: parent directory does not exist: no/x");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"../x\",\"content\":\"\"}",
                      "Error: path outside workspace: ../x");
    assert_call_fails(&s, KWARD, "write_file", "{\"path\":\"a.txt\"}",
                      "Error: content is required");
    scene_close(&s);
}

static void edit_fails(struct scene *s, const char *edits, const char *text)
{
    char json[1000];
    snprintf(json, sizeof json, "{\"path\":\"a\",\"edits\":%s}", edits);
    assert_call_fails(s, KWARD, "edit_file", json, text);
    assert_file(s, "a", "abc abc xyz\n");
}

static void test_kward_edit_faults(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a", "abc abc xyz\n");
    read_set_add(s.cx.reads, str_of(scene_path(&s, "a")));
    edit_fails(&s, "[]", "Error: edits must contain at least one replacement");
    edit_fails(&s, "[{\"old_text\":\"q\",\"new_text\":\"\"}]",
               "Error: edits[0].old_text was not found in a");
    edit_fails(
        &s, "[{\"old_text\":\"xyz\",\"new_text\":\"\"},{\"old_text\":\"abc\",\"new_text\":\"\"}]",
        "Error: edits[1].old_text appears 2 times in a; provide more context\nit stands here:\n1: abc abc xyz");
    edit_fails(
        &s, "[{\"old_text\":\"xyz\",\"new_text\":\"\"},{\"old_text\":\"c x\",\"new_text\":\"\"}]",
        "Error: edits[0] and edits[1] overlap in a");
    edit_fails(&s, "[{\"old_text\":\"xyz\",\"new_text\":\"xyz\"}]", "Error: no changes made to a");
    edit_fails(&s, "[{\"old_text\":\"\",\"new_text\":\"x\"}]",
               "Error: edits[0].old_text must not be empty");
    edit_fails(&s, "[{\"old_text\":\"xyz\"}]", "Error: edits[0].new_text is required");
    edit_fails(&s, "[5]", "Error: `edits[0]` must be an object");
    /* A diff of more than 8192 bytes is cut, with a note. */
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf json = BUF_INIT;
    buf_addz(&json, "{\"path\":\"a\",\"content\":\"");
    for (int i = 0; i < 2000; i++)
        buf_addf(&json, "line %d\\n", i);
    buf_addz(&json, "\"}");
    assert_true(scene_call(&s, KWARD, "write_file", json.p, &r));
    assert_true(r.diff.n < 8192 + 100);
    assert_true(str_ends(buf_str(&r.diff), STR("... diff truncated to 8192 bytes\n")));
    scene_close(&s);
}

static void test_kward_shell(void **state)
{
    (void)state;
    struct scene s;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    scene_open(&s);
    assert_call(&s, KWARD, "run_shell_command", "{\"command\":\"true\"}", "Exit status: 0\n");
    assert_call(&s, KWARD, "run_shell_command", "{\"command\":\"echo o; printf e >&2; exit 2\"}",
                "Exit status: 2\n\nSTDOUT:\no\n\nSTDERR:\ne"); /* not an error result */
    assert_call_fails(&s, KWARD, "run_shell_command", "{\"command\":\"  \"}",
                      "Error: command is required");
    assert_call_fails(&s, KWARD, "run_shell_command", "{}", "Error: command is required");
    assert_call_fails(&s, KWARD, "run_shell_command",
                      "{\"command\":\"sleep 30\",\"timeout_seconds\":1}",
                      "Error: command timed out after 1 seconds");
    assert_true(scene_call(&s, KWARD, "run_shell_command", "{\"command\":\"seq 100000\"}", &r));
    assert_true(str_ends(buf_str(&r.text), STR("\n... truncated to 20480 bytes")));
    assert_true(r.text.n > 19000 && r.text.n <= 20480);
    assert_call_fails(&s, KWARD, "fly", "{}", "Error: unknown tool: fly");
    scene_close(&s);
}

struct asked {
    struct buf questions;
    const char *answer; /* NULL: somebody cancels */
};

static bool answer_await(void *arg, struct str questions, struct buf *answer, struct error *err)
{
    struct asked *a = arg;
    buf_reset(&a->questions);
    buf_add(&a->questions, questions);
    if (!a->answer)
        return error_set(err, ERR_CANCELED, "canceled");
    return buf_addz(answer, a->answer);
}

#define OPTIONS                                                                                    \
    "\"options\":[{\"label\":\"Yes\",\"description\":\"go\"},{\"label\":\"No\",\"description\":"   \
    "\"stop\"}]"

static void test_kward_ask(void **state)
{
    (void)state;
    struct scene s;
    struct asked asked = {.answer = "Go on?: Yes"};
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    const char *good =
        "{\"questions\":[{\"question\":\" Go on? \",\"header\":\"H\",\"x\":1," OPTIONS "}]}";
    scene_open(&s);
    assert_call_fails(&s, KWARD, "ask_user_question", good,
                      "Error: the user cannot be asked in this session");
    s.cx.ask_await = answer_await;
    s.cx.ask_arg = &asked;
    assert_call(&s, KWARD, "ask_user_question", good, "Go on?: Yes");
    assert_string_equal(asked.questions.p,
                        "[{\"question\":\"Go on?\",\"header\":\"H\"," OPTIONS "}]");
    buf_reset(&asked.questions);
    assert_call_fails(&s, KWARD, "ask_user_question", "{\"questions\":[]}",
                      "Error: questions must be a list of 1 to 4 questions");
    assert_call_fails(&s, KWARD, "ask_user_question",
                      "{\"questions\":[{\"question\":\"a\",\"header\":\" \"," OPTIONS "}]}",
                      "Error: questions[0].header must be a non-empty string");
    assert_call_fails(
        &s, KWARD, "ask_user_question",
        "{\"questions\":[{\"question\":\"a\",\"header\":\"b\",\"multiSelect\":true," OPTIONS "}]}",
        "Error: questions[0].multiSelect is not supported");
    assert_call_fails(&s, KWARD, "ask_user_question",
                      "{\"questions\":[{\"question\":\"a\",\"header\":\"b\",\"options\":[]}]}",
                      "Error: questions[0].options must be a list of 2 to 4 options");
    assert_int_equal(asked.questions.n, 0); /* nobody was asked */
    asked.answer = "Cancelled.";
    assert_call_fails(&s, KWARD, "ask_user_question", good, "Cancelled.");
    asked.answer = NULL;
    assert_false(scene_call(&s, KWARD, "ask_user_question", good, &r));
    buf_clear(&asked.questions);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kward_list_and_read), cmocka_unit_test(test_kward_write_and_edit),
        cmocka_unit_test(test_kward_edit_faults),   cmocka_unit_test(test_kward_shell),
        cmocka_unit_test(test_kward_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
