/* SPDX-License-Identifier: MIT */
/* What makes searching fast must not change what is found: literals of expressions, results kept by
 * several threads, directories looked at in pieces. */
#include "tool_scene.h"

#include "tools/crew.h"
#include "tools/glob.h"
#include "tools/grep_text.h"
#include "tools/keep.h"

/* The printable bytes of the set and + for those beyond ASCII, and how many must stand there. */
static void put_run(struct buf *out, const struct literal *l)
{
    buf_addc(out, '<');
    for (unsigned c = 0; c < 128; c++)
        if (l->set[c / 8] >> (c % 8) & 1)
            buf_addc(out, (char)c);
    for (unsigned i = 16; i < SET_BYTES; i++)
        assert_int_equal(l->set[i], l->set[16]);
    buf_addf(out, "%s>%zu", l->set[16] ? "+" : "", l->n);
}

static void check_literals(const char *pattern, bool any_case, const char *want)
{
    struct literals l;
    AUTO(buf) struct buf out = BUF_INIT;
    literals_init(&l, str_of(pattern), any_case);
    for (size_t i = 0; i < l.n; i++) {
        buf_addz(&out, i ? "," : "");
        if (l.v[i].is_run)
            put_run(&out, &l.v[i]);
        else
            buf_add(&out, str_n((const char *)l.v[i].bytes, l.v[i].n));
    }
    if (l.is_whole)
        buf_addc(&out, '!');
    if (!str_is(buf_str(&out), want))
        fail_msg("%s: %s instead of %s", pattern, buf_str(&out).p, want);
}

