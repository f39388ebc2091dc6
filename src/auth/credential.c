/* SPDX-License-Identifier: MIT */
/* Credentials.  A token refresh runs in its own fiber, so that canceling one caller does not lose
 * the answer that other callers wait for:
 *
 *     callers --+--> renewal (one per provider) --> lock file --> read again --> issuer --> swap
 *               '--- wait, then read the store again: the file is authoritative
 *
 * The hash of a permanently refused refresh token is remembered, and the token is not sent again.
 * After a temporary failure, and for tokens that are valid for less than five minutes, a token that
 * is still valid is used for a while before the next attempt.
 */
#include "auth/credential.h"

#include "auth/jwt.h"
#include "auth/keys.h"
#include "auth/oauth.h"
#include "base/id.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/time.h"
#include "store/file.h"

enum {
    EARLY_MS = 5 * 60 * 1000, /* a token is refreshed this long before it expires */
    TURN_MS = 60 * 1000,      /* longest wait for other processes */
    TURN_STEP_MS = 20,
    REST_MS = 30 * 1000, /* between two refreshes, while the token is still valid */
    STORE_TRIES = 10,
    STORE_STEP_MS = 200,
};

struct renewal_waiter {
    struct renewal_waiter *next;
    struct wait wait;
    bool is_ok;
    struct error err;
};

struct renewal {
    struct renewal *next;
    struct auth_store *st;
    char *provider;
    bool is_running;
    char *refused; /* the access token to replace; NULL: by its expiry time */
    struct renewal_waiter *waiters;
    int64_t rest_us; /* time_mono_us before which no refresh starts without need */
    bool has_dead;
    unsigned char dead[SHA256_LEN]; /* hash of the permanently refused refresh token */
    struct error err;               /* of the last failed refresh */
};

/* ---- reading ---- */

static const struct key_row {
    const char *provider, *env;
    enum auth_type type;
} key_rows[] = {
    {"openai", "OPENAI_API_KEY", AUTH_API_KEY},
    {"openai", "OPENAI_ACCESS_TOKEN", AUTH_OAUTH},
    {"openrouter", "OPENROUTER_API_KEY", AUTH_API_KEY},
    {"anthropic", "ANTHROPIC_API_KEY", AUTH_API_KEY},
    {"gemini", "GEMINI_API_KEY", AUTH_API_KEY},
    {"gemini", "GOOGLE_API_KEY", AUTH_API_KEY},
    {"google", "GEMINI_API_KEY", AUTH_API_KEY},
    {"google", "GOOGLE_API_KEY", AUTH_API_KEY},
    {"exa", "EXA_API_KEY", AUTH_API_KEY},
};

void credential_clear(struct credential *c)
{
    arena_clear(&c->arena);
    *c = CREDENTIAL_INIT;
}

/* Fills missing account data from the claims of the token. */
static void read_claims(struct credential *c)
{
    struct claims claims;
    if (c->type != AUTH_OAUTH || !jwt_claims(c->token, &c->arena, &claims))
        return;
    c->account_id = c->account_id.n ? c->account_id : claims.account_id;
    c->email = c->email.n ? c->email : claims.email;
    c->plan = c->plan.n ? c->plan : claims.plan;
    c->expires_ms = c->expires_ms ? c->expires_ms : claims.expires_ms;
    c->is_fedramp = claims.is_fedramp;
}

static bool peek_env(const char *provider, struct credential *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(key_rows); i++) {
        struct str value = keys_find(key_rows[i].env);
        if (!value.n || strcmp(key_rows[i].provider, provider) != 0)
            continue;
        struct credential c = {.type = key_rows[i].type, .source = CREDENTIAL_ENV};
        c.token = arena_str(&c.arena, value);
        read_claims(&c);
        *ret = c;
        return true;
    }
    return false;
}

bool credential_peek(const struct auth_store *st, const char *provider, struct credential *ret,
                     struct error *err)
{
    struct credential c = {.source = CREDENTIAL_STORED};
    struct auth_entry e;
    if (!st->ignores_env && peek_env(provider, ret))
        return true;
    if (!auth_store_get(st, str_of(provider), &c.arena, &e, err)) {
        arena_clear(&c.arena);
        return err->code == ERR_NOT_FOUND
                   ? error_set(err, ERR_NO_KEY, "no key or sign-in for %s", provider)
                   : false;
    }
    c.type = e.type;
    c.token = e.access;
    c.account_id = e.account_id;
    c.email = e.email;
    c.plan = e.plan;
    c.expires_ms = e.expires_ms;
    read_claims(&c);
    *ret = c;
    return true;
}

