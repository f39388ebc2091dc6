/* SPDX-License-Identifier: MIT */
/* context/memory*.c: records, their files, which of them fit an input, what a text is worth
 * (kward 280-301). */
#include "context/memory.h"

#include "fiber_scene.h"

#include "base/path.h"
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int fresh_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/trivet-memory-XXXXXX");
    time_fix(1781259072345); /* 2026-06-12T10:11:12.345Z */
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void put_file(const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool file_has(const char *name, const char *part)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct error err;
    buf_addf(&path, "%s/%s", dir, name);
    assert_true(path_read(&text, buf_str(&path), 1 << 20, &err));
    return str_find(buf_str(&text), str_of(part)) != SIZE_MAX;
}

static struct memory opened(void)
{
    struct memory m = MEMORY_INIT;
    struct error err;
    assert_true(memory_open(&m, str_of(dir), true, &err));
    return m;
}

static const char *text_of(yyjson_mut_val *record, const char *name)
{
    return yyjson_mut_get_str(yyjson_mut_obj_get(record, name));
}

static yyjson_mut_val *add(struct memory *m, enum memory_layer layer, const char *text,
                           const char *scope)
{
    struct error err;
    struct memory_new n = {.layer = layer,
                           .text = str_of(text),
                           .scope = str_of(scope),
                           .source = "manual",
                           .confidence = 0.65};
    return memory_add(m, &n, &err);
}

/* covers: kward 283, 284, 285, 293 */
static void ids_and_members(void **state)
{
    (void)state;
    AUTO(memory) struct memory m = opened();
    struct error err;
    yyjson_mut_val *one = add(&m, MEMORY_SOFT, " Remember that we should prefer small patches ",
                              "");
    yyjson_mut_val *two = add(&m, MEMORY_SOFT, "b", "workspace:/w");
    yyjson_mut_val *core = add(&m, MEMORY_CORE, "Note that the user prefers minitest", "");
    assert_string_equal(text_of(one, "id"), "soft_001");
    assert_string_equal(text_of(one, "text"), "Prefer small patches");
    assert_string_equal(text_of(one, "scope"), "global");
    assert_string_equal(text_of(one, "status"), "active");
    assert_string_equal(text_of(one, "last_seen_at"), "2026-06-12T10:11:12.347Z");
    assert_string_equal(text_of(two, "id"), "soft_002");
    assert_string_equal(text_of(core, "id"), "core_001");
    assert_string_equal(text_of(core, "text"), "The user prefers minitest");
    assert_true(yyjson_mut_get_bool(yyjson_mut_obj_get(core, "pinned")));
    struct memory_new blank = {.layer = MEMORY_SOFT, .text = STR(" \n"), .source = "manual"};
    assert_null(memory_add(&m, &blank, &err));
    assert_string_equal(err.text, "Memory text cannot be empty");
    assert_true(memory_forget(&m, STR("soft_002")));
    assert_string_equal(text_of(add(&m, MEMORY_SOFT, "c", ""), "id"), "soft_003");
}

static void tags(void **state)
{
    (void)state;
    AUTO(memory) struct memory m = opened();
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    assert_true(json_parse(STR("[\"a, b a\",7,\"c d e f g h i j k l\"]"), 0, 4, &j, &err));
    struct memory_new n = {.layer = MEMORY_CORE, .text = STR("x"), .tags = j.root, .source = "m"};
    yyjson_mut_val *list = yyjson_mut_obj_get(memory_add(&m, &n, &err), "tags");
    assert_int_equal(yyjson_mut_arr_size(list), 10);
    assert_string_equal(yyjson_mut_get_str(yyjson_mut_arr_get(list, 1)), "b");
    assert_string_equal(yyjson_mut_get_str(yyjson_mut_arr_get(list, 9)), "j");
}

/* covers: kward 287, 288, 289, 291, 292 */
static void forget_and_promote(void **state)
{
    (void)state;
    AUTO(memory) struct memory m = opened();
    struct error err;
    add(&m, MEMORY_CORE, "core", "");
    yyjson_mut_val *soft = add(&m, MEMORY_SOFT, "soft", "workspace:/w");
    assert_true(memory_forget(&m, STR("core_001")));
    assert_int_equal(yyjson_mut_arr_size(m.core), 0);
    assert_false(memory_forget(&m, STR("core_001")));
    yyjson_mut_val *promoted = memory_promote(&m, STR("soft_001"));
    assert_string_equal(text_of(promoted, "source"), "promoted_soft_memory");
    assert_string_equal(text_of(promoted, "scope"), "workspace:/w");
    assert_string_equal(text_of(soft, "text"), "[forgotten]");
    assert_int_equal(yyjson_mut_arr_size(yyjson_mut_obj_get(soft, "tags")), 0);
    assert_false(memory_is_active(soft));
    assert_null(memory_promote(&m, STR("soft_001")));
    assert_false(memory_forget(&m, STR("soft_001")));
    assert_non_null(memory_move(&m, STR("core_001"), STR("global"), &err));
    assert_null(memory_move(&m, STR("core_001"), STR("global"), &err));
    assert_null(memory_move(&m, STR("core_009"), STR("global"), &err));
    assert_string_equal(err.text, "Unknown core memory: core_009");
}

