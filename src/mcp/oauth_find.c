/* SPDX-License-Identifier: MIT */
/* Metadata: RFC 9728 for the resource, RFC 8414 or OpenID Connect Discovery for the authorization
 * server, RFC 7591 for the registration of a client.  Servers of 2025-03-26 have no metadata of the
 * resource, and perhaps none at all: then the usual paths at their own address count. */
#include "mcp/oauth_impl.h"

#include "auth/keys.h"
#include "base/limits.h"
#include "net/fetch.h"
#include "net/http.h"

enum { METADATA_BYTES = 256 << 10, METADATA_DEPTH = 32, PROBE_MS = 15000 };

bool endpoint_is_safe(struct str url)
{
    return str_starts(url, STR("https://")) ||
           (str_starts(url, STR("http://")) && keys_is_local(url));
}

/* Scheme, host and port; the rest is the path, perhaps empty. */
static struct str origin_of(struct str url, struct str *ret_path)
{
    size_t at = str_find(url, STR("://"));
    struct str host = str_from(url, at == SIZE_MAX ? 0 : at + 3);
    size_t end = str_chr(host, '/');
    size_t n = end == SIZE_MAX ? url.n : url.n - host.n + end;
    struct str path = str_from(url, n);
    str_split(path, '?', &path);
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    *ret_path = path;
    return str_cut(url, n);
}

/* ---- the challenge ---- */

struct str challenge_parameter(struct str header, const char *name)
{
    AUTO(buf) struct buf key = BUF_INIT;
    buf_addf(&key, "%s=", name);
    size_t at = str_ifind(header, buf_str(&key));
    if (at == SIZE_MAX)
        return STR_NONE;
    struct str value = str_from(header, at + key.n), inner;
    if (!str_starts(value, STR("\""))) {
        str_split(value, ',', &inner);
        return str_trim(inner);
    }
    return str_split(str_from(value, 1), '"', &inner).p ? inner : STR_NONE;
}

struct challenge {
    struct wait wait;
    struct arena *arena;
    struct str metadata, scope; /* or STR_NONE */
    struct str session;         /* of the older protocol, or STR_NONE */
    int status;
};

static void on_status(void *arg, int status, struct str content_type)
{
    struct challenge *c = arg;
    (void)content_type;
    c->status = status;
}

static void on_header(void *arg, struct str name, struct str value)
{
    struct challenge *c = arg;
    if (str_ieq(name, STR("mcp-session-id")))
        c->session = arena_str(c->arena, str_trim(value));
    if (!str_ieq(name, STR("www-authenticate")))
        return;
    c->metadata = arena_str(c->arena, challenge_parameter(value, "resource_metadata"));
    c->scope = arena_str(c->arena, challenge_parameter(value, "scope"));
}

static void on_body(void *arg, struct str bytes)
{
    (void)arg;
    (void)bytes;
}

static void on_end(void *arg, const struct error *err)
{
    struct challenge *c = arg;
    (void)err;
    wait_wake(&c->wait);
}

/* Sends a message without a token. */
static bool send_await(struct loop *l, struct str url, struct str message, struct challenge *c,
                       struct error *err)
{
    struct http_header headers[] = {{{"Content-Type", 12}, {"application/json", 16}},
                                    {{"Accept", 6}, {"application/json, text/event-stream", 35}},
                                    {{"Mcp-Session-Id", 14}, c->session}};
    struct http_request rq = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .n_headers = ARRAY_LEN(headers) - !c->session.n,
        .body = message,
        .on_status = on_status,
        .on_header = on_header,
        .on_body = on_body,
        .on_end = on_end,
        .arg = c,
    };
    struct http *h = http_start(l, &rq, err);
    if (!h)
        return false;
    if (wait_timed_await(l, &c->wait, PROBE_MS, err))
        return c->status || error_set(err, ERR_NETWORK, "the server cannot be reached");
    http_cancel(h);
    return false;
}

/* A server may greet everyone and ask for a sign-in where its tools are listed. */
static bool challenge_await(struct loop *l, struct str url, struct challenge *c, struct error *err)
{
    const struct str messages[] = {
        STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
            "\"name\":\"trivet\",\"version\":\"" TRIVET_VERSION "\"}}}"),
        STR("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(messages) && c->status != 401 && c->status != 403; i++) {
        c->status = 0;
        wait_reset(&c->wait);
        if (!send_await(l, url, messages[i], c, err))
            return false;
    }
    return true;
}

/* ---- documents ---- */

