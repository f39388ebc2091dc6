/* SPDX-License-Identifier: MIT */
#include "auth/oauth.h"

#include "auth/form.h"
#include "auth/jwt.h"
#include "auth/pkce.h"
#include "base/time.h"

enum {
    REFRESH_GRACE_MS = 3000,
    SHORT_MS = 5000, /* for optional requests */
    DEVICE_INTERVAL_MS = 5000,
    DEVICE_LASTS_MS = 15 * 60 * 1000,
};

static struct token_exchange exchange_of(const struct grant *g, const struct issuer_url *url,
                                         const char *what, const struct buf *body, bool is_json)
{
    return (struct token_exchange){.issuer = g->issuer,
                                   .url = url,
                                   .what = what,
                                   .body = buf_str(body),
                                   .is_json = is_json,
                                   .basic = g->issuer->secret_in_header ? &g->client : NULL};
}

/* Sends a request; false unless it succeeded. */
static bool ask_await(const struct token_exchange *x, struct token_answer *ret, struct error *err)
{
    struct token_answer a = ANSWER_INIT;
    if (!exchange_await(x, &a, err))
        return false;
    if (answer_check(&a, x, err)) {
        *ret = a;
        return true;
    }
    token_answer_clear(&a);
    return false;
}

/* ---- the authorize page ---- */

void oauth_authorize_url(struct buf *out, const struct grant *g, const struct pkce *p,
                         struct str redirect_uri, struct str scope, struct str originator)
{
    const struct issuer *i = g->issuer;
    issuer_url(out, &i->authorize);
    buf_addc(out, '?');
    if (i->style == ISSUER_KEY) {
        form_put(out, "callback_url", redirect_uri);
    } else {
        form_put(out, "response_type", STR("code"));
        form_put(out, "client_id", g->client.id);
        form_put(out, "redirect_uri", redirect_uri);
        scope = scope.n ? scope : str_of(i->scope);
        if (scope.n)
            form_put(out, "scope", scope);
        if (i->resource)
            form_put(out, "resource", str_of(i->resource));
        form_put(out, "state", str_of(p->state));
    }
    form_put(out, "code_challenge", str_of(p->challenge));
    form_put(out, "code_challenge_method", STR("S256"));
    if (i->extra_query)
        buf_addz(out, i->extra_query);
    if (i->names_originator)
        form_put(out, "originator", originator.n ? originator : STR("trivet"));
}

/* ---- tokens ---- */

/* Seconds as a number or as text; 0 when there are none. */
static int64_t read_seconds_ms(yyjson_val *v)
{
    int64_t whole = 0;
    double seconds = yyjson_is_num(v) ? yyjson_get_num(v) : 0;
    if (yyjson_is_str(v) && str_int(json_str(v), &whole))
        seconds = (double)whole;
    return seconds > 0 && seconds < 1e9 ? (int64_t)(seconds * 1000) : 0;
}

static int64_t read_expiry(yyjson_val *root, struct str access)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct claims claims = {0};
    int64_t lasts_ms = read_seconds_ms(json_get(root, "expires_in"));
    if (lasts_ms)
        return time_now_ms() + lasts_ms;
    jwt_claims(access, &a, &claims);
    return claims.expires_ms;
}

/* Account data from the id token or else from the access token. */
static void read_owner(struct auth_entry *e, struct arena *a)
{
    struct claims from_id = {0}, from_access = {0};
    jwt_claims(e->id_token, a, &from_id);
    jwt_claims(e->access, a, &from_access);
    struct str account = from_id.account_id.n ? from_id.account_id : from_access.account_id;
    struct str email = from_id.email.n ? from_id.email : from_access.email;
    struct str plan = from_id.plan.n ? from_id.plan : from_access.plan;
    e->account_id = account.n ? account : e->account_id;
    e->email = email.n ? email : e->email;
    e->plan = plan.n ? plan : e->plan;
}

/* old: values kept where the answer has none. */
static bool read_tokens(const struct token_answer *from, const struct token_exchange *x,
                        const struct auth_entry *old, struct arena *a, struct auth_entry *ret,
                        struct error *err)
{
    yyjson_val *root = from->json.root;
    struct auth_entry e = *old;
    struct str refresh = auth_get_str(root, "refresh_token", a);
    struct str id_token = auth_get_str(root, "id_token", a);
    e.type = AUTH_OAUTH;
    e.access = auth_get_str(root, "access_token", a);
    if (!e.access.n)
        return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE, "%s: %s gave no access token",
                                x->what, x->issuer->title);
    e.refresh = refresh.n ? refresh : old->refresh;
    e.id_token = id_token.n ? id_token : old->id_token;
    e.expires_ms = read_expiry(root, e.access);
    read_owner(&e, a);
    *ret = e;
    return true;
}

