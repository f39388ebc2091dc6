/* SPDX-License-Identifier: MIT */
/* auth.connect.openai and auth.connect.antigravity (loaf 152-158): the whole sign-in is one call,
 * its steps are events.  No browser is opened; the client shows the address.
 *
 *     auth.flow.started, auth.flow.url, [auth.flow.device_code], then
 *     auth.flow.completed, state.changed, the answer    or    auth.flow.failed, the error
 */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "auth/login.h"
#include "base/time.h"

struct flow {
    struct loaf *lf;
    const char *provider; /* "openai" */
    bool is_device;       /* a device code was sent */
};

/* ---- events ---- */

static void say_started(const struct flow *f, const char *type)
{
    struct jw *w = loaf_event_begin(f->lf, "auth.flow.started");
    jw_kz(w, "provider", f->provider);
    jw_kz(w, "flow_type", type);
    loaf_event_end(f->lf);
}

static void say_url(const struct flow *f, const struct login *lg)
{
    char until[TIME_ISO_LEN + 1];
    time_iso(time_now_ms() + login_timeout_ms(lg), until);
    struct jw *w = loaf_event_begin(f->lf, "auth.flow.url");
    jw_kz(w, "provider", f->provider);
    jw_kstr(w, "url", login_url(lg));
    jw_kz(w, "expires_at", until);
    loaf_event_end(f->lf);
}

static void put_seconds(struct jw *w, const char *name, int64_t ms)
{
    if (ms % 1000 == 0)
        jw_kint(w, name, ms / 1000);
    else
        jw_knum(w, name, (double)ms / 1000);
}

static void say_code(const struct flow *f, const struct login *lg)
{
    struct jw *w = loaf_event_begin(f->lf, "auth.flow.device_code");
    jw_kz(w, "provider", f->provider);
    jw_kstr(w, "verification_url", login_url(lg));
    jw_kstr(w, "user_code", login_user_code(lg));
    put_seconds(w, "interval_seconds", login_interval_ms(lg));
    put_seconds(w, "expires_in_seconds", login_code_lasts_ms(lg));
    put_seconds(w, "expires_in", login_code_lasts_ms(lg));
    loaf_event_end(f->lf);
}

static void on_login(void *arg, struct login *lg, enum login_event event)
{
    struct flow *f = arg;
    if (event == LOGIN_EV_URL)
        say_url(f, lg);
    if (event == LOGIN_EV_DEVICE_CODE) {
        f->is_device = true;
        say_code(f, lg);
    }
}

static const char *code_of(const struct error *err)
{
    switch (err->code) {
    case ERR_CANCELED:
        return "user_canceled";
    case ERR_TIMEOUT:
        return "timeout";
    case ERR_NETWORK:
    case ERR_CUT:
        return "network_error";
    case ERR_NO_KEY:
        return "not_configured";
    case ERR_DENIED:
        return "access_denied";
    case ERR_NOT_FOUND:
        return "device_code_disabled";
    default:
        return err_code_name(err->code);
    }
}

/* Replaces the text by loaf's, where it has one. */
static bool fail(const struct flow *f, struct error *err)
{
    const char *code = code_of(err);
    if (err->code == ERR_CANCELED)
        error_set(err, ERR_CANCELED, "OAuth login cancelled.");
    else if (err->code == ERR_TIMEOUT)
        error_set(err, ERR_TIMEOUT, "OAuth %slogin timed out after 15 minutes.",
                  f->is_device ? "device " : "");
    else if (err->code == ERR_NOT_FOUND)
        error_set(err, ERR_NOT_FOUND, "Device code login is not enabled for this OAuth issuer.");
    struct jw *w = loaf_event_begin(f->lf, "auth.flow.failed");
    jw_kz(w, "provider", f->provider);
    jw_kz(w, "message", err->text);
    jw_kz(w, "code", code);
    loaf_event_end(f->lf);
    return false;
}

/* ---- after the sign-in ---- */

static bool sign_in_await(struct flow *f, struct login_options *o, struct error *err)
{
    struct loaf *lf = f->lf;
    o->on_event = on_login;
    o->arg = f;
    o->ends_on_wrong_state = true;
    struct login *lg = login_start(lf->sv->loop, engine_auth(lf->sv->engine), o, err);
    bool ok = lg && login_wait_await(lg, err);
    login_free(lg);
    if (!ok)
        return false;
    engine_forget_keys(lf->sv->engine);
    loaf_enable(lf, str_of(f->provider));
    loaf_fetch_list_await(lf, f->provider); /* so that a model of the account can be selected */
    loaf_repair_choice(lf);
    lf->is_model_chosen = lf->is_model_chosen || lf->model[0];
    loaf_home_keep_await(lf);
    return true;
}

