/* SPDX-License-Identifier: MIT */
/* Frames: every stream is fed whole, byte by byte and in random pieces, and must give the same
 * record of messages and faults each time. */
#include "wire/frame.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/mem.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

struct record {
    struct buf text; /* "m<body>" and "f<number><detail>", each ended by | */
    struct frame *f;
    int stop_after, free_after, pause_after; /* count down at every message; 0: never */
    const char *first;                       /* where the last body lay */
    size_t n_bytes;                          /* of all bodies */
    unsigned n_messages, n_faults;
};

static void on_message(void *arg, struct str body)
{
    struct record *r = arg;
    r->n_messages++;
    r->n_bytes += body.n;
    r->first = body.p;
    if (body.n < 1000)
        buf_addf(&r->text, "m%.*s|", STR_FMT(body));
    if (r->stop_after && --r->stop_after == 0)
        frame_stop(r->f);
    if (r->pause_after && --r->pause_after == 0)
        frame_pause(r->f);
    if (r->free_after && --r->free_after == 0)
        frame_free(r->f);
}

static void on_fault(void *arg, enum frame_fault fault, struct str detail)
{
    struct record *r = arg;
    r->n_faults++;
    buf_addf(&r->text, "f%d%.*s|", (int)fault, STR_FMT(detail));
}

static void begin(struct record *r, enum frame_kind kind, size_t limit)
{
    *r = (struct record){.text = BUF_INIT};
    r->f = frame_new(kind, limit, (struct frame_sink){on_message, on_fault, r});
}

/* piece 0: random sizes. */
static void feed_in_pieces(struct frame *f, struct str in, size_t piece)
{
    while (in.n) {
        size_t n = piece ? piece : 1 + (size_t)random_below(7);
        struct str head = str_cut(in, n);
        /* A copy of exactly this size, so that reading beyond it is seen. */
        char *copy = str_dup(head);
        assert_int_equal(frame_feed(f, str_n(copy, head.n)), head.n);
        free(copy);
        in = str_from(in, head.n);
    }
}

static void expect_one(enum frame_kind kind, size_t limit, struct str in, size_t piece,
                       const char *want)
{
    struct record r;
    begin(&r, kind, limit);
    feed_in_pieces(r.f, in, piece);
    frame_end(r.f);
    if (!str_is(buf_str(&r.text), want))
        fail_msg("pieces of %zu: got <%s>, want <%s>", piece, buf_str(&r.text).p, want);
    frame_free(r.f);
    buf_clear(&r.text);
}

static void expect(enum frame_kind kind, size_t limit, struct str in, const char *want)
{
    expect_one(kind, limit, in, in.n + 1, want);
    for (size_t piece = 1; piece < 6; piece++)
        expect_one(kind, limit, in, piece, want);
    for (int i = 0; i < 50; i++)
        expect_one(kind, limit, in, 0, want);
    /* Cut once, at every place. */
    for (size_t cut = 1; cut < in.n; cut++) {
        struct record r;
        begin(&r, kind, limit);
        frame_feed(r.f, str_cut(in, cut));
        frame_feed(r.f, str_from(in, cut));
        frame_end(r.f);
        assert_string_equal(buf_str(&r.text).p, want);
        frame_free(r.f);
        buf_clear(&r.text);
    }
}

static void test_lines(void **state)
{
    (void)state;
    expect(FRAME_LINES, 100, STR("{}\n[1]\n"), "m{}|m[1]|");
    expect(FRAME_LINES, 100, STR("a\nb"), "ma|mb|");
    expect(FRAME_LINES, 100, STR("a\r\nb\n"), "ma\r|mb|");
    expect(FRAME_LINES, 100, STR("a\rb\n"), "ma\rb|");
    expect(FRAME_LINES, 100, STR("\n \n\t\r\n  \r\na\n\n"), "ma|");
    expect(FRAME_LINES, 100, STR("\n \t"), "");
    expect(FRAME_LINES, 100, STR(""), "");
    /* A form feed is no white space in JSON: whoever parses it shall complain. */
    expect(FRAME_LINES, 100, STR("\f\n"), "m\f|");
    expect(FRAME_LINES, 100, STR(" a \n"), "m a |");
}

