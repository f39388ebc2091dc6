/* SPDX-License-Identifier: MIT */
/* The module `net`: libcurl's multi interface on the loop's watches and timers.
 *
 * Callbacks of the core never run inside libcurl. libcurl's callbacks only store what arrived
 * (head, bytes, end) and put the request on the pending list; its callbacks are called when libcurl
 * has returned.  So these may start, pause, cancel or leave any request, and bytes are delivered in
 * order:
 *
 *     socket or timer -> curl_multi_socket_action -> head, inbox, is_done -> pending -> on_*
 *
 * libcurl reads as long as bytes are available, and a local server may have sent a long answer at
 * once.  So libcurl is paused when the inbox is full and resumed from the loop when it was
 * delivered: memory stays bounded, http_pause takes effect, and other requests can run.
 *
 * A `struct net` is a multi handle with its idle connections.  It is bound to a loop only while it
 * has requests: an idle one owns no handle of any loop, so a loop can be freed.
 *
 * Always HTTP/1.1: an HTTP/2 cancel reaches the server only with the next traffic.  Proxies come
 * from the environment, which libcurl reads by itself.  No signals, no redirects, no total timeout.
 */
#include "base/buf.h"
#include "base/limits.h"
#include "base/module.h"
#include "net/address.h"
#include "net/curl_fault.h"
#include "net/http.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    LEAVE_MS = 1000,        /* time limit for the rest of an answer after http_leave */
    READ_BYTES = 64 << 10,  /* size of libcurl's reads */
    FULL_INBOX = 128 << 10, /* libcurl is paused at this size */
    KEEP_INBOX = 256 << 10, /* allocation of an emptied inbox that is kept */
};

#define CERT_DIR "/etc/ssl/certs"

struct net {
    struct loop *loop; /* NULL: no request is running */
    CURLM *multi;
    struct timer *timer; /* libcurl's */
    struct timer *kick;  /* delivers pending events when libcurl does not run */
    struct http *requests;
    struct http *pending, **pending_end;
    size_t n_socks;
    bool is_delivering;
    struct net *next;
};

struct sock { /* a socket of libcurl */
    struct net *net;
    int fd;
    struct watch *watch;
};

struct http {
    struct http_request rq;
    struct net *net;
    CURL *easy;
    struct curl_slist *headers;
    char why[CURL_ERROR_SIZE];
    struct buf head;  /* header lines, each ended by LF */
    struct buf inbox; /* body bytes not delivered yet */
    int status;
    CURLcode result;
    bool is_in_head; /* the status line was received */
    bool has_head, is_head_delivered;
    bool is_done; /* libcurl has finished; result is valid */
    bool is_paused, is_left;
    bool is_choked;      /* libcurl is paused because the inbox was full */
    bool is_pending;     /* is on the pending list */
    bool is_in_callback; /* its callbacks are running */
    bool is_dead;        /* canceled; freed when it is no longer in use */
    struct timer *leave_timer;
    struct http *next, **prev; /* of net->requests */
    struct http *next_pending;
};

static struct net *nets;
static bool has_cert_dir;

static void deliver_pending(struct net *n);

/* ---- lifetime of a request ---- */

static void put_pending(struct http *h)
{
    struct net *n = h->net;
    if (h->is_pending)
        return;
    h->is_pending = true;
    h->next_pending = NULL;
    *n->pending_end = h;
    n->pending_end = &h->next_pending;
}

static void http_release(struct http *h)
{
    buf_clear(&h->head);
    buf_clear(&h->inbox);
    free(h);
}

/* Removes the request from libcurl, which closes the connection unless the answer is complete.
 */
static void http_detach(struct http *h)
{
    if (!h->easy)
        return;
    curl_multi_remove_handle(h->net->multi, h->easy);
    curl_easy_cleanup(h->easy);
    curl_slist_free_all(h->headers);
    h->easy = NULL;
    timer_free(h->leave_timer);
    *h->prev = h->next;
    if (h->next)
        h->next->prev = h->prev;
}

static void http_kill(struct http *h)
{
    http_detach(h);
    h->is_dead = true;
    if (!h->is_pending && !h->is_in_callback)
        http_release(h);
}

/* ---- callbacks of libcurl ---- */

/* One line of a head, its status line first; the blank line ends it. libcurl has read the status
 * line: a later line that looks like one is an ordinary header. */
