/* SPDX-License-Identifier: MIT */
/* The patch format, case by case: what is parsed, where chunks go, what files become, what is said.
 * Numbers in comments are lines of docs/conformance/loaf.md. */
#include "patch_scene.h"

#define BOM "\xef\xbb\xbf"

/* ---- pure: one update ---- */

/* Applies the chunks to the text; the result, or "?" and the number of the fault.  The next call
 * overwrites it. */
static const char *place(const char *text, const char *chunks)
{
    static struct buf out;
    AUTO(buf) struct buf whole = BUF_INIT;
    AUTO(patch) struct patch p = PATCH_INIT;
    AUTO(patch_fault) struct patch_fault fault = PATCH_FAULT_INIT;
    buf_clear(&out);
    buf_addf(&whole, "*** Begin Patch\n*** Update File: f\n%s*** End Patch", chunks);
    if (!patch_parse(buf_str(&whole), &p, &fault) ||
        !patch_place(&p, &p.hunks[0], str_of(text), NULL, &out, &fault)) {
        buf_reset(&out);
        buf_addf(&out, "?%d", (int)fault.kind);
    }
    return buf_str(&out).p;
}

static const char *faulty(enum patch_fault_kind kind)
{
    static char text[8];
    snprintf(text, sizeof text, "?%d", (int)kind);
    return text;
}

static void test_place(void **state)
{
    (void)state;
    assert_string_equal(place("a\nb\nc\n", "@@\n a\n-b\n+x\n+y\n c\n"), "a\nx\ny\nc\n");
    assert_string_equal(place("a\nb\nc\n", "-b\n+x\n"), "a\nx\nc\n"); /* first chunk without @@ */
    assert_string_equal(place("a\nb\n", "@@\n-a\n-b\n"), "");
    assert_string_equal(place("a\nb", "@@\n-a\n+x\n"), "x\nb\n"); /* ends with a newline */
    assert_string_equal(place("a\n\n\n", "@@\n-a\n+x\n"), "x\n\n\n");
    /* Several chunks, in the order of the file; blank lines between them are skipped only when
     * they are not inside of a chunk. */
    assert_string_equal(place("1\n2\n3\n4\n5\n", "\n@@\n-1\n+a\n*** End of File\n"),
                        faulty(PATCH_NOT_FOUND));
    assert_string_equal(place("1\n2\n3\n4\n5\n", "\n  \n@@\n-1\n+a\n@@\n-4\n+b\n"),
                        "a\n2\n3\nb\n5\n");
    assert_string_equal(place("1\n2\n", "@@\n-2\n+b\n@@\n-1\n+a\n"), faulty(PATCH_NOT_FOUND));
    /* The same lines twice: each chunk takes the next place. */
    assert_string_equal(place("x\nx\nx\n", "@@\n-x\n+a\n@@\n-x\n+b\n"), "a\nb\nx\n");
    /* What a chunk adds is not what the next one finds. */
    assert_string_equal(place("a\nb\n", "@@\n-a\n+b\n@@\n-b\n+c\n"), "b\nc\n");
    assert_string_equal(place("a\n", "@@\n-a\n+b\n@@\n-b\n+c\n"), faulty(PATCH_NOT_FOUND));
    assert_string_equal(place("", "@@\n-a\n"), faulty(PATCH_NOT_FOUND));
}

static void test_place_at_the_end(void **state)
{
    (void)state;
    /* No old lines: at the end, and the search is not moved there. */
    assert_string_equal(place("a\nb\n", "@@\n+x\n+y\n"), "a\nb\nx\ny\n");
    assert_string_equal(place("", "@@\n+x\n"), "x\n");
    assert_string_equal(place("a\nb", "@@\n+x\n@@\n-a\n+c\n@@\n+y\n"), "c\nb\nx\ny\n");
    /* *** End of File: only the last place. */
    assert_string_equal(place("x\na\nx\n", "@@\n-x\n+y\n*** End of File\n"), "x\na\ny\n");
    assert_string_equal(place("x\na\n", "@@\n-x\n+y\n*** End of File\n"), faulty(PATCH_NOT_FOUND));
    assert_string_equal(place("a\nx\n", "@@\n-a\n+b\n@@\n-x\n+y\n*** End of File \n"), "b\ny\n");
    assert_string_equal(place("a\nx\n", "@@\n-x\n+y\n*** End of File\n@@\n-x\n"),
                        faulty(PATCH_NOT_FOUND));
}

