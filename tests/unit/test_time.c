/* SPDX-License-Identifier: MIT */
/* Time and ids. */
#include "base/id.h"
#include "base/mem.h"
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

static void test_iso(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } pairs[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {1781259072345, "2026-06-12T10:11:12.345Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        char out[TIME_ISO_LEN + 1];
        int64_t back = 5;
        time_iso(pairs[i].ms, out);
        assert_string_equal(out, pairs[i].text);
        assert_true(time_from_iso(str_of(out), &back));
        assert_int_equal(back, pairs[i].ms);
    }
}

static void test_from_iso(void **state)
{
    (void)state;
    int64_t ms = 7;
    static const char *const bad[] = {"",
                                      "2026-06-12",
                                      "2026-06-12T10:11:12",
                                      "2026-06-12 10:11:12Z",
                                      "2026-06-12T10:11:12.Z",
                                      "2026-06-12T10:11:12.1+02:00",
                                      "2026-13-12T10:11:12Z",
                                      "2026-06-12T10:11:12.345ZZ",
                                      "2026-06-12T10:11:12,345Z",
                                      "x026-06-12T10:11:12Z"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(time_from_iso(str_of(bad[i]), &ms));
    assert_int_equal(ms, 7);
    assert_true(time_from_iso(STR("2026-06-12T10:11:12Z"), &ms));
    assert_int_equal(ms, 1781259072000);
    assert_true(time_from_iso(STR("2026-06-12T10:11:12.3Z"), &ms));
    assert_int_equal(ms, 1781259072300);
    assert_true(time_from_iso(STR("2026-06-12T10:11:12.345678901Z"), &ms));
    assert_int_equal(ms, 1781259072345);
}

static void test_clock(void **state)
{
    (void)state;
    int64_t last = time_now_ms(), mono = time_mono_us();
    assert_true(last > 1600000000000);
    for (int i = 0; i < 1000; i++) {
        int64_t now = time_now_ms();
        assert_true(now >= last);
        last = now;
    }
    assert_true(time_mono_us() >= mono);
    time_fix(1000);
    assert_int_equal(time_now_ms(), 1000);
    assert_int_equal(time_now_ms(), 1001);
    time_fix(0);
    assert_true(time_now_ms() > 1600000000000);
}

enum { N_THREADS = 4, N_TIMES = 300000 };

static pthread_barrier_t together;

static void *ask_clock(void *arg)
{
    int64_t *times = arg;
    pthread_barrier_wait(&together);
    for (int i = 0; i < N_TIMES; i++)
        times[i] = time_now_ms();
    return NULL;
}

static int order(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The fixed clock gives each time once, so that a lost write shows. */
static void test_clock_of_threads(void **state)
{
    (void)state;
    pthread_t threads[N_THREADS];
    int64_t *times = xcalloc((size_t)N_THREADS * N_TIMES, sizeof *times);
    time_fix(1000);
    pthread_barrier_init(&together, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_clock, times + i * N_TIMES), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    qsort(times, (size_t)N_THREADS * N_TIMES, sizeof *times, order);
    for (int i = 0; i < N_THREADS * N_TIMES; i++)
        assert_int_equal(times[i], 1000 + i);
    time_fix(0);
    free(times);
}

static void test_ids(void **state)
{
    (void)state;
    char a[UUID_LEN + 1], b[UUID_LEN + 1], hex[9];
    id_uuid(a);
    id_uuid(b);
    assert_string_not_equal(a, b);
    for (int i = 0; i < 1000; i++) {
        id_uuid(a);
        assert_int_equal(strlen(a), UUID_LEN);
        assert_int_equal(strspn(a, "0123456789abcdef-"), UUID_LEN);
        assert_true(a[8] == '-' && a[13] == '-' && a[18] == '-' && a[23] == '-');
        assert_int_equal(a[14], '4');
        assert_true(strchr("89ab", a[19]) != NULL);
    }
    id_hex(hex, 8);
    assert_int_equal(strspn(hex, "0123456789abcdef"), 8);
    assert_int_equal(hex[8], 0);
    id_hex(hex, 0);
    assert_string_equal(hex, "");
}

static void test_fixed_ids(void **state)
{
    (void)state;
    char a[UUID_LEN + 1], b[UUID_LEN + 1];
    id_fix(7);
    id_uuid(a);
    id_fix(7);
    id_uuid(b);
    assert_string_equal(a, b);
    id_uuid(b);
    assert_string_not_equal(a, b);
    id_fix(0);
    id_uuid(b);
    assert_string_not_equal(a, b);
    for (int i = 0; i < 1000; i++)
        assert_true(random_below(3) < 3);
    assert_int_equal(random_below(1), 0);
    assert_int_equal(random_below(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iso),   cmocka_unit_test(test_from_iso),
        cmocka_unit_test(test_clock), cmocka_unit_test(test_clock_of_threads),
        cmocka_unit_test(test_ids),   cmocka_unit_test(test_fixed_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