static void test_lines_cr(void **state)
{
    (void)state;
    expect(FRAME_LINES_CR, 100, STR("a\nb\r\nc\rd"), "ma|mb|mc|md|");
    expect(FRAME_LINES_CR, 100, STR("a\r\r\n\n\rb\r"), "ma|mb|");
    expect(FRAME_LINES_CR, 100, STR(" \r\n\f\v\r \t x \t\r\n"), "mx|");
    expect(FRAME_LINES_CR, 100, STR("\xe2\x80\xa8\n"), "m\xe2\x80\xa8|");
}

static void test_bom(void **state)
{
    (void)state;
    expect(FRAME_LINES, 100,
           STR("\xef\xbb\xbf"
               "a\n\xef\xbb\xbf"
               "b\n"),
           "ma|m\xef\xbb\xbf"
           "b|");
    expect(FRAME_LINES, 100,
           STR("\xef\xbb\xbf\n\xef\xbb\xbf"
               "b\n"),
           "m\xef\xbb\xbf"
           "b|");
    expect(FRAME_LINES, 100,
           STR("\xef\xbb"
               "a\n"),
           "m\xef\xbb"
           "a|");
    expect(FRAME_LINES, 100, STR("\xef\xbb\xbf"), "");
    expect(FRAME_LINES_CR, 100,
           STR("\xef\xbb\xbf"
               "a\r\xef\xbb\xbf"
               "b\n"),
           "ma|mb|");
    /* The mark does not count. */
    expect(FRAME_LINES, 4,
           STR("\xef\xbb\xbf"
               "abcd\nabcd\n"),
           "mabcd|mabcd|");
    expect(FRAME_LINES, 4,
           STR("\xef\xbb\xbf"
               "abcde\nabcd\n"),
           "f0|mabcd|");
    expect(FRAME_LINES, 4,
           STR("x\n\xef\xbb\xbf"
               "ab\n"),
           "mx|f0|");
}

static void test_too_long_line(void **state)
{
    (void)state;
    expect(FRAME_LINES, 4, STR("1234\n12345\nab\n"), "m1234|f0|mab|");
    expect(FRAME_LINES, 4, STR("123456789012345678901234567890\n\nab"), "f0|mab|");
    expect(FRAME_LINES, 4, STR("123456789"), "f0|");
    /* A line that was skipped was a line: no byte order mark behind it. */
    expect(FRAME_LINES, 4,
           STR("12345\n\xef\xbb\xbf"
               "a\n"),
           "f0|m\xef\xbb\xbf"
           "a|");
    expect(FRAME_LINES, 4, STR("12345\n12345\n"), "f0|f0|");
    expect(FRAME_LINES, 4, STR("      \na\n"), "f0|ma|");
    expect(FRAME_LINES_CR, 4, STR("1234567\rab\r\n1234567\r\ncd"), "f0|mab|f0|mcd|");
}

static void test_length(void **state)
{
    (void)state;
    const enum frame_kind k = FRAME_LENGTH;
    expect(k, 100, STR("Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\nabc"), "m{}|mabc|");
    expect(k, 100, STR("content-LENGTH:2\n\n{}"), "m{}|");
    expect(k, 100, STR("Content-Type: x: y\r\nContent-Length: \t 2 \r\nX:\r\n\r\n{}"), "m{}|");
    expect(k, 100, STR("Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}"), "m{}|");
    expect(k, 100, STR("Content-Length: 2\r\nContent-Length: x\r\n\r\nContent-Length: 1\n\n1"),
           "f2|m1|");
    expect(k, 100, STR("\r\n\n\r\nContent-Length: 2\r\n\r\n\r\n\r\nContent-Length: 1\n\n1"),
           "m\r\n|m1|");
    expect(k, 100, STR("Content-Length: 5\r\n\r\na\nb\r\n"), "ma\nb\r\n|");
    expect(k, 100, STR("Content-Length: 2\r\n\r\n\xc3\xa4"), "m\xc3\xa4|");
}

