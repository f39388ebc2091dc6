/* SPDX-License-Identifier: MIT */
/* Connections on a transport of whole messages.  The transport here frames a message as <...> on a
 * socket pair, and delivers the messages of a list unless it is paused. */
#include "wire/transport.h"

#include "base/limits.h"
#include "base/mem.h"
#include "loop/fiber.h"
#include "wire/rpc.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

struct scene {
    struct transport t;
    struct loop *l;
    struct conn *c;
    int from;                    /* the client's end, non-blocking */
    const char *const *messages; /* to deliver, NULL at the end */
    bool is_paused, is_over, is_freed;
    struct buf seen; /* as in test_conn.c, and "c<code>|" close */
    struct buf got;
    size_t answer;    /* bytes sent for each message */
    char free_at;     /* the letter of the event at which the connection is freed */
    bool holds_first; /* the connection is held in the first message */
};

/* ---- the transport ---- */

static void t_send(struct transport *t, struct buf *body, const struct splices *splices)
{
    size_t at = 0;
    writer_put(t->writer, STR("<"));
    for (size_t i = 0; i < splices->n; i++) {
        writer_put(t->writer, str_n(body->p + at, splices->items[i].at - at));
        writer_share(t->writer, splices->items[i].blob);
        at = splices->items[i].at;
    }
    writer_put(t->writer, str_from(buf_str(body), at));
    writer_put(t->writer, STR(">"));
}

static void deliver(struct scene *s)
{
    while (!s->is_paused && !s->is_freed && s->messages && *s->messages)
        conn_take(s->t.conn, str_of(*s->messages++));
    if (s->is_over && !s->is_paused && !s->is_freed)
        conn_take_end(s->t.conn);
}

static void t_pause(struct transport *t, bool is_paused)
{
    struct scene *s = CONTAINER_OF(t, struct scene, t);
    s->is_paused = is_paused;
    deliver(s);
}

static void t_close(struct transport *t, int code, const char *reason)
{
    struct scene *s = CONTAINER_OF(t, struct scene, t);
    buf_addf(&s->seen, "c%d %s|", code, reason);
}

static void t_free(struct transport *t)
{
    CONTAINER_OF(t, struct scene, t)->is_freed = true;
}

static const struct transport_ops transport_ops = {t_send, t_pause, t_close, t_free};

static void on_t_written(void *arg, bool is_broken)
{
    struct scene *s = arg;
    if (s->t.conn && !s->is_freed)
        conn_take_written(s->t.conn, is_broken);
}

/* ---- what the connection reports ---- */

static void note(struct scene *s, char what, struct str text)
{
    buf_addf(&s->seen, "%c%.*s|", what, STR_FMT(text));
    if (s->free_at == what) {
        conn_free(s->c);
        s->c = NULL;
    }
}

static void on_message(void *arg, struct str body)
{
    struct scene *s = arg;
    if (s->answer) {
        AUTO(buf) struct buf b = BUF_INIT;
        memset(buf_space(&b, s->answer), 'a', s->answer);
        buf_added(&b, s->answer);
        conn_send(s->c, buf_str(&b));
    }
    if (s->holds_first && s->seen.n == 0)
        conn_hold(s->c, true);
    note(s, 'm', body);
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

static const struct conn_ops ops = {.limit = 1000,
                                    .on_message = on_message,
                                    .on_eof = on_eof,
                                    .on_full = on_full,
                                    .on_broken = on_broken};

static void begin_bare(struct scene *s, int kind)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    *s = (struct scene){.l = loop_new(), .from = ends[0], .is_paused = true};
    s->t = (struct transport){.ops = &transport_ops,
                              .writer = writer_new(s->l, ends[1], on_t_written, s)};
}

static void begin(struct scene *s, const char *const *messages)
{
    begin_bare(s, SOCK_STREAM);
    s->messages = messages;
    s->c = conn_over(s->l, &s->t, &ops, s);
}

