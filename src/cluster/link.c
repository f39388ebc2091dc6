/* SPDX-License-Identifier: MIT */
#include "cluster/link.h"

#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ADDRESSES = 8, READ_BYTES = 64 << 10, KEEP_BYTES = 256 << 10 };

/* Freed by the loop when the pool has finished it, perhaps after its link. */
struct lookup {
    struct nats_link *link; /* NULL: gone */
    struct work *work;
    char *host;
    int port;
    struct sockaddr_storage addresses[MAX_ADDRESSES];
    socklen_t lengths[MAX_ADDRESSES];
    size_t n;
    int failure; /* of getaddrinfo */
};

struct nats_link {
    struct loop *loop;
    struct link_calls calls;
    struct lookup *lookup; /* until the end: its addresses are tried in order */
    bool is_looked_up;
    size_t next_address;
    char *host;
    int fd; /* -1: none */
    bool is_open;
    struct watch *watch;
    struct timer *timer; /* of connecting */
    struct ready *flush; /* the write at the end of the round; NULL: none is due */
    struct ready *end;   /* on_end is due */
    struct error why;    /* of on_end */
    struct tls *tls;     /* NULL: none */
    bool is_secure;
    char *in;         /* READ_BYTES, from the first reading on */
    struct buf plain; /* with TLS: what was put */
    struct buf out;   /* for the socket; from `sent` on */
    size_t sent;
    bool *is_freed; /* set when the link is freed inside one of its calls */
};

static void on_socket(void *arg, int events);

static void lookup_free(struct lookup *u)
{
    free(u->host);
    free(u);
}

void link_free(struct nats_link *k)
{
    if (!k)
        return;
    if (k->is_freed)
        *k->is_freed = true;
    if (k->lookup && !k->is_looked_up) {
        k->lookup->link = NULL;
        work_drop(k->lookup->work);
    } else if (k->lookup) {
        lookup_free(k->lookup);
    }
    watch_free(k->watch);
    timer_free(k->timer);
    loop_take_back(k->flush);
    loop_take_back(k->end);
    if (k->fd >= 0)
        close(k->fd);
    tls_free(k->tls);
    buf_clear(&k->plain);
    buf_clear(&k->out);
    free(k->in);
    free(k->host);
    free(k);
}

/* ---- the end ---- */

static void tell_end(void *arg)
{
    struct nats_link *k = arg;
    k->end = NULL;
    k->calls.on_end(k->calls.arg, &k->why);
}

/* Stops everything; on_end follows in the next round. */
static void finish(struct nats_link *k)
{
    if (k->end)
        return;
    watch_free(k->watch);
    k->watch = NULL;
    timer_stop(k->timer);
    k->end = loop_soon(k->loop, tell_end, k);
}

static void finish_with(struct nats_link *k, enum err_code code, int number, const char *what)
{
    if (k->end)
        return;
    error_set_origin(&k->why, code, ORIGIN_UNKNOWN, "%s: %s%s%s", k->host, what, number ? ": " : "",
                     number ? strerror(number) : "");
    k->why.status = number;
    finish(k);
}

/* ---- connecting ---- */

static void close_socket(struct nats_link *k)
{
    watch_free(k->watch);
    k->watch = NULL;
    close(k->fd);
    k->fd = -1;
}

static bool try_address(struct nats_link *k, size_t i, int *ret_errno)
{
    struct sockaddr_storage *to = &k->lookup->addresses[i];
    struct error ignored;
    int on = 1;
    k->fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *ret_errno = errno;
    if (k->fd < 0)
        return false;
    setsockopt(k->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(k->fd, (struct sockaddr *)to, k->lookup->lengths[i]) == 0 || errno == EINPROGRESS)
        k->watch = watch_new(k->loop, k->fd, on_socket, k, &ignored);
    *ret_errno = errno;
    if (k->watch)
        watch_set(k->watch, WATCH_OUT);
    else
        close_socket(k);
    return k->watch != NULL;
}

/* The next address that can be tried, or the end. */
static void try_next(struct nats_link *k, int number)
{
    while (k->next_address < k->lookup->n)
        if (try_address(k, k->next_address++, &number))
            return;
    finish_with(k, ERR_NETWORK, number, "cannot connect");
}

static void on_late(void *arg)
{
    finish_with(arg, ERR_NETWORK, 0, "cannot connect: no answer");
}

static void look_up(void *arg)
{
    struct lookup *u = arg;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *found;
    char port[8];
    snprintf(port, sizeof port, "%d", u->port);
    u->failure = getaddrinfo(u->host, port, &wanted, &found);
    if (u->failure)
        return;
    for (struct addrinfo *a = found; a && u->n < MAX_ADDRESSES; a = a->ai_next, u->n++) {
        memcpy(&u->addresses[u->n], a->ai_addr, a->ai_addrlen);
        u->lengths[u->n] = a->ai_addrlen;
    }
    freeaddrinfo(found);
}

