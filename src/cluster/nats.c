/* SPDX-License-Identifier: MIT */
/* The connection of a NATS client: which server, the log-in, pings, and when it is lost.
 *
 *     WAIT -> CONNECT -> (SECURE ->) LOGIN -> READY
 *       ^________________________________________|    any failure
 */
#include "cluster/nats_impl.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/log.h"

enum {
    PING_MS = 5000,      /* between pings */
    LOST_PINGS = 2,      /* unanswered ones end the connection */
    LOGIN_MS = 5000,     /* from the connection until it can be used */
    FIRST_RETRY_MS = 50, /* doubled with each failure */
    LAST_RETRY_MS = 2000,
    REFUSED_RETRY_MS = 10000,
    LEAVE_MS = 300, /* for answers on their way when the server says that it will stop */
};

static void on_timer(void *arg);
static void on_open(void *arg);
static void on_secure(void *arg);
static void on_bytes(void *arg, struct str bytes);
static void on_end(void *arg, const struct error *why);

/* ---- versions ---- */

/* The next number of a version; -1 at the end. */
static int64_t version_part(struct str *rest)
{
    size_t n = 0;
    int64_t value = 0;
    while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9' && n < 9)
        value = value * 10 + (rest->p[n++] - '0');
    if (n == 0)
        return -1;
    *rest = str_from(*rest, n < rest->n && rest->p[n] == '.' ? n + 1 : n);
    return value;
}

bool nats_version_at_least(struct str a, struct str b)
{
    for (int i = 0; i < 3; i++) {
        int64_t x = version_part(&a), y = version_part(&b);
        if (x != y)
            return x > y;
    }
    return true;
}

/* ---- life ---- */

static struct str own(struct str s)
{
    return s.n ? str_of(str_dup(s)) : STR_NONE;
}

struct nats *nats_new(struct loop *l, const struct nats_settings *s, nats_state_fn *on_state,
                      void *arg, struct error *err)
{
    struct nats *n = xnew(struct nats);
    *n = (struct nats){.loop = l, .on_state = on_state, .arg = arg};
    if (!servers_read(&n->servers, s->urls, err) ||
        (s->creds.n && !creds_read(&n->creds, s->creds, err))) {
        nats_free(n);
        return NULL;
    }
    n->tls = (struct tls_files){own(s->tls.ca), own(s->tls.cert), own(s->tls.key)};
    n->name = str_dup(s->name.p ? s->name : STR("trivet"));
    n->min_version = str_dup(s->min_version.p ? s->min_version : STR("0"));
    for (size_t i = 0; i < n->servers.n; i++) /* who names certificates wants TLS */
        n->servers.list[i].wants_tls |= n->tls.ca.p || n->tls.cert.p;
    servers_shuffle(&n->servers);
    nats_parser_init(&n->parser, LIMIT_NATS_MESSAGE_BYTES);
    calls_init(n);
    n->timer = timer_new(l, on_timer, n);
    timer_start(n->timer, 0);
    return n;
}

void nats_free(struct nats *n)
{
    if (!n)
        return;
    if (n->depth) {
        n->is_dead = true;
        return;
    }
    link_free(n->link);
    calls_clear(n);
    timer_free(n->timer);
    nats_parser_clear(&n->parser);
    json_clear(&n->info);
    servers_clear(&n->servers);
    creds_clear(&n->creds);
    free((char *)(uintptr_t)n->tls.ca.p);
    free((char *)(uintptr_t)n->tls.cert.p);
    free((char *)(uintptr_t)n->tls.key.p);
    free(n->name);
    free(n->min_version);
    free(n);
}

void nats_enter(struct nats *n)
{
    n->depth++;
}

bool nats_leave(struct nats *n)
{
    bool is_dead = n->is_dead;
    if (--n->depth == 0 && is_dead)
        nats_free(n);
    return !is_dead;
}

struct loop *nats_loop(const struct nats *n)
{
    return n->loop;
}

