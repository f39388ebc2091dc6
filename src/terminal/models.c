/* SPDX-License-Identifier: MIT */
/* Which model answers: the first choice, later ones, and the keys they need. */
#include "auth/issuer.h"
#include "auth/keys.h"
#include "auth/login.h"
#include "auth/store.h"
#include "base/shown.h"
#include "context/config.h"
#include "dialects/accounts.h"
#include "terminal/pick.h"
#include "terminal/slash.h"

struct action { /* for a fiber */
    struct chat *c;
    const struct provider *provider;
    char *text;
};

static struct action *action_new(struct chat *c, const struct provider *p, struct str text)
{
    struct action *a = xnew(struct action);
    *a = (struct action){c, p, str_dup(text)};
    return a;
}

static void action_free(struct action *a)
{
    chat_dirty(a->c);
    free(a->text);
    free(a);
}

/* ---- the choice is kept ---- */

static void set_model_member(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    config_put(doc, root, STR("model"), yyjson_mut_strcpy(doc, arg));
}

static void store_fiber(void *arg)
{
    struct action *a = arg;
    AUTO(buf) struct buf path = BUF_INIT;
    struct error err;
    profile_config_path(&path);
    if (!config_change_await(buf_str(&path), set_model_member, a->text, NULL, &err))
        view_notice(a->c, STYLE_YELLOW, "the choice could not be kept: %s", err.text);
    action_free(a);
}

/* The session's model from now on, and that of later chats. */
static void choose(struct chat *c, struct str slug)
{
    struct error err;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    if (!engine_find_model(c->engine, &a, slug, &m, &err) ||
        (c->launch.session && !session_set_model(c->launch.session, slug, &err))) {
        view_notice(c, STYLE_RED, "trivet: %s", err.text);
        return;
    }
    if (c->launch.session)
        c->window = session_window(c->launch.session);
    c->options.model = arena_str(&c->launch.arena, slug); /* of a later /new */
    view_notice(c, STYLE_DIM, "%.*s answers from now on", STR_FMT(slug));
    fiber_start(c->loop, "store", store_fiber, action_new(c, NULL, slug));
}

static void choose_value(struct chat *c, struct str slug)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    choose(c, arena_str(&a, slug));
}

/* ---- /model ---- */

void models_complete(struct chat *c, void (*add)(void *arg, struct str value, struct str about),
                     void *arg)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_providers, n;
    const struct provider *const *providers = engine_providers(c->engine, &n_providers);
    struct session_info info = {0};
    if (c->launch.session)
        session_info(c->launch.session, &info);
    for (size_t i = 0; i < n_providers; i++) {
        if (!account_is_listed(c->engine, providers[i], info.model))
            continue;
        const struct model *m = engine_models(c->engine, providers[i], &a, &n);
        for (size_t k = 0; k < n; k++) {
            if (!account_lists_model(providers[i], &m[k], info.model))
                continue;
            struct str slug = arena_fmt(&a, "%s/%.*s", m[k].provider, STR_FMT(m[k].id));
            AUTO(buf) struct buf about = BUF_INIT;
            if (m[k].name.p != m[k].id.p)
                buf_add(&about, m[k].name);
            if (m[k].context_window)
                buf_addf(&about, "  %lldk", (long long)(m[k].context_window / 1000));
            if (m[k].price_in > 0)
                buf_addf(&about, "  $%g in $%g out", m[k].price_in, m[k].price_out);
            add(arg, slug, buf_str(&about));
        }
    }
}

static void add_model(void *arg, struct str value, struct str about)
{
    pick_add(arg, value, about, value);
}

/* Local servers are asked what they have before the list opens. */
static void list_fiber(void *arg)
{
    struct chat *c = arg;
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *const *found;
    size_t n;
    struct error ignored;
    if (engine_discover_await(c->engine, &a, &found, &n, &ignored))
        engine_refresh_lists_await(c->engine, found, n, NULL, NULL, &ignored);
    struct pick *p = pick_new("model:", choose_value);
    models_complete(c, add_model, p);
    pick_open(c, p);
}

void slash_model(struct chat *c, struct str args)
{
    struct str slug = str_trim(args);
    if (slug.n)
        choose(c, slug);
    else
        fiber_start(c->loop, "models", list_fiber, c);
}

/* ---- keys ---- */

