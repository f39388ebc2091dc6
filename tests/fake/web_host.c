/* SPDX-License-Identifier: MIT */
/* The HTTP server with a small handler, for tests/e2e/web_*.py.
 *
 *     web-host [NAME=MS...]     head body idle stall ping silence comment leave strangers
 *
 * Listens on 127.0.0.1 and on the Unix socket web.sock of the working directory, and prints
 * {"port":..,"admin":TOKEN,"control":TOKEN,"watch":TOKEN}.  Ends by POST /stop or SIGTERM, in
 * order.
 *
 *     GET /healthz            open
 *     GET, POST... /echo      the request as JSON
 *     GET /big?n=N            N bytes
 *     GET /slow?ms=N          answers after N ms
 *     GET /none               is not answered
 *     GET /counts             the counters of the server, and what a paused producer saw
 *     GET /events?n=N&bytes=B&more=1    N events of B bytes, as fast as the client reads; then
 * ends, or with `more` stays open GET /v1/ws              echoes messages; "close CODE TEXT",
 * "flood N BYTES", "hold MS", "leave" POST /code              a login code; POST /rotate: another
 * text for this token; POST /revoke: this token ends
 */
#include "base/limits.h"
#include "base/mem.h"
#include "loop/fiber.h"
#include "web/web.h"
#include "wire/conn.h"

#include "base/time.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct host {
    struct loop *l;
    const struct web_api *api;
    struct web *web, *local;
    struct token_list tokens;
    struct codes *codes;
    unsigned n_conns, n_full, n_eof, n_broken, n_to_stop;
};

/* ---- connections on transports ---- */

struct line { /* a WebSocket or an event stream */
    struct host *host;
    struct conn *conn;
    struct conn_ops ops;
    int64_t n_left, bytes, n_sent;
    bool is_events, stays;
    struct timer *holding;
};

static void line_free(struct line *n)
{
    n->host->n_conns--;
    timer_free(n->holding);
    conn_free(n->conn);
    free(n);
}

static void produce(struct line *n)
{
    AUTO(buf) struct buf text = BUF_INIT;
    while (n->n_left > 0 && !conn_is_full(n->conn)) {
        AUTO(buf) struct buf event = BUF_INIT;
        char id[24];
        buf_reset(&text);
        snprintf(id, sizeof id, "%lld", (long long)++n->n_sent);
        buf_addf(&text, "%s:", id);
        while ((int64_t)text.n < n->bytes)
            buf_addc(&text, 'x');
        n->n_left--;
        if (!n->is_events) {
            conn_send(n->conn, buf_str(&text));
            continue;
        }
        web_event_put(&event, id, NULL, buf_str(&text));
        conn_give(n->conn, &event, NULL);
    }
    if (n->n_left == 0 && n->is_events && !n->stays)
        conn_close(n->conn, WEB_CLOSE_DONE, "");
}

static void on_held(void *arg)
{
    struct line *n = arg;
    conn_hold(n->conn, false);
}

static void on_message(void *arg, struct str text)
{
    struct line *n = arg;
    int code, at = 0;
    long long count, bytes, ms;
    AUTO_FREE char *z = str_dup(text);
    if (sscanf(z, "close %d %n", &code, &at) == 1 && at) {
        conn_close(n->conn, code, z + at);
    } else if (sscanf(z, "flood %lld %lld", &count, &bytes) == 2) {
        n->n_left = count;
        n->bytes = bytes;
        produce(n);
    } else if (sscanf(z, "hold %lld", &ms) == 1) {
        conn_hold(n->conn, true);
        timer_start(n->holding, ms);
    } else if (strcmp(z, "leave") == 0) {
        conn_send(n->conn, STR("good bye"));
        line_free(n);
    } else {
        conn_send(n->conn, text);
    }
}

static void on_full(void *arg, bool is_full)
{
    struct line *n = arg;
    n->host->n_full += is_full;
    if (!is_full)
        produce(n);
}

static void on_eof(void *arg)
{
    struct line *n = arg;
    n->host->n_eof++;
    line_free(n);
}

static void on_broken(void *arg)
{
    struct line *n = arg;
    n->host->n_broken++;
    line_free(n);
}