/* ---- checking ---- */

static bool is_refused(struct str token, struct str refused)
{
    return !token.n || (refused.n && str_eq(token, refused));
}

static bool ends_within(int64_t expires_ms, int64_t ms)
{
    return expires_ms && expires_ms - time_now_ms() <= ms;
}

static bool is_good(struct str token, int64_t expires_ms, struct str refused)
{
    return !is_refused(token, refused) && !ends_within(expires_ms, EARLY_MS);
}

static bool fail_over(const char *provider, struct error *err)
{
    return error_set(err, ERR_AUTH, "the sign-in for %s has ended; sign in again", provider);
}

/* ---- token refresh ---- */

static bool is_dead(const struct renewal *r, struct str refresh)
{
    unsigned char hash[SHA256_LEN];
    sha256_of(refresh, hash);
    return r->has_dead && memcmp(hash, r->dead, sizeof hash) == 0;
}

/* Permanently refused, unless the user has signed in again meanwhile. */
static bool take_refusal(struct renewal *r, struct str refresh, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry now;
    struct error ignored;
    if (auth_store_get(r->st, str_of(r->provider), &a, &now, &ignored) &&
        !str_eq(now.refresh, refresh))
        return true;
    r->has_dead = true;
    sha256_of(refresh, r->dead);
    error_prefix(err, "the sign-in for %s has ended, sign in again", r->provider);
    return false;
}

/* The old refresh token is invalid now, so the new one must be stored. */
static bool keep_await(struct renewal *r, struct str refresh, const struct auth_entry *e,
                       struct error *err)
{
    struct error ignored;
    for (int tries = 1;; tries++) {
        if (auth_store_swap_await(r->st, str_of(r->provider), refresh, e, err))
            return true;
        if (err->code == ERR_BUSY || err->code == ERR_NOT_FOUND)
            return true; /* a later sign-in or sign-out takes precedence */
        if (tries == STORE_TRIES || !sleep_await(fiber_loop(), STORE_STEP_MS, &ignored))
            return false;
    }
}

static bool refresh_await(struct renewal *r, const struct auth_entry *old, struct arena *a,
                          struct error *err)
{
    struct auth_entry fresh;
    struct grant g = {.issuer = issuer_of(str_of(r->provider))};
    if (!g.issuer || !old->refresh.n || is_dead(r, old->refresh))
        return fail_over(r->provider, err);
    if (!issuer_client(g.issuer, r->st, old->client_id, &g.client, err))
        return false;
    if (fiber_is_canceled())
        return error_set(err, ERR_CANCELED, "canceled");
    if (!oauth_refresh_await(&g, old, a, &fresh, err))
        return err->code == ERR_AUTH && take_refusal(r, old->refresh, err);
    return keep_await(r, old->refresh, &fresh, err);
}

static void put_lock_name(struct buf *out, const struct renewal *r)
{
    unsigned file = r->st->format->owns(0, str_of(r->provider)) ? 0 : 1;
    buf_addf(out, "%s.%s", r->st->paths[file], r->provider);
}

/* Waits for the lock, or until another process has refreshed the token (*ret_has_lock false). */
static bool take_turn_await(struct renewal *r, struct file_lock *lock, struct arena *a,
                            struct auth_entry *ret, bool *ret_has_lock, struct error *err)
{
    AUTO(buf) struct buf name = BUF_INIT;
    put_lock_name(&name, r);
    for (int64_t end_us = time_mono_us() + TURN_MS * 1000;;) {
        bool has_lock = file_lock(lock, buf_str(&name), 0, err);
        if (!has_lock && (err->code != ERR_LOCKED || time_mono_us() > end_us))
            return false;
        arena_clear(a);
        if (!auth_store_get(r->st, str_of(r->provider), a, ret, err))
            return false;
        if (has_lock || is_good(ret->access, ret->expires_ms, str_of(r->refused))) {
            *ret_has_lock = has_lock;
            return true;
        }
        if (!sleep_await(fiber_loop(), TURN_STEP_MS + (int64_t)random_below(TURN_STEP_MS), err))
            return false;
    }
}

static bool renew_story_await(struct renewal *r, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(file_lock) struct file_lock lock = FILE_LOCK_INIT;
    struct auth_entry e;
    struct error why = ERROR_INIT;
    bool has_lock;
    if (!take_turn_await(r, &lock, &a, &e, &has_lock, &why) ||
        (has_lock && !is_good(e.access, e.expires_ms, str_of(r->refused)) &&
         !refresh_await(r, &e, &a, &why))) {
        *err = why;
        return false;
    }
    return true;
}

