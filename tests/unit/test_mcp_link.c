/* SPDX-License-Identifier: MIT */
/* Requests and answers with an MCP server, over a transport that the test plays. */
#include "mcp/link.h"

#include "fiber_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct scene {
    struct loop *loop;
    struct link *link;
    struct buf sent; /* all messages, one per line */
    unsigned n_sent, n_done, n_notices, n_over;
};

static bool on_send(void *transport, const struct mcp_outgoing *m, struct error *err)
{
    struct scene *s = transport;
    (void)err;
    buf_add(&s->sent, m->text);
    buf_addc(&s->sent, '\n');
    s->n_sent++;
    return true;
}

static void on_close(void *transport)
{
    (void)transport;
}

static const struct link_transport played = {.send = on_send, .close = on_close, .free = on_close};

static void on_notice(void *arg, struct str method, yyjson_val *params)
{
    struct scene *s = arg;
    (void)method;
    (void)params;
    s->n_notices++;
}

static void on_over(void *arg)
{
    struct scene *s = arg;
    s->n_over++;
}

static void begin(struct scene *s)
{
    struct link_hooks hooks = {
        .on_notice = on_notice, .on_over = on_over, .arg = s, .name = STR("x")};
    *s = (struct scene){.loop = fiber_loop()};
    s->link = link_new(s->loop, &hooks);
    link_attach(s->link, &played, s);
    link_set_era(s->link, ERA_LEGACY, STR("2025-06-18"));
}

static void end(struct scene *s)
{
    link_free(s->link);
    buf_clear(&s->sent);
}

struct one { /* a request in a fiber of its own */
    struct scene *scene;
    int64_t idle_ms, most_ms;
    bool ok, is_done;
    struct json got;
    struct error err;
    unsigned n_progress;
    struct fiber *fiber;
};

static void on_progress(void *arg, double progress, double total, struct str message)
{
    struct one *o = arg;
    (void)progress;
    (void)total;
    (void)message;
    o->n_progress++;
}

static void one_fiber(void *arg)
{
    struct one *o = arg;
    struct mcp_request rq = {.method = "tools/call",
                             .idle_ms = o->idle_ms ? o->idle_ms : 5000,
                             .most_ms = o->most_ms,
                             .on_progress = on_progress,
                             .arg = o};
    o->ok = link_request_await(o->scene->link, &rq, &o->got, &o->err);
    o->is_done = true;
    o->fiber = NULL;
}

static void start(struct scene *s, struct one *o)
{
    o->scene = s;
    o->fiber = fiber_start(s->loop, "one", one_fiber, o);
}

static void settle_await(struct scene *s)
{
    struct error err;
    assert_true(yield_await(s->loop, &err) && yield_await(s->loop, &err));
}

static void order_fiber(void *arg)
{
    struct scene s;
    struct one a = {0}, b = {0}, c = {0};
    (void)arg;
    begin(&s);
    start(&s, &a);
    start(&s, &b);
    start(&s, &c);
    settle_await(&s);
    assert_int_equal(s.n_sent, 3);
    assert_true(link_take(s.link, STR("{\"result\":{\"v\":2},\"id\":2,\"jsonrpc\":\"2.0\"}")));
    assert_true(link_take(s.link, STR("{\"id\":77,\"result\":{}}")));
    /* An array of messages, one of them an answer that was given already. */
    assert_true(link_take(s.link, STR("[{\"id\":2,\"result\":{\"v\":9}},{\"id\":1,\"error\":{"
                                      "\"code\":-5,\"message\":\"no\"}},{\"method\":\"n\"}]")));
    assert_true(link_take(s.link, STR("{\"id\":3,\"result\":{\"v\":3}}")));
    settle_await(&s);
    assert_true(a.is_done && !a.ok && a.err.code == ERR_PROVIDER && a.err.status == -5);
    assert_true(b.ok && json_get_int(b.got.root, "v", 0) == 2);
    assert_true(c.ok && json_get_int(c.got.root, "v", 0) == 3);
    assert_int_equal(s.n_notices, 1);
    assert_false(link_take(s.link, STR("not json")));
    assert_false(link_take(s.link, STR("{\"id\":1}")));
    assert_false(link_take(s.link, STR("[[]]")));
    json_clear(&a.got);
    json_clear(&b.got);
    json_clear(&c.got);
    end(&s);
}

static void test_order(void **state) /* covers: mcp 40, 41 */
{
    (void)state;
    in_fiber(order_fiber, NULL);
}

static void time_fiber(void *arg)
{
    struct scene s;
    struct one a = {.idle_ms = 60, .most_ms = 200};
    struct error err;
    (void)arg;
    begin(&s);
    start(&s, &a);
    settle_await(&s);
    for (int i = 1; i < 60 && !a.is_done; i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        buf_addf(&text,
                 "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,"
                 "\"progress\":%d.5}}",
                 i);
        assert_true(link_take(s.link, buf_str(&text)));
        assert_true(sleep_await(s.loop, 10, &err));
    }
    assert_true(a.is_done && !a.ok && a.err.code == ERR_TIMEOUT);
    assert_true(a.n_progress > 6); /* beyond the idle time, up to the absolute one */
    assert_true(str_find(buf_str(&s.sent), STR("notifications/cancelled")) != SIZE_MAX);
    assert_true(link_take(s.link, STR("{\"id\":1,\"result\":{}}"))); /* late: ignored */
    end(&s);
}

static void test_time(void **state) /* covers: mcp 37 */
{
    (void)state;
    in_fiber(time_fiber, NULL);
}

/* Progress that does not rise is no sign of life. */
static void still_fiber(void *arg)
{
    struct scene s;
    struct one a = {.idle_ms = 50, .most_ms = 5000};
    struct error err;
    (void)arg;
    begin(&s);
    start(&s, &a);
    for (int i = 0; i < 30 && !a.is_done; i++) {
        link_take(s.link, STR("{\"method\":\"notifications/progress\",\"params\":{"
                              "\"progressToken\":1,\"progress\":1}}"));
        assert_true(sleep_await(s.loop, 10, &err));
    }
    assert_true(a.is_done && !a.ok && a.err.code == ERR_TIMEOUT && a.n_progress == 1);
    end(&s);
}

static void test_still(void **state)
{
    (void)state;
    in_fiber(still_fiber, NULL);
}

static void over_fiber(void *arg)
{
    struct scene s;
    struct one a = {0}, b = {0};
    struct error why, err;
    (void)arg;
    begin(&s);
    start(&s, &a);
    start(&s, &b);
    settle_await(&s);
    fiber_cancel(b.fiber);
    settle_await(&s);
    assert_true(b.is_done && b.err.code == ERR_CANCELED);
    error_set(&why, ERR_IO, "it ended");
    link_over(s.link, &why);
    link_free(s.link); /* while the request has not heard of it */
    s.link = NULL;
    assert_true(sleep_await(s.loop, 1, &err));
    assert_true(a.is_done && !a.ok && a.err.code == ERR_IO);
    assert_int_equal(s.n_over, 1);
    end(&s);
}

static void test_over(void **state)
{
    (void)state;
    in_fiber(over_fiber, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_still),
        cmocka_unit_test(test_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