static size_t on_header(char *p, size_t size, size_t count, void *arg)
{
    struct http *h = arg;
    struct str line = str_trim(str_n(p, size * count));
    long status = 0;
    if (h->has_head)
        return size * count; /* a trailer */
    if (line.n > 0) {
        if (h->is_in_head)
            buf_addf(&h->head, "%.*s\n", STR_FMT(line));
        h->is_in_head = true;
        return size * count;
    }
    curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
    h->status = (int)status;
    h->has_head = status >= 200;
    h->is_in_head = false;
    if (h->has_head)
        put_pending(h);
    else
        buf_reset(&h->head); /* of a 100 Continue */
    return size * count;
}

static size_t on_write(char *p, size_t size, size_t count, void *arg)
{
    struct http *h = arg;
    if (h->is_left)
        return size * count;
    h->is_choked = h->inbox.n >= FULL_INBOX;
    if (h->is_paused || h->is_choked)
        return CURL_WRITEFUNC_PAUSE; /* libcurl keeps the bytes and delivers them again */
    buf_add(&h->inbox, str_n(p, size * count));
    put_pending(h);
    return size * count;
}

static void take_finished(struct net *n)
{
    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(n->multi, &left))) {
        struct http *h = NULL;
        if (msg->msg != CURLMSG_DONE)
            continue;
        CURLcode result = msg->data.result;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&h);
        /* Returns the connection for the next request; msg is invalid after this. */
        curl_multi_remove_handle(n->multi, h->easy);
        h->result = result;
        h->is_done = true;
        put_pending(h);
    }
}

static void act(struct net *n, curl_socket_t fd, int events)
{
    int running;
    curl_multi_socket_action(n->multi, fd, events, &running);
    take_finished(n);
    deliver_pending(n);
}

static void on_watch(void *arg, int events)
{
    struct sock *s = arg;
    act(s->net, s->fd,
        (events & WATCH_IN ? CURL_CSELECT_IN : 0) | (events & WATCH_OUT ? CURL_CSELECT_OUT : 0));
}

static void on_curl_timer(void *arg)
{
    act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_kick(void *arg)
{
    deliver_pending(arg);
}

static int set_timer(CURLM *multi, long ms, void *arg)
{
    struct net *n = arg;
    (void)multi;
    if (n->timer && ms >= 0)
        timer_start(n->timer, ms);
    else if (n->timer)
        timer_stop(n->timer);
    return 0;
}

static void sock_free(struct sock *s)
{
    watch_free(s->watch);
    s->net->n_socks--;
    free(s);
}

static struct sock *sock_new(struct net *n, int fd)
{
    struct error err;
    struct sock *s = xnew(struct sock);
    *s = (struct sock){.net = n, .fd = fd};
    s->watch = watch_new(n->loop, fd, on_watch, s, &err);
    if (!s->watch) {
        free(s);
        return NULL;
    }
    n->n_socks++;
    return s;
}

static int set_sock(CURL *easy, curl_socket_t fd, int what, void *arg, void *sock)
{
    struct net *n = arg;
    struct sock *s = sock;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s)
            sock_free(s);
        return 0;
    }
    if (!s) {
        if (!n->loop || !(s = sock_new(n, fd)))
            return -1;
        curl_multi_assign(n->multi, fd, s);
    }
    watch_set(s->watch,
              (what & CURL_POLL_IN ? WATCH_IN : 0) | (what & CURL_POLL_OUT ? WATCH_OUT : 0));
    return 0;
}

/* ---- a multi handle, bound to a loop while it is needed ---- */

static CURLM *multi_new(struct net *n)
{
    CURLM *multi = curl_multi_init();
    if (!multi)
        BUG("libcurl gives no multi handle");
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_sock);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, n);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, n);
    return multi;
}

static struct net *net_find(const struct loop *l)
{
    struct net *n = nets;
    while (n && n->loop != l)
        n = n->next;
    return n;
}

static struct net *net_for(struct loop *l)
{
    struct net *n = net_find(l);
    if (n)
        return n;
    if (!(n = net_find(NULL))) {
        n = xnew(struct net);
        n->pending_end = &n->pending;
        n->next = nets;
        nets = n;
    }
    if (!n->multi)
        n->multi = multi_new(n);
    n->loop = l;
    n->timer = timer_new(l, on_curl_timer, n);
    n->kick = timer_new(l, on_kick, n);
    return n;
}

static void net_drop_multi(struct net *n)
{
    if (n->multi)
        curl_multi_cleanup(n->multi);
    n->multi = NULL;
}

/* Unbinds from the loop when no request is running.  A connection that is still shutting down would
 * need the loop, and is closed at once. */
static void net_rest(struct net *n)
{
    if (!n->loop || n->requests || n->pending || n->is_delivering)
        return;
    if (n->n_socks > 0)
        net_drop_multi(n);
    timer_free(n->timer);
    timer_free(n->kick);
    n->timer = n->kick = NULL;
    n->loop = NULL;
}

