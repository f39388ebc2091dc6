/* SPDX-License-Identifier: MIT */
/* What providers say about limits: their headers one by one (providers 53-55), and the way from an
 * answer into the book.  The answers come from recordings that the test writes. */
#include "base/json.h"
#include "base/time.h"
#include "net/record.h"
#include "providers/limits.h"
#include "providers/openai/openai.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static const int64_t now = 1790000000000;

static void say(struct limits_book *b, const char *name, const char *value)
{
    limits_header(b, "p", str_of(name), str_of(value));
}

static struct limits get(struct limits_book *b)
{
    struct limits l;
    assert_true(limits_get(b, "p", &l));
    return l;
}

static struct limits_book *begin(void)
{
    struct limits_book *b = limits_book_new();
    time_fix(now);
    limits_begin(b, "p");
    return b;
}

static void end(struct limits_book *b)
{
    limits_book_free(b);
    time_fix(0);
}

static void test_openai(void **state)
{
    (void)state;
    struct limits_book *b = begin();
    say(b, "x-ratelimit-limit-requests", "60");
    say(b, "X-RateLimit-Remaining-Requests", " 59 ");
    say(b, "x-ratelimit-reset-requests", "1s");
    say(b, "x-ratelimit-remaining-tokens", "149984");
    say(b, "x-ratelimit-reset-tokens", "6m0s");
    struct limits l = get(b);
    assert_true(l.requests.is_known && l.tokens.is_known && !l.input_tokens.is_known);
    assert_int_equal(l.requests.limit, 60);
    assert_int_equal(l.requests.remaining, 59);
    assert_in_range(l.requests.reset_ms, now + 1000, now + 1010);
    assert_int_equal(l.tokens.limit, -1); /* not said */
    assert_int_equal(l.tokens.remaining, 149984);
    assert_in_range(l.tokens.reset_ms, now + 360000, now + 360010);
    /* A later answer replaces what it repeats and keeps the rest; nonsense changes nothing. */
    limits_begin(b, "p");
    say(b, "x-ratelimit-remaining-requests", "58");
    say(b, "x-ratelimit-limit-requests", "many");
    say(b, "x-ratelimit-reset-requests", "soon");
    say(b, "x-ratelimit-remaining-cookies", "3");
    say(b, "x-ratelimit-", "3");
    l = get(b);
    assert_int_equal(l.requests.remaining, 58);
    assert_int_equal(l.requests.limit, 60);
    assert_in_range(l.requests.reset_ms, now + 1000, now + 1010);
    end(b);
}

static void test_anthropic(void **state)
{
    (void)state;
    struct limits_book *b = begin();
    say(b, "anthropic-ratelimit-requests-limit", "50");
    say(b, "anthropic-ratelimit-requests-remaining", "0");
    say(b, "anthropic-ratelimit-requests-reset", "2026-09-21T13:00:00Z");
    say(b, "anthropic-ratelimit-input-tokens-remaining", "20000");
    say(b, "anthropic-ratelimit-output-tokens-limit", "8000");
    say(b, "anthropic-ratelimit-tokens-limit", "28000");
    say(b, "anthropic-ratelimit-", "1");
    say(b, "anthropic-ratelimit-unified", "1");
    struct limits l = get(b);
    int64_t reset;
    assert_true(time_from_iso(STR("2026-09-21T13:00:00Z"), &reset));
    assert_int_equal(l.requests.limit, 50);
    assert_int_equal(l.requests.remaining, 0);
    assert_int_equal(l.requests.reset_ms, reset);
    assert_int_equal(l.input_tokens.remaining, 20000);
    assert_int_equal(l.output_tokens.limit, 8000);
    assert_int_equal(l.tokens.limit, 28000);
    end(b);
}

static void test_codex(void **state)
{
    (void)state;
    struct limits_book *b = begin();
    say(b, "x-codex-primary-used-percent", "37.5");
    say(b, "x-codex-primary-window-minutes", "300");
    say(b, "x-codex-primary-reset-at", "1790000300");
    say(b, "x-codex-secondary-used-percent", "120");
    say(b, "x-codex-credits-has-credits", "true");
    say(b, "x-codex-credits-unlimited", "False");
    say(b, "x-codex-credits-balance", "12.34");
    say(b, "x-codex-active-limit", "codex");
    say(b, "x-codex-promo-message", "hello \xff w\xc3\xb6rld");
    say(b, "x-gpt-x-primary-used-percent", "5");
    say(b, "x-gpt-x-primary-colour", "5");
    say(b, "x-primary-used-percent", "5");
    struct limits l = get(b);
    const struct limit_family *f = limits_family(&l, "codex");
    assert_non_null(f);
    assert_true(f->primary.is_known && f->primary.used_percent == 37.5);
    assert_int_equal(f->primary.minutes, 300);
    assert_int_equal(f->primary.reset_ms, 1790000300000);
    assert_true(f->secondary.used_percent == 100); /* clamped */
    assert_int_equal(f->secondary.minutes, 0);
    assert_true(l.has_credits_known && l.has_credits && !l.is_unlimited);
    assert_string_equal(l.balance, "12.34");
    assert_string_equal(l.active_limit, "codex");
    assert_string_equal(l.promo, "hello \xef\xbf\xbd w\xc3\xb6rld");
    assert_int_equal(l.n_families, 2);
    assert_true(limits_family(&l, "gpt-x")->primary.used_percent == 5);
    assert_null(limits_family(&l, "other"));
    for (int i = 0; i < 20; i++) { /* a peer cannot make it grow */
        char name[60];
        snprintf(name, sizeof name, "x-f%d-primary-used-percent", i);
        say(b, name, "1");
    }
    assert_int_equal(get(b).n_families, LIMIT_FAMILIES);
    end(b);
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"12ms", 12}, {"6m0s", 360000}, {"1h2m3.5s", 3723500}, {"0s", 0},
                {"1.2ms", 2}, {"500us", 1},     {"24h0m0s", 86400000}};
    static const char *const bad[] = {
        "", "12", "s", "1d", "1.2.3s", "-1s", "1m ", "9e99h", "99999999999999999999h"};
    int64_t ms;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(limits_duration(str_of(good[i].text), &ms));
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(limits_duration(str_of(bad[i]), &ms));
}

