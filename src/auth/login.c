/* SPDX-License-Identifier: MIT */
/* The sign-in as a fiber.  The listener's callback and login_submit only store a code or a refusal
 * and wake it; every outcome ends in the last lines of login_fiber.
 */
#include "auth/login.h"

#include "auth/form.h"
#include "auth/oauth.h"
#include "auth/pkce.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/time.h"
#include "net/listen.h"

enum {
    SLOW_DOWN_MS = 5000,
    LINGER_MS = 2000, /* time for the browser to fetch the final page */
};

struct login_waiter {
    struct login_waiter *next;
    struct wait wait;
};

struct login {
    struct loop *l;
    struct auth_store *st;
    struct arena arena; /* of what follows */
    struct login_options o;
    struct grant grant;
    struct device device;
    struct str code; /* p set: received */
    char id[UUID_LEN + 1];
    struct pkce pkce;
    struct buf url, redirect_uri, callback_path;
    struct http_listener *listener;
    enum login_status status;
    struct error err;   /* why it ended, or the refusal that ends it */
    struct wait news;   /* a code or a refusal was received */
    struct wait served; /* the last page was fetched */
    struct fiber *fiber;
    struct login_waiter *waiters;
    unsigned n_users; /* owner, fiber, waiters */
    bool is_freed;    /* by its owner */
    bool was_refused;
};

static void emit(struct login *lg, enum login_event event)
{
    if (lg->o.on_event && !lg->is_freed)
        lg->o.on_event(lg->o.arg, lg, event);
}

static void login_release(struct login *lg)
{
    if (--lg->n_users > 0)
        return;
    listener_free(lg->listener);
    buf_clear(&lg->url);
    buf_clear(&lg->redirect_uri);
    buf_clear(&lg->callback_path);
    arena_clear(&lg->arena);
    auth_store_free(lg->st);
    free(lg);
}

/* ---- the redirect back ---- */

enum back { BACK_CODE, BACK_REFUSED, BACK_WRONG_STATE, BACK_WRONG_ISSUER, BACK_NOTHING };

static bool has_state(const struct login *lg)
{
    return lg->grant.issuer->style != ISSUER_KEY; /* there the random path protects it */
}

static bool is_state_right(const struct login *lg, struct str state)
{
    return !has_state(lg) || pkce_is_same(state, str_of(lg->pkce.state));
}

static bool is_waiting(const struct login *lg)
{
    return lg->status == LOGIN_PENDING && !lg->code.p && !lg->was_refused;
}

static void take_refusal(struct login *lg, struct str error, struct str words)
{
    struct str said = str_cut(words.n ? words : error, 180);
    lg->was_refused = true;
    error_set_origin(&lg->err, ERR_DENIED, ORIGIN_REMOTE, "%s refused the sign-in: %.*s",
                     lg->grant.issuer->title, STR_FMT(said));
    wait_wake(&lg->news);
}

/* False ends the sign-in: this browser was led to another issuer, to which the code would go next
 * (RFC 9207).  Nothing of what came back is used or shown. */
static bool check_issuer(struct login *lg, struct str iss)
{
    const struct issuer *i = lg->grant.issuer;
    if (!i->identifier || (iss.p ? str_is(iss, i->identifier) : !i->names_itself))
        return true;
    if (is_waiting(lg)) {
        lg->was_refused = true;
        error_set(&lg->err, ERR_DENIED, "the sign-in at %s came back with %s: expected %.200s",
                  i->title, iss.p ? "another issuer" : "no issuer", i->identifier);
        wait_wake(&lg->news);
    }
    return false;
}

static void take_code(struct login *lg, struct str code)
{
    lg->code = arena_str(&lg->arena, code);
    wait_wake(&lg->news);
}

