/* SPDX-License-Identifier: MIT */
/* context/metrics*.c: the log of figures, its ranges and sums (kward 271-279). */
#include "context/metrics.h"

#include "base/path.h"
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW 1781259072345 /* Friday 2026-06-12T10:11:12.345Z */
#define ALL ((1u << METRICS_N) - 1)

static char dir[64];

static int fresh_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/trivet-metrics-XXXXXX");
    time_fix(NOW);
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void starts_at(const char *text, const char *wanted)
{
    struct metrics_range r;
    struct error err;
    char start[TIME_ISO_LEN + 1];
    assert_true(metrics_range(str_of(text), NOW, &r, &err));
    time_iso(r.start_ms, start);
    assert_string_equal(start, wanted);
    assert_int_equal(r.end_ms, NOW);
}

/* covers: kward 273, 274 */
static void ranges(void **state)
{
    (void)state;
    starts_at("", "2026-06-08T00:00:00.000Z");
    starts_at(" 1 WEEK ", "2026-06-08T00:00:00.000Z");
    starts_at("2 weeks", "2026-06-01T00:00:00.000Z");
    starts_at("1 minute", "2026-06-12T10:11:00.000Z");
    starts_at("10 minutes", "2026-06-12T10:02:00.000Z");
    starts_at("2 hours", "2026-06-12T09:00:00.000Z");
    starts_at("1 day", "2026-06-12T00:00:00.000Z");
    starts_at("13 days", "2026-05-31T00:00:00.000Z");
    starts_at("1 month", "2026-06-01T00:00:00.000Z");
    starts_at("2 months", "2026-05-01T00:00:00.000Z");
    starts_at("7\tmonths", "2025-12-01T00:00:00.000Z");
    starts_at("3 years", "2024-01-01T00:00:00.000Z");
}

/* covers: kward 272 */
static void no_ranges(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "banana",      "0 days", "1day",       "-1 days",
        "1 fortnight", "days",   "1 days ago", "99999999999999999999 days"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct metrics_range r;
        struct error err;
        assert_false(metrics_range(str_of(bad[i]), NOW, &r, &err));
        assert_non_null(strstr(err.text, metrics_usage));
    }
}

static unsigned enabled(const char *config)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    assert_true(json_parse(str_of(config), 0, 8, &j, &err));
    return metrics_enabled(j.root, "KWARD_LOGGING");
}

/* covers: kward 279 */
static void switches(void **state)
{
    (void)state;
    const char *on = "{\"logging\":{\"enabled\":true,\"tools\":true,\"errors\":\"yes\"}}";
    assert_int_equal(enabled("{}"), 0);
    assert_int_equal(enabled("{\"logging\":{\"tools\":true}}"), 0);
    assert_int_equal(enabled(on), 1u << METRICS_TOOLS);
    setenv("KWARD_LOGGING", "off", 1);
    assert_int_equal(enabled(on), 0);
    setenv("KWARD_LOGGING", " Yes ", 1);
    setenv("KWARD_LOGGING_TOKENS", "1", 1);
    setenv("KWARD_LOGGING_TOOLS", "maybe", 1); /* not understood: the config counts */
    assert_int_equal(enabled(on), 1u << METRICS_TOOLS | 1u << METRICS_TOKENS);
    assert_int_equal(enabled("{}"), 1u << METRICS_TOKENS);
    unsetenv("KWARD_LOGGING");
    unsetenv("KWARD_LOGGING_TOKENS");
    unsetenv("KWARD_LOGGING_TOOLS");
}

static void a_full_day_goes_on(void **state)
{
    (void)state;
    char path[100];
    struct stat st;
    snprintf(path, sizeof path, "%s/2026-06-12.jsonl", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), 10485760), 0);
    fclose(f);
    metrics_write(str_of(dir), METRICS_TOOLS, "tool_call", STR(",\"tool_name\":\"x\""));
    snprintf(path, sizeof path, "%s/2026-06-12-1.jsonl", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    assert_true(path_read(&text, str_of(path), 1000, &err));
    assert_string_equal(text.p,
                        "{\"timestamp\":\"2026-06-12T10:11:12.345Z\",\"category\":\"tools\","
                        "\"event\":\"tool_call\",\"tool_name\":\"x\"}\n");
}