static void test_length_faults(void **state)
{
    (void)state;
    const enum frame_kind k = FRAME_LENGTH;
    expect(k, 100, STR("nonsense\r\nContent-Length: 2\r\n\r\n{}"), "f1nonsense|m{}|");
    expect(k, 100, STR("nonsense\n\nContent-Length: 2\r\n\r\n{}"), "f1nonsense|m{}|");
    expect(k, 100, STR("Content-Length: 2\r\nnonsense\r\n\r\n{}"), "f1nonsense|m{}|");
    expect(k, 100, STR("a\nb\n"), "f1a|f1b|");
    static const char *const bad[] = {"0",  "-1",  "+2",  "abc", "",
                                      "2x", "0x2", "2.0", "1 2", "99999999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(buf) struct buf in = BUF_INIT;
        buf_addf(&in, "Content-Length: %s\r\n\r\nContent-Length: 2\r\n\r\n{}", bad[i]);
        expect(k, 100, buf_str(&in), "f2|m{}|");
    }
    expect(k, 100, STR("Content-Type: x\r\n\r\nContent-Length: 2\r\n\r\n{}"), "f2|m{}|");
    expect(k, 4, STR("Content-Length: 4\n\nabcdContent-Length: 5\n\nab\nCoContent-Length: 1\n\n1"),
           "mabcd|f0|m1|");
}

static void test_length_end(void **state)
{
    (void)state;
    const enum frame_kind k = FRAME_LENGTH;
    expect(k, 100, STR("Content-Length: 5\r\n\r\nab"), "f3|");
    expect(k, 100, STR("Content-Length: 5\r\n\r\n"), "f3|");
    expect(k, 100, STR("Content-Length: 5\r\n"), "");
    expect(k, 100, STR("Content-Len"), "");
    expect(k, 100, STR("nonsense"), "");
    expect(k, 4, STR("Content-Length: 5\r\n\r\nab"), "f0|");
    expect(k, 100, STR("Content-Length: 2\r\n\r\n{}\r\n"), "m{}|");
}

static void test_long_header(void **state)
{
    (void)state;
    AUTO(buf) struct buf in = BUF_INIT;
    buf_addz(&in, "X: ");
    while (in.n < LIMIT_HEADER_BYTES)
        buf_addc(&in, 'x');
    struct buf fits = BUF_INIT;
    buf_add(&fits, buf_str(&in));
    buf_addz(&fits, "\nContent-Length: 2\n\n{}");
    buf_addz(&in, "x\nContent-Length: 2\n\n{}");
    for (size_t piece = 1; piece < in.n * 2; piece *= 7) {
        expect_one(FRAME_LENGTH, 100, buf_str(&in), piece, "f0|m{}|");
        expect_one(FRAME_LENGTH, 100, buf_str(&fits), piece, "m{}|");
    }
    buf_clear(&fits);
}

static void test_whole_messages_are_not_copied(void **state)
{
    (void)state;
    struct record r;
    begin(&r, FRAME_LINES, 100);
    struct str in = STR("abc\ndef\n");
    frame_feed(r.f, in);
    assert_ptr_equal(r.first, in.p + 4);
    frame_free(r.f);
    buf_clear(&r.text);
    begin(&r, FRAME_LENGTH, 100);
    in = STR("Content-Length: 2\r\n\r\n{}");
    frame_feed(r.f, in);
    assert_ptr_equal(r.first, in.p + in.n - 2);
    frame_free(r.f);
    buf_clear(&r.text);
}

static size_t memory_in_use(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    enum { BIG = 64 << 20 };
    char *bytes = xmalloc(BIG);
    memset(bytes, 'x', BIG);
    bytes[BIG - 1] = '\n';
    struct record r;
    size_t before = memory_in_use();
    /* 64 MiB at once within the limit: passed on, not copied. */
    begin(&r, FRAME_LINES, BIG);
    frame_feed(r.f, str_n(bytes, BIG));
    assert_int_equal(r.n_bytes, BIG - 1);
    assert_ptr_equal(r.first, bytes);
    /* In pieces: copied, and the memory is given back afterwards. */
    for (size_t at = 0; at < BIG; at += 1 << 20)
        frame_feed(r.f, str_n(bytes + at, 1 << 20));
    assert_int_equal(r.n_messages, 2);
    assert_int_equal(r.n_bytes, 2 * (BIG - 1));
    assert_true(memory_in_use() < before + (1 << 20));
    frame_free(r.f);
    /* Beyond the limit: nothing is kept while the rest is skipped. */
    begin(&r, FRAME_LINES, 1 << 20);
    for (size_t at = 0; at < BIG; at += 1 << 16) {
        frame_feed(r.f, str_n(bytes + at, 1 << 16));
        assert_true(memory_in_use() < before + (3 << 20));
    }
    assert_int_equal(r.n_messages, 0);
    assert_int_equal(r.n_faults, 1);
    frame_free(r.f);
    buf_clear(&r.text);
    /* A large length costs nothing before the bytes arrive. */
    begin(&r, FRAME_LENGTH, BIG);
    frame_feed(r.f, STR("Content-Length: 60000000\r\n\r\nx"));
    assert_true(memory_in_use() < before + (1 << 20));
    frame_free(r.f);
    free(bytes);
}

