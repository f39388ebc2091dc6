/* SPDX-License-Identifier: MIT */
#include "mcp/oauth.h"

#include "auth/login.h"
#include "auth/oauth.h"
#include "auth/store.h"
#include "base/path.h"
#include "base/secret.h"
#include "base/time.h"
#include "context/config.h"
#include "mcp/oauth_impl.h"
#include "net/listen.h"

enum { EARLY_MS = 60000 }; /* a token that ends so soon is renewed first */

static void clients_path(struct buf *out)
{
    path_xdg(out, "XDG_STATE_HOME", ".local/state");
    buf_addz(out, "/trivet/mcp-clients.json");
}

static struct auth_store *open_store(void)
{
    AUTO(buf) struct buf path = BUF_INIT;
    path_xdg(&path, "XDG_CONFIG_HOME", ".config");
    buf_addz(&path, "/trivet/auth.json");
    return auth_store_new(&auth_format_trivet, buf_str(&path), STR_NONE);
}

/* The name of the entry in the store: the address, without what may be a secret. */
static struct str entry_name(const struct mcp_config *c, struct arena *a)
{
    struct str address;
    str_split(c->url, '?', &address);
    return arena_fmt(a, "mcp:%.*s", STR_FMT(address));
}

/* ---- the issuer ---- */

/* An issuer as auth/login.h wants it.  Strings in the arena; `name` is the entry. */
static struct issuer make_issuer(const struct mcp_config *c, struct arena *a,
                                 const struct endpoints *e, bool in_header)
{
    return (struct issuer){
        .name = entry_name(c, a).p,
        .title = arena_strz(a, c->name),
        .provider = entry_name(c, a).p,
        .authorize = {.base = arena_strz(a, e->authorize), .path = ""},
        .token = {.base = arena_strz(a, e->token), .path = ""},
        .client_id_env = "TRIVET_MCP_CLIENT_ID",
        .redirect_path = "/callback",
        .resource = e->resource.n ? arena_strz(a, e->resource) : NULL,
        .identifier = e->issuer.n ? arena_strz(a, e->issuer) : NULL,
        .names_itself = e->names_issuer,
        .secret_in_header = in_header,
    };
}

/* ---- what is kept of a client ---- */

struct kept_client {
    struct str name; /* of the entry */
    struct oauth_client client;
    struct endpoints e; /* issuer, token, resource; the issuer of older files is STR_NONE */
    struct str rights;  /* that the server has asked for since (mcp_want_await), or STR_NONE */
};

static void put_kept(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct kept_client *k = arg;
    yyjson_mut_val *v = yyjson_mut_obj(doc);
    auth_set_str(doc, v, "client_id", k->client.id);
    auth_set_str(doc, v, "client_secret", k->client.secret);
    auth_set_str(doc, v, "issuer", k->e.issuer);
    auth_set_str(doc, v, "token_endpoint", k->e.token);
    auth_set_str(doc, v, "resource", k->e.resource);
    auth_set_str(doc, v, "rights", k->rights);
    yyjson_mut_obj_add_bool(doc, v, "in_header", k->client.in_header);
    config_put(doc, root, k->name, v);
}

static void drop_kept(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct str *name = arg;
    (void)doc;
    yyjson_mut_obj_remove_keyn(root, name->p, name->n);
}

static bool read_kept(struct str name, struct arena *a, struct kept_client *ret)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    AUTO_FREE char *key = str_dup(name);
    clients_path(&path);
    if (!config_read(buf_str(&path), &j, &ignored))
        return false;
    yyjson_val *v = json_get(j.root, key);
    *ret = (struct kept_client){
        .name = name,
        .client = {.id = auth_get_str(v, "client_id", a),
                   .secret = auth_get_str(v, "client_secret", a),
                   .in_header = json_get_bool(v, "in_header", false)},
        .e = {.issuer = auth_get_str(v, "issuer", a),
              .token = auth_get_str(v, "token_endpoint", a),
              .resource = auth_get_str(v, "resource", a)},
        .rights = auth_get_str(v, "rights", a),
    };
    return ret->e.token.n > 0;
}