static void unknown_things_stay(void **state)
{
    (void)state;
    put_file("core.json",
             "{\"version\":3,\"memories\":[{\"id\":\"core_007\",\"text\":\"t\",\"mood\":[1]}]}");
    put_file("soft.jsonl",
             "{\"id\":\"soft_012\",\"text\":\"s\",\"extra\":{\"a\":null}}\nnot json\n\n[1]\n");
    {
        AUTO(memory) struct memory m = opened();
        struct error err;
        assert_string_equal(text_of(add(&m, MEMORY_CORE, "new", ""), "id"), "core_008");
        assert_string_equal(text_of(add(&m, MEMORY_SOFT, "new", ""), "id"), "soft_013");
        assert_true(memory_save(&m, &err));
    }
    assert_true(file_has("core.json", "\"version\": 3"));
    assert_true(file_has("core.json", "\"mood\": ["));
    assert_true(file_has("soft.jsonl", "\"extra\":{\"a\":null}}\n"));
    assert_true(file_has("soft.jsonl", "\nnot json\n[1]\n"));
    AUTO(memory) struct memory again = opened();
    assert_int_equal(yyjson_mut_arr_size(again.core), 2);
    assert_int_equal(yyjson_mut_arr_size(again.soft), 2);
}

static void broken_core_is_reported(void **state)
{
    (void)state;
    AUTO(memory) struct memory m = MEMORY_INIT;
    struct error err;
    put_file("core.json", "[{");
    assert_false(memory_open(&m, str_of(dir), false, &err));
    assert_true(str_starts(str_of(err.text), STR("invalid core memory JSON: ")));
    memory_clear(&m);
    put_file("core.json", "{\"memories\":7}");
    assert_false(memory_open(&m, str_of(dir), false, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
}

static void make_fiber(void *unused)
{
    (void)unused;
    struct error err;
    assert_true(memory_make_await(str_of(dir), &err));
}

/* covers: kward 281 */
static void files_are_private(void **state)
{
    (void)state;
    static const char *const names[] = {"core.json", "soft.jsonl", "events.jsonl"};
    struct stat st;
    in_fiber(make_fiber, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[100];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

/* ---- retrieval ---- */

static void retrieved(struct memory *m, const char *input, struct json *ret, struct retrieval *r)
{
    struct error err;
    memory_retrieve(m, str_of(input), STR("/w"), "kward_memory", r);
    assert_true(json_parse(buf_str(&r->json), 0, 16, ret, &err));
}

static void retrieval_clear(struct retrieval *r)
{
    buf_clear(&r->json);
    buf_clear(&r->block);
}

/* covers: kward 294, 297 */
static void ranking(void **state)
{
    (void)state;
    AUTO(memory) struct memory m = opened();
    AUTO(json) struct json j = JSON_INIT;
    struct retrieval r = {0};
    add(&m, MEMORY_SOFT, "Ninja builds, never build twice", "");
    add(&m, MEMORY_SOFT, "Build and test with ninja and valgrind", "");
    add(&m, MEMORY_SOFT, "Nothing in common", "");
    add(&m, MEMORY_SOFT, "Ninja elsewhere", "workspace:/other");
    add(&m, MEMORY_CORE, "Always sent", "workspace:/w");
    add(&m, MEMORY_CORE, "Sent elsewhere", "workspace:/other");
    retrieved(&m, "please BUILD it with ninja and valgrind", &j, &r);
    yyjson_val *soft = json_get(j.root, "soft"), *reasons = json_get(j.root, "reasons");
    assert_int_equal(yyjson_arr_size(soft), 2);
    assert_true(str_is(json_get_str(yyjson_arr_get(soft, 0), "id"), "soft_002"));
    assert_int_equal(json_get_int(yyjson_arr_get(soft, 0), "hits", 0), 1);
    assert_int_equal(yyjson_arr_size(json_get(j.root, "core")), 1);
    yyjson_val *first = yyjson_arr_get(reasons, 0), *second = yyjson_arr_get(reasons, 1);
    assert_true(str_is(json_get_str(first, "layer"), "core"));
    assert_true(json_get_num(first, "score", 0) == 1.0);
    assert_true(json_get_num(second, "score", 0) == 1.1); /* 0.65 + 0.45 at most */
    yyjson_val *why = json_get(second, "reasons");
    assert_true(str_is(json_str(yyjson_arr_get(why, 0)), "scope match"));
    assert_true(str_is(json_str(yyjson_arr_get(why, 1)),
                       "text overlap: build, and, with, ninja, valgrind"));
    assert_true(str_is(json_str(yyjson_arr_get(why, 2)), "confidence 0.65"));
    assert_true(json_get_num(yyjson_arr_get(reasons, 2), "score", 0) == 0.95); /* two terms */
    assert_true(str_starts(buf_str(&r.block), STR("<kward_memory>\nCore Memories:\n- [core_001]")));
    assert_true(str_ends(buf_str(&r.block), STR("not guaranteed facts.\n</kward_memory>")));
    retrieval_clear(&r);
}

static void expired_and_forgotten(void **state)
{
    (void)state;
    put_file(
        "soft.jsonl",
        "{\"id\":\"soft_001\",\"text\":\"ninja\",\"confidence\":0.9,\"ttl_days\":60,"
        "\"last_seen_at\":\"2026-01-01T00:00:00.000Z\",\"status\":\"active\"}\n"
        "{\"id\":\"soft_002\",\"text\":\"ninja\",\"status\":\"forgotten\"}\n"
        "{\"id\":\"soft_003\",\"text\":\"other\",\"tags\":[\"ninja\",7],\"confidence\":0.5}\n");
    AUTO(memory) struct memory m = opened();
    AUTO(json) struct json j = JSON_INIT;
    struct retrieval r = {0};
    retrieved(&m, "ninja", &j, &r);
    yyjson_val *soft = json_get(j.root, "soft");
    assert_int_equal(yyjson_arr_size(soft), 1);
    assert_true(str_is(json_get_str(yyjson_arr_get(soft, 0), "id"), "soft_003"));
    assert_true(json_get_num(yyjson_arr_get(json_get(j.root, "reasons"), 0), "score", 0) == 0.75);
    retrieval_clear(&r);
}

static void at_most_six(void **state)
{
    (void)state;
    AUTO(memory) struct memory m = opened();
    AUTO(json) struct json j = JSON_INIT;
    struct retrieval r = {0};
    for (int i = 0; i < 20; i++) {
        add(&m, MEMORY_SOFT, "ninja", "");
        add(&m, MEMORY_CORE, "core", "");
    }
    retrieved(&m, "ninja", &j, &r);
    assert_int_equal(yyjson_arr_size(json_get(j.root, "soft")), 6);
    assert_int_equal(yyjson_arr_size(json_get(j.root, "core")), 6);
    assert_true(
        str_is(json_get_str(yyjson_arr_get(json_get(j.root, "soft"), 5), "id"), "soft_006"));
    retrieval_clear(&r);
    json_clear(&j);
    retrieved(&m, "xy", &j, &r); /* too short to be a term: the core alone */
    assert_int_equal(yyjson_arr_size(json_get(j.root, "soft")), 0);
    assert_false(r.has_soft);
    retrieval_clear(&r);
}

/* ---- texts ---- */

/* covers: kward 298, 300 */
static void candidates(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str found[5];
    size_t n = memory_candidates(STR("I prefer tabs. The sky is blue. We always test; I love "
                                     "prefer you\nplease remember: use C\n- soft_001 I use it\n"
                                     "I prefer tabs"),
                                 &a, found, 5);
    assert_int_equal(n, 3);
    assert_true(str_is(found[0], "I prefer tabs"));
    assert_true(str_is(found[1], "We always test"));
    assert_true(str_ieq(found[2], STR("use C")));
    n = memory_candidates(STR("I use a. I use b. I use c. I use d. I use e. I use f"), &a, found,
                          5);
    assert_int_equal(n, 5);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh_dir, remove_dir)
    static const struct CMUnitTest tests[] = {
        TEST(ids_and_members),
        TEST(tags),
        TEST(forget_and_promote),
        TEST(unknown_things_stay),
        TEST(broken_core_is_reported),
        TEST(files_are_private),
        TEST(ranking),
        TEST(expired_and_forgotten),
        TEST(at_most_six),
        TEST(candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
