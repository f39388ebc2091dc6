/* SPDX-License-Identifier: MIT */
/* The list of things to do: set as a whole or not at all. */
#include "tools/todo.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool set(struct todo_list *l, const char *json, struct error *err)
{
    AUTO(json) struct json doc = JSON_INIT;
    struct error parse;
    assert_true(json_parse(str_of(json), 0, 8, &doc, &parse));
    return todo_list_set(l, doc.root, err);
}

static void test_set_and_put(void **state)
{
    (void)state;
    struct error err;
    AUTO(todo_list) struct todo_list l = TODO_LIST_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    assert_true(set(&l,
                    "[{\"content\":\"a\",\"activeForm\":\"doing a\",\"status\":\"completed\"},"
                    "{\"content\":\"b\",\"activeForm\":\"doing b\",\"status\":\"in_progress\"},"
                    "{\"content\":\" c \",\"activeForm\":\"doing c\",\"status\":\"pending\"}]",
                    &err));
    todo_list_put(&l, &out);
    assert_string_equal(out.p, "[x] a\n[~] doing b\n[ ] c\n");
    assert_int_equal(todo_list_count(&l, TODO_PENDING), 1);
    assert_string_equal(todo_status_name(TODO_IN_PROGRESS), "in_progress");
    assert_true(set(&l, "[]", &err));
    assert_int_equal(l.n, 0);
}

static void check_refused(const char *json, const char *why)
{
    struct error err = ERROR_INIT;
    AUTO(todo_list) struct todo_list l = TODO_LIST_INIT;
    assert_true(
        set(&l, "[{\"content\":\"kept\",\"activeForm\":\"k\",\"status\":\"pending\"}]", &err));
    assert_false(set(&l, json, &err));
    assert_string_equal(err.text, why);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.items[0].content, "kept");
}

static void test_refusals(void **state)
{
    (void)state;
    AUTO(buf) struct buf many = BUF_INIT;
    check_refused("{}", "`todos` must be a list");
    check_refused("[1]", "`todos[0].content` must be a text that is not blank");
    check_refused("[{\"content\":\" \"}]", "`todos[0].content` must be a text that is not blank");
    check_refused("[{\"content\":\"a\",\"activeForm\":\" \",\"status\":\"pending\"}]",
                  "`todos[0].activeForm` must be a text that is not blank");
    check_refused("[{\"content\":\"a\",\"activeForm\":\"a\",\"status\":\"pending\"},"
                  "{\"content\":\"a\",\"activeForm\":\"a\",\"status\":\"done\"}]",
                  "`todos[1].status` must be one of pending, in_progress, completed");
    check_refused("[{\"content\":\"a\\u0000\",\"activeForm\":\"a\",\"status\":\"pending\"}]",
                  "`todos[0].content` cannot hold a NUL");
    buf_addc(&many, '[');
    for (int i = 0; i < 201; i++)
        buf_addz(&many, i ? ",0" : "0");
    buf_addc(&many, ']');
    check_refused(many.p, "`todos` has more than 200 items");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_put),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
