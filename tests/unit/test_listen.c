/* SPDX-License-Identifier: MIT */
/* The loopback listener: what it answers, what it refuses, and where it can be reached. */
#include "net/listen.h"

#include "base/time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 10000 };

struct scene {
    struct loop *l;
    struct http_listener *s;
    struct buf path, query;
    int n_asked;
    bool frees_itself;
};

static void on_request(void *arg, struct str path, struct str query, struct listen_answer *ret)
{
    struct scene *c = arg;
    c->n_asked++;
    buf_reset(&c->path);
    buf_add(&c->path, path);
    buf_reset(&c->query);
    buf_add(&c->query, query);
    if (c->frees_itself)
        listener_free(c->s);
    if (str_is(path, "/page")) {
        ret->status = 200;
        ret->content_type = "text/html; charset=utf-8";
        buf_addz(&ret->body, "<p>hello</p>");
    } else if (str_is(path, "/go")) {
        ret->status = 302;
        buf_addz(&ret->location, "/page");
    } else if (str_is(path, "/large")) {
        ret->status = 200;
        memset(buf_space(&ret->body, 4 << 20), 'x', 4 << 20);
        buf_added(&ret->body, 4 << 20);
    }
}

static void scene_open(struct scene *c)
{
    struct error err;
    *c = (struct scene){.l = loop_new()};
    c->s = listener_new(c->l, 0, on_request, c, &err);
    assert_non_null(c->s);
}

static void scene_clear(struct scene *c)
{
    listener_free(c->s);
    loop_free(c->l);
    buf_clear(&c->path);
    buf_clear(&c->query);
}

