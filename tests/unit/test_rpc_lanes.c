/* SPDX-License-Identifier: MIT */
/* JSON-RPC, many requests at once: lanes, fibers, stop and cancel, bursts, slow clients. */
#include "rpc_scene.h"

#include "base/limits.h"

#include <sys/wait.h>

static void test_lanes(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    say(&s,
        STR(RQ("\"id\":1,\"method\":\"main.sleep\",\"params\":{\"ms\":20,\"name\":\"a\"}") "\n"));
    say(&s, STR(RQ("\"id\":2,\"method\":\"main.now\"") "\n"));
    say(&s, STR(RQ("\"id\":3,\"method\":\"main.echo\",\"params\":{}") "\n"));
    say(&s,
        STR(RQ("\"id\":4,\"method\":\"main.sleep\",\"params\":{\"ms\":1,\"name\":\"b\"}") "\n"));
    say(&s, STR(RQ("\"id\":5,\"method\":\"main.now\"") "\n"));
    say(&s, STR(RQ("\"id\":6,\"method\":\"now\"") "\n"));
    say(&s,
        STR(RQ("\"id\":7,\"method\":\"free.sleep\",\"params\":{\"ms\":1,\"name\":\"c\"}") "\n"));
    say(&s,
        STR(RQ("\"id\":8,\"method\":\"slow.sleep\",\"params\":{\"ms\":40,\"name\":\"d\"}") "\n"));
    say(&s,
        STR(RQ("\"id\":9,\"method\":\"slow.sleep\",\"params\":{\"ms\":1,\"name\":\"e\"}") "\n"));
    steps(&s, 2);
    assert_int_equal(rpc_pending(s.r), 8);
    settle(&s);
    assert_string_equal(s.seen.p, "<a|now|<c|<d|c>|a>|now|<b|b>|now|d>|<e|e>|");
    AUTO(buf) struct buf order = BUF_INIT;
    struct str rest = buf_str(&s.got), line;
    while (str_line(&rest, &line))
        buf_addc(&order, line.p[str_find(line, STR("\"id\":")) + 5]);
    assert_string_equal(order.p, "671234589");
    end(&s);
}

/* A request that arrives between the end of a fiber and the next turn of its lane keeps its place.
 */
static void test_lane_order_under_load(void **state)
{
    (void)state;
    enum { N = 300 };
    struct server s;
    begin(&s, &strict);
    for (int i = 0; i < N; i++) {
        char line[200];
        int n = snprintf(line, sizeof line,
                         i % 3
                             ? RQ("\"id\":%d,\"method\":\"main.now\"") "\n"
                             : RQ("\"id\":%d,\"method\":\"main.sleep\",\"params\":{\"ms\":0}") "\n",
                         i);
        say(&s, str_n(line, (size_t)n));
        if (i % 5 == 0)
            steps(&s, i % 4);
    }
    settle(&s);
    struct str rest = buf_str(&s.got), line;
    for (int i = 0; i < N; i++) {
        char want[50];
        snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":%d,", i);
        assert_true(str_line(&rest, &line));
        assert_true(str_starts(line, str_of(want)));
    }
    assert_int_equal(rest.n, 0);
    end(&s);
}

/* A call that needs no wait does not overtake the one before it, in whatever lane. */
static void test_order(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    say(&s,
        STR(RQ("\"id\":1,\"method\":\"free.sleep\",\"params\":{\"ms\":1,\"name\":\"a\"}") "\n" RQ(
            "\"id\":2,\"method\":\"now\"") "\n" RQ("\"id\":3,\"method\":\"slow.sleep\",\"params\":"
                                                   "{\"ms\":1,\"name\":\"b\"}") "\n" RQ("\"id\":4,"
                                                                                        "\"method\""
                                                                                        ":\"main."
                                                                                        "now\"") "\n"));
    settle(&s);
    assert_true(str_starts(buf_str(&s.seen), STR("<a|now|<b|now|")));
    end(&s);
}

/* Stopped before its first step, a call is dropped like those that wait in a lane. */
static void test_stop_before_the_first_step(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    s.stops = true;
    say(&s,
        STR(RQ("\"id\":1,\"method\":\"free.sleep\",\"params\":{\"ms\":1,\"name\":\"a\"}") "\n" RQ(
            "\"id\":2,\"method\":\"now\"") "\n" RQ("\"id\":3,\"method\":\"now\"") "\n" RQ("\"id\":"
                                                                                          "4,"
                                                                                          "\"method"
                                                                                          "\":"
                                                                                          "\"free."
                                                                                          "sleep\","
                                                                                          "\"params"
                                                                                          "\":{"
                                                                                          "\"ms\":"
                                                                                          "1,"
                                                                                          "\"name\""
                                                                                          ":\"b\"}") "\n"));
    settle(&s);
    assert_string_equal(s.seen.p, "<a|now|a>|");
    assert_int_equal(rpc_pending(s.r), 0);
    end(&s);
}