static void test_stop_inside(void **state)
{
    (void)state;
    struct record r;
    begin(&r, FRAME_LINES, 100);
    r.stop_after = 2;
    assert_int_equal(frame_feed(r.f, STR("a\nb\nc\nd")), 7);
    frame_feed(r.f, STR("e\n"));
    frame_end(r.f);
    assert_string_equal(r.text.p, "ma|mb|");
    frame_free(r.f);
    buf_clear(&r.text);
}

static void test_free_inside(void **state)
{
    (void)state;
    struct record r;
    begin(&r, FRAME_LINES, 100);
    r.free_after = 2;
    frame_feed(r.f, STR("a\nb"));
    frame_feed(r.f, STR("b\nc\n"));
    assert_string_equal(r.text.p, "ma|mbb|");
    buf_clear(&r.text);
    begin(&r, FRAME_LENGTH, 100);
    r.free_after = 1;
    frame_feed(r.f, STR("Content-Length: 2\n\n{}Content-Length: 2\n\n{}"));
    assert_string_equal(r.text.p, "m{}|");
    buf_clear(&r.text);
    begin(&r, FRAME_LINES, 100);
    r.free_after = 1;
    frame_feed(r.f, STR("a"));
    frame_end(r.f);
    assert_string_equal(r.text.p, "ma|");
    buf_clear(&r.text);
    frame_free(NULL);
}

static void test_pause_inside(void **state)
{
    (void)state;
    struct record r;
    struct str in = STR("a\nb\nc\nd\n");
    begin(&r, FRAME_LINES, 100);
    r.pause_after = 2;
    assert_int_equal(frame_feed(r.f, in), 4);
    assert_string_equal(r.text.p, "ma|mb|");
    assert_int_equal(frame_feed(r.f, str_from(in, 4)), 4);
    assert_string_equal(r.text.p, "ma|mb|mc|md|");
    frame_free(r.f);
    buf_clear(&r.text);
}

static void test_put(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    frame_put(&out, FRAME_LINES, STR("{}"));
    frame_put(&out, FRAME_LINES_CR, STR("[]"));
    assert_string_equal(out.p, "{}\n[]\n");
    buf_reset(&out);
    frame_put(&out, FRAME_LENGTH, STR("\"\xc3\xa4\""));
    assert_string_equal(out.p, "Content-Length: 4\r\n\r\n\"\xc3\xa4\"");
}

static void test_random_streams(void **state)
{
    (void)state;
    static const char *const parts[] = {"\n",
                                        "\r",
                                        "\r\n",
                                        "a",
                                        "bcd",
                                        " ",
                                        "\xef\xbb\xbf",
                                        "Content-Length: 3",
                                        "content-length:12",
                                        ":",
                                        "-1",
                                        "{}"};
    for (int round = 0; round < 300; round++) {
        AUTO(buf) struct buf in = BUF_INIT;
        for (int i = 0; i < 30; i++)
            buf_addz(&in, parts[random_below(ARRAY_LEN(parts))]);
        for (enum frame_kind kind = FRAME_LINES; kind <= FRAME_LENGTH; kind++) {
            struct record r;
            begin(&r, kind, 10);
            frame_feed(r.f, buf_str(&in));
            frame_end(r.f);
            expect_one(kind, 10, buf_str(&in), 1, buf_str(&r.text).p);
            expect_one(kind, 10, buf_str(&in), 0, buf_str(&r.text).p);
            frame_free(r.f);
            buf_clear(&r.text);
        }
    }
}

#define HEAD(n) "Content-Length: " #n "\r\n\r\n"