/* Reads the query of the redirect; the first valid one decides. */
static enum back take_query(struct login *lg, struct str query)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str code = form_get(query, "code", &a);
    struct str error = form_get(query, "error", &a);
    if (!code.n && !error.n)
        return BACK_NOTHING;
    if (!is_state_right(lg, form_get(query, "state", &a)))
        return BACK_WRONG_STATE;
    if (!check_issuer(lg, form_get(query, "iss", &a)))
        return BACK_WRONG_ISSUER;
    if (!is_waiting(lg))
        return lg->was_refused ? BACK_REFUSED : BACK_CODE;
    if (code.n) {
        take_code(lg, code);
        return BACK_CODE;
    }
    take_refusal(lg, error, form_get(query, "error_description", &a));
    return BACK_REFUSED;
}

static void answer_text(struct listen_answer *a, int status, const char *text)
{
    a->status = status;
    buf_addf(&a->body, "%s\n", text);
}

static void answer_callback(struct login *lg, struct str query, struct listen_answer *a)
{
    bool is_plain = lg->o.answers_plainly;
    switch (take_query(lg, query)) {
    case BACK_CODE:
        if (is_plain) {
            answer_text(a, 200, "The sign-in has arrived. You can close this page.");
            break;
        }
        a->status = 302;
        buf_addz(&a->location, "/success");
        break;
    case BACK_REFUSED:
        answer_text(a, is_plain ? 200 : 400, "The sign-in was refused. You can close this page.");
        break;
    case BACK_WRONG_STATE:
        if (lg->o.ends_on_wrong_state && is_waiting(lg)) {
            lg->was_refused = true;
            error_set(&lg->err, ERR_DENIED, "OAuth login failed: state mismatch.");
            wait_wake(&lg->news);
        }
        answer_text(a, 400, "This answer belongs to another sign-in and was not used.");
        break;
    case BACK_WRONG_ISSUER:
        answer_text(a, is_plain ? 200 : 400, "This answer came from elsewhere and was not used.");
        break;
    case BACK_NOTHING:
        answer_text(a, 400, "There is no code in this address.");
        break;
    }
}

/* Any web page can request this address; only the one of this sign-in has its state. */
static void answer_cancel(struct login *lg, struct str query, struct listen_answer *a)
{
    AUTO(arena) struct arena arena = ARENA_INIT;
    if (!pkce_is_same(form_get(query, "state", &arena), str_of(lg->pkce.state))) {
        answer_text(a, 400, "This belongs to another sign-in and was not used.");
        return;
    }
    answer_text(a, 200, "The sign-in was cancelled. You can close this page.");
    login_cancel(lg);
}

static void on_request(void *arg, struct str path, struct str query, struct listen_answer *ret)
{
    struct login *lg = arg;
    if (str_eq(path, buf_str(&lg->callback_path))) {
        answer_callback(lg, query, ret);
    } else if (str_is(path, "/success")) {
        ret->status = 200;
        ret->content_type = "text/html; charset=utf-8";
        buf_addz(&ret->body, "<!doctype html><title>trivet</title><p>The sign-in has arrived. "
                             "You can close this page.</p>\n");
        if (lg->status != LOGIN_PENDING || lg->code.p)
            wait_wake(&lg->served);
    } else if (str_is(path, "/cancel")) {
        answer_cancel(lg, query, ret);
    }
}

/* A whole address, its query alone, "code#state" or the code. */
static enum back take_pasted(struct login *lg, struct str text)
{
    struct str head, rest = str_split(text, '?', &head);
    struct str query = rest.p ? rest : text;
    if (str_starts(query, STR("code=")) || str_starts(query, STR("error=")) ||
        str_starts(query, STR("state=")) || str_find(query, STR("&code=")) != SIZE_MAX) {
        str_split(query, '#', &query);
        return take_query(lg, query);
    }
    if (rest.p || str_find(text, STR("://")) != SIZE_MAX)
        return BACK_NOTHING;
    struct str code, state = str_split(text, '#', &code);
    if (state.p && !is_state_right(lg, state))
        return BACK_WRONG_STATE;
    if (!code.n)
        return BACK_NOTHING;
    take_code(lg, code);
    return BACK_CODE;
}

