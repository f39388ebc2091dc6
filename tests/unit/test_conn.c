/* SPDX-License-Identifier: MIT */
/* Connections over pipes and sockets, with peers that are quick, slow, or gone. */
#include "wire/conn.h"

#include "base/limits.h"
#include "base/mem.h"
#include "loop/fiber.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

struct peer {
    struct loop *l;
    struct conn *c;
    int to, from;     /* the client's ends, non-blocking */
    struct buf seen;  /* "m<body>|", "f<number>|", "e|", "F|" full, "f|" not full, "b|" broken */
    struct buf got;   /* what the client read */
    size_t answer;    /* bytes sent for every message; 0: none */
    char answer_byte; /* of the next answer */
    char free_at;     /* the letter of the event at which the connection is freed */
    char stop_at;     /* or stopped */
    unsigned n_messages;
    int sending, waiting; /* fibers */
};

static void note(struct peer *p, char what, struct str text)
{
    buf_addf(&p->seen, "%c%.*s|", what, STR_FMT(text));
    if (p->stop_at == what)
        conn_stop_reading(p->c);
    if (p->free_at == what) {
        conn_free(p->c);
        p->c = NULL;
    }
}

static void on_message(void *arg, struct str body)
{
    struct peer *p = arg;
    p->n_messages++;
    if (p->answer) {
        AUTO(buf) struct buf b = BUF_INIT;
        memset(buf_space(&b, p->answer), p->answer_byte, p->answer);
        buf_added(&b, p->answer);
        p->answer_byte = p->answer_byte == 'z' ? 'a' : (char)(p->answer_byte + 1);
        conn_send(p->c, buf_str(&b));
    }
    note(p, 'm', body);
}

static void on_fault(void *arg, enum frame_fault fault, struct str detail)
{
    (void)detail;
    note(arg, 'f', str_n(&"0123"[fault], 1));
}

static void on_eof(void *arg)
{
    note(arg, 'e', STR(""));
}

static void on_full(void *arg, bool full)
{
    note(arg, full ? 'F' : 'E', STR(""));
}

static void on_broken(void *arg)
{
    note(arg, 'b', STR(""));
}

#define OPS(kind, most)                                                                            \
    {                                                                                              \
        .framing = (kind), .limit = 1000, .queue = (most), .on_message = on_message,               \
        .on_fault = on_fault, .on_eof = on_eof, .on_full = on_full, .on_broken = on_broken         \
    }
static const struct conn_ops line_ops = OPS(FRAME_LINES, 0);
static const struct conn_ops short_ops = OPS(FRAME_LINES, 64 << 10);
static const struct conn_ops length_ops = OPS(FRAME_LENGTH, 0);

static void begin(struct peer *p, const struct conn_ops *ops)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    *p = (struct peer){.l = loop_new(), .to = in[1], .from = out[0], .answer_byte = 'a'};
    p->c = conn_new(p->l, in[0], out[1], ops, p);
}

static void end(struct peer *p)
{
    conn_free(p->c);
    loop_free(p->l);
    if (p->to >= 0)
        close(p->to);
    if (p->from >= 0)
        close(p->from);
    buf_clear(&p->seen);
    buf_clear(&p->got);
}

static void steps(struct peer *p, int n)
{
    while (n--)
        loop_step(p->l, false);
}

static void say(struct peer *p, struct str text)
{
    assert_int_equal(write(p->to, text.p, text.n), text.n);
}

/* Reads what is there, at most max bytes; returns how many. */
static size_t listen_some(struct peer *p, size_t max)
{
    size_t total = 0;
    char part[4096];
    while (total < max) {
        ssize_t n = read(p->from, part, MIN(sizeof part, max - total));
        if (n <= 0)
            break;
        buf_add(&p->got, str_n(part, (size_t)n));
        total += (size_t)n;
    }
    return total;
}

static void test_in(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    say(&p, STR("one\ntw"));
    steps(&p, 3);
    assert_string_equal(p.seen.p, "mone|");
    say(&p, STR("o\n\nthree"));
    close(p.to);
    p.to = -1;
    steps(&p, 5);
    assert_string_equal(p.seen.p, "mone|mtwo|mthree|e|");
    end(&p);
}

static void test_faults(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &length_ops);
    say(&p, STR("nonsense\r\nContent-Length: 2000\r\n\r\n"));
    steps(&p, 3);
    assert_string_equal(p.seen.p, "f1|f0|");
    char rest[2000] = "x";
    say(&p, str_n(rest, sizeof rest));
    say(&p, STR("Content-Length: 2\r\n\r\n{}Content-Length: 9\r\n\r\nx"));
    close(p.to);
    p.to = -1;
    steps(&p, 5);
    assert_string_equal(p.seen.p, "f1|f0|m{}|f3|e|");
    end(&p);
}

