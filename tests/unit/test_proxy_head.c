/* SPDX-License-Identifier: MIT */
/* Heads of requests to the proxy: what is sent on, and what is refused. */
#include "net/proxy_head.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int status_of(const char *head)
{
    struct proxy_head h = {0};
    struct error err = ERROR_INIT;
    assert_int_equal(proxy_head_end(str_of(head)), strlen(head));
    if (!proxy_head_read(str_of(head), &h, &err))
        return err.status;
    proxy_head_clear(&h);
    return 200;
}

static void test_connect(void **state)
{
    (void)state;
    struct proxy_head h;
    struct error err;
    assert_true(proxy_head_read(STR("CONNECT Example.org:443 HTTP/1.1\r\nHost: other\r\n"
                                    "Proxy-Connection: keep-alive\r\n\r\n"),
                                &h, &err));
    assert_true(h.is_connect);
    assert_string_equal(h.host.name, "example.org");
    assert_int_equal(h.host.port, 443);
    assert_int_equal(h.head.n, 0);
    proxy_head_clear(&h);
}

static void test_absolute(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"GET http://a.org/x?y=z HTTP/1.1\r\n\r\n",
         "GET /x?y=z HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\n\r\n"},
        {"GET HTTP://A.org:8080 HTTP/1.0\r\n\r\n",
         "GET / HTTP/1.0\r\nHost: a.org:8080\r\nConnection: close\r\n\r\n"},
        {"GET http://a.org?q HTTP/1.1\r\n\r\n",
         "GET /?q HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\n\r\n"},
        {"GET http://[::1]:81/ HTTP/1.1\r\n\r\n",
         "GET / HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\n\r\n"},
        {"POST http://a.org/ HTTP/1.1\r\nHost: evil.org\r\nHOST: more.evil\r\nAccept: */*\r\n"
         "Connection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\nX-Hop: 1\r\nX-Stays: 1\r\n"
         "Proxy-Authorization: Basic x\r\nTE: trailers\r\nUpgrade: h2c\r\nContent-Length: "
         "12\r\n\r\n",
         "POST / HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\nAccept: */*\r\nX-Stays: 1\r\n"
         "Content-Length: 12\r\n\r\n"},
        {"GET http://a.org/ HTTP/1.1\r\nConnection: content-length\r\nContent-Length: 3\r\n\r\n",
         "GET / HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct proxy_head h;
        struct error err;
        assert_true(proxy_head_read(str_of(rows[i].in), &h, &err));
        assert_string_equal(h.head.p, rows[i].out);
        proxy_head_clear(&h);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        int status;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: a.org\r\n\r\n", 400},
        {"GET a.org HTTP/1.1\r\n\r\n", 400},
        {"GET https://a.org/ HTTP/1.1\r\n\r\n", 400},
        {"GET ftp://a.org/ HTTP/1.1\r\n\r\n", 400},
        {"GET http:///x HTTP/1.1\r\n\r\n", 400},
        {"GET http://user@a.org/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a.org@evil.org/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a.org\\@evil.org/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a.org:/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a.org/#x HTTP/1.1\r\n\r\n", 400},
        {"GET http://a.org/ x HTTP/1.1\r\n\r\n", 400},
        {"GET  http://a.org/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a.org/ HTTP/2\r\n\r\n", 400},
        {"GET http://a.org/\r\n\r\n", 400},
        {"GET http://a.org/\nX: y HTTP/1.1\r\n\r\n", 400},
        {"GE T http://a.org/ HTTP/1.1\r\n\r\n", 400},
        {"CONNECT a.org HTTP/1.1\r\n\r\n", 400},
        {"CONNECT a.org:443/x HTTP/1.1\r\n\r\n", 400},
        {"CONNECT u@a.org:443 HTTP/1.1\r\n\r\n", 400},
        {"CONNECT http://a.org/ HTTP/1.1\r\n\r\n", 400},
        {"CONNECT a.org:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400},
        {"\r\n\r\n", 400},
        {"GET http://a.org/ HTTP/1.1\r\nX : y\r\n\r\n", 400},
        {"GET http://a.org/ HTTP/1.1\r\nX: y\r\n folded\r\n\r\n", 400},
        {"GET http://a.org/ HTTP/1.1\r\nX: y\nZ: w\r\n\r\n", 400},
        {"GET http://a.org/ HTTP/1.1\r\nX: y\rZ: w\r\n\r\n", 400},
        {"GET http://a.org/ HTTP/1.1\r\nno colon\r\n\r\n", 400},
        {"GET http://a.org/ HTTP/1.1\r\n: y\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length:\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"POST http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n", 411},
        {"POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n", 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (status_of(rows[i].head) != rows[i].status)
            fail_msg("%d for %s", status_of(rows[i].head), rows[i].head);
    AUTO(buf) struct buf many = BUF_INIT;
    buf_addz(&many, "GET http://a.org/ HTTP/1.1\r\n");
    for (int i = 0; i < 300; i++)
        buf_addz(&many, "X: y\r\n");
    buf_addz(&many, "\r\n");
    assert_int_equal(status_of(many.p), 431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
