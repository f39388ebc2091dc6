/* SPDX-License-Identifier: MIT */
/* Heads and bodies of HTTP requests: what is read, what is refused, in one piece and byte by byte.
 */
#include "web/body.h"
#include "web/head.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: h\r\n"

/* Feeds pieces of `step` bytes; the status of the fault, 0 when the head is complete, 1 when it is
 * not.  *ret_n: the bytes taken. */
static int feed(struct head *h, struct str text, size_t step, size_t *ret_n)
{
    const struct refusal *fault = NULL;
    *ret_n = 0;
    while (*ret_n < text.n && h->state != HEAD_DONE && !fault)
        *ret_n += head_feed(h, str_cut(str_from(text, *ret_n), step), &fault);
    if (fault) {
        assert_true(fault->code[0] && fault->detail[0]);
        return fault->status;
    }
    return h->state == HEAD_DONE ? 0 : 1;
}

static int judge(struct str text)
{
    size_t n, n_single;
    struct head h = HEAD_INIT, single = HEAD_INIT;
    int status = feed(&h, text, text.n ? text.n : 1, &n);
    assert_int_equal(feed(&single, text, 1, &n_single), status);
    assert_int_equal(n, n_single);
    head_clear(&h);
    head_clear(&single);
    return status;
}

static int judge_z(const char *text)
{
    return judge(str_of(text));
}

static void test_read(void **state)
{
    (void)state;
    static const char text[] = "POST /v1/sessions/4f0c/input?a=1&b=%20 HTTP/1.1\r\n"
                               "host: 127.0.0.1:80\r\n"
                               "X-Empty:\r\n"
                               "x-space:  \t two words \t\r\n"
                               "Content-Length: 12\r\n"
                               "Connection: keep-alive, Close\r\n\r\nREST";
    for (size_t step = 1; step < sizeof text; step++) {
        struct head h = HEAD_INIT;
        size_t n;
        assert_int_equal(feed(&h, str_of(text), step, &n), 0);
        assert_string_equal(text + n, "REST");
        assert_true(str_is(h.method, "POST"));
        assert_true(str_is(h.path, "/v1/sessions/4f0c/input"));
        assert_true(str_is(h.query, "a=1&b=%20"));
        assert_int_equal(h.n_headers, 5);
        assert_true(str_is(head_get(&h, "HOST"), "127.0.0.1:80"));
        assert_true(str_is(head_get(&h, "x-empty"), ""));
        assert_true(str_is(head_get(&h, "X-Space"), "two words"));
        assert_null(head_get(&h, "x").p);
        assert_true(h.body == BODY_LENGTH && h.length == 12 && h.closes);
        assert_true(head_lists(&h, "connection", "close"));
        assert_false(head_lists(&h, "connection", "upgrade"));
        head_clear(&h);
        assert_int_equal(h.state, HEAD_TEXT);
    }
}

static void test_lines(void **state)
{
    (void)state;
    assert_int_equal(judge_z(LINE HOST "\r\n"), 0);
    assert_int_equal(judge_z(LINE HOST), 1);
    assert_int_equal(judge_z("GET / HTTP/1.1\nHost: h\n\n"), 400);
    assert_int_equal(judge_z("GET / HTTP/1.1\r\nHost: h\n\r\n"), 400);
    assert_int_equal(judge_z("GET / HTTP/1.1\rHost: h\r\n\r\n"), 400);
    assert_int_equal(judge_z(LINE "Host: h\r\rX: y\r\n\r\n"), 400);
    assert_int_equal(judge_z("\r\n" LINE HOST "\r\n"), 400);
    assert_int_equal(judge(STR(LINE "Host: h\0\r\n\r\n")), 400);
    assert_int_equal(judge(STR("GET /\0 HTTP/1.1\r\n" HOST "\r\n")), 400);
    assert_int_equal(judge_z(LINE HOST "X: a\x01\r\n\r\n"), 400);
    assert_int_equal(judge_z(LINE HOST "X: a\x7f\r\n\r\n"), 400);
    assert_int_equal(judge_z(LINE HOST "X: a\tb\r\n\r\n"), 0);
    assert_int_equal(judge_z(LINE HOST "X: \xc3\xa4\r\n\r\n"), 0);
    assert_int_equal(judge_z("\x16\x03\x01\x02"), 400); /* TLS */
}

