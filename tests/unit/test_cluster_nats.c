/* SPDX-License-Identifier: MIT */
/* The NATS client beside a server that misbehaves (nats_scene.h): log-in, refusals, requests, lost
 * connections, freeing in callbacks. */
#include "nats_scene.h"

#include "base/json.h"

/* ---- log-in ---- */

static void login_says_what_it_can(void **state)
{
    AUTO(json) struct json j = JSON_INIT;
    struct scene s;
    struct error err;
    (void)state;
    scene_open(&s);
    s.f.piece = 1;
    scene_connect(&s, "nats://al%40ice:p%3Ass@", (struct nats_settings){.name = STR("w1")});
    assert_false(nats_is_ready(s.n));
    UNTIL(&s, nats_is_ready(s.n));
    assert_int_equal(s.n_ready, 1);
    assert_true(json_parse(buf_str(&s.f.login), 0, 9, &j, &err));
    assert_true(str_is(json_get_str(j.root, "user"), "al@ice"));
    assert_true(str_is(json_get_str(j.root, "pass"), "p:ss"));
    assert_true(str_is(json_get_str(j.root, "name"), "w1"));
    assert_true(json_get_bool(j.root, "headers", false));
    assert_true(json_get_bool(j.root, "no_responders", false));
    assert_false(json_get_bool(j.root, "verbose", true));
    assert_true(str_is(nats_server(s.n).version, "2.15.1"));
    UNTIL(&s, s.f.subs.n > 0);
    assert_non_null(strstr(s.f.subs.p, "SUB _INBOX."));
    scene_close(&s);
}

static void a_token(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_connect(&s, "nats://sesame@", (struct nats_settings){0});
    UNTIL(&s, nats_is_ready(s.n));
    assert_non_null(strstr(s.f.login.p, "\"auth_token\":\"sesame\""));
    scene_close(&s);
}

/* What the server says first, and the code and word of the refusal. */
static void refused(const char *info, const char *user, struct nats_settings settings,
                    enum err_code code, const char *word)
{
    struct scene s;
    scene_open(&s);
    s.f.info = info;
    scene_connect(&s, user, settings);
    UNTIL(&s, s.n_lost > 0);
    assert_int_equal(s.n_ready, 0);
    assert_int_equal(s.why.code, code);
    if (!strstr(s.why.text, word))
        fail_msg("no %s in: %s", word, s.why.text);
    scene_close(&s);
}

static void servers_that_are_refused(void **state)
{
    struct nats_settings any = {0}, newer = {.min_version = STR("2.10.23")};
    (void)state;
    refused("INFO {\"version\":\"2.9.10\"}\r\n", "", newer, ERR_DENIED, "2.9.10");
    refused("INFO {\"version\":\"2.10.22\"}\r\n", "", newer, ERR_DENIED, "at least 2.10.23");
    refused("INFO {}\r\n", "", newer, ERR_DENIED, "at least 2.10.23");
    refused("INFO {\"version\":\"2.15.1\"}\r\n", "tls://", any, ERR_DENIED, "no TLS");
    refused("INFO {\"version\":\r\n", "", any, ERR_INVALID, "INFO");
    refused("HTTP/1.0 400 Bad Request\r\n", "", any, ERR_BAD_REPLY, "HTTP/1.0");
    refused(FAKE_INFO "-ERR 'Authorization Violation'\r\n", "", any, ERR_AUTH, "Authorization");
    refused(FAKE_INFO "MSG a 1 99999999999\r\n", "", any, ERR_LIMIT, "99999999999");
}

static void versions(void **state)
{
    (void)state;
    assert_true(nats_version_at_least(STR("2.10.23"), STR("2.10.23")));
    assert_true(nats_version_at_least(STR("2.12.0-RC.1"), STR("2.10.23")));
    assert_true(nats_version_at_least(STR("3.0.0"), STR("2.10.23")));
    assert_false(nats_version_at_least(STR("2.10.9"), STR("2.10.23")));
    assert_false(nats_version_at_least(STR("2.9.99"), STR("2.10.23")));
    assert_false(nats_version_at_least(STR("x"), STR("2.10.23")));
    assert_true(nats_version_at_least(STR("2.11"), STR("2.10.23")));
}