bool nats_is_ready(const struct nats *n)
{
    return n->phase == PHASE_READY;
}

struct nats_server nats_server(const struct nats *n)
{
    yyjson_val *i = n->info.root;
    if (n->phase != PHASE_READY)
        return (struct nats_server){.max_payload = 0};
    return (struct nats_server){
        .version = json_get_str(i, "version"),
        .name = json_get_str(i, "server_name"),
        .cluster = json_get_str(i, "cluster"),
        .host = str_of(n->servers.list[n->servers.at].host),
        .max_payload = json_get_int(i, "max_payload", 1 << 20),
        .has_jetstream = json_get_bool(i, "jetstream", false),
    };
}

/* ---- waiting for the connection ---- */

static void wake_waits(struct nats *n)
{
    for (struct ready_wait *w = n->waits; w; w = w->next)
        wait_wake(&w->wait);
}

static void drop_wait(struct nats *n, struct ready_wait *gone)
{
    struct ready_wait **at = &n->waits;
    while (*at && *at != gone)
        at = &(*at)->next;
    if (*at)
        *at = gone->next;
}

bool nats_ready_await(struct nats *n, int64_t ms, struct error *err)
{
    struct ready_wait w = {.wait = WAIT_INIT, .next = n->waits};
    struct error late;
    if (n->phase == PHASE_READY)
        return true;
    n->waits = &w;
    bool ok = n->is_refused || wait_timed_await(n->loop, &w.wait, ms, &late);
    drop_wait(n, &w);
    if (n->phase == PHASE_READY)
        return true;
    *err = ok || (late.code == ERR_TIMEOUT && n->why.code) ? n->why : late;
    return false;
}

/* ---- failures ---- */

static int64_t retry_ms(const struct nats *n)
{
    int64_t ms = FIRST_RETRY_MS;
    if (n->is_refused)
        return REFUSED_RETRY_MS;
    if (n->n_failures <= n->servers.n) /* each server once without a delay worth naming */
        return n->n_failures <= 1 ? 0 : FIRST_RETRY_MS;
    for (unsigned i = (unsigned)n->servers.n; i < n->n_failures && ms < LAST_RETRY_MS; i++)
        ms *= 2;
    ms = MIN(ms, (int64_t)LAST_RETRY_MS);
    return ms / 2 + (int64_t)random_below((uint64_t)ms / 2 + 1);
}

/* Ends the connection, or the try, and waits for the next. */
static void lose(struct nats *n, const struct error *reason)
{
    bool was_ready = n->phase == PHASE_READY;
    struct error copy = *reason, *why = &copy; /* the reason may be part of the link */
    n->phase = PHASE_WAIT;
    n->why = *why;
    n->is_refused = why->code == ERR_AUTH || why->code == ERR_DENIED;
    n->n_failures = was_ready ? 1 : n->n_failures + 1;
    n->n_pings = 0;
    link_free(n->link);
    n->link = NULL;
    nats_parser_clear(&n->parser);
    timer_start(n->timer, retry_ms(n));
    log_debug("NATS: %s", why->text);
    if (n->is_refused)
        wake_waits(n);
    nats_enter(n);
    if (was_ready)
        calls_cut(n, why);
    if (n->on_state && !n->is_dead)
        n->on_state(n->arg, why);
    nats_leave(n);
}

static void lose_with(struct nats *n, enum err_code code, const char *text)
{
    struct error why;
    error_set_origin(&why, code, ORIGIN_REMOTE, "%s: %s", n->servers.list[n->servers.at].host,
                     text);
    lose(n, &why);
}

void nats_move(struct nats *n)
{
    if (n->link)
        lose_with(n, ERR_CUT, "the connection was given up for another server");
}

static void on_end(void *arg, const struct error *why)
{
    lose(arg, why);
}

/* ---- log-in ---- */