/* ---- callbacks to the core ---- */

static void deliver_head(struct http *h)
{
    struct str rest = buf_str(&h->head), line, type = STR("");
    h->is_head_delivered = true;
    while (rest.n > 0 && str_line(&rest, &line)) {
        struct str name, value = str_trim(str_split(line, ':', &name));
        if (str_ieq(name, STR("content-type")))
            type = value;
    }
    if (h->rq.on_status)
        h->rq.on_status(h->rq.arg, h->status, type);
    rest = buf_str(&h->head);
    while (h->rq.on_header && !h->is_dead && rest.n > 0 && str_line(&rest, &line)) {
        struct str name, value = str_trim(str_split(line, ':', &name));
        h->rq.on_header(h->rq.arg, name, value);
    }
}

static void deliver_body(struct http *h)
{
    /* A resume inside the callback makes libcurl write again: into a fresh inbox. */
    struct buf bytes = take(&h->inbox);
    if (h->rq.on_body)
        h->rq.on_body(h->rq.arg, buf_str(&bytes));
    buf_shrink(&bytes, KEEP_INBOX);
    if (h->inbox.p || h->is_dead)
        buf_clear(&bytes);
    else
        h->inbox = bytes;
}

/* Calls on_end; the request is freed before. */
static void deliver_end(struct http *h)
{
    struct http_request rq = h->rq;
    struct error err = ERROR_INIT;
    /* libcurl reports success when the connection ended inside a header; then the head is
     * incomplete. */
    bool is_fine = h->result == CURLE_OK && h->has_head, is_left = h->is_left;
    if (!is_fine)
        curl_fault_say(
            &(struct curl_fault){h->easy, h->result, h->why, h->has_head, buf_str(&h->head)}, &err);
    h->is_in_callback = false;
    http_kill(h);
    if (!is_left)
        rq.on_end(rq.arg, is_fine ? NULL : &err);
}

/* Resumes libcurl, which first delivers the bytes it kept. */
static void go_on(struct http *h)
{
    h->is_choked = false;
    if (!h->is_done)
        curl_easy_pause(h->easy, CURLPAUSE_CONT);
}

static void deliver(struct http *h)
{
    h->is_in_callback = true;
    if (h->has_head && !h->is_head_delivered && !h->is_left)
        deliver_head(h);
    while (h->inbox.n > 0 && !h->is_paused && !h->is_dead && !h->is_left)
        deliver_body(h);
    if (h->is_choked && !h->is_paused && !h->is_dead)
        go_on(h);
    if (h->is_done && !h->is_paused && !h->is_dead) {
        deliver_end(h);
        return;
    }
    h->is_in_callback = false;
    if (h->is_dead)
        http_release(h);
}

static void deliver_pending(struct net *n)
{
    if (n->is_delivering)
        return;
    n->is_delivering = true;
    while (n->pending) {
        struct http *h = n->pending;
        n->pending = h->next_pending;
        if (!n->pending)
            n->pending_end = &n->pending;
        h->is_pending = false;
        if (h->is_dead)
            http_release(h);
        else
            deliver(h);
    }
    n->is_delivering = false;
    net_rest(n);
}

/* ---- the request ---- */

static struct curl_slist *header_list(const struct http_request *rq)
{
    /* Without this libcurl sends "Expect: 100-continue" before a large body and waits. */
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    list = curl_slist_append(list, "Accept-Encoding:"); /* not asked for, see set_options */
    AUTO(buf) struct buf line = BUF_INIT;
    for (size_t i = 0; i < rq->n_headers; i++) {
        const struct http_header *header = &rq->headers[i];
        buf_reset(&line);
        buf_add(&line, header->name);
        if (header->value.n > 0)
            buf_addf(&line, ": %.*s", STR_FMT(header->value));
        else
            buf_addc(&line, ';'); /* libcurl's syntax for an empty value */
        list = curl_slist_append(list, line.p);
    }
    return list;
}

static void set_method(struct http *h)
{
    const struct http_request *rq = &h->rq;
    if (strcmp(rq->method, "GET") == 0 && rq->body.n == 0) {
        curl_easy_setopt(h->easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    curl_easy_setopt(h->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->body.n);
    curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, rq->body.n ? rq->body.p : "");
    if (strcmp(rq->method, "POST") != 0)
        curl_easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, rq->method);
}

/* Debian's libcurl names a file and a directory, and with both it reads the file again for every
 * connection.  With the directory alone, certificates are loaded on demand; the file alone is the
 * fallback.  Other TLS programs use the same two variables. */