static void test_place_with_locator(void **state)
{
    (void)state;
    const char *text = "void a()\n{\n    go();\n}\nvoid b()\n{\n    go();\n}\n";
    assert_string_equal(place(text, "@@ void b()\n {\n-    go();\n+    stop();\n"),
                        "void a()\n{\n    go();\n}\nvoid b()\n{\n    stop();\n}\n");
    /* At the line itself when the chunk begins with it. */
    assert_string_equal(place(text, "@@ void b()\n-void b()\n+void c()\n {\n"),
                        "void a()\n{\n    go();\n}\nvoid c()\n{\n    go();\n}\n");
    assert_string_equal(place(text, "@@ void c()\n-    go();\n"), faulty(PATCH_NO_LOCATOR));
    /* Behind the last chunk only. */
    assert_string_equal(place(text, "@@ void b()\n-{\n+[\n@@ void a()\n-{\n"),
                        faulty(PATCH_NO_LOCATOR));
    /* The comparisons hold for locators too, an exact one first. */
    assert_string_equal(place("  k\nx\nk\nx\n", "@@ k\n-x\n+y\n"), "  k\nx\nk\ny\n");
    assert_string_equal(place("  k\nx\n", "@@ k\n-x\n+y\n"), "  k\ny\n");
    assert_string_equal(place("a\nb\n", "@@ b\n+x\n"), "a\nb\nx\n");
    assert_string_equal(place("a\nb\n", "@@ \n-b\n+x\n"), "a\nx\n"); /* a bare @@ */
}

/* 195: four comparisons, each over the whole rest before the next is tried. */
static void test_place_levels(void **state)
{
    (void)state;
    assert_string_equal(place(" x\nx \nx\n", "@@\n-x\n+y\n"), " x\nx \ny\n");
    assert_string_equal(place(" x\nx \n", "@@\n-x\n+y\n"), " x\ny\n");
    assert_string_equal(place("\xe2\x80\x9cx\xe2\x80\x9d\n \"x\"\n", "@@\n-\"x\"\n+y\n"),
                        "\xe2\x80\x9cx\xe2\x80\x9d\ny\n");
    assert_string_equal(place("a\n\xe2\x80\x9cx\xe2\x80\x9d\n", "@@\n-\"x\"\n+y\n"), "a\ny\n");
    assert_string_equal(place("a \xe2\x80\x93 b\xc2\xa0\xe2\x80\x98"
                              "c\xe2\x80\x99\n",
                              "@@\n-a - b 'c'\n+y\n"),
                        "y\n");
    assert_string_equal(place("a - b\n", "@@\n-a \xe2\x88\x92 b\n+y\n"), "y\n");
    assert_string_equal(place("a\xe3\x80\x80\n", "@@\n-a\n+y\n"),
                        "y\n"); /* wide space at the end */
    assert_string_equal(place("a b\n", "@@\n-ab\n+y\n"), faulty(PATCH_NOT_FOUND));
    assert_string_equal(place("\xff\n", "@@\n-\xff\n+y\n"), "y\n");
    assert_string_equal(place("\xff\n", "@@\n-\xfe\n+y\n"), faulty(PATCH_NOT_FOUND));
    assert_string_equal(place("\xe2\x80\n", "@@\n-\xe2\x80 \n+y\n"), "y\n");
}

/* Lines that are only context stay what they are, however they were recognised. */
static void test_place_keeps_lines(void **state)
{
    (void)state;
    assert_string_equal(place("  \xe2\x80\x9c"
                              "k\xe2\x80\x9d \nx\n",
                              "@@\n \"k\"\n-x\n+y\n"),
                        "  \xe2\x80\x9c"
                        "k\xe2\x80\x9d \ny\n");
    assert_string_equal(place("a\r\nb\r\nc\r\nd\r\n", "@@\n a\n-b\n+x\n c\n"),
                        "a\r\nx\nc\r\nd\r\n");
    assert_string_equal(place("a\r\nb\r\n", "@@\n-b\r\n+x\r\n"), "a\r\nx\r\n");
    assert_string_equal(place(BOM "a\nb\n", "@@\n a\n-b\n+x\n"), BOM "a\nx\n");
    assert_string_equal(place(BOM "a\n", "@@\n-a\n+x\n"), BOM "x\n");
}

