/* SPDX-License-Identifier: MIT */
/* Recording and replaying provider traffic: with a peer played by the test itself, byte for byte,
 * and end to end with tests/fake/provider.py in processes of their own (this program called with
 * arguments).  The latter needs python3 and trivet-net.so beside this program. */
#include "base/module.h"
#include "base/path.h"
#include "net/record.h"
#include "providers/openai/openai.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

#define KEY "sk-test-0123456789abcdef"
#define ACCOUNT "account-0123456789"

/* ---- places ---- */

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/trivet-record-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    (void)state;
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    return rmdir(dir);
}

static void read_file(const char *name, struct buf *out)
{
    struct error err;
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%s", dir, name);
    assert_true(path_read(out, buf_str(&path), 1 << 24, &err));
}

static void has(struct buf *text, const char *part)
{
    if (!strstr(buf_str(text).p, part))
        fail_msg("no %s in %s", part, buf_str(text).p);
}

/* ---- a peer that the test plays ---- */

static struct {
    struct http_request rq;
    bool is_open;
    const char *ended; /* how the core ended it */
} peer;

static struct http *peer_start(struct loop *l, const struct http_request *rq, struct error *err)
{
    (void)l;
    (void)err;
    peer.rq = *rq;
    peer.is_open = true;
    peer.ended = NULL;
    return (struct http *)&peer;
}

static void peer_pause(struct http *h, bool paused)
{
    (void)h;
    (void)paused;
}

static void peer_cancel(struct http *h)
{
    (void)h;
    peer.ended = "cancel";
}

static void peer_leave(struct http *h)
{
    (void)h;
    peer.ended = "leave";
}

static void peer_close(struct loop *l)
{
    (void)l;
}

static const struct net_api peer_api = {peer_start, peer_pause, peer_cancel, peer_leave,
                                        peer_close};

static void peer_head(const char *type)
{
    peer.rq.on_status(peer.rq.arg, 200, str_of(type));
    peer.rq.on_header(peer.rq.arg, STR("Set-Cookie"), STR("crumb=0123456789"));
    peer.rq.on_header(peer.rq.arg, STR("x-echo"), STR("got " KEY));
}

/* ---- who listens ---- */

struct heard {
    const struct net_api *api;
    struct http *http;
    struct buf head, body;
    int status, n_ends, cancel_after; /* cancels after so many bytes */
    bool has_failed, leaves;
    struct error err;
};

static void on_status(void *arg, int status, struct str type)
{
    struct heard *h = arg;
    h->status = status;
    buf_addf(&h->head, "type=%.*s\n", STR_FMT(type));
}

static void on_header(void *arg, struct str name, struct str value)
{
    buf_addf(&((struct heard *)arg)->head, "%.*s=%.*s\n", STR_FMT(name), STR_FMT(value));
}

static void on_body(void *arg, struct str bytes)
{
    struct heard *h = arg;
    buf_add(&h->body, bytes);
    if (h->cancel_after && h->body.n >= (size_t)h->cancel_after)
        (h->leaves ? h->api->leave : h->api->cancel)(h->http);
}

static void on_end(void *arg, const struct error *err)
{
    struct heard *h = arg;
    h->n_ends++;
    h->has_failed = err != NULL;
    if (err)
        h->err = *err;
}

static void heard_clear(struct heard *h)
{
    buf_clear(&h->head);
    buf_clear(&h->body);
}

static bool start(struct heard *h, struct loop *l, const char *url, struct str body)
{
    static const struct http_header headers[] = {
        {STR("Authorization"), STR("Bearer " KEY)},
        {STR("ChatGPT-Account-ID"), STR(ACCOUNT)},
        {STR("Accept"), STR("text/event-stream")},
    };
    struct http_request rq = {.method = "POST",
                              .url = str_of(url),
                              .headers = headers,
                              .n_headers = 3,
                              .body = body,
                              .on_status = on_status,
                              .on_header = on_header,
                              .on_body = on_body,
                              .on_end = on_end,
                              .arg = h};
    h->http = h->api->start(l, &rq, &h->err);
    return h->http != NULL;
}

