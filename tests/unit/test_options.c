/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include "base/mem.h"

#include <stdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct values {
    struct str model, color;
    bool is_quiet;
    int64_t n, ms;
    double cost;
    char seen[100];
};

static bool note(void *into, const struct option *o, struct str value, struct error *err)
{
    struct values *w = into;
    size_t at = strlen(w->seen);
    if (str_is(value, "bad"))
        return error_set(err, ERR_INVALID, "--%s is bad", o->name);
    snprintf(w->seen + at, sizeof w->seen - at, "%d:%.*s;", o->number, STR_FMT(value));
    return true;
}

static const char *const colors[] = {"auto", "always", "never", NULL};
static const struct option rows[] = {
    OPTION(values, model, OPT_TEXT, "model", 'm', "SLUG", "which model"),
    OPTION(values, is_quiet, OPT_FLAG, "quiet", 'q', NULL, "say less"),
    OPTION(values, color, OPT_CHOICE, "color", 0, "WHEN", "colours", .choices = colors),
    OPTION(values, n, OPT_COUNT, "max-turns", 0, "N", "rounds\nat most"),
    OPTION(values, ms, OPT_TIME, "timeout", 0, "TIME", "time"),
    OPTION(values, cost, OPT_MONEY, "max-cost", 0, "USD", "money"),
    OPTION(values, seen, OPT_TAKEN, "a-rather-long-name", 0, "RULE", "a rule", .accept = note,
           .number = 7),
    OPTION_END,
};

struct line {
    int argc;
    char *argv[20];
    int dashes;
    struct values values;
    struct error err;
};

/* The words of a line, split at blanks; an underscore stands for an empty word. */
static bool read_line(struct line *l, const char *text)
{
    static char copy[300];
    char *rest = copy, *word;
    *l = (struct line){0};
    snprintf(copy, sizeof copy, "%s", text);
    while ((word = strsep(&rest, " ")))
        l->argv[l->argc++] = strcmp(word, "_") == 0 ? "" : word;
    return options_read(rows, &l->argc, l->argv, &l->values, &l->dashes, &l->err);
}

static void test_anywhere(void **state)
{
    struct line l;
    (void)state;
    assert_true(read_line(&l, "fix --model a/b the -q bug --max-turns=3 --timeout 2m - "
                              "--max-cost .5 -- --quiet x"));
    assert_int_equal(l.argc, 6);
    assert_string_equal(l.argv[0], "fix");
    assert_string_equal(l.argv[2], "bug");
    assert_string_equal(l.argv[3], "-");
    assert_string_equal(l.argv[4], "--quiet");
    assert_int_equal(l.dashes, 4);
    assert_true(str_is(l.values.model, "a/b"));
    assert_true(l.values.is_quiet);
    assert_int_equal(l.values.n, 3);
    assert_int_equal(l.values.ms, 120000);
    assert_true(l.values.cost == 0.5);
    assert_true(read_line(&l, "-m=x --a-rather-long-name one --a-rather-long-name=two"));
    assert_string_equal(l.values.seen, "7:one;7:two;");
    assert_true(str_is(l.values.model, "x"));
}

static void test_errors(void **state)
{
    static const struct {
        const char *line, *text;
    } bad[] = {
        {"--modle x", "unknown option --modle: did you mean --model?"},
        {"--modle=x", "unknown option --modle=x: did you mean --model?"},
        {"--timeuot 3", "unknown option --timeuot: did you mean --timeout?"},
        {"--zzz", "unknown option --zzz (text that begins with a dash goes behind --)"},
        {"-x", "unknown option -x (text that begins with a dash goes behind --)"},
        {"-qm", "unknown option -qm (text that begins with a dash goes behind --)"},
        {"--quiet=1", "--quiet takes no value"},
        {"--model", "--model needs a value: SLUG"},
        {"--model --quiet", "--model needs a value: SLUG"},
        {"--model _", "--model needs a value: SLUG"},
        {"--model=", "--model needs a value: SLUG"},
        {"--color red", "--color is one of auto, always or never, not red"},
        {"--max-turns 0", "--max-turns needs a whole number from 1 on, not 0"},
        {"--max-turns 1x", "--max-turns needs a whole number from 1 on, not 1x"},
        {"--timeout soon", "--timeout needs a time such as 90s, 5m or 2h, not soon"},
        {"--timeout 0", "--timeout needs a time such as 90s, 5m or 2h, not 0"},
        {"--timeout 99999999999999h",
         "--timeout needs a time such as 90s, 5m or 2h, not 99999999999999h"},
        {"--max-cost nan", "--max-cost needs an amount such as 0.50, not nan"},
        {"--max-cost 0", "--max-cost needs an amount such as 0.50, not 0"},
        {"--a-rather-long-name bad", "--a-rather-long-name is bad"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct line l;
        assert_false(read_line(&l, bad[i].line));
        assert_int_equal(l.err.code, ERR_INVALID);
        assert_string_equal(l.err.text, bad[i].text);
    }
}

static void test_times(void **state)
{
    struct line l;
    (void)state;
    assert_true(read_line(&l, "--timeout 90"));
    assert_int_equal(l.values.ms, 90000);
    assert_true(read_line(&l, "--timeout 500ms"));
    assert_int_equal(l.values.ms, 500);
    assert_true(read_line(&l, "--timeout 2h"));
    assert_int_equal(l.values.ms, 7200000);
}

static void test_help(void **state)
{
    AUTO(buf) struct buf out = BUF_INIT;
    (void)state;
    options_help(rows, &out);
    assert_string_equal(out.p, "  -m, --model SLUG        which model\n"
                               "  -q, --quiet             say less\n"
                               "      --color WHEN        colours\n"
                               "      --max-turns N       rounds\n"
                               "                          at most\n"
                               "      --timeout TIME      time\n"
                               "      --max-cost USD      money\n"
                               "      --a-rather-long-name RULE\n"
                               "                          a rule\n");
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"exec", "sessions", "models", "run", NULL};
    (void)state;
    assert_string_equal(nearest_name(STR("model"), names), "models");
    assert_string_equal(nearest_name(STR("exce"), names), "exec");
    assert_string_equal(nearest_name(STR("session"), names), "sessions");
    assert_null(nearest_name(STR("x"), names));
    assert_null(nearest_name(STR("cat"), names));
    assert_null(nearest_name(STR_NONE, names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_anywhere), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_times),    cmocka_unit_test(test_help),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