/* An empty old line at the end that is not there is given up. */
static void test_place_gives_up_an_empty_line(void **state)
{
    (void)state;
    assert_string_equal(place("a\nb\n", "@@\n-b\n+x\n\n"), "a\nx\n");
    assert_string_equal(place("a\nb\n", "@@\n-b\n-\n+x\n+\n"), "a\nx\n");
    assert_string_equal(place("a\nb\n", "@@\n-b\n-\n+x\n"), "a\nx\n");
    assert_string_equal(place("a\nb\n", "@@\n b\n \n+x\n"), "a\nb\n\nx\n");
    assert_string_equal(place("a\n\nb\n", "@@\n-a\n+x\n\n"), "x\n\nb\n"); /* it is there */
    assert_string_equal(place("a\n", "@@\n+x\n\n"), "a\nx\n");            /* nothing else is old */
    assert_string_equal(place("x\na\n", "@@\n-a\n+y\n\n*** End of File\n"), "x\ny\n");
    assert_string_equal(place("a\nb\n", "@@\n-c\n\n"), faulty(PATCH_NOT_FOUND));
}

static void test_place_in_bounds(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT, chunk = BUF_INIT;
    for (int i = 0; i < 200000; i++)
        buf_addz(&text, "x\n");
    buf_addz(&chunk, "@@\n");
    for (int i = 0; i < 100000; i++)
        buf_addz(&chunk, " x\n");
    buf_addz(&chunk, "-y\n");
    assert_string_equal(place(text.p, chunk.p), faulty(PATCH_TOO_SLOW));
    buf_reset(&text);
    for (int i = 0; i <= PATCH_FILE_LINES; i++)
        buf_addc(&text, '\n');
    assert_string_equal(place(text.p, "@@\n-y\n"), faulty(PATCH_UNREADABLE));
}

/* ---- the tool ---- */

static bool call(struct scene *s, const char *patch, struct tool_result *ret)
{
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw w = JW(&json);
    jw_obj(&w);
    jw_kstr(&w, "input", str_of(patch));
    jw_obj_end(&w);
    return scene_call(s, &toolset_loaf, "apply_patch", json.p, ret);
}

/* Replaces every $ by the workspace. */
static void expand(struct scene *s, const char *text, struct buf *out)
{
    buf_reset(out);
    for (; *text; text++)
        *text == '$' ? buf_addz(out, s->dir) : buf_addc(out, *text);
}

static void applies(struct scene *s, const char *patch, const char *text)
{
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf want = BUF_INIT;
    assert_true(call(s, patch, &r));
    expand(s, text, &want);
    assert_string_equal(buf_str(&r.text).p, want.p);
    assert_false(r.is_error);
    assert_int_equal(r.error.n, 0);
}

/* Output and error are the message, and nothing on disk is different. */
static void refuses(struct scene *s, const char *patch, const char *text)
{
    struct error err;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf want = BUF_INIT, before = picture(s, true);
    AUTO(json) struct json value = JSON_INIT;
    assert_true(call(s, patch, &r));
    expand(s, text, &want);
    assert_true(str_starts(buf_str(&r.text), buf_str(&want))); /* hints may follow */
    assert_string_equal(buf_str(&r.error).p, want.p);
    assert_true(r.is_error);
    assert_true(json_parse(buf_str(&r.value), 0, 4, &value, &err));
    assert_true(str_is(json_str(value.root), want.p));
    assert_int_equal(r.diff.n + r.path.n, 0);
    AUTO(buf) struct buf after = picture(s, true);
    assert_same_picture(&before, &after);
}

