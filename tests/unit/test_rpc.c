/* SPDX-License-Identifier: MIT */
/* JSON-RPC, message by message, in two made-up dialects: one that is strict like loaf, one that is
 * loose like Kward.  How requests run beside each other is tested in test_rpc_lanes.c. */
#include "rpc_scene.h"

#include "base/limits.h"

static bool put_fault_silently(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    return (fault != RPC_BAD_METHOD || has_id) && put_fault(fault, has_id, detail, w);
}

/* Lines here as well, so that the answers are easy to read; framing is tested elsewhere. */
static const struct rpc_dialect loose = {
    .framing = FRAME_LINES,
    .limit = 5000,
    .methods = methods,
    .n_methods = ARRAY_LEN(methods),
    .runs_notifications = true,
    .echoes_id_on_invalid = true,
    .array_params_are_absent = true,
    .method_may_be_blank = true,
    .put_fault = put_fault_silently,
    .put_frame_fault = put_frame_fault,
    .put_no_method = put_no_method,
    .put_params_fault = put_params_fault,
    .put_error = put_error,
    .on_eof = on_eof,
};
static const struct rpc_dialect framed = {
    .framing = FRAME_LENGTH,
    .limit = 5000,
    .methods = methods,
    .n_methods = ARRAY_LEN(methods),
    .put_fault = put_fault,
    .put_frame_fault = put_frame_fault,
    .put_no_method = put_no_method,
    .put_params_fault = put_params_fault,
    .put_error = put_error,
};

/* Says one line and expects these lines, their {"jsonrpc":"2.0", left out. */
static void answers(struct server *s, const char *line, const char *want)
{
    AUTO(buf) struct buf short_form = BUF_INIT;
    buf_reset(&s->got);
    say(s, str_of(line));
    say(s, STR("\n"));
    settle(s);
    struct str rest = buf_str(&s->got), one;
    while (str_line(&rest, &one)) {
        struct str head = STR("{\"jsonrpc\":\"2.0\",");
        assert_true(str_starts(one, head));
        buf_add(&short_form, str_from(one, head.n));
        buf_addc(&short_form, '\n');
    }
    if (!str_is(buf_str(&short_form), want))
        fail_msg("%s: got <%s>, want <%s>", line, buf_str(&short_form).p, want);
}

static void test_answers(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":{\"text\":\"\\u00e4\",\"x\":1}"),
            "\"id\":1,\"result\":{\"text\":\"\xc3\xa4\",\"n\":0}}\n");
    answers(&s, RQ("\"id\":2,\"method\":\"now\",\"params\":7"), "\"id\":2,\"result\":\"now\"}\n");
    answers(&s, RQ("\"id\":3,\"method\":\"nothing\""), "\"id\":3,\"result\":null}\n");
    answers(&s, RQ("\"id\":4,\"method\":\"fail\""),
            "\"id\":4,\"error\":{\"code\":-1,\"message\":\"no \\\"luck\\\"\"}}\n");
    answers(&s, RQ("\"id\":5,\"method\":\"fail\",\"params\":{}"),
            "\"id\":5,\"error\":{\"code\":-32000,\"message\":\"no "
            "\\\"luck\\\"\",\"data\":{\"why\":5}}}\n");
    answers(&s, RQ("\"id\":6,\"method\":\"Now\""), "\"id\":6,\"error\":{\"none\":\"Now\"}}\n");
    answers(&s, RQ("\"id\":7,\"method\":\"now \""), "\"id\":7,\"error\":{\"none\":\"now \"}}\n");
    answers(&s, RQ("\"id\":8,\"method\":\"x\",\"method\":\"now\",\"id\":9"),
            "\"id\":9,\"result\":\"now\"}\n");
    answers(&s, RQ("\"id\":10,\"method\":\"free.sleep\",\"params\":{\"ms\":1,\"name\":\"a\"}"),
            "\"id\":10,\"result\":\"a\"}\n");
    answers(&s, RQ("\"id\":11,\"method\":\"echo\",\"params\":{\"text\":\"\\ud83d\xff\"}"),
            "\"id\":11,\"result\":{\"text\":\"\xef\xbf\xbd\xef\xbf\xbd\",\"n\":0}}\n");
    end(&s);
}

