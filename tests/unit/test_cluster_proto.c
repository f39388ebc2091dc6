/* SPDX-License-Identifier: MIT */
/* The NATS protocol: what the parser finds in whole and in pieces, what it refuses, headers. */
#include "cluster/proto.h"

#include "base/limits.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool note(void *arg, const struct nats_op *op)
{
    static const char *const names[] = {"INFO", "MSG", "PING", "PONG", "OK", "ERR"};
    buf_addf(arg, "%s", names[op->kind]);
    if (op->kind == NATS_MSG)
        buf_addf(arg, " %llu %.*s %.*s [%.*s]", (unsigned long long)op->sid, STR_FMT(op->subject),
                 STR_FMT(op->reply), STR_FMT(op->head));
    buf_addf(arg, " %.*s;", STR_FMT(op->body));
    return true;
}

/* What is found when the bytes come in pieces of this size. */
static bool feed(struct str bytes, size_t piece, struct buf *out, struct error *err)
{
    struct nats_parser p;
    bool ok = true;
    nats_parser_init(&p, 1000);
    while (ok && bytes.n) {
        struct str part = str_cut(bytes, piece);
        ok = nats_feed(&p, part, note, out, err);
        bytes = str_from(bytes, part.n);
    }
    nats_parser_clear(&p);
    return ok;
}

static void expect(const char *bytes, const char *wanted)
{
    for (size_t piece = 1; piece <= strlen(bytes); piece++) {
        AUTO(buf) struct buf out = BUF_INIT;
        struct error err;
        assert_true(feed(str_of(bytes), piece, &out, &err));
        assert_string_equal(buf_str(&out).p, wanted);
    }
}

static void refuse(const char *bytes, enum err_code code, const char *word)
{
    for (size_t piece = 1; piece <= strlen(bytes); piece++) {
        AUTO(buf) struct buf out = BUF_INIT;
        struct error err = ERROR_INIT;
        assert_false(feed(str_of(bytes), piece, &out, &err));
        assert_int_equal(err.code, code);
        assert_non_null(strstr(err.text, word));
    }
}

static void operations_in_pieces(void **state)
{
    (void)state;
    expect("INFO {\"version\":\"2.15.1\"} \r\nPING\r\npong\r\n+OK\r\n-ERR 'Stale Connection'\r\n",
           "INFO {\"version\":\"2.15.1\"};PING ;PONG ;OK ;ERR 'Stale Connection';");
    expect("MSG a.b 7 5\r\nhello\r\nMSG a.b 8 re.ply 0\r\n\r\nMSG\ta 9\t4\r\n\r\nPI\r\nPING\r\n",
           "MSG 7 a.b  [] hello;MSG 8 a.b re.ply [] ;MSG 9 a  [] \r\nPI;PING ;");
    expect(
        "HMSG a 1 12 17\r\nNATS/1.0\r\n\r\nhello\r\nHMSG a 1 r 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
        "MSG 1 a  [NATS/1.0\r\n\r\n] hello;MSG 1 a r [NATS/1.0 503\r\n\r\n] ;");
}

static void what_is_no_protocol(void **state)
{
    (void)state;
    refuse("HTTP/1.1 400 Bad Request\r\n", ERR_BAD_REPLY, "HTTP/1.1");
    refuse("\r\n", ERR_BAD_REPLY, "no NATS protocol");
    refuse("MSG a 1\r\n", ERR_BAD_REPLY, "no message");
    refuse("MSG a b c d 5\r\n", ERR_BAD_REPLY, "no message");
    refuse("MSG a x 5\r\nhello\r\n", ERR_BAD_REPLY, "wrong numbers");
    refuse("MSG a 1 -5\r\n", ERR_BAD_REPLY, "wrong numbers");
    refuse("MSG a 1 99999999999999999999\r\n", ERR_BAD_REPLY, "wrong numbers");
    refuse("HMSG a 1 6 5\r\nhello\r\n", ERR_BAD_REPLY, "wrong numbers");
    refuse("MSG a 1 5\r\nhelloo\r\n", ERR_BAD_REPLY, "longer than it says");
    refuse("MSG a 1 1001\r\n", ERR_LIMIT, "1001");
}