static void run(struct heard *h, struct loop *l)
{
    for (int i = 0; i < 100 && h->n_ends == 0; i++)
        loop_step(l, false);
}

#define URL "http://localhost/v1/x?key=0123456789&alt=sse"

/* One exchange that ends well, with the key in all kinds of places. */
static void record_one(struct loop *l)
{
    struct error err;
    struct heard h = {.api = record_open(dir, &peer_api, &err)};
    assert_non_null(h.api);
    assert_true(start(&h, l, URL, STR("{\"say\":\"" KEY "\"}")));
    peer_head("text/event-stream; charset=utf-8");
    peer.rq.on_body(peer.rq.arg, STR("data: caf\xc3")); /* splits a character */
    peer.rq.on_body(peer.rq.arg, STR("\xa9 sk-test-01234567"));
    peer.rq.on_body(peer.rq.arg, STR("89abcdef and " ACCOUNT " 0123456789\n\n"));
    peer.rq.on_end(peer.rq.arg, NULL);
    assert_int_equal(h.n_ends, 1);
    assert_false(h.has_failed);
    assert_non_null(strstr(h.body.p, KEY)); /* the core hears all of it */
    h.api->close(l);
    heard_clear(&h);
}

static void test_lines(void **state) /* covers: providers 57 */
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf file = BUF_INIT;
    struct stat st;
    char path[80];
    record_one(l);
    read_file("0001.jsonl", &file);
    has(&file, "{\"type\":\"request\",\"version\":1,\"method\":\"POST\","
               "\"url\":\"http://localhost/v1/x?key=[REDACTED]&alt=sse\"");
    has(&file, "[\"Authorization\",\"[REDACTED]\"],[\"ChatGPT-Account-ID\",\"[REDACTED]\"],"
               "[\"Accept\",\"text/event-stream\"]");
    has(&file, "\"text\":\"{\\\"say\\\":\\\"[REDACTED]\\\"}\"");
    has(&file, "\"status\":200,\"content_type\":\"text/event-stream; charset=utf-8\"");
    has(&file, "\"name\":\"Set-Cookie\",\"value\":\"[REDACTED]\"");
    has(&file, "\"name\":\"x-echo\",\"value\":\"got [REDACTED]\"");
    has(&file, "{\"type\":\"end\",\"ms\":");
    static const char *const secrets[] = {KEY, "0123456789", "account-", "crumb", "abcdef"};
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
        assert_null(strstr(file.p, secrets[i]));
    snprintf(path, sizeof path, "%s/0001.jsonl", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    loop_free(l);
}

static void test_answer_again(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    record_one(l);
    struct heard h = {.api = replay_open(dir, &err)};
    assert_non_null(h.api);
    assert_true(start(&h, l, URL, STR("{\"say\":\"" KEY "\"}")));
    assert_int_equal(h.status, 0); /* nothing before start returned */
    run(&h, l);
    assert_int_equal(h.n_ends, 1);
    assert_false(h.has_failed);
    assert_int_equal(h.status, 200);
    assert_string_equal(h.head.p, "type=text/event-stream; charset=utf-8\n"
                                  "Set-Cookie=[REDACTED]\nx-echo=got [REDACTED]\n");
    assert_string_equal(h.body.p, "data: caf\xc3\xa9 [REDACTED] and [REDACTED] [REDACTED]\n\n");
    /* A second request was not recorded; and from then on every one fails. */
    assert_false(start(&h, l, URL, STR("{}")));
    assert_int_equal(h.err.code, ERR_BAD_REQUEST);
    assert_non_null(strstr(h.err.text, "0002.jsonl"));
    h.err = ERROR_INIT;
    assert_false(start(&h, l, URL, STR("{\"say\":\"" KEY "\"}")));
    assert_non_null(strstr(h.err.text, "0002.jsonl"));
    h.api->close(l);
    heard_clear(&h);
    loop_free(l);
}

