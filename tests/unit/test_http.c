/* SPDX-License-Identifier: MIT */
/* HTTP as it is used: the OpenAI provider and bare requests against tests/fake/provider.py, which
 * follows a script and can misbehave.  Needs python3 and trivet-net.so beside this program; without
 * the module everything is skipped unless TRIVET_NEED_MODULES is set.
 *
 * Long because all of it shares the fake server and its set-up. */
#include "base/module.h"
#include "base/path.h"
#include "base/time.h"
#include "providers/openai/openai.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

enum { PATIENCE_MS = 10000 };

/* ---- the fake provider ---- */

struct fake {
    pid_t pid;
    char dir[40], script[64], log[64], base[64];
};

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* tests/fake lies beside the folder of this file, wherever the compiler was started. */
static void put_program(struct buf *out)
{
    struct str here = path_dir(str_of(__FILE__));
    buf_addf(out, "%.*s/../fake/provider.py", STR_FMT(here));
}

static int read_port(int fd)
{
    char line[64] = "";
    for (size_t n = 0; n < sizeof line - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n';)
        n++;
    int port = 0;
    assert_int_equal(sscanf(line, "PORT %d", &port), 1);
    return port;
}

static void fake_start(struct fake *f, const char *script)
{
    AUTO(buf) struct buf program = BUF_INIT;
    int out[2];
    posix_spawn_file_actions_t actions;
    strcpy(f->dir, "/tmp/trivet-http-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->script, sizeof f->script, "%s/script", f->dir);
    snprintf(f->log, sizeof f->log, "%s/log", f->dir);
    write_file(f->script, script);
    write_file(f->log, "");
    put_program(&program);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    char *argv[] = {"python3", program.p, "--script",          f->script,
                    "--log",   f->log,    "--die-with-parent", NULL};
    assert_int_equal(posix_spawnp(&f->pid, "python3", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    snprintf(f->base, sizeof f->base, "http://127.0.0.1:%d/v1", read_port(out[0]));
    close(out[0]);
}

static void fake_stop(struct fake *f)
{
    kill(f->pid, SIGKILL);
    waitpid(f->pid, NULL, 0);
    unlink(f->script);
    unlink(f->log);
    rmdir(f->dir);
}

static void read_log(const struct fake *f, struct buf *out)
{
    struct error err;
    buf_reset(out);
    assert_true(path_read(out, str_of(f->log), 1 << 24, &err));
}

/* Waits until the log has the text; returns how long that took. */
static int64_t wait_for_log(const struct fake *f, const char *text)
{
    AUTO(buf) struct buf log = BUF_INIT;
    int64_t begun = time_mono_us();
    while (read_log(f, &log), !strstr(buf_str(&log).p, text)) {
        if (time_mono_us() - begun > PATIENCE_MS * 1000)
            fail_msg("no %s in the log: %s", text, log.p);
        usleep(500);
    }
    return (time_mono_us() - begun) / 1000;
}

/* ---- asking ---- */

struct heard {
    struct loop *loop;
    struct stream *stream;
    struct buf text, reasoning;
    bool has_started, is_ended, has_failed;
    bool free_in_text, free_in_end;
    struct error err;
    enum stop_reason stop;
    struct usage usage;
    size_t n_calls;
    int *n_running;
};

static void on_text(void *arg, struct str delta)
{
    struct heard *h = arg;
    assert_true(h->has_started && !h->is_ended);
    buf_add(&h->text, delta);
    if (h->free_in_text) {
        provider_openai.free(h->stream);
        h->stream = NULL;
        h->is_ended = true;
    }
}

static void on_reasoning(void *arg, struct str delta)
{
    buf_add(&((struct heard *)arg)->reasoning, delta);
}

static void on_end(void *arg, struct reply *reply, const struct error *err)
{
    struct heard *h = arg;
    assert_true(h->has_started && !h->is_ended);
    h->is_ended = true;
    h->has_failed = err != NULL;
    if (err)
        h->err = *err;
    h->stop = reply->stop;
    h->usage = reply->usage;
    h->n_calls = reply_n_calls(reply);
    if (h->n_running)
        --*h->n_running;
    if (h->free_in_end) {
        provider_openai.free(h->stream);
        h->stream = NULL;
    }
}

static void ask_start(struct heard *h, struct loop *l, const char *base, const char *said)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = message_text(&a, ROLE_USER, str_of(said));
    struct ask ask = {
        .model = {.id = STR("fake")},
        .messages = &m,
        .n_messages = 1,
        .base_url = str_of(base),
        .key = STR("sk-test-0123456789"),
    };
    struct ask_sink sink = {
        .on_text = on_text, .on_reasoning = on_reasoning, .on_end = on_end, .arg = h};
    struct error err;
    h->loop = l;
    h->stream = provider_openai.start(l, &ask, &sink, &err);
    if (!h->stream)
        fail_msg("%s", err.text);
    assert_true(provider_openai.request_bytes(h->stream) > 0);
    h->has_started = true;
}

static void run_until(struct loop *l, const bool *is_done)
{
    int64_t begun = time_mono_us();
    while (!*is_done) {
        loop_step(l, true);
        assert_true(time_mono_us() - begun < PATIENCE_MS * 1000);
    }
}

static void heard_clear(struct heard *h)
{
    provider_openai.free(h->stream);
    buf_clear(&h->text);
    buf_clear(&h->reasoning);
}

static void ask_all(struct heard *h, struct loop *l, const char *base, const char *said)
{
    ask_start(h, l, base, said);
    run_until(l, &h->is_ended);
}

static void on_flag(void *arg)
{
    *(bool *)arg = true;
}

static void run_for(struct loop *l, int64_t ms)
{
    bool is_over = false;
    struct timer *t = timer_new(l, on_flag, &is_over);
    timer_start(t, ms);
    run_until(l, &is_over);
    timer_free(t);
}

struct stage { /* a loop and a fake */
    struct loop *l;
    struct fake f;
};

static void stage_open(struct stage *r, const char *script)
{
    r->l = loop_new();
    fake_start(&r->f, script);
}

static void stage_clear(struct stage *r)
{
    http_close(r->l);
    loop_free(r->l);
    fake_stop(&r->f);
}

/* ---- good answers ---- */

static void test_stream(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    AUTO(buf) struct buf log = BUF_INIT;
    stage_open(&r,
               "[{\"reasoning\":\"Hm.\",\"text\":\"Hello, world\",\"usage\":{\"prompt_tokens\":5,"
               "\"completion_tokens\":3}},{\"match\":\"tool\",\"tool_calls\":[{\"id\":\"c1\","
               "\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}]}]");
    AUTO(heard) struct heard first = {0}, second = {0};
    ask_all(&first, r.l, r.f.base, "hi");
    assert_false(first.has_failed);
    assert_string_equal(first.text.p, "Hello, world");
    assert_string_equal(first.reasoning.p, "Hm.");
    assert_int_equal(first.stop, STOP_END);
    assert_int_equal(first.usage.input, 5);
    second.free_in_end = true;
    run_for(r.l, 500); /* the server ends its answer a little after the last event */
    ask_all(&second, r.l, r.f.base, "use a tool");
    assert_int_equal(second.stop, STOP_CALLS);
    assert_int_equal(second.n_calls, 1);
    read_log(&r.f, &log);
    assert_non_null(strstr(log.p, "\"Authorization\": \"Bearer sk-test-0123456789\""));
    assert_non_null(strstr(log.p, "\"Accept\": \"text/event-stream\""));
    assert_non_null(strstr(log.p, "\"content\": \"use a tool\""));
    assert_null(strstr(log.p, "\"conn\": 2")); /* the connection was used again */
    assert_null(strstr(log.p, "closed_early"));
}

static void test_one_byte_writes(void **state) /* covers: providers 1, 2 */
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"Gr\\u00fc\\u00dfe \\ud83d\\ude00\",\"split\":1,\"crlf\":true,"
                   "\"comments\":true,\"piece\":1}]");
    AUTO(heard) struct heard h = {0};
    ask_all(&h, r.l, r.f.base, "hi");
    assert_false(h.has_failed);
    assert_string_equal(h.text.p, "Gr\xc3\xbc\xc3\x9f"
                                  "e \xf0\x9f\x98\x80");
}

static void test_parallel(void **state)
{
    (void)state;
    enum { N = 100 };
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"all of us\",\"repeat\":true,\"chunk_delay_ms\":5}]");
    AUTO_FREE struct heard *h = xcalloc(N, sizeof *h);
    int n_running = N;
    for (int i = 0; i < N; i++) {
        h[i].n_running = &n_running;
        ask_start(&h[i], r.l, r.f.base, "hi");
    }
    int64_t begun = time_mono_us();
    while (n_running > 0 && time_mono_us() - begun < PATIENCE_MS * 1000)
        loop_step(r.l, true);
    for (int i = 0; i < N; i++) {
        assert_true(h[i].is_ended && !h[i].has_failed);
        assert_string_equal(h[i].text.p, "all of us");
        heard_clear(&h[i]);
    }
}

