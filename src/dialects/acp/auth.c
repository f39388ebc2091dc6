/* SPDX-License-Identifier: MIT */
/* authenticate and logout: the sign-ins of providers that have one.  The address goes to the client
 * where it opens addresses (elicitation in mode url), else to the browser of this machine.  Keys
 * are set in the environment or with `trivet login`, which a client can start in a terminal. */
#include "dialects/acp/methods.h"

#include "auth/login.h"
#include "base/log.h"
#include "dialects/accounts.h"
#include "loop/child.h"

enum { BROWSER_MS = 20000 };

static const struct provider *find_method(struct acp *a, struct str id)
{
    size_t n;
    const struct provider *const *providers = engine_providers(a->sv->engine, &n);
    for (size_t i = 0; i < n; i++)
        if (account_signs_in(providers[i]) && str_is(id, providers[i]->name))
            return providers[i];
    return NULL;
}

void acp_put_auth_methods(struct acp *a, struct jw *w)
{
    size_t n;
    const struct provider *const *providers = engine_providers(a->sv->engine, &n);
    jw_karr(w, "authMethods");
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf name = BUF_INIT;
        if (!account_signs_in(providers[i]))
            continue;
        buf_addf(&name, "Sign in: %s", providers[i]->label);
        jw_obj(w);
        jw_kz(w, "id", providers[i]->name);
        jw_kstr(w, "name", buf_str(&name));
        jw_kz(w, "description", "Opens a browser.");
        jw_obj_end(w);
    }
    if (a->client.has_terminal_login) {
        jw_obj(w);
        jw_kz(w, "type", "terminal");
        jw_kz(w, "id", "terminal-login");
        jw_kz(w, "name", "Enter a key or sign in");
        jw_kz(w, "description", "Runs trivet login in a terminal.");
        jw_karr(w, "args");
        jw_str(w, STR("login"));
        jw_arr_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

/* ---- the address ---- */

struct browsing {
    struct acp *acp;
    char *url;
};

static void browser_fiber(void *arg)
{
    struct browsing *b = arg;
    const char *const argv[] = {"xdg-open", b->url, NULL};
    struct child_options o = {.argv = argv,
                              .env = engine_environment(b->acp->sv->engine),
                              .cwd = "/",
                              .timeout_ms = BROWSER_MS};
    struct child_end end;
    struct error err;
    bool ok = child_run_await(b->acp->sv->loop, &o, NULL, &end, &err);
    if ((!ok && err.code != ERR_CANCELED) || (ok && end.exit_code))
        log_warn("to sign in, open %s", b->url);
    free(b->url);
    free(b);
}

static void open_browser(struct acp *a, struct str url)
{
    struct browsing *b = xnew(struct browsing);
    *b = (struct browsing){a, str_dup(url)};
    fiber_start(a->sv->loop, "browser", browser_fiber, b);
}

/* The user has seen the address, or does not want to sign in. */
static void on_answer(void *arg, const struct rpc_answer *answer)
{
    struct signing *k = arg;
    struct str action = json_get_str(answer->result, "action");
    k->ask = 0;
    if (!str_is(action, "accept"))
        login_cancel(k->login);
}

static void show_address(struct request *rq, struct signing *k)
{
    struct acp *a = rq->dialect;
    if (!a->client.shows_urls) {
        open_browser(a, login_url(k->login));
        return;
    }
    k->ask = rpc_begin_ask(a->rpc, "elicitation/create", &a->out, &a->w, on_answer, k);
    jw_obj(&a->w);
    jw_kz(&a->w, "mode", "url");
    jw_kval(&a->w, "requestId", rq->id);
    jw_kz(&a->w, "elicitationId", login_id(k->login));
    jw_kstr(&a->w, "url", login_url(k->login));
    jw_kz(&a->w, "message", "Sign in with the browser.");
    jw_obj_end(&a->w);
    rpc_end_ask(a->rpc, &a->w);
}

static void say_complete(struct acp *a, const struct signing *k)
{
    AUTO(buf) struct buf params = BUF_INIT;
    buf_addf(&params, "{\"elicitationId\":\"%s\"}", login_id(k->login));
    if (a->client.shows_urls && !a->is_deaf)
        rpc_notify(a->rpc, "elicitation/complete", buf_str(&params));
}

/* ---- authenticate ---- */

struct auth_params {
    struct str method_id;
};

static const struct row auth_rows[] = {
    ROW_AS(auth_params, method_id, "methodId", T_STR, NEEDED, "one of authMethods"),
    ROW_END,
};

static bool sign_in_await(struct request *rq, const struct provider *p, struct error *err)
{
    struct acp *a = rq->dialect;
    struct login_options o = {.issuer = issuer_of(account_name(p)), .way = LOGIN_BROWSER};
    struct signing k = {.login = login_start(a->sv->loop, engine_auth(a->sv->engine), &o, err)};
    if (!k.login)
        return false;
    show_address(rq, &k);
    bool ok = login_wait_await(k.login, err);
    if (k.ask)
        acp_withdraw(a, k.ask);
    if (ok)
        say_complete(a, &k);
    login_free(k.login);
    if (ok)
        account_changed(a->sv->engine, p);
    return ok;
}

static bool authenticate_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct auth_params *p = rq->args;
    if (!acp_is_ready(rq, err))
        return false;
    const struct provider *provider = find_method(rq->dialect, p->method_id);
    if (!provider)
        return acp_refuse_param(rq, err, STR("methodId"), "is not among authMethods: %.*s",
                                STR_FMT(str_cut(p->method_id, 60)));
    if (!sign_in_await(rq, provider, err)) {
        rq->rpc_code = err->code == ERR_CANCELED && fiber_is_canceled() ? ACP_CANCELED : ACP_AUTH;
        return false;
    }
    jw_obj(w);
    jw_obj_end(w);
    return true;
}

const struct method acp_authenticate = {
    .name = "authenticate",
    .params = auth_rows,
    .params_size = sizeof(struct auth_params),
    .params_needed = true,
    .result = acp_empty_rows,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = authenticate_await,
    .about = "Signs in at a provider; answered when that is done.",
    .errors = "unknown method (-32602); it failed (-32000)",
};

/* ---- logout ---- */

static bool sign_out_await(struct request *rq, struct jw *w, struct error *err)
{
    struct acp *a = rq->dialect;
    struct error why;
    size_t n;
    if (!acp_is_ready(rq, err))
        return false;
    const struct provider *const *providers = engine_providers(a->sv->engine, &n);
    for (size_t i = 0; i < n; i++) {
        if (!account_signs_in(providers[i]))
            continue;
        if (!logout_await(engine_auth(a->sv->engine), account_name(providers[i]), &why) &&
            why.code != ERR_NOT_FOUND) {
            *err = why;
            return false;
        }
        account_changed(a->sv->engine, providers[i]);
    }
    jw_obj(w);
    jw_obj_end(w);
    return true;
}

const struct method acp_logout = {
    .name = "logout",
    .result = acp_empty_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = sign_out_await,
    .about = "Forgets all sign-ins; keys stay.",
};
