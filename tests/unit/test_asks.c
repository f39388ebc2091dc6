/* SPDX-License-Identifier: MIT */
/* Requests of the program to its client. */
#include "wire/asks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct heard {
    int n;
    int64_t code;
    bool has_result;
};

static void on_answer(void *arg, const struct rpc_answer *answer)
{
    struct heard *h = arg;
    h->n++;
    h->code = answer->code;
    h->has_result = answer->result != NULL;
}

static bool give(struct asks *q, const char *text)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    assert_true(json_parse(str_of(text), 0, 10, &j, &err));
    bool is_answer = asks_is_answer(j.root);
    if (is_answer)
        asks_take(q, j.root);
    return is_answer;
}

/* covers: acp 20, 21 */
static void test_answers(void **state)
{
    struct asks q = {0};
    struct heard a = {0}, b = {0}, c = {0};
    (void)state;
    assert_int_equal(asks_add(&q, on_answer, &a), 1);
    assert_int_equal(asks_add(&q, on_answer, &b), 2);
    assert_int_equal(asks_add(&q, on_answer, &c), 3);
    assert_true(give(&q, "{\"id\":2,\"result\":{}}"));
    assert_true(b.n == 1 && b.has_result && a.n == 0);
    assert_true(give(&q, "{\"id\":2,\"result\":{}}")); /* a second time: unknown by now */
    assert_int_equal(b.n, 1);
    assert_true(give(&q, "{\"id\":1,\"error\":{\"code\":-5,\"message\":\"no\"}}"));
    assert_true(a.n == 1 && !a.has_result && a.code == -5);
    asks_forget(&q, 3);
    asks_forget(&q, 3);
    assert_true(give(&q, "{\"id\":3,\"result\":1}"));
    assert_int_equal(c.n, 0);
    assert_int_equal(asks_add(&q, on_answer, &c), 4); /* no id comes back */
    assert_true(give(&q, "{\"id\":\"4\",\"result\":1}"));
    assert_true(give(&q, "{\"id\":null,\"result\":1}"));
    assert_int_equal(c.n, 0);
    assert_true(give(&q, "{\"id\":4,\"result\":null,\"error\":null}"));
    assert_true(c.n == 1 && c.has_result);
    asks_add(&q, on_answer, &c);
    asks_clear(&q);
}

static void test_not_answers(void **state)
{
    struct asks q = {0};
    (void)state;
    assert_false(give(&q, "{\"id\":1,\"method\":\"x\",\"result\":1}"));
    assert_false(give(&q, "{\"result\":1}"));
    assert_false(give(&q, "{\"id\":1}"));
    assert_false(give(&q, "[{\"id\":1,\"result\":1}]"));
    assert_false(give(&q, "7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_not_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
