/* SPDX-License-Identifier: MIT */
/* What is checked before any handler: Host, Origin, method, type, handshake; failures per address;
 * the address to listen on. */
#include "web/guard.h"

#include "base/mem.h"
#include "web/peers.h"
#include "web/port.h"
#include "web/sha1.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static struct head read_head(const char *line, const char *headers)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct head h = HEAD_INIT;
    const struct refusal *fault;
    buf_addf(&text, "%s HTTP/1.1\r\n%s\r\n", line, headers);
    head_feed(&h, buf_str(&text), &fault);
    assert_null(fault);
    assert_int_equal(h.state, HEAD_DONE);
    return h;
}

static int judge(const struct guard *g, const char *line, const char *headers)
{
    struct head h = read_head(line, headers);
    const struct refusal *refused = guard_check(g, &h);
    head_clear(&h);
    return refused ? refused->status : 0;
}

#define OWN "Host: 127.0.0.1:80\r\n"

static void test_host(void **state)
{
    (void)state;
    static const char *const good[] = {"127.0.0.1:80", "[::1]:80", "localhost:80", "LOCALHOST:80"};
    static const char *const bad[] = {
        "127.0.0.1",       "127.0.0.1:81",      "localhost",       "evil.example",
        "evil.example:80", "127.0.0.1:80.evil", "127.0.0.1:80:80", "0.0.0.0:80",
        "127.0.0.2:80",    "127.0.0.1:80@evil", "localhost.:80",   "public.example",
        "[::1]",           "127.1:80",          "127.0.0.1:080",   "x127.0.0.1:80",
    };
    struct guard g;
    char headers[100];
    guard_init(&g, 80, NULL, false);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        snprintf(headers, sizeof headers, "Host: %s\r\n", good[i]);
        assert_int_equal(judge(&g, "GET /", headers), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(headers, sizeof headers, "Host: %s\r\n", bad[i]);
        assert_int_equal(judge(&g, "GET /", headers), 421);
    }
    guard_clear(&g);
    guard_init(&g, 80, "public.example", false);
    assert_int_equal(judge(&g, "GET /", "Host: Public.Example\r\n"), 0);
    assert_int_equal(judge(&g, "GET /", "Host: public.example:8443\r\n"), 421);
    guard_clear(&g);
    guard_init(&g, 0, NULL, true);
    assert_int_equal(judge(&g, "GET /", "Host: anything\r\n"), 0);
    assert_int_equal(judge(&g, "GET /", "Host: a\r\nOrigin: http://a\r\n"), 403);
    guard_clear(&g);
}

static void test_origin(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Origin: null\r\n",
        "Origin: http://evil.example\r\n",
        "Origin: http://127.0.0.1\r\n",
        "Origin: http://127.0.0.1:81\r\n",
        "Origin: https://127.0.0.1:80\r\n",
        "Origin: http://localhost:80\r\n",
        "Origin: http://127.0.0.1:80.evil\r\n",
        "Origin: 127.0.0.1:80\r\n",
        "Origin:\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site:\r\n",
        "Origin: http://127.0.0.1:80\r\nSec-Fetch-Site: cross-site\r\n",
    };
    static const char *const good[] = {
        "Origin: http://127.0.0.1:80\r\n",
        "Sec-Fetch-Site: same-origin\r\n",
        "Sec-Fetch-Site: none\r\n",
        "Origin: http://127.0.0.1:80\r\nSec-Fetch-Site: same-origin\r\n",
    };
    struct guard g;
    char headers[200];
    guard_init(&g, 80, "public.example", false);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(headers, sizeof headers, OWN "%s", bad[i]);
        if (judge(&g, "GET /", headers) != 403)
            fail_msg("%s is accepted", bad[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        snprintf(headers, sizeof headers, OWN "%s", good[i]);
        assert_int_equal(judge(&g, "GET /", headers), 0);
    }
    assert_int_equal(
        judge(&g, "GET /", "Host: public.example\r\nOrigin: https://public.example\r\n"), 0);
    assert_int_equal(
        judge(&g, "GET /", "Host: public.example\r\nOrigin: http://public.example\r\n"), 403);
    guard_clear(&g);
}

