/* SPDX-License-Identifier: MIT */
#include "web/guard.h"

#include "base/base64.h"
#include "base/mem.h"
#include "web/sha1.h"

#include <stdio.h>

static const struct refusal bad_host = {
    421, "wrong_host",
    "the Host header does not name this server; use its loopback address, or set public_host",
    WEB_BAD_HOST};
static const struct refusal bad_origin = {
    403, "wrong_origin", "the request comes from a page of another origin", WEB_BAD_ORIGIN};
static const struct refusal bad_method = {
    405, "method_not_allowed", "allowed are GET, HEAD, POST, PUT, PATCH and DELETE", WEB_UNWANTED};
static const struct refusal bad_type = {415, "not_json", "a body must be application/json",
                                        WEB_UNWANTED};
static const struct refusal bad_expect = {417, "expectation_failed",
                                          "the only expectation is 100-continue", WEB_UNWANTED};
static const struct refusal bad_upgrade = {
    400, "bad_handshake",
    "a WebSocket needs GET, Connection: Upgrade, a key of 16 bytes and the protocol trivet.v1",
    WEB_BAD_SYNTAX};
static const struct refusal bad_version = {
    426, "websocket_version", "only version 13 of WebSocket is understood", WEB_UNWANTED};

/* ---- names of this server ---- */

static char *format(const char *fmt, int port)
{
    char text[64];
    snprintf(text, sizeof text, fmt, port);
    return xstrdup(text);
}

void guard_init(struct guard *g, int port, const char *public_host, bool is_local)
{
    *g = (struct guard){.is_local = is_local};
    g->hosts[0] = format("127.0.0.1:%d", port);
    g->hosts[1] = format("[::1]:%d", port);
    g->hosts[2] = format("localhost:%d", port);
    if (public_host)
        g->public_host = g->hosts[3] = xstrdup(public_host);
}

void guard_clear(struct guard *g)
{
    for (size_t i = 0; i < GUARD_HOSTS; i++)
        free(g->hosts[i]);
    *g = (struct guard){0};
}

/* The name of ours that Host is; NULL: none. */
static const char *find_host(const struct guard *g, struct str host)
{
    for (size_t i = 0; i < GUARD_HOSTS && g->hosts[i]; i++)
        if (str_ieq(host, str_of(g->hosts[i])))
            return g->hosts[i];
    return NULL;
}

static bool is_own_origin(const struct guard *g, struct str origin, const char *host)
{
    struct str scheme = host == g->public_host ? STR("https://") : STR("http://");
    return str_starts(origin, scheme) && str_ieq(str_from(origin, scheme.n), str_of(host));
}

static const struct refusal *check_source(const struct guard *g, const struct head *h)
{
    struct str origin = head_get(h, "Origin"), site = head_get(h, "Sec-Fetch-Site");
    const char *host = find_host(g, head_get(h, "Host"));
    if (!host && !g->is_local)
        return &bad_host;
    if (origin.p && (g->is_local || !is_own_origin(g, origin, host)))
        return &bad_origin;
    if (site.p && !str_is(site, "same-origin") && !str_is(site, "none"))
        return &bad_origin;
    return NULL;
}

/* ---- the rest ---- */

static bool is_json(struct str type)
{
    struct str name, rest = str_split(type, ';', &name);
    if (!str_ieq(str_trim(name), STR("application/json")))
        return false;
    return !rest.p || str_ieq(str_trim(rest), STR("charset=utf-8"));
}

static bool is_allowed(struct str method)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(method, methods[i]))
            return true;
    return false;
}

static bool asks_upgrade(const struct head *h)
{
    return head_lists(h, "Upgrade", "websocket");
}

static const struct refusal *check_upgrade(const struct head *h)
{
    struct str key = head_get(h, "Sec-WebSocket-Key");
    if (!str_is(head_get(h, "Sec-WebSocket-Version"), "13"))
        return &bad_version;
    if (!str_is(h->method, "GET") || !head_lists(h, "Connection", "upgrade") ||
        base64_size(key) != 16 || !head_lists(h, "Sec-WebSocket-Protocol", GUARD_PROTOCOL))
        return &bad_upgrade;
    return NULL;
}

const struct refusal *guard_check(const struct guard *g, const struct head *h)
{
    const struct refusal *refused = check_source(g, h);
    struct str expect = head_get(h, "Expect");
    if (refused)
        return refused;
    if (!is_allowed(h->method))
        return &bad_method;
    if (h->body != BODY_NONE && !is_json(head_get(h, "Content-Type")))
        return &bad_type;
    if (expect.p && !str_ieq(expect, STR("100-continue")))
        return &bad_expect;
    return asks_upgrade(h) ? check_upgrade(h) : NULL;
}

bool guard_wants_upgrade(const struct head *h)
{
    return asks_upgrade(h);
}

static struct str token_protocol(const struct head *h)
{
    struct str item, prefix = STR(GUARD_TOKEN_PROTOCOL);
    for (size_t i = 0; i < h->n_headers; i++) {
        struct str rest = h->headers[i].value;
        if (str_ieq(h->headers[i].name, STR("Sec-WebSocket-Protocol")))
            while (list_next(&rest, &item))
                if (str_starts(item, prefix))
                    return str_from(item, prefix.n);
    }
    return STR_NONE;
}

struct str guard_token(const struct head *h)
{
    struct str scheme, rest = str_split(head_get(h, "Authorization"), ' ', &scheme);
    if (str_ieq(scheme, STR("Bearer")) && rest.p)
        return str_trim(rest);
    return asks_upgrade(h) ? token_protocol(h) : STR_NONE;
}

void guard_accept_key(struct buf *out, struct str key)
{
    AUTO(buf) struct buf text = BUF_INIT;
    unsigned char hash[SHA1_LEN];
    buf_add(&text, key);
    buf_addz(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"); /* RFC 6455, 1.3 */
    sha1_of(buf_str(&text), hash);
    base64_put(out, str_n((const char *)hash, sizeof hash));
}
