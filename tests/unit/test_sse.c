/* SPDX-License-Identifier: MIT */
/* Every rule of the SSE parser, each stream fed whole, byte by byte, and in random pieces. */
#include "base/mem.h"
#include "net/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void on_event(void *arg, struct str event, struct str data)
{
    buf_addf(arg, "[%.*s|%.*s]", STR_FMT(event), STR_FMT(data));
}

static void on_comment(void *arg)
{
    buf_addz(arg, "#");
}

static void feed_in_pieces(struct str stream, size_t (*size)(void), struct buf *heard)
{
    struct sse s;
    sse_init(&s, 1 << 20);
    s.on_event = on_event;
    s.on_comment = on_comment;
    s.arg = heard;
    while (stream.n > 0) {
        /* An exact copy, so that the sanitizer sees a read beyond the piece. */
        struct str piece = str_cut(stream, size());
        AUTO_FREE char *copy = xmalloc(piece.n);
        memcpy(copy, piece.p, piece.n);
        assert_true(sse_feed(&s, str_n(copy, piece.n)));
        stream = str_from(stream, piece.n);
    }
    assert_true(sse_end(&s));
    sse_clear(&s);
}

static size_t whole(void)
{
    return SIZE_MAX;
}

static size_t one(void)
{
    return 1;
}

static size_t some(void)
{
    static uint32_t seed = 7;
    seed = seed * 1664525 + 1013904223;
    return 1 + (seed >> 16) % 7;
}

static void expect(struct str stream, const char *events)
{
    size_t (*const sizes[])(void) = {whole, one, some, some, some, some};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        AUTO(buf) struct buf heard = BUF_INIT;
        feed_in_pieces(stream, sizes[i], &heard);
        assert_string_equal(buf_str(&heard).p, events);
    }
}

static void test_fields(void **state) /* covers: providers 3, 4, 9 */
{
    (void)state;
    expect(STR("data: a\n\n"), "[|a]");
    expect(STR("data:a\n\n"), "[|a]");
    expect(STR("data:  a\n\n"), "[| a]");
    expect(STR("data:\n\n"), "[|]");
    expect(STR("data\n\n"), "[|]");
    expect(STR("event: x\ndata: a\n\n"), "[x|a]");
    expect(STR("event: x\nevent: y\ndata: a\n\n"), "[y|a]");
    expect(STR("event: only\n\n"), "[only|]");
    expect(STR("data: a\ndata: b\ndata: c\n\n"), "[|a\nb\nc]");
    expect(STR("data: a\ndata:\n\n"), "[|a\n]");
    expect(STR("id: 1\nretry: 10\nunknown: x\nnocolon\ndata: a:b: c\n\n"), "[|a:b: c]");
    expect(STR("Data: a\n data: b\n\n"), "");
}

static void test_line_ends(void **state) /* covers: providers 2 */
{
    (void)state;
    expect(STR("data: a\r\n\r\ndata: b\r\n\r\n"), "[|a][|b]");
    expect(STR("data: a\r\rdata: b\r\r"), "[|a][|b]");
    expect(STR("data: a\n\r\ndata: b\r\n\n"), "[|a][|b]");
    expect(STR("data: a\r\ndata: b\r\n\r\n"), "[|a\nb]");
    expect(STR("data: a\rdata: b\n\n"), "[|a\nb]");
    expect(STR("\n\n\r\n\r\rdata: a\n\n\n\n"), "[|a]");
}

/* Lines longer than the stretch in which their end is looked for. */
static void test_long_lines(void **state)
{
    (void)state;
    static const char *const ends[] = {"\n", "\r", "\r\n"};
    for (size_t n = 500; n < 1040; n += 3)
        for (size_t e = 0; e < ARRAY_LEN(ends); e++) {
            AUTO(buf) struct buf stream = BUF_INIT, want = BUF_INIT;
            buf_addz(&stream, "data: ");
            for (size_t i = 0; i < n; i++)
                buf_addc(&stream, 'x');
            buf_addf(&stream, "%s%sdata:y%s%s", ends[e], ends[e], ends[e], ends[e]);
            buf_addf(&want, "[|%.*s][|y]", (int)n, stream.p + 6);
            expect(buf_str(&stream), want.p);
        }
}

static void test_byte_order_mark(void **state) /* covers: providers 6 */
{
    (void)state;
    expect(STR("\xef\xbb\xbf"
               "data: a\n\n"),
           "[|a]");
    expect(STR("\xef\xbb\xbf\xef\xbb\xbf"
               "data: a\n\n"),
           "");
    expect(STR("data: a\n\n\xef\xbb\xbf"
               "data: b\n\n"),
           "[|a]");
    expect(STR("data: \xef\xbb\xbf\n\n"), "[|\xef\xbb\xbf]");
    expect(STR("\xef\xbb\xbf\n\ndata: a\n\n"), "[|a]");
}

static void test_comments(void **state) /* covers: providers 5 */
{
    (void)state;
    expect(STR(": OPENROUTER PROCESSING\n\ndata: a\n:\ndata: b\n\n"), "##[|a\nb]");
    expect(STR(":data: x\n\n"), "#");
}

static void test_end_of_stream(void **state) /* covers: providers 7 */
{
    (void)state;
    expect(STR("data: a\n\ndata: b"), "[|a][|b]");
    expect(STR("data: a\n\ndata: b\n"), "[|a][|b]");
    expect(STR("data: a\r"), "[|a]");
    expect(STR("event: x"), "[x|]");
    expect(STR(""), "");
    expect(STR("data: [DONE]\n\n"), "[|[DONE]]");
}

static void test_bytes_stay_whole(void **state) /* covers: providers 1 */
{
    (void)state;
    expect(STR("data: gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\n\n"),
           "[|gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80]");
}

static void test_limits(void **state)
{
    (void)state;
    AUTO(buf) struct buf heard = BUF_INIT;
    struct sse s;
    sse_init(&s, 16);
    s.on_event = on_event;
    s.arg = &heard;
    assert_true(sse_feed(&s, STR("data: 0123456789\n\n")));
    assert_false(sse_feed(&s, STR("data: 0123456789a\n\n"))); /* a line in one piece */
    sse_clear(&s);
    sse_init(&s, 16);
    s.on_event = on_event;
    s.arg = &heard;
    bool is_fine = true;
    for (int i = 0; i < 20 && is_fine; i++)
        is_fine = sse_feed(&s, STR("x")); /* a line that never ends */
    assert_false(is_fine);
    sse_clear(&s);
    sse_init(&s, 16);
    s.on_event = on_event;
    s.arg = &heard;
    assert_true(sse_feed(&s, STR("data: 01234567\n")));
    assert_false(sse_feed(&s, STR("data: 89012345\n"))); /* an event of many lines */
    sse_clear(&s);
    assert_string_equal(buf_str(&heard).p, "[|0123456789]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),           cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_long_lines),       cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_comments),         cmocka_unit_test(test_end_of_stream),
        cmocka_unit_test(test_bytes_stay_whole), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
