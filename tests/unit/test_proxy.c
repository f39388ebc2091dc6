/* SPDX-License-Identifier: MIT */
/* The proxy over real sockets of 127.0.0.1: tunnels, plain requests, refusals, limits. */
#include "net/proxy.h"

#include "base/buf.h"
#include "base/time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_US = 10000000 };

struct scene {
    struct loop *l;
    struct proxy *p;
    struct host_list allowed;
    int port;        /* of the proxy */
    int server;      /* listens */
    int server_port; /* listed as 127.0.0.1:PORT and localhost:PORT */
};

static int open_port(int *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static void scene_open(struct scene *c)
{
    AUTO(buf) struct buf list = BUF_INIT;
    struct error err;
    *c = (struct scene){.l = loop_new()};
    int fd = open_port(&c->port);
    c->server = open_port(&c->server_port);
    buf_addf(&list, "example.org,*.example.net:8443,127.0.0.1:%d,localhost:%d,localhost.",
             c->server_port, c->server_port);
    assert_true(host_list_parse(buf_str(&list), &c->allowed, &err));
    c->p = proxy_new(c->l, fd, &c->allowed, &err);
    assert_non_null(c->p);
}

static void scene_clear(struct scene *c)
{
    proxy_free(c->p);
    loop_free(c->l);
    host_list_clear(&c->allowed);
    close(c->server);
}

static int reach(const struct scene *c)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)c->port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* The loop is given time until the deadline. */
static void step(struct scene *c, int64_t begun)
{
    loop_step(c->l, false);
    assert_true(time_mono_us() - begun < PATIENCE_US);
}

/* Reads until the text holds `wanted`; NULL: until the end. */
static void hear(struct scene *c, int fd, struct buf *out, const char *wanted)
{
    int64_t begun = time_mono_us();
    while (!wanted || str_find(buf_str(out), str_of(wanted)) == SIZE_MAX) {
        char bytes[8192];
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            assert_null(wanted);
            return;
        }
        if (n > 0)
            buf_add(out, str_n(bytes, (size_t)n));
        step(c, begun);
    }
}

static int served(struct scene *c)
{
    int64_t begun = time_mono_us();
    for (;;) {
        struct timeval none = {0};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(c->server, &set);
        if (select(c->server + 1, &set, NULL, NULL, &none) == 1)
            return accept(c->server, NULL, NULL);
        step(c, begun);
    }
}

static const char *format(struct buf *b, const char *text, int port)
{
    buf_reset(b);
    struct str after, before;
    after = str_split(str_of(text), '$', &before);
    buf_add(b, before);
    if (after.p) {
        buf_addf(b, "%d", port);
        buf_add(b, after);
    }
    return b->p;
}

/* One request, one answer. */
static const char *ask(struct scene *c, struct buf *out, const char *request)
{
    AUTO(buf) struct buf text = BUF_INIT;
    int fd = reach(c);
    say(fd, format(&text, request, c->server_port));
    buf_reset(out);
    hear(c, fd, out, NULL);
    close(fd);
    return buf_str(out).p;
}

static void tunnel(struct scene *c, int *ret_client, int *ret_server)
{
    AUTO(buf) struct buf got = BUF_INIT, text = BUF_INIT;
    *ret_client = reach(c);
    say(*ret_client, format(&text, "CONNECT 127.0.0.1:$ HTTP/1.1\r\n\r\n", c->server_port));
    *ret_server = served(c);
    hear(c, *ret_client, &got, "\r\n\r\n");
    assert_string_equal(got.p, "HTTP/1.1 200 Connection established\r\n\r\n");
}

static void expect_count(struct scene *c, unsigned n)
{
    int64_t begun = time_mono_us();
    while (proxy_count(c->p) != n)
        step(c, begun);
}

static void test_connect(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    int client, server;
    scene_open(&c);
    tunnel(&c, &client, &server);
    say(client, "up");
    hear(&c, server, &got, "up");
    say(server, "down");
    buf_reset(&got);
    hear(&c, client, &got, "down");
    close(server);
    hear(&c, client, &got, NULL);
    close(client);
    expect_count(&c, 0);
}

/* A name with its port that is local by its nature, and bytes that come with the head. */
static void test_local_name(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT, text = BUF_INIT;
    scene_open(&c);
    int client = reach(&c);
    say(client, format(&text, "CONNECT LOCALHOST.:$ HTTP/1.1\r\n\r\nearly", c.server_port));
    int server = served(&c);
    hear(&c, server, &got, "early");
    close(client);
    close(server);
}

