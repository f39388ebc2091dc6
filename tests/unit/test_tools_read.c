/* SPDX-License-Identifier: MIT */
/* Reading lines and whole files; the set of files read; paths; the ring of a command's output. */
#include "tool_scene.h"

#include "tools/read.h"

struct reading {
    struct scene *s;
    struct read_options o;
    struct read_lines lines;
    struct error err;
    bool ok;
};

static void read_fiber(void *arg)
{
    struct reading *r = arg;
    r->ok = read_lines_await(r->s->loop, &r->o, &r->lines, &r->err);
}

static void read_some(struct scene *s, const char *rel, int64_t first, int64_t count,
                      struct reading *r)
{
    AUTO_FREE char *path = xstrdup(scene_path(s, rel));
    if (!r->o.max_bytes)
        r->o.max_bytes = 1 << 20;
    r->s = s;
    r->o.path = str_of(path);
    r->o.first = first;
    r->o.count = count;
    scene_run(s, read_fiber, r);
}

static void test_lines(void **state)
{
    (void)state;
    struct scene s;
    struct reading r = {0};
    scene_open(&s);
    scene_put(&s, "a.txt", "one\r\ntwo\n\nfour");
    read_some(&s, "a.txt", 2, 2, &r);
    assert_true(r.ok);
    assert_int_equal(r.lines.n, 2);
    assert_string_equal(r.lines.lines[0].p, "two");
    assert_string_equal(r.lines.lines[1].p, "");
    assert_true(r.lines.has_more);
    read_lines_clear(&r.lines);

    read_some(&s, "a.txt", 1, 100, &r);
    assert_int_equal(r.lines.n, 4);
    assert_string_equal(r.lines.lines[0].p, "one"); /* CR removed */
    assert_string_equal(r.lines.lines[3].p, "four");
    assert_false(r.lines.has_more);
    assert_int_equal(r.lines.n_seen, 4);
    read_lines_clear(&r.lines);

    read_some(&s, "a.txt", 9, 1, &r);
    assert_true(r.ok);
    assert_int_equal(r.lines.n, 0);
    assert_int_equal(r.lines.n_seen, 4);
    read_lines_clear(&r.lines);
    scene_close(&s);
}

static void test_line_ends_are_kept(void **state)
{
    (void)state;
    struct scene s;
    struct reading r = {.o.keep_ends = true};
    scene_open(&s);
    scene_put(&s, "a.txt", "one\r\ntwo");
    read_some(&s, "a.txt", 1, 5, &r);
    assert_string_equal(r.lines.lines[0].p, "one\r\n");
    assert_string_equal(r.lines.lines[1].p, "two");
    read_lines_clear(&r.lines);
    scene_close(&s);
}

/* Lines longer than a piece, and limits in characters and bytes. */
static void test_limits(void **state)
{
    (void)state;
    struct scene s;
    struct reading r = {.o.max_line_chars = 3};
    AUTO(buf) struct buf b = BUF_INIT;
    scene_open(&s);
    for (int i = 0; i < 100000; i++)
        buf_addz(&b, "\xc3\xa4"); /* 200 kB of one character */
    buf_addz(&b, "\nend\n");
    scene_put_bytes(&s, "long.txt", buf_str(&b));
    read_some(&s, "long.txt", 1, 10, &r);
    assert_int_equal(r.lines.n, 2);
    assert_string_equal(r.lines.lines[0].p, "\xc3\xa4\xc3\xa4\xc3\xa4");
    assert_string_equal(r.lines.lines[1].p, "end");
    read_lines_clear(&r.lines);

    struct reading few = {.o.max_bytes = 10};
    scene_put(&s, "short.txt", "aaaa\nbbbb\ncccc\n");
    read_some(&s, "short.txt", 1, 10, &few);
    assert_int_equal(few.lines.n, 2);
    assert_true(few.lines.is_cut);
    assert_true(few.lines.has_more);
    read_lines_clear(&few.lines);
    scene_close(&s);
}