static void addresses(void **state)
{
    static const char *const bad[] = {
        "",    "nats://", "http://a", "a:0",           "a:99999",
        "a b", "[::1",    "a,,b",     "nats://u%zz@a", "nats://secretpass@:x"};
    struct loop *l = loop_new();
    struct error err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct nats_settings settings = {.urls = str_of(bad[i])};
        assert_null(nats_new(l, &settings, NULL, NULL, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_null(strstr(err.text, "secretpass"));
    }
    loop_free(l);
}

/* ---- requests ---- */

struct answers {
    unsigned n;
    struct buf bodies;
    struct error err;
    bool wants_more;
    struct nats *frees; /* freed by the next answer */
};

static bool on_answer(void *arg, const struct nats_msg *m, const struct error *err)
{
    struct answers *a = arg;
    a->n++;
    if (m)
        buf_addf(&a->bodies, "%.*s;", STR_FMT(m->body));
    else
        a->err = *err;
    nats_free(a->frees);
    a->frees = NULL;
    return a->wants_more;
}

static uint64_t ask(struct scene *s, const char *body, int64_t ms, struct answers *a)
{
    struct nats_request rq = {STR("svc"), STR_NONE, str_of(body), ms};
    return nats_request(s->n, &rq, on_answer, a);
}

static void scene_ready(struct scene *s, fake_pub_fn *on_pub)
{
    scene_open(s);
    s->f.on_pub = on_pub;
    scene_connect(s, "", (struct nats_settings){0});
    UNTIL(s, nats_is_ready(s->n));
}

static void echo(struct fake *f, struct str subject, struct str reply, struct str bytes)
{
    (void)subject;
    if (reply.p)
        fake_reply(f, reply, STR_NONE, bytes);
}

static void echo_thrice(struct fake *f, struct str subject, struct str reply, struct str bytes)
{
    for (int i = 0; i < 3; i++)
        echo(f, subject, reply, bytes);
}

static void requests_and_answers(void **state)
{
    struct answers a[50] = {0};
    struct scene s;
    (void)state;
    scene_ready(&s, echo);
    for (int i = 0; i < 50; i++) {
        char body[16];
        snprintf(body, sizeof body, "b%d", i);
        ask(&s, body, 3000, &a[i]);
    }
    UNTIL(&s, a[49].n == 1);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(a[i].n, 1);
        assert_int_equal(atoi(a[i].bodies.p + 1), i);
        buf_clear(&a[i].bodies);
    }
    scene_close(&s);
}

static void several_answers(void **state)
{
    struct answers one = {0}, many = {.wants_more = true};
    struct scene s;
    (void)state;
    scene_ready(&s, echo_thrice);
    ask(&s, "a", 3000, &one);
    uint64_t id = ask(&s, "b", 200, &many);
    UNTIL(&s, many.n == 4);     /* three, then the time is over */
    assert_int_equal(one.n, 1); /* the other two came for a call that was gone */
    assert_string_equal(many.bodies.p, "b;b;b;");
    assert_int_equal(many.err.code, ERR_TIMEOUT);
    nats_forget(s.n, id);
    buf_clear(&one.bodies);
    buf_clear(&many.bodies);
    scene_close(&s);
}

static void no_answer(void **state)
{
    struct answers late = {0}, forgotten = {0};
    struct scene s;
    (void)state;
    scene_ready(&s, NULL);
    int64_t began = time_mono_us();
    ask(&s, "a", 150, &late);
    nats_forget(s.n, ask(&s, "a", 50, &forgotten));
    UNTIL(&s, late.n == 1);
    assert_int_equal(late.err.code, ERR_TIMEOUT);
    assert_in_range(time_mono_us() - began, 150000, 2000000);
    assert_int_equal(forgotten.n, 0);
    scene_close(&s);
}