static void test_get(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT, text = BUF_INIT;
    scene_open(&c);
    int client = reach(&c);
    say(client, format(&text,
                       "POST http://127.0.0.1:$/a HTTP/1.1\r\nHost: evil\r\nContent-Length: 4"
                       "\r\n\r\nbodyGET http://x/ HTTP/1.1\r\n\r\n",
                       c.server_port));
    int server = served(&c);
    hear(&c, server, &got, "\r\n\r\nbody");
    assert_ptr_equal(strstr(got.p, "POST /a HTTP/1.1\r\nHost: 127.0.0.1:"), got.p);
    assert_null(strstr(got.p, "evil"));
    say(client, "GET / HTTP/1.1\r\n\r\n"); /* a second request goes nowhere */
    say(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    buf_reset(&text);
    hear(&c, client, &text, "\r\n\r\nok");
    assert_null(strstr(got.p, "GET"));
    close(server);
    hear(&c, client, &text, NULL);
    close(client);
    expect_count(&c, 0);
}

static void test_refused_hosts(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    scene_open(&c);
    const char *a = ask(&c, &got, "CONNECT evil.org:443 HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(a, "HTTP/1.1 403 Forbidden\r\n"));
    assert_non_null(strstr(a, "add evil.org to TRIVET_SANDBOX_NET"));
    a = ask(&c, &got, "GET http://example.org:22/ HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(a, "add example.org:22 to TRIVET_SANDBOX_NET"));
    a = ask(&c, &got, "CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(a, " 403 "));
    a = ask(&c, &got, "CONNECT [::1]:22 HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(a, "add [::1]:22 to"));
    a = ask(&c, &got, "GET http://169.254.169.254/latest HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert_non_null(strstr(a, " 403 "));
    /* listed, but the name leads to this machine and its port was not given */
    a = ask(&c, &got, "GET http://localhost/ HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(a, " 403 "));
    assert_non_null(strstr(a, "private network"));
    expect_count(&c, 0);
}

static void test_refused_requests(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT, huge = BUF_INIT;
    scene_open(&c);
    assert_non_null(strstr(ask(&c, &got, "GET / HTTP/1.1\r\n\r\n"), " 400 "));
    assert_non_null(strstr(ask(&c, &got, "\x16\x03\x01 hello"), " 400 "));
    assert_non_null(strstr(ask(&c, &got,
                               "POST http://127.0.0.1:$/ HTTP/1.1\r\nContent-Length: 1\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n"),
                           " 411 "));
    buf_addz(&huge, "GET http://example.org/ HTTP/1.1\r\nX: ");
    for (int i = 0; i < 30000; i++)
        buf_addc(&huge, 'y');
    assert_non_null(strstr(ask(&c, &got, huge.p), " 431 "));
    proxy_patience(c.p, 50, 1000, 1000);
    assert_non_null(strstr(ask(&c, &got, "GET http://exam"), " 408 "));
}

static void test_no_server(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    scene_open(&c);
    close(c.server);
    assert_non_null(strstr(ask(&c, &got, "CONNECT 127.0.0.1:$ HTTP/1.1\r\n\r\n"), " 502 "));
    assert_non_null(strstr(ask(&c, &got, "GET http://localhost:$/ HTTP/1.1\r\n\r\n"), " 502 "));
    c.server = dup(0);
}

/* Whoever does not read stops whoever writes, and nothing is lost. */
static void test_slow_reader(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    int client, server;
    size_t sent = 0, got = 0;
    char bytes[16384];
    scene_open(&c);
    tunnel(&c, &client, &server);
    for (int stuck = 0;
         stuck < 200;) { /* until the buffers of the kernel and of the proxy are full */
        memset(bytes, (int)(sent / sizeof bytes) & 127, sizeof bytes);
        ssize_t n = sent % sizeof bytes ? -1 : send(server, bytes, sizeof bytes, MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        stuck = n > 0 ? 0 : stuck + 1;
        loop_step(c.l, false);
    }
    assert_true(sent > 0 && sent < (64 << 20));
    shutdown(server, SHUT_WR);
    for (int64_t begun = time_mono_us();;) {
        ssize_t n = recv(client, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++, got++)
            if (bytes[i] != (char)((got / sizeof bytes) & 127))
                fail_msg("wrong byte at %zu", got);
        step(&c, begun);
    }
    assert_int_equal(got, sent);
    close(client);
    close(server);
    expect_count(&c, 0);
}

static void test_half_close(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    int client, server;
    scene_open(&c);
    tunnel(&c, &client, &server);
    say(client, "question");
    shutdown(client, SHUT_WR);
    hear(&c, server, &got, NULL); /* the end arrives */
    assert_string_equal(got.p, "question");
    say(server, "answer");
    close(server);
    buf_reset(&got);
    hear(&c, client, &got, NULL);
    assert_string_equal(got.p, "answer");
    close(client);
    expect_count(&c, 0);
}

static void test_count(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    int idle[PROXY_CONNECTIONS + 10];
    scene_open(&c);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++)
        idle[i] = reach(&c);
    expect_count(&c, PROXY_CONNECTIONS);
    for (int i = 0; i < 50; i++)
        loop_step(c.l, false);
    assert_int_equal(proxy_count(c.p), PROXY_CONNECTIONS);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++)
        close(idle[i]);
    assert_non_null(strstr(ask(&c, &got, "GET / HTTP/1.1\r\n\r\n"), " 400 "));
    expect_count(&c, 0);
}

static void test_idle(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    int client, server;
    scene_open(&c);
    proxy_patience(c.p, 5000, 5000, 50);
    tunnel(&c, &client, &server);
    hear(&c, client, &got, NULL);
    hear(&c, server, &got, NULL);
    close(client);
    close(server);
    assert_int_equal(proxy_count(c.p), 0);
}

/* Freed in every state: with a head begun, a lookup on the pool, a tunnel. */
static void test_freed(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf text = BUF_INIT;
    int client, server, others[6];
    scene_open(&c);
    tunnel(&c, &client, &server);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        others[i] = reach(&c);
        say(others[i], i == 0
                           ? "GET htt"
                           : format(&text, "CONNECT localhost:$ HTTP/1.1\r\n\r\n", c.server_port));
    }
    expect_count(&c, 7);
    loop_step(c.l, false);
    proxy_free(c.p);
    c.p = NULL;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        close(others[i]);
    close(client);
    close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_local_name),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_refused_hosts),
        cmocka_unit_test(test_refused_requests),
        cmocka_unit_test(test_no_server),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_half_close),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
