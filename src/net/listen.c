/* SPDX-License-Identifier: MIT */
/* The listener.  States of a connection (struct listen_client):
 *
 *     READING  until the blank line after the head, or the size limit
 *     WRITING  the answer, made in one piece
 *     LEAVING  shut down for writing; input is discarded until the client closes, since a
 *              close with unread bytes would reset the connection and lose the answer
 */
#include "net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 16 << 10,
    MAX_VISITORS = 32,
    VISIT_MS = 10000, /* from accept to the end of the answer */
    LEAVE_MS = 1000,
    REST_MS = 200, /* before accepting again when descriptors ran out */
};

enum visit_state { VISIT_READING, VISIT_WRITING, VISIT_LEAVING };

struct listen_client {
    struct http_listener *host;
    struct listen_client *next, **link;
    enum visit_state state;
    int fd;
    struct watch *watch;
    struct timer *timer;
    struct buf in, out;
    size_t sent;
};

struct http_listener {
    struct loop *l;
    int fd, port;
    struct watch *watch;
    struct timer *rest;
    listen_fn *fn;
    void *arg;
    struct listen_client *clients;
    unsigned n_clients;
    bool is_inside; /* fn runs */
    bool is_dead;
};

static void client_free(struct listen_client *v)
{
    *v->link = v->next;
    if (v->next)
        v->next->link = v->link;
    v->host->n_clients--;
    watch_free(v->watch);
    timer_free(v->timer);
    close(v->fd);
    buf_clear(&v->in);
    buf_clear(&v->out);
    free(v);
}

/* ---- the answer ---- */

static const char *status_words(int status)
{
    static const struct {
        int status;
        const char *words;
    } rows[] = {
        {200, "OK"},
        {302, "Found"},
        {400, "Bad Request"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {431, "Request Header Fields Too Large"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].status == status)
            return rows[i].words;
    return "Other";
}

static void answer_put(struct buf *out, struct listen_answer *a, bool has_body)
{
    if (a->body.n == 0 && a->status >= 400)
        buf_addf(&a->body, "%s\n", status_words(a->status));
    buf_addf(out, "HTTP/1.1 %d %s\r\n", a->status, status_words(a->status));
    if (a->location.n)
        buf_addf(out, "Location: %s\r\n", a->location.p);
    buf_addf(out,
             "Content-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
             "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
             a->content_type, a->body.n);
    if (has_body)
        buf_add(out, buf_str(&a->body));
}

static void leave(struct listen_client *v)
{
    v->state = VISIT_LEAVING;
    shutdown(v->fd, SHUT_WR);
    watch_set(v->watch, WATCH_IN);
    timer_start(v->timer, LEAVE_MS);
}

static void client_write(struct listen_client *v)
{
    while (v->sent < v->out.n) {
        ssize_t n = send(v->fd, v->out.p + v->sent, v->out.n - v->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            watch_set(v->watch, WATCH_OUT);
            return;
        }
        if (n < 0) {
            client_free(v);
            return;
        }
        v->sent += (size_t)n;
    }
    leave(v);
}

/* ---- the request ---- */

struct parsed_request {
    struct str method, path, query;
};

static bool request_read(struct str head, struct parsed_request *ret)
{
    struct str line, target, version;
    str_line(&head, &line);
    line = str_trim(line);
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.p[i] < ' ' || line.p[i] == 127)
            return false;
    version = str_split(str_split(line, ' ', &ret->method), ' ', &target);
    if (!str_starts(version, STR("HTTP/1.")) || !str_starts(target, STR("/")))
        return false;
    struct str query = str_split(target, '?', &ret->path);
    ret->query = query.p ? query : STR("");
    return true;
}

/* Calls the callback.  False when the listener was freed inside it. */
static bool ask(struct listen_client *v, const struct parsed_request *rq, struct listen_answer *a)
{
    struct http_listener *s = v->host;
    s->is_inside = true;
    s->fn(s->arg, rq->path, rq->query, a);
    s->is_inside = false;
    if (!s->is_dead)
        return true;
    s->is_dead = false;
    listener_free(s);
    return false;
}

static bool is_read_method(struct str method)
{
    return str_is(method, "GET") || str_is(method, "HEAD");
}