/* The first of its models answers. */
static void use_await(struct chat *c, const struct provider *p)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err = ERROR_INIT;
    size_t n = 0;
    if (p->list != LIST_NONE && !engine_refresh_models_await(c->engine, p, &err))
        view_notice(c, STYLE_YELLOW, "%s: %s", p->label, err.text);
    const struct model *m = engine_models(c->engine, p, &a, &n);
    if (!n) {
        view_notice(c, STYLE_RED, "%s has no model; name one with /model %s/MODEL", p->label,
                    p->name);
        return;
    }
    choose(c, arena_fmt(&a, "%s/%.*s", m[0].provider, STR_FMT(m[0].id)));
    if (n > 1)
        view_notice(c, STYLE_DIM, "/model lists the %zu models of %s", n, p->label);
}

static void use_fiber(void *arg)
{
    struct action *a = arg;
    use_await(a->c, a->provider);
    action_free(a);
}

static void key_fiber(void *arg)
{
    struct action *a = arg;
    struct chat *c = a->c;
    const struct provider *p = a->provider;
    struct error err;
    struct session_info info = {0};
    if (!account_put_key_await(c->engine, p, str_of(a->text), &err)) {
        bool is_refused = err.code == ERR_AUTH || err.code == ERR_NO_KEY;
        view_notice(c, STYLE_RED, "%s%s%s", is_refused ? p->label : "trivet",
                    is_refused ? " refused the key: " : ": ", err.text);
        if (is_refused)
            view_notice(c, 0, "  try: /login %s to enter it again; it was not kept", p->name);
    } else {
        view_notice(c, 0, "the key for %s is kept in ~/.config/trivet/auth.json", p->label);
        if (c->launch.session)
            session_info(c->launch.session, &info);
        if (!info.model.p)
            use_await(c, p);
    }
    action_free(a);
}

static void on_key_typed(struct chat *c, struct str key, void *arg)
{
    const struct provider *p = arg;
    if (key.n)
        fiber_start(c->loop, "key", key_fiber, action_new(c, p, key));
}

/* ---- signing in ---- */

static void on_login(void *arg, struct login *lg, enum login_event event)
{
    struct chat *c = arg;
    const struct issuer *i = issuer_of(login_provider(lg));
    bool gives_code = login_is_headless() && i && i->device_start.path;
    if (event == LOGIN_EV_URL && !gives_code)
        view_notice(c, 0, "open this address in a browser:\n%.*s", STR_FMT(login_url(lg)));
    else if (event == LOGIN_EV_DEVICE_CODE)
        view_notice(c, 0, "type the code %.*s at %.*s", STR_FMT(login_user_code(lg)),
                    STR_FMT(login_url(lg)));
    chat_dirty(c);
}

/* Waits until the user has signed in somewhere else; the chat goes on meanwhile. */
static void sign_in_fiber(void *arg)
{
    struct action *a = arg;
    struct chat *c = a->c;
    const struct provider *p = a->provider;
    struct login_options o = {
        .issuer = issuer_of(account_name(p)), .way = LOGIN_AUTO, .on_event = on_login, .arg = c};
    struct error err;
    struct login *lg = login_start(c->loop, engine_auth(c->engine), &o, &err);
    bool ok = lg && login_wait_await(lg, &err);
    if (lg)
        login_free(lg);
    if (ok) {
        view_notice(c, 0, "signed in at %s", p->label);
        account_changed(c->engine, p);
        use_await(c, p);
    } else if (err.code != ERR_CANCELED) {
        view_notice(c, STYLE_RED, "trivet: %s", err.text);
    }
    c->signing = NULL;
    action_free(a);
}

static void sign_in(struct chat *c, const struct provider *p)
{
    if (c->signing)
        view_notice(c, STYLE_YELLOW, "another sign-in is not over yet");
    else
        c->signing = fiber_start(c->loop, "sign in", sign_in_fiber, action_new(c, p, STR("")));
}

static void ask_key_for(struct chat *c, struct str name)
{
    const struct provider *p = engine_find_provider(c->engine, name);
    if (p && account_signs_in(p)) {
        sign_in(c, p);
        return;
    }
    if (!p || !p->env_key) {
        view_notice(c, STYLE_RED, "%.*s takes no key; /login lists those that do",
                    STR_FMT(str_cut(name, 60)));
        return;
    }
    entry_open(c, p->label, "key", true, on_key_typed, (void *)p);
}