/* 194 */
static void test_tool(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "src/x.c", "int main(void)\n{\n    old();\n}\n");
    scene_put(&s, "b.txt", "b\n");
    scene_put(&s, "m.txt", "one\ntwo\n");
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    AUTO(buf) struct buf want = BUF_INIT;
    assert_true(call(&s,
                     "*** Begin Patch\n"
                     "*** Delete File: b.txt\n"
                     "*** Update File: src/x.c\n"
                     "*** Move to: lib/y.c\n"
                     "@@ int main(void)\n"
                     " {\n"
                     "-    old();\n"
                     "+    new();\n"
                     "*** Add File: a/new.txt\n"
                     "+first\n"
                     "+\n"
                     "*** Update File: m.txt\n"
                     " one\n"
                     "-two\n"
                     "+2\n"
                     "*** End of File\n"
                     "*** End Patch\n",
                     &r));
    expand(&s,
           "Success. Updated the following files:\nA $/a/new.txt\nM $/lib/y.c\nM $/m.txt\n"
           "D $/b.txt",
           &want);
    assert_string_equal(r.text.p, want.p);
    assert_file(&s, "lib/y.c", "int main(void)\n{\n    new();\n}\n");
    assert_file(&s, "a/new.txt", "first\n\n");
    assert_file(&s, "m.txt", "one\n2\n");
    assert_false(path_exists(str_of(scene_path(&s, "src/x.c"))));
    assert_false(path_exists(str_of(scene_path(&s, "b.txt"))));
    assert_string_equal(r.path.p, "b.txt");
    expand(&s, "$/b.txt", &want);
    assert_string_equal(r.target.p, want.p);
    assert_string_equal(r.diff.p, "--- b.txt\n+++ b.txt\n@@ -1,1 +0,0 @@\n-b\n"
                                  "--- lib/y.c\n+++ lib/y.c\n@@ -1,4 +1,4 @@\n int main(void)\n {\n"
                                  "-    old();\n+    new();\n }\n"
                                  "--- a/new.txt\n+++ a/new.txt\n@@ -0,0 +1,2 @@\n+first\n+\n"
                                  "--- m.txt\n+++ m.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    scene_close(&s);
}

static void test_envelope(void **state)
{
    (void)state;
    struct scene s;
    const char *done = "Success. Updated the following files:\nA $/a";
    scene_open(&s);
    applies(&s, " \n\t*** Begin Patch \n  *** Add File: a \n+1\n *** End Patch\n\n", done);
    assert_file(&s, "a", "1\n");
    applies(&s, "<<EOF\n*** Begin Patch\n*** Add File: a\n+2\n*** End Patch\nEOF\n", done);
    assert_file(&s, "a", "2\n"); /* an existing file is overwritten */
    applies(&s, "<<'EOF'\n*** Begin Patch\n*** Add File: a\n+3\n*** End Patch\nEOF", done);
    applies(&s, "<<\"EOF\"\n\n*** Begin Patch\n*** Add File: a\n+4\n*** End Patch\n\nEOF", done);
    assert_file(&s, "a", "4\n");
    /* A patch with \r\n is a patch; one line with \r\n in it adds \r. */
    applies(&s, "*** Begin Patch\r\n*** Add File: a\r\n+5\r\n+6\r\n*** End Patch\r\n", done);
    assert_file(&s, "a", "5\n6\n");
    applies(&s, "*** Begin Patch\n*** Add File: a\n+5\r\n+6\n*** End Patch", done);
    assert_file(&s, "a", "5\r\n6\n");
    applies(&s, "*** Begin Patch\n*** Add File: a\n*** End Patch", done);
    assert_file(&s, "a", "");
    /* Blank lines between files. */
    applies(&s, "*** Begin Patch\n\n*** Add File: a\n+1\n\n*** Delete File: a\n\n*** End Patch",
            "Success. Updated the following files:\nA $/a\nD $/a");
    scene_close(&s);
}

