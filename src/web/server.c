/* SPDX-License-Identifier: MIT */
/* The module trivet-web.so: the port, accepting connections, stopping. */
#include "web/impl.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/module.h"
#include "base/time.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

MODULE_SYMBOLS;

enum {
    ACCEPT_PER_ROUND = 256,
    STRANGER_MS = 250, /* in which a stranger is not closed for another one */
    REST_MS = 200,     /* before accepting again when descriptors ran out */
    PING_MS = 20000,
    COMMENT_MS = 15000,
    LEAVE_MS = 2000, /* for the last bytes of a connection */
};

/* ---- accepting ---- */

/* Written without waiting; whatever does not fit is lost with the connection. */
static void turn_away(struct web *w, int fd)
{
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                                 "Retry-After: 5\r\nConnection: close\r\n\r\n";
    w->counts.refused[WEB_OVERLOADED]++;
    (void)!send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static void rest(struct web *w, int64_t ms)
{
    watch_set(w->watch, 0);
    timer_start(w->rest, ms);
}

/* Closes the oldest connection without a token when there is one too many.  The head of a new one
 * needs a moment to come: until then further ones wait in the backlog, so that clients that return
 * all at once do not push each other out. */
static bool has_place(struct web *w)
{
    struct client *oldest = TAILQ_FIRST(&w->strangers);
    if (w->s.greet || w->counts.strangers <= LIMIT_WEB_STRANGERS)
        return true;
    int64_t age_ms = (time_mono_us() - oldest->since_us) / 1000;
    if (age_ms < STRANGER_MS) {
        rest(w, STRANGER_MS - age_ms);
        return false;
    }
    client_drop(oldest);
    return true;
}

static bool accept_one(struct web *w)
{
    struct sockaddr_storage peer = {0};
    socklen_t n = sizeof peer;
    int fd = accept4(w->fd, (struct sockaddr *)&peer, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno == EINTR || errno == ECONNABORTED;
    if (w->counts.connections >= w->s.max_connections)
        turn_away(w, fd);
    else
        client_new(w, fd, &peer);
    return true;
}

static void on_port(void *arg, int events)
{
    struct web *w = arg;
    (void)events;
    for (int i = 0; i < ACCEPT_PER_ROUND && has_place(w); i++) {
        if (accept_one(w))
            continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            rest(w, REST_MS);
        return;
    }
}

static void on_rested(void *arg)
{
    struct web *w = arg;
    if (has_place(w))
        watch_set(w->watch, WATCH_IN);
}

void web_less_strangers(struct web *w)
{
    w->counts.strangers--;
    if (w->watch)
        watch_set(w->watch, WATCH_IN);
}

/* ---- opening ---- */

static bool check_place(const struct port *p, const struct web_settings *s, struct error *err)
{
    if (p->is_loopback || (s->public_host && s->has_tokens))
        return true;
    return error_set(err, ERR_DENIED,
                     "other machines can reach %s: set `public_host` to the name under which a "
                     "reverse proxy with TLS serves trivet, and make a token with `trivet serve "
                     "token`; or listen on 127.0.0.1",
                     s->listen ? s->listen : p->name);
}

static int open_fd(const struct web_settings *s, struct port *ret, struct error *err)
{
    if (!s->fd && (!port_parse(str_of(s->listen), ret, err) || !check_place(ret, s, err)))
        return -1;
    int fd = s->fd ? s->fd : port_open(ret, err);
    if (fd < 0 && error_prefix(err, "%s", s->listen))
        return -1;
    if (fd >= 0 && port_describe(fd, ret, err) && check_place(ret, s, err))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int64_t either(int64_t ms, int64_t usual)
{
    return ms ? ms : usual;
}

static void set_defaults(struct web *w)
{
    const struct web_times *t = &w->s.times;
    w->times = (struct web_times){
        .head = either(t->head, LIMIT_WEB_HEAD_MS),
        .body = either(t->body, LIMIT_WEB_BODY_MS),
        .idle = either(t->idle, LIMIT_WEB_IDLE_MS),
        .stall = either(t->stall, LIMIT_WEB_STALL_MS),
        .ping = either(t->ping, PING_MS),
        .silence = either(t->silence, LIMIT_WEB_SILENCE_MS),
        .comment = either(t->comment, COMMENT_MS),
        .leave = either(t->leave, LEAVE_MS),
    };
    if (!w->s.body_bytes)
        w->s.body_bytes = LIMIT_WEB_BODY_BYTES;
    if (!w->s.max_connections)
        w->s.max_connections = LIMIT_WEB_CONNECTIONS;
}

static struct web *web_open(struct loop *l, const struct web_settings *s, struct error *err)
{
    struct port port;
    int fd = open_fd(s, &port, err);
    if (fd < 0)
        return NULL;
    struct web *w = xnew(struct web);
    w->watch = watch_new(l, fd, on_port, w, err);
    if (!w->watch) {
        close(fd);
        free(w);
        return NULL;
    }
    w->l = l;
    w->s = *s;
    w->fd = fd;
    w->port = port;
    w->rest = timer_new(l, on_rested, w);
    TAILQ_INIT(&w->known);
    TAILQ_INIT(&w->strangers);
    set_defaults(w);
    guard_init(&w->guard, port.number, s->public_host, s->greet);
    watch_set(w->watch, WATCH_IN);
    return w;
}

/* ---- while it runs ---- */

static const char *web_address(const struct web *w)
{
    return w->port.name;
}

static void web_counts(const struct web *w, struct web_counts *ret)
{
    *ret = w->counts;
}

typedef void client_fn(struct client *c);

/* The function may drop the connection. */
static void for_each(struct web *w, client_fn *fn)
{
    struct client_list *lists[] = {&w->known, &w->strangers};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct client *c = TAILQ_FIRST(lists[i]), *next;
        for (; c; c = next) {
            next = TAILQ_NEXT(c, link);
            fn(c);
        }
    }
}

static void recheck_one(struct client *c)
{
    bool is_open = c->state == CLIENT_STREAMING || c->state == CLIENT_WEBSOCKET;
    if (is_open && c->is_held && !judge_again(c))
        c->transport.ops->close(&c->transport, WEB_CLOSE_TOKEN, "this token is no longer valid");
}

static void web_recheck(struct web *w)
{
    for_each(w, recheck_one);
}

/* ---- the end ---- */

static void close_port(struct web *w)
{
    watch_free(take(&w->watch));
    timer_free(take(&w->rest));
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static void on_nothing_left(void *arg)
{
    struct web *w = arg;
    w->telling = NULL;
    w->on_stopped(w->stopped_arg);
}

void web_check_stopped(struct web *w)
{
    if (w->on_stopped && w->counts.connections == 0 && !w->telling)
        w->telling = loop_soon(w->l, on_nothing_left, w);
}

static void web_stop(struct web *w, loop_fn *done, void *arg)
{
    if (w->on_stopped)
        BUG("stopped twice");
    w->on_stopped = done;
    w->stopped_arg = arg;
    close_port(w);
    for_each(w, client_stop);
    web_check_stopped(w);
}

static void web_free(struct web *w)
{
    if (!w)
        return;
    close_port(w);
    for_each(w, client_drop);
    loop_take_back(w->telling);
    guard_clear(&w->guard);
    free(w);
}

const void *trivet_module(void)
{
    static const struct web_api api = {
        .open = web_open,
        .address = web_address,
        .recheck = web_recheck,
        .counts = web_counts,
        .stop = web_stop,
        .free = web_free,
    };
    return &api;
}