static void client_answer(struct listen_client *v, int refusal)
{
    struct listen_answer a = {.status = 404, .content_type = "text/plain; charset=utf-8"};
    struct parsed_request rq = {0};
    bool is_there = true;
    if (refusal)
        a.status = refusal;
    else if (!request_read(buf_str(&v->in), &rq))
        a.status = 400;
    else if (!is_read_method(rq.method))
        a.status = 405;
    else
        is_there = ask(v, &rq, &a);
    if (is_there) {
        answer_put(&v->out, &a, !str_is(rq.method, "HEAD"));
        v->state = VISIT_WRITING;
        watch_set(v->watch, 0);
        client_write(v);
    }
    buf_clear(&a.body);
    buf_clear(&a.location);
}

static bool has_whole_head(struct str in)
{
    return str_find(in, STR("\r\n\r\n")) != SIZE_MAX || str_find(in, STR("\n\n")) != SIZE_MAX;
}

static void client_take(struct listen_client *v, struct str bytes)
{
    if (v->state != VISIT_READING)
        return;
    if (!buf_add(&v->in, bytes))
        client_answer(v, 431);
    else if (has_whole_head(buf_str(&v->in)))
        client_answer(v, 0);
}

static void on_client(void *arg, int events)
{
    struct listen_client *v = arg;
    char bytes[4096];
    if (v->state == VISIT_WRITING) {
        if (events & WATCH_OUT)
            client_write(v);
        return;
    }
    ssize_t n = recv(v->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n <= 0)
        client_free(v);
    else
        client_take(v, str_n(bytes, (size_t)n));
}

static void on_late(void *arg)
{
    client_free(arg);
}

/* ---- the port ---- */

static void client_new(struct http_listener *s, int fd)
{
    struct error ignored;
    struct listen_client *v = xnew(struct listen_client);
    v->host = s;
    v->fd = fd;
    v->in = BUF_MAX(HEAD_BYTES);
    v->watch = watch_new(s->l, fd, on_client, v, &ignored);
    if (!v->watch || s->n_clients >= MAX_VISITORS) {
        watch_free(v->watch);
        close(fd);
        free(v);
        return;
    }
    v->timer = timer_new(s->l, on_late, v);
    timer_start(v->timer, VISIT_MS);
    watch_set(v->watch, WATCH_IN);
    v->link = &s->clients;
    v->next = s->clients;
    if (v->next)
        v->next->link = &v->next;
    s->clients = v;
    s->n_clients++;
}

static void on_port(void *arg, int events)
{
    struct http_listener *s = arg;
    (void)events;
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        client_new(s, fd); /* further connections are accepted in the next round */
        return;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        watch_set(s->watch, 0);
        timer_start(s->rest, REST_MS);
    }
}

static void on_rested(void *arg)
{
    struct http_listener *s = arg;
    watch_set(s->watch, WATCH_IN);
}

static int open_port(int port, int *ret_port, struct error *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t n = sizeof at;
    int one = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        error_errno(err, errno, "cannot open a socket");
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 16) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
        *ret_port = ntohs(at.sin_port);
        return fd;
    }
    if (errno == EADDRINUSE)
        error_set(err, ERR_BUSY, "port %d of 127.0.0.1 is in use", port);
    else
        error_errno(err, errno, "cannot listen on port %d of 127.0.0.1", port);
    close(fd);
    return -1;
}

struct http_listener *listener_new(struct loop *l, int port, listen_fn *fn, void *arg,
                                   struct error *err)
{
    if (port < 0 || port > 65535) {
        error_set(err, ERR_INVALID, "%d is no port", port);
        return NULL;
    }
    int real_port, fd = open_port(port, &real_port, err);
    if (fd < 0)
        return NULL;
    struct http_listener *s = xnew(struct http_listener);
    *s = (struct http_listener){.l = l, .fd = fd, .port = real_port, .fn = fn, .arg = arg};
    s->watch = watch_new(l, fd, on_port, s, err);
    if (!s->watch) {
        close(fd);
        free(s);
        return NULL;
    }
    s->rest = timer_new(l, on_rested, s);
    watch_set(s->watch, WATCH_IN);
    return s;
}

void listener_hand_over(struct http_listener *s, listen_fn *fn, void *arg)
{
    s->fn = fn;
    s->arg = arg;
}

int listener_port(const struct http_listener *s)
{
    return s->port;
}

void listener_free(struct http_listener *s)
{
    if (!s || s->is_dead)
        return;
    if (s->is_inside) { /* still used by the running callback */
        s->is_dead = true;
        return;
    }
    while (s->clients)
        client_free(s->clients);
    watch_free(s->watch);
    timer_free(s->rest);
    close(s->fd);
    free(s);
}
