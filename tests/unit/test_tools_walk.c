/* SPDX-License-Identifier: MIT */
/* Patterns, ignore rules, the walk, and what stands on it: list, glob, grep. */
#include "tool_scene.h"

#include "tools/glob.h"
#include "tools/grep.h"
#include "tools/ignore.h"
#include "tools/list.h"
#include "tools/match.h"

static bool matches(const char *pattern, const char *path)
{
    struct error err;
    AUTO(pattern) struct pattern p = PATTERN_INIT;
    assert_true(pattern_init(&p, str_of(pattern), &err));
    return pattern_match(&p, str_of(path));
}

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool want;
    } cases[] = {
        {"*.c", "a.c", true},
        {"*.c", "src/a.c", false},
        {"**/*.c", "a.c", true},
        {"**/*.c", "x/y/a.c", true},
        {"**/*.c", "x/y/a.cc", false},
        {"src/**", "src/a/b", true},
        {"src/**", "src", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/x/yb", false},
        {"a/**/x*z/c", "a/x1/x2z/c", true},
        {"**", "a/b", true},
        {"a?c", "abc", true},
        {"a?c",
         "a\xc3\xa4"
         "c",
         true},
        {"a?c", "a/c", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]x", "bx", false},
        {"[]]x", "]x", true},
        {"[x", "[x", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"*a*b*c", "xxaxxbxxc", true},
        {"*a*b*c", "xxaxxcxxb", false},
        {"{a,b{1,2}}.{c,h}", "b2.h", true},
        {"{a,b}", "c", false},
        {"a{", "a{", true},
        {"", "", true},
        {"", "a", false},
        {"a**b", "axxb", true},
        {"a**b", "a/b", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (matches(cases[i].pattern, cases[i].path) != cases[i].want)
            fail_msg("%s on %s", cases[i].pattern, cases[i].path);
}

/* Patterns that make other matchers try forever; braces that would fill the memory. */
static void test_bad_patterns_are_bounded(void **state)
{
    (void)state;
    struct error err;
    struct pattern p;
    AUTO(buf) struct buf pattern = BUF_INIT, path = BUF_INIT;
    for (int i = 0; i < 100; i++)
        buf_addz(&pattern, "*a");
    buf_addz(&pattern, "b");
    for (int i = 0; i < 4000; i++)
        buf_addc(&path, 'a');
    assert_false(match_path(buf_str(&pattern), buf_str(&path)));
    assert_false(pattern_init(
        &p, STR("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"), &err));
    assert_int_equal(err.code, ERR_LIMIT);
    buf_reset(&pattern);
    for (int i = 0; i < 2000; i++) /* each group would take a piece of a fiber's stack */
        buf_addz(&pattern, "{}");
    assert_false(pattern_init(&p, buf_str(&pattern), &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void test_ignore_rules(void **state)
{
    (void)state;
    AUTO(ignore_file) struct ignore_file f = IGNORE_FILE_INIT;
    ignore_parse(&f, STR("/w"),
                 STR("# comment\n*.o\n!keep.o\nbuild/\n/top\nsub/*.txt\n**/deep/x\r\n\\#hash\n"
                     "trail  \nspace\\ \n\n"));
    static const struct {
        const char *path;
        bool is_dir;
        enum ignore_verdict want;
    } cases[] = {
        {"/w/a.o", false, IGNORE_YES},       {"/w/x/a.o", false, IGNORE_YES},
        {"/w/keep.o", false, IGNORE_NO},     {"/w/build", true, IGNORE_YES},
        {"/w/build", false, IGNORE_SILENT},  {"/w/x/build", true, IGNORE_YES},
        {"/w/top", false, IGNORE_YES},       {"/w/x/top", false, IGNORE_SILENT},
        {"/w/sub/a.txt", false, IGNORE_YES}, {"/w/sub/b/a.txt", false, IGNORE_SILENT},
        {"/w/a/deep/x", false, IGNORE_YES},  {"/w/#hash", false, IGNORE_YES},
        {"/w/trail", false, IGNORE_YES},     {"/w/space ", false, IGNORE_YES},
        {"/w/a.c", false, IGNORE_SILENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (ignore_check(&f, str_of(cases[i].path), cases[i].is_dir) != cases[i].want)
            fail_msg("%s", cases[i].path);
}

static enum walk_next on_entry(void *arg, const struct walk_entry *e)
{
    buf_addf(arg, "%.*s%s ", STR_FMT(e->rel), e->kind == WALK_DIR ? "/" : "");
    return WALK_ON;
}

static void check_walk(const struct walk_options *o, const char *want)
{
    struct error err;
    struct walk_report report;
    AUTO(buf) struct buf seen = BUF_INIT;
    struct walk_options w = *o;
    w.fn = on_entry;
    w.arg = &seen;
    assert_true(walk_run(&w, &report, &err));
    assert_string_equal(buf_str(&seen).p, want);
}

static void test_walk(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    scene_open(&s);
    scene_put(&s, "b/x.c", "");
    scene_put(&s, "b/x.o", "");
    scene_put(&s, "b/.ignore", "!y.o\nz.c\n");
    scene_put(&s, "b/y.o", "");
    scene_put(&s, "b/z.c", "");
    scene_put(&s, "a.c", "");
    scene_put(&s, ".gitignore", "*.o\nout/\n");
    scene_put(&s, "out/gone.c", "");
    scene_put(&s, ".git/HEAD", "");
    scene_put(&s, ".git/info/exclude", "secret\n");
    scene_put(&s, "secret", "");
    assert_int_equal(symlink("b", scene_path(&s, "link")), 0);
    struct walk_options o = {.root = str_of(s.dir), .use_ignore = true, .filter = {true, NULL}};
    check_walk(&o, "a.c b/ b/x.c b/y.o link ");
    o.filter.skip = (const char *const[]){"b", NULL};
    check_walk(&o, "a.c link ");
    /* Rules of the repository hold when the walk begins below its root. */
    AUTO_FREE char *below = xstrdup(scene_path(&s, "b"));
    struct walk_options inner = {.root = str_of(below), .use_ignore = true, .filter = {true, NULL}};
    check_walk(&inner, "x.c y.o ");
    struct walk_options flat = {.root = str_of(s.dir), .max_depth = 1, .filter = {true, NULL}};
    check_walk(&flat, "a.c b/ link out/ secret ");
    /* Cancel and a root that is not there. */
    atomic_bool stop = true;
    struct walk_report report;
    o.stop = &stop;
    o.fn = on_entry;
    assert_false(walk_run(&o, &report, &err));
    assert_int_equal(err.code, ERR_CANCELED);
    o.stop = NULL;
    o.root = STR("/no/such/dir");
    assert_false(walk_run(&o, &report, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    scene_close(&s);
}

struct search {
    struct scene *s;
    struct list_options list;
    struct listing listing;
    struct glob_options glob;
    struct glob_found paths;
    struct grep_options grep;
    struct grep_found found;
    struct error err;
    bool ok;
};

static void list_fiber(void *arg)
{
    struct search *x = arg;
    x->ok = list_await(x->s->loop, &x->list, &x->listing, &x->err);
}

static void glob_fiber(void *arg)
{
    struct search *x = arg;
    x->ok = glob_await(x->s->loop, &x->glob, &x->paths, &x->err);
}

static void grep_fiber(void *arg)
{
    struct search *x = arg;
    x->ok = grep_await(x->s->loop, &x->grep, &x->found, &x->err);
}

static void test_list(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "b/c/d", "");
    scene_put(&s, "a", "");
    assert_int_equal(symlink("b", scene_path(&s, "z")), 0);
    struct search x = {.s = &s, .list = {.root = str_of(s.dir), .depth = 2, .first = 1, .max = 9}};
    scene_run(&s, list_fiber, &x);
    assert_true(x.ok);
    assert_int_equal(x.listing.n, 4);
    assert_string_equal(x.listing.entries[2].rel.p, "b/c");
    assert_int_equal(x.listing.entries[2].depth, 2);
    assert_int_equal(x.listing.entries[3].kind, WALK_LINK);
    assert_true(x.listing.entries[3].is_dir);
    assert_false(x.listing.has_more);
    listing_clear(&x.listing);
    x.list.first = 2;
    x.list.max = 1;
    scene_run(&s, list_fiber, &x);
    assert_int_equal(x.listing.n, 1);
    assert_string_equal(x.listing.entries[0].rel.p, "b");
    assert_true(x.listing.has_more);
    listing_clear(&x.listing);
    scene_close(&s);
}

static void test_glob(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a/b.py", "");
    scene_put(&s, "a.py", "");
    scene_put(&s, "a-b.py", "");
    scene_put(&s, "node_modules/x.py", "");
    const char *const skip[] = {"node_modules", NULL};
    struct search x = {.s = &s};
    x.glob = (struct glob_options){
        .root = str_of(s.dir), .pattern = STR("**/*.py"), .skip = skip, .max = 100};
    scene_run(&s, glob_fiber, &x);
    assert_true(x.ok);
    assert_int_equal(x.paths.n, 3);
    assert_string_equal(x.paths.paths[0].p, "a-b.py"); /* by byte value: - . / */
    assert_string_equal(x.paths.paths[1].p, "a.py");
    assert_string_equal(x.paths.paths[2].p, "a/b.py");
    glob_found_clear(&x.paths);
    x.glob.max = 1;
    scene_run(&s, glob_fiber, &x);
    assert_true(x.paths.is_cut);
    glob_found_clear(&x.paths);
    static const char *const bad[] = {"/etc/*", "../*", "a/../../*", ""};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        x.glob.pattern = str_of(bad[i]);
        scene_run(&s, glob_fiber, &x);
        assert_false(x.ok);
        assert_int_equal(x.err.code, ERR_INVALID);
    }
    scene_close(&s);
}

static void run_grep(struct search *x, const char *pattern)
{
    x->grep.root = str_of(x->s->dir);
    x->grep.pattern = str_of(pattern);
    if (!x->grep.max_files)
        x->grep.max_files = x->grep.max_lines = 100;
    x->grep.max_line_bytes = 20;
    scene_run(x->s, grep_fiber, x);
}

/* "path:number:text" for matches, "path-number-text" for context. */
static void check_found(struct search *x, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    if (!x->ok)
        fail_msg("%s", x->err.text);
    for (size_t i = 0; i < x->found.n_files; i++) {
        struct grep_file *f = &x->found.files[i];
        if (!x->grep.want_lines)
            buf_addf(&out, "%s ", f->path.p);
        for (size_t k = f->first_line; k < f->first_line + f->n_lines; k++) {
            struct grep_line *l = &x->found.lines[k];
            buf_addf(&out, l->is_match ? "%s:%d:%s " : "%s-%d-%s ", f->path.p, (int)l->number,
                     l->text.p);
        }
    }
    assert_string_equal(buf_str(&out).p, want);
    grep_found_clear(&x->found);
}

static void test_grep_lines(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a.c", "one\ntwo\nthree\nfour\nfive\nsix\n");
    scene_put(&s, "crlf.c", "foo\r\nbar\r\n");
    struct search x = {.s = &s, .grep = {.want_lines = true}};
    run_grep(&x, "^t");
    check_found(&x, "a.c:2:two a.c:3:three ");
    run_grep(&x, "bar$");
    check_found(&x, "crlf.c:2:bar ");
    run_grep(&x, "TWO");
    check_found(&x, "");
    x.grep.any_case = true;
    run_grep(&x, "TWO");
    check_found(&x, "a.c:2:two ");
    x.grep.before = x.grep.after = 1;
    run_grep(&x, "two|four");
    check_found(&x, "a.c-1-one a.c:2:two a.c-3-three a.c:4:four a.c-5-five ");
    x.grep.before = 5;
    x.grep.after = 9;
    run_grep(&x, "five");
    check_found(&x, "a.c-1-one a.c-2-two a.c-3-three a.c-4-four a.c:5:five a.c-6-six ");
    x.grep.before = x.grep.after = 0;
    run_grep(&x, "$"); /* every line once, no line behind the last */
    check_found(&x, "a.c:1:one a.c:2:two a.c:3:three a.c:4:four a.c:5:five a.c:6:six "
                    "crlf.c:1:foo crlf.c:2:bar ");
    scene_close(&s);
}

static void test_grep_over_line_ends(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a", "aaa\nbbb\nab\nccc\n");
    struct search x = {.s = &s, .grep = {.want_lines = true}};
    run_grep(&x, "a\\s*b"); /* a match over a line end is none, the one in a line is */
    check_found(&x, "a:3:ab ");
    run_grep(&x, "[^c]+");
    check_found(&x, "a:1:aaa a:2:bbb a:3:ab ");
    x.grep.many_lines = true;
    run_grep(&x, "a\\s*b");
    check_found(&x, "a:1:aaa a:2:bbb a:3:ab ");
    run_grep(&x, "bbb.*ccc");
    check_found(&x, "a:2:bbb a:3:ab a:4:ccc ");
    scene_close(&s);
}

static void test_grep_files(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    scene_open(&s);
    scene_put(&s, "old.c", "hit\n");
    scene_put(&s, "new.h", "hit\n");
    scene_put(&s, "sub/ignored.c", "hit\n");
    scene_put(&s, ".ignore", "ignored.c\n");
    scene_put(&s, ".hidden", "hit\n");
    scene_put_bytes(&s, "bin", STR("\0hit\n"));
    scene_put_bytes(&s, "latin", STR("hit \xe4\n"));
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, scene_path(&s, "old.c"), old, 0), 0);
    struct timespec new[2] = {{.tv_sec = 3000000000}, {.tv_sec = 3000000000}};
    assert_int_equal(utimensat(AT_FDCWD, scene_path(&s, "new.h"), new, 0), 0);
    struct search x = {.s = &s, .grep = {.newest_first = true, .skip_hidden = true}};
    run_grep(&x, "hit");
    check_found(&x, "new.h latin old.c ");
    x.grep.include = STR("*.{c,h}");
    run_grep(&x, "hit");
    check_found(&x, "new.h old.c ");
    x.grep.include = STR("!*.h");
    run_grep(&x, "hit");
    check_found(&x, "latin old.c ");
    x.grep.include = STR_NONE;
    x.grep.max_files = 1;
    run_grep(&x, "hit");
    assert_true(x.found.is_cut);
    check_found(&x, "new.h ");
    x.grep.newest_first = false;
    x.grep.max_files = 2;
    run_grep(&x, "hit");
    assert_true(x.found.is_cut);
    check_found(&x, "latin new.h ");
    scene_close(&s);
}

static void test_grep_invalid_text_and_limits(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    scene_open(&s);
    scene_put_bytes(&s, "latin", STR("caf\xe9 au lait\nna\xc3\xafve\n"));
    struct search x = {.s = &s, .grep = {.want_lines = true}};
    run_grep(&x, "na.ve|caf");
    check_found(&x, "latin:1:caf\xef\xbf\xbd au lait latin:2:na\xc3\xafve ");
    run_grep(&x, "(a");
    assert_false(x.ok);
    assert_int_equal(x.err.code, ERR_INVALID);
    scene_put(&s, "long", "0123456789012345678901234567890\n");
    run_grep(&x, "^0");
    check_found(&x, "long:1:01234567890123456789 ");
    x.grep.max_lines = 1;
    run_grep(&x, ".");
    assert_true(x.found.is_cut);
    assert_int_equal(x.found.n_lines, 1);
    grep_found_clear(&x.found);
    scene_close(&s);
}

/* Pitfall 18: an expression that explodes is stopped by the match limit, the rest is searched. */
static void test_grep_gives_up(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    scene_open(&s);
    scene_put(&s, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb\naab\n");
    struct search x = {.s = &s, .grep = {.want_lines = true}};
    run_grep(&x, "^(a+)+b");
    assert_true(x.ok);
    assert_int_equal(x.found.n_gave_up, 1);
    check_found(&x, "a:2:aab ");
    scene_close(&s);
}

static void test_cancel(void **state)
{
    (void)state;
    if (!scene_has_search())
        skip();
    struct scene s;
    scene_open(&s);
    AUTO(buf) struct buf b = BUF_INIT;
    for (int i = 0; i < 200000; i++)
        buf_addz(&b, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb\n");
    scene_put_bytes(&s, "a", buf_str(&b));
    s.cancel_after_ms = 20;
    struct search x = {.s = &s};
    run_grep(&x, "^(a+)+b"); /* would take minutes */
    assert_false(x.ok);
    assert_int_equal(x.err.code, ERR_CANCELED);
    grep_found_clear(&x.found);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),      cmocka_unit_test(test_bad_patterns_are_bounded),
        cmocka_unit_test(test_ignore_rules),  cmocka_unit_test(test_walk),
        cmocka_unit_test(test_list),          cmocka_unit_test(test_glob),
        cmocka_unit_test(test_grep_lines),    cmocka_unit_test(test_grep_over_line_ends),
        cmocka_unit_test(test_grep_files),    cmocka_unit_test(test_grep_invalid_text_and_limits),
        cmocka_unit_test(test_grep_gives_up), cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