static void line_begin(struct host *h, struct transport *t, bool is_events, int64_t n_left,
                       int64_t bytes, bool stays)
{
    struct line *n = t ? xnew(struct line) : NULL;
    if (!n)
        return; /* a HEAD */
    n->host = h;
    n->is_events = is_events;
    n->n_left = n_left;
    n->bytes = bytes;
    n->stays = stays;
    n->ops = (struct conn_ops){.limit = 100000,
                               .on_message = on_message,
                               .on_full = on_full,
                               .on_eof = on_eof,
                               .on_broken = on_broken};
    n->holding = timer_new(h->l, on_held, n);
    n->conn = conn_over(h->l, t, &n->ops, n);
    h->n_conns++;
    produce(n);
}

/* ---- requests ---- */

static int64_t number(struct web_request *rq, const char *name)
{
    int64_t value = 0;
    str_int(web_query(rq, name), &value);
    return value;
}

static void echo(struct web_request *rq)
{
    AUTO(buf) struct buf body = BUF_INIT;
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kstr(&w, "method", rq->method);
    jw_kstr(&w, "path", rq->path);
    jw_kstr(&w, "query", rq->query);
    jw_kstr(&w, "body", rq->body);
    jw_kz(&w, "role", web_role_names[rq->who.role]);
    jw_kz(&w, "id", rq->who.id);
    jw_kz(&w, "peer", rq->peer);
    jw_kbool(&w, "known", rq->is_known);
    jw_obj_end(&w);
    web_reply(rq, 200, NULL, &body);
}

static void counts(struct host *h, struct web_request *rq)
{
    AUTO(buf) struct buf body = BUF_INIT;
    struct jw w = JW(&body);
    struct web_counts c;
    h->api->counts(h->web, &c);
    jw_obj(&w);
    jw_kint(&w, "connections", c.connections);
    jw_kint(&w, "websockets", c.websockets);
    jw_kint(&w, "streams", c.streams);
    jw_kint(&w, "strangers", c.strangers);
    jw_kint(&w, "accepted", (int64_t)c.accepted);
    jw_kint(&w, "requests", (int64_t)c.requests);
    for (int i = 0; i < WEB_N_REASONS; i++)
        jw_kint(&w, web_reason_names[i], (int64_t)c.refused[i]);
    jw_kint(&w, "conns", h->n_conns);
    jw_kint(&w, "full", h->n_full);
    jw_kint(&w, "eof", h->n_eof);
    jw_kint(&w, "broken", h->n_broken);
    jw_obj_end(&w);
    web_reply(rq, 200, NULL, &body);
}

static void big(struct web_request *rq)
{
    AUTO(buf) struct buf body = BUF_INIT;
    size_t n = (size_t)number(rq, "n");
    memset(buf_space(&body, n), 'b', n);
    buf_added(&body, n);
    web_reply(rq, 200, "text/plain", &body);
}

static void on_stopped(void *arg)
{
    struct host *h = arg;
    if (--h->n_to_stop == 0)
        loop_stop(h->l);
}

static void stop(void *arg)
{
    struct host *h = arg;
    if (h->n_to_stop)
        return;
    h->n_to_stop = 2;
    h->api->stop(h->web, on_stopped, h);
    h->api->stop(h->local, on_stopped, h);
}

static void reply_text(struct web_request *rq, const char *text)
{
    AUTO(buf) struct buf body = BUF_INIT;
    struct jw w = JW(&body);
    jw_str(&w, str_of(text));
    web_reply(rq, 200, NULL, &body);
}

static void post(struct host *h, struct web_request *rq)
{
    struct error err;
    char text[TOKEN_LEN + 1] = "done";
    if (str_is(rq->path, "/echo")) {
        echo(rq);
        return;
    }
    if (str_is(rq->path, "/code")) {
        codes_add(h->codes, &rq->who, text);
    } else if (str_is(rq->path, "/rotate")) {
        token_rotate(&h->tokens, str_of(rq->who.id), text, &err);
        h->api->recheck(h->web);
    } else if (str_is(rq->path, "/revoke")) {
        token_remove(&h->tokens, str_of(rq->who.id), &err);
    } else if (str_is(rq->path, "/stop")) {
        loop_later(h->l, stop, h);
    } else {
        web_problem(rq, 404, "not_found", "there is nothing");
        return;
    }
    reply_text(rq, text);
}

static void get_fiber(struct host *h, struct web_request *rq)
{
    struct error err;
    if (rq->wants_upgrade && str_is(rq->path, "/v1/ws"))
        line_begin(h, web_upgrade(rq), false, 0, 0, true);
    else if (str_is(rq->path, "/events"))
        line_begin(h, web_events(rq), true, number(rq, "n"), number(rq, "bytes"),
                   number(rq, "more"));
    else if (str_is(rq->path, "/slow") && sleep_await(h->l, number(rq, "ms"), &err))
        reply_text(rq, "slow");
    else if (str_is(rq->path, "/big"))
        big(rq);
    else if (str_is(rq->path, "/counts"))
        counts(h, rq);
    else if (str_is(rq->path, "/healthz"))
        reply_text(rq, "ok");
    else if (str_is(rq->path, "/echo"))
        echo(rq);
    else if (!str_is(rq->path, "/none"))
        web_problem(rq, 404, "not_found", "there is nothing");
}