static void renewal_fiber(void *arg)
{
    struct renewal *r = arg;
    bool ok = renew_story_await(r, &r->err);
    bool was_canceled = !ok && r->err.code == ERR_CANCELED;
    r->rest_us = was_canceled ? 0 : time_mono_us() + REST_MS * 1000LL;
    r->is_running = false;
    free(r->refused);
    r->refused = NULL;
    while (r->waiters) {
        struct renewal_waiter *w = r->waiters;
        r->waiters = w->next;
        w->is_ok = ok;
        w->err = r->err;
        wait_wake(&w->wait);
    }
    auth_store_free(r->st); /* r may be freed after this */
}

void renewals_free(struct renewal *first)
{
    while (first) {
        struct renewal *r = first;
        first = r->next;
        free(r->provider);
        free(r);
    }
}

static struct renewal *renewal_of(struct auth_store *st, const char *provider)
{
    struct renewal *r = st->renewals;
    while (r && strcmp(r->provider, provider) != 0)
        r = r->next;
    if (r)
        return r;
    r = xnew(struct renewal);
    r->st = st;
    r->provider = xstrdup(provider);
    r->next = st->renewals;
    st->renewals = r;
    return r;
}

static void forget_waiter(struct renewal *r, const struct renewal_waiter *w)
{
    struct renewal_waiter **at = &r->waiters;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

static void renewal_start(struct renewal *r, struct str refused)
{
    r->is_running = true;
    r->refused = refused.n ? str_dup(refused) : NULL;
    auth_store_ref(r->st);
    fiber_start(fiber_loop(), "refresh", renewal_fiber, r);
}

/* Starts a refresh, or waits for the running one. */
static bool renew_await(struct renewal *r, struct str refused, struct error *err)
{
    if (!r->is_running)
        renewal_start(r, refused);
    struct renewal_waiter w = {.next = r->waiters};
    r->waiters = &w;
    bool ok = wait_await(&w.wait, err);
    forget_waiter(r, &w);
    if (ok && !w.is_ok)
        *err = w.err;
    return ok && w.is_ok;
}

/* ---- interface ---- */

static bool is_usable(const struct credential *c, struct str refused)
{
    return !is_refused(c->token, refused) && !ends_within(c->expires_ms, 0);
}

/* The token must be refreshed: one attempt.  When that fails, a token that is still valid is
 * used. */
static bool improve_await(struct auth_store *st, const char *provider, struct str refused,
                          struct credential *c, struct error *err)
{
    struct renewal *r = renewal_of(st, provider);
    struct error why = ERROR_INIT;
    if (is_usable(c, refused) && !r->is_running && time_mono_us() < r->rest_us)
        return true;
    bool ok = renew_await(r, refused, &why);
    if (!ok && (fiber_is_canceled() || !is_usable(c, refused))) {
        *err = why;
        return false;
    }
    struct credential now;
    if (!credential_peek(st, provider, &now, err))
        return false;
    credential_clear(c);
    *c = now;
    return true;
}

static bool can_renew(const struct credential *c)
{
    return c->source == CREDENTIAL_STORED && c->type == AUTH_OAUTH;
}

static bool find_await(struct auth_store *st, const char *provider, struct str refused,
                       struct credential *ret, struct error *err)
{
    AUTO(credential) struct credential c = CREDENTIAL_INIT;
    if (!credential_peek(st, provider, &c, err))
        return false;
    if (can_renew(&c) && !is_good(c.token, c.expires_ms, refused) &&
        !improve_await(st, provider, refused, &c, err))
        return false;
    /* The refresh it waited for was started before the refusal: refresh again. */
    if (can_renew(&c) && is_refused(c.token, refused) &&
        !improve_await(st, provider, refused, &c, err))
        return false;
    if (is_refused(c.token, refused))
        return error_set(err, ERR_AUTH, "the %s for %s was refused",
                         c.type == AUTH_API_KEY ? "key" : "token", provider);
    *ret = take(&c);
    return true;
}

bool credential_await(struct auth_store *st, const char *provider, struct credential *ret,
                      struct error *err)
{
    return find_await(st, provider, STR_NONE, ret, err);
}

bool credential_renew_await(struct auth_store *st, const char *provider, struct str refused,
                            struct credential *ret, struct error *err)
{
    return find_await(st, provider, refused, ret, err);
}