/* A damaged recording is no success without a status. */
static void test_replay_without_status(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    AUTO(buf) struct buf file = BUF_INIT;
    char path[100];
    record_one(l);
    snprintf(path, sizeof path, "%s/0001.jsonl", dir);
    assert_true(path_read(&file, str_of(path), 1 << 20, &err));
    char *line = strstr(file.p, "{\"type\":\"status\"");
    assert_non_null(line);
    memcpy(strstr(line, "status"), "statue", 6);
    FILE *f = fopen(path, "w");
    fwrite(file.p, 1, file.n, f);
    fclose(f);
    struct heard h = {.api = replay_open(dir, &err)};
    assert_true(start(&h, l, URL, STR("{\"say\":\"" KEY "\"}")));
    run(&h, l);
    assert_int_equal(h.n_ends, 1);
    assert_true(h.has_failed);
    assert_int_equal(h.err.code, ERR_CUT);
    h.api->close(l);
    heard_clear(&h);
    loop_free(l);
}

static void refuse(struct loop *l, const char *url, struct str body, const char *text)
{
    struct error err;
    struct heard h = {.api = replay_open(dir, &err)};
    assert_false(start(&h, l, url, body));
    assert_int_equal(h.err.code, ERR_BAD_REQUEST);
    if (!strstr(h.err.text, text))
        fail_msg("no %s in %s", text, h.err.text);
    assert_non_null(strstr(h.err.text, "0001.jsonl"));
    assert_null(strstr(h.err.text, KEY));
    h.api->close(l);
    heard_clear(&h);
}

static void test_differences(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    record_one(l);
    refuse(l, URL, STR("{\"say\":\"other\"}"), "the body differs from ");
    refuse(
        l, URL, STR("{\"say\":\"other\"}"),
        "at byte 8: recorded \"{\\\"say\\\":\\\"[REDACTED]\\\"}\", now \"{\\\"say\\\":\\\"other");
    refuse(l, URL, STR("{\"say\":\"" KEY "\"} "), "the body differs from ");
    refuse(l, URL, STR("{\"say\":\"" KEY), "the body differs from ");
    refuse(l, URL "&x=1", STR("{\"say\":\"" KEY "\"}"), "the URL differs from ");
    assert_null(replay_open("/nowhere/at/all", &err));
    assert_int_equal(err.code, ERR_BAD_REQUEST);
    assert_null(record_open(dir, &peer_api, &err)); /* what is there is not mixed with new ones */
    assert_int_equal(err.code, ERR_EXISTS);
    loop_free(l);
}

#define ID(c) #c "1111111-2222-4333-8444-555555555555"

static void test_random_ids(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    struct heard h = {.api = record_open(dir, &peer_api, &err)};
    assert_true(start(&h, l, "http://a/", STR("{\"a\":\"" ID(a) "\",\"b\":\"" ID(a) "\"}")));
    h.api->cancel(h.http);
    h.api->close(l);
    h.api = replay_open(dir, &err);
    assert_true(start(&h, l, "http://a/", STR("{\"a\":\"" ID(b) "\",\"b\":\"" ID(b) "\"}")));
    h.api->cancel(h.http);
    h.api->close(l);
    refuse(l, "http://a/", STR("{\"a\":\"" ID(b) "\",\"b\":\"" ID(c) "\"}"), "the body differs");
    heard_clear(&h);
    loop_free(l);
}