static void begin_connection(struct nats *n)
{
    struct known_server *s = servers_next(&n->servers);
    n->phase = PHASE_CONNECT;
    n->link = link_new(n->loop, str_of(s->host), s->port,
                       &(struct link_calls){on_open, on_secure, on_bytes, on_end, n});
}

static void on_open(void *arg)
{
    struct nats *n = arg;
    timer_start(n->timer, LOGIN_MS);
}

static void put_login(struct nats *n, struct jw *w, const struct known_server *s)
{
    if (s->user && s->password) {
        jw_kstr(w, "user", str_of(s->user));
        jw_kstr(w, "pass", str_of(s->password));
    } else if (s->user) {
        jw_kstr(w, "auth_token", str_of(s->user));
    }
    if (n->creds.jwt)
        jw_kstr(w, "jwt", str_of(n->creds.jwt));
}

/* The nonce of the server, signed. */
static bool put_signature(struct nats *n, struct jw *w, struct error *err)
{
    AUTO(buf) struct buf key = BUF_INIT, signature = BUF_INIT;
    struct str nonce = json_get_str(n->info.root, "nonce");
    if (!n->creds.has_seed || !nonce.n)
        return true;
    if (!creds_sign(&n->creds, nonce, &signature, err))
        return false;
    if (!n->creds.jwt) {
        if (!creds_public(&n->creds, &key, err))
            return false;
        jw_kstr(w, "nkey", buf_str(&key));
    }
    jw_kstr(w, "sig", buf_str(&signature));
    return true;
}

static void send_login(struct nats *n)
{
    const struct known_server *s = &n->servers.list[n->servers.at];
    struct buf *out = link_out(n->link);
    struct error err;
    buf_addz(out, "CONNECT ");
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kbool(&w, "verbose", false);
    jw_kbool(&w, "pedantic", false);
    jw_kbool(&w, "headers", true);
    jw_kbool(&w, "no_responders", true);
    jw_kint(&w, "protocol", 1); /* the server may send INFO at any time */
    jw_kz(&w, "lang", "c");
    jw_kz(&w, "version", TRIVET_VERSION);
    jw_kstr(&w, "name", str_of(n->name));
    jw_kbool(&w, "tls_required", s->wants_tls);
    put_login(n, &w, s);
    if (!put_signature(n, &w, &err)) {
        lose(n, &err);
        return;
    }
    jw_obj_end(&w);
    buf_addz(out, "\r\nPING\r\n");
    link_put(n->link);
    n->phase = PHASE_LOGIN;
}

static void on_secure(void *arg)
{
    send_login(arg);
}

/* The first INFO: whether this server can be used, and how. */
static void begin_login(struct nats *n)
{
    const struct known_server *s = &n->servers.list[n->servers.at];
    struct str version = json_get_str(n->info.root, "version");
    bool has_tls = json_get_bool(n->info.root, "tls_required", false) ||
                   json_get_bool(n->info.root, "tls_available", false);
    struct error err;
    if (!nats_version_at_least(version, str_of(n->min_version))) {
        error_set(
            &err, ERR_DENIED,
            "%s runs nats-server %.*s; at least %s is needed, because older ones can store two "
            "records in one place",
            s->host, STR_FMT(version), n->min_version);
        lose(n, &err);
    } else if (s->wants_tls && !has_tls) {
        lose_with(n, ERR_DENIED, "the server has no TLS");
    } else if (s->wants_tls || json_get_bool(n->info.root, "tls_required", false)) {
        n->phase = PHASE_SECURE;
        if (!link_secure(n->link, &n->tls, &err)) {
            err.code = ERR_DENIED; /* a file that cannot be used */
            lose(n, &err);
        }
    } else {
        send_login(n);
    }
}

static void become_ready(struct nats *n)
{
    n->phase = PHASE_READY;
    n->n_failures = 0;
    n->is_refused = false;
    timer_start(n->timer, PING_MS);
    calls_resubscribe(n);
    wake_waits(n);
    log_debug("NATS: connected to %s", n->servers.list[n->servers.at].host);
    if (n->on_state) /* from on_op, which holds the client */
        n->on_state(n->arg, NULL);
}