static void test_first_line(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET /",
        " GET / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET\t/ HTTP/1.1",
        "/ HTTP/1.1",
        "G@T / HTTP/1.1",
        "GET / http/1.1",
        "GET / FTP/1.1",
        "GET http://h/ HTTP/1.1",
        "GET h:80 HTTP/1.1",
        "GET * HTTP/1.1",
        "GET h/ HTTP/1.1",
        "GET //h/ HTTP/1.1",
        "GET /a//b HTTP/1.1",
        "GET /../x HTTP/1.1",
        "GET /a/.. HTTP/1.1",
        "GET /a/./b HTTP/1.1",
        "GET /%2e%2e/x HTTP/1.1",
        "GET /a/%2E HTTP/1.1",
        "GET /a%2fb HTTP/1.1",
        "GET /a%5cb HTTP/1.1",
        "GET /a%00 HTTP/1.1",
        "GET /a%0d HTTP/1.1",
        "GET /a%7f HTTP/1.1",
        "GET /a\\b HTTP/1.1",
        "GET /% HTTP/1.1",
        "GET /%4 HTTP/1.1",
        "GET /%zz HTTP/1.1",
        "GET /#f HTTP/1.1",
        "GET /a?b#c HTTP/1.1",
        "GET /a?%g HTTP/1.1",
        "GET /a?\"b\" HTTP/1.1",
        "GET /\xc3\xa4 HTTP/1.1",
        "GET /a?\xc3\xa4 HTTP/1.1",
        "GET /<b> HTTP/1.1",
    };
    static const char *const good[] = {
        "GET /a.b/..c/d.. HTTP/1.1", "GET /a/ HTTP/1.1",         "GET /%41%c3%a4 HTTP/1.1",
        "GET /a?b=/c?d HTTP/1.1",    "GET /?x=[1]|{2} HTTP/1.1", "PROPFIND /~u;v=1 HTTP/1.1",
    };
    char text[200];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(text, sizeof text, "%s\r\n" HOST "\r\n", bad[i]);
        if (judge_z(text) != 400)
            fail_msg("%s is accepted", bad[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        snprintf(text, sizeof text, "%s\r\n" HOST "\r\n", good[i]);
        if (judge_z(text) != 0)
            fail_msg("%s is refused", good[i]);
    }
    assert_int_equal(judge_z("GET / HTTP/1.0\r\n" HOST "\r\n"), 505);
    assert_int_equal(judge_z("GET / HTTP/2.0\r\n" HOST "\r\n"), 505);
    assert_int_equal(judge_z("PRI * HTTP/2.0\r\n\r\n"), 505);
}

static void test_headers(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "Host:\r\n",
        HOST HOST,
        HOST "host: other\r\n",
        HOST "X : y\r\n",
        HOST ": y\r\n",
        HOST "X\r\n",
        HOST "X: y\r\n folded\r\n",
        HOST "X: y\r\n\tfolded\r\n",
        HOST "X Y: z\r\n",
        HOST "X\xc3\xa4: z\r\n",
        HOST "Origin: a\r\nOrigin: b\r\n",
        HOST "Authorization: a\r\nAuthorization: a\r\n",
        HOST "Content-Type: a\r\nContent-Type: b\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        buf_addf(&text, "POST / HTTP/1.1\r\n%s\r\n", bad[i]);
        if (judge(buf_str(&text)) != 400)
            fail_msg("%s is accepted", bad[i]);
    }
    assert_int_equal(judge_z("POST / HTTP/1.1\r\n" HOST "Cookie: a\r\nCookie: b\r\n\r\n"), 0);
}

static void test_body_headers(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: 1, 1\r\n",
        "Content-Length: +1\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 1 1\r\n",
        "Content-Length: 0x1\r\n",
        "Content-Length:\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding:\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        buf_addf(&text, "POST / HTTP/1.1\r\n" HOST "%s\r\n", bad[i]);
        if (judge(buf_str(&text)) != 400)
            fail_msg("%s is accepted", bad[i]);
    }
    assert_int_equal(judge_z("GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"), 0);
    assert_int_equal(judge_z("GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n"), 400);
    assert_int_equal(judge_z("HEAD / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"), 400);
    assert_int_equal(judge_z("POST / HTTP/1.1\r\n" HOST "transfer-encoding: CHUNKED\r\n\r\n"), 0);
}

static void put_many(struct buf *out, char c, size_t n)
{
    while (n--)
        buf_addc(out, c);
}

static int judge_line_of(size_t n)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, "GET /");
    put_many(&text, 'a', n - strlen("GET / HTTP/1.1\r\n"));
    buf_addz(&text, " HTTP/1.1\r\n" HOST "\r\n");
    return judge(buf_str(&text));
}

static int judge_head_of(size_t n)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, LINE HOST "X: ");
    put_many(&text, 'a', n - text.n - 4);
    buf_addz(&text, "\r\n\r\n");
    assert_int_equal(text.n, n);
    return judge(buf_str(&text));
}

static int judge_headers_of(size_t n)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, LINE HOST);
    for (size_t i = 1; i < n; i++)
        buf_addz(&text, "a: b\r\n");
    buf_addz(&text, "\r\n");
    return judge(buf_str(&text));
}