static void test_parse_faults(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "f", "a\n");
    refuses(&s, "", "apply_patch requires non-empty `input` patch text.");
    refuses(&s, "hello", "invalid patch: The first line of the patch must be '*** Begin Patch'");
    refuses(&s, "<<EOF\nhello\nEOF",
            "invalid patch: The first line of the patch must be '*** Begin Patch'");
    refuses(&s, "*** Begin Patch",
            "invalid patch: The last line of the patch must be "
            "'*** End Patch'");
    refuses(&s, "*** Begin Patch\nhello\nthanks",
            "invalid patch: The last line of the patch must be '*** End Patch'");
    refuses(&s, "<<EOF\n*** Begin Patch\nhello\nEOF",
            "invalid patch: The last line of the patch must be '*** End Patch'");
    refuses(&s, "*** Begin Patch\n*** End Patch", "No files were modified.");
    refuses(&s, "*** Begin Patch\n\n \n*** End Patch", "No files were modified.");
    const char *headers = "is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', "
                          "'*** Delete File: {path}', '*** Update File: {path}'";
    const struct {
        const char *patch, *head;
    } bad[] = {
        {"*** Frobnicate: x\n", "invalid hunk at line 2, '*** Frobnicate: x'"},
        {"*** Add File:\n", "invalid hunk at line 2, '*** Add File:'"},
        {"*** Add File: x\n+1\n2\n", "invalid hunk at line 4, '2'"},
        {"*** Delete File: f\n+1\n", "invalid hunk at line 3, '+1'"},
        {"*** Update File: f\n-a\n*** End of File\n*** End of File\n",
         "invalid hunk at line 5, '*** End of File'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(buf) struct buf patch = BUF_INIT, text = BUF_INIT;
        buf_addf(&patch, "*** Begin Patch\n%s*** End Patch", bad[i].patch);
        buf_addf(&text, "%s %s", bad[i].head, headers);
        refuses(&s, patch.p, text.p);
    }
    refuses(&s, "*** Begin Patch\n*** Update File: f\n*** End Patch",
            "invalid hunk at line 2, the update of 'f' is empty");
    refuses(&s,
            "*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** Delete File: f\n"
            "*** End Patch",
            "invalid hunk at line 2, the update of 'f' is empty");
    refuses(&s, "*** Begin Patch\n*** Update File: f\n@@\n-a\n*** End of File\n-b\n*** End Patch",
            "invalid hunk at line 6, a further chunk must begin with @@, not with '-b'");
    refuses(&s, "*** Begin Patch\n*** Update File: f\n@@\n-a\nb\n*** End Patch",
            "invalid hunk at line 5, a further chunk must begin with @@, not with 'b'");
    const char *signs = ": lines of a chunk begin with ' ' (context), '+' (added) or '-' (removed)";
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "invalid hunk at line 4, unexpected line 'b'%s", signs);
    refuses(&s, "*** Begin Patch\n*** Update File: f\n@@\nb\n*** End Patch", text.p);
    buf_reset(&text);
    buf_addf(&text, "invalid hunk at line 3, unexpected line '@@x'%s", signs);
    refuses(&s, "*** Begin Patch\n*** Update File: f\n@@x\n-a\n*** End Patch", text.p);
    refuses(&s, "*** Begin Patch\n*** Update File: f\n@@\n*** End Patch",
            "invalid hunk at line 4, the chunk has no lines");
    refuses(&s, "*** Begin Patch\n*** Update File: f\n@@ x\n*** End of File\n*** End Patch",
            "invalid hunk at line 4, the chunk has no lines");
    scene_close(&s);
}

/* 196, but for "earlier hunks stay": here nothing stays. */
static void test_apply_faults(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "f", "a\nb\n");
    scene_put(&s, "g", "g\n");
    scene_put(&s, "d/x", "x\n");
    assert_int_equal(mkfifo(scene_path(&s, "pipe"), 0600), 0);
    assert_int_equal(symlink("nowhere", scene_path(&s, "dangling")), 0);
    const struct {
        const char *hunk, *text;
    } bad[] = {
        {"*** Update File: no\n-a\n", "Failed to read file to update $/no: No such file or "
                                      "directory"},
        {"*** Update File: d\n-a\n", "Failed to read file to update $/d: $/d is a directory"},
        {"*** Update File: pipe\n-a\n",
         "Failed to read file to update $/pipe: $/pipe is not a regular file"},
        {"*** Update File: gone\n-a\n", "Failed to read file to update $/gone: No such file or "
                                        "directory"},
        {"*** Update File: f\n@@ zz\n-a\n", "Failed to find context 'zz' in $/f"},
        {"*** Update File: ./d/../f\n@@\n a\n-x\n+d\n", "Failed to find expected lines in $/f:\n"
                                                        "a\nx"},
        {"*** Add File: d\n+x\n", "Failed to write file $/d: Is a directory"},
        {"*** Add File: pipe\n+x\n", "Failed to write file $/pipe: it is not a regular file"},
        {"*** Add File: g/x/y\n+x\n", "Failed to write file $/g/x/y: Not a directory"},
        {"*** Add File: dangling\n+x\n",
         "Failed to write file $/dangling: $/dangling is a dangling symbolic link"},
        {"*** Update File: f\n*** Move to: d\n-a\n", "Failed to write file $/d: Is a directory"},
        {"*** Delete File: no\n", "Failed to delete file $/no: No such file or directory"},
        {"*** Delete File: d\n", "Failed to delete file $/d: Is a directory"},
        {"*** Delete File: gone\n", "Failed to delete file $/gone: No such file or directory"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(buf) struct buf patch = BUF_INIT;
        /* Good hunks before and behind the bad one. */
        buf_addf(&patch,
                 "*** Begin Patch\n*** Add File: new/dir/n\n+1\n*** Add File: gone\n"
                 "*** Delete File: gone\n*** Update File: f\n-b\n+c\n"
                 "%s*** Delete File: d/x\n*** End Patch",
                 bad[i].hunk);
        refuses(&s, patch.p, bad[i].text);
    }
    scene_close(&s);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct scene s;
    const char *want = "apply_patch requires non-empty `input` patch text.";
    scene_open(&s);
    assert_call_fails(&s, &toolset_loaf, "apply_patch", "{}", want);
    assert_call_fails(&s, &toolset_loaf, "apply_patch", "{\"input\":1}", want);
    assert_call_fails(&s, &toolset_loaf, "apply_patch", "{\"input\":null}", want);
    /* A NUL is no part of a name; in a text it is a byte. */
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(scene_call(&s, &toolset_loaf, "apply_patch",
                           "{\"input\":\"*** Begin Patch\\n*** Add File: a\\u0000b\\n+1\\n*** End "
                           "Patch\"}",
                           &r));
    assert_true(r.is_error);
    assert_true(str_starts(buf_str(&r.error), STR("invalid hunk at line 2, '*** Add File: a\0b'")));
    AUTO(buf) struct buf large = BUF_INIT;
    for (int i = 0; i <= PATCH_BYTES; i++)
        buf_addc(&large, 'x');
    refuses(&s, large.p, "invalid patch: It may have 4194304 bytes and 1000 hunks at most");
    buf_reset(&large);
    buf_addz(&large, "*** Begin Patch\n");
    for (int i = 0; i <= PATCH_HUNKS; i++)
        buf_addz(&large, "*** Delete File: a\n");
    buf_addz(&large, "*** End Patch\n");
    refuses(&s, large.p, "invalid patch: It may have 4194304 bytes and 1000 hunks at most");
    buf_reset(&large);
    buf_addz(&large, "*** Begin Patch\n*** Add File: ");
    for (int i = 0; i < 5000; i++)
        buf_addc(&large, 'x');
    buf_addz(&large, "\n+1\n*** End Patch\n");
    AUTO(tool_result) struct tool_result long_name = TOOL_RESULT_INIT;
    assert_true(call(&s, large.p, &long_name));
    assert_true(long_name.is_error);
    assert_true(str_ends(buf_str(&long_name.error), STR(": the path is longer than 4095 bytes")));
    scene_close(&s);
}