bool login_submit(struct login *lg, struct str text, struct error *err)
{
    if (!is_waiting(lg) || !lg->listener)
        return error_set(err, ERR_BUSY, "the sign-in does not expect a code");
    switch (take_pasted(lg, str_trim(text))) {
    case BACK_WRONG_STATE:
        return error_set(err, ERR_DENIED, "the code belongs to another sign-in: wrong state");
    case BACK_NOTHING:
        return error_set(err, ERR_INVALID, "the text contains no code");
    case BACK_REFUSED: /* the sign-in ends with the issuer's error */
    case BACK_WRONG_ISSUER:
    case BACK_CODE:
        break;
    }
    return true;
}

/* ---- sign-in by browser ---- */

static bool open_listener(struct login *lg, struct error *err)
{
    const int wanted[] = {lg->o.port, 0};
    const int *ports = lg->o.port ? wanted : lg->grant.issuer->ports;
    size_t n = lg->o.port ? ARRAY_LEN(wanted) : ARRAY_LEN(lg->grant.issuer->ports);
    for (size_t i = 0; i < n && !lg->listener; i++)
        lg->listener = listener_new(lg->l, ports[i], on_request, lg, err);
    return lg->listener != NULL;
}

static bool prepare_browser(struct login *lg, struct error *err)
{
    const struct issuer *issuer = lg->grant.issuer;
    if (!open_listener(lg, err))
        return false;
    buf_addz(&lg->callback_path, issuer->redirect_path);
    if (!has_state(lg))
        buf_addf(&lg->callback_path, "/%s", lg->pkce.state);
    buf_reset(&lg->redirect_uri);
    buf_addf(&lg->redirect_uri, "http://localhost:%d%s", listener_port(lg->listener),
             lg->callback_path.p);
    buf_reset(&lg->url);
    oauth_authorize_url(&lg->url, &lg->grant, &lg->pkce, buf_str(&lg->redirect_uri), lg->o.scope,
                        lg->o.originator);
    return true;
}

static bool fail_late(const struct login *lg, struct error *err)
{
    int64_t seconds = lg->o.timeout_ms / 1000;
    return error_set(err, ERR_TIMEOUT, "the sign-in was not finished within %lld seconds",
                     (long long)seconds);
}

static bool browser_await(struct login *lg, struct auth_entry *ret, struct error *err)
{
    if (!lg->listener && !prepare_browser(lg, err))
        return false;
    emit(lg, LOGIN_EV_URL);
    if (!wait_timed_await(lg->l, &lg->news, lg->o.timeout_ms, err))
        return err->code == ERR_TIMEOUT ? fail_late(lg, err) : false;
    if (lg->was_refused) {
        *err = lg->err;
        return false;
    }
    struct oauth_code c = {lg->code, str_of(lg->pkce.verifier), buf_str(&lg->redirect_uri)};
    return oauth_code_await(&lg->grant, &c, &lg->arena, ret, err);
}

/* ---- sign-in by device code ---- */

static bool may_pass(const struct error *err)
{
    return err->code == ERR_NETWORK || err->code == ERR_TIMEOUT || err->code == ERR_CUT ||
           err->code == ERR_PROVIDER || err->code == ERR_RATE;
}

/* Polls until the user has entered the code. */
static bool poll_await(struct login *lg, struct device_answer *ret, struct error *err)
{
    struct device *d = &lg->device;
    int64_t end_us = time_mono_us() + MIN(lg->o.timeout_ms, d->lasts_ms) * 1000;
    for (;;) {
        int64_t left_ms = (end_us - time_mono_us()) / 1000;
        if (!sleep_await(lg->l, MAX(MIN(d->interval_ms, left_ms), (int64_t)1), err))
            return false;
        if (time_mono_us() >= end_us)
            return fail_late(lg, err);
        struct device_answer a = {.state = DEVICE_PENDING};
        if (!oauth_device_poll_await(&lg->grant, d, &lg->arena, &a, err) && !may_pass(err))
            return false;
        if (a.state == DEVICE_SLOW_DOWN)
            d->interval_ms += lg->o.slow_down_ms;
        if (a.state == DEVICE_GRANTED) {
            *ret = a;
            return true;
        }
    }
}

