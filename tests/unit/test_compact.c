/* SPDX-License-Identifier: MIT */
/* Where a compaction cuts, and the lists of files in its summary. */
#include "engine/compact.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A conversation by letters: u user, a assistant, c assistant with a call, t result, s summary; an
 * upper case letter is a message of about 100 tokens, the others have about 3. */
static void build(struct history *h, const char *letters)
{
    char big[400];
    memset(big, 'x', sizeof big);
    *h = (struct history){0};
    for (const char *c = letters; *c; c++) {
        bool is_big = *c >= 'A' && *c <= 'Z';
        struct str text = is_big ? str_n(big, sizeof big) : STR("x");
        struct message m = {0};
        switch (is_big ? *c - 'A' + 'a' : *c) {
        case 'u':
            m = message_text(&h->arena, ROLE_USER, text);
            break;
        case 's':
            m = message_text(&h->arena, ROLE_SUMMARY, text);
            break;
        case 't':
            m = message_tool(&h->arena, STR("c"), STR("n"), text, false);
            break;
        default:
            m = message_text(&h->arena, ROLE_ASSISTANT, text);
            break;
        }
        history_add(h, &m, NULL);
    }
    h->ends_with_compaction = false;
}

struct expect {
    const char *letters;
    int64_t budget;
    size_t keep_from;
    bool must;
    const char *error; /* or the three places */
    size_t from, at, split;
};

/* clang-format off */
static const struct expect cuts[] = {
    {"", 50, SIZE_MAX, false, "Nothing to compact", 0, 0, 0},
    {"s", 50, SIZE_MAX, false, "Already compacted", 0, 0, 0},
    {"uaua", 50, SIZE_MAX, false, "Nothing to compact", 0, 0, 0},
    /* the first later message of the user from which the rest fits */
    {"UAuaua", 50, SIZE_MAX, false, NULL, 0, 2, 2},
    {"UaUaua", 50, SIZE_MAX, false, NULL, 0, 4, 4},
    {"sUaua", 50, SIZE_MAX, false, NULL, 1, 3, 3},
    /* the last turn alone is too long: split, never between a call and its result */
    {"uauaTcta", 50, SIZE_MAX, false, NULL, 0, 2, 5},
    {"ucTcta", 50, SIZE_MAX, false, NULL, 0, 0, 3},
    {"sucTcta", 50, SIZE_MAX, false, NULL, 1, 1, 4},
    {"uaucT", 50, SIZE_MAX, false, NULL, 0, 2, 5},
    {"ucT", 50, SIZE_MAX, false, NULL, 0, 0, 3},
    /* only the question is too long */
    {"uaU", 50, SIZE_MAX, false, NULL, 0, 2, 2},
    {"uaUa", 50, SIZE_MAX, false, NULL, 0, 2, 2},
    {"Ua", 50, SIZE_MAX, false, NULL, 0, 1, 1},
    {"U", 50, SIZE_MAX, false, NULL, 0, 1, 1},
    {"U", 50, 0, false, "Nothing to compact", 0, 0, 0},
    {"uaU", 50, 2, false, NULL, 0, 2, 2},
    {"suaU", 50, 3, false, NULL, 1, 3, 3},
    /* nobody asked */
    {"aAa", 50, SIZE_MAX, false, NULL, 0, 2, 2},
    /* everything becomes the summary, but the running turn */
    {"uaua", 0, SIZE_MAX, false, NULL, 0, 4, 4},
    {"uauc", 0, 2, false, NULL, 0, 2, 2},
    {"uc", 0, 0, false, "Nothing to compact", 0, 0, 0},
    {"suc", 0, 1, false, "Already compacted", 0, 0, 0},
    /* the provider says it is too much, whatever we count */
    {"uaua", 50, 2, true, NULL, 0, 2, 2},
    {"ua", 50, 0, true, "Nothing to compact", 0, 0, 0},
};
/* clang-format on */

static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
        const struct expect *e = &cuts[i];
        struct history h;
        struct cut c = {9, 9, 9};
        struct error err = ERROR_INIT;
        build(&h, e->letters);
        bool ok = compact_cut(&h, e->budget, e->keep_from, e->must, &c, &err);
        if (ok != !e->error || (ok && (c.from != e->from || c.at != e->at || c.split != e->split)))
            fail_msg("%s: %s %zu %zu %zu", e->letters, ok ? "cut" : err.text, c.from, c.at,
                     c.split);
        if (e->error)
            assert_string_equal(err.text, e->error);
        history_clear(&h);
    }
}

/* Where a running turn is cut.  The question stays unless it is too long, and so does the
 * last reply with its results. */
static void test_turn_cut(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        const char *letters;
        int64_t weight;
        size_t turn;
        bool ok;
        size_t from, at, split;
    } turns[] = {
        {"ucTcTct", 60, 0, true, 0, 0, 5},    /* what lies between the question and the end */
        {"sucTcTct", 60, 1, true, 1, 1, 6},   /* behind a summary likewise */
        {"uaucTct", 60, 2, true, 0, 2, 5},    /* and what came before the turn */
        {"UcTct", 60, 0, true, 0, 3, 3},      /* the question is too long: it goes, too */
        {"ucT", 60, 0, false, 0, 0, 0},       /* only the last round is left */
        {"sucT", 60, 1, false, 0, 0, 0},
        {"uaucT", 60, 2, true, 0, 2, 2},      /* the turns before go, the last round stays */
        {"UAuct", 60, 2, true, 0, 2, 2},
        {"", 60, 0, false, 0, 0, 0},
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
        struct history h;
        struct cut c = {0};
        struct error err = ERROR_INIT;
        build(&h, turns[i].letters);
        bool ok = compact_turn_cut(&h, turns[i].weight, turns[i].turn, &c, &err);
        if (ok != turns[i].ok ||
            (ok && (c.from != turns[i].from || c.at != turns[i].at || c.split != turns[i].split)))
            fail_msg("%s: %s %zu %zu %zu", turns[i].letters, ok ? "cut" : err.text, c.from, c.at,
                     c.split);
        history_clear(&h);
    }
}

