/* SPDX-License-Identifier: MIT */
/* context/config.c: missing, broken and changed files. */
#include "context/config.h"

#include "fiber_scene.h"
#include "store/file.h"

#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/trivet-config-XXXXXX";
static char path[64];

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_one(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    config_put(doc, root, STR("one"), yyjson_mut_strcpy(doc, arg));
}

static void missing_is_empty(void **state)
{
    (void)state;
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    assert_true(config_read(str_of(path), &j, &err));
    assert_int_equal(yyjson_obj_size(j.root), 0);
}

static void change_keeps_the_rest(void **state)
{
    (void)state;
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    struct stat st;
    write_file("{\"two\": [2, 3], \"one\": 0}");
    assert_true(config_change(str_of(path), put_one, "x\"y", &j, &err));
    assert_true(str_is(json_get_str(j.root, "one"), "x\"y"));
    assert_true(path_read(&text, str_of(path), 1000, &err));
    assert_string_equal(text.p, "{\n  \"two\": [\n    2,\n    3\n  ],\n  \"one\": \"x\\\"y\"\n}\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void broken_is_replaced(void **state)
{
    (void)state;
    static const char *const broken[] = {"{", "[1]", "", "{\"two\": tru"};
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        write_file(broken[i]);
        assert_true(config_renew(str_of(path), put_one, "x", &err));
        assert_true(path_read(&text, str_of(path), 1000, &err));
        assert_string_equal(text.p, "{\n  \"one\": \"x\"\n}\n");
    }
}

static void broken_stays(void **state)
{
    (void)state;
    static const char *const broken[] = {"{", "[1]", "7"};
    struct error err;
    struct json j;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        write_file(broken[i]);
        assert_false(config_read(str_of(path), &j, &err));
        assert_int_equal(err.code, ERR_CORRUPT);
        assert_false(config_change(str_of(path), put_one, "x", NULL, &err));
        assert_true(path_read(&text, str_of(path), 1000, &err));
        assert_string_equal(text.p, broken[i]);
    }
}

/* A project's file keeps its mode, and no lock is left beside it. */
static void project_fiber(void *unused)
{
    (void)unused;
    AUTO(buf) struct buf lock = BUF_INIT, left = BUF_INIT;
    struct error err;
    struct stat st;
    buf_addf(&lock, "%s/own/config", dir);
    buf_addf(&left, "%s.lock", path);
    unlink(path);
    unlink(left.p);
    assert_true(config_change_project_await(str_of(path), buf_str(&lock), put_one, "x", &err));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(config_change_project_await(str_of(path), buf_str(&lock), put_one, "y", &err));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_false(path_exists(buf_str(&left)));
    buf_addz(&lock, ".lock");
    unlink(lock.p);
    buf_cut(&lock, lock.n - strlen("/config.lock"));
    rmdir(lock.p);
}

static void project_file(void **state)
{
    (void)state;
    in_fiber(project_fiber, NULL);
}

/* A lock that another process holds for a while holds up its fiber, and not the loop. */
static void change_fiber(void *ret)
{
    struct error err;
    *(bool *)ret = config_change_await(str_of(path), put_one, "later", NULL, &err);
}

static void open_later_fiber(void *lock)
{
    struct error err;
    for (int i = 0; i < 10; i++)
        assert_true(sleep_await(fiber_loop(), 5, &err)); /* each of them comes back in time */
    file_lock_clear(lock);
}

static void test_lock_is_awaited(void **state)
{
    (void)state;
    struct file_lock other = FILE_LOCK_INIT;
    struct error err;
    bool is_done = false;
    struct loop *l = loop_new();
    assert_true(file_lock(&other, str_of(path), 0, &err));
    fiber_start(l, "change", change_fiber, &is_done);
    fiber_start(l, "other", open_later_fiber, &other);
    loop_step(l, false);
    assert_false(is_done);
    loop_run(l);
    loop_free(l);
    assert_true(is_done);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_is_empty),   cmocka_unit_test(change_keeps_the_rest),
        cmocka_unit_test(broken_is_replaced), cmocka_unit_test(broken_stays),
        cmocka_unit_test(project_file),       cmocka_unit_test(test_lock_is_awaited),
    };
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/sub/config.json", dir);
    struct error err;
    path_make_dirs(path_dir(str_of(path)), 0700, &err);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