static void test_out(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &length_ops);
    conn_send(p.c, STR("{}"));
    assert_false(conn_is_flushed(p.c));
    steps(&p, 2);
    assert_true(conn_is_flushed(p.c));
    conn_send(p.c, STR("\xc3\xa4"));
    steps(&p, 2);
    listen_some(&p, 1000);
    assert_string_equal(p.got.p, "Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n\xc3\xa4");
    end(&p);
}

/* On a packet socket every system call is one packet. */
static void test_a_round_is_one_call(void **state)
{
    (void)state;
    struct peer p;
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, out), 0);
    p = (struct peer){
        .l = loop_new(), .to = in[1], .from = out[0], .answer = 1, .answer_byte = 'a'};
    p.c = conn_new(p.l, in[0], out[1], &line_ops, &p);
    say(&p, STR("1\n2\n3\n4\n"));
    steps(&p, 4);
    char packet[100];
    assert_int_equal(recv(p.from, packet, sizeof packet, MSG_DONTWAIT), 8);
    assert_memory_equal(packet, "a\nb\nc\nd\n", 8);
    assert_true(recv(p.from, packet, sizeof packet, MSG_DONTWAIT) < 0);
    end(&p);
}

/* One descriptor for both directions. */
static void test_socket(void **state)
{
    (void)state;
    struct peer p;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    p = (struct peer){
        .l = loop_new(), .to = ends[0], .from = dup(ends[0]), .answer = 3, .answer_byte = 'a'};
    p.c = conn_new(p.l, ends[1], ends[1], &line_ops, &p);
    say(&p, STR("1\n2\n"));
    steps(&p, 3);
    assert_int_equal(listen_some(&p, 100), 8);
    assert_string_equal(p.got.p, "aaa\nbbb\n");
    shutdown(p.to, SHUT_WR);
    steps(&p, 3);
    conn_send(p.c, STR("after the end"));
    steps(&p, 3);
    listen_some(&p, 100);
    assert_string_equal(p.got.p, "aaa\nbbb\nafter the end\n");
    assert_string_equal(p.seen.p, "m1|m2|e|");
    shutdown(p.to, SHUT_RDWR); /* told at once after the end of input */
    steps(&p, 3);
    assert_string_equal(p.seen.p, "m1|m2|e|b|");
    end(&p);
}

/* What was sent is under way before the loop sleeps: a waiting step must come back. */
static void send_fiber(void *arg)
{
    struct peer *p = arg;
    conn_send(p->c, STR("from a fiber"));
    p->sending = 0;
}

static void test_nothing_waits_for_a_sleeping_loop(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    p.sending = 1;
    fiber_start(p.l, "send", send_fiber, &p);
    for (int i = 0; i < 3 && p.got.n == 0; i++) {
        loop_step(p.l, true);
        listen_some(&p, 100);
    }
    assert_string_equal(p.got.p, "from a fiber\n");
    end(&p);
}

static void test_slow_reader_loses_nothing(void **state)
{
    (void)state;
    enum { N = 40000 };
    struct peer p;
    begin(&p, &line_ops);
    AUTO(buf) struct buf want = BUF_INIT;
    for (int i = 0; i < N; i++) {
        char line[100];
        int n = snprintf(line, sizeof line, "message number %d of a client that does not read", i);
        conn_send(p.c, str_n(line, (size_t)n));
        buf_addf(&want, "%s\n", line);
        assert_true(conn_is_full(p.c) == (str_find(buf_str(&p.seen), STR("F|")) == 0));
    }
    assert_string_equal(p.seen.p, "F|");
    steps(&p, 3);
    assert_true(conn_is_full(p.c));
    /* Requests are read all the same. */
    say(&p, STR("interrupt\n"));
    steps(&p, 3);
    assert_string_equal(p.seen.p, "F|minterrupt|");
    while (p.got.n < want.n) {
        assert_true(listen_some(&p, 30000) > 0);
        steps(&p, 2);
    }
    steps(&p, 2);
    assert_true(str_eq(buf_str(&p.got), buf_str(&want)));
    assert_string_equal(p.seen.p, "F|minterrupt|E|");
    assert_false(conn_is_full(p.c));
    assert_true(conn_is_flushed(p.c));
    /* And again. */
    for (int i = 0; i < N; i++)
        conn_send(p.c, STR("message of the second flood, long enough for the limit"));
    assert_string_equal(p.seen.p, "F|minterrupt|E|F|");
    end(&p);
}

