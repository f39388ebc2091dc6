/* SPDX-License-Identifier: MIT */
/* A NATS server on the loop of the test, for what a real one does rarely: it answers as the test
 * says, in pieces, wrongly, late or not at all.
 *
 * It understands CONNECT, PING, SUB, UNSUB, PUB and HPUB.  on_pub gets each message and may answer
 * with fake_reply, fake_send or fake_cut.
 */
#ifndef TRIVET_TESTS_NATS_SCENE_H
#define TRIVET_TESTS_NATS_SCENE_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/nats.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define FAKE_INFO                                                                                  \
    "INFO {\"server_id\":\"F\",\"version\":\"2.15.1\",\"headers\":true,\"jetstream\":true,"        \
    "\"max_payload\":100000}\r\n"

struct fake;
typedef void fake_pub_fn(struct fake *f, struct str subject, struct str reply, struct str bytes);

struct fake {
    struct loop *loop;
    int port, listener, fd; /* fd: of the newest connection; -1: none */
    struct watch *listen_watch, *watch;
    struct buf in;
    struct buf login; /* the JSON of the last CONNECT */
    struct buf subs;  /* the lines of SUB and UNSUB since the connection */
    const char *info; /* sent to a new connection */
    bool is_mute;     /* does not answer PING */
    unsigned n_connections, n_pubs;
    size_t piece; /* bytes per write; 0: all at once */
    fake_pub_fn *on_pub;
    void *arg;
};

static inline void fake_cut(struct fake *f)
{
    watch_free(f->watch);
    f->watch = NULL;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    buf_reset(&f->in);
}

static inline void fake_send(struct fake *f, struct str bytes)
{
    while (bytes.n && f->fd >= 0) {
        struct str part = f->piece ? str_cut(bytes, f->piece) : bytes;
        if (send(f->fd, part.p, part.n, MSG_NOSIGNAL) != (ssize_t)part.n)
            return;
        bytes = str_from(bytes, part.n);
    }
}

/* A message to the subject with the subscription of the requests; head may be STR_NONE. */
static inline void fake_reply(struct fake *f, struct str subject, struct str head, struct str body)
{
    AUTO(buf) struct buf out = BUF_INIT;
    if (head.p)
        buf_addf(&out, "HMSG %.*s 1 %zu %zu\r\n", STR_FMT(subject), head.n, head.n + body.n);
    else
        buf_addf(&out, "MSG %.*s 1 %zu\r\n", STR_FMT(subject), body.n);
    buf_add(&out, head);
    buf_add(&out, body);
    buf_addz(&out, "\r\n");
    fake_send(f, buf_str(&out));
}

/* One line of the client and, for a message, its bytes; false when more must arrive. */
static inline bool fake_take(struct fake *f)
{
    struct str all = buf_str(&f->in), words[5] = {0}, rest;
    size_t end = str_chr(all, '\n'), n = 0, size = 0;
    if (end == SIZE_MAX)
        return false;
    AUTO_FREE char *line = str_dup(str_trim(str_cut(all, end)));
    for (rest = str_of(line); rest.p && n < ARRAY_LEN(words); n++)
        rest = str_split(rest, ' ', &words[n]);
    if (str_is(words[0], "PUB") || str_is(words[0], "HPUB")) {
        int64_t told;
        assert_true(str_int(words[n - 1], &told));
        size = (size_t)told;
        if (all.n < end + 1 + size + 2)
            return false;
        AUTO_FREE char *bytes = str_dup(str_n(all.p + end + 1, size));
        bool has_reply = n == (str_is(words[0], "PUB") ? 4 : 5);
        buf_drop(&f->in, end + 1 + size + 2);
        f->n_pubs++;
        if (f->on_pub)
            f->on_pub(f, words[1], has_reply ? words[2] : STR_NONE, str_n(bytes, size));
        return f->fd >= 0;
    }
    buf_drop(&f->in, end + 1);
    if (str_is(words[0], "CONNECT")) {
        buf_reset(&f->login);
        buf_addz(&f->login, line + strlen("CONNECT "));
    } else if (str_is(words[0], "PING") && !f->is_mute) {
        fake_send(f, STR("PONG\r\n"));
    } else if (str_is(words[0], "SUB") || str_is(words[0], "UNSUB")) {
        buf_addf(&f->subs, "%s;", line);
    }
    return true;
}

static inline void fake_on_bytes(void *arg, int events)
{
    struct fake *f = arg;
    char bytes[4096];
    (void)events;
    ssize_t n = recv(f->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        fake_cut(f);
        return;
    }
    buf_add(&f->in, str_n(bytes, (size_t)n));
    while (f->fd >= 0 && fake_take(f))
        ;
}

static inline void fake_on_connection(void *arg, int events)
{
    struct fake *f = arg;
    struct error err;
    (void)events;
    int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    fake_cut(f);
    f->fd = fd;
    f->n_connections++;
    buf_reset(&f->subs);
    f->watch = watch_new(f->loop, fd, fake_on_bytes, f, &err);
    assert_non_null(f->watch);
    watch_set(f->watch, WATCH_IN);
    if (f->info)
        fake_send(f, str_of(f->info));
}

static inline void fake_open(struct fake *f, struct loop *l)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    struct error err;
    *f = (struct fake){.loop = l, .fd = -1, .info = FAKE_INFO};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(f->listener, 16), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&at, &n), 0);
    f->port = ntohs(at.sin_port);
    f->listen_watch = watch_new(l, f->listener, fake_on_connection, f, &err);
    assert_non_null(f->listen_watch);
    watch_set(f->listen_watch, WATCH_IN);
}

static inline void fake_close(struct fake *f)
{
    fake_cut(f);
    watch_free(f->listen_watch);
    close(f->listener);
    buf_clear(&f->in);
    buf_clear(&f->login);
    buf_clear(&f->subs);
}

/* ---- the client beside it ---- */

struct scene {
    struct loop *l;
    struct fake f;
    struct nats *n;
    unsigned n_ready, n_lost; /* calls of on_state */
    struct error why;         /* of the last loss */
};

static inline void scene_on_state(void *arg, const struct error *err)
{
    struct scene *s = arg;
    if (err)
        s->why = *err;
    *(err ? &s->n_lost : &s->n_ready) += 1;
}

static inline void scene_open(struct scene *s)
{
    *s = (struct scene){.l = loop_new()};
    fake_open(&s->f, s->l);
}

static inline void scene_connect(struct scene *s, const char *user, struct nats_settings settings)
{
    char url[200];
    struct error err;
    snprintf(url, sizeof url, "%s127.0.0.1:%d", user, s->f.port);
    settings.urls = str_of(url);
    s->n = nats_new(s->l, &settings, scene_on_state, s, &err);
    assert_non_null(s->n);
}

static inline void scene_close(struct scene *s)
{
    nats_free(s->n);
    fake_close(&s->f);
    loop_step(s->l, false);
    loop_free(s->l);
}

/* Runs the loop until the condition holds, at most twenty seconds: the machine may be busy. */
#define UNTIL(s, condition)                                                                        \
    do {                                                                                           \
        struct timer *tick_ = timer_new((s)->l, scene_tick, NULL);                                 \
        int64_t end_ = time_mono_us() + 20000000;                                                  \
        while (!(condition) && time_mono_us() < end_) {                                            \
            timer_start(tick_, 5);                                                                 \
            loop_step((s)->l, true);                                                               \
        }                                                                                          \
        timer_free(tick_);                                                                         \
        assert_true(condition);                                                                    \
    } while (0)

static inline void scene_tick(void *arg)
{
    (void)arg;
}

#endif