static void test_literals(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *want;
    } cases[] = {
        {"hello", "hello!"},
        {"he\\.lo", "he.lo!"},
        {"größer", "größer!"},
        {"quux(bar|baz)\\d+", "quux"},
        {"alpha|beta[0-9]", "alpha,beta"},
        {"(?:alpha|beta)x?", "alpha,beta"},
        {"(alpha|beta)?", ""},
        {"(alpha|beta)*gamma", "gamma"},
        {"(alpha|beta){0,3}", ""},
        {"(alpha|beta)+", "alpha,beta"},
        {"alpha|b", ""},
        {"alpha|", ""},
        {"colou?r", "colo"},
        {"abcd*", "abc"},
        {"abcä*", "abc"},
        {"abc+de", "abc"},
        {"ab{2,3}cd", "ab"},
        {"ab{cd", "ab{cd!"},
        {"a.bc.d", "bc"},
        {"[abc]def", "def"},
        {"[]abc]def", "def"},
        {"[^]abc]def", "def"},
        {"[a\\]b]def", "def"},
        {"[[:alpha:]]def", ""}, /* not looked into */
        {"^static \\w+\\(", "static "},
        {"\\bfoo\\b", "foo"},
        {"\\x41bcd", ""},
        {"\\Aabc", ""},
        {"(?i)abc", ""},
        {"(?<=abc)def", ""},
        {"abc(?=def)", ""},
        {"(*UTF)abc", ""},
        {"\\Qabc\\E", ""},
        {"abc\\", ""},
        {"[abc", ""},
        {"(abc", ""},
        {"abc)", ""},
        {"a", ""},
        {"", ""},
        {"a\xef\xbf\xbd"
         "bc",
         "bc"}, /* stands for bytes that are not in the file */
        {"one\ntwo", "one\ntwo"},
        {"[A-D]{5}", "<ABCD>5"},
        {"\\w+\\s+\\w+\\s+[XYZ]{5,}", "<XYZ>5"},
        {"\\d{4}-\\d{2}", "<0123456789+>4"},
        {"\\d{4}-alpha", "-alpha"},
        {"[0-9a-f]{15,}", "<0123456789abcdef>15"},
        {"([XYZ]{2,9}|[!#-%]{ 3 })x", "<XYZ>2,<!#$%>3"},
        {"[]XY-]{3}", "<-XY]>3"},
        {"[X\\]\\-Y]{3}", "<-XY]>3"},
        {"[+--]{3}", "<+,->3"},
        {"[ÄX]{3}", "<X+>3"},
        {"[X\\d]{3}", "<0123456789X+>3"},
        {"[XYZ]{999999999999}", "<XYZ>64"},
        {"[XYZ]+", "<XYZ>1"},
        {"[%@]a", "<%@>1"},
        {"[E-Z]+", ""}, /* once is everywhere */
        {"\\w+=\\d+%", "%"},
        {"a%|b#", "a%,b#"},
        {"a.%|[#]", "%,<#>1"},
        {"a%b?", "a%"},
        {"%?a", ""},
        {"%", "%!"},
        {"\\w+ = ", " = "},
        {"[XYZ]{,4}", ""}, /* need not be there */
        {"[XYZ]{0,4}", ""},
        {"([XYZ]{4})?", ""},
        {"[XYZ]{4}|.", ""},
        {"\\w{8}", ""}, /* is everywhere */
        {"[^XYZ]{4}", ""},
        {"[X\\n]{4}", ""},
        {"[X\\s]{4}", ""},
        {"[\t-X]{4}", ""},  /* with line ends */
        {"[X-\\]]{4}", ""}, /* not looked into */
        {"[\\x41]{4}", ""},
        {"\\S{40}", ""},
        {"aa|bb|cc|dd|ee|ff|gg|hh", "aa,bb,cc,dd,ee,ff,gg,hh"},
        {"aa|bb|cc|dd|ee|ff|gg|hh|ii", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_literals(cases[i].pattern, false, cases[i].want);
    /* The Kelvin sign is a k and the long s an s, where the case does not matter. */
    check_literals("HELLO", true, "hello!");
    check_literals("markdown", true, "down");
    check_literals("größer", true, "gr");
    check_literals("[xY]{4}", true, "<XYxy+>4");
}

static void test_find_run(void **state)
{
    (void)state;
    struct literals l;
    literals_init(&l, STR("[XYZ]{4}"), false);
    assert_int_equal(l.n, 1);
    for (unsigned bits = 0; bits < 1 << 12; bits++) { /* every text of twelve */
        char text[13] = "aaaaaaaaaaaa";
        size_t want = SIZE_MAX, n = 0;
        for (unsigned i = 0; i < 12; i++) {
            text[i] = bits >> i & 1 ? "XYZ"[i % 3] : 'a';
            n = bits >> i & 1 ? n + 1 : 0;
            if (n == 4 && want == SIZE_MAX)
                want = i - 3;
        }
        assert_int_equal(literal_find(&l.v[0], str_of(text), 0), want);
        if (want != SIZE_MAX)
            assert_int_equal(literal_find(&l.v[0], str_of(text), want), want);
    }
    assert_int_equal(literal_find(&l.v[0], STR("XYZX"), 1), SIZE_MAX);
    assert_int_equal(literal_find(&l.v[0], STR("XYZXa"), 9), SIZE_MAX);
}

static void test_find(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT;
    for (int i = 0; i < 200; i++)
        buf_addc(&text, "abcdefgh \n"[i % 10]);
    for (size_t at = 0; at + 4 <= text.n; at++) { /* at every place, behind every beginning */
        struct literals l;
        AUTO(buf) struct buf one = BUF_INIT;
        buf_add(&one, buf_str(&text));
        memcpy(one.p + at, "XyZw", 4);
        literals_init(&l, STR("XyZw"), false);
        assert_int_equal(literal_find(&l.v[0], buf_str(&one), 0), at);
        assert_int_equal(literal_find(&l.v[0], buf_str(&one), at), at);
        assert_int_equal(literal_find(&l.v[0], buf_str(&one), at + 1), SIZE_MAX);
        literals_init(&l, STR("xYzW"), true);
        assert_int_equal(literal_find(&l.v[0], buf_str(&one), 0), at);
        literals_init(&l, STR("xYzW"), false);
        assert_int_equal(literal_find(&l.v[0], buf_str(&one), 0), SIZE_MAX);
        assert_int_equal(literal_find(&l.v[0], str_cut(buf_str(&one), 3), 0), SIZE_MAX);
    }
}

/* ---- the same lines with literals and without ---- */

static unsigned seed = 7;

static unsigned chance(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

static void add_piece(struct buf *pattern, unsigned depth)
{
    static const char *const pieces[] = {"ab",  "c", "ba", "abc",  "\\w",   ".",   "[bc]", "[^a]",
                                         "\\s", "ä", "k",  "\\.",  "^",     "$",   "\\b",  "aab",
                                         " ",   "{", "\r", "[.K]", "[K{ä]", "\\d", "[^.]", "[.-K]"};
    static const char *const behind[] = {"",      "",    "",   "",   "*",   "+",    "?",
                                         "{1,2}", "{0}", "+?", "*+", "{3}", "{2,}", "{2,3}?"};
    if (depth < 3 && chance(4) == 0) {
        buf_addz(pattern, chance(2) ? "(" : "(?:");
        for (unsigned i = chance(3) + 1; i-- > 0;) {
            add_piece(pattern, depth + 1);
            if (i && chance(2))
                buf_addc(pattern, '|');
        }
        buf_addc(pattern, ')');
    } else {
        buf_addz(pattern, pieces[chance(ARRAY_LEN(pieces))]);
    }
    buf_addz(pattern, behind[chance(ARRAY_LEN(behind))]);
}

static void make_text(struct buf *text)
{
    static const char *const pieces[] = {"a",    "b",   "ab", "c",
                                         "\n",   " ",   "ä",  "\xff",
                                         ".",    "aab", "K",  "\xe2\x84\xaa" /* Kelvin */,
                                         "\r\n", "{",   "Ä"};
    if (chance(8) == 0)
        buf_addz(text, "\xef\xbb\xbf");
    for (unsigned n = chance(60); n-- > 0;)
        buf_addz(text, pieces[chance(ARRAY_LEN(pieces))]);
}

static void put_found(struct grep_text *g, struct str bytes, struct buf *out)
{
    buf_addf(out, "%lld:", (long long)grep_text_search(g, bytes));
    for (size_t i = 0; i < g->n_lines; i++)
        buf_addf(out, "%lld%c%s|", (long long)g->lines[i].number, g->lines[i].is_match ? ':' : '-',
                 g->shown.p + g->lines[i].at);
}

static void compare_pattern(const struct search_api *api, struct str pattern, unsigned *n_known)
{
    struct error err;
    atomic_bool stop = false;
    struct literals known, nothing = {0};
    struct grep_options o = {.pattern = pattern,
                             .any_case = chance(3) == 0,
                             .want_lines = true,
                             .max_lines = 50,
                             .max_line_bytes = 100,
                             .after = chance(2),
                             .before = chance(2)};
    struct grep_text a = {.o = &o, .api = api, .literals = &known, .stop = &stop};
    struct regex *r = api->compile(pattern, o.any_case ? REGEX_ANY_CASE : 0, &err);
    if (!r)
        return;
    literals_init(&known, pattern, o.any_case);
    *n_known += known.n > 0;
    struct grep_text b = a;
    b.literals = &nothing;
    a.regex = api->share(r);
    b.regex = api->share(r);
    for (int i = 0; i < 20; i++) {
        AUTO(buf) struct buf text = BUF_INIT, x = BUF_INIT, y = BUF_INIT;
        make_text(&text);
        put_found(&a, buf_str(&text), &x);
        put_found(&b, buf_str(&text), &y);
        if (!str_eq(buf_str(&x), buf_str(&y)))
            fail_msg("%s%s on %s: %s, without literals %s", pattern.p,
                     o.any_case ? " (any case)" : "", buf_str(&text).p, x.p, y.p);
    }
    grep_text_clear(&a);
    grep_text_clear(&b);
    api->free(r);
}

static void test_literals_change_nothing(void **state)
{
    (void)state;
    struct error err;
    unsigned n_known = 0;
    if (!scene_has_search())
        skip();
    const struct search_api *api = module_open("search", "", &err);
    for (int i = 0; i < 3000; i++) {
        AUTO(buf) struct buf pattern = BUF_INIT;
        for (unsigned n = chance(4) + 1; n-- > 0;) {
            add_piece(&pattern, 0);
            if (n && chance(5) == 0)
                buf_addc(&pattern, '|');
        }
        compare_pattern(api, buf_str(&pattern), &n_known);
    }
    assert_in_range(n_known, 300, 3000); /* or nothing was compared */
}

/* ---- what is kept ---- */

static void add_path(struct keep *k, const char *path, size_t n_lines, int64_t time_ns)
{
    struct kept *item = xmalloc(sizeof *item + strlen(path));
    memcpy(item + 1, path, strlen(path));
    *item = (struct kept){str_n((char *)(item + 1), strlen(path)), time_ns, n_lines};
    keep_add(k, item);
}

static void check_kept(struct keep *k, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    keep_finish(k);
    for (size_t i = 0; i < k->n; i++)
        buf_addf(&out, "%.*s ", STR_FMT(k->items[i]->path));
    assert_string_equal(buf_str(&out).p, want);
    keep_clear(k);
}

static void test_keep_orders(void **state)
{
    (void)state;
    static const char *const paths[] = {"a/b", "a-b", "b", "a.c", "a/b/c", "a"};
    static const char *const want[] = {"a a-b a.c a/b a/b/c b ", "a a/b a/b/c a-b a.c b ",
                                       "a a/b/c a.c b a-b a/b "};
    for (enum keep_order order = KEEP_BYTES; order <= KEEP_NEWEST; order++) {
        struct keep k;
        keep_init(&k, order, 100, 100);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
            add_path(&k, paths[i], 0, (int64_t)i);
        assert_false(k.is_cut);
        check_kept(&k, want[order]);
    }
}

static void test_keep_limits(void **state)
{
    (void)state;
    struct keep k;
    keep_init(&k, KEEP_WALK, 3, 1000);
    for (int i = 999; i >= 0; i--) {
        char path[20];
        snprintf(path, sizeof path, "d%03d/f", i);
        add_path(&k, path, 1, 0);
        assert_true(k.n <= 2 * 3 + 256); /* bounded all the time */
    }
    assert_true(keep_wants(&k, STR("d000/e")));
    assert_false(keep_wants(&k, STR("d999/e")));
    assert_false(keep_wants(&k, STR("d999/"))); /* the whole directory */
    assert_true(keep_wants(&k, STR("d000/")));
    assert_true(keep_wants(&k, STR("d/")));
    check_kept(&k, "d000/f d001/f d002/f ");
    assert_true(k.is_cut);
    keep_init(&k, KEEP_WALK, 100, 10); /* lines count too; the file that crosses the limit stays */
    add_path(&k, "c", 1, 0);
    add_path(&k, "a", 6, 0);
    add_path(&k, "b", 6, 0);
    check_kept(&k, "a b ");
    assert_true(k.is_cut);
}

/* ---- crews ---- */

struct seen {
    struct scene *s;
    struct grep_options grep;
    struct grep_found found;
    struct glob_options glob;
    struct glob_found paths;
    struct error err;
    bool ok;
};

static void grep_fiber(void *arg)
{
    struct seen *x = arg;
    x->ok = grep_await(x->s->loop, &x->grep, &x->found, &x->err);
}

static void glob_fiber(void *arg)
{
    struct seen *x = arg;
    x->ok = glob_await(x->s->loop, &x->glob, &x->paths, &x->err);
}

/* One directory that is looked at in pieces, and many small ones. */
static void make_tree(struct scene *s)
{
    char path[60];
    scene_open(s);
    for (int i = 0; i < 700; i++) {
        snprintf(path, sizeof path, "wide/f%03d.c", i);
        scene_put(s, path, i % 7 == 0 ? "x\nneedle\nneedle\n" : "hay\n");
    }
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "d%02d/e/f.h", i);
        scene_put(s, path, "needle\n");
        snprintf(path, sizeof path, "d%02d/.gitignore", i);
        scene_put(s, path, i % 2 ? "*.h\n" : "*.o\n");
    }
}