static bool device_await(struct login *lg, struct auth_entry *ret, struct error *err)
{
    struct device_answer a;
    if (!oauth_device_start_await(&lg->grant, &lg->arena, &lg->device, err))
        return false;
    issuer_url(&lg->url, &lg->grant.issuer->device_page);
    issuer_url(&lg->redirect_uri, &lg->grant.issuer->device_redirect);
    emit(lg, LOGIN_EV_URL);
    emit(lg, LOGIN_EV_DEVICE_CODE);
    if (!poll_await(lg, &a, err))
        return false;
    struct oauth_code c = {a.code, a.verifier, buf_str(&lg->redirect_uri)};
    return oauth_code_await(&lg->grant, &c, &lg->arena, ret, err);
}

/* ---- the fiber ---- */

static bool find_tokens_await(struct login *lg, struct auth_entry *ret, struct error *err)
{
    bool is_auto = lg->o.way == LOGIN_AUTO;
    if (lg->o.way == LOGIN_BROWSER || (is_auto && !login_is_headless()))
        return browser_await(lg, ret, err);
    if (device_await(lg, ret, err))
        return true;
    if (is_auto && err->code == ERR_NOT_FOUND && lg->url.n == 0)
        return browser_await(lg, ret, err);
    return false;
}

/* Optional data: a failure here does not fail the sign-in. */
static void add_extras_await(struct login *lg, struct auth_entry *e)
{
    struct error ignored;
    if (lg->o.wants_api_key && lg->grant.issuer->offers_api_key && e->id_token.n)
        oauth_api_key_await(&lg->grant, e->id_token, &lg->arena, &e->api_key, &ignored);
    if (lg->grant.issuer->profile.path)
        oauth_profile_await(&lg->grant, &lg->arena, e, &ignored);
}

static bool run_await(struct login *lg, struct error *err)
{
    struct auth_entry e;
    if (!find_tokens_await(lg, &e, err))
        return false;
    add_extras_await(lg, &e);
    if (fiber_is_canceled())
        return error_set(err, ERR_CANCELED, "canceled");
    return auth_store_put_await(lg->st, login_provider(lg), &e, err);
}

static void finish(struct login *lg, bool ok, const struct error *err)
{
    lg->status = ok ? LOGIN_COMPLETED : LOGIN_FAILED;
    if (!ok)
        lg->err = *err;
    if (!ok && err->code == ERR_CANCELED) {
        lg->status = LOGIN_CANCELLED;
        error_set(&lg->err, ERR_CANCELED, "the sign-in was cancelled");
    }
    for (struct login_waiter *w = lg->waiters; w; w = w->next)
        wait_wake(&w->wait);
    lg->waiters = NULL;
    emit(lg, ok ? LOGIN_EV_COMPLETED : LOGIN_EV_FAILED);
}

static void login_fiber(void *arg)
{
    struct login *lg = arg;
    struct error err;
    emit(lg, LOGIN_EV_STARTED);
    bool ok = run_await(lg, &err);
    finish(lg, ok, &err);
    if (ok && lg->listener && !lg->is_freed && !lg->o.answers_plainly)
        wait_timed_await(lg->l, &lg->served, LINGER_MS, &err);
    listener_free(lg->listener);
    lg->listener = NULL;
    lg->fiber = NULL;
    login_release(lg);
}

/* ---- lifetime ---- */

static void copy_options(struct login *lg, const struct login_options *o)
{
    struct arena *a = &lg->arena;
    lg->o = *o;
    lg->o.client_id = arena_str(a, o->client_id);
    lg->o.scope = arena_str(a, o->scope);
    lg->o.originator = arena_str(a, o->originator);
    lg->o.timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : LIMIT_LOGIN_MS;
    lg->o.slow_down_ms = o->slow_down_ms > 0 ? o->slow_down_ms : SLOW_DOWN_MS;
}