static void set_certificates(CURL *easy)
{
    const char *file = getenv("SSL_CERT_FILE"), *dir = getenv("SSL_CERT_DIR");
    if (file && *file) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, file);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    } else if ((dir && *dir) || has_cert_dir) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_CAPATH, dir && *dir ? dir : CERT_DIR);
    } else {
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
}

/* Checks the address after name resolution, so that the spelling of a name does not matter. */
static curl_socket_t open_public(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    (void)arg, (void)purpose;
    if (address_is_private(&to->addr))
        return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static bool has_proxy(void)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (getenv(names[i]) && *getenv(names[i]))
            return true;
    return false;
}

static void set_public(CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L); /* reused connections would not be checked */
    if (!has_proxy())
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_public);
}

static void set_options(struct http *h)
{
    CURL *easy = h->easy;
    AUTO_FREE char *url = str_dup(h->rq.url);
    int64_t connect_ms = h->rq.connect_timeout_ms;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)READ_BYTES);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a running name lookup on
                                                     * cancel */
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(connect_ms > 0 ? connect_ms : LIMIT_CONNECT_MS));
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, ""); /* decode compressed answers */
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "trivet");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, h->headers);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, h);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, h->why);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, h);
    if (h->rq.is_public)
        set_public(easy);
    set_method(h);
    set_certificates(easy);
}

static struct http *net_start(struct loop *l, const struct http_request *rq, struct error *err)
{
    CURL *easy = curl_easy_init();
    if (!easy) {
        error_set(err, ERR_INTERNAL, "libcurl gives no request");
        return NULL;
    }
    struct net *n = net_for(l);
    struct http *h = xnew(struct http);
    *h = (struct http){.rq = *rq, .net = n, .easy = easy, .headers = header_list(rq)};
    h->head = BUF_MAX(LIMIT_RESPONSE_HEAD_BYTES);
    h->next = n->requests;
    h->prev = &n->requests;
    if (h->next)
        h->next->prev = &h->next;
    n->requests = h;
    set_options(h);
    CURLMcode rc = curl_multi_add_handle(n->multi, easy);
    if (rc == CURLM_OK)
        return h;
    error_set(err, ERR_INTERNAL, "libcurl refuses the request: %s", curl_multi_strerror(rc));
    http_kill(h);
    net_rest(n);
    return NULL;
}

static void net_pause(struct http *h, bool paused)
{
    if (h->is_paused == paused)
        return;
    h->is_paused = paused;
    if (!paused)
        go_on(h);
    else if (!h->is_done)
        curl_easy_pause(h->easy, CURLPAUSE_RECV);
    if (paused || !(h->inbox.n > 0 || h->is_done))
        return;
    put_pending(h);
    timer_start(h->net->kick, 0);
}

static void net_cancel(struct http *h)
{
    struct net *n = h->net;
    http_kill(h);
    if (n->pending && !n->is_delivering)
        timer_start(n->kick, 0);
    net_rest(n);
}

static void on_leave_timer(void *arg)
{
    net_cancel(arg);
}

static void net_leave(struct http *h)
{
    curl_off_t sent = 0;
    curl_easy_getinfo(h->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    /* The caller may free the body after this, so an unsent body cannot be left to libcurl. */
    if (h->is_done || sent < (curl_off_t)h->rq.body.n) {
        net_cancel(h);
        return;
    }
    h->is_left = true;
    buf_reset(&h->inbox);
    h->leave_timer = timer_new(h->net->loop, on_leave_timer, h);
    timer_start(h->leave_timer, LEAVE_MS);
    h->is_paused = false;
    go_on(h);
}

static void net_close(struct loop *l)
{
    struct net *n = net_find(l);
    while (n && n->requests)
        http_kill(n->requests);
    if (n)
        deliver_pending(n); /* frees canceled requests and unbinds from the loop */
    for (n = nets; n; n = n->next)
        if (!n->loop)
            net_drop_multi(n);
}

/* ---- the module ---- */

/* Whether the directory has hashed names, as libcrypto needs. */
static bool is_cert_dir(const char *path)
{
    bool found = false;
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && !found && (entry = readdir(dir)))
        found = strspn(entry->d_name, "0123456789abcdef") == 8 &&
                str_is(str_of(entry->d_name + 8), ".0");
    if (dir)
        closedir(dir);
    return found;
}

static void init_once(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    has_cert_dir = is_cert_dir(CERT_DIR);
}

MODULE_SYMBOLS;
const void *trivet_module(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const struct net_api api = {
        .start = net_start,
        .pause = net_pause,
        .cancel = net_cancel,
        .leave = net_leave,
        .close = net_close,
    };
    pthread_once(&once, init_once);
    return &api;
}