/* The same object is the event's payload and the answer. */
static void finish(const struct flow *f, struct str members, struct str reason, struct jw *w)
{
    struct jw *payload = loaf_event_begin(f->lf, "auth.flow.completed");
    jw_raw(payload, members);
    loaf_event_end(f->lf);
    loaf_say_state_changed(f->lf, reason, NULL);
    jw_obj(w);
    jw_raw(w, members);
    jw_obj_end(w);
}

/* ---- auth.connect.openai ---- */

struct openai_params {
    struct str mode, originator;
};

static const struct row openai_rows[] = {
    ROW(openai_params, mode, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT,
        "auto, device_code; anything else is browser"),
    ROW(openai_params, originator, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT,
        "originator sent to the issuer; codex_cli_rs when absent"),
    ROW_END,
};

static const char *const login_methods[] = {"browser", "device_code", NULL};

static const struct row openai_result[] = {
    ROW_OUT("provider", T_STR, NEEDED, "openai"),
    ROW_OUT("login_method", T_STR, NEEDED, "how it went", .choices = login_methods),
    ROW_OUT("account_id", T_STR, NEEDED | NULLABLE, "of the ChatGPT account"),
    ROW_END,
};

static enum login_way way_of(struct str mode)
{
    if (!mode.p || str_is(mode, "auto"))
        return LOGIN_AUTO;
    return str_is(mode, "device_code") ? LOGIN_DEVICE : LOGIN_BROWSER;
}

static void put_openai(const struct flow *f, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry e = {0};
    struct error ignored;
    struct jw w = JW(out);
    auth_store_get(engine_auth(f->lf->sv->engine), STR("openai"), &a, &e, &ignored);
    jw_kz(&w, "provider", "openai");
    jw_kz(&w, "login_method", login_methods[f->is_device]);
    jw_kstr_null(&w, "account_id", e.account_id);
}

static bool auth_connect_openai_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct openai_params *p = rq->args;
    AUTO(buf) struct buf members = BUF_INIT;
    struct flow f = {.lf = rq->dialect, .provider = "openai"};
    struct login_options o = {
        .issuer = issuer_find(STR("openai")),
        .way = way_of(p->mode),
        .originator = p->originator.p ? p->originator : STR("codex_cli_rs"),
        .wants_api_key = true,
    };
    bool is_device = o.way == LOGIN_DEVICE || (o.way == LOGIN_AUTO && login_is_headless());
    say_started(&f, login_methods[is_device]);
    if (!sign_in_await(&f, &o, err))
        return fail(&f, err);
    put_openai(&f, &members);
    finish(&f, buf_str(&members), STR("auth_openai_connected"), w);
    return true;
}

const struct method loaf_auth_connect_openai = {
    .name = "auth.connect.openai",
    .params = openai_rows,
    .params_size = sizeof(struct openai_params),
    .result = openai_result,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = auth_connect_openai_await,
    .about = "Signs in with a ChatGPT account; answers at the end, after 15 minutes at the latest.",
    .errors =
        "OAuth login timed out after 15 minutes.; OAuth login cancelled.; what the issuer says",
};

/* ---- auth.connect.antigravity ---- */

static const struct row antigravity_result[] = {
    ROW_OUT("provider", T_STR, NEEDED, "antigravity"),
    ROW_OUT("profile", T_OBJ, NEEDED | NULLABLE, "of the account", .rows = loaf_profile_rows),
    ROW_END,
};

static bool auth_connect_antigravity_await(struct request *rq, struct jw *w, struct error *err)
{
    enum { TEN_MINUTES_MS = 10 * 60 * 1000 };
    AUTO(buf) struct buf members = BUF_INIT;
    struct jw m = JW(&members);
    struct flow f = {.lf = rq->dialect, .provider = "antigravity"};
    struct login_options o = {
        .issuer = issuer_find(STR("google")),
        .way = LOGIN_BROWSER,
        .timeout_ms = TEN_MINUTES_MS,
    };
    say_started(&f, "browser");
    if (!sign_in_await(&f, &o, err)) {
        if (err->code == ERR_TIMEOUT)
            error_set(err, ERR_CANCELED, "OAuth login cancelled.");
        return fail(&f, err);
    }
    jw_kz(&m, "provider", "antigravity");
    jw_key(&m, "profile");
    loaf_put_profile(f.lf, &m);
    finish(&f, buf_str(&members), STR("auth_antigravity_connected"), w);
    return true;
}

const struct method loaf_auth_connect_antigravity = {
    .name = "auth.connect.antigravity",
    .result = antigravity_result,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = auth_connect_antigravity_await,
    .about = "Signs in with a Google account; needs a client of the user's own.",
    .errors = "signing in to Google needs a client id and secret of your own",
};