/* ---- several hunks for one file, links, rights ---- */

static void test_hunks_see_each_other(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "f", "a\nb\n");
    applies(&s,
            "*** Begin Patch\n*** Update File: f\n-a\n+x\n*** Update File: ./f\n-x\n+y\n"
            "*** Add File: n\n+1\n*** Update File: n\n-1\n+2\n*** End Patch",
            "Success. Updated the following files:\nA $/n\nM $/f\nM $/n");
    assert_file(&s, "f", "y\nb\n");
    assert_file(&s, "n", "2\n");
    /* Moved on, and the old name used again. */
    applies(&s,
            "*** Begin Patch\n*** Update File: f\n*** Move to: g\n-y\n+z\n"
            "*** Update File: g\n*** Move to: h\n-b\n+c\n*** Add File: f\n+new\n*** End Patch",
            "Success. Updated the following files:\nA $/f\nM $/g\nM $/h");
    assert_file(&s, "h", "z\nc\n");
    assert_file(&s, "f", "new\n");
    assert_false(path_exists(str_of(scene_path(&s, "g"))));
    /* Two files change their places. */
    applies(&s,
            "*** Begin Patch\n*** Update File: f\n*** Move to: t\n new\n"
            "*** Update File: h\n*** Move to: f\n z\n*** Update File: t\n*** Move to: h\n new\n"
            "*** End Patch",
            "Success. Updated the following files:\nM $/t\nM $/f\nM $/h");
    assert_file(&s, "f", "z\nc\n");
    assert_file(&s, "h", "new\n");
    /* A move to itself is an update. */
    applies(&s, "*** Begin Patch\n*** Update File: h\n*** Move to: ./h\n-new\n+old\n*** End Patch",
            "Success. Updated the following files:\nM $/h");
    assert_file(&s, "h", "old\n");
    refuses(&s, "*** Begin Patch\n*** Delete File: h\n*** Update File: h\n-old\n*** End Patch",
            "Failed to read file to update $/h: No such file or directory");
    scene_close(&s);
}

static unsigned mode_of(struct scene *s, const char *name)
{
    struct stat st;
    assert_int_equal(lstat(scene_path(s, name), &st), 0);
    return st.st_mode & 07777;
}

