/* SPDX-License-Identifier: MIT */
/* The proxy.  States of a connection:
 *
 *     HEAD     until the blank line after the head, or the size limit
 *     LOOKUP   the thread pool resolves the name and checks the addresses; or waiting for that
 *     CONNECT  tries one address after the other
 *     RELAY    bytes in both directions until both have ended
 *     ANSWER   a refusal is written
 *     LEAVE    shut down for writing; input is discarded, since a close with unread bytes
 *              would reset the connection and lose the answer
 *
 * In RELAY each direction is a flow: it reads when its buffer is empty, writes otherwise, and
 * forwards the end of its source as a half-close.
 */
#include "net/proxy.h"

#include "base/buf.h"
#include "base/limits.h"
#include "net/proxy_head.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define SETTING "TRIVET_SANDBOX_NET"

enum {
    HEAD_BYTES = 16 << 10,
    FLOW_BYTES = 32 << 10,
    MAX_ADDRESSES = 8,
    MAX_LOOKUPS = 2, /* in parallel: the pool has other work */
    HEAD_MS = 10000,
    CONNECT_MS = 30000, /* lookup included */
    LEAVE_MS = 1000,
    REST_MS = 200, /* before accepting again when descriptors ran out */
};

enum conn_state { CONN_HEAD, CONN_LOOKUP, CONN_CONNECT, CONN_RELAY, CONN_ANSWER, CONN_LEAVE };

struct flow {
    char *bytes; /* FLOW_BYTES, allocated in RELAY */
    size_t at, n;
    uint64_t left; /* bytes still to forward; the rest of the source is discarded */
    bool is_ended; /* end of the source was read */
    bool is_shut;  /* and was forwarded to the sink */
};

struct conn {
    struct proxy *proxy;
    struct conn *next, **link;
    enum conn_state state;
    int client, server; /* descriptors; server -1: none yet */
    struct watch *client_watch, *server_watch;
    struct timer *timer;
    struct buf in;  /* the head and bytes received with it */
    struct buf out; /* of ANSWER */
    size_t sent;
    struct proxy_head head;
    struct lookup *lookup; /* NULL: waiting, or done */
    struct sockaddr_storage addresses[MAX_ADDRESSES];
    size_t n_addresses, tried;
    struct flow up, down;
};

struct proxy {
    struct loop *l;
    struct lookup *lookups;
    int fd;
    const struct host_list *allowed;
    struct watch *watch;
    struct timer *rest;
    struct conn *conns;
    unsigned n_conns, n_lookups;
    int64_t head_ms, connect_ms, idle_ms;
};

/* Freed when the pool has finished it, perhaps after its connection and the proxy. */
struct lookup {
    struct proxy *proxy; /* NULL: gone */
    struct conn *conn;   /* NULL: gone */
    struct lookup *next, **link;
    struct work *work;
    struct host_list allowed; /* a copy: the pool reads it */
    struct host host;
    struct sockaddr_storage addresses[MAX_ADDRESSES];
    size_t n_addresses;
    bool was_refused; /* an address was refused */
    int failure;      /* of getaddrinfo */
};

static void accept_more(struct proxy *p);
static void start_waiting(struct proxy *p);
static void on_server(void *arg, int events);

static void lookup_forget(struct conn *c)
{
    if (!c->lookup)
        return;
    c->lookup->conn = NULL;
    work_drop(c->lookup->work);
    c->lookup = NULL;
}

static void conn_free(struct conn *c)
{
    struct proxy *p = c->proxy;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    lookup_forget(c);
    watch_free(c->client_watch);
    watch_free(c->server_watch);
    timer_free(c->timer);
    close(c->client);
    if (c->server >= 0)
        close(c->server);
    buf_clear(&c->in);
    buf_clear(&c->out);
    proxy_head_clear(&c->head);
    free(c->up.bytes);
    free(c->down.bytes);
    free(c);
    p->n_conns--;
    accept_more(p);
}