static void test_what_is_no_text_file(void **state)
{
    (void)state;
    struct scene s;
    struct reading r = {0};
    scene_open(&s);
    read_some(&s, "missing", 1, 1, &r);
    assert_false(r.ok);
    assert_int_equal(r.err.code, ERR_NOT_FOUND);
    read_some(&s, ".", 1, 1, &r);
    assert_false(r.ok);
    assert_int_equal(r.err.code, ERR_INVALID);
    assert_int_equal(mkfifo(scene_path(&s, "pipe"), 0600), 0);
    read_some(&s, "pipe", 1, 1, &r); /* does not wait for a writer */
    assert_false(r.ok);
    scene_put_bytes(&s, "bin", STR("a\0b\n"));
    read_some(&s, "bin", 1, 1, &r);
    assert_true(r.ok);
    assert_true(r.lines.is_binary);
    read_lines_clear(&r.lines);

    AUTO(buf) struct buf b = BUF_INIT;
    scene_put(&s, "ten", "0123456789");
    assert_true(read_resolved(str_of(scene_path(&s, "ten")), 10, &b, &r.err));
    assert_false(read_resolved(str_of(scene_path(&s, "ten")), 9, &b, &r.err));
    assert_int_equal(r.err.code, ERR_LIMIT);
    scene_close(&s);
}

static void test_read_set(void **state)
{
    (void)state;
    struct read_set *set = read_set_new();
    char name[32];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "/w/%d", i * 7919 % 200);
        read_set_add(set, str_of(name));
        read_set_add(set, str_of(name));
    }
    struct read_set *copy = read_set_copy(set);
    read_set_empty(set);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "/w/%d", i);
        assert_true(read_set_has(copy, str_of(name)));
        assert_false(read_set_has(set, str_of(name)));
    }
    assert_false(read_set_has(copy, STR("/w/200")));
    read_set_free(set);
    read_set_free(copy);
    read_set_free(NULL);
}

static void test_paths(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    AUTO(buf) struct buf p = BUF_INIT;
    AUTO(buf) struct buf name = BUF_INIT;
    scene_open(&s);
    assert_int_equal(symlink("/etc", scene_path(&s, "out")), 0);
    assert_true(tool_path(&s.cx, STR("a/../b.txt"), &p, &err));
    assert_string_equal(p.p, scene_path(&s, "b.txt"));
    assert_true(tool_path(&s.cx, STR("out/passwd"), &p, &err));
    assert_string_equal(p.p, "/etc/passwd");
    assert_false(tool_path(&s.cx, STR("a\0b"), &p, &err));
    assert_int_equal(err.code, ERR_INVALID);
    for (int i = 0; i < 5000; i++)
        buf_addc(&name, 'x');
    assert_false(tool_path(&s.cx, buf_str(&name), &p, &err));
    assert_int_equal(symlink("nowhere", scene_path(&s, "dangling")), 0);
    assert_false(tool_path(&s.cx, STR("dangling"), &p, &err));
    scene_close(&s);
}

static void ring_text(struct ring *r, struct buf *out)
{
    buf_reset(out);
    ring_put(r, out);
}

static void test_ring(void **state)
{
    (void)state;
    struct ring r;
    AUTO(buf) struct buf out = BUF_INIT;
    ring_init(&r, 4, 4);
    ring_add(&r, STR("abc"));
    ring_add(&r, STR("defgh"));
    ring_text(&r, &out);
    assert_string_equal(out.p, "abcdefgh");
    assert_false(ring_is_cut(&r));
    ring_add(&r, STR("ij"));
    ring_text(&r, &out);
    assert_string_equal(out.p, "abcd\n[... 2 bytes left out ...]\nghij");
    assert_true(ring_is_cut(&r));
    for (int i = 0; i < 1000; i++)
        ring_add(&r, STR("0123456789"));
    ring_text(&r, &out);
    assert_string_equal(out.p, "abcd\n[... 10002 bytes left out ...]\n6789");
    assert_true(r.tail.n <= 8);
    ring_clear(&r);

    /* Characters are not split: the head ends and the tail begins inside one. */
    ring_init(&r, 2, 4);
    ring_add(&r, STR("a\xc3\xa4zzz\xc3\xa4"
                     "b\xc3\xa4"));
    ring_text(&r, &out);
    assert_string_equal(out.p, "a\n[... 7 bytes left out ...]\nb\xc3\xa4");
    ring_clear(&r);

    ring_init(&r, 3, 0); /* only the first part */
    ring_add(&r, STR("abcdef"));
    ring_text(&r, &out);
    assert_string_equal(out.p, "abc");
    ring_clear(&r);
}

static void test_result(void **state)
{
    (void)state;
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    buf_addz(&r.text, "left over");
    assert_true(tool_fail(&r, "no %s", "way"));
    assert_string_equal(r.text.p, "no way");
    assert_true(r.is_error);
    buf_addz(&r.text, "\xff!");
    tool_result_finish(&r);
    assert_string_equal(r.text.p, "no way\xef\xbf\xbd!");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),    cmocka_unit_test(test_line_ends_are_kept),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_what_is_no_text_file),
        cmocka_unit_test(test_read_set), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_ring),     cmocka_unit_test(test_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
