/* SPDX-License-Identifier: MIT */
/* JetStream's answers as a server could give them: acknowledgements, records, items, errors. */
#include "nats_scene.h"

#include "base/json.h"
#include "cluster/jet.h"

static struct jet_ack ack_of(const char *body)
{
    struct nats_msg m = {.body = str_of(body)};
    struct jet_ack ack;
    jet_read_ack(&m, NULL, &ack);
    return ack;
}

static void acknowledgements(void **state)
{
    (void)state;
    struct jet_ack a = ack_of("{\"stream\":\"TV_00\",\"seq\":17}");
    assert_true(a.outcome == JET_STORED && a.seq == 17 && !a.is_duplicate);
    a = ack_of("{\"stream\":\"TV_00\",\"seq\":3,\"duplicate\":true}");
    assert_true(a.outcome == JET_STORED && a.seq == 3 && a.is_duplicate);
    a = ack_of("{\"error\":{\"code\":400,\"err_code\":10071,\"description\":\"wrong last sequence: "
               "12\"},\"stream\":\"B\",\"seq\":0}");
    assert_true(a.outcome == JET_CONFLICT && a.seq == 12 && a.code == 10071);
    a = ack_of(
        "{\"error\":{\"code\":400,\"err_code\":10164,\"description\":\"wrong last sequence\"}}");
    assert_true(a.outcome == JET_CONFLICT && a.seq == 0 && a.code == 10164);
    a = ack_of("{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"maximum bytes "
               "exceeded\"}}");
    assert_true(a.outcome == JET_REFUSED && a.code == 10077);
    assert_non_null(strstr(a.err.text, "maximum bytes"));
}

static void what_leaves_the_outcome_open(void **state)
{
    static const enum err_code open[] = {ERR_TIMEOUT, ERR_CUT, ERR_NOT_FOUND};
    static const enum err_code unsent[] = {ERR_NETWORK, ERR_LIMIT, ERR_INVALID};
    struct jet_ack a;
    struct error err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(open); i++) {
        error_set(&err, open[i], "x");
        jet_read_ack(NULL, &err, &a);
        assert_int_equal(a.outcome, JET_UNKNOWN);
        error_set(&err, unsent[i], "x");
        jet_read_ack(NULL, &err, &a);
        assert_int_equal(a.outcome, JET_REFUSED);
    }
    assert_int_equal(ack_of("").outcome, JET_UNKNOWN);
    assert_int_equal(ack_of("{}").outcome, JET_UNKNOWN);
    assert_int_equal(ack_of("{\"seq\":\"17\"}").outcome, JET_UNKNOWN);
    assert_int_equal(ack_of("{\"seq\":0}").outcome, JET_UNKNOWN);
}

static enum jet_read record_of(const char *head, struct jet_record *ret)
{
    struct nats_msg m = {.head = str_of(head), .body = STR("{}")};
    struct error err;
    return jet_read_record(&m, NULL, ret, &err);
}

static void records(void **state)
{
    struct jet_record r;
    (void)state;
    assert_int_equal(record_of("NATS/1.0\r\nNats-Stream: TV_00\r\nNats-Subject: tv.a.s.00.x\r\n"
                               "Nats-Sequence: 9\r\nNats-Num-Pending: 2\r\n"
                               "Nats-Time-Stamp: 2026-06-12T10:11:12.345678901Z\r\n\r\n",
                               &r),
                     JET_RECORD);
    assert_true(str_is(r.subject, "tv.a.s.00.x") && r.seq == 9 && r.n_pending == 2);
    assert_true(r.time_ns / 1000000 % 1000 == 345);
    assert_int_equal(record_of("NATS/1.0 404 Message Not Found\r\n\r\n", &r), JET_END);
    assert_int_equal(record_of("NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\n\r\n", &r), JET_END);
    assert_int_equal(record_of("NATS/1.0 408 Bad Request\r\n\r\n", &r), JET_FAULT);
    assert_int_equal(record_of("NATS/1.0\r\nNats-Sequence: 9\r\n\r\n", &r), JET_FAULT);
    assert_int_equal(record_of("NATS/1.0\r\nNats-Subject: a\r\n\r\n", &r), JET_FAULT);
}

static enum jet_read item_of(const char *head, const char *token, struct jet_item *ret)
{
    struct nats_msg m = {.head = str_of(head), .reply = str_of(token), .body = STR("{}")};
    struct error err;
    return jet_read_item(&m, ret, &err);
}

