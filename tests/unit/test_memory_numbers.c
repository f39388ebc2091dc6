/* SPDX-License-Identifier: MIT */
/* Memory files that others wrote: any numbers and bytes in them are fine. */
#include "context/memory.h"

#include "base/path.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
    char dir[64];
    struct memory m;
    struct error err;
};

static void write_file(struct scene *s, const char *name, const char *text)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%s", s->dir, name);
    assert_true(file_replace(buf_str(&path), str_of(text), 0600, &s->err));
}

static int setup(void **state)
{
    struct scene *s = xnew(struct scene);
    strcpy(s->dir, "/tmp/test-memory-XXXXXX");
    s->m = MEMORY_INIT;
    assert_non_null(mkdtemp(s->dir));
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct scene *s = *state;
    static const char *const names[] = {"core.json", "soft.jsonl", "core.json.lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", s->dir, names[i]);
        unlink(path.p);
    }
    rmdir(s->dir);
    memory_clear(&s->m);
    free(s);
    return 0;
}

static struct str get(yyjson_mut_val *record, const char *name)
{
    return str_of(yyjson_mut_get_str(yyjson_mut_obj_get(record, name)));
}

static void test_highest_id(void **state)
{
    struct scene *s = *state;
    struct memory_new n = {.text = STR("use tabs"), .scope = STR("global"), .source = "manual"};
    write_file(s, "core.json",
               "[{\"id\":\"core_9223372036854775807\",\"text\":\"x\"},"
               "{\"id\":\"core_007\",\"text\":\"y\"}]");
    assert_true(memory_open(&s->m, str_of(s->dir), true, &s->err));
    yyjson_mut_val *r = memory_add(&s->m, &n, &s->err);
    assert_non_null(r);
    assert_true(str_is(get(r, "id"), "core_008"));
    assert_true(str_is(get(r, "text"), "Use tabs"));
}

/* A time to live of ages has not passed, confidence is a share, and a counter stays at its end. */
static void test_huge_numbers(void **state)
{
    struct scene *s = *state;
    struct retrieval r = {0};
    AUTO(json) struct json j = JSON_INIT;
    write_file(s, "soft.jsonl",
               "{\"id\":\"soft_001\",\"text\":\"always use tabs\",\"confidence\":1e300,"
               "\"hits\":9223372036854775807,\"ttl_days\":9223372036854775807,"
               "\"last_seen_at\":\"2001-01-01T00:00:00Z\"}\n"
               "{\"id\":\"soft_002\",\"text\":\"never use tabs\",\"confidence\":0.5,"
               "\"ttl_days\":60,\"last_seen_at\":\"2001-01-01T00:00:00Z\"}\n");
    assert_true(memory_open(&s->m, str_of(s->dir), true, &s->err));
    memory_retrieve(&s->m, STR("tabs"), STR("/w"), "memory", &r);
    assert_true(json_parse(buf_str(&r.json), 0, 16, &j, &s->err));
    yyjson_val *soft = json_get(j.root, "soft"), *reasons = json_get(j.root, "reasons");
    assert_int_equal(yyjson_arr_size(soft), 1);
    assert_true(json_get_int(yyjson_arr_get(soft, 0), "hits", 0) == INT64_MAX);
    assert_true(json_get_num(yyjson_arr_get(reasons, 0), "score", 0) == 1.15);
    buf_clear(&r.json);
    buf_clear(&r.block);
}

/* A line that is no record stays as it is, also behind a NUL. */
static void test_odd_line(void **state)
{
    struct scene *s = *state;
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct str odd = STR("{\"id\":\"soft_001\"}\0 cut\n");
    buf_addf(&path, "%s/soft.jsonl", s->dir);
    assert_true(file_replace(buf_str(&path), odd, 0600, &s->err));
    assert_true(memory_open(&s->m, str_of(s->dir), true, &s->err));
    assert_int_equal(yyjson_mut_arr_size(s->m.soft), 0);
    assert_true(memory_save(&s->m, &s->err));
    assert_true(path_read(&text, buf_str(&path), 1000, &s->err));
    assert_true(str_eq(buf_str(&text), odd));
}

/* Letters are taken off words, never bytes off characters. */
static void test_wording(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str text = memory_clean(STR("Remember that we are x\xe2\x80\x80ing tabs"), &a);
    assert_true(utf8_is_valid(text));
    text = memory_clean(STR("Remember that we are running tests"), &a);
    assert_true(str_is(text, "Run tests"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_highest_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_huge_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_line, setup, teardown),
        cmocka_unit_test(test_wording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