static void test_ends_with_compaction(void **state)
{
    (void)state;
    struct history h;
    struct cut c;
    struct error err = ERROR_INIT;
    build(&h, "sua");
    h.ends_with_compaction = true;
    assert_false(compact_cut(&h, 1, SIZE_MAX, false, &c, &err));
    assert_string_equal(err.text, "Already compacted");
    history_clear(&h);
}

/* What is kept after a split: the question and the end. */
static void test_skipped(void **state)
{
    (void)state;
    struct history h;
    build(&h, "uaucTcta");
    struct message summary = message_text(&h.arena, ROLE_SUMMARY, STR("sum"));
    summary.n_skipped = 2;
    history_compact(&h, &summary, 2);
    assert_int_equal(h.n, 5);
    assert_int_equal(h.messages[0].role, ROLE_SUMMARY);
    assert_int_equal(h.messages[1].role, ROLE_USER);
    assert_int_equal(h.messages[2].role, ROLE_ASSISTANT);
    assert_int_equal(h.messages[3].role, ROLE_TOOL);
    assert_int_equal(h.messages[4].role, ROLE_ASSISTANT);
    summary.n_skipped = INT64_MAX; /* a foreign file may say anything */
    history_compact(&h, &summary, 1);
    assert_int_equal(h.n, 2);
    history_clear(&h);
}

static void check_lists(const char *text, const char *expected)
{
    struct str names[] = {STR("a.c"), STR("b.c")};
    struct message m = {.read_files = names, .n_read_files = 2};
    AUTO(buf) struct buf out = BUF_INIT;
    static const struct files_words words = {"Files & Code", "Read", "Modified"};
    compact_list_files(&out, str_of(text), &words, &m);
    assert_string_equal(out.p, expected);
}

#define READ "### Read\n- a.c\n- b.c\n\n"
#define MODIFIED "### Modified\n(none)\n\n"

static void test_lists(void **state)
{
    (void)state;
    check_lists("## Goal\nx", "## Goal\nx\n\n## Files & Code\n" READ MODIFIED);
    check_lists(
        "## Files & Code\n### Read\n- old\n- older\n### Modified\n- z\n### Important Objects\n"
        "- Foo\n## Next Steps\n### Read\nmore",
        "## Files & Code\n" READ MODIFIED
        "### Important Objects\n- Foo\n## Next Steps\n### Read\nmore\n");
    check_lists("## Files & Code\nnothing\n## Next Steps\ngo",
                "## Files & Code\nnothing\n" READ MODIFIED "## Next Steps\ngo\n");
    check_lists("# files & code\n#### modified\nx\ny", "# files & code\n" MODIFIED READ);
    check_lists("", "\n## Files & Code\n" READ MODIFIED);
}

static void test_note_files(void **state)
{
    (void)state;
    struct history h = {0};
    AUTO(arena) struct arena a = ARENA_INIT;
    struct block calls[] = {
        {.kind = BLOCK_CALL, .name = STR("read_file"), .arguments = STR("{\"path\":\"z\"}")},
        {.kind = BLOCK_CALL, .name = STR("read_file"), .arguments = STR("{\"path\":\"b\"}")},
        {.kind = BLOCK_CALL, .name = STR("read_file"), .arguments = STR("not JSON")},
        {.kind = BLOCK_CALL, .name = STR("write_file"), .arguments = STR("{\"path\":\"b\"}")},
        {.kind = BLOCK_CALL, .name = STR("list_directory"), .arguments = STR("{\"path\":\"d\"}")},
        {.kind = BLOCK_CALL,
         .id = STR("bad"),
         .name = STR("edit_file"),
         .arguments = STR("{\"path\":\"unchanged\"}")},
        {.kind = BLOCK_CALL,
         .id = STR("lost"),
         .name = STR("write_file"),
         .arguments = STR("{\"path\":\"unknown\"}")},
    };
    struct str earlier[] = {STR("a"), STR("b")};
    struct message first = message_text(&h.arena, ROLE_SUMMARY, STR("s")), sum = {0};
    struct message second = {.role = ROLE_ASSISTANT, .blocks = calls, .n_blocks = ARRAY_LEN(calls)};
    first.read_files = earlier;
    first.n_read_files = 2;
    history_add(&h, &first, NULL);
    history_add(&h, &second, NULL);
    struct message good = message_tool(&h.arena, STR(""), STR("n"), STR("done"), false);
    struct message bad = message_tool(&h.arena, STR("bad"), STR("n"), STR("no match"), true);
    history_add(&h, &good, NULL); /* of all calls without an id */
    history_add(&h, &bad, NULL);
    compact_note_files(&toolset_kward, &h, 0, 1, &a, &sum);
    compact_note_files(&toolset_kward, &h, 1, 2, &a, &sum);
    assert_int_equal(sum.n_read_files, 3);
    assert_true(str_is(sum.read_files[0], "a") && str_is(sum.read_files[2], "z"));
    assert_int_equal(sum.n_modified_files, 1); /* neither what failed nor what has no result */
    history_clear(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_turn_cut),
        cmocka_unit_test(test_ends_with_compaction),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_note_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