static void test_done_ends_an_open_connection(void **state) /* covers: providers 8 */
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"bye\",\"keep_open\":true}]");
    AUTO(heard) struct heard h = {0};
    int64_t begun = time_mono_us();
    ask_all(&h, r.l, r.f.base, "hi");
    assert_false(h.has_failed);
    assert_true(time_mono_us() - begun < 1000000);
    loop_run(r.l); /* until the connection is given up */
    wait_for_log(&r.f, "closed_early");
}

static void test_end_without_marks(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(
        &r,
        "[{\"text\":\"a\",\"no_done\":true,\"no_length\":true},"
        "{\"finish\":null,\"no_done\":true,\"no_length\":true,\"chunks\":[\"data: "
        "{\\\"choices\\\":[{\\\"delta\\\":{\\\"content\\\":\\\"b\\\"},"
        "\\\"finish_reason\\\":\\\"stop\\\"}]}\"]},"
        "{\"finish\":null,\"no_done\":true,\"no_length\":true,\"chunks\":[\"data: {\\\"ch\"]}]");
    AUTO(heard) struct heard whole = {0}, no_blank = {0}, broken = {0};
    ask_all(&whole, r.l, r.f.base, "hi");
    assert_false(whole.has_failed);
    ask_all(&no_blank, r.l, r.f.base, "hi");
    assert_false(no_blank.has_failed);
    assert_string_equal(no_blank.text.p, "b");
    ask_all(&broken, r.l, r.f.base, "hi");
    assert_true(broken.has_failed);
    assert_int_equal(broken.err.code, ERR_CUT);
}

