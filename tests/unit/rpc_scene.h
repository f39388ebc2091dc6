/* SPDX-License-Identifier: MIT */
/* A server with methods of every kind and a client at the other end of its pipes, for the tests of
 * rpc.c.  Included by one test program each; everything is static. */
#ifndef TRIVET_TESTS_RPC_SCENE_H
#define TRIVET_TESTS_RPC_SCENE_H

#include "wire/rpc.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
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
    buf_addf(&((struct server *)rq->dialect)->seen, "%.*s|", STR_FMT(p->text));
    rq->is_raw = p->n < 0;
    if (p->n < -1)
        return error_set(err, ERR_BUSY, "%.*s", STR_FMT(p->text));
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

/* A message with these members behind the first. */
#define RQ(rest) "{\"jsonrpc\":\"2.0\"," rest "}"

#endif