/* ---- signing in ---- */

static bool has_scope(struct str scopes, struct str wanted)
{
    struct str word = STR_NONE;
    while (scopes.n && !str_eq(word, wanted))
        scopes = str_split(scopes, ' ', &word);
    return str_eq(word, wanted);
}

static struct str join_scopes(struct arena *a, struct str scope, struct str more)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct str parts[] = {scope, more}, word;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        while (parts[i].n) {
            parts[i] = str_split(parts[i], ' ', &word);
            if (word.n && !has_scope(buf_str(&out), word))
                buf_addf(&out, "%s%.*s", out.n ? " " : "", STR_FMT(word));
        }
    return out.n ? arena_str(a, buf_str(&out)) : STR_NONE;
}

void mcp_want_await(const struct mcp_config *c, struct str scope)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    struct error ignored;
    struct kept_client k;
    if (!read_kept(entry_name(c, &a), &a, &k))
        return;
    k.rights = join_scopes(&a, k.rights, scope);
    clients_path(&path);
    config_change_await(buf_str(&path), put_kept, &k, NULL, &ignored);
}

struct sign_in {
    struct endpoints e;
    struct oauth_client client;
    /* Open from before the registration, which names its port, to the end. */
    struct http_listener *listener;
};

static void on_nothing(void *arg, struct str path, struct str query, struct listen_answer *ret)
{
    (void)arg;
    (void)path;
    (void)query;
    (void)ret;
}

/* The client of the settings or of the environment; false: one has to be registered. */
static bool find_client(const struct mcp_config *c, const struct endpoints *e,
                        struct oauth_client *ret)
{
    const char *given = getenv("TRIVET_MCP_CLIENT_ID");
    *ret = (struct oauth_client){.id = c->client_id.n ? c->client_id : str_of(given ? given : ""),
                                 .secret = c->client_secret,
                                 .in_header = e->takes_basic && !e->takes_post};
    return ret->id.n > 0;
}

/* A client is known where it was registered and is shown to no other authorization server. */
static bool check_client(const struct mcp_config *c, const struct sign_in *s, struct arena *a,
                         struct error *err)
{
    struct kept_client k;
    if (!read_kept(entry_name(c, a), a, &k) || !k.e.issuer.n || str_eq(k.e.issuer, s->e.issuer) ||
        !str_eq(k.client.id, s->client.id))
        return true;
    return error_set(err, ERR_DENIED,
                     "the client id of its settings was used at %.*s, and the server names %.*s "
                     "now: set the id of a client there, or use this one after `trivet mcp logout "
                     "%.*s`",
                     STR_FMT(str_cut(k.e.issuer, 100)), STR_FMT(str_cut(s->e.issuer, 100)),
                     STR_FMT(c->name));
}

static bool browse_await(struct loop *l, struct auth_store *st, const struct login_options *o,
                         mcp_url_fn *on_url, void *arg, struct error *err)
{
    struct login *lg = login_start(l, st, o, err);
    if (!lg)
        return false;
    on_url(arg, login_url(lg));
    bool ok = login_wait_await(lg, err);
    login_free(lg);
    return ok;
}

static bool prepare_await(struct loop *l, const struct mcp_config *c, struct arena *a,
                          struct sign_in *s, struct error *err)
{
    if (c->transport != MCP_HTTP)
        return error_set(err, ERR_INVALID, "%.*s runs on this machine and takes no sign-in",
                         STR_FMT(c->name));
    if (!endpoint_is_safe(c->url))
        return error_set(err, ERR_DENIED, "a sign-in needs an address with https://");
    if (!endpoints_find_await(l, c, a, &s->e, err))
        return false;
    s->listener = listener_new(l, 0, on_nothing, NULL, err);
    if (!s->listener)
        return false;
    struct str redirect = arena_fmt(a, "http://localhost:%d/callback", listener_port(s->listener));
    if (find_client(c, &s->e, &s->client))
        return check_client(c, s, a, err);
    return client_register_await(l, &s->e, redirect, a, &s->client, err);
}

