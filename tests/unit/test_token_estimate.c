/* SPDX-License-Identifier: MIT */
/* What a message may cost, and the window that a refusal names. */
#include "base/time.h"
#include "engine/compact.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_weight(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT;
    for (int i = 0; i < 1000; i++)
        buf_addz(&text, "\xe4\xb8\xad"); /* one Chinese character: a tokeniser takes 0.8 to 1.2 */
    assert_in_range(text_weight(buf_str(&text)), 800, 1250);
    assert_int_equal(text_weight(STR("abcdefgh")), 2);
    assert_int_equal(text_weight(STR("abcde")), 2);
    assert_int_equal(text_weight(STR("")), 0);
    assert_int_equal(text_weight(STR("caf\xc3\xa9")), 2); /* three letters and one beyond ASCII */
}

static void test_message(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_tool(&a, STR("c1"), STR("bash"), arena_fmt(&a, "%04000d", 1), false);
    int64_t whole = message_weight(&m);
    assert_in_range(whole, 1000, 1020);
    m.brief = STR("short");
    assert_in_range(message_weight(&m), 1, 20);
    struct block blocks[] = {{.kind = BLOCK_IMAGE, .data = arena_fmt(&a, "%0400000d", 1)},
                             {.kind = BLOCK_TEXT, .text = STR("look")}};
    struct message seen = {.role = ROLE_USER, .blocks = blocks, .n_blocks = 2};
    assert_in_range(message_weight(&seen), PICTURE_WEIGHT, PICTURE_WEIGHT + 20);
    seen.context = arena_fmt(&a, "%0400d", 1);
    assert_in_range(message_weight(&seen), PICTURE_WEIGHT + 100, PICTURE_WEIGHT + 120);
}

/* What the provider counted for the last request corrects the next estimate, within bounds. */
static void test_ratio(void **state)
{
    (void)state;
    struct session s = {0};
    static const struct session_settings st = {0};
    s.settings = &st;
    s.gauge = (struct gauge){.fixed = 1000, .sent = 1000, .window = 100000};
    assert_int_equal(window_estimate(&s), 1000);
    window_accepted(&s, &(struct usage){.input = 1500});
    assert_int_equal(window_estimate(&s), 1500);
    window_accepted(&s, &(struct usage){.input = 9000}); /* six times is the most */
    assert_int_equal(window_estimate(&s), 6000);
    window_accepted(&s, &(struct usage){.input = 1});
    assert_int_equal(window_estimate(&s), 500);
    window_accepted(&s, &(struct usage){.input = 3000, .is_estimated = true}); /* our own count */
    assert_int_equal(window_estimate(&s), 500);
    assert_int_equal(window_weight(&s, 100), 200);
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t window, about, counted;
    } refusals[] = {
        {"This model's maximum context length is 32768 tokens. However, you requested 40960 tokens "
         "(36864 in the messages, 4096 in the completion).",
         32768, 20000, 36864},
        {"This model's maximum context length is 8192 tokens. However, your messages resulted in "
         "9,001 tokens. (request-id 10234, req_99999x)",
         8192, 5000, 9001},
        {"prompt is too long: 213462 tokens > 200000 maximum", 200000, 100000, 213462},
        {"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 200000,
         150000, 190000},
        {"the request exceeds the available context size (4096 tokens), try increasing it", 4096, 0,
         0},
        {"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
         1048576, 900000, 1200000},
        {"Range of input length should be [1, 30720]", 30720, 0, 0},
        {"too large for model with 16,384 maximum context length", 16384, 0, 0},
        {"requested tokens exceed the context window of 128k", 128000, 0, 0},
        {"greater than the context length of 8192", 8192, 0, 0},
        {"maximum context length is 32768 tokens. However, you requested 33500 tokens (2500 in the "
         "messages, 31000 in the completion)",
         32768, 2000, 2500},
        {"please reduce the length of the messages", 0, 0, 0},
        {"error 400 of gpt-4-0613", 0, 0, 0},
        {"maximum of 3 images", 0, 0, 0},
        {"", 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct str text = str_of(refusals[i].text);
        int64_t window = learned_from_text(text);
        int64_t counted = learned_count_from_text(text, window, refusals[i].about);
        if (window != refusals[i].window || counted != refusals[i].counted)
            fail_msg("%s: %lld, %lld", refusals[i].text, (long long)window, (long long)counted);
    }
}

static void write_file(const char *dir, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/trivet", dir);
    if (access(path, F_OK) != 0)
        assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/trivet/windows.json", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* What an earlier process learned; a broken file, an old entry and nonsense count as absent. */
static void test_file(void **state)
{
    (void)state;
    char dir[] = "/tmp/trivet-learned-XXXXXX", text[400];
    assert_non_null(mkdtemp(dir));
    setenv("XDG_CACHE_HOME", dir, 1);
    int64_t now = time_now_ms();
    snprintf(
        text, sizeof text,
        "{\"windows\":[{\"model\":\"a/b\",\"server\":\"http://h/v1\",\"tokens\":32768,\"at_ms\":"
        "%lld},{\"model\":\"a/dense\",\"server\":\"\",\"ratio\":2.5,\"at_ms\":%lld},{\"model\":\"a/old\",\"server\":\"\",\"tokens\":32768,\"at_ms\":1000},"
        "{\"model\":\"a/no\",\"server\":\"\",\"tokens\":-5,\"ratio\":90,\"at_ms\":%lld}]}",
        (long long)now, (long long)now, (long long)now);
    write_file(dir, text);
    struct learned *l = learned_new();
    assert_int_equal(learned_find(l, STR("a/b"), STR("http://h/v1")).window, 32768);
    assert_int_equal(learned_find(l, STR("a/b"), STR("http://user:secret@h/v1")).window, 32768);
    assert_int_equal(learned_find(l, STR("a/b"), STR("http://other/v1")).window, 0);
    assert_true(learned_find(l, STR("a/dense"), STR("")).ratio == 2.5);
    assert_int_equal(learned_find(l, STR("a/dense"), STR("")).window, 0);
    assert_true(learned_find(l, STR("a/no"), STR("")).ratio == 0);
    assert_int_equal(learned_find(l, STR("a/old"), STR("")).window, 0);
    assert_int_equal(learned_find(l, STR("a/no"), STR("")).window, 0);
    learned_free(l);
    write_file(dir, "{\"windows\":[{\"model\"");
    l = learned_new();
    assert_int_equal(learned_find(l, STR("a/b"), STR("http://h/v1")).window, 0);
    learned_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight), cmocka_unit_test(test_message), cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_words),  cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