/* ---- cancel ---- */

static void test_cancel_inside_callback(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"long story\",\"stall_after\":3}]");
    AUTO(heard) struct heard h = {.free_in_text = true};
    ask_all(&h, r.l, r.f.base, "hi");
    assert_true(wait_for_log(&r.f, "closed_early") < 100);
    assert_null(h.stream);
    loop_run(r.l);
}

static void test_cancel_outside(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"long story\",\"stall_after\":3,\"repeat\":true},"
                   "{\"match\":\"slow\",\"delay_ms\":60000}]");
    AUTO(heard) struct heard h = {0}, slow = {0}, early = {0};
    ask_start(&h, r.l, r.f.base, "hi");
    while (h.text.n == 0)
        loop_step(r.l, true);
    provider_openai.free(h.stream);
    h.stream = NULL;
    assert_true(wait_for_log(&r.f, "{\"n\": 1, \"closed_early\"") < 100);
    assert_false(h.is_ended);
    ask_start(&slow, r.l, r.f.base, "slow"); /* before the head of the answer */
    for (int64_t begun = time_mono_us(); time_mono_us() - begun < 100000;)
        loop_step(r.l, false);
    provider_openai.free(slow.stream);
    slow.stream = NULL;
    assert_true(wait_for_log(&r.f, "{\"n\": 2, \"closed_early\"") < 100);
    ask_start(&early, r.l, r.f.base, "hi"); /* before anything was sent */
    provider_openai.free(early.stream);
    early.stream = NULL;
    loop_run(r.l);
    assert_false(slow.is_ended || early.is_ended);
}

/* ---- bad answers ---- */

