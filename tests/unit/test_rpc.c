/* SPDX-License-Identifier: MIT */
/* JSON-RPC over pipes, in two made-up dialects: one that is strict like loaf, one that is like
 * Kward.  What the server says is compared line by line. */
#include "wire/rpc.h"

#include "base/limits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

struct server {
    struct loop *l;
    struct rpc *r;
    int to, from;    /* the client's ends, non-blocking */
    struct buf got;  /* what the client read */
    struct buf seen; /* what methods and callbacks noted */
    unsigned n_running;
    bool is_filtering;
    bool stops; /* the next "now" stops the service */
};

/* ---- methods ---- */

struct echo_params {
    struct str text;
    int64_t n;
};
static const struct row echo_rows[] = {
    ROW(echo_params, text, T_STR, NEEDED, "what to say"),
    ROW(echo_params, n, T_INT, OPTIONAL, "how often"),
    ROW_END,
};

static bool run_echo(struct request *rq, struct jw *result, struct error *err)
{
    const struct echo_params *p = rq->args;
    (void)err;
    buf_addf(&((struct server *)rq->dialect)->seen, "%.*s|", STR_FMT(p->text));
    jw_obj(result);
    jw_kstr(result, "text", p->text);
    jw_kint(result, "n", p->n);
    jw_obj_end(result);
    return true;
}

static const struct row option_rows[] = {ROW(echo_params, n, T_INT, OPTIONAL, "n"), ROW_END};

static bool run_option(struct request *rq, struct jw *result, struct error *err)
{
    (void)err;
    jw_arr(result);
    jw_int(result, ((struct echo_params *)rq->args)->n);
    jw_bool(result, rq->params != NULL);
    jw_arr_end(result);
    return true;
}

static bool run_now(struct request *rq, struct jw *result, struct error *err)
{
    struct server *s = rq->dialect;
    (void)err;
    assert_null(fiber_self());
    buf_addz(&s->seen, "now|");
    if (s->stops)
        rpc_stop(rq->rpc);
    jw_str(result, STR("now"));
    return true;
}

static bool run_nothing(struct request *rq, struct jw *result, struct error *err)
{
    (void)rq, (void)result, (void)err;
    return true;
}

static bool run_fail(struct request *rq, struct jw *result, struct error *err)
{
    jw_str(result, STR("begun, and thrown away"));
    if (rq->params) {
        rq->rpc_code = -32000;
        rq->error_data = arena_fmt(&rq->arena, "{\"why\":%d}", 5);
    }
    return error_set(err, ERR_BUSY, "no \"luck\"");
}

struct sleep_params {
    int64_t ms;
    struct str name;
};
static const struct row sleep_rows[] = {
    ROW(sleep_params, ms, T_INT, NEEDED, "how long"),
    ROW(sleep_params, name, T_STR, OPTIONAL, "whose"),
    ROW_END,
};

static bool run_sleep_await(struct request *rq, struct jw *result, struct error *err)
{
    const struct sleep_params *p = rq->args;
    struct server *s = rq->dialect;
    s->n_running++;
    buf_addf(&s->seen, "<%.*s|", STR_FMT(p->name));
    bool ok = sleep_await(s->l, p->ms, err);
    buf_addf(&s->seen, "%.*s>|", STR_FMT(p->name));
    s->n_running--;
    if (ok)
        jw_str(result, p->name);
    return ok;
}

static bool run_end_await(struct request *rq, struct jw *result, struct error *err)
{
    struct server *s = rq->dialect;
    rpc_stop(rq->rpc);
    rpc_cancel(rq->rpc);
    if (!sleep_await(s->l, 1, err)) /* the one who ends the others is not ended himself */
        return false;
    jw_bool(result, true);
    return true;
}

static const struct method echo = {.name = "echo",
                                   .params = echo_rows,
                                   .params_needed = true,
                                   .params_size = sizeof(struct echo_params),
                                   .run = run_echo};
static const struct method end_all = {.name = "end", .how = RUN_FIBER, .run = run_end_await};
static const struct method fails = {.name = "fail", .run = run_fail};
static const struct method lazy = {.name = "free.sleep",
                                   .params = sleep_rows,
                                   .how = RUN_FIBER,
                                   .params_size = sizeof(struct sleep_params),
                                   .run = run_sleep_await};
static const struct method main_echo = {.name = "main.echo",
                                        .params = echo_rows,
                                        .params_size = sizeof(struct echo_params),
                                        .lane = LANE_MAIN,
                                        .run = run_echo};
static const struct method main_now = {.name = "main.now", .lane = LANE_MAIN, .run = run_now};
static const struct method main_sleep = {.name = "main.sleep",
                                         .params = sleep_rows,
                                         .params_size = sizeof(struct sleep_params),
                                         .how = RUN_FIBER,
                                         .lane = LANE_MAIN,
                                         .run = run_sleep_await};
static const struct method nothing = {.name = "nothing", .run = run_nothing};
static const struct method now = {.name = "now", .run = run_now};
static const struct method option = {.name = "option",
                                     .params = option_rows,
                                     .params_size = sizeof(struct echo_params),
                                     .run = run_option};