static bool is_later(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* ---- refusals ---- */

static const char *status_words(int status)
{
    static const struct {
        int status;
        const char *words;
    } rows[] = {
        {400, "Bad Request"},
        {403, "Forbidden"},
        {408, "Request Timeout"},
        {411, "Length Required"},
        {431, "Request Header Fields Too Large"},
        {502, "Bad Gateway"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].status == status)
            return rows[i].words;
    return "Error";
}

static void conn_leave(struct conn *c)
{
    c->state = CONN_LEAVE;
    shutdown(c->client, SHUT_WR);
    watch_set(c->client_watch, WATCH_IN);
    timer_start(c->timer, LEAVE_MS);
}

static void conn_write(struct conn *c)
{
    while (c->sent < c->out.n) {
        ssize_t n = send(c->client, c->out.p + c->sent, c->out.n - c->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && is_later()) {
            watch_set(c->client_watch, WATCH_OUT);
            return;
        }
        if (n < 0) {
            conn_free(c);
            return;
        }
        c->sent += (size_t)n;
    }
    conn_leave(c);
}

static void conn_refuse(struct conn *c, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void conn_refuse(struct conn *c, int status, const char *format, ...)
{
    AUTO(buf) struct buf body = BUF_INIT;
    va_list list;
    va_start(list, format);
    buf_addz(&body, "trivet: ");
    buf_addv(&body, format, list);
    buf_addc(&body, '\n');
    va_end(list);
    buf_addf(&c->out,
             "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
             "Content-Length: %zu\r\nConnection: close\r\n\r\n",
             status, status_words(status), body.n);
    buf_add(&c->out, buf_str(&body));
    c->state = CONN_ANSWER;
    conn_write(c);
}

/* ---- relay ---- */

static void server_close(struct conn *c)
{
    watch_free(c->server_watch);
    c->server_watch = NULL;
    if (c->server >= 0)
        close(c->server);
    c->server = -1;
}

static void watch_flows(struct conn *c)
{
    int client = 0, server = 0;
    if (!c->up.n && !c->up.is_ended)
        client |= WATCH_IN;
    if (c->down.n)
        client |= WATCH_OUT;
    if (!c->down.n && !c->down.is_ended)
        server |= WATCH_IN;
    if (c->up.n)
        server |= WATCH_OUT;
    watch_set(c->client_watch, client);
    watch_set(c->server_watch, server);
}

/* Each step: false when the connection is broken; *moved is set when bytes were transferred. */
static bool flow_write(struct flow *f, int to, bool *moved)
{
    while (f->n) {
        ssize_t n = send(to, f->bytes + f->at, f->n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return is_later();
        f->at += (size_t)n;
        f->n -= (size_t)n;
        *moved = true;
    }
    f->at = 0;
    if (f->is_ended && !f->is_shut) {
        shutdown(to, SHUT_WR);
        f->is_shut = true;
    }
    return true;
}

static bool flow_read(struct flow *f, int from, bool *moved)
{
    if (f->n || f->is_ended)
        return true;
    ssize_t n = recv(from, f->bytes, FLOW_BYTES, MSG_DONTWAIT);
    if (n < 0)
        return is_later();
    f->is_ended = n == 0;
    f->n = (uint64_t)n < f->left ? (size_t)n : (size_t)f->left;
    f->left -= f->n;
    *moved |= f->n > 0;
    return true;
}

static void conn_move(struct conn *c)
{
    bool moved = false;
    bool ok = flow_read(&c->up, c->client, &moved) && flow_read(&c->down, c->server, &moved) &&
              flow_write(&c->up, c->server, &moved) && flow_write(&c->down, c->client, &moved);
    if (!ok || (c->up.is_shut && c->down.is_shut)) {
        conn_free(c);
        return;
    }
    if (c->down.is_shut && !c->head.is_connect) { /* the only answer was forwarded */
        server_close(c);
        conn_leave(c);
        return;
    }
    if (moved)
        timer_start(c->timer, c->proxy->idle_ms);
    watch_flows(c);
}

static void flow_put(struct flow *f, struct str bytes)
{
    if (bytes.n > FLOW_BYTES - f->n)
        BUG("a head of %zu bytes became too long", bytes.n);
    memcpy(f->bytes + f->n, bytes.p, bytes.n);
    f->n += bytes.n;
}

/* First forwards bytes received after the head that belong to the request. */
static void conn_relay(struct conn *c)
{
    size_t head = proxy_head_end(buf_str(&c->in));
    struct str more = str_from(buf_str(&c->in), head);
    c->state = CONN_RELAY;
    c->up = (struct flow){.bytes = xmalloc(FLOW_BYTES), .left = UINT64_MAX};
    c->down = (struct flow){.bytes = xmalloc(FLOW_BYTES), .left = UINT64_MAX};
    if (c->head.is_connect)
        flow_put(&c->down, STR("HTTP/1.1 200 Connection established\r\n\r\n"));
    else {
        c->up.left = c->head.body_bytes;
        flow_put(&c->up, buf_str(&c->head.head)); /* slightly longer than the received head */
        more = str_cut(more, c->up.left < more.n ? (size_t)c->up.left : more.n);
    }
    flow_put(&c->up, more);
    if (!c->head.is_connect)
        c->up.left -= more.n;
    buf_clear(&c->in);
    timer_start(c->timer, c->proxy->idle_ms);
    conn_move(c);
}

/* ---- connect ---- */

static socklen_t set_port(struct sockaddr_storage *address, unsigned port)
{
    if (address->ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        v4.sin_port = htons((uint16_t)port);
        memcpy(address, &v4, sizeof v4);
        return sizeof v4;
    }
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    v6.sin6_port = htons((uint16_t)port);
    memcpy(address, &v6, sizeof v6);
    return sizeof v6;
}

/* Starts with the next address; false when this one fails at once. */
static bool try_address(struct conn *c)
{
    struct sockaddr_storage *to = &c->addresses[c->tried++];
    struct error ignored;
    int one = 1;
    socklen_t n = set_port(to, c->head.host.port);
    c->server = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->server < 0)
        return false;
    setsockopt(c->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(c->server, (struct sockaddr *)to, n) != 0 && errno != EINPROGRESS)
        return false;
    c->server_watch = watch_new(c->proxy->l, c->server, on_server, c, &ignored);
    if (!c->server_watch)
        return false;
    watch_set(c->server_watch, WATCH_OUT);
    return true;
}

static void conn_connect(struct conn *c)
{
    c->state = CONN_CONNECT;
    while (c->tried < c->n_addresses) {
        if (try_address(c))
            return;
        server_close(c);
    }
    conn_refuse(c, 502, "no connection to %s, port %u", c->head.host.name, c->head.host.port);
}

static void on_server(void *arg, int events)
{
    struct conn *c = arg;
    int failure = 0;
    socklen_t n = sizeof failure;
    (void)events;
    if (c->state == CONN_RELAY) {
        conn_move(c);
        return;
    }
    if (getsockopt(c->server, SOL_SOCKET, SO_ERROR, &failure, &n) == 0 && failure == 0) {
        conn_relay(c);
        return;
    }
    server_close(c);
    conn_connect(c);
}

/* ---- lookup ---- */

static void keep_address(struct lookup *u, const struct sockaddr *address, socklen_t n)
{
    if (n > sizeof u->addresses[0])
        return;
    if (!host_may_be_at(&u->allowed, &u->host, address))
        u->was_refused = true;
    else if (u->n_addresses < MAX_ADDRESSES)
        memcpy(&u->addresses[u->n_addresses++], address, n);
}

static void on_pool(void *arg)
{
    struct lookup *u = arg;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    u->failure = getaddrinfo(u->host.name, NULL, &hints, &all);
    if (u->failure)
        return;
    for (struct addrinfo *i = all; i; i = i->ai_next)
        keep_address(u, i->ai_addr, i->ai_addrlen);
    freeaddrinfo(all);
}

static void take_addresses(struct conn *c, const struct lookup *u)
{
    const char *name = c->head.host.name;
    memcpy(c->addresses, u->addresses, sizeof c->addresses);
    c->n_addresses = u->n_addresses;
    if (u->failure)
        conn_refuse(c, 502, "the name %s is not known: %s", name, gai_strerror(u->failure));
    else if (!u->n_addresses && u->was_refused)
        conn_refuse(c, 403,
                    "%s leads to an address of this machine or of a private network.  Commands may "
                    "reach it if " SETTING " lists the address itself",
                    name);
    else
        conn_connect(c);
}

static void on_found(void *arg)
{
    struct lookup *u = arg;
    struct proxy *p = u->proxy;
    if (p) {
        *u->link = u->next;
        if (u->next)
            u->next->link = u->link;
        p->n_lookups--;
    }
    if (u->conn) {
        u->conn->lookup = NULL;
        take_addresses(u->conn, u);
    }
    if (p)
        start_waiting(p);
    host_list_clear(&u->allowed);
    free(u);
}

static void lookup_start(struct conn *c)
{
    struct proxy *p = c->proxy;
    struct lookup *u = xnew(struct lookup);
    u->proxy = p;
    u->conn = c;
    u->host = c->head.host;
    u->allowed.n = p->allowed->n;
    u->allowed.v = xmalloc(u->allowed.n * sizeof *u->allowed.v);
    memcpy(u->allowed.v, p->allowed->v, u->allowed.n * sizeof *u->allowed.v);
    u->link = &p->lookups;
    u->next = p->lookups;
    if (u->next)
        u->next->link = &u->next;
    p->lookups = u;
    p->n_lookups++;
    c->lookup = u;
    u->work = work_start(p->l, on_pool, on_found, u);
}

/* Starts lookups for the connections that have waited longest: new ones are at the front of the
 * list. */
static void start_waiting(struct proxy *p)
{
    while (p->n_lookups < MAX_LOOKUPS) {
        struct conn *oldest = NULL;
        for (struct conn *c = p->conns; c; c = c->next)
            if (c->state == CONN_LOOKUP && !c->lookup)
                oldest = c;
        if (!oldest)
            return;
        lookup_start(oldest);
    }
}

/* An address needs no lookup; being listed, it may be reached. */
static void conn_lookup(struct conn *c)
{
    c->state = CONN_LOOKUP;
    watch_set(c->client_watch, 0);
    timer_start(c->timer, c->proxy->connect_ms);
    if (!c->head.host.address.ss_family) {
        start_waiting(c->proxy);
        return;
    }
    c->addresses[c->n_addresses++] = c->head.host.address;
    conn_connect(c);
}

/* ---- head ---- */

static void conn_judge(struct conn *c)
{
    struct error err;
    AUTO(buf) struct buf label = BUF_INIT;
    if (!proxy_head_read(buf_str(&c->in), &c->head, &err)) {
        conn_refuse(c, err.status, "%s", err.text);
        return;
    }
    const struct host *h = &c->head.host;
    if (host_is_listed(c->proxy->allowed, h)) {
        conn_lookup(c);
        return;
    }
    bool is_v6 = h->address.ss_family == AF_INET6;
    buf_addf(&label, "%s%s%s", is_v6 ? "[" : "", h->name, is_v6 ? "]" : "");
    if (h->port != 80 && h->port != 443)
        buf_addf(&label, ":%u", h->port);
    conn_refuse(c, 403, "commands may not reach %s.  To allow it, add %s to " SETTING, label.p,
                label.p);
}

static void conn_read(struct conn *c)
{
    char bytes[4096];
    ssize_t n = recv(c->client, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && is_later())
        return;
    if (n <= 0) {
        conn_free(c);
        return;
    }
    if (c->state == CONN_LEAVE)
        return;
    bool fits = buf_add(&c->in, str_n(bytes, (size_t)n));
    if (proxy_head_end(buf_str(&c->in)))
        conn_judge(c);
    else if (c->in.p && (c->in.p[0] < 'A' || c->in.p[0] > 'Z'))
        conn_refuse(c, 400, "this is no request of HTTP/1.1");
    else if (!fits)
        conn_refuse(c, 431, "the head of the request is longer than %d bytes", HEAD_BYTES);
}

static void on_client(void *arg, int events)
{
    struct conn *c = arg;
    (void)events;
    switch (c->state) {
    case CONN_HEAD:
    case CONN_LEAVE:
        conn_read(c);
        break;
    case CONN_RELAY:
        conn_move(c);
        break;
    case CONN_ANSWER:
        conn_write(c);
        break;
    case CONN_LOOKUP:
    case CONN_CONNECT:
        break;
    }
}

static void on_late(void *arg)
{
    struct conn *c = arg;
    if (c->state == CONN_HEAD)
        conn_refuse(c, 408, "the request did not come in time");
    else if (c->state == CONN_LOOKUP || c->state == CONN_CONNECT) {
        lookup_forget(c);
        server_close(c);
        conn_refuse(c, 504, "no connection to %s in time", c->head.host.name);
    } else
        conn_free(c);
}

/* ---- the port ---- */

static void conn_new(struct proxy *p, int fd)
{
    struct error ignored;
    struct conn *c = xnew(struct conn);
    int one = 1;
    *c = (struct conn){.proxy = p, .client = fd, .server = -1, .in = BUF_MAX(HEAD_BYTES)};
    c->client_watch = watch_new(p->l, fd, on_client, c, &ignored);
    if (!c->client_watch) {
        close(fd);
        free(c);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->timer = timer_new(p->l, on_late, c);
    timer_start(c->timer, p->head_ms);
    watch_set(c->client_watch, WATCH_IN);
    c->link = &p->conns;
    c->next = p->conns;
    if (c->next)
        c->next->link = &c->next;
    p->conns = c;
    p->n_conns++;
}

static void accept_more(struct proxy *p)
{
    if (p->watch)
        watch_set(p->watch, p->n_conns < PROXY_CONNECTIONS ? WATCH_IN : 0);
}

static void on_port(void *arg, int events)
{
    struct proxy *p = arg;
    (void)events;
    int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        conn_new(p, fd); /* further connections are accepted in the next round */
        accept_more(p);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        watch_set(p->watch, 0);
        timer_start(p->rest, REST_MS);
    }
}

static void on_rested(void *arg)
{
    accept_more(arg);
}

struct proxy *proxy_new(struct loop *l, int listen_fd, const struct host_list *allowed,
                        struct error *err)
{
    int flags = fcntl(listen_fd, F_GETFL);
    if (flags < 0 || fcntl(listen_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        error_errno(err, errno, "cannot use the socket of the proxy");
        close(listen_fd);
        return NULL;
    }
    struct proxy *p = xnew(struct proxy);
    *p = (struct proxy){.l = l, .fd = listen_fd, .allowed = allowed};
    proxy_patience(p, HEAD_MS, CONNECT_MS, LIMIT_PROXY_IDLE_MS);
    p->watch = watch_new(l, listen_fd, on_port, p, err);
    if (!p->watch) {
        close(listen_fd);
        free(p);
        return NULL;
    }
    p->rest = timer_new(l, on_rested, p);
    accept_more(p);
    return p;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    watch_free(p->watch);
    p->watch = NULL;
    timer_free(p->rest);
    while (p->conns)
        conn_free(p->conns);
    for (struct lookup *u = p->lookups; u; u = u->next)
        u->proxy = NULL;
    close(p->fd);
    free(p);
}

unsigned proxy_count(const struct proxy *p)
{
    return p->n_conns;
}

void proxy_patience(struct proxy *p, int64_t head_ms, int64_t connect_ms, int64_t idle_ms)
{
    p->head_ms = head_ms;
    p->connect_ms = connect_ms;
    p->idle_ms = idle_ms;
}
