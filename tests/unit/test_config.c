/* SPDX-License-Identifier: MIT */
/* context/config.c: missing, broken and changed files. */
#include "context/config.h"

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
        assert_true(config_renew(str_of(path), put_one, "x", NULL, &err));
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
static void project_file(void **state)
{
    (void)state;
    AUTO(buf) struct buf lock = BUF_INIT, left = BUF_INIT;
    struct error err;
    struct stat st;
    buf_addf(&lock, "%s/own/config", dir);
    buf_addf(&left, "%s.lock", path);
    unlink(path);
    unlink(left.p);
    assert_true(config_change_project(str_of(path), buf_str(&lock), put_one, "x", &err));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(config_change_project(str_of(path), buf_str(&lock), put_one, "y", &err));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_false(path_exists(buf_str(&left)));
    buf_addz(&lock, ".lock");
    unlink(lock.p);
    buf_cut(&lock, lock.n - strlen("/config.lock"));
    rmdir(lock.p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_is_empty),
        cmocka_unit_test(change_keeps_the_rest),
        cmocka_unit_test(broken_is_replaced),
        cmocka_unit_test(broken_stays),
        cmocka_unit_test(project_file),
    };
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/sub/config.json", dir);
    struct error err;
    path_make_dirs(path_dir(str_of(path)), 0700, &err);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