static void test_failures_and_cancels(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    struct heard h = {.api = record_open(dir, &peer_api, &err)};
    assert_true(start(&h, l, "http://a/1", STR("")));
    peer.rq.on_status(peer.rq.arg, 200, STR("text/event-stream"));
    peer.rq.on_body(peer.rq.arg, STR("data: half sk-test-0123456789a"));
    error_set(&err, ERR_CUT, "ended, " KEY);
    peer.rq.on_end(peer.rq.arg, &err);
    h.cancel_after = 4; /* the core cancels inside its callback */
    buf_reset(&h.body);
    assert_true(start(&h, l, "http://a/2", STR("")));
    peer.rq.on_status(peer.rq.arg, 200, STR("text/event-stream"));
    peer.rq.on_body(peer.rq.arg, STR("1234"));
    assert_string_equal(peer.ended, "cancel");
    h.leaves = true;
    buf_reset(&h.body);
    assert_true(start(&h, l, "http://a/3", STR("")));
    peer.rq.on_body(peer.rq.arg, STR("1234"));
    assert_string_equal(peer.ended, "leave");
    assert_true(start(&h, l, "http://a/4", STR(""))); /* still open at the end */
    h.api->close(l);
    assert_string_equal(peer.ended, "cancel");
    heard_clear(&h);

    h = (struct heard){.api = replay_open(dir, &err)};
    assert_true(start(&h, l, "http://a/1", STR("")));
    run(&h, l);
    assert_true(h.has_failed && h.err.code == ERR_CUT);
    assert_string_equal(h.err.text, "ended, [REDACTED]");
    assert_string_equal(h.body.p, "data: half [REDACTED]");
    h.n_ends = 0;
    assert_true(start(&h, l, "http://a/2", STR(""))); /* silent behind its bytes */
    h.api->pause(h.http, true);
    run(&h, l);
    assert_string_equal(h.body.p, "data: half [REDACTED]"); /* paused: nothing */
    h.api->pause(h.http, false);
    run(&h, l);
    assert_string_equal(h.body.p, "data: half [REDACTED]1234");
    assert_int_equal(h.n_ends, 0);
    h.api->cancel(h.http);
    buf_reset(&h.body);
    h.cancel_after = 2;
    assert_true(start(&h, l, "http://a/3", STR(""))); /* canceled inside the callback */
    run(&h, l);
    assert_int_equal(h.n_ends, 0);
    h.cancel_after = 0;
    assert_true(start(&h, l, "http://a/4", STR("")));
    h.api->close(l);
    heard_clear(&h);
    loop_free(l);
}

/* Tokens that are handed out, and used later. */
static void test_sign_in(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error err;
    AUTO(buf) struct buf file = BUF_INIT;
    struct heard h = {.api = record_open(dir, &peer_api, &err)};
    assert_true(start(&h, l, "https://auth.a/oauth/token",
                      STR("grant_type=refresh_token&refresh_token=rt-0123456789")));
    peer_head("application/json");
    peer.rq.on_body(peer.rq.arg, STR("{\"access_token\":\"at-98765"));
    peer.rq.on_body(peer.rq.arg, STR("4321\",\"refresh_token\":\"rt-0123456789\",\"n\":1}"));
    peer.rq.on_end(peer.rq.arg, NULL);
    h.api->close(l);
    read_file("0001.jsonl", &file);
    has(&file, "grant_type=refresh_token&refresh_token=[REDACTED]\"");
    has(&file, "\\\"access_token\\\":\\\"[REDACTED]\\\",\\\"refresh_token\\\":\\\"[REDACTED]\\\","
               "\\\"n\\\":1}");
    assert_null(strstr(file.p, "98765"));
    heard_clear(&h);
    loop_free(l);
}

/* ---- end to end ---- */

struct received {
    struct buf text;
    bool is_ended;
};

static void on_text(void *arg, struct str delta)
{
    buf_add(&((struct received *)arg)->text, delta);
}

static void on_reply_end(void *arg, struct reply *reply, const struct error *err)
{
    struct received *t = arg;
    (void)reply;
    t->is_ended = true;
    if (err)
        buf_addf(&t->text, "|%s: %s", err_code_name(err->code), err->text);
}

