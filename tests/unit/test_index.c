/* SPDX-License-Identifier: MIT */
/* Lists of sessions by reading the files and through the index, which must give the same answers
 * whatever happened to the files or to the database.  Without the module beside this program the
 * index tests are left out, unless TRIVET_NEED_MODULES is set. */
#include "store/index.h"

#include "base/id.h"
#include "base/module.h"
#include "base/path.h"
#include "store/scan.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define DB ".trivet-index.sqlite3"
#define HEADER(id)                                                                                 \
    "{\"type\":\"session\",\"version\":1,\"id\":\"" id "\",\"cwd\":\"/w\","                        \
    "\"timestamp\":\"2026-06-12T10:11:12.345Z\",\"model\":\"m1\"}\n"
#define SAID(role, text)                                                                           \
    "{\"type\":\"message\",\"message\":{\"role\":\"" role "\",\"content\":\"" text "\"}}\n"
#define V2(id, parent, role, text)                                                                 \
    "{\"type\":\"message\",\"id\":\"" id "\"," parent "\"message\":{\"id\":\"" id                  \
    "\",\"role\":\"" role "\",\"content\":\"" text "\"}}\n"
#define SUMMED(kept, text)                                                                         \
    "{\"type\":\"compaction\",\"message\":{\"role\":\"compactionSummary\","                        \
    "\"summary\":\"" text "\"," kept "\"tokens_before\":9}}\n"

static char dir[64];
static bool has_module;

static struct str in_dir(struct buf *b, const char *name)
{
    buf_reset(b);
    buf_addf(b, "%s/%s", dir, name);
    return buf_str(b);
}