static void test_limits(void **state)
{
    (void)state;
    assert_int_equal(judge_line_of(LIMIT_WEB_LINE_BYTES), 0);
    assert_int_equal(judge_line_of(LIMIT_WEB_LINE_BYTES + 1), 414);
    assert_int_equal(judge_head_of(LIMIT_WEB_HEAD_BYTES), 0);
    assert_int_equal(judge_head_of(LIMIT_WEB_HEAD_BYTES + 1), 431);
    assert_int_equal(judge_headers_of(LIMIT_WEB_HEADERS), 0);
    assert_int_equal(judge_headers_of(LIMIT_WEB_HEADERS + 1), 431);
}

/* ---- bodies ---- */

enum { BODY_LIMIT = 20 };

/* As feed, for a body. */
static int feed_body(const struct head *h, struct str text, size_t step, struct buf *ret_body,
                     size_t *ret_n)
{
    struct body b;
    const struct refusal *fault = body_begin(&b, h, BODY_LIMIT);
    *ret_n = 0;
    while (*ret_n < text.n && b.state != BODY_DONE && !fault)
        *ret_n += body_feed(&b, str_cut(str_from(text, *ret_n), step), &fault);
    int result = fault ? fault->status : b.state == BODY_DONE ? 0 : 1;
    if (result == 0)
        buf_add(ret_body, buf_str(&b.bytes));
    body_clear(&b);
    return result;
}

static int judge_body(const struct head *h, struct str text, const char *body, const char *rest)
{
    int status = -1;
    for (size_t step = 1; step <= text.n + 1; step++) {
        AUTO(buf) struct buf got = BUF_INIT;
        size_t n;
        int now = feed_body(h, text, step, &got, &n);
        assert_true(status < 0 || status == now);
        status = now;
        if (status == 0) {
            assert_true(str_is(buf_str(&got), body));
            assert_true(str_is(str_from(text, n), rest));
        }
    }
    return status;
}

static int judge_chunks(const char *text, const char *body, const char *rest)
{
    const struct head h = {.body = BODY_CHUNKED};
    return judge_body(&h, str_of(text), body, rest);
}

static void test_length(void **state)
{
    (void)state;
    struct head h = {.body = BODY_LENGTH, .length = 5};
    assert_int_equal(judge_body(&h, STR("12345GET"), "12345", "GET"), 0);
    assert_int_equal(judge_body(&h, STR("1234"), NULL, NULL), 1);
    h.length = BODY_LIMIT;
    assert_int_equal(judge_body(&h, STR("12345678901234567890"), "12345678901234567890", ""), 0);
    h.length = BODY_LIMIT + 1;
    assert_int_equal(judge_body(&h, STR("x"), NULL, NULL), 413);
    h = (struct head){.body = BODY_NONE};
    assert_int_equal(judge_body(&h, STR("GET"), "", "GET"), 0);
}

static void test_chunks(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\r\n",
        "5;a=b\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello",
        "+5\r\nhello",
        "-5\r\nhello",
        " 5\r\nhello",
        "5 \r\nhello",
        "5\nhello",
        "5\r\nhelloX",
        "5\r\nhello\n",
        "5\r\nhello\rX",
        "0\r\nTrailer: x\r\n\r\n",
        "0\r\nX",
        "0\r\n\rX",
        "000000001\r\nx",
        "g\r\n",
        "5\r\rhello",
        "fffffffff\r\n",
        "5\r\nhello\r\n\r\n",
    };
    assert_int_equal(judge_chunks("5\r\nhello\r\n0\r\n\r\nGET", "hello", "GET"), 0);
    assert_int_equal(
        judge_chunks("5\r\nhello\r\nA\r\n 123456789\r\n0\r\n\r\n", "hello 123456789", ""), 0);
    assert_int_equal(judge_chunks("0\r\n\r\n", "", ""), 0);
    assert_int_equal(judge_chunks("00000005\r\nhello\r\n000\r\n\r\n", "hello", ""), 0);
    assert_int_equal(judge_chunks("5\r\nhel", NULL, NULL), 1);
    assert_int_equal(judge_chunks("0\r\n", NULL, NULL), 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (judge_chunks(bad[i], NULL, NULL) != 400)
            fail_msg("%s is accepted", bad[i]);
    assert_int_equal(judge_chunks("15\r\n", NULL, NULL), 413);
    assert_int_equal(judge_chunks("ffffffff\r\n", NULL, NULL), 413);
    assert_int_equal(judge_chunks("a\r\n1234567890\r\nb\r\n", NULL, NULL), 413);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),         cmocka_unit_test(test_lines),
        cmocka_unit_test(test_first_line),   cmocka_unit_test(test_headers),
        cmocka_unit_test(test_body_headers), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_length),       cmocka_unit_test(test_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