static const struct method slow_sleep = {.name = "slow.sleep",
                                         .params = sleep_rows,
                                         .params_size = sizeof(struct sleep_params),
                                         .how = RUN_FIBER,
                                         .lane = LANE_SLOW,
                                         .run = run_sleep_await};
static const struct method *const methods[] = {&echo,      &end_all,  &fails,      &lazy,
                                               &main_echo, &main_now, &main_sleep, &nothing,
                                               &now,       &option,   &slow_sleep};

/* ---- dialects ---- */

static bool put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    static const char *const names[] = {
        [RPC_NOT_JSON] = "json",       [RPC_BATCH] = "batch",       [RPC_NOT_OBJECT] = "object",
        [RPC_BAD_VERSION] = "version", [RPC_BAD_METHOD] = "method", [RPC_BAD_ID] = "id"};
    assert_true((fault == RPC_NOT_JSON) == (detail.n > 0));
    jw_arr(w);
    jw_str(w, str_of(names[fault]));
    jw_bool(w, has_id);
    jw_arr_end(w);
    return true;
}

static bool put_fault_silently(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    return (fault != RPC_BAD_METHOD || has_id) && put_fault(fault, has_id, detail, w);
}

static bool put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w)
{
    jw_arr(w);
    jw_int(w, fault);
    jw_str(w, detail);
    jw_arr_end(w);
    return fault != FRAME_CUT_BODY;
}

static void put_no_method(struct str method, struct jw *w)
{
    jw_obj(w);
    jw_kstr(w, "none", method);
    jw_obj_end(w);
}

static void put_params_fault(const struct method *m, const struct fault *f, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    fault_say(f, &text);
    jw_obj(w);
    jw_kstr(w, m->name, buf_str(&text));
    jw_obj_end(w);
}

static void put_error(const struct request *rq, const struct error *err, struct jw *w)
{
    jw_obj(w);
    jw_kint(w, "code", rq->rpc_code ? rq->rpc_code : -1);
    jw_kstr(w, "message", error_str(err));
    if (rq->error_data.p)
        jw_kraw(w, "data", rq->error_data);
    jw_obj_end(w);
}

static bool filter(void *dialect, struct str body, struct buf *out)
{
    const struct server *s = dialect;
    size_t at = str_find(body, STR("secret"));
    if (!s->is_filtering || at == SIZE_MAX)
        return false;
    buf_add(out, str_cut(body, at));
    buf_addz(out, "[REDACTED]");
    buf_add(out, str_from(body, at + 6));
    return true;
}

static void on_eof(void *dialect)
{
    buf_addz(&((struct server *)dialect)->seen, "eof|");
}

static const struct rpc_dialect strict = {
    .framing = FRAME_LINES_CR,
    .limit = 5000,
    .methods = methods,
    .n_methods = ARRAY_LEN(methods),
    .null_id_is_request = true,
    .parse_flags = JSON_FIX_SURROGATES | JSON_FIX_UTF8,
    .put_fault = put_fault,
    .put_frame_fault = put_frame_fault,
    .put_no_method = put_no_method,
    .put_params_fault = put_params_fault,
    .put_error = put_error,
    .filter = filter,
    .on_eof = on_eof,
};
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

/* ---- talking ---- */

static void begin(struct server *s, const struct rpc_dialect *d)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    *s = (struct server){.l = loop_new(), .to = in[1], .from = out[0]};
    s->r = rpc_new(s->l, in[0], out[1], d, s);
}

static void listen_some(struct server *s)
{
    char part[8192];
    for (ssize_t n; (n = read(s->from, part, sizeof part)) > 0;)
        buf_add(&s->got, str_n(part, (size_t)n));
}

static void steps(struct server *s, int n)
{
    while (n--)
        loop_step(s->l, false);
    listen_some(s);
}

static void say(struct server *s, struct str text)
{
    assert_int_equal(write(s->to, text.p, text.n), text.n);
}

/* Lets the loop run until everything is answered. */
static void settle(struct server *s)
{
    steps(s, 3);
    for (int i = 0; i < 10000 && rpc_pending(s->r); i++)
        loop_step(s->l, true);
    assert_int_equal(rpc_pending(s->r), 0);
    steps(s, 3);
}

static void end(struct server *s)
{
    settle(s);
    rpc_free(s->r);
    loop_free(s->l);
    if (s->to >= 0)
        close(s->to);
    close(s->from);
    buf_clear(&s->got);
    buf_clear(&s->seen);
}

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

/* ---- tests ---- */

#define RQ(rest) "{\"jsonrpc\":\"2.0\"," rest "}"

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
    answers(&s, RQ("\"id\":1,\"method\":\"secret\""),
            "\"id\":1,\"error\":{\"none\":\"[REDACTED]\"}}\n");
    end(&s);
}

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
    assert_string_equal(s.seen.p, "now|<a|<c|<d|c>|a>|now|<b|b>|now|d>|<e|e>|");
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
        int n =
            snprintf(line, sizeof line,
                     i % 3 ? RQ("\"id\":%d,\"method\":\"main.now\"") "\n"
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

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_strict_envelope),
        cmocka_unit_test(test_loose_envelope),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_depth_and_length),
        cmocka_unit_test(test_framed),
        cmocka_unit_test(test_notify_and_filter),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_lane_order_under_load),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_free_with_requests_is_a_bug),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_client_that_reads_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