/* An object at an address; false when there is none. */
static bool document_await(struct loop *l, struct str url, struct json *ret, struct error *err)
{
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    static const struct http_header accept = {{"Accept", 6}, {"application/json", 16}};
    struct fetch what = {.method = "GET",
                         .url = url,
                         .headers = &accept,
                         .n_headers = 1,
                         .max_bytes = METADATA_BYTES,
                         .timeout_ms = PROBE_MS};
    if (!endpoint_is_safe(url))
        return error_set(err, ERR_DENIED, "%.*s is not encrypted", STR_FMT(str_cut(url, 200)));
    if (!fetch_await(l, &what, &got, err))
        return false;
    if (got.status != 200)
        return error_set(err, ERR_NOT_FOUND, "%.*s answered %d", STR_FMT(str_cut(url, 200)),
                         got.status);
    if (!json_parse(buf_str(&got.body), JSON_FIX_UTF8, METADATA_DEPTH, ret, err))
        return false;
    if (yyjson_is_obj(ret->root))
        return true;
    json_clear(ret);
    *ret = JSON_INIT;
    return error_set(err, ERR_BAD_REPLY, "%.*s holds no object", STR_FMT(str_cut(url, 200)));
}

/* The resource's metadata: at the address of the challenge, else at the usual ones. */
static bool resource_await(struct loop *l, struct str url, struct str named, struct json *ret,
                           struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    static const char usual[] = "/.well-known/oauth-protected-resource";
    struct str path, origin = origin_of(url, &path);
    if (named.n)
        return document_await(l, named, ret, err);
    struct str deep = arena_fmt(&a, "%.*s%s%.*s", STR_FMT(origin), usual, STR_FMT(path));
    if (document_await(l, deep, ret, err))
        return true;
    if (!path.n || err->code == ERR_CANCELED)
        return false;
    return document_await(l, arena_fmt(&a, "%.*s%s", STR_FMT(origin), usual), ret, err);
}

/* Metadata that another issuer signs with its name could lead codes and tokens elsewhere.  A slash
 * at the end of the name is not part of the addresses that were asked. */
static bool check_issuer(struct str issuer, yyjson_val *root, struct error *err)
{
    struct str said = json_get_str(root, "issuer");
    bool has_slash = str_ends(issuer, STR("/"));
    if (str_eq(said, issuer) || (has_slash && str_eq(said, str_cut(issuer, issuer.n - 1))))
        return true;
    return error_set(err, ERR_DENIED, "the metadata of %.*s are of another issuer: %.*s",
                     STR_FMT(str_cut(issuer, 200)),
                     STR_FMT(said.n ? str_cut(said, 200) : STR("(none)")));
}

static bool issuer_await(struct loop *l, struct str issuer, struct json *ret, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str path, origin = origin_of(issuer, &path);
    struct str urls[] = {
        arena_fmt(&a, "%.*s/.well-known/oauth-authorization-server%.*s", STR_FMT(origin),
                  STR_FMT(path)),
        arena_fmt(&a, "%.*s/.well-known/openid-configuration%.*s", STR_FMT(origin), STR_FMT(path)),
        arena_fmt(&a, "%.*s%.*s/.well-known/openid-configuration", STR_FMT(origin), STR_FMT(path)),
    };
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        if (document_await(l, urls[i], ret, err))
            return check_issuer(issuer, ret->root, err);
        if (err->code == ERR_CANCELED || err->code == ERR_DENIED)
            return false;
    }
    return false;
}

/* ---- together ---- */

static bool has_word(yyjson_val *list, const char *word)
{
    size_t i, max;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, max, v)
        if (str_is(json_str(v), word))
            return true;
    return false;
}

static struct str join_words(yyjson_val *list, struct arena *a)
{
    AUTO(buf) struct buf out = BUF_INIT;
    size_t i, max;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, max, v)
        buf_addf(&out, "%s%.*s", i ? " " : "", STR_FMT(json_str(v)));
    return out.n ? arena_str(a, buf_str(&out)) : STR_NONE;
}

static bool take_endpoints(yyjson_val *root, struct arena *a, struct endpoints *e,
                           struct error *err)
{
    yyjson_val *methods = json_get(root, "token_endpoint_auth_methods_supported");
    e->issuer = arena_str(a, json_get_str(root, "issuer"));
    e->names_issuer = json_get_bool(root, "authorization_response_iss_parameter_supported", false);
    e->authorize = arena_str(a, json_get_str(root, "authorization_endpoint"));
    e->token = arena_str(a, json_get_str(root, "token_endpoint"));
    e->registration = arena_str(a, json_get_str(root, "registration_endpoint"));
    e->takes_basic = !methods || has_word(methods, "client_secret_basic");
    e->takes_post = has_word(methods, "client_secret_post");
    e->takes_none = has_word(methods, "none");
    if (!endpoint_is_safe(e->authorize) || !endpoint_is_safe(e->token) ||
        (e->registration.p && !endpoint_is_safe(e->registration)))
        return error_set(err, ERR_DENIED, "the sign-in has an address that is not encrypted");
    if (!has_word(json_get(root, "code_challenge_methods_supported"), "S256"))
        return error_set(err, ERR_DENIED, "the sign-in does not support PKCE with S256");
    return true;
}

