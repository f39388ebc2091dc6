/* SPDX-License-Identifier: MIT */
/* Signing in to OpenAI (kward 339-346): the client shows the address, the browser is redirected to
 * a local port or the user pastes the code, and auth/loginFinished reports the result.  The newest
 * finished logins are kept for auth/loginStatus. */
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"

#include "auth/keys.h"
#include "auth/login.h"

enum { MAX_LOGINS = 32, DEFAULT_SECONDS = 120, MAX_SECONDS = 24 * 60 * 60 };

static const char scope[] =
    "openid profile email offline_access api.connectors.read api.connectors.invoke";

struct kw_login {
    struct kw_login *next; /* newest first */
    struct kward *kward;
    struct login *login;
};

static const struct kw_login *find_login(struct kward *k, struct str id, struct error *err)
{
    for (const struct kw_login *l = k->logins; l; l = l->next)
        if (str_is(id, login_id(l->login)))
            return l;
    error_set(err, ERR_NOT_FOUND, "Unknown login: %.*s", STR_FMT(str_cut(id, 100)));
    return NULL;
}

static void free_logins(struct kw_login *l)
{
    while (l) {
        struct kw_login *next = l->next;
        login_free(l->login);
        free(l);
        l = next;
    }
}

void kw_end_logins(struct kward *k)
{
    free_logins(k->logins);
    k->logins = NULL;
}

static void forget_old(struct kward *k)
{
    struct kw_login *l = k->logins;
    for (int n = 1; l && n < MAX_LOGINS; n++)
        l = l->next;
    if (!l)
        return;
    free_logins(l->next);
    l->next = NULL;
}

/* ---- the login object ---- */

const struct row kw_login_rows[] = {
    ROW_OUT("providerId", T_STR, NEEDED, "openai"),
    ROW_OUT("loginId", T_STR, NEEDED, "id of the login"),
    ROW_OUT("status", T_STR, NEEDED, "pending, completed, failed or cancelled"),
    ROW_OUT("redirectUri", T_STR, NEEDED, "where the browser comes back to"),
    ROW_OUT("message", T_STR, NEEDED, "for the user"),
    ROW_OUT("error", T_STR, OPTIONAL, "why it failed"),
    ROW_END,
};

static void put_login(struct jw *w, const struct login *lg)
{
    static const char *const messages[] = {
        [LOGIN_PENDING] = "OpenAI login pending.",
        [LOGIN_COMPLETED] = "Logged in to OpenAI.",
        [LOGIN_FAILED] = "OpenAI login failed.",
        [LOGIN_CANCELLED] = "OpenAI login cancelled.",
    };
    enum login_status status = login_status(lg);
    jw_obj(w);
    jw_kstr(w, "providerId", login_provider(lg));
    jw_kz(w, "loginId", login_id(lg));
    jw_kz(w, "status", login_status_name(status));
    jw_kstr(w, "redirectUri", login_redirect_uri(lg));
    jw_kz(w, "message", messages[status]);
    if (status == LOGIN_FAILED)
        jw_kstr(w, "error", error_str(login_error(lg)));
    jw_obj_end(w);
}

static void on_login(void *arg, struct login *lg, enum login_event event)
{
    struct kw_login *l = arg;
    AUTO(buf) struct buf params = BUF_INIT;
    if (event != LOGIN_EV_COMPLETED && event != LOGIN_EV_FAILED)
        return;
    if (event == LOGIN_EV_COMPLETED) {
        engine_forget_models(l->kward->sv->engine, login_provider(lg));
        kw_refresh(l->kward);
        kw_refresh_lists(l->kward);
    }
    struct jw w = JW(&params);
    put_login(&w, lg);
    rpc_notify(l->kward->rpc, "auth/loginFinished", buf_str(&params));
}

/* ---- starting ---- */

struct start_params {
    struct str provider_id;
    double seconds;
};

#define SECONDS_ROW                                                                                \
    ROW_AS(start_params, seconds, "timeoutSeconds", T_NUM, NULLABLE,                               \
           "how long to wait for the browser; 120 unless it is positive")

static const struct row oauth_params_rows[] = {
    ROW_AS(start_params, provider_id, "providerId", T_STR, NEEDED | TRIM, "openai"),
    SECONDS_ROW,
    ROW_END,
};

static const struct row start_params_rows[] = {SECONDS_ROW, ROW_END};

static const struct row started_rows[] = {
    ROW_OUT("providerId", T_STR, NEEDED, "openai"),
    ROW_OUT("loginId", T_STR, NEEDED, "id of the login"),
    ROW_OUT("authorizationUrl", T_STR, NEEDED, "the page that the user must open"),
    ROW_OUT("redirectUri", T_STR, NEEDED, "where the browser comes back to"),
    ROW_OUT("status", T_STR, NEEDED, "pending"),
    ROW_END,
};

static int64_t timeout_ms(double seconds)
{
    double s = seconds > 0 ? MIN(seconds, (double)MAX_SECONDS) : (double)DEFAULT_SECONDS;
    return MAX((int64_t)(s * 1000), (int64_t)1);
}