/* ---- what the server sends ---- */

static void learn_servers(struct nats *n)
{
    yyjson_val *list = json_get(n->info.root, "connect_urls"), *one;
    size_t i, max;
    bool wants_tls = n->servers.list[n->servers.at].wants_tls;
    yyjson_arr_foreach(list, i, max, one) {
        servers_learn(&n->servers, json_str(one), wants_tls);
    }
}

static void take_info(struct nats *n, struct str text)
{
    struct json new = JSON_INIT;
    struct error err;
    if (!json_parse(text, 0, 16, &new, &err)) {
        error_prefix(&err, "the INFO of the NATS server");
        lose(n, &err);
        return;
    }
    json_clear(&n->info);
    n->info = new;
    learn_servers(n);
    if (n->phase == PHASE_CONNECT)
        begin_login(n);
    else if (n->phase == PHASE_READY && json_get_bool(new.root, "ldm", false) && n->servers.n > 1) {
        n->n_pings = LOST_PINGS; /* it stops soon: leave when answers on their way have come */
        timer_start(n->timer, LEAVE_MS);
    }
}

/* An error ends the connection, unless it is about one subject only. */
static void take_error(struct nats *n, struct str text)
{
    enum err_code code = ERR_CUT;
    AUTO(buf) struct buf z = BUF_INIT;
    buf_addf(&z, "%.*s", STR_FMT(str_cut(text, 200)));
    if (str_ifind(text, STR("permissions violation")) != SIZE_MAX ||
        str_ifind(text, STR("invalid subject")) != SIZE_MAX) {
        log_warn("NATS: %s", z.p);
        return;
    }
    if (str_ifind(text, STR("authorization")) != SIZE_MAX ||
        str_ifind(text, STR("authentication")) != SIZE_MAX ||
        str_ifind(text, STR("account")) != SIZE_MAX)
        code = ERR_AUTH;
    lose_with(n, code, z.p);
}

static bool on_op(void *arg, const struct nats_op *op)
{
    struct nats *n = arg;
    struct nats_link *link = n->link;
    if (op->kind == NATS_MSG && n->phase == PHASE_READY) {
        calls_deliver(n, op);
    } else if (op->kind == NATS_PING) {
        buf_addz(link_out(n->link), "PONG\r\n");
        link_put(n->link);
    } else if (op->kind == NATS_PONG && n->phase == PHASE_LOGIN) {
        become_ready(n);
    } else if (op->kind == NATS_PONG && n->n_pings < LOST_PINGS) {
        n->n_pings = 0;
    } else if (op->kind == NATS_INFO) {
        take_info(n, op->body);
    } else if (op->kind == NATS_ERR) {
        take_error(n, op->body);
    }
    /* Bytes of an old connection, or behind the INFO before TLS, are not read on. */
    return !n->is_dead && n->link == link && n->phase != PHASE_SECURE;
}

static void on_bytes(void *arg, struct str bytes)
{
    struct nats *n = arg;
    struct error err;
    nats_enter(n);
    if (!nats_feed(&n->parser, bytes, on_op, n, &err) && !n->is_dead)
        lose(n, &err);
    nats_leave(n);
}

/* ---- time ---- */

static void on_timer(void *arg)
{
    struct nats *n = arg;
    if (n->phase == PHASE_WAIT) {
        begin_connection(n);
    } else if (n->phase != PHASE_READY) {
        lose_with(n, ERR_NETWORK, "the NATS server does not answer");
    } else if (n->n_pings >= LOST_PINGS) {
        lose_with(n, ERR_CUT, "the NATS server stopped answering");
    } else {
        n->n_pings++;
        buf_addz(link_out(n->link), "PING\r\n");
        link_put(n->link);
        timer_start(n->timer, PING_MS);
    }
}