static void expect_failure(struct stage *r, const char *said, enum err_code code, const char *part)
{
    AUTO(heard) struct heard h = {0};
    ask_all(&h, r->l, r->f.base, said);
    assert_true(h.has_failed);
    assert_string_equal(err_code_name(h.err.code), err_code_name(code));
    if (!strstr(h.err.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, h.err.text);
    assert_null(strstr(h.err.text, "sk-test"));
}

static void test_statuses(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    AUTO(heard) struct heard limited = {0};
    stage_open(&r, "[{\"status\":429,\"headers\":{\"Retry-After\":\"7\"}},{\"status\":500,"
                   "\"body\":\"oops\"},{\"status\":401,\"body\":{\"error\":{\"message\":"
                   "\"Incorrect key: sk-test-0123456789.\"}}},{\"status\":302,\"headers\":"
                   "{\"Location\":\"/elsewhere\"},\"body\":\"\"}]");
    ask_all(&limited, r.l, r.f.base, "hi");
    assert_int_equal(limited.err.code, ERR_RATE);
    assert_int_equal(limited.err.status, 429);
    assert_int_equal(limited.err.retry_after_ms, 7000);
    expect_failure(&r, "hi", ERR_PROVIDER, "OpenAI answered 500: oops");
    expect_failure(&r, "hi", ERR_AUTH, "Incorrect key: [REDACTED].");
    expect_failure(&r, "hi", ERR_BAD_REPLY, "redirect");
}

static void test_large_error_body(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    AUTO(buf) struct buf script = BUF_INIT;
    buf_addz(&script, "[{\"status\":400,\"body\":\"");
    for (int i = 0; i < 20000; i++)
        buf_addz(&script, "too much ");
    buf_addz(&script, "\"},{\"status\":400,\"body\":\"");
    for (int i = 0; i < 379; i++)
        buf_addz(&script, "x");
    buf_addz(&script, " sk-test-0123456789\"}]");
    stage_open(&r, script.p);
    expect_failure(&r, "hi", ERR_BAD_REQUEST, "too much");
    expect_failure(&r, "hi", ERR_BAD_REQUEST, "xxx [REDACTED]"); /* cut in the middle of the key */
}

static void test_wrong_content_type(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"body\":\"<html>\",\"content_type\":\"text/html\"},"
                   "{\"body\":{\"error\":{\"message\":\"maximum context length is 5\"}}},"
                   "{\"body\":{\"choices\":[]}},"
                   "{\"text\":\"x\",\"content_type\":\"Text/Event-Stream; charset=utf-8\"}]");
    expect_failure(&r, "hi", ERR_BAD_REPLY, "text/html instead of an event stream");
    expect_failure(&r, "hi", ERR_OVERFLOW, "maximum context length");
    expect_failure(&r, "hi", ERR_BAD_REPLY, "application/json instead");
    AUTO(heard) struct heard h = {0};
    ask_all(&h, r.l, r.f.base, "hi");
    assert_false(h.has_failed);
}

static void test_broken_streams(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"some text here\",\"cut_after\":3},"
                   "{\"text\":\"some text here\",\"close_after_bytes\":500},"
                   "{\"text\":\"some\",\"finish\":null,\"no_done\":true},"
                   "{\"text\":\"some\",\"malformed_after\":1},"
                   "{\"refuse\":true,\"repeat\":true}]");
    expect_failure(&r, "hi", ERR_CUT, "http://127.0.0.1:");
    expect_failure(&r, "hi", ERR_CUT, "before the answer was complete");
    expect_failure(&r, "hi", ERR_CUT, "before the reply was complete");
    expect_failure(&r, "hi", ERR_BAD_REPLY, "not JSON");
    expect_failure(&r, "hi", ERR_NETWORK, "no answer from http://127.0.0.1:");
}

/* The reply is whole when only what follows the finish reason is missing. */
static void test_cut_behind_the_finish(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"some\",\"cut_after\":3}]");
    AUTO(heard) struct heard h = {0};
    ask_all(&h, r.l, r.f.base, "hi");
    assert_false(h.has_failed);
    assert_string_equal(h.text.p, "some");
}

static void test_nobody_there(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(heard) struct heard refused = {0}, unknown = {0};
    ask_all(&refused, l, "http://127.0.0.1:1/secret-path", "hi");
    assert_true(refused.has_failed);
    assert_int_equal(refused.err.code, ERR_NETWORK);
    assert_int_equal(refused.err.origin, ORIGIN_UNKNOWN);
    assert_non_null(strstr(refused.err.text, "http://127.0.0.1:1"));
    assert_null(strstr(refused.err.text, "secret"));
    ask_all(&unknown, l, "http://user:pass@no-such-host.invalid/v1", "hi");
    assert_int_equal(unknown.err.code, ERR_NETWORK);
    assert_null(strstr(unknown.err.text, "pass"));
    http_close(l);
    loop_free(l);
}