static void a_line_without_end(void **state)
{
    AUTO(buf) struct buf bytes = BUF_INIT, out = BUF_INIT;
    struct error err;
    (void)state;
    buf_addz(&bytes, "INFO ");
    while (bytes.n <= LIMIT_NATS_LINE_BYTES)
        buf_addz(&bytes, "xxxxxxxx");
    assert_false(feed(buf_str(&bytes), 5000, &out, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static bool stop(void *arg, const struct nats_op *op)
{
    (void)op;
    ++*(int *)arg;
    return false;
}

static void a_callback_that_stops(void **state)
{
    struct nats_parser p;
    struct error err;
    int n = 0;
    (void)state;
    nats_parser_init(&p, 1000);
    assert_true(nats_feed(&p, STR("PING\r\nPING\r\n"), stop, &n, &err));
    assert_int_equal(n, 1);
    nats_parser_clear(&p);
}

static void headers(void **state)
{
    AUTO(buf) struct buf head = BUF_INIT;
    struct str text;
    int64_t n;
    (void)state;
    nats_head_begin(&head);
    nats_head_add(&head, "Nats-Msg-Id", STR("a/1"));
    nats_head_addf(&head, "Tv-Epoch", "%d", 8);
    nats_head_add(&head, "Evil", STR("x\r\nTv-Epoch: 9"));
    nats_head_end(&head);
    assert_string_equal(head.p, "NATS/1.0\r\nNats-Msg-Id: a/1\r\nTv-Epoch: 8\r\nEvil: x\r\n\r\n");
    assert_true(str_is(nats_header(buf_str(&head), "nats-msg-id"), "a/1"));
    assert_true(nats_header_int(buf_str(&head), "Tv-Epoch", &n) && n == 8);
    assert_false(nats_header_int(buf_str(&head), "Evil", &n));
    assert_null(nats_header(buf_str(&head), "NATS/1.0").p);
    assert_null(nats_header(STR_NONE, "a").p);
    assert_int_equal(nats_status(buf_str(&head), &text), 0);
    assert_int_equal(nats_status(STR_NONE, &text), 0);
    assert_int_equal(nats_status(STR("NATS/1.0 404 Message Not Found\r\n\r\n"), &text), 404);
    assert_true(str_is(text, "Message Not Found"));
}

static void what_the_client_sends(void **state)
{
    AUTO(buf) struct buf out = BUF_INIT;
    (void)state;
    nats_put_pub(&out, STR("a.b"), STR_NONE, STR_NONE, STR("hi"));
    nats_put_pub(&out, STR("a.b"), STR("r"), STR("NATS/1.0\r\n\r\n"), STR("hi"));
    nats_put_sub(&out, STR("a.*"), STR_NONE, 3);
    nats_put_sub(&out, STR("a.*"), STR("q"), 4);
    nats_put_unsub(&out, 3);
    assert_string_equal(out.p, "PUB a.b 2\r\nhi\r\nHPUB a.b r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
                               "SUB a.* 3\r\nSUB a.* q 4\r\nUNSUB 3\r\n");
    assert_true(nats_is_subject(STR("a.>")) && !nats_is_subject(STR("a b")));
    assert_true(!nats_is_subject(STR("")) && !nats_is_subject(STR("a\r\nPUB")));
    assert_true(nats_is_token(STR("a-1")) && !nats_is_token(STR("a.b")) &&
                !nats_is_token(STR("*")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_in_pieces),
        cmocka_unit_test(what_is_no_protocol),
        cmocka_unit_test(a_line_without_end),
        cmocka_unit_test(a_callback_that_stops),
        cmocka_unit_test(headers),
        cmocka_unit_test(what_the_client_sends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
