/* SPDX-License-Identifier: MIT */
/* authenticate and logout: what is configured, keys, and the sign-ins of providers that have one.
 * The address of a sign-in goes to the client where it opens addresses (elicitation in mode url),
 * else to the browser of this machine.  Keys are set in the environment or with `trivet login`,
 * which a client can start in a terminal, or come from the client. */
#include "dialects/acp/methods.h"

#include "auth/login.h"
#include "base/log.h"
#include "base/path.h"
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

/* ---- the list ---- */

/* The provider of the model that a new session would ask; NULL: none is known, or there is no key
 * for it when it must be usable. */
static const struct provider *chosen_provider(struct acp *a, bool is_usable)
{
    AUTO(arena) struct arena local = ARENA_INIT;
    struct str id, slug = acp_choose_model(a, &local);
    const struct provider *p = slug.n ? engine_slug_provider(a->sv->engine, slug, &id) : NULL;
    return p && (!is_usable || engine_is_usable(a->sv->engine, p)) ? p : NULL;
}

/* OPENAI_API_KEY, ANTHROPIC_API_KEY ... */
static void put_variables(struct acp *a, struct buf *out)
{
    size_t n, n_put = 0;
    const struct provider *const *providers = engine_providers(a->sv->engine, &n);
    for (size_t i = 0; i < n; i++)
        if (account_takes_key(providers[i]) && !providers[i]->doubles)
            buf_addf(out, "%s%s", n_put++ ? ", " : "", providers[i]->env_key);
}

static void begin_method(struct jw *w, const char *id, const char *name, struct str about)
{
    jw_obj(w);
    jw_kz(w, "id", id);
    jw_kz(w, "name", name);
    jw_kstr(w, "description", about);
}

/* Clients take the first one unasked: it must not open a browser. */
static void put_keys(struct acp *a, struct jw *w)
{
    AUTO(buf) struct buf about = BUF_INIT;
    const struct provider *configured = chosen_provider(a, true);
    if (configured) {
        buf_addf(&about, "%s: its key or sign-in is there, and nothing is asked.",
                 configured->label);
        begin_method(w, "configured", "Use what is configured", buf_str(&about));
        jw_obj_end(w);
    }
    buf_reset(&about);
    buf_addz(&about, "Of the environment (");
    put_variables(a, &about);
    buf_addz(&about, "), stored with trivet login, or given by the editor.");
    begin_method(w, "api-key", "API key", buf_str(&about));
    jw_kraw(w, "_meta", STR("{\"api-key\":{}}"));
    jw_obj_end(w);
}

static void put_sign_ins(struct acp *a, struct jw *w)
{
    size_t n;
    const struct provider *const *providers = engine_providers(a->sv->engine, &n);
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf name = BUF_INIT;
        if (!account_signs_in(providers[i]))
            continue;
        buf_addf(&name, "Sign in: %s", providers[i]->label);
        begin_method(w, providers[i]->name, name.p, STR("Opens a browser."));
        jw_obj_end(w);
    }
}

static void put_login(struct jw *w)
{
    jw_karr(w, "args");
    jw_str(w, STR("login"));
    jw_arr_end(w);
}

/* By the protocol the client starts its own command with further arguments; by the older
 * agreement in _meta it starts a command that is named. */
static void put_terminal(const struct acp_client *c, struct jw *w)
{
    begin_method(w, "terminal-login", "Enter a key or sign in",
                 STR("Runs trivet login in a terminal."));
    if (c->has_terminal_login) {
        jw_kz(w, "type", "terminal");
        put_login(w);
    }
    if (c->has_terminal_meta) {
        jw_kobj(w, "_meta");
        jw_kobj(w, "terminal-auth");
        jw_kz(w, "command", path_program());
        put_login(w);
        jw_kz(w, "label", "trivet login");
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_obj_end(w);
}

void acp_put_auth_methods(struct acp *a, struct jw *w)
{
    jw_karr(w, "authMethods");
    put_keys(a, w);
    put_sign_ins(a, w);
    if (a->client.has_terminal_login || a->client.has_terminal_meta)
        put_terminal(&a->client, w);
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
    yyjson_val *meta;
};

static const struct row auth_rows[] = {
    ROW_AS(auth_params, method_id, "methodId", T_STR, NEEDED, "one of authMethods"),
    ROW_AS(auth_params, meta, "_meta", T_OBJ, OPTIONAL | NULLABLE | OPEN,
           "api-key: {\"apiKey\": KEY, \"provider\": NAME}, or KEY"),
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

/* A key goes into a header. */
static bool fits_header(struct str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= ' ' || key.p[i] > '~')
            return false;
    return key.n > 0;
}

/* Of the client, for this process: {"apiKey":KEY,"provider":NAME}, or KEY. */
static bool take_key(struct request *rq, yyjson_val *given, struct error *err)
{
    struct acp *a = rq->dialect;
    struct engine *e = a->sv->engine;
    struct str key = str_trim(json_str(given)), name = json_get_str(given, "provider");
    if (!key.n)
        key = str_trim(json_get_str(given, "apiKey"));
    const struct provider *p = name.n ? engine_find_provider(e, name) : chosen_provider(a, false);
    if (!name.n && !(p && account_takes_key(p)))
        p = engine_find_provider(e, STR("openai"));
    if (!fits_header(key) || !p || !account_takes_key(p))
        return acp_refuse_param(rq, err, STR("_meta"),
                                "names no key, or no provider with keys: %.*s",
                                STR_FMT(str_cut(name, 60)));
    engine_point_provider(e, p, engine_base_url(e, p), key);
    account_changed(e, p);
    return true;
}

/* True when nothing needs to be asked. */
static bool is_known(struct request *rq, struct error *err)
{
    AUTO(buf) struct buf names = BUF_INIT;
    if (chosen_provider(rq->dialect, true))
        return true;
    put_variables(rq->dialect, &names);
    rq->rpc_code = ACP_AUTH;
    return error_set(err, ERR_NO_KEY,
                     "there is no key: set one of %.*s for the editor, or run trivet login",
                     STR_FMT(buf_str(&names)));
}

/* A method that asks nobody: *ret_ok says whether it has succeeded. */
static bool is_quiet_method(struct request *rq, const struct auth_params *p, bool *ret_ok,
                            struct error *err)
{
    struct acp *a = rq->dialect;
    yyjson_val *key = json_get(p->meta, "api-key");
    bool is_key = str_is(p->method_id, "api-key");
    if (is_key && key && !yyjson_is_null(key))
        *ret_ok = take_key(rq, key, err);
    else if (is_key || (str_is(p->method_id, "configured") && chosen_provider(a, true)) ||
             (str_is(p->method_id, "terminal-login") && a->client.has_terminal_meta))
        *ret_ok = is_known(rq, err);
    else
        return false;
    return true;
}

static bool authenticate_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct auth_params *p = rq->args;
    bool ok;
    if (!acp_is_ready(rq, err))
        return false;
    if (is_quiet_method(rq, p, &ok, err)) {
        if (ok) {
            jw_obj(w);
            jw_obj_end(w);
        }
        return ok;
    }
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
    .about = "Uses a key, or signs in at a provider; answered when that is done.",
    .errors = "unknown method (-32602); no key, or it failed (-32000)",
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