static void items(void **state)
{
    struct jet_item i;
    (void)state;
    assert_int_equal(item_of(NULL, "$JS.ACK.TV_00.P.3.41.7.1700000000.5", &i), JET_RECORD);
    assert_true(i.seq == 41 && i.n_delivered == 3);
    assert_int_equal(item_of(NULL, "$JS.ACK._.hash.TV_00.P.2.42.7.1700000000.5", &i), JET_RECORD);
    assert_true(i.seq == 42 && i.n_delivered == 2);
    assert_int_equal(item_of(NULL, "$JS.ACK.d.hash.TV_00.P.2.43.7.1700000000.5.rnd", &i),
                     JET_RECORD);
    assert_true(i.seq == 43 && i.n_delivered == 2);
    assert_int_equal(item_of(NULL, "$JS.ACK.TV_00.P.3.41", &i), JET_FAULT);
    assert_int_equal(item_of(NULL, "", &i), JET_FAULT);
    assert_int_equal(item_of("NATS/1.0 408 Request Timeout\r\n\r\n", "", &i), JET_END);
    assert_int_equal(item_of("NATS/1.0 404 No Messages\r\n\r\n", "", &i), JET_END);
    assert_int_equal(item_of("NATS/1.0 409 Consumer Deleted\r\n\r\n", "", &i), JET_FAULT);
}

static void keep(struct fake *f, struct str subject, struct str reply, struct str bytes)
{
    buf_addf(f->arg, "%.*s|%.*s\n", STR_FMT(subject), STR_FMT(bytes));
    if (reply.p)
        fake_reply(f, reply, STR_NONE, STR("{\"stream\":\"B\",\"seq\":5}"));
}

static bool on_ack(void *arg, const struct nats_msg *m, const struct error *err)
{
    jet_read_ack(m, err, arg);
    return false;
}

static void on_item(void *arg, const struct jet_item *item, const struct error *err)
{
    if (item)
        buf_addf(arg, "%.*s;", STR_FMT(item->body));
    else
        buf_addf(arg, "%s", err ? err->text : "over;");
}

static void what_is_sent(void **state)
{
    AUTO(buf) struct buf sent = BUF_INIT, items = BUF_INIT;
    struct scene s;
    struct jet_ack ack = {.outcome = JET_UNKNOWN};
    struct jet_append a = {.subject = STR("tv.a.s.00.x"),
                           .id = STR("x/1"),
                           .expect = 0,
                           .headers = STR("Tv-Epoch: 8\r\n"),
                           .body = STR("{}"),
                           .timeout_ms = 3000};
    struct error err;
    (void)state;
    scene_open(&s);
    s.f.on_pub = keep;
    s.f.arg = &sent;
    scene_connect(&s, "", (struct nats_settings){0});
    UNTIL(&s, nats_is_ready(s.n));
    jet_append(s.n, &a, on_ack, &ack);
    UNTIL(&s, ack.outcome == JET_STORED && ack.seq == 5);
    assert_true(jet_answer(s.n, STR("$JS.ACK.a"), JET_PROGRESS, 0, &err));
    assert_true(jet_answer(s.n, STR("$JS.ACK.a"), JET_NAK, 1500, &err));
    assert_true(jet_answer(s.n, STR("$JS.ACK.a"), JET_NAK, 0, &err));
    assert_true(jet_answer(s.n, STR("$JS.ACK.a"), JET_ACK, 0, &err));
    struct jet_puller *p = jet_puller_new(s.n, STR("TV_00"), STR("P"), on_item, &items);
    assert_true(jet_puller_ask(p, 2, 2000, &err));
    UNTIL(&s, s.f.n_pubs == 6);
    assert_string_equal(sent.p,
                        "tv.a.s.00.x|NATS/1.0\r\nNats-Msg-Id: x/1\r\n"
                        "Nats-Expected-Last-Subject-Sequence: 0\r\nTv-Epoch: 8\r\n\r\n{}\n"
                        "$JS.ACK.a|+WPI\n$JS.ACK.a|-NAK {\"delay\":1500000000}\n$JS.ACK.a|-NAK\n"
                        "$JS.ACK.a|+ACK\n"
                        "$JS.API.CONSUMER.MSG.NEXT.TV_00.P|{\"batch\":2,\"expires\":2000000000}\n");
    fake_send(&s.f, STR("MSG tv.i.x 2 $JS.ACK.T.P.1.1.1.17.0 3\r\none\r\n"
                        "HMSG _INBOX.a 2 32 32\r\nNATS/1.0 409 Server Shutdown\r\n\r\n\r\n"
                        "HMSG _INBOX.a 2 32 32\r\nNATS/1.0 409 Server Shutdown\r\n\r\n\r\n"));
    UNTIL(&s, str_find(buf_str(&items), STR("409")) != SIZE_MAX);
    assert_string_equal(items.p, "one;the NATS cluster answered 409 Server Shutdown");
    buf_reset(&items);
    assert_true(jet_puller_ask(p, 2, 2000, &err));
    fake_send(&s.f, STR("MSG tv.i.x 2 $JS.ACK.T.P.1.1.1.17.0 3\r\none\r\n"
                        "MSG tv.i.y 2 $JS.ACK.T.P.1.2.2.17.0 3\r\ntwo\r\n"));
    UNTIL(&s, items.n == 13);
    assert_string_equal(items.p, "one;two;over;");
    jet_puller_free(p);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledgements), cmocka_unit_test(what_leaves_the_outcome_open),
        cmocka_unit_test(records),          cmocka_unit_test(items),
        cmocka_unit_test(what_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