/* Servers of 2025-03-26 without any metadata. */
static void take_usual(struct str origin, struct arena *a, struct endpoints *e)
{
    e->issuer = origin;
    e->authorize = arena_fmt(a, "%.*s/authorize", STR_FMT(origin));
    e->token = arena_fmt(a, "%.*s/token", STR_FMT(origin));
    e->registration = arena_fmt(a, "%.*s/register", STR_FMT(origin));
    e->takes_none = e->takes_post = true;
}

/* A server must not have tokens made for another one. */
static bool check_resource(struct str resource, struct str url, struct error *err)
{
    struct str path, wanted, origin = origin_of(resource, &path), own = origin_of(url, &wanted);
    if (str_eq(origin, own) && str_starts(wanted, path))
        return true;
    return error_set(err, ERR_DENIED, "the server names %.*s as what the sign-in is for",
                     STR_FMT(str_cut(resource, 200)));
}

bool endpoints_find_await(struct loop *l, const struct mcp_config *c, struct arena *a,
                          struct endpoints *ret, struct error *err)
{
    AUTO(json) struct json resource = JSON_INIT, issuer = JSON_INIT;
    struct challenge challenge = {.arena = a};
    struct str path, origin = origin_of(c->url, &path);
    struct error why;
    *ret = (struct endpoints){0};
    if (!challenge_await(l, c->url, &challenge, err))
        return false;
    bool has_resource = resource_await(l, c->url, challenge.metadata, &resource, &why);
    if (!has_resource && (why.code == ERR_CANCELED || challenge.metadata.n)) {
        *err = why;
        return false;
    }
    struct str named = json_get_str(resource.root, "resource");
    if (named.n && !check_resource(named, c->url, err))
        return false;
    ret->resource = has_resource ? arena_str(a, named.n ? named : c->url) : STR_NONE;
    ret->scope = challenge.scope.n ? challenge.scope
                                   : join_words(json_get(resource.root, "scopes_supported"), a);
    struct str server = json_str(
        yyjson_arr_get_first(json_get(resource.root, "authorization_servers")));
    if (issuer_await(l, server.n ? server : origin, &issuer, &why))
        return take_endpoints(issuer.root, a, ret, err);
    if (server.n || why.code == ERR_DENIED ||
        (challenge.status != 401 && challenge.status != 403)) {
        *err = why;
        return error_prefix(err, "the server offers no sign-in");
    }
    take_usual(origin, a, ret);
    return true;
}

/* ---- registration ---- */

static void put_registration(const struct endpoints *e, struct str redirect, struct jw *w)
{
    const char *method = e->takes_none   ? "none"
                         : e->takes_post ? "client_secret_post"
                                         : "client_secret_basic";
    jw_obj(w);
    jw_kz(w, "client_name", "trivet");
    jw_kz(w, "application_type", "native"); /* the redirect goes to this machine */
    jw_karr(w, "redirect_uris");
    jw_str(w, redirect);
    jw_arr_end(w);
    jw_kraw(w, "grant_types", STR("[\"authorization_code\",\"refresh_token\"]"));
    jw_kraw(w, "response_types", STR("[\"code\"]"));
    jw_kz(w, "token_endpoint_auth_method", method);
    jw_kstr_opt(w, "scope", e->scope);
    jw_obj_end(w);
}

bool client_register_await(struct loop *l, const struct endpoints *e, struct str redirect,
                           struct arena *a, struct oauth_client *ret, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct jw w = JW(&body);
    static const struct http_header json = {{"Content-Type", 12}, {"application/json", 16}};
    if (!e->registration.n)
        return error_set(err, ERR_NO_KEY,
                         "the server registers no clients by itself: put the id of one that it "
                         "knows into its settings, \"oauth\": {\"clientId\": ...}");
    put_registration(e, redirect, &w);
    struct fetch what = {.method = "POST",
                         .url = e->registration,
                         .headers = &json,
                         .n_headers = 1,
                         .body = buf_str(&body),
                         .max_bytes = METADATA_BYTES};
    if (!fetch_await(l, &what, &got, err))
        return false;
    if (got.status < 200 || got.status > 299)
        return error_set(err, ERR_DENIED, "the registration of a client was refused (HTTP %d)",
                         got.status);
    if (!json_parse(buf_str(&got.body), JSON_FIX_UTF8, METADATA_DEPTH, &doc, err))
        return false;
    ret->id = arena_str(a, json_get_str(doc.root, "client_id"));
    ret->secret = arena_str(a, json_get_str(doc.root, "client_secret"));
    struct str method = json_get_str(doc.root, "token_endpoint_auth_method");
    ret->in_header = method.n ? str_is(method, "client_secret_basic") : !e->takes_post;
    if (str_is(method, "none"))
        ret->secret = STR_NONE;
    return ret->id.n || error_set(err, ERR_BAD_REPLY, "the registration gave no client id");
}