static int reach(const char *host, int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &at.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Reads what comes until the listener closes. */
static void read_all(struct scene *c, int fd, struct buf *out)
{
    int64_t begun = time_mono_us();
    for (;;) {
        char bytes[8192];
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return;
        if (n > 0)
            buf_add(out, str_n(bytes, (size_t)n));
        loop_step(c->l, false);
        assert_true(time_mono_us() - begun < PATIENCE_MS * 1000);
    }
}

static const char *talk(struct scene *c, struct buf *out, const char *request)
{
    int fd = reach("127.0.0.1", listener_port(c->s));
    assert_true(fd >= 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    buf_reset(out);
    buf_addz(out, "");
    read_all(c, fd, out);
    close(fd);
    return buf_str(out).p;
}

static void test_answers(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    scene_open(&c);
    const char *a = talk(&c, &got, "GET /page?code=a%20b&state=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(a, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(a, "Content-Type: text/html; charset=utf-8\r\n"));
    assert_non_null(strstr(a, "Content-Length: 12\r\n"));
    assert_non_null(strstr(a, "Connection: close\r\n"));
    assert_non_null(strstr(a, "\r\n\r\n<p>hello</p>"));
    assert_string_equal(c.path.p, "/page");
    assert_string_equal(c.query.p, "code=a%20b&state=1");
    a = talk(&c, &got, "GET /go HTTP/1.0\n\n");
    assert_non_null(strstr(a, "302 Found\r\nLocation: /page\r\n"));
    assert_int_equal(c.query.n, 0);
    a = talk(&c, &got, "GET /nothing HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(a, "404 Not Found\r\n"));
    a = talk(&c, &got, "HEAD /page HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(a, "Content-Length: 12\r\n"));
    assert_null(strstr(a, "hello"));
}

static void test_refusals(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT, huge = BUF_INIT;
    scene_open(&c);
    assert_non_null(strstr(talk(&c, &got, "POST /page HTTP/1.1\r\n\r\n"), " 405 "));
    assert_non_null(strstr(talk(&c, &got, "GET page HTTP/1.1\r\n\r\n"), " 400 "));
    assert_non_null(strstr(talk(&c, &got, "GET /page\r\n\r\n"), " 400 "));
    assert_non_null(strstr(talk(&c, &got, "\r\n\r\n"), " 400 "));
    assert_non_null(strstr(talk(&c, &got, "GET /a\x01 HTTP/1.1\r\n\r\n"), " 400 "));
    buf_addz(&huge, "GET /page HTTP/1.1\r\nX: ");
    for (int i = 0; i < 30000; i++)
        buf_addc(&huge, 'y');
    assert_non_null(strstr(talk(&c, &got, huge.p), " 431 "));
    assert_int_equal(c.n_asked, 0);
}

static void test_bytes_one_by_one(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    scene_open(&c);
    int fd = reach("127.0.0.1", listener_port(c.s));
    for (const char *p = "GET /page HTTP/1.1\r\nHost: x\r\n\r\n"; *p; p++) {
        assert_int_equal(send(fd, p, 1, MSG_NOSIGNAL), 1);
        loop_step(c.l, true);
    }
    read_all(&c, fd, &got);
    close(fd);
    assert_non_null(strstr(got.p, " 200 OK"));
    assert_int_equal(c.n_asked, 1);
}

static void test_large_answer(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    scene_open(&c);
    talk(&c, &got, "GET /large HTTP/1.1\r\n\r\n");
    assert_true(got.n > 4 << 20);
    assert_true(got.p[got.n - 1] == 'x');
}

static void test_many_and_silent(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    int silent[20];
    scene_open(&c);
    for (int i = 0; i < 20; i++) {
        silent[i] = reach("127.0.0.1", listener_port(c.s));
        loop_step(c.l, false);
    }
    assert_non_null(strstr(talk(&c, &got, "GET /page HTTP/1.1\r\n\r\n"), " 200 OK"));
    for (int i = 0; i < 20; i += 2) /* some go, some are still there when the listener goes */
        close(silent[i]);
    for (int i = 0; i < 30; i++)
        loop_step(c.l, false);
    for (int i = 1; i < 20; i += 2)
        close(silent[i]);
}

static void test_freed_inside(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(buf) struct buf got = BUF_INIT;
    scene_open(&c);
    int port = listener_port(c.s);
    c.frees_itself = true;
    int fd = reach("127.0.0.1", port);
    assert_int_equal(send(fd, "GET /page HTTP/1.1\r\n\r\n", 22, MSG_NOSIGNAL), 22);
    read_all(&c, fd, &got);
    close(fd);
    c.s = NULL;
    assert_int_equal(c.n_asked, 1);
    assert_int_equal(got.n, 0);
    assert_int_equal(reach("127.0.0.1", port), -1);
}

static void test_taken_port(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    struct error err;
    scene_open(&c);
    assert_null(listener_new(c.l, listener_port(c.s), on_request, &c, &err));
    assert_int_equal(err.code, ERR_BUSY);
    assert_null(listener_new(c.l, 70000, on_request, &c, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

/* Every other address of this machine refuses. */
static void test_loopback_only(void **state) /* covers: providers 62 */
{
    (void)state;
    AUTO(scene) struct scene c;
    struct ifaddrs *all = NULL;
    scene_open(&c);
    int port = listener_port(c.s);
    assert_int_equal(reach("127.0.0.2", port), -1);
    assert_int_equal(getifaddrs(&all), 0);
    for (struct ifaddrs *i = all; i; i = i->ifa_next) {
        char host[64];
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || (i->ifa_flags & IFF_LOOPBACK))
            continue;
        const struct sockaddr_in *in = (const void *)i->ifa_addr;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        assert_int_equal(reach(host, port), -1);
    }
    freeifaddrs(all);
    listener_free(c.s); /* closed after use */
    c.s = NULL;
    assert_int_equal(reach("127.0.0.1", port), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bytes_one_by_one), cmocka_unit_test(test_large_answer),
        cmocka_unit_test(test_many_and_silent),  cmocka_unit_test(test_freed_inside),
        cmocka_unit_test(test_taken_port),       cmocka_unit_test(test_loopback_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