static void on_request(void *arg, struct web_request *rq)
{
    if (str_is(rq->method, "GET"))
        get_fiber(arg, rq);
    else
        post(arg, rq);
}

static bool identify(void *arg, const unsigned char hash[SHA256_LEN], struct web_identity *ret)
{
    return token_identify(&((struct host *)arg)->tokens, hash, time_now_ms(), ret);
}

static bool login_await(void *arg, struct str code, char token[TOKEN_LEN + 1],
                        struct web_identity *ret, struct error *err)
{
    struct host *h = arg;
    if (!codes_take(h->codes, code, ret))
        return error_set(err, ERR_AUTH, "no such code");
    struct token_wish wish = {.role = ret->role, .expires_ms = time_now_ms() + 3600000};
    if (!yield_await(h->l, err) || !token_add(&h->tokens, &wish, token, err))
        return false;
    *ret = h->tokens.items[h->tokens.n - 1].who;
    return true;
}

static bool greet(void *arg, int fd, struct web_identity *ret)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    (void)arg;
    *ret = (struct web_identity){.role = WEB_ADMIN};
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

/* ---- start ---- */

static int listen_unix(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "web.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(at.sun_path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 100) != 0)
        die("web.sock: %s", strerror(errno));
    return fd;
}

static bool set_time(struct web_times *t, const char *name, int64_t ms)
{
    const struct {
        const char *name;
        int64_t *place;
    } all[] = {{"head", &t->head},   {"body", &t->body},      {"idle", &t->idle},
               {"stall", &t->stall}, {"ping", &t->ping},      {"silence", &t->silence},
               {"leave", &t->leave}, {"comment", &t->comment}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].name, name) == 0) {
            *all[i].place = ms;
            return true;
        }
    return false;
}

static void read_options(int argc, char **argv, struct web_settings *s)
{
    for (int i = 1; i < argc; i++) {
        char name[20];
        long long ms;
        if (sscanf(argv[i], "%19[a-z]=%lld", name, &ms) != 2)
            die("%s?", argv[i]);
        if (strcmp(name, "connections") == 0)
            s->max_connections = (unsigned)ms;
        else if (!set_time(&s->times, name, ms))
            die("%s?", argv[i]);
    }
}

static void open_servers(struct host *h, int argc, char **argv)
{
    static const char *const open_paths[] = {"/healthz", NULL};
    struct error err;
    struct web_settings s = {.listen = "127.0.0.1:0",
                             .open_paths = open_paths,
                             .has_page = true,
                             .body_bytes = 1 << 20,
                             .arg = h,
                             .on_request = on_request,
                             .identify = identify,
                             .login_await = login_await};
    read_options(argc, argv, &s);
    h->api = web_open_module(&err);
    if (!h->api || !(h->web = h->api->open(h->l, &s, &err)))
        die("%s", err.text);
    s.fd = listen_unix();
    s.greet = greet;
    if (!(h->local = h->api->open(h->l, &s, &err)))
        die("%s", err.text);
}

static void print_start(struct host *h)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct jw w = JW(&line);
    struct error err;
    jw_obj(&w);
    jw_kstr(&w, "address", str_of(h->api->address(h->web)));
    for (int role = WEB_WATCH; role <= WEB_ADMIN; role++) {
        char text[TOKEN_LEN + 1];
        token_add(&h->tokens, &(struct token_wish){.role = (enum web_role)role}, text, &err);
        jw_kz(&w, web_role_names[role], text);
    }
    jw_obj_end(&w);
    puts(line.p);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct host h = {.l = loop_new(), .codes = codes_new()};
    signal(SIGPIPE, SIG_IGN);
    open_servers(&h, argc, argv);
    print_start(&h);
    loop_on_signal(h.l, SIGTERM, stop, &h);
    loop_run(h.l);
    fiber_end_all(h.l);
    h.api->free(h.web);
    h.api->free(h.local);
    codes_free(h.codes);
    token_list_clear(&h.tokens);
    loop_free(h.l);
    fprintf(stderr, "%u connections left\n", h.n_conns);
    return h.n_conns != 0;
}