/* A body that is longer or shorter than announced costs no other message. */
static void test_wrong_length(void **state)
{
    (void)state;
    /* Too long, by a part of the next header and by more than there is. */
    expect(FRAME_LENGTH, 1000, STR(HEAD(9) "{\"a\":1}" HEAD(2) "{}" HEAD(3) "[1]"),
           "m{\"a\":1}Co|m{}|m[1]|");
    expect(FRAME_LENGTH, 1000, STR(HEAD(24) "{\"a\":1}" HEAD(12) "[1,2,3,4,56]" HEAD(3) "[1]"),
           "m{\"a\":1}Content-Length: 1|m[1,2,3,4,56]|m[1]|");
    expect(FRAME_LENGTH, 1000, STR(HEAD(25) "{\"a\":1}" HEAD(2) "{}" HEAD(3) "[1]"),
           "m{\"a\":1}Content-Length: 2\r|m{}|m[1]|");
    expect(FRAME_LENGTH, 1000, STR(HEAD(26) "{\"a\":1}" HEAD(2) "{}" HEAD(3) "[1]"),
           "m{\"a\":1}|m{}|m[1]|");
    expect(FRAME_LENGTH, 1000, STR(HEAD(900) "{\"a\":1}" HEAD(2) "{}" HEAD(3) "[1]"),
           "m{\"a\":1}|m{}|m[1]|");
    expect(FRAME_LENGTH, 1000, STR(HEAD(900) "{\n}\ncontent-length:2\n\n{}" HEAD(3) "[1]"),
           "m{\n}\n|m{}|m[1]|");
    expect(FRAME_LENGTH, 1000, STR(HEAD(900) HEAD(2) "{}"), "f2|m{}|");
    /* Longer than the limit, and so skipped. */
    expect(FRAME_LENGTH, 50, STR(HEAD(900) "{\"a\":1}" HEAD(2) "{}" HEAD(3) "[1]"), "f0|m{}|m[1]|");
    /* Too short: what is left is no header, behind it there is one. */
    expect(FRAME_LENGTH, 1000, STR(HEAD(5) "{\"a\":1}" HEAD(2) "{}" HEAD(3) "[1]"),
           "m{\"a\":|f11}|m{}|m[1]|");
    expect(FRAME_LENGTH, 1000, STR(HEAD(3) "{\"a\":\"b:c\"}" HEAD(2) "{}"),
           "m{\"a|f1\":\"b:c\"}|m{}|");
    /* Unreadable. */
    expect(FRAME_LENGTH, 1000, STR("Content-Length: x\r\n\r\n{\"a\":1}" HEAD(2) "{}"),
           "f2|f1{\"a\":1}|m{}|");
    /* The words inside of a string are text. */
    expect(FRAME_LENGTH, 1000, STR(HEAD(31) "[\"Content-Length: 2\\r\\n\\r\\n{}\"]" HEAD(2) "{}"),
           "m[\"Content-Length: 2\\r\\n\\r\\n{}\"]|m{}|");
    /* Another header whose name ends alike is none. */
    expect(FRAME_LENGTH, 1000, STR("X-Content-Length: 9\r\n" HEAD(2) "{}"), "m{}|");
}

/* The rest of a body that is longer than a header line may be. */
static void test_long_rest(void **state)
{
    (void)state;
    AUTO(buf) struct buf in = BUF_INIT;
    buf_addz(&in, HEAD(3) "{\"a\":\"");
    for (int i = 0; i < LIMIT_HEADER_BYTES + 1; i++)
        buf_addc(&in, 'x');
    buf_addz(&in, "\"}" HEAD(2) "{}" HEAD(3) "[1]");
    for (size_t piece = 1; piece < 200; piece += 7)
        expect_one(FRAME_LENGTH, 1 << 20, buf_str(&in), piece, "m{\"a|f0|m{}|m[1]|");
    expect_one(FRAME_LENGTH, 1 << 20, buf_str(&in), in.n, "m{\"a|f0|m{}|m[1]|");
}

int main(void)
{
    id_fix(42);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_cr),
        cmocka_unit_test(test_bom),
        cmocka_unit_test(test_too_long_line),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_length_faults),
        cmocka_unit_test(test_length_end),
        cmocka_unit_test(test_long_header),
        cmocka_unit_test(test_whole_messages_are_not_copied),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_stop_inside),
        cmocka_unit_test(test_free_inside),
        cmocka_unit_test(test_pause_inside),
        cmocka_unit_test(test_put),
        cmocka_unit_test(test_random_streams),
        cmocka_unit_test(test_wrong_length),
        cmocka_unit_test(test_long_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