static void test_stop(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    say(&s,
        STR(RQ("\"id\":1,\"method\":\"main.sleep\",\"params\":{\"ms\":5,\"name\":\"a\"}") "\n"));
    say(&s, STR(RQ("\"id\":2,\"method\":\"main.now\"") "\n"));
    say(&s, STR(RQ("\"id\":3,\"method\":\"main.now\"") "\n"));
    steps(&s, 3);
    assert_int_equal(rpc_pending(s.r), 3);
    s.stops = true;
    say(&s, STR(RQ("\"id\":4,\"method\":\"now\"") "\n" RQ(
                "\"id\":5,\"method\":\"now\"") "\nnonsense\n"));
    steps(&s, 3);
    assert_int_equal(rpc_pending(s.r), 1);
    say(&s, STR(RQ("\"id\":6,\"method\":\"now\"") "\n"));
    close(s.to);
    s.to = -1;
    settle(&s);
    assert_string_equal(s.seen.p, "<a|now|eof|a>|");
    assert_string_equal(s.got.p, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":\"now\"}\n"
                                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\"}\n");
    end(&s);
}

static void test_cancel(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    for (int i = 0; i < 3; i++)
        say(&s, STR(RQ("\"id\":1,\"method\":\"free.sleep\",\"params\":{\"ms\":100000}") "\n"));
    say(&s, STR(RQ("\"id\":2,\"method\":\"main.sleep\",\"params\":{\"ms\":100000}") "\n"));
    say(&s, STR(RQ("\"id\":3,\"method\":\"main.now\"") "\n"));
    steps(&s, 3);
    assert_int_equal(s.n_running, 4);
    rpc_cancel(s.r);
    settle(&s);
    assert_int_equal(s.n_running, 0);
    const char *canceled = ",\"error\":{\"code\":-1,\"message\":\"canceled\"}}\n";
    AUTO(buf) struct buf want = BUF_INIT;
    for (int i = 0; i < 3; i++)
        buf_addf(&want, "{\"jsonrpc\":\"2.0\",\"id\":1%s", canceled);
    buf_addf(&want, "{\"jsonrpc\":\"2.0\",\"id\":2%s", canceled);
    buf_addz(&want, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"now\"}\n");
    assert_int_equal(s.got.n, want.n);
    assert_true(str_ends(buf_str(&s.got), STR("\"id\":3,\"result\":\"now\"}\n")));
    buf_reset(&s.got);
    /* Before it has begun, and from one of them. */
    say(&s, STR(RQ("\"id\":5,\"method\":\"free.sleep\",\"params\":{\"ms\":100000}") "\n"));
    say(&s, STR(RQ("\"id\":6,\"method\":\"end\"") "\n"));
    settle(&s);
    assert_string_equal(
        s.got.p, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-1,\"message\":\"canceled\"}}\n"
                 "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":true}\n");
    end(&s);
}

static void test_free_with_requests_is_a_bug(void **state)
{
    (void)state;
    struct server s;
    int status = 0;
    begin(&s, &strict);
    say(&s, STR(RQ("\"id\":1,\"method\":\"free.sleep\",\"params\":{\"ms\":1}") "\n"));
    steps(&s, 2);
    assert_int_equal(rpc_pending(s.r), 1);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        rpc_free(s.r);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    end(&s);
    rpc_free(NULL);
}

/* A hundred thousand requests as fast as the pipe takes them; each answered, in order. */
static void test_burst(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct server s;
    AUTO(buf) struct buf in = BUF_INIT;
    for (int i = 0; i < N; i++)
        buf_addf(&in,
                 i % 2 ? RQ("\"id\":%d,\"method\":\"nothing\"") "\n"
                       : RQ("\"id\":%d,\"method\":\"option\",\"params\":{}") "\n",
                 i);
    begin(&s, &strict);
    size_t sent = 0;
    while (sent < in.n || rpc_pending(s.r) || !conn_is_flushed(rpc_conn(s.r))) {
        ssize_t n = write(s.to, in.p + sent, in.n - sent);
        if (n > 0)
            sent += (size_t)n;
        steps(&s, 1);
    }
    settle(&s);
    struct str rest = buf_str(&s.got), line;
    for (int i = 0; i < N; i++) {
        char want[100];
        snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}", i,
                 i % 2 ? "null" : "[0,true]");
        assert_true(str_line(&rest, &line));
        assert_true(str_is(line, want));
    }
    assert_int_equal(rest.n, 0);
    end(&s);
}