/* The client id is stored in the entry unless it is the default. */
static struct str client_to_keep(const struct grant *g, struct arena *a)
{
    bool is_usual = str_eq(g->client.id, str_of(g->issuer->client_id));
    return is_usual || !g->client.id.n ? STR_NONE : arena_str(a, g->client.id);
}

static void put_code_form(struct buf *body, const struct grant *g, struct str code,
                          struct str verifier, struct str redirect_uri)
{
    form_put(body, "grant_type", STR("authorization_code"));
    form_put(body, "code", code);
    form_put(body, "redirect_uri", redirect_uri);
    form_put(body, "client_id", g->client.id);
    if (g->client.secret.n && !g->issuer->secret_in_header)
        form_put(body, "client_secret", g->client.secret);
    if (g->issuer->resource)
        form_put(body, "resource", str_of(g->issuer->resource));
    form_put(body, "code_verifier", verifier);
}

static bool code_for_key_await(const struct grant *g, struct str code, struct str verifier,
                               struct arena *a, struct auth_entry *ret, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kstr(&w, "code", code);
    jw_kstr(&w, "code_verifier", verifier);
    jw_kz(&w, "code_challenge_method", "S256");
    jw_obj_end(&w);
    struct token_exchange x = exchange_of(g, &g->issuer->token, "signing in", &body, true);
    if (!ask_await(&x, &got, err))
        return false;
    struct str key = auth_get_str(got.json.root, "key", a);
    if (!key.n)
        return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE, "signing in: %s gave no key",
                                g->issuer->title);
    *ret = (struct auth_entry){.type = AUTH_API_KEY,
                               .access = key,
                               .account_id = auth_get_str(got.json.root, "user_id", a)};
    return true;
}

bool oauth_code_await(const struct grant *g, const struct oauth_code *c, struct arena *a,
                      struct auth_entry *ret, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    if (g->issuer->style == ISSUER_KEY)
        return code_for_key_await(g, c->code, c->verifier, a, ret, err);
    put_code_form(&body, g, c->code, c->verifier, c->redirect_uri);
    struct token_exchange x = exchange_of(g, &g->issuer->token, "signing in", &body, false);
    const struct auth_entry fresh = {.client_id = client_to_keep(g, a)};
    return ask_await(&x, &got, err) && read_tokens(&got, &x, &fresh, a, ret, err);
}

static void put_refresh_json(struct buf *body, const struct grant *g, struct str refresh)
{
    struct jw w = JW(body);
    jw_obj(&w);
    jw_kstr(&w, "client_id", g->client.id);
    jw_kz(&w, "grant_type", "refresh_token");
    jw_kstr(&w, "refresh_token", refresh);
    jw_obj_end(&w);
}

static void put_refresh_form(struct buf *body, const struct grant *g, struct str refresh)
{
    form_put(body, "client_id", g->client.id);
    if (g->client.secret.n && !g->issuer->secret_in_header)
        form_put(body, "client_secret", g->client.secret);
    if (g->issuer->resource)
        form_put(body, "resource", str_of(g->issuer->resource));
    form_put(body, "grant_type", STR("refresh_token"));
    form_put(body, "refresh_token", refresh);
}

bool oauth_refresh_await(const struct grant *g, const struct auth_entry *old, struct arena *a,
                         struct auth_entry *ret, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    bool is_json = g->issuer->refreshes_by_json;
    if (is_json)
        put_refresh_json(&body, g, old->refresh);
    else
        put_refresh_form(&body, g, old->refresh);
    struct token_exchange x = exchange_of(g, &g->issuer->token, "refreshing the sign-in", &body,
                                          is_json);
    x.grace_ms = REFRESH_GRACE_MS;
    return ask_await(&x, &got, err) && read_tokens(&got, &x, old, a, ret, err);
}

bool oauth_api_key_await(const struct grant *g, struct str id_token, struct arena *a,
                         struct str *ret_key, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    form_put(&body, "grant_type", STR("urn:ietf:params:oauth:grant-type:token-exchange"));
    form_put(&body, "client_id", g->client.id);
    form_put(&body, "requested_token", STR("openai-api-key"));
    form_put(&body, "subject_token", id_token);
    form_put(&body, "subject_token_type", STR("urn:ietf:params:oauth:token-type:id_token"));
    struct token_exchange x = exchange_of(g, &g->issuer->token, "asking for an API key", &body,
                                          false);
    if (!ask_await(&x, &got, err))
        return false;
    struct str key = auth_get_str(got.json.root, "access_token", a);
    if (!key.n)
        return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE, "%s gave no API key",
                                g->issuer->title);
    *ret_key = key;
    return true;
}