static void test_nobody(void **state)
{
    (void)state;
    struct limits l;
    limits_begin(NULL, "p");
    limits_header(NULL, "p", STR("x-ratelimit-limit-requests"), STR("1"));
    limits_wait(NULL, "p", 5);
    assert_false(limits_get(NULL, "p", &l));
    struct limits_book *b = begin();
    limits_header(b, "other", STR("x-ratelimit-limit-requests"), STR("1"));
    assert_false(limits_get(b, "other", &l)); /* has not answered */
    limits_wait(b, "p", 30000);
    assert_in_range(get(b).retry_at_ms, now + 30000, now + 30010);
    limits_begin(b, "p"); /* the next answer no longer asks to wait */
    assert_int_equal(get(b).retry_at_ms, 0);
    end(b);
}

/* ---- through the transport ---- */

static char dir[40];

static struct ask make_ask(const struct message *m, struct limits_book *b)
{
    return (struct ask){.model = {.id = STR("fake")},
                        .messages = m,
                        .n_messages = 1,
                        .base_url = STR("http://127.0.0.1:9/v1"),
                        .limits = b};
}

/* An answer to this ask, as record.h has it. */
static void write_recording(unsigned n, const struct ask *ask, const char *rest)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(buf) struct buf line = BUF_INIT;
    struct jw w = JW(&line);
    openai_put_body(ask, &body);
    jw_obj(&w);
    jw_kz(&w, "type", "request");
    jw_kz(&w, "method", "POST");
    jw_kz(&w, "url", "http://127.0.0.1:9/v1/chat/completions");
    jw_kstr(&w, "text", buf_str(&body));
    jw_obj_end(&w);
    record_put_path(&path, dir, n);
    FILE *f = fopen(path.p, "w");
    assert_non_null(f);
    fprintf(f, "%s\n%s", line.p, rest);
    fclose(f);
}

static void on_end(void *arg, struct reply *reply, const struct error *err)
{
    (void)reply;
    *(enum err_code *)arg = err ? err->code : ERR_N_CODES;
}

static enum err_code run_ask(struct loop *l, const struct ask *ask)
{
    enum err_code code = ERR_NONE;
    struct error err;
    struct ask_sink sink = {.on_end = on_end, .arg = &code};
    struct stream *s = provider_openai.start(l, ask, &sink, &err);
    if (!s)
        fail_msg("%s", err.text);
    for (int i = 0; i < 100 && code == ERR_NONE; i++)
        loop_step(l, false);
    provider_openai.free(s);
    return code;
}

static void test_transport(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct loop *l = loop_new();
    struct limits_book *b = limits_book_new();
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    struct ask ask = make_ask(&m, b);
    struct limits got;
    strcpy(dir, "/tmp/trivet-limits-XXXXXX");
    assert_non_null(mkdtemp(dir));
    write_recording(
        1, &ask,
        "{\"type\":\"status\",\"status\":429,\"content_type\":\"application/json\"}\n"
        "{\"type\":\"header\",\"name\":\"x-ratelimit-remaining-requests\",\"value\":\"0\"}\n"
        "{\"type\":\"header\",\"name\":\"retry-after\",\"value\":\"7\"}\n"
        "{\"type\":\"header\",\"name\":\"retry-after-ms\",\"value\":\"2500\"}\n"
        "{\"type\":\"body\",\"text\":\"{\\\"error\\\":{\\\"message\\\":\\\"slow\\\"}}\"}\n"
        "{\"type\":\"end\"}\n");
    write_recording(
        2, &ask,
        "{\"type\":\"status\",\"status\":200,\"content_type\":\"text/event-stream\"}\n"
        "{\"type\":\"header\",\"name\":\"x-ratelimit-remaining-requests\",\"value\":\"9\"}\n"
        "{\"type\":\"body\",\"text\":\"data: {\\\"choices\\\":[{\\\"index\\\":0,\\\"delta\\\":"
        "{},\\\"finish_reason\\\":\\\"stop\\\"}]}\\n\\ndata: [DONE]\\n\\n\"}\n"
        "{\"type\":\"end\"}\n");
    setenv("TRIVET_REPLAY", dir, 1);
    assert_false(limits_get(b, "openai", &got));
    int64_t before = time_now_ms();
    assert_int_equal(run_ask(l, &ask), ERR_RATE);
    assert_true(limits_get(b, "openai", &got));
    assert_int_equal(got.requests.remaining, 0);
    /* covers: providers 54 */
    assert_in_range(got.retry_at_ms, before + 2500, time_now_ms() + 2500);
    assert_int_equal(run_ask(l, &ask), ERR_N_CODES);
    assert_true(limits_get(b, "openai", &got));
    assert_int_equal(got.requests.remaining, 9);
    assert_int_equal(got.retry_at_ms, 0);
    http_close(l);
    limits_book_free(b);
    loop_free(l);
    for (unsigned n = 1; n <= 2; n++) {
        AUTO(buf) struct buf path = BUF_INIT;
        record_put_path(&path, dir, n);
        unlink(path.p);
    }
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai), cmocka_unit_test(test_anthropic),
        cmocka_unit_test(test_codex),  cmocka_unit_test(test_durations),
        cmocka_unit_test(test_nobody), cmocka_unit_test(test_transport),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