static void test_method_and_type(void **state)
{
    (void)state;
    struct guard g;
    guard_init(&g, 80, NULL, false);
    assert_int_equal(judge(&g, "OPTIONS /", OWN), 405);
    assert_int_equal(judge(&g, "TRACE /", OWN), 405);
    assert_int_equal(judge(&g, "get /", OWN), 405);
    assert_int_equal(judge(&g, "DELETE /a", OWN), 0);
    assert_int_equal(judge(&g, "POST /", OWN), 0);
#define BODY OWN "Content-Length: 1\r\n"
    assert_int_equal(judge(&g, "POST /", BODY), 415);
    assert_int_equal(judge(&g, "POST /", BODY "Content-Type: text/plain\r\n"), 415);
    assert_int_equal(judge(&g, "POST /", BODY "Content-Type: application/jsonx\r\n"), 415);
    assert_int_equal(judge(&g, "POST /", BODY "Content-Type: application/json; charset=x\r\n"),
                     415);
    assert_int_equal(judge(&g, "POST /", BODY "Content-Type: application/json\r\n"), 0);
    assert_int_equal(judge(&g, "POST /", BODY "Content-Type: Application/JSON;charset=UTF-8\r\n"),
                     0);
    assert_int_equal(judge(&g, "POST /", OWN "Expect: 100-continue\r\n"), 0);
    assert_int_equal(judge(&g, "POST /", OWN "Expect: 200-ok\r\n"), 417);
    guard_clear(&g);
}

#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define SHAKE                                                                                      \
    OWN "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"