/* The client catches up: full ends at a quarter of the mark, not before, and not only at zero. */
static void test_full_ends_at_a_quarter(void **state)
{
    (void)state;
    enum { SIZE = 2 << 20, PIPE = 64 << 10 };
    struct peer p;
    begin(&p, &line_ops);
    char *big = xcalloc(1, SIZE);
    conn_send(p.c, str_n(big, SIZE));
    free(big);
    while (p.got.n < SIZE - LIMIT_OUT_QUEUE_BYTES / 2 - PIPE) {
        listen_some(&p, 30000);
        steps(&p, 2);
    }
    conn_send(p.c, STR("x"));
    steps(&p, 2);
    assert_string_equal(p.seen.p, "F|");
    while (p.got.n < SIZE - LIMIT_OUT_QUEUE_BYTES / 8 - PIPE) {
        listen_some(&p, 30000);
        steps(&p, 2);
    }
    conn_send(p.c, STR("y"));
    steps(&p, 2);
    assert_string_equal(p.seen.p, "F|E|");
    assert_false(conn_is_flushed(p.c));
    end(&p);
}

/* A quick client is never slowed down, however much one round sends. */
static void test_a_large_round_is_not_full(void **state)
{
    (void)state;
    struct peer p;
    int in[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    p = (struct peer){.l = loop_new(), .to = in[1], .from = open("/dev/null", O_RDONLY)};
    p.c = conn_new(p.l, in[0], open("/dev/null", O_WRONLY), &line_ops, &p);
    char *big = xcalloc(1, 1 << 20);
    for (int i = 0; i < 20; i++)
        conn_send(p.c, str_n(big, 1 << 20));
    steps(&p, 3);
    assert_int_equal(p.seen.n, 0);
    free(big);
    end(&p);
}

static void test_requests_wait_when_answers_do(void **state)
{
    (void)state;
    enum { N = 60, SIZE = 1 << 20 };
    struct peer p;
    begin(&p, &line_ops);
    p.answer = SIZE;
    for (int i = 0; i < N; i++) {
        char line[20];
        say(&p, str_n(line, (size_t)snprintf(line, sizeof line, "%d\n", i)));
    }
    close(p.to);
    p.to = -1;
    steps(&p, 20);
    assert_true(p.n_messages >= 8 && p.n_messages <= 10);
    for (size_t total = 0; total < (size_t)N * (SIZE + 1);) {
        size_t n = listen_some(&p, 1 << 16);
        total += n;
        for (size_t i = 0; i < p.got.n; i++) {
            size_t at = total - n + i;
            char want = at % (SIZE + 1) == SIZE ? '\n' : (char)('a' + at / (SIZE + 1) % 26);
            if (p.got.p[i] != want)
                fail_msg("byte %zu is %c, not %c", at, p.got.p[i], want);
        }
        buf_reset(&p.got);
        steps(&p, 2);
    }
    steps(&p, 3);
    assert_int_equal(p.n_messages, N);
    assert_true(str_ends(buf_str(&p.seen), STR("|E|e|")) ||
                str_ends(buf_str(&p.seen), STR("|e|E|")));
    AUTO(buf) struct buf order = BUF_INIT;
    for (int i = 0; i < N; i++)
        buf_addf(&order, "m%d|", i);
    AUTO(buf) struct buf messages = BUF_INIT;
    struct str rest = buf_str(&p.seen), part;
    while (rest.p && rest.n) {
        rest = str_split(rest, '|', &part);
        if (str_starts(part, STR("m")))
            buf_addf(&messages, "%.*s|", STR_FMT(part));
    }
    assert_string_equal(messages.p, order.p);
    end(&p);
}

static void wait_fiber(void *arg)
{
    struct peer *p = arg;
    conn_flush_through_await(p->c);
    p->waiting--;
}

static void fill(struct peer *p)
{
    char *big = xcalloc(1, 2 << 20);
    conn_send(p->c, str_n(big, 2 << 20));
    free(big);
    for (int i = 0; i < 2; i++, p->waiting++)
        fiber_start(p->l, "wait", wait_fiber, p);
    steps(p, 3);
    assert_int_equal(p->waiting, 2);
}

static void test_flush(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    p.waiting = 1;
    conn_send(p.c, STR("x"));
    fiber_start(p.l, "wait", wait_fiber, &p);
    steps(&p, 1);
    assert_int_equal(p.waiting, 0);
    fill(&p);
    fiber_cancel_all(p.l);
    steps(&p, 3);
    assert_int_equal(p.waiting, 2); /* not cancelable */
    while (listen_some(&p, 1 << 20) > 0)
        steps(&p, 2);
    steps(&p, 3);
    assert_int_equal(p.waiting, 0);
    assert_int_equal(p.got.n, 2 + (2 << 20) + 1);
    end(&p);
}

static void test_flush_ends_when_broken(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    fill(&p);
    close(p.from);
    p.from = -1;
    steps(&p, 5);
    assert_int_equal(p.waiting, 0);
    assert_string_equal(p.seen.p, "F|E|b|");
    assert_true(conn_is_flushed(p.c));
    conn_send(p.c, STR("to nobody"));
    steps(&p, 3);
    assert_string_equal(p.seen.p, "F|E|b|");
    assert_true(conn_is_flushed(p.c));
    end(&p);
}

static void test_flush_ends_when_freed(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    fill(&p);
    conn_free(p.c);
    p.c = NULL;
    steps(&p, 3);
    assert_int_equal(p.waiting, 0);
    end(&p);
}

static void test_stop_inside(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    p.stop_at = 'm';
    say(&p, STR("1\n2\n3\n"));
    steps(&p, 3);
    say(&p, STR("4\n"));
    close(p.to);
    p.to = -1;
    steps(&p, 3);
    assert_string_equal(p.seen.p, "m1|");
    conn_send(p.c, STR("still here"));
    steps(&p, 2);
    listen_some(&p, 100);
    assert_string_equal(p.got.p, "still here\n");
    end(&p);
}

static void test_stop_while_paused(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    p.answer = 9 << 20;
    say(&p, STR("1\n2\n3\n"));
    steps(&p, 5);
    assert_int_equal(p.n_messages, 1);
    conn_stop_reading(p.c);
    while (listen_some(&p, 1 << 20) > 0)
        steps(&p, 2);
    assert_int_equal(p.n_messages, 1);
    end(&p);
}

/* A connection may say how much is too much for it. */
static void test_own_queue(void **state)
{
    (void)state;
    struct peer p;
    AUTO(buf) struct buf body = BUF_INIT;
    memset(buf_space(&body, 200 << 10), 'x', 200 << 10);
    buf_added(&body, 200 << 10);
    begin(&p, &line_ops);
    conn_send(p.c, buf_str(&body));
    steps(&p, 3);
    assert_false(conn_is_full(p.c));
    end(&p);
    begin(&p, &short_ops);
    conn_send(p.c, buf_str(&body));
    steps(&p, 3);
    assert_true(conn_is_full(p.c));
    end(&p);
}

/* Lines wait while it is held, however they come, and the end of input behind them too. */
static void test_hold(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    conn_hold(p.c, true);
    say(&p, STR("1\n2\n"));
    steps(&p, 3);
    assert_int_equal(p.n_messages, 0);
    conn_hold(p.c, false);
    steps(&p, 3);
    assert_string_equal(p.seen.p, "m1|m2|");
    conn_hold(p.c, true);
    say(&p, STR("3\n4"));
    close(p.to);
    p.to = -1;
    steps(&p, 3);
    assert_string_equal(p.seen.p, "m1|m2|");
    conn_hold(p.c, false);
    steps(&p, 3);
    assert_string_equal(p.seen.p, "m1|m2|m3|m4|e|");
    end(&p);
}

static void test_free_inside(void **state)
{
    (void)state;
    struct peer p;
    begin(&p, &line_ops);
    p.free_at = 'm';
    p.answer = 10;
    say(&p, STR("1\n2\n3\n"));
    steps(&p, 3);
    assert_string_equal(p.seen.p, "m1|");
    end(&p);
    begin(&p, &length_ops);
    p.free_at = 'f';
    say(&p, STR("bad\nworse\n"));
    steps(&p, 3);
    assert_string_equal(p.seen.p, "f1|");
    end(&p);
    begin(&p, &line_ops);
    p.free_at = 'e';
    say(&p, STR("1"));
    close(p.to);
    p.to = -1;
    steps(&p, 3);
    assert_string_equal(p.seen.p, "m1|e|");
    end(&p);
    static const char at[] = {'F', 'E', 'b'};
    for (size_t i = 0; i < sizeof at; i++) {
        begin(&p, &line_ops);
        p.free_at = at[i];
        p.answer = 9 << 20;
        say(&p, STR("1\n"));
        steps(&p, 3);
        close(p.from);
        p.from = -1;
        steps(&p, 3);
        assert_null(p.c);
        end(&p);
    }
    conn_free(NULL);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_out),
        cmocka_unit_test(test_a_round_is_one_call),
        cmocka_unit_test(test_socket),
        cmocka_unit_test(test_nothing_waits_for_a_sleeping_loop),
        cmocka_unit_test(test_slow_reader_loses_nothing),
        cmocka_unit_test(test_full_ends_at_a_quarter),
        cmocka_unit_test(test_a_large_round_is_not_full),
        cmocka_unit_test(test_requests_wait_when_answers_do),
        cmocka_unit_test(test_flush),
        cmocka_unit_test(test_flush_ends_when_broken),
        cmocka_unit_test(test_flush_ends_when_freed),
        cmocka_unit_test(test_stop_inside),
        cmocka_unit_test(test_stop_while_paused),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_own_queue),
        cmocka_unit_test(test_free_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