static void test_rights(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "run.sh", "a\n");
    scene_put(&s, "secret", "a\n");
    scene_put(&s, "over", "o\n");
    chmod(scene_path(&s, "run.sh"), 0755);
    chmod(scene_path(&s, "secret"), 0600);
    mode_t old = umask(027);
    applies(&s,
            "*** Begin Patch\n*** Update File: secret\n-a\n+b\n*** Update File: run.sh\n"
            "*** Move to: over\n-a\n+b\n*** Add File: new\n+1\n*** End Patch",
            "Success. Updated the following files:\nA $/new\nM $/secret\nM $/over");
    umask(old);
    assert_int_equal(mode_of(&s, "secret"), 0600);
    assert_int_equal(mode_of(&s, "over"), 0755);
    assert_int_equal(mode_of(&s, "new"), 0640);
    if (geteuid() != 0) {
        chmod(scene_path(&s, "secret"), 0400);
        refuses(&s,
                "*** Begin Patch\n*** Update File: over\n-b\n+c\n*** Update File: secret\n"
                "-b\n+c\n*** End Patch",
                "Failed to write file $/secret: Permission denied");
    }
    scene_close(&s);
}

static void test_links(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "real", "a\n");
    scene_put(&s, "dir/f", "f\n");
    assert_int_equal(symlink("real", scene_path(&s, "link")), 0);
    assert_int_equal(symlink("dir", scene_path(&s, "there")), 0);
    applies(&s,
            "*** Begin Patch\n*** Update File: link\n-a\n+b\n*** Update File: real\n-b\n+c\n"
            "*** Update File: there/f\n-f\n+g\n*** Add File: there/n\n+1\n*** End Patch",
            "Success. Updated the following files:\nA $/there/n\nM $/link\nM $/real\n"
            "M $/there/f");
    assert_file(&s, "real", "c\n");
    assert_file(&s, "dir/f", "g\n");
    assert_file(&s, "dir/n", "1\n");
    assert_int_equal(mode_of(&s, "link"), 0777);
    /* Deleting a link removes the link; a file may take its name. */
    applies(&s, "*** Begin Patch\n*** Delete File: link\n*** Add File: link\n+own\n*** End Patch",
            "Success. Updated the following files:\nA $/link\nD $/link");
    assert_file(&s, "real", "c\n");
    assert_file(&s, "link", "own\n");
    assert_int_equal(unlink(scene_path(&s, "link")), 0);
    assert_int_equal(symlink("real", scene_path(&s, "link")), 0);
    applies(&s, "*** Begin Patch\n*** Update File: link\n*** Move to: moved\n-c\n+d\n*** End Patch",
            "Success. Updated the following files:\nM $/moved");
    assert_file(&s, "moved", "d\n");
    assert_file(&s, "real", "c\n");
    assert_false(path_exists(str_of(scene_path(&s, "link"))));
    scene_close(&s);
}

/* Relative paths mean the directory of the process, not the workspace; others are as they are. */
static void test_paths(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "work/f", "a\n");
    scene_put(&s, "launch/f", "a\n");
    AUTO_FREE char *work = xstrdup(scene_path(&s, "work"));
    AUTO_FREE char *launch = xstrdup(scene_path(&s, "launch"));
    s.cx.root = str_of(work);
    s.cx.launch_dir = str_of(launch);
    AUTO(buf) struct buf patch = BUF_INIT;
    expand(&s,
           "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** Add File: ../up\n+1\n"
           "*** Add File: $/abs\n+1\n*** End Patch",
           &patch);
    applies(&s, patch.p, "Success. Updated the following files:\nA $/up\nA $/abs\nM $/launch/f");
    assert_file(&s, "launch/f", "b\n");
    assert_file(&s, "work/f", "a\n");
    assert_file(&s, "up", "1\n");
    scene_close(&s);
}

/* The file tools keep to the sandbox too: outside of the workspace and in the hooks of git nothing
 * is changed, and then nothing anywhere. */