/* The client writes everything before it reads anything: requests wait, nothing is lost. */
static void test_client_that_reads_late(void **state)
{
    (void)state;
    enum { N = 6000 };
    struct server s;
    AUTO(buf) struct buf in = BUF_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    for (int i = 0; i < 4000; i++)
        buf_addc(&text, 'x');
    for (int i = 0; i < N; i++)
        buf_addf(&in, RQ("\"id\":%d,\"method\":\"echo\",\"params\":{\"text\":\"%s\"}") "\n", i,
                 text.p);
    begin(&s, &strict);
    size_t sent = 0;
    for (int idle = 0; idle < 50;) {
        ssize_t n = write(s.to, in.p + sent, in.n - sent);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        loop_step(s.l, false);
    }
    assert_true(sent > LIMIT_OUT_STOP_BYTES && sent < LIMIT_OUT_STOP_BYTES * 3 / 2);
    assert_true(conn_is_full(rpc_conn(s.r)));
    buf_clear(&s.seen);
    size_t n_lines = 0;
    while (n_lines < N) {
        ssize_t n = sent < in.n ? write(s.to, in.p + sent, in.n - sent) : 0;
        sent += n > 0 ? (size_t)n : 0;
        steps(&s, 1);
        struct str rest = buf_str(&s.got), line;
        while (str_chr(rest, '\n') != SIZE_MAX && str_line(&rest, &line)) {
            char want[100];
            snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"result\":", n_lines++);
            assert_true(str_starts(line, str_of(want)) && str_ends(line, STR("xx\",\"n\":0}}")));
        }
        buf_drop(&s.got, s.got.n - rest.n);
    }
    assert_false(conn_is_full(rpc_conn(s.r)));
    end(&s);
}

/* Requests that wait in a lane are answered only as far as the client takes the answers, and only
 * so many are read. */
static void test_flood_behind_a_slow_call(void **state)
{
    (void)state;
    enum { N = 6000 };
    struct server s;
    AUTO(buf) struct buf in = BUF_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    for (int i = 0; i < 4000; i++)
        buf_addc(&text, 'x');
    buf_addz(&in, RQ("\"id\":0,\"method\":\"main.sleep\",\"params\":{\"ms\":300}") "\n");
    for (int i = 1; i < N; i++)
        buf_addf(&in, RQ("\"id\":%d,\"method\":\"main.echo\",\"params\":{\"text\":\"%s\"}") "\n", i,
                 text.p);
    begin(&s, &strict);
    size_t sent = 0;
    while (s.n_running > 0 || s.seen.n == 0) {
        ssize_t n = write(s.to, in.p + sent, in.n - sent);
        sent += n > 0 ? (size_t)n : 0;
        loop_step(s.l, false);
        assert_in_range(rpc_pending(s.r), 0, LIMIT_WAITING_CALLS);
    }
    for (int i = 0; i < 50; i++)
        loop_step(s.l, false);
    assert_true(conn_is_choked(rpc_conn(s.r)));
    assert_in_range(s.seen.n, LIMIT_OUT_STOP_BYTES / 2, LIMIT_OUT_STOP_BYTES * 3 / 2);
    int n_lines = 0;
    while (n_lines < N) {
        ssize_t n = sent < in.n ? write(s.to, in.p + sent, in.n - sent) : 0;
        sent += n > 0 ? (size_t)n : 0;
        steps(&s, 1);
        struct str rest = buf_str(&s.got), line;
        while (str_chr(rest, '\n') != SIZE_MAX && str_line(&rest, &line)) {
            char want[100];
            snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":", n_lines++);
            assert_true(str_starts(line, str_of(want)));
        }
        buf_drop(&s.got, s.got.n - rest.n);
    }
    end(&s);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_lane_order_under_load),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_stop_before_the_first_step),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_free_with_requests_is_a_bug),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_client_that_reads_late),
        cmocka_unit_test(test_flood_behind_a_slow_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