static bool prepare(struct login *lg, struct error *err)
{
    struct issuer_client *c = &lg->grant.client;
    lg->grant.issuer = lg->o.issuer;
    if (!issuer_client(lg->o.issuer, lg->st, lg->o.client_id, c, err))
        return false;
    c->id = arena_str(&lg->arena, c->id); /* settings may change meanwhile */
    c->secret = arena_str(&lg->arena, c->secret);
    return lg->o.way != LOGIN_BROWSER || prepare_browser(lg, err);
}

struct login *login_start(struct loop *l, struct auth_store *st, const struct login_options *o,
                          struct error *err)
{
    struct login *lg = xnew(struct login);
    lg->l = l;
    lg->st = auth_store_ref(st);
    lg->n_users = 1;
    copy_options(lg, o);
    lg->listener = o->listener;
    if (lg->listener)
        listener_hand_over(lg->listener, on_request, lg);
    id_uuid(lg->id);
    pkce_init(&lg->pkce);
    if (!prepare(lg, err)) {
        login_release(lg);
        return NULL;
    }
    lg->n_users++;
    lg->fiber = fiber_start(l, "login", login_fiber, lg);
    return lg;
}

void login_cancel(struct login *lg)
{
    if (lg->status == LOGIN_PENDING && lg->fiber)
        fiber_cancel(lg->fiber);
}

void login_free(struct login *lg)
{
    if (!lg)
        return;
    lg->is_freed = true;
    if (lg->fiber)
        fiber_cancel(lg->fiber);
    login_release(lg);
}

static void forget_waiter(struct login *lg, const struct login_waiter *w)
{
    struct login_waiter **at = &lg->waiters;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

bool login_wait_await(struct login *lg, struct error *err)
{
    struct login_waiter w = {.next = lg->waiters, .wait = WAIT_INIT};
    bool ok = true;
    lg->n_users++;
    if (lg->status == LOGIN_PENDING) {
        lg->waiters = &w;
        ok = wait_await(&w.wait, err);
        forget_waiter(lg, &w);
    }
    if (ok && lg->status != LOGIN_COMPLETED) {
        *err = lg->err;
        ok = false;
    }
    login_release(lg);
    return ok;
}

/* ---- accessors ---- */

const char *login_id(const struct login *lg)
{
    return lg->id;
}

struct str login_provider(const struct login *lg)
{
    return str_of(lg->o.issuer->provider);
}

enum login_status login_status(const struct login *lg)
{
    return lg->status;
}

const char *login_status_name(enum login_status status)
{
    static const char *const names[] = {"pending", "completed", "failed", "cancelled"};
    return names[status];
}

struct str login_url(const struct login *lg)
{
    return buf_str(&lg->url);
}

struct str login_redirect_uri(const struct login *lg)
{
    return buf_str(&lg->redirect_uri);
}

struct str login_user_code(const struct login *lg)
{
    return lg->device.user_code;
}

int64_t login_code_lasts_ms(const struct login *lg)
{
    return lg->device.lasts_ms;
}

int64_t login_interval_ms(const struct login *lg)
{
    return lg->device.interval_ms;
}

int64_t login_timeout_ms(const struct login *lg)
{
    return lg->o.timeout_ms;
}

const struct error *login_error(const struct login *lg)
{
    return &lg->err;
}

bool login_is_headless(void)
{
    static const char *const remote[] = {"CI", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"};
    for (size_t i = 0; i < ARRAY_LEN(remote); i++)
        if (getenv(remote[i]) && *getenv(remote[i]))
            return true;
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return !(x && *x) && !(wayland && *wayland);
}

bool logout_await(struct auth_store *st, struct str provider, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry e;
    struct error ignored;
    const struct issuer *issuer = issuer_of(provider);
    bool was_there = auth_store_get(st, provider, &a, &e, &ignored);
    if (!auth_store_remove_await(st, provider, err))
        return false;
    struct grant g = {.issuer = issuer};
    if (was_there && e.type == AUTH_OAUTH && issuer && issuer->revoke.path &&
        issuer_client(issuer, st, e.client_id, &g.client, &ignored))
        oauth_revoke_await(&g, &e, &ignored);
    return true;
}