static void test_crew_finds_everything(void **state)
{
    (void)state;
    struct scene s;
    if (!scene_has_search())
        skip();
    make_tree(&s);
    struct seen x = {.s = &s};
    x.grep = (struct grep_options){
        .root = str_of(s.dir), .pattern = STR("needle"), .want_counts = true, .max_files = 1000};
    scene_run(&s, grep_fiber, &x);
    assert_true(x.ok);
    assert_int_equal(x.found.n_files, 30 + 100);
    assert_false(x.found.is_cut);
    assert_string_equal(x.found.files[0].path.p, "d00/e/f.h");
    assert_string_equal(x.found.files[129].path.p, "wide/f693.c");
    assert_int_equal(x.found.files[129].n_matches, 2);
    grep_found_clear(&x.found);
    x.glob = (struct glob_options){
        .root = str_of(s.dir), .pattern = STR("**/*.{c,h}"), .max = 1000};
    scene_run(&s, glob_fiber, &x);
    assert_int_equal(x.paths.n, 760);
    assert_string_equal(x.paths.paths[759].p, "wide/f699.c");
    glob_found_clear(&x.paths);
    x.glob.pattern = STR("d0*/e/f.h");
    scene_run(&s, glob_fiber, &x);
    assert_int_equal(x.paths.n, 10);
    glob_found_clear(&x.paths);
    scene_close(&s);
}