static void stats_of(unsigned categories, const char *range, struct buf *text, struct json *ret)
{
    struct metrics_range r;
    struct error err;
    struct jw w = JW(text);
    assert_true(metrics_range(str_of(range), NOW + 10000, &r, &err));
    jw_obj(&w);
    metrics_stats(str_of(dir), categories, &r, &w);
    jw_obj_end(&w);
    assert_true(json_parse(buf_str(text), 0, 16, ret, &err));
}

/* covers: kward 275, 276, 277 */
static void sums(void **state)
{
    (void)state;
    struct str d = str_of(dir);
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    metrics_write(d, METRICS_TOKENS, "model_usage",
                  STR(",\"usage\":{\"input_tokens\":3,\"estimated\":true}"));
    metrics_write(d, METRICS_TOKENS, "model_usage",
                  STR(",\"usage\":{\"input_tokens\":4,\"own\":1.5}"));
    metrics_write(d, METRICS_PERFORMANCE, "turn",
                  STR(",\"duration_ms\":1.5,\"status\":\"completed\""));
    metrics_write(d, METRICS_PERFORMANCE, "turn",
                  STR(",\"duration_ms\":2.5,\"status\":\"failed\""));
    metrics_write(d, METRICS_ERRORS, "turn_error",
                  STR(",\"error_class\":\"X\",\"error_message\":\"hush\",\"error_code\":\"429\""));
    metrics_write(d, METRICS_TOOLS, "tool_call", STR(",\"tool_name\":\"t\",\"result_bytes\":7"));
    stats_of(ALL & ~(1u << METRICS_TOOLS), "1 day", &text, &j);
    assert_int_equal(json_get_int(j.root, "recordCount", 0), 5);
    yyjson_val *totals = json_get(json_get(j.root, "usageStats"), "totals");
    assert_int_equal(json_get_int(totals, "input_tokens", 0), 7);
    assert_true(json_get_num(totals, "own", 0) == 1.5);
    assert_null(json_get(totals, "estimated"));
    yyjson_val *turn = json_get(json_get(json_get(j.root, "performance"), "events"), "turn");
    assert_int_equal(json_get_int(turn, "count", 0), 2);
    assert_true(json_get_num(json_get(turn, "durationMs"), "avg", 0) == 2.0);
    assert_int_equal(json_get_int(json_get(turn, "statuses"), "failed", 0), 1);
    assert_int_equal(json_get_int(json_get(json_get(j.root, "errors"), "byCode"), "429", 0), 1);
    assert_int_equal(json_get_int(json_get(j.root, "tools"), "calls", 9), 0);
    assert_null(strstr(text.p, "hush"));
}

static void only_the_range_and_whole_lines(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    char path[100];
    snprintf(path, sizeof path, "%s/2026-06-12.jsonl", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(
        "{\"timestamp\":\"2026-06-11T23:59:59.999Z\",\"category\":\"tools\",\"event\":\"tool_call\"}\n"
        "{\"timestamp\":\"2026-06-12T00:00:00.000Z\",\"category\":\"tools\",\"event\":\"tool_call\"}\n"
        "broken\n{\"category\":\"tools\"}\n{\"timestamp\":\"2026-06-12T09:0",
        f);
    fclose(f);
    stats_of(ALL, "1 day", &text, &j);
    assert_int_equal(json_get_int(j.root, "recordCount", 0), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh_dir, remove_dir)
    static const struct CMUnitTest tests[] = {
        TEST(ranges),   TEST(no_ranges),
        TEST(switches), TEST(a_full_day_goes_on),
        TEST(sums),     TEST(only_the_range_and_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