static void test_ids(void **state)
{
    (void)state;
    static const char *const ids[] = {"0",
                                      "-1",
                                      "1.5",
                                      "\"\"",
                                      "\"\xc3\xa4\\n\"",
                                      "null",
                                      "9007199254740993",
                                      "18446744073709551615",
                                      "123456789012345678901234567890",
                                      "-99999999999999999999",
                                      "1e400",
                                      "\"1\""};
    struct server s;
    begin(&s, &strict);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        AUTO(buf) struct buf line = BUF_INIT;
        AUTO(buf) struct buf want = BUF_INIT;
        buf_addf(&line, RQ("\"method\":\"nothing\",\"id\":%s"), ids[i]);
        buf_addf(&want, "\"id\":%s,\"result\":null}\n", ids[i]);
        answers(&s, line.p, want.p);
    }
    end(&s);
}

static void test_strict_envelope(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    answers(&s, "nonsense", "\"id\":null,\"error\":[\"json\",false]}\n");
    answers(&s, "{} {}", "\"id\":null,\"error\":[\"json\",false]}\n");
    answers(&s, "[]", "\"id\":null,\"error\":[\"batch\",false]}\n");
    answers(&s, "[" RQ("\"id\":1,\"method\":\"now\"") "]",
            "\"id\":null,\"error\":[\"batch\",false]}\n");
    answers(&s, "null", "\"id\":null,\"error\":[\"object\",false]}\n");
    answers(&s, "7", "\"id\":null,\"error\":[\"object\",false]}\n");
    answers(&s, "{}", "\"id\":null,\"error\":[\"version\",false]}\n");
    answers(&s, "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"now\"}",
            "\"id\":null,\"error\":[\"version\",true]}\n");
    answers(&s, RQ("\"id\":1"), "\"id\":null,\"error\":[\"method\",true]}\n");
    answers(&s, RQ("\"id\":1,\"result\":{}"), "\"id\":null,\"error\":[\"method\",true]}\n");
    answers(&s, RQ("\"method\":5"), "\"id\":null,\"error\":[\"method\",false]}\n");
    answers(&s, RQ("\"id\":null,\"method\":\" \""), "\"id\":null,\"error\":[\"method\",true]}\n");
    answers(&s, RQ("\"id\":true,\"method\":\"now\""), "\"id\":null,\"error\":[\"id\",true]}\n");
    answers(&s, RQ("\"id\":{},\"method\":\"now\""), "\"id\":null,\"error\":[\"id\",true]}\n");
    answers(&s, RQ("\"id\":[],\"method\":\"none\""), "\"id\":null,\"error\":[\"id\",true]}\n");
    /* Notifications are neither run nor answered. */
    answers(&s, RQ("\"method\":\"now\""), "");
    answers(&s, RQ("\"method\":\"none\""), "");
    answers(&s, " ", "");
    assert_int_equal(s.seen.n, 0);
    answers(&s, RQ("\"id\":null,\"method\":\"now\""), "\"id\":null,\"result\":\"now\"}\n");
    end(&s);
}

static void test_loose_envelope(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &loose);
    answers(&s, "{\"id\":5,\"method\":\"now\"}", "\"id\":5,\"error\":[\"version\",true]}\n");
    answers(&s, "{\"id\":\"x\"}", "\"id\":\"x\",\"error\":[\"version\",true]}\n");
    answers(&s, "{\"id\":123456789012345678901234567890}",
            "\"id\":123456789012345678901234567890,\"error\":[\"version\",true]}\n");
    answers(&s, "{\"id\":[1]}", "\"id\":null,\"error\":[\"version\",true]}\n");
    answers(&s, "{\"id\":null}", "\"id\":null,\"error\":[\"version\",false]}\n");
    answers(&s, "[1]", "\"id\":null,\"error\":[\"batch\",false]}\n");
    answers(&s, RQ("\"id\":6,\"method\":\"\""), "\"id\":6,\"error\":[\"method\",true]}\n");
    answers(&s, RQ("\"id\":6,\"method\":\" \""), "\"id\":6,\"error\":{\"none\":\" \"}}\n");
    answers(&s, RQ("\"id\":null,\"method\":\"\""), "");
    answers(&s, RQ("\"method\":[]"), "");
    answers(&s, "\"\\ud800\"", "\"id\":null,\"error\":[\"json\",false]}\n");
    answers(&s, "\"\xff\"", "\"id\":null,\"error\":[\"json\",false]}\n");
    assert_int_equal(s.seen.n, 0);
    /* Notifications are run and never answered, whatever comes of it. */
    answers(&s, RQ("\"method\":\"now\""), "");
    answers(&s, RQ("\"id\":null,\"method\":\"now\""), "");
    answers(&s, RQ("\"method\":\"none\""), "");
    answers(&s, RQ("\"method\":\"fail\""), "");
    answers(&s, RQ("\"method\":\"echo\",\"params\":5"), "");
    answers(&s, RQ("\"method\":\"main.sleep\",\"params\":{\"ms\":1,\"name\":\"a\"}"), "");
    assert_string_equal(s.seen.p, "now|now|<a|a>|");
    end(&s);
}