static void test_handshake(void **state)
{
    (void)state;
    struct guard g;
    AUTO(buf) struct buf accept = BUF_INIT;
    guard_init(&g, 80, NULL, false);
#define PROTOCOL "Sec-WebSocket-Protocol: trivet.v1, trivet.token.abc\r\n"
    assert_int_equal(judge(&g, "GET /", SHAKE KEY PROTOCOL), 0);
    assert_int_equal(judge(&g, "POST /", SHAKE KEY PROTOCOL), 400);
    assert_int_equal(judge(&g, "GET /", SHAKE PROTOCOL), 400);
    assert_int_equal(judge(&g, "GET /", SHAKE KEY), 400);
    assert_int_equal(judge(&g, "GET /", SHAKE KEY "Sec-WebSocket-Protocol: other\r\n"), 400);
    assert_int_equal(judge(&g, "GET /", SHAKE "Sec-WebSocket-Key: c2hvcnQ=\r\n" PROTOCOL), 400);
    assert_int_equal(judge(&g, "GET /", SHAKE "Sec-WebSocket-Key: %%%%\r\n" PROTOCOL), 400);
    assert_int_equal(
        judge(&g, "GET /", OWN "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" KEY PROTOCOL),
        400);
    assert_int_equal(judge(&g, "GET /",
                           OWN "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Version: 8\r\n" KEY PROTOCOL),
                     426);
    guard_accept_key(&accept, STR("dGhlIHNhbXBsZSBub25jZQ=="));
    assert_string_equal(accept.p, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="); /* RFC 6455, 1.3 */
    guard_clear(&g);
}

static bool has_token(const char *headers, const char *token)
{
    struct head h = read_head("GET /?token=query", headers);
    struct str got = guard_token(&h);
    bool ok = token ? str_is(got, token) : got.p == NULL;
    head_clear(&h);
    return ok;
}

static void test_token(void **state)
{
    (void)state;
    assert_true(has_token(OWN "Authorization: Bearer abc\r\n", "abc"));
    assert_true(has_token(OWN "Authorization: bearer  abc \r\n", "abc"));
    assert_true(has_token(OWN "Authorization: Basic abc\r\n", NULL));
    assert_true(has_token(OWN "Authorization: Bearer\r\n", NULL));
    assert_true(has_token(OWN "Cookie: token=abc\r\n", NULL));
    assert_true(has_token(OWN "Sec-WebSocket-Protocol: trivet.token.abc\r\n", NULL));
    assert_true(has_token(SHAKE KEY PROTOCOL, "abc"));
    assert_true(has_token(SHAKE KEY "Sec-WebSocket-Protocol: trivet.v1\r\n"
                                    "Sec-WebSocket-Protocol: trivet.token.de\r\n",
                          "de"));
    assert_true(has_token(OWN, NULL));
}

static void check_sha1(const char *text, const char *hex)
{
    unsigned char hash[SHA1_LEN];
    char got[2 * SHA1_LEN + 1];
    sha1_of(str_of(text), hash);
    for (size_t i = 0; i < SHA1_LEN; i++)
        snprintf(got + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(got, hex);
}

static void test_sha1(void **state)
{
    (void)state;
    check_sha1("", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    check_sha1("abc", "a9993e364706816aba3e25717850c26c9cd0d89d");
    check_sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
               "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

static struct peer_key key_of(uint32_t address)
{
    struct sockaddr_storage a = {.ss_family = AF_INET};
    ((struct sockaddr_in *)&a)->sin_addr.s_addr = htonl(address);
    return peer_key_of(&a);
}

static void test_failures(void **state)
{
    (void)state;
    struct peers *p = xnew(struct peers);
    struct peer_key one = key_of(0x7f000001), two = key_of(0x7f000002);
    for (int i = 0; i < LIMIT_WEB_FAILURES; i++)
        assert_int_equal(peers_fail(p, &one, 1000 + i), 0);
    assert_int_equal(peers_fail(p, &one, 2000), 59000);
    assert_int_equal(peers_fail(p, &two, 2000), 0);
    assert_true(peers_fail(p, &one, 60999) > 0);
    assert_int_equal(peers_fail(p, &one, 61000), 0); /* another minute */
    /* More addresses than rows: the oldest is forgotten, no other. */
    for (uint32_t i = 0; i < 2 * PEERS_MAX; i++) {
        struct peer_key key = key_of(0x0a000000 + i);
        for (int k = 0; k < LIMIT_WEB_FAILURES; k++)
            assert_int_equal(peers_fail(p, &key, 70000 + i), 0);
        assert_true(peers_fail(p, &key, 70000 + i) > 0);
    }
    free(p);
    struct sockaddr_storage a = {.ss_family = AF_INET6};
    struct in6_addr *in6 = &((struct sockaddr_in6 *)&a)->sin6_addr;
    in6->s6_addr[0] = 0x20;
    struct peer_key first = peer_key_of(&a);
    in6->s6_addr[15] = 9; /* another address of the same user */
    struct peer_key second = peer_key_of(&a);
    assert_memory_equal(&first, &second, sizeof first);
}

static void test_port(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",       "80",      "127.0.0.1",   ":80",           "host:80",   "127.0.0.1:-1",
        "::1:80", "[::1:80", "[1.2.3.4]:8", "1.2.3.4:65536", "1.2.3.4: 8"};
    struct port p;
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (port_parse(str_of(bad[i]), &p, &err))
            fail_msg("%s is accepted", bad[i]);
    assert_true(port_parse(STR("127.0.0.1:0"), &p, &err) && p.is_loopback);
    assert_true(port_parse(STR("127.9.9.9:80"), &p, &err) && p.is_loopback);
    assert_true(port_parse(STR("localhost:80"), &p, &err) && p.is_loopback);
    assert_true(port_parse(STR("[::1]:80"), &p, &err) && p.is_loopback);
    assert_true(port_parse(STR("0.0.0.0:80"), &p, &err) && !p.is_loopback);
    assert_true(port_parse(STR("[::]:80"), &p, &err) && !p.is_loopback);
    assert_true(port_parse(STR("10.0.0.1:80"), &p, &err) && !p.is_loopback);
    assert_true(port_parse(STR("[::ffff:127.0.0.1]:80"), &p, &err) && !p.is_loopback);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_method_and_type),
        cmocka_unit_test(test_handshake),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_sha1),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