static int callback_port(void)
{
    int64_t port;
    bool is_given = str_int(keys_find("KWARD_OAUTH_PORT"), &port) && port > 0 && port < 65536;
    return is_given ? (int)port : 0;
}

static bool start_login(struct kward *k, double seconds, struct jw *w, struct error *err)
{
    struct kw_login *l = xnew(struct kw_login);
    l->kward = k;
    l->login = login_start(k->sv->loop, engine_auth(k->sv->engine),
                           &(struct login_options){.issuer = issuer_find(STR("openai")),
                                                   .way = LOGIN_BROWSER,
                                                   .scope = str_of(scope),
                                                   .originator = STR("kward"),
                                                   .port = callback_port(),
                                                   .timeout_ms = timeout_ms(seconds),
                                                   .answers_plainly = true,
                                                   .on_event = on_login,
                                                   .arg = l},
                           err);
    if (!l->login) {
        free(l);
        return false;
    }
    l->next = k->logins;
    k->logins = l;
    forget_old(k);
    jw_obj(w);
    jw_kstr(w, "providerId", login_provider(l->login));
    jw_kz(w, "loginId", login_id(l->login));
    jw_kstr(w, "authorizationUrl", login_url(l->login));
    jw_kstr(w, "redirectUri", login_redirect_uri(l->login));
    jw_kz(w, "status", login_status_name(login_status(l->login)));
    jw_obj_end(w);
    return true;
}

static bool login_with_oauth(struct request *rq, struct jw *w, struct error *err)
{
    const struct start_params *p = rq->args;
    if (!str_is(p->provider_id, "openai"))
        return error_set(err, ERR_INVALID, "Unsupported OAuth provider: %.*s",
                         STR_FMT(str_cut(p->provider_id, 100)));
    return start_login(rq->dialect, p->seconds, w, err);
}

const struct method kw_auth_login_with_oauth = {
    .name = "auth/loginWithOAuth",
    .params = oauth_params_rows,
    .params_size = sizeof(struct start_params),
    .result = started_rows,
    .lane = LANE_MAIN,
    .run = login_with_oauth,
    .about = "Starts a sign-in; the client opens the address, no browser is opened here.",
    .errors = "Unsupported OAuth provider: <id>",
};

static bool start_openai(struct request *rq, struct jw *w, struct error *err)
{
    const struct start_params *p = rq->args;
    return start_login(rq->dialect, p->seconds, w, err);
}

const struct method kw_auth_start_openai = {
    .name = "auth/startOpenAILogin",
    .params = start_params_rows,
    .params_size = sizeof(struct start_params),
    .result = started_rows,
    .lane = LANE_MAIN,
    .run = start_openai,
    .about = "The same as auth/loginWithOAuth with openai.",
};

/* ---- auth/submitOpenAICode ---- */

struct code_params {
    struct str login_id, code;
};

static const struct row code_params_rows[] = {
    ROW_AS(code_params, login_id, "loginId", T_STR, NEEDED, "id of the login"),
    ROW_AS(code_params, code, "code", T_STR, NEEDED, "the code, or the address with it"),
    ROW_END,
};

static bool submit(struct login *lg, struct str code, struct error *err)
{
    if (login_submit(lg, code, err))
        return true;
    if (err->code == ERR_BUSY)
        return error_set(err, ERR_BUSY, "Login is not pending");
    if (err->code == ERR_DENIED)
        return error_set(err, ERR_DENIED, "OAuth state mismatch");
    return false;
}

static bool submit_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct code_params *p = rq->args;
    struct kward *k = rq->dialect;
    const struct kw_login *l = find_login(k, p->login_id, err);
    if (!l || !submit(l->login, p->code, err) || !login_wait_await(l->login, err))
        return false;
    l = find_login(k, p->login_id, err); /* it may have been removed meanwhile */
    if (!l)
        return false;
    put_login(w, l->login);
    return true;
}

const struct method kw_auth_submit_code = {
    .name = "auth/submitOpenAICode",
    .params = code_params_rows,
    .params_size = sizeof(struct code_params),
    .result = kw_login_rows,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = submit_await,
    .about = "Finishes a sign-in with the code or the address the browser was sent to.",
    .errors = "Unknown login: <id>; Login is not pending; OAuth state mismatch",
};

/* ---- auth/loginStatus ---- */

struct login_params {
    struct str login_id;
};

static const struct row login_params_rows[] = {
    ROW_AS(login_params, login_id, "loginId", T_STR, NEEDED, "id of the login"),
    ROW_END,
};

static bool status(struct request *rq, struct jw *w, struct error *err)
{
    const struct login_params *p = rq->args;
    const struct kw_login *l = find_login(rq->dialect, p->login_id, err);
    if (!l)
        return false;
    put_login(w, l->login);
    return true;
}

const struct method kw_auth_login_status = {
    .name = "auth/loginStatus",
    .params = login_params_rows,
    .params_size = sizeof(struct login_params),
    .result = kw_login_rows,
    .lane = LANE_MAIN,
    .run = status,
    .about = "The state of a sign-in.",
    .errors = "Unknown login: <id>",
};
