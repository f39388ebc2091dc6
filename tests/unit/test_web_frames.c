/* SPDX-License-Identifier: MIT */
/* WebSocket frames: messages whole, in fragments, byte by byte and paused; what is refused. */
#include "web/frames.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { LIMIT = 1000 };

struct peer {
    struct frames *f;
    struct buf seen; /* "m<text>|" message, "p<payload>|" ping, "o|" pong, "c<code>|", "f<code>|" */
    bool pauses;     /* after each message */
    char free_at;    /* the letter of the event at which it is freed */
};

static void note(struct peer *p, char what)
{
    buf_addc(&p->seen, '|');
    if (p->free_at == what)
        frames_free(take(&p->f));
}

static void on_message(void *arg, struct str text)
{
    struct peer *p = arg;
    buf_addf(&p->seen, "m%.*s", STR_FMT(text));
    if (p->pauses)
        frames_pause(p->f, true);
    note(p, 'm');
}

static void on_ping(void *arg, struct str payload)
{
    struct peer *p = arg;
    buf_addf(&p->seen, "p%.*s", STR_FMT(payload));
    note(p, 'p');
}

static void on_pong(void *arg)
{
    struct peer *p = arg;
    buf_addc(&p->seen, 'o');
    note(p, 'o');
}

static void on_close(void *arg, int code)
{
    struct peer *p = arg;
    buf_addf(&p->seen, "c%d", code);
    note(p, 'c');
}

static void on_fault(void *arg, int code)
{
    struct peer *p = arg;
    buf_addf(&p->seen, "f%d", code);
    note(p, 'f');
}

static struct peer begin(void)
{
    return (struct peer){0};
}

static void open_frames(struct peer *p)
{
    p->f = frames_new(&(struct frames_sink){on_message, on_ping, on_pong, on_close, on_fault, p});
    frames_limit(p->f, LIMIT);
}

static void end(struct peer *p)
{
    frames_free(p->f);
    buf_clear(&p->seen);
}

/* Appends a masked frame; first: its first byte. */
static void put(struct buf *out, unsigned first, struct str payload)
{
    static const unsigned char mask[4] = {0x12, 0x34, 0x56, 0x78};
    unsigned char head[FRAMES_HEAD_MAX];
    size_t n = frames_head(head, FRAMES_TEXT, payload.n);
    head[0] = (unsigned char)first;
    head[1] |= 0x80;
    buf_add(out, str_n((const char *)head, n));
    buf_add(out, str_n((const char *)mask, 4));
    for (size_t i = 0; i < payload.n; i++)
        buf_addc(out, (char)(payload.p[i] ^ mask[i % 4]));
}

/* What is seen of the bytes, in one piece and byte by byte. */
static void expect(struct str bytes, const char *seen)
{
    for (size_t step = 1; step <= bytes.n; step += step < 20 ? 1 : bytes.n) {
        struct peer p = begin();
        open_frames(&p);
        for (size_t at = 0; at < bytes.n; at += step)
            frames_feed(p.f, str_cut(str_from(bytes, at), step));
        assert_string_equal(p.seen.p ? p.seen.p : "", seen);
        end(&p);
    }
}

static void expect_one(unsigned first, struct str payload, const char *seen)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    put(&bytes, first, payload);
    put(&bytes, 0x81, STR("later"));
    expect(buf_str(&bytes), seen);
}

static void test_messages(void **state)
{
    (void)state;
    AUTO(buf) struct buf bytes = BUF_INIT, seen = BUF_INIT, text = BUF_INIT;
    put(&bytes, 0x81, STR("one"));
    put(&bytes, 0x81, STR(""));
    put(&bytes, 0x89, STR("ping"));
    put(&bytes, 0x8a, STR("pong"));
    put(&bytes, 0x01, STR("fr"));
    put(&bytes, 0x89, STR("between"));
    put(&bytes, 0x00, STR(""));
    put(&bytes, 0x00, STR("ag"));
    put(&bytes, 0x80, STR("ment"));
    while (text.n < LIMIT)
        buf_addz(&text, "1234567890");
    put(&bytes, 0x81, buf_str(&text));
    put(&bytes, 0x88, STR("\x03\xe8 bye"));
    put(&bytes, 0x81, STR("after the end"));
    buf_addf(&seen, "mone|m|pping|o|pbetween|mfragment|m%s|c1000|", text.p);
    expect(buf_str(&bytes), seen.p);
}