static void refuse_503(struct fake *f, struct str subject, struct str reply, struct str bytes)
{
    (void)subject, (void)bytes;
    fake_reply(f, reply, STR("NATS/1.0 503\r\n\r\n"), STR(""));
}

static void no_subscriber(void **state)
{
    struct answers a = {0};
    struct scene s;
    (void)state;
    scene_ready(&s, refuse_503);
    ask(&s, "a", 3000, &a);
    UNTIL(&s, a.n == 1);
    assert_int_equal(a.err.code, ERR_NOT_FOUND);
    scene_close(&s);
}

static void wrong_answers(struct fake *f, struct str subject, struct str reply, struct str bytes)
{
    AUTO_FREE char *inbox = str_dup(str_cut(reply, str_rchr(reply, '.') + 1));
    static const char *const ends[] = {"",
                                       "-",
                                       "0",
                                       "0-",
                                       "0-99",
                                       "99-0",
                                       "-1-0",
                                       "0--1",
                                       "x-y",
                                       "18446744073709551615-0",
                                       "0-18446744073709551616"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        AUTO(buf) struct buf to = BUF_INIT;
        buf_addf(&to, "%s%s", inbox, ends[i]);
        fake_reply(f, buf_str(&to), STR_NONE, STR("wrong"));
    }
    fake_reply(f, STR("_INBOX.other.0-0"), STR_NONE, STR("wrong"));
    fake_send(f, STR("MSG svc 77 5\r\nwrong\r\n"));
    echo(f, subject, reply, bytes);
}

static void answers_that_fit_no_request(void **state)
{
    struct answers a = {0};
    struct scene s;
    (void)state;
    scene_ready(&s, wrong_answers);
    ask(&s, "right", 3000, &a);
    UNTIL(&s, a.n == 1);
    assert_string_equal(a.bodies.p, "right;");
    buf_clear(&a.bodies);
    scene_close(&s);
}

static void what_cannot_be_sent(void **state)
{
    AUTO(buf) struct buf large = BUF_INIT;
    struct answers a = {0}, b = {0};
    struct scene s;
    struct error err;
    (void)state;
    scene_open(&s);
    scene_connect(&s, "", (struct nats_settings){0});
    assert_int_equal(ask(&s, "a", 3000, &a), 0);
    assert_int_equal(a.err.code, ERR_NETWORK);
    UNTIL(&s, nats_is_ready(s.n));
    while (large.n <= 100000)
        buf_addz(&large, "0123456789");
    assert_int_equal(ask(&s, large.p, 3000, &b), 0);
    assert_int_equal(b.err.code, ERR_LIMIT);
    assert_false(nats_publish(s.n, STR("a b"), STR_NONE, STR_NONE, STR(""), &err));
    assert_int_equal(err.code, ERR_INVALID);
    fake_cut(&s.f); /* nothing is read any more: the queue has an end */
    scene_close(&s);
}

/* ---- lost connections ---- */

static void cut(struct fake *f, struct str subject, struct str reply, struct str bytes)
{
    (void)subject, (void)reply, (void)bytes;
    fake_cut(f);
}

static void on_message(void *arg, const struct nats_msg *m)
{
    buf_addf(arg, "%.*s;", STR_FMT(m->body));
}