/* However the threads run, a limit keeps the same results. */
static void test_limits_are_the_same_each_time(void **state)
{
    (void)state;
    struct scene s;
    if (!scene_has_search())
        skip();
    make_tree(&s);
    struct seen x = {.s = &s};
    x.grep = (struct grep_options){.root = str_of(s.dir),
                                   .pattern = STR("needle"),
                                   .want_lines = true,
                                   .max_files = 1000,
                                   .max_lines = 31,
                                   .max_line_bytes = 100};
    x.glob = (struct glob_options){.root = str_of(s.dir), .pattern = STR("**/*.c"), .max = 5};
    for (int i = 0; i < 20; i++) {
        scene_run(&s, grep_fiber, &x);
        assert_int_equal(x.found.n_files, 31);
        assert_int_equal(x.found.n_lines, 31);
        assert_true(x.found.is_cut);
        assert_string_equal(x.found.files[30].path.p, "wide/f000.c");
        assert_int_equal(x.found.files[30].n_lines, 1);
        grep_found_clear(&x.found);
        scene_run(&s, glob_fiber, &x);
        assert_int_equal(x.paths.n, 5);
        assert_true(x.paths.is_cut);
        assert_string_equal(x.paths.paths[4].p, "wide/f004.c");
        glob_found_clear(&x.paths);
    }
    scene_close(&s);
}