static void on_looked_up(void *arg)
{
    struct lookup *u = arg;
    struct nats_link *k = u->link;
    if (!k) {
        lookup_free(u);
        return;
    }
    k->is_looked_up = true;
    if (k->end)
        return;
    if (u->n == 0)
        finish_with(k, ERR_NETWORK, 0, u->failure ? gai_strerror(u->failure) : "has no address");
    else
        try_next(k, 0);
}

struct nats_link *link_new(struct loop *l, struct str host, int port,
                           const struct link_calls *calls)
{
    struct nats_link *k = xnew(struct nats_link);
    struct lookup *u = xnew(struct lookup);
    *u = (struct lookup){.link = k, .host = str_dup(host), .port = port};
    *k = (struct nats_link){
        .loop = l, .calls = *calls, .lookup = u, .host = str_dup(host), .fd = -1};
    k->timer = timer_new(l, on_late, k);
    timer_start(k->timer, LIMIT_CONNECT_MS);
    u->work = work_start(l, look_up, on_looked_up, u);
    return k;
}

/* ---- writing ---- */

/* With TLS what was put is encrypted first. */
static bool seal(struct nats_link *k)
{
    if (!k->is_secure || k->plain.n == 0)
        return true;
    bool ok = tls_put(k->tls, buf_str(&k->plain), &k->out, &k->why);
    buf_shrink(&k->plain, KEEP_BYTES);
    if (!ok)
        finish(k);
    return ok;
}

static void write_out(struct nats_link *k)
{
    if (k->end || !k->is_open || !seal(k))
        return;
    while (k->sent < k->out.n) {
        ssize_t n = send(k->fd, k->out.p + k->sent, k->out.n - k->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            watch_set(k->watch, WATCH_IN | WATCH_OUT);
            return;
        }
        if (n < 0) {
            finish_with(k, ERR_CUT, errno, "the connection was lost");
            return;
        }
        k->sent += (size_t)n;
    }
    buf_shrink(&k->out, KEEP_BYTES);
    k->sent = 0;
    watch_set(k->watch, WATCH_IN);
}

static void on_flush(void *arg)
{
    struct nats_link *k = arg;
    k->flush = NULL;
    write_out(k);
}

struct buf *link_out(struct nats_link *k)
{
    return k->is_secure ? &k->plain : &k->out;
}

void link_put(struct nats_link *k)
{
    if (!k->flush && !k->end)
        k->flush = loop_soon(k->loop, on_flush, k);
}

size_t link_queued(const struct nats_link *k)
{
    return k->out.n - k->sent + k->plain.n;
}

bool link_secure(struct nats_link *k, const struct tls_files *files, struct error *err)
{
    k->tls = tls_new(files, str_of(k->host), err);
    if (!k->tls || !tls_begin(k->tls, &k->out, err))
        return false;
    link_put(k);
    return true;
}

/* ---- reading ---- */

/* Decrypts and hands over. */
static void open_sealed(struct nats_link *k, struct str bytes, bool *is_freed)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    bool ok = tls_feed(k->tls, bytes, &plain, &k->out, &k->why);
    if (k->out.n > k->sent)
        link_put(k);
    if (!k->is_secure && tls_is_open(k->tls)) {
        k->is_secure = true;
        k->calls.on_secure(k->calls.arg);
    }
    if (!*is_freed && !k->end && plain.n)
        k->calls.on_bytes(k->calls.arg, buf_str(&plain));
    if (!*is_freed && !ok)
        finish(k);
}

static void read_in(struct nats_link *k)
{
    bool is_freed = false;
    if (!k->in)
        k->in = xmalloc(READ_BYTES);
    ssize_t n = recv(k->fd, k->in, READ_BYTES, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n <= 0) {
        finish_with(k, ERR_CUT, n < 0 ? errno : 0, "the connection was lost");
        return;
    }
    k->is_freed = &is_freed;
    if (k->tls)
        open_sealed(k, str_n(k->in, (size_t)n), &is_freed);
    else
        k->calls.on_bytes(k->calls.arg, str_n(k->in, (size_t)n));
    if (!is_freed)
        k->is_freed = NULL;
}

static void on_connected(struct nats_link *k)
{
    int number = 0;
    socklen_t n = sizeof number;
    getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &number, &n);
    if (number) {
        close_socket(k);
        try_next(k, number);
        return;
    }
    timer_stop(k->timer);
    k->is_open = true;
    watch_set(k->watch, WATCH_IN);
    k->calls.on_open(k->calls.arg);
}

static void on_socket(void *arg, int events)
{
    struct nats_link *k = arg;
    if (!k->is_open) {
        on_connected(k);
        return;
    }
    if (events & WATCH_OUT)
        write_out(k);
    if (!k->end && (events & ~WATCH_OUT))
        read_in(k);
}