void slash_login(struct chat *c, struct str args)
{
    size_t n;
    const struct provider *const *providers = engine_providers(c->engine, &n);
    if (str_trim(args).n) {
        ask_key_for(c, str_trim(args));
        return;
    }
    struct pick *p = pick_new("a key for:", ask_key_for);
    for (size_t i = 0; i < n; i++) {
        const struct provider *one = providers[i];
        bool signs_in = account_signs_in(one);
        bool has_one = engine_has_credential(c->engine, one);
        if (signs_in)
            pick_add(p, str_of(one->label), has_one ? STR("signed in") : STR("sign in"),
                     str_of(one->name));
        else if (account_takes_key(one))
            pick_add(p, str_of(one->label), has_one ? STR("has one") : STR(""), str_of(one->name));
    }
    pick_open(c, p);
}

static void logout_fiber(void *arg)
{
    struct action *a = arg;
    struct error err;
    struct str name = account_name(a->provider);
    if (auth_store_remove_await(engine_auth(a->c->engine), name, &err))
        view_notice(a->c, 0, "the key for %s is forgotten", a->provider->label);
    else
        view_notice(a->c, STYLE_RED, "trivet: %s", err.text);
    engine_forget_keys(a->c->engine);
    action_free(a);
}

void slash_logout(struct chat *c, struct str args)
{
    const struct provider *p = engine_find_provider(c->engine, str_trim(args));
    if (p)
        fiber_start(c->loop, "logout", logout_fiber, action_new(c, p, STR("")));
    else
        view_notice(c, 0, "/logout PROVIDER");
}

/* ---- the first minute ---- */

static void choose_first(struct chat *c, struct str value)
{
    if (str_is(value, "key")) {
        slash_login(c, STR(""));
        return;
    }
    if (str_is(value, "rehearsal")) {
        choose(c, STR("rehearsal/default"));
        view_notice(c, STYLE_DIM, "a model that is built in: try \"list the files\"");
        return;
    }
    const struct provider *p = engine_find_provider(c->engine, value);
    if (p)
        fiber_start(c->loop, "use", use_fiber, action_new(c, p, STR("")));
}

static void on_left(struct chat *c)
{
    view_notice(c, 0, "no model is set up; /model chooses one, /login stores a key");
}

static void add_server(struct chat *c, struct pick *p, const struct provider *server)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf label = BUF_INIT;
    size_t n;
    engine_models(c->engine, server, &a, &n);
    struct str url = keys_base_url(server->env_base, server->base_url), rest = STR("://"), host;
    size_t at = str_find(url, rest);
    str_split(at == SIZE_MAX ? url : str_from(url, at + rest.n), '/', &host);
    buf_addf(&label, "%s at %.*s, %zu %s", server->label, STR_FMT(host), n,
             n == 1 ? "model" : "models");
    pick_add(p, buf_str(&label), STR("found"), str_of(server->name));
}

static void add_credentials(struct chat *c, struct pick *p)
{
    size_t n;
    const struct provider *const *providers = engine_providers(c->engine, &n);
    for (size_t i = 0; i < n; i++) {
        const struct provider *one = providers[i];
        AUTO(buf) struct buf label = BUF_INIT;
        if (one->is_local || !one->needs_key || !engine_has_credential(c->engine, one))
            continue;
        if (one->env_key && getenv(one->env_key))
            buf_addf(&label, "%s is set", one->env_key);
        else
            buf_addf(&label, "signed in at %s", one->label);
        pick_add(p, buf_str(&label), str_of(one->label), str_of(one->name));
    }
}

static void first_fiber(void *arg)
{
    struct chat *c = arg;
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *const *found = NULL;
    size_t n = 0;
    struct error ignored;
    if (engine_discover_await(c->engine, &a, &found, &n, &ignored))
        engine_refresh_lists_await(c->engine, found, n, NULL, NULL, &ignored);
    struct pick *p = pick_new("no model is set up yet; which one shall answer?", choose_first);
    p->is_numbered = true;
    p->left = on_left;
    for (size_t i = 0; i < n; i++)
        add_server(c, p, found[i]);
    add_credentials(c, p);
    pick_add(p, STR("paste a key, or sign in"), STR("it is kept for you alone"), STR("key"));
    pick_add(p, STR("the built-in rehearsal model"), STR("no key, no network"), STR("rehearsal"));
    pick_open(c, p);
}

void models_first(struct chat *c)
{
    fiber_start(c->loop, "first", first_fiber, c);
}