/* A directory that is replaced by a link on the way is not followed. */
static void test_links_are_not_followed(void **state)
{
    (void)state;
    struct scene s;
    if (!scene_has_search())
        skip();
    scene_open(&s);
    scene_put(&s, "in/a.txt", "needle\n");
    assert_int_equal(symlink("in", scene_path(&s, "dir")), 0);
    assert_int_equal(symlink("in/a.txt", scene_path(&s, "file.txt")), 0);
    struct seen x = {.s = &s};
    x.grep = (struct grep_options){.root = str_of(s.dir), .pattern = STR("needle"), .max_files = 9};
    scene_run(&s, grep_fiber, &x);
    assert_int_equal(x.found.n_files, 1);
    grep_found_clear(&x.found);
    AUTO_FREE char *file = xstrdup(scene_path(&s, "in/a.txt"));
    x.grep.root = str_of(file); /* a file as the root */
    scene_run(&s, grep_fiber, &x);
    assert_true(x.ok);
    assert_int_equal(x.found.n_files, 1);
    assert_string_equal(x.found.files[0].path.p, "");
    grep_found_clear(&x.found);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_run),
        cmocka_unit_test(test_literals_change_nothing),
        cmocka_unit_test(test_keep_orders),
        cmocka_unit_test(test_keep_limits),
        cmocka_unit_test(test_crew_finds_everything),
        cmocka_unit_test(test_limits_are_the_same_each_time),
        cmocka_unit_test(test_links_are_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