static void a_lost_connection(void **state)
{
    AUTO(buf) struct buf got = BUF_INIT;
    struct answers a = {0}, b = {0};
    struct scene s;
    (void)state;
    scene_ready(&s, cut);
    struct nats_sub *sub = nats_subscribe(s.n, STR("news.*"), STR_NONE, on_message, &got);
    struct nats_sub *gone = nats_subscribe(s.n, STR("old"), STR_NONE, on_message, &got);
    nats_unsubscribe(gone);
    ask(&s, "a", 3000, &a);
    UNTIL(&s, a.n == 1);
    assert_int_equal(a.err.code, ERR_CUT);
    s.f.on_pub = echo;
    UNTIL(&s, s.n_ready == 2 && s.f.subs.n);
    assert_int_equal(s.n_lost, 1);
    UNTIL(&s, strstr(s.f.subs.p, "SUB news.* 2;"));
    assert_null(strstr(s.f.subs.p, "old"));
    fake_send(&s.f, STR("MSG news.x 2 2\r\nhi\r\nMSG old 3 2\r\nno\r\n"));
    ask(&s, "b", 3000, &b);
    UNTIL(&s, b.n == 1 && got.n);
    assert_string_equal(b.bodies.p, "b;");
    assert_string_equal(got.p, "hi;");
    nats_unsubscribe(sub);
    buf_clear(&b.bodies);
    scene_close(&s);
}

static void a_cut_at_every_byte(void **state)
{
    const char *reply = FAKE_INFO;
    (void)state;
    for (size_t n = 0; n < strlen(reply); n += 7) {
        AUTO(buf) struct buf part = BUF_INIT;
        struct scene s;
        scene_open(&s);
        buf_add(&part, str_cut(str_of(reply), n));
        s.f.info = part.n ? part.p : NULL;
        scene_connect(&s, "", (struct nats_settings){0});
        UNTIL(&s, s.f.n_connections == 1);
        s.f.info = reply;
        fake_cut(&s.f);
        UNTIL(&s, nats_is_ready(s.n));
        scene_close(&s);
    }
}

static void the_other_server(void **state)
{
    struct scene s;
    struct fake other;
    struct error err;
    char urls[100];
    (void)state;
    scene_open(&s);
    fake_open(&other, s.l);
    snprintf(urls, sizeof urls, "127.0.0.1:%d,nats://127.0.0.1:%d", s.f.port, other.port);
    s.n = nats_new(s.l, &(struct nats_settings){.urls = str_of(urls)}, scene_on_state, &s, &err);
    UNTIL(&s, nats_is_ready(s.n));
    struct fake *first = s.f.n_connections ? &s.f : &other, *second = first == &s.f ? &other : &s.f;
    assert_int_equal(second->n_connections, 0);
    /* The first says that it will stop. */
    fake_send(first, STR("INFO {\"version\":\"2.15.1\",\"ldm\":true}\r\n"));
    UNTIL(&s, s.n_ready == 2);
    assert_int_equal(second->n_connections, 1);
    fake_close(&other);
    scene_close(&s);
}

static void a_server_that_another_one_names(void **state)
{
    AUTO(buf) struct buf info = BUF_INIT;
    struct scene s;
    struct fake other;
    (void)state;
    scene_open(&s);
    fake_open(&other, s.l);
    buf_addf(&info, "INFO {\"version\":\"2.15.1\",\"connect_urls\":[\"127.0.0.1:%d\"]}\r\n",
             other.port);
    s.f.info = info.p;
    scene_connect(&s, "tok@", (struct nats_settings){0});
    UNTIL(&s, nats_is_ready(s.n));
    nats_move(s.n);
    UNTIL(&s, s.n_ready == 2);
    assert_int_equal(other.n_connections, 1);
    assert_non_null(strstr(other.login.p, "\"auth_token\":\"tok\""));
    fake_close(&other);
    scene_close(&s);
}

/* ---- freeing inside ---- */

static void free_in_an_answer(void **state)
{
    struct answers a = {0}, b = {0};
    struct scene s;
    (void)state;
    scene_ready(&s, echo_thrice);
    a.frees = s.n;
    a.wants_more = true;
    ask(&s, "a", 3000, &a);
    ask(&s, "b", 3000, &b);
    UNTIL(&s, a.n == 1);
    s.n = NULL;
    for (int i = 0; i < 5; i++)
        loop_step(s.l, false);
    assert_int_equal(a.n, 1);
    assert_int_equal(b.n, 0);
    buf_clear(&a.bodies);
    scene_close(&s);
}