static void test_refused_requests(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct ask_sink sink = {.on_end = on_end};
    struct error err;
    struct ask ask = {.model = {.id = STR("m")}, .base_url = STR("ftp://host")};
    assert_null(provider_openai.start(l, &ask, &sink, &err));
    assert_int_equal(err.code, ERR_INVALID);
    ask.base_url = STR("http://127.0.0.1:1");
    ask.key = STR("sk-line\nend");
    assert_null(provider_openai.start(l, &ask, &sink, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_null(strstr(err.text, "sk-line"));
    assert_non_null(strstr(err.text, "Authorization"));
    loop_free(l);
}

/* ---- bare requests ---- */

struct bare {
    struct http *http, *other; /* other: canceled at the first bytes */
    struct timer *timer;       /* resumes */
    struct loop *loop;
    struct buf body;
    int status;
    size_t n_pauses, n_while_paused;
    size_t largest; /* piece that was delivered at once */
    bool is_paused, is_ended, has_failed, pauses, starts_another;
    struct bare *another;
    const char *base;
};

static void bare_start(struct bare *b, struct loop *l, const char *base);

static void bare_on_status(void *arg, int status, struct str type)
{
    struct bare *b = arg;
    b->status = status;
    assert_true(type.n > 0);
}

static void bare_on_body(void *arg, struct str bytes)
{
    struct bare *b = arg;
    assert_true(bytes.n > 0 && b->status != 0 && !b->is_ended);
    b->n_while_paused += b->is_paused;
    b->largest = MAX(b->largest, bytes.n);
    buf_add(&b->body, bytes);
    if (b->other) {
        http_cancel(b->other);
        b->other = NULL;
    }
    if (b->another && b->starts_another) {
        b->starts_another = false;
        bare_start(b->another, b->loop, b->base);
    }
    if (b->pauses) {
        b->n_pauses++;
        b->is_paused = true;
        http_pause(b->http, true);
        timer_start(b->timer, b->n_pauses % 3);
    }
}

static void bare_resume(void *arg)
{
    struct bare *b = arg;
    b->is_paused = false;
    size_t before = b->body.n;
    http_pause(b->http, false);
    assert_int_equal(b->body.n, before); /* nothing is delivered from inside */
    if (b->n_pauses % 5 == 0) {
        http_pause(b->http, true);
        http_pause(b->http, false);
    }
}

static void bare_on_end(void *arg, const struct error *err)
{
    struct bare *b = arg;
    b->n_while_paused += b->is_paused;
    b->http = NULL;
    b->is_ended = true;
    b->has_failed = err != NULL;
}

static void bare_start(struct bare *b, struct loop *l, const char *base)
{
    char url[100];
    struct error err;
    snprintf(url, sizeof url, "%s/chat/completions", base);
    struct http_request rq = {
        .method = "POST",
        .url = str_of(url),
        .body = STR("{}"),
        .on_status = bare_on_status,
        .on_body = bare_on_body,
        .on_end = bare_on_end,
        .arg = b,
    };
    b->loop = l;
    b->base = base;
    b->http = http_start(l, &rq, &err);
    assert_non_null(b->http);
}

static void test_pause_loses_nothing(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    AUTO(buf) struct buf script = BUF_INIT;
    buf_addz(&script, "[{\"text\":\"");
    for (int i = 0; i < 5000; i++)
        buf_addf(&script, "%08d", i);
    buf_addz(&script,
             "\",\"piece\":40000,\"text_repeat\":125,\"chunk_delay_ms\":1,\"repeat\":true}]");
    stage_open(&r, script.p);
    struct bare plain = {0}, paused = {.pauses = true};
    bare_start(&plain, r.l, r.f.base);
    run_until(r.l, &plain.is_ended);
    paused.timer = timer_new(r.l, bare_resume, &paused);
    bare_start(&paused, r.l, r.f.base);
    run_until(r.l, &paused.is_ended);
    assert_true(plain.body.n > 5000000);
    assert_int_equal(paused.body.n, plain.body.n);
    assert_memory_equal(paused.body.p, plain.body.p, plain.body.n);
    assert_int_equal(paused.n_while_paused, 0);
    assert_true(paused.n_pauses > 10);
    timer_free(paused.timer);
    buf_clear(&plain.body);
    buf_clear(&paused.body);
}

/* A paused request does not read: the server cannot get rid of its bytes. */
static void test_pause_holds_back(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    AUTO(buf) struct buf log = BUF_INIT;
    stage_open(&r, "[{\"text\":\"0123456789abcdef\",\"text_repeat\":100000,\"piece\":16}]");
    struct bare b = {0};
    bare_start(&b, r.l, r.f.base);
    while (b.body.n == 0)
        loop_step(r.l, true);
    http_pause(b.http, true);
    size_t before = b.body.n;
    for (int64_t begun = time_mono_us(); time_mono_us() - begun < 300000; usleep(1000))
        loop_step(r.l, false);
    assert_int_equal(b.body.n, before);
    read_log(&r.f, &log);
    assert_null(strstr(log.p, "done"));
    http_cancel(b.http);
    assert_true(wait_for_log(&r.f, "closed_early") < 200);
    buf_clear(&b.body);
}

/* A server that has sent everything before the loop looks: it is delivered in pieces, and the loop
 * gets its turn between them. */
static void test_burst_comes_in_pieces(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"0123456789abcdef\",\"text_repeat\":200000,\"piece\":16000}]");
    struct bare b = {0};
    bare_start(&b, r.l, r.f.base);
    while (b.body.n == 0)
        loop_step(r.l, true);
    usleep(300000);
    size_t before = b.body.n, most_of_a_step = 0;
    while (!b.is_ended) {
        loop_step(r.l, true);
        most_of_a_step = MAX(most_of_a_step, b.body.n - before);
        before = b.body.n;
    }
    assert_false(b.has_failed);
    assert_true(b.body.n > 3200000);
    assert_true(b.largest <= 192 << 10);
    assert_true(most_of_a_step <= 1 << 20);
    buf_clear(&b.body);
}

/* From inside a callback of one request another is canceled, and a third one is started. */
static void test_calls_inside_callbacks(void **state)
{
    (void)state;
    AUTO(stage) struct stage r;
    stage_open(&r, "[{\"text\":\"x\",\"stall_after\":0},{\"text\":\"y\"},{\"text\":\"z\"}]");
    struct bare stalled = {0}, main = {.starts_another = true}, late = {0};
    bare_start(&stalled, r.l, r.f.base);
    while (stalled.status == 0)
        loop_step(r.l, true);
    main.other = stalled.http;
    main.another = &late;
    bare_start(&main, r.l, r.f.base);
    run_until(r.l, &main.is_ended);
    run_until(r.l, &late.is_ended);
    assert_false(main.has_failed || late.has_failed || stalled.is_ended);
    wait_for_log(&r.f, "{\"n\": 1, \"closed_early\"");
    loop_run(r.l);
    buf_clear(&main.body);
    buf_clear(&late.body);
}

static void test_loop_goes_first(void **state)
{
    (void)state;
    struct fake f;
    fake_start(&f, "[{\"text\":\"x\",\"repeat\":true}]");
    for (int i = 0; i < 5; i++) { /* without http_close, once everything is over */
        struct loop *l = loop_new();
        struct bare b = {0};
        http_warm_up(l);
        bare_start(&b, l, f.base);
        run_until(l, &b.is_ended);
        assert_false(b.has_failed);
        loop_free(l);
        buf_clear(&b.body);
    }
    fake_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_one_byte_writes),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_done_ends_an_open_connection),
        cmocka_unit_test(test_end_without_marks),
        cmocka_unit_test(test_cancel_inside_callback),
        cmocka_unit_test(test_cancel_outside),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_large_error_body),
        cmocka_unit_test(test_wrong_content_type),
        cmocka_unit_test(test_broken_streams),
        cmocka_unit_test(test_cut_behind_the_finish),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_refused_requests),
        cmocka_unit_test(test_pause_loses_nothing),
        cmocka_unit_test(test_pause_holds_back),
        cmocka_unit_test(test_burst_comes_in_pieces),
        cmocka_unit_test(test_calls_inside_callbacks),
        cmocka_unit_test(test_loop_goes_first),
    };
    struct error err;
    signal(SIGPIPE, SIG_IGN); /* as the program does */
    if (!module_open("net", "libcurl4", &err)) {
        fprintf(stderr, "%s: %s\n", getenv("TRIVET_NEED_MODULES") ? "failed" : "skipped", err.text);
        return getenv("TRIVET_NEED_MODULES") ? 1 : 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