bool mcp_login_await(struct loop *l, const struct mcp_config *c, mcp_url_fn *on_url, void *arg,
                     struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    struct sign_in s = {0};
    const struct endpoints *e = &s.e;
    if (!prepare_await(l, c, &a, &s, err)) {
        listener_free(s.listener);
        return false;
    }
    struct issuer issuer = make_issuer(c, &a, e, s.client.in_header);
    struct kept_client old = {0};
    read_kept(str_of(issuer.name), &a, &old);
    struct login_options o = {
        .issuer = &issuer,
        .way = LOGIN_BROWSER,
        .client_id = s.client.id,
        .scope = join_scopes(&a, c->scope.n ? c->scope : e->scope, old.rights),
        .listener = s.listener};
    struct auth_store *st = open_store();
    auth_store_set_client(st, issuer.name, s.client.id, s.client.secret);
    bool ok = browse_await(l, st, &o, on_url, arg, err);
    auth_store_free(st);
    struct kept_client k = {str_of(issuer.name), s.client, *e, old.rights};
    clients_path(&path);
    return ok && config_change_await(buf_str(&path), put_kept, &k, NULL, err);
}

bool mcp_logout_await(const struct mcp_config *c, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    struct auth_store *st = open_store();
    struct str name = entry_name(c, &a);
    struct kept_client k;
    bool ok = auth_store_remove_await(st, name, err);
    auth_store_free(st);
    clients_path(&path);
    return ok && (!read_kept(name, &a, &k) ||
                  config_change_await(buf_str(&path), drop_kept, &name, NULL, err));
}

/* ---- using ---- */

static bool refresh_await(const struct mcp_config *c, struct auth_store *st,
                          const struct auth_entry *old, struct arena *a, struct auth_entry *ret,
                          struct error *err)
{
    struct kept_client k;
    struct str name = entry_name(c, a);
    if (!old->refresh.n || !read_kept(name, a, &k) ||
        (old->client_id.n && !str_eq(old->client_id, k.client.id)))
        return error_set(err, ERR_AUTH, "the sign-in cannot be renewed");
    struct issuer issuer = make_issuer(c, a, &k.e, k.client.in_header);
    struct grant g = {&issuer, {k.client.id, k.client.secret}};
    if (oauth_refresh_await(&g, old, a, ret, err))
        return auth_store_swap_await(st, name, old->refresh, ret, err) || err->code == ERR_BUSY;
    /* Another process may have used the refresh token meanwhile. */
    struct error ignored;
    return auth_store_get(st, name, a, ret, &ignored) && !str_eq(ret->refresh, old->refresh);
}

/* refused: a token that the server does not take any more, or STR_NONE. */
static bool find_token_await(const struct mcp_config *c, struct str refused, struct arena *a,
                             struct str *ret, struct error *err)
{
    struct auth_store *st = open_store();
    struct auth_entry e, fresh;
    struct error why = ERROR_INIT;
    bool ok = auth_store_get(st, entry_name(c, a), a, &e, err);
    bool is_late = ok && e.expires_ms && e.expires_ms < time_now_ms() + EARLY_MS;
    bool is_refused = ok && refused.n && str_eq(e.access, refused);
    if (ok && (is_late || is_refused)) {
        if (refresh_await(c, st, &e, a, &fresh, &why))
            e = fresh;
        else if (is_refused)
            ok = false;
    }
    auth_store_free(st);
    if (why.code == ERR_CANCELED || (!ok && is_refused)) {
        *err = why;
        return false;
    }
    *ret = ok ? e.access : STR_NONE;
    if (ret->n)
        secret_learn(*ret);
    return ok;
}

bool mcp_token_await(const struct mcp_config *c, struct arena *a, struct str *ret,
                     struct error *err)
{
    *ret = STR_NONE;
    return find_token_await(c, STR_NONE, a, ret, err) || err->code != ERR_CANCELED;
}

bool mcp_renew_await(const struct mcp_config *c, struct str refused, struct arena *a,
                     struct str *ret, struct error *err)
{
    return refused.n && find_token_await(c, refused, a, ret, err);
}