static void end(struct scene *s)
{
    conn_free(s->c);
    assert_true(s->is_freed);
    writer_free(s->t.writer);
    loop_free(s->l);
    close(s->from);
    buf_clear(&s->seen);
    buf_clear(&s->got);
}

static void steps(struct scene *s, int n)
{
    while (n--)
        loop_step(s->l, false);
}

static size_t listen_some(struct scene *s)
{
    static char bytes[1 << 20];
    ssize_t n = read(s->from, bytes, sizeof bytes);
    if (n > 0)
        buf_add(&s->got, str_n(bytes, (size_t)n));
    return n > 0 ? (size_t)n : 0;
}

/* ---- tests ---- */

static void test_in(void **state)
{
    (void)state;
    static const char *const two[] = {"one", "two", NULL}, *const more[] = {"three", NULL};
    struct scene s;
    begin(&s, two);
    assert_int_equal(s.t.limit, 1000);
    assert_int_equal(s.seen.n, 0); /* the caller has its connection first */
    steps(&s, 2);
    assert_string_equal(s.seen.p, "mone|mtwo|");
    s.messages = more;
    deliver(&s);
    s.is_over = true;
    deliver(&s);
    assert_string_equal(s.seen.p, "mone|mtwo|mthree|e|");
    deliver(&s); /* the end is told once */
    assert_string_equal(s.seen.p, "mone|mtwo|mthree|e|");
    end(&s);
}

static void test_hold(void **state)
{
    (void)state;
    static const char *const three[] = {"1", "2", "3", NULL};
    struct scene s;
    begin(&s, three);
    s.holds_first = true;
    s.is_over = true;
    steps(&s, 3);
    assert_string_equal(s.seen.p, "m1|");
    conn_take_end(s.c); /* kept until the connection is released */
    assert_string_equal(s.seen.p, "m1|");
    s.messages = NULL;
    conn_hold(s.c, false);
    assert_string_equal(s.seen.p, "m1|e|");
    end(&s);
    begin(&s, three);
    s.holds_first = true;
    steps(&s, 3);
    conn_hold(s.c, false);
    assert_string_equal(s.seen.p, "m1|m2|m3|");
    conn_stop_reading(s.c);
    assert_true(s.is_paused);
    end(&s);
}

static void test_out(void **state)
{
    (void)state;
    struct scene s;
    AUTO(splices) struct splices splices = {0};
    AUTO(buf) struct buf body = BUF_INIT, shared = BUF_INIT;
    begin(&s, NULL);
    conn_send(s.c, STR("one"));
    buf_addz(&shared, "SHARED");
    struct blob *blob = blob_new(&shared);
    splices_add(&splices, 2, blob);
    buf_addz(&body, "abcd");
    conn_give(s.c, &body, &splices);
    assert_false(conn_is_flushed(s.c));
    steps(&s, 2);
    assert_true(conn_is_flushed(s.c));
    listen_some(&s);
    assert_string_equal(s.got.p, "<one><abSHAREDcd>");
    assert_int_equal(conn_written(s.c), s.got.n);
    conn_send(s.c, STR("last"));
    conn_close(s.c, 4009, "taken over");
    listen_some(&s);
    assert_string_equal(s.got.p, "<one><abSHAREDcd><last>");
    assert_string_equal(s.seen.p, "c4009 taken over|");
    blob_release(blob);
    end(&s);
}

static void test_a_round_is_one_call(void **state)
{
    (void)state;
    static const char *const four[] = {"1", "2", "3", "4", NULL};
    struct scene s;
    char packet[100];
    begin_bare(&s, SOCK_SEQPACKET);
    s.messages = four;
    s.answer = 1;
    s.c = conn_over(s.l, &s.t, &ops, &s);
    steps(&s, 3);
    assert_int_equal(recv(s.from, packet, sizeof packet, MSG_DONTWAIT), 12);
    assert_memory_equal(packet, "<a><a><a><a>", 12);
    assert_true(recv(s.from, packet, sizeof packet, MSG_DONTWAIT) < 0);
    end(&s);
}

