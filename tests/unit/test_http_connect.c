/* SPDX-License-Identifier: MIT */
/* A server that does not even take the connection.  Needs trivet-net.so beside this program, like
 * test_http.c. */
#include "base/module.h"
#include "base/time.h"
#include "net/http.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_PEERS = 4, TIMEOUT_MS = 300 };

/* A port whose queue of connections is full: the kernel lets further ones wait in vain. */
static int open_full_port(int *ret_port, int peers[N_PEERS])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    for (size_t i = 0; i < N_PEERS; i++) {
        peers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(peers[i], (struct sockaddr *)&at, n);
    }
    *ret_port = ntohs(at.sin_port);
    return fd;
}

struct heard {
    bool has_begun, is_ended;
    struct error err;
};

static void on_status(void *arg, int status, struct str type)
{
    (void)status;
    (void)type;
    ((struct heard *)arg)->has_begun = true;
}

static void on_body(void *arg, struct str bytes)
{
    (void)bytes;
    ((struct heard *)arg)->has_begun = true;
}

static void on_end(void *arg, const struct error *err)
{
    struct heard *h = arg;
    h->is_ended = true;
    if (err)
        h->err = *err;
}

static void test_connect_timeout(void **state)
{
    (void)state;
    int port, peers[N_PEERS], fd = open_full_port(&port, peers);
    struct loop *l = loop_new();
    struct heard h = {0};
    char url[60];
    struct error err;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    struct http_request rq = {.method = "GET",
                              .url = str_of(url),
                              .connect_timeout_ms = TIMEOUT_MS,
                              .on_status = on_status,
                              .on_body = on_body,
                              .on_end = on_end,
                              .arg = &h};
    int64_t begun = time_mono_us();
    assert_non_null(http_start(l, &rq, &err));
    while (!h.is_ended)
        loop_step(l, true);
    assert_false(h.has_begun);
    assert_int_equal(h.err.code, ERR_NETWORK);
    assert_non_null(strstr(h.err.text, "127.0.0.1"));
    /* Not simply refused. */
    assert_true(time_mono_us() - begun >= (TIMEOUT_MS - 10) * 1000);
    http_close(l);
    loop_free(l);
    for (size_t i = 0; i < N_PEERS; i++)
        close(peers[i]);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_connect_timeout)};
    struct error err;
    if (!module_open("net", "libcurl4", &err)) {
        fprintf(stderr, "%s: %s\n", getenv("TRIVET_NEED_MODULES") ? "failed" : "skipped", err.text);
        return getenv("TRIVET_NEED_MODULES") ? 1 : 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
