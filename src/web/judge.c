/* SPDX-License-Identifier: MIT */
/* Who may do what: the token of a request, what needs none, and signing in with a code. */
#include "web/impl.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/rows.h"
#include "base/time.h"
#include "web/answer.h"

enum { LOGIN_BYTES = 4 << 10 };

static const struct refusal no_token = {
    401, "no_token", "a token is needed: Authorization: Bearer TOKEN", WEB_BAD_TOKEN};
static const struct refusal wrong_token = {
    401, "wrong_token", "this token is unknown, expired or revoked", WEB_BAD_TOKEN};
static const struct refusal too_often = {429, "too_many_failures",
                                         "too many wrong tokens or codes came from this address",
                                         WEB_TOO_OFTEN};

/* Counts a wrong token or code; returns what the client is told. */
static const struct refusal *note_failure(struct client *c, int64_t *ret_retry_ms)
{
    *ret_retry_ms = peers_fail(&c->web->peers, &c->key, time_mono_us() / 1000);
    return *ret_retry_ms ? &too_often : &wrong_token;
}

/* ---- tokens ---- */

static bool identify(struct client *c, struct str token)
{
    const struct web_settings *s = &c->web->s;
    sha256_of(token, c->hash);
    c->has_hash = s->identify && s->identify(s->arg, c->hash, &c->who);
    if (c->has_hash)
        client_know(c);
    return c->has_hash;
}

bool judge_again(struct client *c)
{
    const struct web_settings *s = &c->web->s;
    return !c->has_hash || s->identify(s->arg, c->hash, &c->who);
}

bool judge_is_login(const struct client *c)
{
    return c->web->s.login_await && !c->web->s.greet && str_is(c->head.path, "/v1/login") &&
           str_is(c->head.method, "POST");
}

static bool is_open(const struct client *c)
{
    const char *const *path = c->web->s.open_paths;
    bool only_reads = str_is(c->head.method, "GET") || str_is(c->head.method, "HEAD");
    if (judge_is_login(c))
        return true;
    while (only_reads && path && *path && !str_is(c->head.path, *path))
        path++;
    return only_reads && path && *path;
}

/* A page cannot see the status of a refused handshake, but it sees the code of a Close. */
static void refuse_token(struct client *c, bool is_wrong)
{
    int64_t retry_ms = 0;
    const struct refusal *why = is_wrong ? note_failure(c, &retry_ms) : &no_token;
    if (why->status != 401 || !guard_wants_upgrade(&c->head)) {
        client_refuse(c, why, retry_ms);
        return;
    }
    c->web->counts.refused[why->reason]++;
    socket_accept(c);
    socket_close(c, WEB_CLOSE_TOKEN, why->detail);
}

/* Whether the request may go on; else it was refused. */
static bool check_token(struct client *c)
{
    struct str token = guard_token(&c->head);
    if (c->web->s.greet)
        return true; /* the peer is known */
    c->has_hash = false;
    c->who = (struct web_identity){0};
    if (token.p ? identify(c, token) : is_open(c))
        return true;
    refuse_token(c, token.p);
    return false;
}

/* ---- the head is complete ---- */

static void begin_body(struct client *c)
{
    size_t limit = judge_is_login(c) ? LOGIN_BYTES : c->web->s.body_bytes;
    const struct refusal *why = body_begin(&c->body, &c->head, limit);
    if (why) {
        client_refuse(c, why, 0);
    } else if (c->body.state == BODY_DONE) {
        client_run(c);
    } else {
        c->state = CLIENT_BODY;
        if (!judge_is_login(c)) /* a stranger's body must come in the time of its head */
            timer_start(c->timer, c->web->times.body);
        if (head_get(&c->head, "Expect").p)
            writer_put(c->writer, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    }
}

void judge(struct client *c)
{
    const struct refusal *why = guard_check(&c->web->guard, &c->head);
    c->web->counts.requests++;
    c->closes |= c->head.closes;
    if (why)
        client_refuse(c, why, 0);
    else if (!(c->web->s.has_page && answer_page(c)) && check_token(c))
        begin_body(c);
}

/* ---- signing in ---- */

struct login {
    struct str code;
};

static const struct row login_rows[] = {
    ROW(login, code, T_STR, NEEDED, "the code of the link"),
    ROW_END,
};

static bool read_login(struct web_request *rq, struct json *doc, struct login *ret)
{
    struct fault fault;
    struct error err;
    AUTO(buf) struct buf said = BUF_INIT;
    if (!json_parse(rq->body, 0, 4, doc, &err)) {
        web_problem(rq, 400, "bad_request", "the body is not JSON: %s", err.text);
        return false;
    }
    if (rows_decode(login_rows, 0, doc->root, ret, &fault))
        return true;
    fault_say(&fault, &said);
    web_problem(rq, 400, "bad_request", "%s", said.p);
    return false;
}

static void put_login(struct buf *out, const char *token, const struct web_identity *who)
{
    char iso[TIME_ISO_LEN + 1];
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "token", token);
    jw_kz(&w, "role", web_role_names[who->role]);
    if (who->session[0])
        jw_kz(&w, "session", who->session);
    if (who->expires_ms) {
        time_iso(who->expires_ms, iso);
        jw_kz(&w, "expires", iso);
    }
    jw_obj_end(&w);
}

static void fail_login(struct exchange *x, const struct error *err)
{
    struct client *c = x->c;
    int64_t retry_ms = 0;
    if (err->code != ERR_AUTH) {
        web_problem(&x->rq, 503, "login_failed", "%s", err->text);
    } else if (c->web) {
        const struct refusal *why = note_failure(c, &retry_ms);
        c->web->counts.refused[why->reason]++;
        if (retry_ms)
            web_problem(&x->rq, why->status, why->code, "%s", why->detail);
        else
            web_problem(&x->rq, 401, "wrong_code", "this code is unknown, used or too old");
    }
}

void judge_login_fiber(struct exchange *x)
{
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    const struct web_settings s = x->c->web->s;
    struct web_identity who = {0};
    struct login in = {0};
    struct error err;
    char token[TOKEN_LEN + 1] = "";
    if (!read_login(&x->rq, &doc, &in))
        return;
    if (s.login_await(s.arg, in.code, token, &who, &err)) {
        put_login(&body, token, &who);
        web_reply(&x->rq, 200, NULL, &body);
    } else {
        fail_login(x, &err);
    }
    explicit_bzero(token, sizeof token);
}