/* age: seconds before the first such call that it was changed. */
static void set_age(const char *path, int age)
{
    static time_t now;
    now = now ? now : time(NULL);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = now - age}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void put_file(const char *name, const char *bytes, int flags, int age)
{
    AUTO(buf) struct buf path = BUF_INIT;
    in_dir(&path, name);
    int fd = open(path.p, O_WRONLY | O_CREAT | flags, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
    close(fd);
    set_age(path.p, age);
}

static void remove_file(const char *name)
{
    AUTO(buf) struct buf path = BUF_INIT;
    remove(in_dir(&path, name).p);
}

static void clean_dir(void)
{
    AUTO(buf) struct buf command = BUF_INIT;
    buf_addf(&command, "rm -rf '%s' && mkdir -m 700 '%s'", dir, dir);
    assert_int_equal(system(command.p), 0);
}

static void assert_str(struct str got, const char *want)
{
    if (!str_is(got, want))
        fail_msg("got \"%.*s\", want \"%s\"", STR_FMT(got), want);
}

static struct session_row read_row(struct arena *a, const char *bytes)
{
    struct error err = ERROR_INIT;
    struct session_row row;
    AUTO(buf) struct buf path = BUF_INIT;
    put_file("row.jsonl", bytes, O_TRUNC, 0);
    if (!session_row_read(a, in_dir(&path, "row.jsonl"), &row, &err))
        fail_msg("%s", err.text);
    remove_file("row.jsonl");
    return row;
}

/* ---- one file ---- */

static void test_row(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_row row = read_row(
        &a,
        "{\"type\":\"session\",\"version\":1,\"id\":\"s1\",\"timestamp\":\"2026-06-12T10:11:12.345Z\","
        "\"cwd\":\"/w\",\"model\":\"old\",\"parentId\":\"p\",\"parentPath\":\"/p.jsonl\"}\n"
        "not json\n{\"type\":\"unknown\",\"x\":1}\n" SAID("assistant", "welcome") SAID(
            "user", "  fix \\n\\t the   build ") SAID("system", "s") SAID("toolResult", "out")
            SAID(
                "custom",
                "c") "{\"type\":\"session_info\",\"name\":\"first\",\"model\":\"new\"}\n"
                     "{\"type\":\"session_info\",\"name\":\"second\"}\n{\"type\":\"session_info\",\"mod");
    assert_str(row.id, "s1");
    assert_str(row.cwd, "/w");
    assert_str(row.name, "second");
    assert_str(row.model, "new");
    assert_str(row.parent_id, "p");
    assert_str(row.parent_path, "/p.jsonl");
    assert_str(row.first_message, "fix the build");
    assert_int_equal(row.n_messages, 3);
    assert_int_equal(row.created_ms, 1781259072345);
    assert_true(row.modified_ms > 1700000000000);

    row = read_row(&a, HEADER("s2") "{\"type\":\"session_info\",\"name\":\"x\"}\n"
                                    "{\"type\":\"session_info\",\"name\":null}\n");
    assert_null(row.name.p);
    assert_str(row.first_message, "");
    assert_int_equal(row.n_messages, 0);
}

static void test_first_message_is_cut(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf bytes = BUF_INIT;
    AUTO(buf) struct buf want = BUF_INIT;
    buf_addz(&bytes,
             HEADER("s") "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":"
                         "[{\"type\":\"image\",\"data\":\"QQ==\"},{\"type\":\"text\",\"text\":\"");
    for (int i = 0; i < 200; i++) {
        buf_addz(&bytes, i % 2 ? "\xf0\x9f\x98\x80" : "a");
        if (i < 120)
            buf_addz(&want, i % 2 ? "\xf0\x9f\x98\x80" : "a");
    }
    buf_addz(&bytes, "\"}]}}\n");
    struct session_row row = read_row(&a, bytes.p);
    assert_str(row.first_message, want.p);
}

/* The first message stays the first. */
static void test_compaction(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    static const char before[] = HEADER("s") SAID("user", "u0") SAID("assistant", "a1")
        SAID("user", "u2") SAID("assistant", "a3");
    static const struct {
        const char *rest, *first;
        int n;
    } cases[] = {
        {"", "u0", 4},
        {SUMMED("\"first_kept_entry_id\":\"message:2\",", "S"), "u0", 3},
        {SUMMED("\"firstKeptEntryId\":\"message:3\",", "S"), "u0", 2},
        {SUMMED("\"first_kept_entry_id\":\"message:4\",", "S"), "u0", 1},
        {SUMMED("", "S"), "u0", 1},
        {SUMMED("\"first_kept_entry_id\":\"message:2\",", "S") SAID("user", "u4"), "u0", 4},
        {SUMMED("\"first_kept_entry_id\":\"message:2\",", "S") SAID("user", "u4")
             SUMMED("\"first_kept_entry_id\":\"message:3\",", "T"),
         "u0", 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf bytes = BUF_INIT;
        buf_addf(&bytes, "%s%s", before, cases[i].rest);
        struct session_row row = read_row(&a, bytes.p);
        assert_str(row.first_message, cases[i].first);
        assert_int_equal(row.n_messages, cases[i].n);
    }
}

static const char tree[] = "{\"type\":\"session\",\"version\":2,\"id\":\"t\"}\n" V2(
    "a", "", "user", "root") V2("b", "\"parentId\":\"a\",", "assistant", "one")
    V2("c", "\"parentId\":\"b\",", "user", "dead end") "{\"type\":\"leaf\",\"targetId\":\"b\"}\n" V2(
        "d", "\"parentId\":\"b\",", "user",
        "go on") "{\"type\":\"branch_summary\",\"id\":\"e\",\"parentId\":\"d\",\"summary\":\"x\"}\n"
                 "{\"type\":\"label\",\"id\":\"l\",\"targetId\":\"a\",\"label\":\"L\"}\n" V2(
                     "f", "\"parentId\":\"e\",", "assistant", "end");

static void test_version_2(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    static const struct {
        const char *rest, *first;
        int n;
    } cases[] = {
        {"", "root", 4},
        {"{\"type\":\"leaf\",\"targetId\":\"a\"}\n", "root", 1},
        {"{\"type\":\"leaf\",\"targetId\":null}\n", "", 0},
        {"{\"type\":\"leaf\",\"targetId\":\"nobody\"}\n", "root", 4},
        {"{\"type\":\"leaf\",\"targetId\":null}\n" V2("g", "", "user", "afresh"), "afresh", 1},
        {SAID("user", "without id"), "root", 5},
        {"{\"type\":\"compaction\",\"id\":\"h\",\"parentId\":\"f\",\"message\":{\"summary\":\"S\","
         "\"first_kept_entry_id\":\"d\"}}\n",
         "root", 3},
        {"{\"type\":\"compaction\",\"id\":\"h\",\"parentId\":\"f\",\"message\":{\"summary\":\"S\","
         "\"first_kept_entry_id\":\"c\"}}\n",
         "root", 1}, /* c is on the other branch */
        {V2("f", "\"parentId\":\"f\",", "user", "own parent"), "root", 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf bytes = BUF_INIT;
        buf_addf(&bytes, "%s%s", tree, cases[i].rest);
        struct session_row row = read_row(&a, bytes.p);
        assert_str(row.first_message, cases[i].first);
        assert_int_equal(row.n_messages, cases[i].n);
    }
}

static void test_no_header(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct session_row row;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    in_dir(&path, "x.jsonl");
    assert_false(session_row_read(&a, buf_str(&path), &row, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    put_file("x.jsonl", SAID("user", "hi") "{\"type\":\"session\",\"version\":1}\n", 0, 0);
    assert_false(session_row_read(&a, buf_str(&path), &row, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    remove_file("x.jsonl");
}

static void same_str(struct str x, struct str y)
{
    assert_true((x.p == NULL) == (y.p == NULL));
    if (!str_eq(x, y))
        fail_msg("\"%.*s\" and \"%.*s\"", STR_FMT(x), STR_FMT(y));
}

static void same_row(const struct session_row *x, const struct session_row *y)
{
    same_str(x->path, y->path);
    same_str(x->id, y->id);
    same_str(x->name, y->name);
    same_str(x->cwd, y->cwd);
    same_str(x->first_message, y->first_message);
    same_str(x->parent_id, y->parent_id);
    same_str(x->parent_path, y->parent_path);
    same_str(x->model, y->model);
    assert_int_equal(x->created_ms, y->created_ms);
    assert_int_equal(x->modified_ms, y->modified_ms);
    assert_int_equal(x->n_messages, y->n_messages);
}

/* Saved and loaded at every line, a scan ends like one that was never interrupted. */
static void check_saving(const char *text)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str rest = str_of(text), line;
    AUTO(scan) struct scan whole = SCAN_INIT;
    AUTO(scan) struct scan s = SCAN_INIT;
    while (str_line(&rest, &line)) {
        AUTO(buf) struct buf saved = BUF_INIT;
        struct session_row x, y;
        scan_line(&whole, line);
        scan_line(&s, line);
        scan_save(&s, &saved);
        scan_clear(&s);
        assert_true(scan_load(&s, buf_str(&saved)));
        assert_int_equal(s.n_messages, whole.n_messages);
        bool has_row = scan_row(&whole, &a, &x);
        assert_int_equal(scan_row(&s, &a, &y), has_row);
        if (has_row)
            same_row(&x, &y);
    }
}

static void test_saving(void **state)
{
    (void)state;
    AUTO(scan) struct scan s = SCAN_INIT;
    check_saving(tree);
    check_saving(HEADER("s") SAID("assistant", "a")
                     SAID("user", "b") "{\"type\":\"session_info\",\"name\":\"n\"}\n" SUMMED(
                         "\"first_kept_entry_id\":\"message:1\",", "S") SAID("user", "c"));
    assert_false(scan_load(&s, STR("{")));
    assert_false(scan_load(&s, STR("{\"entries\":[[0,5,null,null,null]]}")));
    assert_false(scan_load(&s, STR("{\"entries\":[[9,-1,null,null,null]]}")));
    assert_false(scan_load(&s, STR("{\"entries\":[],\"leaf\":7}")));
}

/* ---- lists ---- */

static void some_files(void)
{
    AUTO(buf) struct buf sub = BUF_INIT;
    clean_dir();
    mkdir(in_dir(&sub, "sub").p, 0700);
    put_file("a.jsonl", HEADER("a") SAID("user", "alpha my_name one") SAID("assistant", "beta"), 0,
             30);
    put_file("b.jsonl",
             HEADER("b") SAID("user", "gamma alphabet") SAID("tool", "src/store/log.c:12"), 0, 20);
    put_file("c.jsonl", SAID("user", "alpha, no header"), 0, 10);
    put_file("sub/d.jsonl", HEADER("d") SAID("user", "alpha deep"), 0, 5);
    put_file("notes.txt", HEADER("n"), 0, 1);
    put_file(".hidden.jsonl", HEADER("h"), 0, 1);
}

static struct session_list scan_dir(struct arena *a, bool deep, size_t limit)
{
    struct error err = ERROR_INIT;
    struct session_list list;
    if (!list_scan(a, str_of(dir), deep, limit, &list, &err))
        fail_msg("%s", err.text);
    return list;
}

static struct session_list ask_index(struct arena *a, bool deep, size_t limit)
{
    struct error err = ERROR_INIT;
    struct session_list list;
    if (!list_sessions(a, str_of(dir), deep, limit, &list, &err))
        fail_msg("%s", err.text);
    return list;
}

static void test_list_scan(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    some_files();
    struct session_list list = scan_dir(&a, false, 0);
    assert_int_equal(list.n, 2);
    assert_str(list.rows[0].id, "b");
    assert_str(list.rows[1].id, "a");
    list = scan_dir(&a, true, 0);
    assert_int_equal(list.n, 3);
    assert_str(list.rows[0].id, "d");
    list = scan_dir(&a, true, 1);
    assert_int_equal(list.n, 1);
    assert_true(list_scan(&a, STR("/nowhere/at/all"), true, 0, &list, &err));
    assert_int_equal(list.n, 0);
    AUTO(buf) struct buf file = BUF_INIT;
    assert_false(list_scan(&a, in_dir(&file, "notes.txt"), true, 0, &list, &err));
}

/* Both ways give the same list, for every depth and limit. */
static void check_same_lists(void)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    for (int deep = 0; deep < 2; deep++) {
        for (size_t limit = 0; limit < 4; limit++) {
            struct session_list x = scan_dir(&a, deep, limit), y = ask_index(&a, deep, limit);
            assert_int_equal(x.n, y.n);
            for (size_t i = 0; i < x.n; i++)
                same_row(&x.rows[i], &y.rows[i]);
        }
    }
}

static void test_same_answers(void **state)
{
    (void)state;
    static const char *const names[] = {"a.jsonl", "b.jsonl", "sub/d.jsonl", "sub/e.jsonl",
                                        "f.jsonl"};
    static const char *const pieces[] = {
        SAID("user", "more"),
        SAID("assistant", "answer"),
        "{\"half\":",
        "\n",
        "junk\n",
        SUMMED("\"first_kept_entry_id\":\"message:1\",", "sum"),
        HEADER("z"),
        "{\"type\":\"session_info\",\"name\":\"n\"}\n",
    };
    some_files();
    check_same_lists();
    id_fix(7);
    for (int i = 0; i < 150; i++) {
        const char *name = names[random_below(ARRAY_LEN(names))];
        const char *piece = pieces[random_below(ARRAY_LEN(pieces))];
        int age = (int)random_below(100);
        switch (random_below(6)) {
        case 0:
            remove_file(name);
            break;
        case 1:
            put_file(name, HEADER("new") SAID("user", "hello"), O_TRUNC, age);
            break;
        default:
            put_file(name, piece, O_APPEND, age);
        }
        check_same_lists();
    }
    id_fix(0);
}

/* A changed file is noticed by its size, time or inode and by nothing else, and only its new part
 * is read. */
static void test_reads_only_what_is_new(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    if (!has_module)
        skip();
    clean_dir();
    put_file("a.jsonl", HEADER("a") SAID("user", "old"), 0, 50);
    assert_str(ask_index(&a, false, 0).rows[0].first_message, "old");
    put_file("a.jsonl", HEADER("a") SAID("user", "new"), 0, 50); /* looks the same */
    assert_str(ask_index(&a, false, 0).rows[0].first_message, "old");
    put_file("a.jsonl", SAID("user", "more"), O_APPEND, 40);
    struct session_list list = ask_index(&a, false, 0);
    assert_str(list.rows[0].first_message, "old");
    assert_int_equal(list.rows[0].n_messages, 2);
    put_file("a.jsonl", HEADER("a") SAID("user", "cut"), O_TRUNC, 40);
    list = ask_index(&a, false, 0);
    assert_str(list.rows[0].first_message, "cut");
    assert_int_equal(list.rows[0].n_messages, 1);
}

static void test_database_mode(void **state)
{
    (void)state;
    struct stat st;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    if (!has_module)
        skip();
    some_files();
    ask_index(&a, true, 0);
    assert_int_equal(stat(in_dir(&path, DB).p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* ---- broken databases ---- */

static size_t search(struct arena *a, const char *query, size_t limit, struct search_hit **ret)
{
    struct error err = ERROR_INIT;
    struct search_hits found;
    if (!search_sessions(a, str_of(dir), str_of(query), limit, &found, &err))
        fail_msg("%s: %s", query, err.text);
    *ret = found.v;
    return found.n;
}

static void damage(size_t size, size_t at)
{
    AUTO(buf) struct buf path = BUF_INIT;
    int fd = open(in_dir(&path, DB).p, O_RDWR);
    assert_true(fd >= 0);
    if (at == SIZE_MAX) {
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
    } else {
        char junk[600];
        memset(junk, 0xa5, sizeof junk);
        assert_int_equal(pwrite(fd, junk, sizeof junk, (off_t)at), (ssize_t)sizeof junk);
    }
    close(fd);
}

/* The search has no other way than the database, so it shows that there is a good one again. */
static void check_repaired(void)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct search_hit *hits;
    check_same_lists();
    assert_int_equal(search(&a, "alpha", 0, &hits), 3);
}

static void test_broken_database(void **state)
{
    (void)state;
    AUTO(buf) struct buf path = BUF_INIT;
    struct stat st;
    if (!has_module)
        skip();
    some_files();
    check_repaired();
    stat(in_dir(&path, DB).p, &st);
    size_t whole = (size_t)st.st_size;
    for (size_t size = 0; size < whole; size += whole / 24) {
        damage(size, SIZE_MAX);
        check_repaired();
    }
    for (size_t at = 0; at < 4096; at += 512) {
        damage(0, at);
        check_repaired();
    }
    put_file(DB, "this is no database at all, but a rather long text instead of one", O_TRUNC, 0);
    check_repaired();
    put_file(DB "-wal", "nor is this", O_TRUNC, 0);
    check_repaired();
    remove_file(DB);
    check_repaired();
}

static void test_unusable_database(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct search_hits hits;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    some_files();
    mkdir(in_dir(&path, DB).p, 0700); /* cannot be opened, not even by root */
    check_same_lists();
    if (has_module) {
        assert_false(search_sessions(&a, str_of(dir), STR("alpha"), 0, &hits, &err));
        assert_true(err.text[0] != '\0');
    }
}

/* ---- search ---- */

static void test_search(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        size_t n;
    } cases[] = {
        {"alpha", 3},
        {"ALPHA", 3},
        {"\"alpha\"", 2},
        {"alpha one", 1},
        {"my_name", 1},
        {"name", 0},
        {"my", 1},
        {"\"alpha my_name\"", 1},
        {"\"my_name alpha\"", 0},
        {"src/store/log.c", 1},
        {"", 0},
        {"  ", 0},
        {"\"", 0},
        {"\"\"", 0},
        {"nothing-like-it", 0},
        {"alpha AND", 0},
        {"alpha*", 3},
        {"NEAR(alpha", 0},
        {"alpha\"beta", 0},
        {"body:alpha", 0},
        {"alpha ++", 3},
        {"header", 0},
        {"alph\xc3\xa4", 3},
    };
    struct search_hit *hits;
    AUTO(arena) struct arena a = ARENA_INIT;
    if (!has_module)
        skip();
    some_files();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = search(&a, cases[i].query, 0, &hits);
        if (n != cases[i].n)
            fail_msg("%s: %zu hits", cases[i].query, n);
    }
    assert_int_equal(search(&a, "alpha", 2, &hits), 2);
    assert_int_equal(search(&a, "log.c", 0, &hits), 1);
    assert_str(hits[0].id, "b");
    assert_str(hits[0].role, "tool");
    assert_str(hits[0].text, "src/store/log.c:12");
    assert_int_equal(hits[0].message, 1);
    assert_true(str_ends(hits[0].path, STR("/b.jsonl")));

    put_file("b.jsonl", SAID("assistant", "zeta"), O_APPEND, 3);
    assert_int_equal(search(&a, "zeta", 0, &hits), 1);
    assert_int_equal(hits[0].message, 2);
    assert_int_equal(search(&a, "gamma", 0, &hits), 1);
    put_file("b.jsonl", HEADER("b") SAID("user", "rewritten"), O_TRUNC, 2);
    assert_int_equal(search(&a, "zeta", 0, &hits), 0);
    assert_int_equal(search(&a, "rewritten", 0, &hits), 1);
    remove_file("b.jsonl");
    assert_int_equal(search(&a, "rewritten", 0, &hits), 0);
}

static void test_search_cuts_around_the_match(void **state)
{
    (void)state;
    struct search_hit *hits;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf bytes = BUF_INIT;
    if (!has_module)
        skip();
    clean_dir();
    buf_addz(&bytes,
             HEADER("long") "{\"type\":\"message\",\"message\":{\"role\":\"tool\",\"content\":\"");
    for (int i = 0; i < 2000; i++)
        buf_addf(&bytes, "word%d ", i);
    buf_addz(&bytes, "\"}}\n");
    put_file("long.jsonl", bytes.p, 0, 0);
    assert_int_equal(search(&a, "word1000", 0, &hits), 1);
    assert_true(hits[0].text.n < 600);
    assert_true(str_find(hits[0].text, STR("word1000")) != SIZE_MAX);
}

static void test_without_module(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct search_hits hits;
    AUTO(arena) struct arena a = ARENA_INIT;
    if (has_module) {
        assert_true(search_sessions(&a, STR("/nowhere"), STR("x"), 0, &hits, &err));
        assert_int_equal(hits.n, 0);
        return;
    }
    assert_false(search_sessions(&a, str_of(dir), STR("x"), 0, &hits, &err));
    assert_int_equal(err.code, ERR_MODULE);
}

static int set_up(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    has_module = module_open("index", "libsqlite3-0", &err) != NULL;
    if (!has_module && getenv("TRIVET_NEED_MODULES")) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    snprintf(dir, sizeof dir, "/tmp/test_index.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    clean_dir();
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row),
        cmocka_unit_test(test_first_message_is_cut),
        cmocka_unit_test(test_compaction),
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_no_header),
        cmocka_unit_test(test_saving),
        cmocka_unit_test(test_list_scan),
        cmocka_unit_test(test_same_answers),
        cmocka_unit_test(test_reads_only_what_is_new),
        cmocka_unit_test(test_database_mode),
        cmocka_unit_test(test_broken_database),
        cmocka_unit_test(test_unusable_database),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_search_cuts_around_the_match),
        cmocka_unit_test(test_without_module),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