bool oauth_profile_await(const struct grant *g, struct arena *a, struct auth_entry *e,
                         struct error *err)
{
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    struct buf none = BUF_INIT;
    struct token_exchange x = exchange_of(g, &g->issuer->profile, "reading the profile", &none,
                                          false);
    x.bearer = e->access;
    x.timeout_ms = SHORT_MS;
    if (!ask_await(&x, &got, err))
        return false;
    e->email = auth_get_str(got.json.root, "email", a);
    e->name = auth_get_str(got.json.root, "name", a);
    e->picture = auth_get_str(got.json.root, "picture", a);
    return true;
}

bool oauth_revoke_await(const struct grant *g, const struct auth_entry *e, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kstr(&w, "token", e->refresh.n ? e->refresh : e->access);
    jw_kz(&w, "token_type_hint", e->refresh.n ? "refresh_token" : "access_token");
    jw_kstr(&w, "client_id", g->client.id);
    jw_obj_end(&w);
    struct token_exchange x = exchange_of(g, &g->issuer->revoke, "signing out", &body, true);
    x.timeout_ms = SHORT_MS;
    if (!exchange_await(&x, &got, err))
        return false;
    return (got.status >= 200 && got.status < 300) || answer_check(&got, &x, err);
}

/* ---- device codes ---- */

bool oauth_device_start_await(const struct grant *g, struct arena *a, struct device *ret,
                              struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    if (!g->issuer->device_start.path)
        return error_set(err, ERR_NOT_FOUND, "%s offers no device codes", g->issuer->title);
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kstr(&w, "client_id", g->client.id);
    jw_obj_end(&w);
    struct token_exchange x = exchange_of(g, &g->issuer->device_start, "asking for a device code",
                                          &body, true);
    if (!ask_await(&x, &got, err))
        return false;
    yyjson_val *root = got.json.root;
    struct str code = auth_get_str(root, "user_code", a);
    int64_t interval_ms = read_seconds_ms(json_get(root, "interval"));
    int64_t lasts_ms = read_seconds_ms(json_get(root, "expires_in"));
    struct device d = {.id = auth_get_str(root, "device_auth_id", a),
                       .user_code = code.n ? code : auth_get_str(root, "usercode", a),
                       .interval_ms = interval_ms ? interval_ms : DEVICE_INTERVAL_MS,
                       .lasts_ms = lasts_ms ? lasts_ms : DEVICE_LASTS_MS};
    if (!d.id.n || !d.user_code.n)
        return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE, "%s gave no device code",
                                g->issuer->title);
    *ret = d;
    return true;
}

/* Whether the error only means that the user is not done yet. */
static bool is_pending(const struct token_answer *a, enum device_state *ret)
{
    *ret = DEVICE_PENDING;
    if (strcmp(a->code, "slow_down") == 0) {
        *ret = DEVICE_SLOW_DOWN;
        return true;
    }
    if (strcmp(a->code, "authorization_pending") == 0 ||
        strcmp(a->code, "deviceauth_authorization_pending") == 0)
        return true;
    bool says_no = strcmp(a->code, "access_denied") == 0 || strcmp(a->code, "expired_token") == 0;
    return !says_no && (a->status == 403 || a->status == 404);
}

static bool read_device_code(const struct token_answer *got, const struct grant *g, struct arena *a,
                             struct device_answer *ret, struct error *err)
{
    struct device_answer d = {.state = DEVICE_GRANTED,
                              .code = auth_get_str(got->json.root, "authorization_code", a),
                              .verifier = auth_get_str(got->json.root, "code_verifier", a)};
    if (!d.code.n || !d.verifier.n)
        return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE,
                                "%s gave no authorization code for the device", g->issuer->title);
    *ret = d;
    return true;
}

bool oauth_device_poll_await(const struct grant *g, const struct device *d, struct arena *a,
                             struct device_answer *ret, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(token_answer) struct token_answer got = ANSWER_INIT;
    enum device_state state;
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kstr(&w, "device_auth_id", d->id);
    jw_kstr(&w, "user_code", d->user_code);
    jw_obj_end(&w);
    struct token_exchange x = exchange_of(g, &g->issuer->device_poll, "waiting for the device code",
                                          &body, true);
    if (!exchange_await(&x, &got, err))
        return false;
    if (is_pending(&got, &state)) {
        *ret = (struct device_answer){.state = state};
        return true;
    }
    return answer_check(&got, &x, err) && read_device_code(&got, g, a, ret, err);
}
