/* SPDX-License-Identifier: MIT */
/* JSON-RPC on a real connection over pipes: whatever the client writes, every answer is a JSON-RPC
 * message, there are no more answers than messages, nothing stays pending, and the request behind
 * the noise is answered.
 */
#include "fuzz.h"
#include "wire/rpc.h"

#include <fcntl.h>
#include <unistd.h>

enum { MOST_BYTES = 32 << 10 }; /* of one input: less than a pipe holds */

struct echo_params {
    struct str text;
    int64_t n;
    yyjson_val *any;
};
static const struct row echo_rows[] = {
    ROW(echo_params, text, T_STR, NEEDED | TRIM, "what to say"),
    ROW(echo_params, n, T_INT, NULLABLE, "a number", .has_min = true, .min = 0),
    ROW(echo_params, any, T_ANY, OPTIONAL, "anything"),
    ROW_END,
};

static bool run_echo(struct request *rq, struct jw *result, struct error *err)
{
    const struct echo_params *p = rq->args;
    if (p->n == 13)
        return error_set(err, ERR_BUSY, "not %.*s", STR_FMT(str_cut(p->text, 100)));
    jw_obj(result);
    jw_kstr(result, "text", p->text);
    jw_kval(result, "any", p->any);
    jw_obj_end(result);
    return true;
}

static bool run_later_await(struct request *rq, struct jw *result, struct error *err)
{
    return yield_await(fiber_loop(), err) && run_echo(rq, result, err);
}

static const struct method echo = {.name = "echo",
                                   .params = echo_rows,
                                   .params_needed = true,
                                   .params_size = sizeof(struct echo_params),
                                   .run = run_echo};
static const struct method later = {.name = "later",
                                    .params = echo_rows,
                                    .params_size = sizeof(struct echo_params),
                                    .how = RUN_FIBER,
                                    .lane = LANE_MAIN,
                                    .run = run_later_await};
static const struct method *const methods[] = {&echo, &later};

static void put_words(struct jw *w, struct str words)
{
    jw_obj(w);
    jw_kstr(w, "message", words);
    jw_obj_end(w);
}

static void put_no_method(struct str method, struct jw *w)
{
    put_words(w, method);
}

static bool put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    (void)fault, (void)has_id;
    put_words(w, detail);
    return true;
}

static bool put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w)
{
    put_words(w, detail);
    return fault != FRAME_CUT_BODY;
}

static void put_params_fault(const struct method *m, const struct fault *f, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    (void)m;
    fault_say(f, &text);
    put_words(w, buf_str(&text));
}

static void put_error(const struct request *rq, const struct error *err, struct jw *w)
{
    (void)rq;
    put_words(w, error_str(err));
}

static void on_eof(void *dialect)
{
    *(bool *)dialect = true;
}

static struct rpc_dialect dialect_for(uint64_t *seed)
{
    return (struct rpc_dialect){
        .framing = FRAME_LINES_CR,
        .limit = 5000,
        .methods = methods,
        .n_methods = ARRAY_LEN(methods),
        .null_id_is_request = fuzz_pick(seed, 2),
        .runs_notifications = fuzz_pick(seed, 2),
        .echoes_id_on_invalid = fuzz_pick(seed, 2),
        .array_params_are_absent = fuzz_pick(seed, 2),
        .method_may_be_blank = fuzz_pick(seed, 2),
        .parse_flags = (unsigned)fuzz_pick(seed, 4),
        .put_fault = put_fault,
        .put_frame_fault = put_frame_fault,
        .put_no_method = put_no_method,
        .put_params_fault = put_params_fault,
        .put_error = put_error,
        .on_eof = on_eof,
    };
}

static void check_answer(struct str line)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    PROMISE(json_parse(line, 0, 2000, &j, &err));
    PROMISE(str_is(json_get_str(j.root, "jsonrpc"), "2.0"));
    PROMISE(json_get(j.root, "id") && (!json_get(j.root, "result") != !json_get(j.root, "error")));
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n' || text.p[i] == '\r';
    return n;
}

static void check_answers(struct str got, size_t most)
{
    struct str line, last = STR_NONE;
    size_t n = 0;
    PROMISE(str_ends(got, STR("\n")));
    for (; str_line(&got, &line) && line.n; n++) {
        check_answer(line);
        last = line;
    }
    PROMISE(n <= most && str_find(last, STR("the last one")) != SIZE_MAX);
}

static void hear(int fd, struct buf *got)
{
    char part[8192];
    for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;)
        buf_add(got, str_n(part, (size_t)n));
}

static const char last_one[] = "\n{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"later\","
                               "\"params\":{\"text\":\"the last one\"}}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int in[2], out[2];
    bool is_over = false;
    AUTO(buf) struct buf said = BUF_INIT, got = BUF_INIT;
    uint64_t seed = fuzz_seed(str_n((const char *)data, n));
    struct rpc_dialect d = dialect_for(&seed);
    buf_add(&said, str_cut(str_n((const char *)data, n), MOST_BYTES));
    buf_addz(&said, last_one);
    PROMISE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0);
    PROMISE(write(in[1], said.p, said.n) == (ssize_t)said.n);
    close(in[1]);
    struct loop *l = loop_new();
    struct rpc *r = rpc_new(l, in[0], out[1], &d, &is_over);
    for (int i = 0; !is_over || rpc_pending(r) || !conn_is_flushed(rpc_conn(r)); i++) {
        PROMISE(i < 100000);
        loop_step(l, false);
        hear(out[0], &got);
    }
    check_answers(buf_str(&got), count_lines(buf_str(&said)) + 1);
    rpc_free(r);
    loop_free(l);
    close(out[0]);
    return 0;
}