/* This program as the core of a process of its own: asks and prints what it heard. */
static int ask_main(const char *base, const char *said)
{
    struct loop *l = loop_new();
    AUTO(arena) struct arena a = ARENA_INIT;
    struct received t = {0};
    struct error err;
    struct message m = message_text(&a, ROLE_USER, str_of(said));
    struct ask ask = {.model = {.id = STR("fake")},
                      .messages = &m,
                      .n_messages = 1,
                      .base_url = str_of(base),
                      .key = STR(KEY)};
    struct ask_sink sink = {.on_text = on_text, .on_end = on_reply_end, .arg = &t};
    struct stream *s = provider_openai.start(l, &ask, &sink, &err);
    if (!s)
        buf_addf(&t.text, "|%s: %s", err_code_name(err.code), err.text);
    while (s && !t.is_ended)
        loop_step(l, true);
    provider_openai.free(s);
    http_close(l);
    loop_free(l);
    printf("%s\n", buf_str(&t.text).p);
    buf_clear(&t.text);
    return 0;
}

/* Runs a program with one more variable and gives its first line. */
static pid_t spawn(char *const *argv, const char *name, const char *value, char *line,
                   size_t capacity)
{
    int out[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (name)
        setenv(name, value, 1);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    assert_int_equal(posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    if (name)
        unsetenv(name);
    size_t n = 0;
    while (n < capacity - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    close(out[0]);
    return pid;
}

static void ask(const char *name, const char *base, const char *said, char line[1000])
{
    int status;
    char *argv[] = {(char *)path_program(), (char *)base, (char *)said, NULL};
    pid_t pid = spawn(argv, name, dir, line, 1000);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static pid_t serve(const char *script, char base[64])
{
    AUTO(buf) struct buf program = BUF_INIT;
    char line[64] = "", path[80];
    int port = 0;
    snprintf(path, sizeof path, "%s/script", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(script, f);
    fclose(f);
    buf_addf(&program, "%.*s/../fake/provider.py", STR_FMT(path_dir(str_of(__FILE__))));
    char *argv[] = {"python3", program.p, "--script", path, "--die-with-parent", NULL};
    pid_t pid = spawn(argv, NULL, NULL, line, sizeof line);
    assert_int_equal(sscanf(line, "PORT %d", &port), 1);
    snprintf(base, 64, "http://127.0.0.1:%d/v1", port);
    return pid;
}

static void test_processes(void **state)
{
    (void)state;
    struct error err;
    char base[64], line[1000];
    AUTO(buf) struct buf file = BUF_INIT;
    if (!module_open("net", "libcurl4", &err)) {
        if (getenv("TRIVET_NEED_MODULES"))
            fail_msg("%s", err.text);
        skip();
    }
    pid_t server = serve("[{\"text\":\"Grüß Gott, " KEY "!\",\"piece\":3,\"split\":1}]", base);
    ask("TRIVET_RECORD", base, "hello " KEY, line);
    assert_string_equal(line, "Grüß Gott, " KEY "!");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    read_file("0001.jsonl", &file);
    assert_null(strstr(file.p, KEY));

    ask(NULL, base, "hello " KEY, line); /* nobody is there any more */
    assert_non_null(strstr(line, "|network: "));
    ask("TRIVET_REPLAY", base, "hello " KEY, line);
    /* The key comes in several events here, so it is no literal of the stream. */
    assert_true(str_starts(str_of(line), STR("Grüß Gott, ")));
    assert_null(strstr(line, "|"));
    ask("TRIVET_REPLAY", base, "good bye", line);
    assert_non_null(strstr(line, "|bad_request: replay: the body differs from "));
    assert_non_null(strstr(line, "0001.jsonl at byte "));
    ask("TRIVET_RECORD", base, "hello", line);
    assert_non_null(strstr(line, "|exists: "));
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return ask_main(argv[1], argv[2]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, drop_dir)
    const struct CMUnitTest tests[] = {
        TEST(test_lines),       TEST(test_answer_again), TEST(test_replay_without_status),
        TEST(test_differences), TEST(test_random_ids),   TEST(test_failures_and_cancels),
        TEST(test_sign_in),     TEST(test_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