static void test_sandbox(void **state)
{
    (void)state;
    struct scene s;
    struct sandbox_policy policy = SANDBOX_POLICY_INIT;
    scene_open(&s);
    scene_put(&s, "work/f", "a\n");
    scene_put(&s, "out", "a\n");
    scene_put(&s, "work/.git/hooks/h", "a\n");
    AUTO_FREE char *work = xstrdup(scene_path(&s, "work"));
    assert_int_equal(symlink("../out", scene_path(&s, "work/link")), 0);
    assert_int_equal(symlink("../../f", scene_path(&s, "work/.git/hooks/link")), 0);
    sandbox_policy_init(&policy, SANDBOX_WORKSPACE_WRITE, str_of(work));
    s.cx.root = s.cx.launch_dir = str_of(work);
    s.cx.sandbox = &policy;
    const char *const why = "the sandbox (workspace-write) does not let tools write there";
    const struct {
        const char *hunk, *text;
    } bad[] = {
        {"*** Update File: ../out\n-a\n", "Failed to read file to update $/out"},
        {"*** Update File: link\n-a\n", "Failed to read file to update $/work/link"},
        {"*** Delete File: ../out\n", "Failed to delete file $/out"},
        {"*** Add File: ../new\n+x\n", "Failed to write file $/new"},
        {"*** Update File: f\n*** Move to: ../f\n-b\n", "Failed to write file $/f"},
        {"*** Add File: .git/hooks/x\n+x\n", "Failed to write file $/work/.git/hooks/x"},
        {"*** Delete File: .git/hooks/link\n", "Failed to delete file $/work/.git/hooks/link"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(buf) struct buf patch = BUF_INIT, text = BUF_INIT;
        buf_addf(&patch, "*** Begin Patch\n*** Update File: f\n-a\n+b\n%s*** End Patch",
                 bad[i].hunk);
        buf_addf(&text, "%s: %s", bad[i].text, why);
        refuses(&s, patch.p, text.p);
    }
    /* A link is judged by where it lies. */
    applies(&s, "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** Delete File: link\n*** End Patch",
            "Success. Updated the following files:\nM $/work/f\nD $/work/link");
    assert_file(&s, "out", "a\n");
    sandbox_policy_clear(&policy);
    scene_close(&s);
}

/* A file that stays what it was is not written. */
static void test_same_text_is_left_alone(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "f", "a\nb\n");
    AUTO(buf) struct buf before = picture(&s, true);
    applies(&s, "*** Begin Patch\n*** Update File: f\n a\n b\n*** End Patch",
            "Success. Updated the following files:\nM $/f");
    AUTO(buf) struct buf after = picture(&s, true);
    assert_same_picture(&before, &after);
    scene_close(&s);
}

static void test_large_files(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "huge", "");
    assert_int_equal(truncate(scene_path(&s, "huge"), (16 << 20) + 1), 0);
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(call(&s, "*** Begin Patch\n*** Update File: huge\n-a\n*** End Patch", &r));
    assert_true(r.is_error);
    assert_has(buf_str(&r.error), "Failed to read file to update ");
    assert_has(buf_str(&r.error), "huge is larger than 16777216 bytes");
    /* Deleting and replacing need not know what it held. */
    applies(&s, "*** Begin Patch\n*** Add File: huge\n+1\n*** End Patch",
            "Success. Updated the following files:\nA $/huge");
    assert_int_equal(truncate(scene_path(&s, "huge"), (16 << 20) + 1), 0);
    applies(&s, "*** Begin Patch\n*** Delete File: huge\n*** End Patch",
            "Success. Updated the following files:\nD $/huge");
    scene_close(&s);
}

static void test_canceled(void **state)
{
    (void)state;
    struct scene s;
    AUTO(buf) struct buf text = BUF_INIT, patch = BUF_INIT;
    scene_open(&s);
    for (int i = 0; i < 50000; i++)
        buf_addz(&text, "x\n");
    buf_addz(&patch, "*** Begin Patch\n*** Update File: f\n");
    for (int i = 0; i < 25000; i++)
        buf_addz(&patch, " x\n");
    buf_addz(&patch, "-y\n*** End Patch");
    scene_put(&s, "f", text.p);
    AUTO(buf) struct buf before = picture(&s, true);
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    s.cancel_after_ms = 1;
    assert_false(call(&s, patch.p, &r));
    AUTO(buf) struct buf after = picture(&s, true);
    assert_same_picture(&before, &after);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_place_at_the_end),
        cmocka_unit_test(test_place_with_locator),
        cmocka_unit_test(test_place_levels),
        cmocka_unit_test(test_place_keeps_lines),
        cmocka_unit_test(test_place_gives_up_an_empty_line),
        cmocka_unit_test(test_place_in_bounds),
        cmocka_unit_test(test_tool),
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_parse_faults),
        cmocka_unit_test(test_apply_faults),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_hunks_see_each_other),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_sandbox),
        cmocka_unit_test(test_same_text_is_left_alone),
        cmocka_unit_test(test_large_files),
        cmocka_unit_test(test_canceled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