static void test_refused(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT, bytes = BUF_INIT;
    while (text.n <= LIMIT)
        buf_addc(&text, 'x');
    expect_one(0x81, STR("\xc3("), "f1007|");
    expect_one(0x81, STR("\xed\xa0\x80"), "f1007|");
    expect_one(0x82, STR("binary"), "f1003|");
    expect_one(0x83, STR("x"), "f1002|");
    expect_one(0x8b, STR("x"), "f1002|");
    expect_one(0xc1, STR("compressed"), "f1002|");
    expect_one(0xa1, STR("x"), "f1002|");
    expect_one(0x80, STR("continues nothing"), "f1002|");
    expect_one(0x09, STR("ping in parts"), "f1002|");
    expect_one(0x81, buf_str(&text), "f1009|");
    buf_cut(&text, 126);
    expect_one(0x89, buf_str(&text), "f1002|");
    put(&bytes, 0x01, STR("begun"));
    put(&bytes, 0x81, STR("another"));
    expect(buf_str(&bytes), "f1002|");
    buf_reset(&bytes);
    put(&bytes, 0x01, STR("text"));
    put(&bytes, 0x82, STR("binary"));
    expect(buf_str(&bytes), "f1002|");
    expect(STR("\x81\x05hello"), "f1002|");        /* not masked */
    expect(STR("\x81\xfe\x00\x05xxxx"), "f1002|"); /* length in too many bytes */
    expect(STR("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00"), "f1002|"); /* negative */
    expect(STR("\x81\xff\x00\x00\x00\x7f\x00\x00\x00\x00mask1"), "f1009|");
}

static void test_fragments_are_limited(void **state)
{
    (void)state;
    AUTO(buf) struct buf bytes = BUF_INIT, text = BUF_INIT;
    while (text.n < LIMIT / 2 + 1)
        buf_addc(&text, 'x');
    put(&bytes, 0x01, buf_str(&text));
    put(&bytes, 0x00, buf_str(&text));
    expect(buf_str(&bytes), "f1009|");
}

static void test_close(void **state)
{
    (void)state;
    expect_one(0x88, STR(""), "c1005|");
    expect_one(0x88, STR("\x0f\xa9"), "c4009|");
    expect_one(0x88, STR("\x03"), "f1002|");
    expect_one(0x88, STR("\x03\xed"), "f1002|"); /* 1005 is never sent */
    expect_one(0x88, STR("\x03\xee"), "f1002|");
    expect_one(0x88, STR("\x00\x00"), "f1002|");
    expect_one(0x88, STR("\x03\xe8\xff"), "f1007|");
}

static void test_pause(void **state)
{
    (void)state;
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct peer p = begin();
    open_frames(&p);
    p.pauses = true;
    for (int i = 0; i < 3; i++)
        put(&bytes, 0x81, i == 0 ? STR("1") : i == 1 ? STR("2") : STR("3"));
    frames_feed(p.f, buf_str(&bytes));
    assert_string_equal(p.seen.p, "m1|");
    frames_feed(p.f, buf_str(&bytes));
    assert_string_equal(p.seen.p, "m1|");
    frames_go_on(p.f); /* still paused */
    assert_string_equal(p.seen.p, "m1|");
    for (int i = 0; i < 5; i++) {
        frames_pause(p.f, false);
        frames_go_on(p.f);
    }
    assert_string_equal(p.seen.p, "m1|m2|m3|m1|m2|m3|");
    end(&p);
}

static void test_free_inside(void **state)
{
    (void)state;
    static const char at[] = {'m', 'p', 'o', 'c', 'f'};
    AUTO(buf) struct buf bytes = BUF_INIT;
    put(&bytes, 0x81, STR("m"));
    put(&bytes, 0x89, STR("p"));
    put(&bytes, 0x8a, STR(""));
    for (size_t i = 0; i < sizeof at; i++) {
        AUTO(buf) struct buf all = BUF_INIT;
        struct peer p = begin();
        open_frames(&p);
        p.free_at = at[i];
        buf_add(&all, buf_str(&bytes));
        put(&all, at[i] == 'f' ? 0x83 : 0x88, STR(""));
        put(&all, 0x81, STR("more"));
        frames_feed(p.f, buf_str(&all));
        assert_null(p.f);
        buf_clear(&p.seen);
    }
}

static void test_head(void **state)
{
    (void)state;
    unsigned char head[FRAMES_HEAD_MAX];
    assert_int_equal(frames_head(head, FRAMES_TEXT, 125), 2);
    assert_memory_equal(head, "\x81\x7d", 2);
    assert_int_equal(frames_head(head, FRAMES_TEXT, 126), 4);
    assert_memory_equal(head, "\x81\x7e\x00\x7e", 4);
    assert_int_equal(frames_head(head, FRAMES_TEXT, 65535), 4);
    assert_memory_equal(head, "\x81\x7e\xff\xff", 4);
    assert_int_equal(frames_head(head, FRAMES_PING, 65536), 10);
    assert_memory_equal(head, "\x89\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fragments_are_limited),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_free_inside),
        cmocka_unit_test(test_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