/* The same limits as on descriptors: full tells the dialect, and far beyond requests wait. */
static void test_back_pressure(void **state)
{
    (void)state;
    static const char *const many[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9",
                                       "a", "b", "c", "d", "e", "f", "g", NULL};
    struct scene s;
    begin(&s, many);
    s.answer = 1 << 20;
    steps(&s, 5);
    assert_true(s.is_paused);
    assert_true(conn_is_full(s.c) && conn_is_choked(s.c));
    assert_true(*s.messages != NULL);
    while (s.got.n < 16 * ((1 << 20) + 2)) {
        assert_true(listen_some(&s) > 0);
        steps(&s, 2);
    }
    steps(&s, 2);
    assert_false(conn_is_full(s.c) || conn_is_choked(s.c));
    assert_true(str_find(buf_str(&s.seen), STR("F|")) != SIZE_MAX);
    assert_true(str_ends(buf_str(&s.seen), STR("E|")));
    assert_null(*s.messages);
    end(&s);
}

static void flush_fiber(void *arg)
{
    struct scene *s = arg;
    conn_flush_through_await(s->c);
    note(s, 'd', STR(""));
}

static void test_flush_and_break(void **state)
{
    (void)state;
    struct scene s;
    AUTO(buf) struct buf big = BUF_INIT;
    begin(&s, NULL);
    memset(buf_space(&big, 2 << 20), 'x', 2 << 20);
    buf_added(&big, 2 << 20);
    conn_send(s.c, buf_str(&big));
    fiber_start(s.l, "flush", flush_fiber, &s);
    steps(&s, 3);
    assert_string_equal(s.seen.p, "F|");
    shutdown(s.from, SHUT_RDWR);
    steps(&s, 4);
    assert_string_equal(s.seen.p, "F|E|b|d|");
    conn_send(s.c, STR("nobody reads"));
    end(&s);
    begin(&s, NULL);
    conn_send(s.c, buf_str(&big));
    conn_abandon(s.c);
    assert_true(conn_is_flushed(s.c));
    end(&s);
}

static void test_free_inside(void **state)
{
    (void)state;
    static const char *const two[] = {"1", "2", NULL};
    struct scene s;
    begin(&s, two);
    s.free_at = 'm';
    s.answer = 3;
    steps(&s, 2);
    assert_string_equal(s.seen.p, "m1|");
    listen_some(&s);
    assert_string_equal(s.got.p, "<aaa>"); /* what was held is written */
    end(&s);
    begin(&s, NULL); /* before anything was delivered */
    end(&s);
    begin(&s, NULL);
    s.is_over = true;
    s.free_at = 'e';
    steps(&s, 2);
    assert_string_equal(s.seen.p, "e|");
    end(&s);
}

/* ---- JSON-RPC on it ---- */

static bool run_ping(struct request *rq, struct jw *result, struct error *err)
{
    (void)rq, (void)err;
    jw_str(result, STR("pong"));
    return true;
}

static const struct row no_rows[] = {ROW_END};
static const struct method ping = {
    .name = "ping", .params = no_rows, .how = RUN_NOW, .run = run_ping};
static const struct method *const methods[] = {&ping};
static const struct rpc_dialect dialect = {.limit = 77, .methods = methods, .n_methods = 1};

static void test_rpc(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{}}", NULL};
    struct scene s;
    begin_bare(&s, SOCK_STREAM);
    s.messages = calls;
    struct rpc *r = rpc_over(s.l, &s.t, &dialect, &s);
    assert_int_equal(s.t.limit, 77);
    steps(&s, 4);
    listen_some(&s);
    assert_string_equal(s.got.p, "<{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"pong\"}>"
                                 "<{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"pong\"}>");
    rpc_free(r);
    end(&s);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_out),
        cmocka_unit_test(test_a_round_is_one_call),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_flush_and_break),
        cmocka_unit_test(test_free_inside),
        cmocka_unit_test(test_rpc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
