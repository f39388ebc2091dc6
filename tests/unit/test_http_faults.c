/* SPDX-License-Identifier: MIT */
/* Answers that are broken at any byte, compressed, or behind a proxy that is none.  The server is a
 * thread of this program that sends the same bytes to everybody.  Needs trivet-net.so beside this
 * program, like test_http.c. */
#include "base/module.h"
#include "net/fetch.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the server ---- */

struct server {
    int fd;
    pthread_t thread;
    char url[60];
    pthread_mutex_t lock; /* of what follows */
    char answer[4096];
    size_t n;
    bool is_reset; /* the connection is reset instead of closed */
    char request[4096];
};

static void serve(struct server *s, int peer)
{
    size_t n = 0;
    ssize_t got;
    while (n < sizeof s->request - 1 &&
           !(n >= 4 && memcmp(s->request + n - 4, "\r\n\r\n", 4) == 0)) {
        if ((got = recv(peer, s->request + n, 1, 0)) != 1)
            return;
        n++;
    }
    s->request[n] = '\0';
    pthread_mutex_lock(&s->lock);
    bool is_sent = send(peer, s->answer, s->n, MSG_NOSIGNAL) >= 0, is_reset = s->is_reset;
    pthread_mutex_unlock(&s->lock);
    if (is_sent && is_reset)
        setsockopt(peer, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
}

static void *serve_all(void *arg)
{
    struct server *s = arg;
    int peer;
    while ((peer = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        serve(s, peer);
        close(peer);
    }
    return NULL;
}

static void server_open(struct server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    *s = (struct server){.lock = PTHREAD_MUTEX_INITIALIZER,
                         .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(s->fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(s->fd, 16), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &n), 0);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/x", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&s->thread, NULL, serve_all, s), 0);
}

static void server_close(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

static void server_says(struct server *s, struct str answer, bool is_reset)
{
    assert_true(answer.n <= sizeof s->answer);
    pthread_mutex_lock(&s->lock);
    memcpy(s->answer, answer.p, answer.n);
    s->n = answer.n;
    s->is_reset = is_reset;
    pthread_mutex_unlock(&s->lock);
}

/* ---- asking ---- */

struct asked {
    struct loop *loop;
    struct str url;
    struct fetched got;
    struct error err;
    bool ok, is_over;
};

static void ask_fiber(void *arg)
{
    struct asked *a = arg;
    struct fetch what = {.method = "GET", .url = a->url, .timeout_ms = 10000};
    a->ok = fetch_await(a->loop, &what, &a->got, &a->err);
    a->is_over = true;
}

static void ask(struct asked *a, struct loop *l, const struct server *s)
{
    *a = (struct asked){.loop = l, .url = str_of(s->url)};
    fiber_start(l, "ask", ask_fiber, a);
    while (!a->is_over)
        loop_step(l, true);
}

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: b\r\n"
#define WHOLE HEAD "Content-Length: 5\r\n\r\nhello"

/* An answer without its whole head is a failure, never a success without a status: lists of models,
 * tools and sign-in all ask this way. */
static void test_fetch_of_a_broken_head(void **state)
{
    (void)state;
    struct server s;
    struct loop *l = loop_new();
    struct str whole = STR(WHOLE);
    server_open(&s);
    for (int is_reset = 0; is_reset < 2; is_reset++) {
        for (size_t n = 0; n <= whole.n; n++) {
            struct asked a;
            server_says(&s, str_cut(whole, n), is_reset && n < whole.n);
            ask(&a, l, &s);
            assert_int_equal(a.ok, n == whole.n);
            assert_int_equal(a.ok ? a.got.status : 200, 200);
            if (!a.ok && a.err.code != ERR_NETWORK && a.err.code != ERR_CUT)
                fail_msg("%zu bytes: %s", n, a.err.text);
            fetched_clear(&a.got);
        }
    }
    server_close(&s);
    http_close(l);
    loop_free(l);
}

static void test_odd_heads(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        int status; /* 0: it fails */
    } cases[] = {
        {"HTTP/1.1\r\n\r\n", 0},
        {"HTTP/1.1 \r\n\r\n", 0},
        {"HTTP/1.1 abc OK\r\n\r\n", 0},
        {"HTTP/1.1 2\r\n\r\n", 0},
        {"HTTP/1.1 000 None\r\n\r\n", 0},
        {"HTTP/1.1 100 Continue\r\n\r\n", 0},
        {"HTTP/9.9 200 OK\r\n\r\n", 0},
        {"ICY 200 OK\r\n\r\n", 0},
        {"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0},
        {"HTTP/1.1 200 OK\r\nHTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n", 0},
        {"HTTP/1.1 200 OK\r\nHTTP/1.1 404: None\r\nContent-Length: 0\r\n\r\n", 200},
        {"HTTP/1.1 200 OK\r\nHTTP/x: y\r\nContent-Length: 0\r\n\r\n", 200},
        {"HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n",
         404},
        {"HTTP/1.1 204\r\n\r\n", 204},
        {"HTTP/1.0 200\n\nbody", 200},
    };
    struct server s;
    struct loop *l = loop_new();
    server_open(&s);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct asked a;
        server_says(&s, str_of(cases[i].answer), false);
        ask(&a, l, &s);
        int status = a.ok ? a.got.status : 0;
        if (status != cases[i].status)
            fail_msg("%s gives %d: %s", cases[i].answer, status, a.ok ? "" : a.err.text);
        fetched_clear(&a.got);
    }
    server_close(&s);
    http_close(l);
    loop_free(l);
}

/* Compressed although nobody asked for it: decoded, or named. */
static void test_content_encodings(void **state)
{
    (void)state;
    static const char gzip[] = HEAD
        "Content-Encoding: gzip\r\nContent-Length: 33\r\n\r\n"
        "\x1f\x8b\x08\0\0\0\0\0\x02\x03\xabVJ\xcb\xcc\x4b\x55\xb2\x2a\x29\x2a\x4d\xad\x05\0"
        "\x54\x5d\xd9\x6b\x0d\0\0\0";
    static const char deflate[] = HEAD
        "Content-Encoding: deflate\r\nContent-Length: 21\r\n\r\n"
        "\x78\x9c\xabVJ\xcb\xcc\x4b\x55\xb2\x2a\x29\x2a\x4d\xad\x05\0\x20\x62\x04\xd9";
    static const char odd[] = HEAD "Content-Encoding: zork\r\nContent-Length: 5\r\n\r\nhello";
    static const char liar[] = HEAD "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello";
    const struct str good[] = {str_n(gzip, sizeof gzip - 1), str_n(deflate, sizeof deflate - 1)};
    const struct str bad[] = {str_n(odd, sizeof odd - 1), str_n(liar, sizeof liar - 1)};
    struct server s;
    struct loop *l = loop_new();
    struct asked a;
    server_open(&s);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        server_says(&s, good[i], false);
        ask(&a, l, &s);
        if (!a.ok)
            fail_msg("%s", a.err.text);
        assert_string_equal(a.got.body.p, "{\"fine\":true}");
        assert_null(strcasestr(s.request, "accept-encoding"));
        fetched_clear(&a.got);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        server_says(&s, bad[i], false);
        ask(&a, l, &s);
        assert_false(a.ok);
        assert_int_equal(a.err.code, ERR_BAD_REPLY);
        assert_non_null(strstr(a.err.text, i == 0 ? "zork" : "gzip"));
    }
    server_close(&s);
    http_close(l);
    loop_free(l);
}

/* What only the user can change is not tried again, and the password of a proxy is not shown. */
static void test_proxy_faults(void **state)
{
    (void)state;
    static const struct {
        const char *proxy, *answer;
        enum err_again again;
    } cases[] = {
        {"http://me:hush-hush@[::bad", "", AGAIN_NO},
        {"http://me:hush-hush@127.0.0.1:99999", "", AGAIN_NO},
        {"zork://me:hush-hush@127.0.0.1:1", "", AGAIN_NO},
        {"http://me:hush-hush@127.0.0.1:1", "", AGAIN_UNSAID}, /* it may be started yet */
        {NULL, "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", AGAIN_NO},
        {NULL, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", AGAIN_UNSAID},
    };
    struct server s;
    struct loop *l = loop_new();
    server_open(&s);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct asked a;
        char proxy[80];
        snprintf(proxy, sizeof proxy, "http://me:hush-hush@%.*s", (int)strlen(s.url) - 9,
                 s.url + 7);
        setenv("https_proxy", cases[i].proxy ? cases[i].proxy : proxy, 1);
        server_says(&s, str_of(cases[i].answer), false);
        a = (struct asked){.loop = l, .url = STR("https://127.0.0.1:2/")};
        fiber_start(l, "ask", ask_fiber, &a);
        while (!a.is_over)
            loop_step(l, true);
        assert_false(a.ok);
        assert_int_equal(a.err.code, ERR_NETWORK);
        if (a.err.again != cases[i].again || strstr(a.err.text, "hush"))
            fail_msg("case %zu: %d %s", i, a.err.again, a.err.text);
    }
    unsetenv("https_proxy");
    server_close(&s);
    http_close(l);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetch_of_a_broken_head),
        cmocka_unit_test(test_odd_heads),
        cmocka_unit_test(test_content_encodings),
        cmocka_unit_test(test_proxy_faults),
    };
    struct error err;
    if (!module_open("net", "libcurl4", &err)) {
        fprintf(stderr, "%s: %s\n", getenv("TRIVET_NEED_MODULES") ? "failed" : "skipped", err.text);
        return getenv("TRIVET_NEED_MODULES") ? 1 : 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