static void free_when_cut(void **state)
{
    struct answers a = {0}, b = {0};
    struct scene s;
    (void)state;
    scene_ready(&s, cut);
    a.frees = b.frees = s.n;
    ask(&s, "a", 3000, &a);
    ask(&s, "b", 3000, &b);
    UNTIL(&s, a.n + b.n == 1);
    s.n = NULL;
    loop_step(s.l, false);
    assert_int_equal(a.n + b.n, 1);
    scene_close(&s);
}

static void free_while_connecting(void **state)
{
    (void)state;
    for (int steps = 0; steps < 12; steps++) {
        struct scene s;
        scene_open(&s);
        scene_connect(&s, "nats://localhost:1,", (struct nats_settings){0});
        for (int i = 0; i < steps; i++)
            loop_step(s.l, false);
        scene_close(&s);
    }
}

/* ---- from a fiber ---- */

struct waiter {
    struct scene *s;
    bool ok, is_done;
    struct error err;
    struct nats_reply reply;
};

static void waiter_fiber(void *arg)
{
    struct waiter *t = arg;
    struct nats_request rq = {STR("svc"), STR_NONE, STR("x"), 3000};
    t->ok = nats_ready_await(t->s->n, 4000, &t->err) &&
            nats_request_await(t->s->n, &rq, &t->reply, &t->err);
    t->is_done = true;
}

static void waiting_on_a_fiber(void **state)
{
    struct scene s;
    struct waiter good = {.s = &s}, bad = {.s = &s};
    (void)state;
    scene_open(&s);
    s.f.on_pub = echo;
    scene_connect(&s, "", (struct nats_settings){0});
    fiber_start(s.l, "waiter", waiter_fiber, &good);
    UNTIL(&s, good.is_done);
    assert_true(good.ok);
    assert_true(str_is(buf_str(&good.reply.body), "x"));
    nats_reply_clear(&good.reply);
    nats_free(s.n);
    s.f.info = "INFO {\"version\":\"2.9.10\"}\r\n";
    scene_connect(&s, "", (struct nats_settings){.min_version = STR("2.10.23")});
    fiber_start(s.l, "waiter", waiter_fiber, &bad);
    UNTIL(&s, bad.is_done);
    assert_false(bad.ok);
    assert_int_equal(bad.err.code, ERR_DENIED);
    scene_close(&s);
}

static void a_canceled_fiber(void **state)
{
    struct scene s;
    struct waiter t = {.s = &s};
    (void)state;
    scene_open(&s);
    scene_connect(&s, "", (struct nats_settings){0});
    struct fiber *f = fiber_start(s.l, "waiter", waiter_fiber, &t);
    UNTIL(&s, s.f.n_pubs == 1);
    fiber_cancel(f);
    UNTIL(&s, t.is_done);
    assert_int_equal(t.err.code, ERR_CANCELED);
    nats_reply_clear(&t.reply);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(login_says_what_it_can),
        cmocka_unit_test(a_token),
        cmocka_unit_test(servers_that_are_refused),
        cmocka_unit_test(versions),
        cmocka_unit_test(addresses),
        cmocka_unit_test(requests_and_answers),
        cmocka_unit_test(several_answers),
        cmocka_unit_test(no_answer),
        cmocka_unit_test(no_subscriber),
        cmocka_unit_test(answers_that_fit_no_request),
        cmocka_unit_test(what_cannot_be_sent),
        cmocka_unit_test(a_lost_connection),
        cmocka_unit_test(a_cut_at_every_byte),
        cmocka_unit_test(the_other_server),
        cmocka_unit_test(a_server_that_another_one_names),
        cmocka_unit_test(free_in_an_answer),
        cmocka_unit_test(free_when_cut),
        cmocka_unit_test(free_while_connecting),
        cmocka_unit_test(waiting_on_a_fiber),
        cmocka_unit_test(a_canceled_fiber),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
