/* SPDX-License-Identifier: MIT */
/* The hash table against a plain list. */
#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { KEYS = 500, STEPS = 200000 };

static void test_few(void **state)
{
    (void)state;
    struct table t = TABLE_INIT;
    int one, two;
    assert_null(table_get(&t, STR("a")));
    table_drop(&t, STR("a"), &one);
    table_put(&t, STR("a"), &one);
    table_put(&t, STR(""), &two);
    assert_ptr_equal(table_get(&t, STR("a")), &one);
    assert_ptr_equal(table_get(&t, STR("")), &two);
    assert_null(table_get(&t, STR("b")));
    table_put(&t, STR("a"), &two); /* takes the place of the first */
    assert_int_equal(t.n, 2);
    table_drop(&t, STR("a"), &one); /* which is there no more */
    assert_ptr_equal(table_get(&t, STR("a")), &two);
    table_drop(&t, STR("a"), &two);
    assert_null(table_get(&t, STR("a")));
    assert_int_equal(t.n, 1);
    table_clear(&t);
    assert_null(table_get(&t, STR("")));
}

/* Random puts and drops; after each the table says what the list says. */
static void test_random(void **state)
{
    (void)state;
    static char names[KEYS][16];
    static int values[2 * KEYS];
    int *listed[KEYS] = {0};
    struct table t = TABLE_INIT;
    size_t n = 0;
    srand(25);
    for (int i = 0; i < KEYS; i++)
        snprintf(names[i], sizeof names[i], "k%d", i);
    for (int step = 0; step < STEPS; step++) {
        int k = rand() % KEYS, *value = &values[rand() % (2 * KEYS)];
        if (rand() % 2) {
            n += listed[k] == NULL;
            listed[k] = value;
            table_put(&t, str_of(names[k]), value);
        } else if (listed[k]) {
            table_drop(&t, str_of(names[k]), rand() % 4 ? listed[k] : NULL);
            listed[k] = table_get(&t, str_of(names[k])) ? listed[k] : NULL;
            n -= listed[k] == NULL;
        }
        k = rand() % KEYS;
        assert_ptr_equal(table_get(&t, str_of(names[k])), listed[k]);
        assert_int_equal(t.n, n);
    }
    for (int k = 0; k < KEYS; k++)
        assert_ptr_equal(table_get(&t, str_of(names[k])), listed[k]);
    table_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