static void test_params(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    answers(&s, RQ("\"id\":1,\"method\":\"echo\""),
            "\"id\":1,\"error\":{\"echo\":\"expected an object\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":null"),
            "\"id\":1,\"error\":{\"echo\":\"expected an object\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":[\"a\"]"),
            "\"id\":1,\"error\":{\"echo\":\"expected an object\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":{}"),
            "\"id\":1,\"error\":{\"echo\":\"`text` is missing\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":{\"text\":1}"),
            "\"id\":1,\"error\":{\"echo\":\"`text` must be a string\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"option\""), "\"id\":1,\"result\":[0,false]}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"option\",\"params\":null"),
            "\"id\":1,\"result\":[0,false]}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"option\",\"params\":{\"n\":3}"),
            "\"id\":1,\"result\":[3,true]}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"option\",\"params\":[]"),
            "\"id\":1,\"error\":{\"option\":\"expected an object\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"option\",\"params\":\"x\""),
            "\"id\":1,\"error\":{\"option\":\"expected an object\"}}\n");
    end(&s);
    begin(&s, &loose);
    answers(&s, RQ("\"id\":1,\"method\":\"option\",\"params\":[1]"),
            "\"id\":1,\"result\":[0,false]}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"main.echo\",\"params\":[1]"),
            "\"id\":1,\"error\":{\"main.echo\":\"`text` is missing\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"option\",\"params\":1"),
            "\"id\":1,\"error\":{\"option\":\"expected an object\"}}\n");
    end(&s);
}

static void test_depth_and_length(void **state)
{
    (void)state;
    struct server s;
    AUTO(buf) struct buf deep = BUF_INIT;
    AUTO(buf) struct buf wide = BUF_INIT;
    begin(&s, &strict);
    for (int i = 0; i <= LIMIT_JSON_DEPTH; i++)
        buf_addc(&deep, '[');
    answers(&s, deep.p, "\"id\":null,\"error\":[\"json\",false]}\n");
    for (int i = 0; i < 6000; i++)
        buf_addc(&wide, 'x');
    answers(&s, wide.p, "\"id\":null,\"error\":[0,\"\"]}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"nothing\""), "\"id\":1,\"result\":null}\n");
    end(&s);
}

static void test_framed(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &framed);
    say(&s, STR("bad\r\nContent-Length: 45\r\n\r\n" RQ("\"id\":1,\"method\":\"nothing\"") "  "));
    say(&s, STR("Content-Length: 3\r\n\r\n{}"));
    close(s.to);
    s.to = -1;
    settle(&s);
    assert_string_equal(
        s.got.p, "Content-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":[1,\"bad\"]}"
                 "Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}");
    end(&s);
}

static void test_notify_and_filter(void **state)
{
    (void)state;
    struct server s;
    begin(&s, &strict);
    rpc_notify(s.r, "event", STR("{\"a\":\"secret\"}"));
    rpc_notify(s.r, "bare", STR_NONE);
    s.is_filtering = true;
    rpc_notify(s.r, "event", STR("{\"a\":\"secret\"}"));
    settle(&s);
    assert_string_equal(
        s.got.p, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"a\":\"secret\"}}\n"
                 "{\"jsonrpc\":\"2.0\",\"method\":\"bare\"}\n"
                 "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"a\":\"[REDACTED]\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":{\"text\":\"my secret\"}"),
            "\"id\":1,\"result\":{\"text\":\"my [REDACTED]\",\"n\":0}}\n");
    /* A result that asked to go out as it is, the one behind it, and an error. */
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":{\"text\":\"my secret\",\"n\":-1}"),
            "\"id\":1,\"result\":{\"text\":\"my secret\",\"n\":-1}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":{\"text\":\"secret\"}"),
            "\"id\":1,\"result\":{\"text\":\"[REDACTED]\",\"n\":0}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"echo\",\"params\":{\"text\":\"secret\",\"n\":-2}"),
            "\"id\":1,\"error\":{\"code\":-1,\"message\":\"[REDACTED]\"}}\n");
    answers(&s, RQ("\"id\":1,\"method\":\"secret\""),
            "\"id\":1,\"error\":{\"none\":\"[REDACTED]\"}}\n");
    end(&s);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),         cmocka_unit_test(test_ids),
        cmocka_unit_test(test_strict_envelope), cmocka_unit_test(test_loose_envelope),
        cmocka_unit_test(test_params),          cmocka_unit_test(test_depth_and_length),
        cmocka_unit_test(test_framed),          cmocka_unit_test(test_notify_and_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
